"""Table 1 of the contingency-tables paper for given sizes, with the certified numbers below it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from textwrap import wrap

import numpy as np

from tellall.core.checks import at_least_zero, share, whole
from tellall.core.made import Repeatable
from tellall.core.records import Record
from tellall.privacy.bounds.mechanisms import (
    Blr,
    NoisyTables,
    Sampled,
    TableSizes,
    as_epsilon,
    blr,
    noisy_tables,
    sampled,
)

__all__ = [
    "LABEL",
    "BoundsFound",
    "LeastNoise",
    "Rate",
    "Table",
    "group_moment",
    "least_noise",
    "prior_guess",
    "rates",
    "row_guess",
    "shifted_moment",
    "table",
]

LABEL = "rate, constant unknown"
_MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class Rate(Record):
    """One entry of Table 1: the noise per cell that a guarantee needs (lower) or that suffices (upper)."""

    guarantee: str  # what the attacker is kept from
    side: str  # "lower" or "upper"
    formula: str  # the rate with its log powers
    plain: float | None  # its value with constant 1, without the log powers; None if it says nothing
    logged: float | None  # with them
    citation: str  # where it is proved
    label: str = LABEL


def rates(sizes: TableSizes, epsilon: float, delta: float) -> Iterator[Rate]:
    """Yields the eight entries of Table 1.

    Notes
    -----
    contingency-tables: Theorems 2.7, 2.9, 4.9 and 4.21, Propositions B.1 and B.3, and for the differentially
    private upper bounds the Gaussian mechanism and BLR (exponent 1/3, E-CT-3). The attribute bound needs
    k ≥ 2 (E-CT-4). L = ln n, taken as 1 below n = 3. If d < 2k, ln(d/k) is too small for the union bound it
    comes from, and k ln(d/k) is read as ln(2^k m_k). Lower bounds on private noise vanish for δ ≥ ε; for
    m_k = 1 the general one equals the instance-independent one.
    """
    n = sizes.n
    d = sizes.d
    k = sizes.k
    tables = sizes.tables
    attribute, row = "not attribute non-private", "not row non-private"
    union, word = (sizes.log_cells, "ln(2^k m_k)") if d < 2 * k else (k * math.log(d / k), "k ln(d/k)")
    # sampling half the people, or Gaussian noise at constant ε and δ, whichever errs less
    upper = f"min{{√(n {word}), √(m_k {word})}}"
    plain, logged = min(math.sqrt(n), d ** (k / 2)), math.sqrt(min(n, tables) * union)
    if k >= 2:
        yield _reconstruction(n, d, attribute, k - 1, k * k - k + 1, k * k + k - 3, "Theorem 2.7")
    else:
        yield Rate(attribute, "lower", "needs k ≥ 2", None, None, "Theorem 2.7 (E-CT-4)")
    yield Rate(attribute, "upper", upper, plain, logged, "Proposition B.3")
    yield _reconstruction(n, d, row, k, k * k + k + 1, k * k + 3 * k - 1, "Theorem 2.9")
    yield Rate(row, "upper", upper, plain, logged, "Proposition B.1")
    yield from _private(sizes, epsilon, delta)


def _reconstruction(
    n: int, d: int, guarantee: str, power: int, people_logs: int, table_logs: int, citation: str
) -> Rate:
    """min{√n/L^people_logs, √(d^power)/L^table_logs}: reconstruction succeeds below this noise."""
    people = math.sqrt(n)
    tables = d ** (power / 2)
    log = math.log(max(1.0, math.log(n)))
    # zero where a log power leaves the range of a double
    logged = min(math.log(people) - people_logs * log, math.log(tables) - table_logs * log)
    formula = f"min{{√n/L^{people_logs}, √(d^{power})/L^{table_logs}}}, L = ln n"
    return Rate(guarantee, "lower", formula, min(people, tables), math.exp(max(-745.0, logged)), citation)


def _private(sizes: TableSizes, epsilon: float, delta: float) -> Iterator[Rate]:
    n = sizes.n
    d = sizes.d
    k = sizes.k
    tables = sizes.tables
    left = max(0.0, 1 - delta / epsilon)
    same, general = "(ε, δ)-private, noise the same for all data", "(ε, δ)-private"
    lower = math.sqrt(tables) * left / (2**k * epsilon)
    yield Rate(same, "lower", "√m_k (1 − δ/ε)/(2^k ε)", lower, lower, "Theorem 4.9")
    best = min(n, (n / epsilon * n * d * k) ** (1 / 3))
    upper = None
    if delta > 0:
        upper = math.sqrt(tables) * math.sqrt(-math.log(delta)) / (2 ** (k / 2) * epsilon)
        best = min(best, upper)
    yield Rate(same, "upper", "√(m_k ln(1/δ))/(2^(k/2) ε)", upper, upper, "Table 1")
    people = math.sqrt(n) * left / (2**k * math.sqrt(epsilon))
    logged = min(people / math.sqrt(math.log(tables)), lower) if tables > 1 else lower
    formula = "min{√n (1 − δ/ε)/(2^k √(ε ln m_k)), √m_k (1 − δ/ε)/(2^k ε)}"
    yield Rate(general, "lower", formula, min(people, lower), logged, "Theorem 4.21")
    formula = "min{n, (n² d k/ε)^(1/3), √(m_k ln(1/δ))/(2^(k/2) ε)}"
    yield Rate(general, "upper", formula, best, best, "Table 1, Corollary A.4 (E-CT-3)")


@dataclass(frozen=True)
class LeastNoise(Record):
    """The least noise of any (ε, δ)-private release of all tables whose noise ignores the data."""

    per_cell: float  # root mean squared error per cell of C_k, averaged over cells
    per_product: float  # the same per inner product of I_k
    trace: float  # the least total variance over I_k
    group: int  # how many people the argument replaces at once
    label: str = "certified, no unknown constant"


def least_noise(n: int, d: int, k: int, epsilon: float, delta: float = 0.0) -> LeastNoise:
    """Returns the certified lower bound on the noise of all k-way tables, with one row replaced.

    Notes
    -----
    For noise that does not depend on the data, released with (ε, δ)-differential privacy, tr Σ ≥ c (m_k − 1)²
    on the inner products I_k, c the larger of two numbers; a cell's mean squared error is at least that over
    2^(2k) m_k (contingency-tables, Proposition 4.8).

    The first is `shifted_moment`, which is sharp for δ = 0: 1/(2 sinh²(ε/2)). The second is the largest of
    (1 − t_L) L²/4 over 1 ≤ L ≤ n, where t_L = (e^(Lε) − 1 + 2δ_L)/(e^(Lε) + 1) and
    δ_L = δ (e^(Lε) − 1)/(e^ε − 1) is what privacy leaves for L people at once: Lemma 4.12, repaired (E-CT-5),
    with its constant kept. The second is the larger one if δ is large.

    Examples
    --------
    >>> bound = least_noise(10_000, 20, 2, 0.5, 1e-6)
    >>> bound.group, round(bound.per_cell, 3)
    (1, 9.594)
    """
    sizes, eps = TableSizes.of(n, d, k), as_epsilon(epsilon)
    slack = share("delta", delta, one=False)
    (by_groups, group), shifted = group_moment(sizes.n, eps, slack), shifted_moment(eps, slack)
    trace = max(by_groups, shifted) * float(sizes.tables - 1) ** 2
    per_product = math.sqrt(trace / sizes.tables)
    return LeastNoise(per_product / 2**k, per_product, trace, 1 if shifted > by_groups else group)


def shifted_moment(epsilon: float, delta: float) -> float:
    """Returns a lower bound on E Z² of every law Z that is (ε, δ)-close to itself shifted by one.

    Notes
    -----
    With q = e^(−ε) and S(x) = P(|Z| ≥ x), privacy gives S(x + 1) ≥ q(S(x) − 2δ), and S(x) + q S(1 − x) ≥
    2q(1 − δ) on (0, 1). E Z² = ∫ 2x S(x) dx is a convex function of S on (0, 1) through these steps. At
    S = a_0 = 2q(1 − δ)/(1 + q) it is Σ (2j + 1) a_j, a_(j+1) = q(a_j − 2δ) over the a_j above zero, j ≤ J;
    moving S away from a_0 can lower it by (1 − a_0)(1 − q)((J + 1)q^(J+1))²/((1 + q)(1 − q^(J+1))) at most,
    which is subtracted. For δ = 0 nothing is subtracted, and the two-sided geometric law reaches the bound.

    Examples
    --------
    >>> round(shifted_moment(1.0, 0.0), 6)
    1.841347
    >>> round(shifted_moment(1.0, 1e-6), 4)
    1.8411
    """
    if epsilon > 700:
        return 0.0
    q = math.exp(-epsilon)
    start = 2 * q * (1 - delta) / (1 + q)
    if delta == 0:
        return 1 / (2 * math.sinh(epsilon / 2) ** 2)
    fixed = 2 * delta * q / -math.expm1(-epsilon)
    last = min(math.floor(math.log(1 + start / fixed) / epsilon), _MOST_STEPS)  # fewer steps: a weaker bound
    steps = np.arange(last + 1)
    shares = np.maximum(np.exp(-epsilon * steps) * (start + fixed) - fixed, 0.0)
    power = (last + 1) * math.exp(-epsilon * (last + 1))
    lost = (1 - start) * -math.expm1(-epsilon) * power**2 / ((1 + q) * -math.expm1(-epsilon * (last + 1)))
    return max(0.0, float((2 * steps + 1) @ shares) - max(0.0, lost))


def group_moment(n: int, eps: float, slack: float) -> tuple[float, int]:
    """Returns the largest (1 − t_L) L²/4 over 1 ≤ L ≤ n, and its L; the logarithm is concave in L."""

    def size(group: int) -> float:
        """(1 − t_L) L², with 1 − t_L = 2 (1 − δ_L)/(e^(Lε) + 1)."""
        if group * eps > 700:
            return 0.0
        spent = slack * math.expm1(group * eps) / math.expm1(eps)
        return 2 * max(0.0, 1 - spent) / (math.exp(group * eps) + 1) * float(group) ** 2

    low, high = 1, n
    while low < high:  # the first L after which the bound no longer grows; 1 if it is zero everywhere
        middle = (low + high) // 2
        low, high = (middle + 1, high) if size(middle + 1) > size(middle) else (low, middle)
    return size(low) / 4, low


def row_guess(epsilon: float, delta: float = 0.0, prior: float = 2 / 3) -> float:
    """Returns prior · e^ε + δ: how often at most a row guessed with probability `prior` before is named.

    Notes
    -----
    contingency-tables, Lemma B.2: below 1 an (ε, δ)-private release is not row non-private; 1 or more says
    nothing. Its prior of 2/3 is the largest that the definition allows.

    Examples
    --------
    >>> round(row_guess(0.1, 0.1), 6)
    0.836781
    """
    eps, slack = at_least_zero("epsilon", epsilon, finite=False), share("delta", delta, one=False)
    return share("prior", prior) * math.exp(min(eps, 700.0)) + slack


def prior_guess(d: int) -> float:
    """Returns 1/2 + 2^−(d+1): the best guess at a row that is zero or a known random row, before a release.

    Notes
    -----
    contingency-tables, Sec. 2.3: a row of diag(s)Mᵀ is 0 with probability 1/2 + 2^−(d+1), the second term
    for the random row that happens to be zero itself. At most 2/3, the condition of row non-privacy, from
    d = 2 on.
    """
    return 0.5 + 2.0 ** -(whole("d", d) + 1)


@dataclass(frozen=True)
class Table(Record):
    """Lower and upper bounds on the noise per cell of all k-way tables."""

    n: int
    d: int
    k: int
    epsilon: float
    delta: float
    rows: tuple[Rate, ...]  # the paper's Table 1: rates, constants unknown
    least_noise: LeastNoise  # certified: no (ε, δ)-private release with data-independent noise has less
    gaussian: NoisyTables  # certified: noise that is enough for (ε, δ)
    sampled: Sampled | None  # certified: the errors of tables of half the people; None for a single person
    blr: Blr  # synthetic data, with constant 1: a rate
    row_guess: float  # how often a row can be named under (ε, δ) (Lemma B.2); 1 or more says nothing
    prior_guess: float  # the same before any release

    def __str__(self) -> str:
        head = (
            f"Noise per cell, all {self.k}-way tables of {self.d} attributes, n = {self.n:,}, "
            f"ε = {self.epsilon:g}, δ = {self.delta:g} (one row replaced)"
        )
        wide = max(len(row.guarantee) for row in self.rows)
        title = f"contingency-tables, Table 1: every number a {LABEL}"
        lines = [*_wrapped(head), "", *_wrapped(title), f"  {'':<{wide}}  side   no logs  with logs"]
        for row in self.rows:
            plain, logged = _number(row.plain), _number(row.logged)
            lines.append(f"  {row.guarantee:<{wide}}  {row.side:<5}{plain:>9}  {logged:>9}")
            lines += _wrapped(f"{row.formula} [{row.citation}]", "    ")
        certified = (line for one in self._certified() for line in _wrapped(one, "  "))
        return "\n".join([*lines, "", "Numbers to rely on", *certified])

    def _certified(self) -> Iterator[str]:
        least = self.least_noise
        noise = self.gaussian
        half = self.sampled
        yield (
            f"at least {least.per_cell:.4g} per cell for (ε, δ) with noise that does not depend on the "
            f"data (people replaced at once: {least.group})"
        )
        yield (
            f"Gaussian noise of {_number(noise.std)} per cell is enough for (ε, δ); Laplace for (ε, 0): "
            f"scale {noise.laplace_scale:.4g}, standard deviation {noise.laplace_std:.4g}"
        )
        if noise.printed is not None and noise.printed_delta is not None and noise.printed_delta > self.delta:
            yield f"(the printed {noise.printed:.4g} gives only δ = {noise.printed_delta:.3g}, E-CT-1)"
        if half is not None:
            yield (
                f"tables of half the people: {half.rms:.4g} in the worst cell, none beyond "
                f"{half.largest:.4g} with probability {1 - half.failure:g}; not differentially private"
            )
        useless = "; vacuous" if self.blr.vacuous else ""
        yield f"synthetic data (BLR, constant 1: a rate): {self.blr.distortion:.4g}{useless}"
        says = "says nothing" if self.row_guess >= 1 else f"{self.row_guess:.4g}"
        yield f"a row guessed with probability 2/3 before is named with at most: {says} (Lemma B.2)"


@dataclass(frozen=True)
class BoundsFound(Table, Repeatable):
    """The noise that tables need, and the noise that is enough, as a document."""

    @classmethod
    def of(cls, found: Table, repeat: str) -> BoundsFound:
        """A table as a document."""
        numbers = {part.name: getattr(found, part.name) for part in fields(found)}
        return cls(**numbers, command="bounds", repeat=repeat)


def table(n: int, d: int, k: int, epsilon: float, delta: float) -> Table:
    """Returns bounds on noise per cell for releasing all k-way tables of n people with d binary attributes.

    The secret is one of the k attributes; (ε, δ) is the differential privacy to compare with, one row
    replaced between neighbours. See `rates`, and `least_noise`, `noisy_tables`, `sampled` for the certified
    numbers. O(log n).

    Examples
    --------
    >>> found = table(10_000, 20, 2, 0.5, 1e-5)
    >>> [round(row.plain, 2) for row in found.rows if row.side == "lower"]
    [4.47, 20.0, 6.89, 6.89]
    >>> found.rows[0].label
    'rate, constant unknown'
    """
    sizes, eps = TableSizes.of(n, d, k), as_epsilon(epsilon)
    slack = share("delta", delta, one=False)
    return Table(
        sizes.n,
        sizes.d,
        sizes.k,
        eps,
        slack,
        rows=tuple(rates(sizes, eps, slack)),
        least_noise=least_noise(n, d, k, eps, slack),
        gaussian=noisy_tables(d, k, eps, slack),
        sampled=sampled(n, d, k) if sizes.n > 1 else None,
        blr=blr(n, d, k, eps),
        row_guess=row_guess(eps, slack),
        prior_guess=prior_guess(d),
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Returns the text in lines of at most 80 letters."""
    return wrap(text, 80, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
