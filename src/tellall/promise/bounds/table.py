"""Table 1 of the contingency-tables paper for given sizes, with the numbers one can rely on below it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tellall.core.checks import at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.promise.bounds.mechanisms import Blr, NoisyTables, Sampled, blr, noisy_tables, sampled
from tellall.promise.bounds.sizes import TableSizes, as_epsilon

__all__ = [
    "LABEL",
    "LeastNoise",
    "Rate",
    "Table",
    "least_noise",
    "prior_guess",
    "rates",
    "row_guess",
    "table",
]

# The rates of the contingency-tables paper's Table 1: how noise must and may grow, constants unknown.

LABEL = "rate, constant unknown"


@dataclass(frozen=True)
class Rate:
    """One entry of the table: noise per cell that a guarantee needs (lower) or can be had with (upper).

    Attributes
    ----------
    guarantee
        What is kept from the attacker.
    side
        "lower" or "upper".
    formula
        The rate with its log powers.
    plain, logged
        Its value with constant 1, without the log powers and with them; None where it says nothing.
    citation
        Where it is proved.
    label
        What such a number is.
    """

    guarantee: str
    side: str
    formula: str
    plain: float | None
    logged: float | None
    citation: str
    label: str = LABEL

    def as_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return asdict(self)


def rates(sizes: TableSizes, epsilon: float, delta: float) -> tuple[Rate, ...]:
    """The eight entries of Table 1.

    Notes
    -----
    contingency-tables: Theorems 2.7, 2.9, 4.9 and 4.21, Propositions B.1 and B.3, and for the differentially
    private upper bounds the Gaussian mechanism and BLR (exponent 1/3, E-CT-3). The attribute bound needs
    k ≥ 2 (E-CT-4). L = ln n, taken as 1 below n = 3. Where d < 2k, ln(d/k) is too small for the union bound
    it stands for, and k ln(d/k) is read as ln(2^k m_k). Lower bounds on private noise vanish for δ ≥ ε; for
    m_k = 1 the general one is the instance-independent one.
    """
    return (*_reconstruction(sizes), *_private(sizes, epsilon, delta))


def _reconstruction(sizes: TableSizes) -> Iterator[Rate]:
    n, d, k = sizes.n, sizes.d, sizes.k
    logs = max(1.0, math.log(n))
    attribute, row = "not attribute non-private", "not row non-private"
    if k >= 2:
        yield Rate(
            attribute,
            "lower",
            f"min{{√n/L^{k * k - k + 1}, √(d^{k - 1})/L^{k * k + k - 3}}}, L = ln n",
            min(math.sqrt(n), d ** ((k - 1) / 2)),
            min(_over(math.sqrt(n), logs, k * k - k + 1), _over(d ** ((k - 1) / 2), logs, k * k + k - 3)),
            "Theorem 2.7",
        )
    else:
        yield Rate(attribute, "lower", "needs k ≥ 2", None, None, "Theorem 2.7 (E-CT-4)")
    yield _mechanisms(sizes, attribute, "Proposition B.3")
    yield Rate(
        row,
        "lower",
        f"min{{√n/L^{k * k + k + 1}, √(d^{k})/L^{k * k + 3 * k - 1}}}, L = ln n",
        min(math.sqrt(n), d ** (k / 2)),
        min(_over(math.sqrt(n), logs, k * k + k + 1), _over(d ** (k / 2), logs, k * k + 3 * k - 1)),
        "Theorem 2.9",
    )
    yield _mechanisms(sizes, row, "Proposition B.1")


def _mechanisms(sizes: TableSizes, guarantee: str, citation: str) -> Rate:
    """Sampling half the people, or Gaussian noise at constant ε and δ, whichever errs less."""
    n, d, k = sizes.n, sizes.d, sizes.k
    few = d < 2 * k
    union = sizes.log_cells if few else k * math.log(d / k)
    word = "ln(2^k m_k)" if few else "k ln(d/k)"
    return Rate(
        guarantee,
        "upper",
        f"min{{√(n {word}), √(m_k {word})}}",
        min(math.sqrt(n), d ** (k / 2)),
        min(math.sqrt(n * union), math.sqrt(sizes.tables * union)),
        citation,
    )


def _private(sizes: TableSizes, epsilon: float, delta: float) -> Iterator[Rate]:
    n, d, k, tables = sizes.n, sizes.d, sizes.k, sizes.tables
    share = max(0.0, 1 - delta / epsilon)
    same, general = "(ε, δ)-private, noise the same for all data", "(ε, δ)-private"
    root = math.sqrt(tables)
    lower = root * share / (2**k * epsilon)
    upper = root * math.sqrt(-math.log(delta)) / (2 ** (k / 2) * epsilon) if delta > 0 else math.inf
    yield Rate(same, "lower", "√m_k (1 − δ/ε)/(2^k ε)", lower, lower, "Theorem 4.9")
    yield Rate(same, "upper", "√(m_k ln(1/δ))/(2^(k/2) ε)", _finite(upper), _finite(upper), "Table 1")
    people = math.sqrt(n) * share / (2**k * math.sqrt(epsilon))
    logged = people / math.sqrt(math.log(tables)) if tables > 1 else math.inf
    yield Rate(
        general,
        "lower",
        "min{√n (1 − δ/ε)/(2^k √(ε ln m_k)), √m_k (1 − δ/ε)/(2^k ε)}",
        min(people, lower),
        min(logged, lower),
        "Theorem 4.21",
    )
    synthetic = (n / epsilon * n * d * k) ** (1 / 3)
    best = min(n, synthetic, upper)
    yield Rate(
        general,
        "upper",
        "min{n, (n² d k/ε)^(1/3), √(m_k ln(1/δ))/(2^(k/2) ε)}",
        best,
        best,
        "Table 1, Corollary A.4 (E-CT-3)",
    )


def _over(value: float, base: float, power: int) -> float:
    """value / base^power, zero where that leaves the range of a double."""
    return math.exp(max(-745.0, math.log(value) - power * math.log(base)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# What differential privacy costs for tables, with constants: the noise it needs, what it prevents.


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
    eps, slack = as_epsilon(epsilon), share("delta", delta, one=False)
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
    eps, slack = at_least_zero("epsilon", epsilon, finite=False), share("delta", delta, one=False)
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


@dataclass(frozen=True)
class Table:
    """Lower and upper bounds on the noise per cell of all k-way tables.

    Attributes
    ----------
    rows
        The paper's Table 1: rates, constants unknown.
    least_noise
        Certified: what no (ε, δ)-private release with data-independent noise can go below.
    gaussian
        Certified: noise that is enough for (ε, δ).
    sampled
        Certified: what tables of half the people get wrong; None for a single person.
    blr
        Synthetic data, with constant 1: a rate.
    row_guess, prior_guess
        How often a row can be named under (ε, δ) (Lemma B.2; 1 or more says nothing), and before any release.
    """

    n: int
    d: int
    k: int
    epsilon: float
    delta: float
    rows: tuple[Rate, ...]
    least_noise: LeastNoise
    gaussian: NoisyTables
    sampled: Sampled | None
    blr: Blr
    row_guess: float
    prior_guess: float

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        return {
            "n": self.n,
            "d": self.d,
            "k": self.k,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows": [row.as_dict() for row in self.rows],
            "least_noise": self.least_noise.as_dict(),
            "gaussian": self.gaussian.as_dict(),
            "sampled": None if self.sampled is None else self.sampled.as_dict(),
            "blr": self.blr.as_dict(),
            "row_guess": self.row_guess,
            "prior_guess": self.prior_guess,
        }

    def __str__(self) -> str:
        head = (
            f"Noise per cell, all {self.k}-way tables of {self.d} attributes, n = {self.n:,}, "
            f"ε = {self.epsilon:g}, δ = {self.delta:g} (one row replaced)"
        )
        lines = [head, "", f"contingency-tables, Table 1: every number a {LABEL}"]
        wide = max(len(row.guarantee) for row in self.rows)
        lines.append(f"  {'guarantee':<{wide}}  side   without logs     with logs  formula")
        for row in self.rows:
            lines.append(
                f"  {row.guarantee:<{wide}}  {row.side:<5}  {_number(row.plain):>12}  "
                f"{_number(row.logged):>12}  {row.formula} [{row.citation}]"
            )
        return "\n".join([*lines, "", "Numbers to rely on", *self._certified()])

    def _certified(self) -> list[str]:
        least, noise, half = self.least_noise, self.gaussian, self.sampled
        lines = [
            f"  at least {least.per_cell:.4g} per cell for (ε, δ) with noise that does not depend on the "
            f"data (people replaced at once: {least.group})",
            f"  Gaussian noise of {_number(noise.std)} per cell is enough for (ε, δ); Laplace for (ε, 0): "
            f"scale {noise.laplace_scale:.4g}, standard deviation {noise.laplace_std:.4g}",
        ]
        if noise.printed is not None and noise.printed_delta is not None and noise.printed_delta > self.delta:
            lines.append(
                f"    (the printed {noise.printed:.4g} gives only δ = {noise.printed_delta:.3g}, E-CT-1)"
            )
        if half is not None:
            lines.append(
                f"  tables of half the people: {half.rms:.4g} in the worst cell, none beyond "
                f"{half.largest:.4g} with probability {1 - half.failure:g}; not differentially private"
            )
        useless = "; vacuous" if self.blr.vacuous else ""
        lines.append(f"  synthetic data (BLR, constant 1: a rate): {self.blr.distortion:.4g}{useless}")
        says = "says nothing" if self.row_guess >= 1 else f"{self.row_guess:.4g}"
        lines.append(f"  a row guessed with probability 2/3 before is named with at most: {says} (Lemma B.2)")
        return lines


def table(n: int, d: int, k: int, epsilon: float, delta: float) -> Table:
    """The bounds on noise per cell for releasing all k-way tables of n people with d binary attributes.

    Parameters
    ----------
    n, d, k
        People, attributes, attributes per table (the secret is one of them).
    epsilon, delta
        The differential privacy to compare with, one row replaced between neighbours.

    Notes
    -----
    See `tellall.promise.bounds.table` for the rates, and `least_noise`, `noisy_tables`, `sampled` for the
    certified numbers. O(log n).

    Examples
    --------
    >>> found = table(10_000, 20, 2, 0.5, 1e-5)
    >>> [round(row.plain, 2) for row in found.rows if row.side == "lower"]
    [4.47, 20.0, 6.89, 6.89]
    >>> found.rows[0].label
    'rate, constant unknown'
    """
    sizes = TableSizes.of(n, d, k)
    eps, slack = as_epsilon(epsilon), share("delta", delta, one=False)
    return Table(
        n=sizes.n,
        d=sizes.d,
        k=sizes.k,
        epsilon=eps,
        delta=slack,
        rows=rates(sizes, eps, slack),
        least_noise=least_noise(n, d, k, eps, slack),
        gaussian=noisy_tables(d, k, eps, slack),
        sampled=sampled(n, d, k) if sizes.n > 1 else None,
        blr=blr(n, d, k, eps),
        row_guess=row_guess(eps, slack),
        prior_guess=prior_guess(d),
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
