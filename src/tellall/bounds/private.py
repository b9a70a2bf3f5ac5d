"""What differential privacy costs for tables, with constants: the noise it needs, what it prevents."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tellall.bounds.sizes import TableSizes, as_epsilon, nonnegative, whole
from tellall.errors import invalid

__all__ = ["LeastNoise", "least_noise", "prior_guess", "row_guess"]


@dataclass(frozen=True)
class LeastNoise:
    """The noise that no (ε, δ)-private release of all tables with data-independent noise can go below.

    Attributes
    ----------
    per_cell
        Root mean squared error per cell of C_k, averaged over cells.
    per_product
        The same per inner product of I_k.
    trace
        The least total variance over I_k.
    group
        How many people the argument replaces at once.
    """

    per_cell: float
    per_product: float
    trace: float
    group: int
    label: str = "certified, no unknown constant"

    def as_dict(self) -> dict[str, Any]:
        """The bound for JSON."""
        return asdict(self)


def least_noise(n: int, d: int, k: int, epsilon: float, delta: float = 0.0) -> LeastNoise:
    """The certified lower bound on the noise of all k-way tables, one row replaced between neighbours.

    Notes
    -----
    For noise that does not depend on the data, released with (ε, δ)-differential privacy,
    tr Σ ≥ max over 1 ≤ L ≤ n of (1 − t_L) L² (m_k − 1)²/4 on the inner products I_k, where
    t_L = (e^(Lε) − 1 + 2δ_L)/(e^(Lε) + 1) and δ_L = δ (e^(Lε) − 1)/(e^ε − 1) is what privacy leaves for L
    people at once; a cell's mean squared error is at least that over 2^(2k) m_k. contingency-tables, Lemma
    4.12 and Proposition 4.8, the lemma repaired (E-CT-5) and its constant kept. The logarithm of the bound
    is concave in L, so the best L is found in O(log n).

    Examples
    --------
    >>> bound = least_noise(10_000, 20, 2, 0.5, 1e-6)
    >>> bound.group, round(bound.per_cell, 6)
    (4, 3.347429)
    """
    sizes = TableSizes.of(n, d, k)
    eps, slack = as_epsilon(epsilon), nonnegative("delta", delta, below=1)
    group = _best_group(sizes.n, eps, slack)
    tables = sizes.tables
    trace = _overlap(group, eps, slack) * float(group) ** 2 * float(tables - 1) ** 2 / 4
    per_product = math.sqrt(trace / tables)
    return LeastNoise(per_product / 2**k, per_product, trace, group)


def _overlap(group: int, epsilon: float, delta: float) -> float:
    """1 − t_L = 2 (1 − δ_L)/(e^(Lε) + 1)."""
    reach = group * epsilon
    if reach > 700 or delta * _group_factor(group, epsilon) >= 1:
        return 0.0
    return 2 * (1 - delta * _group_factor(group, epsilon)) / (math.exp(reach) + 1)


def _group_factor(group: int, epsilon: float) -> float:
    """(e^(Lε) − 1)/(e^ε − 1), at least L."""
    return math.expm1(group * epsilon) / math.expm1(epsilon)


def _best_group(n: int, epsilon: float, delta: float) -> int:
    """The L with the largest (1 − t_L) L²; where it is zero everywhere, 1."""

    def size(group: int) -> float:
        return _overlap(group, epsilon, delta) * float(group) ** 2

    low, high = 1, n
    while low < high:  # the first L after which the bound no longer grows
        middle = (low + high) // 2
        if size(middle + 1) > size(middle):
            low = middle + 1
        else:
            high = middle
    return low


def row_guess(epsilon: float, delta: float = 0.0, prior: float = 2 / 3) -> float:
    """prior · e^ε + δ: the most often anybody names a row that was guessed with probability `prior` before.

    Notes
    -----
    contingency-tables, Lemma B.2: below 1 an (ε, δ)-private release is not row non-private; 1 or more says
    nothing. Its prior of 2/3 is the most that the definition allows.

    Examples
    --------
    >>> round(row_guess(0.1, 0.1), 6)
    0.836781
    """
    eps, slack = nonnegative("epsilon", epsilon), nonnegative("delta", delta, below=1)
    if not 0 <= prior <= 1:
        raise invalid("prior", "a probability from 0 to 1", prior)
    return prior * math.exp(min(eps, 700.0)) + slack


def prior_guess(d: int) -> float:
    """1/2 + 2^−(d+1): the best guess at a row that is zero or a known random row, before any release.

    Notes
    -----
    contingency-tables, Sec. 2.3: a row of diag(s)Mᵀ is 0 with probability 1/2 + 2^−(d+1), the second term
    for the random row that happens to be zero itself. At most 2/3, the condition of row non-privacy, from
    d = 2 on.
    """
    return 0.5 + 2.0 ** -(whole("d", d) + 1)
