"""Upper bounds: what sampling, Gaussian and Laplace noise, and synthetic data (BLR) cost in accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import invalid
from tellall.core.records import Record

__all__ = [
    "Blr",
    "NoisyTables",
    "Sampled",
    "TableSizes",
    "as_epsilon",
    "blr",
    "noisy_tables",
    "sampled",
]


_MOST_PEOPLE, _MOST_LOG = 10**15, 345.0  # beyond these, squares leave the range of a double
_LEAST_EPSILON = 1e-12


@dataclass(frozen=True)
class TableSizes:
    """All tables of k out of d yes/no attributes of n people; no attribute is singled out as secret."""

    n: int
    d: int
    k: int

    @classmethod
    def of(cls, n: int, d: int, k: int) -> TableSizes:
        """Returns the sizes; refuses impossible ones."""
        people, attributes = whole("n", n, most=_MOST_PEOPLE), whole("d", d)
        ways = whole("k", k, most=attributes, also=", the attributes d")
        if ways * math.log(2 * attributes) > _MOST_LOG:
            raise invalid("k", "such that (2d)^k is below 1e150", f"d = {d}, k = {k}")
        return cls(people, attributes, ways)

    @property
    def tables(self) -> int:
        """m_k = C(d, k)."""
        return math.comb(self.d, self.k)

    @property
    def cells(self) -> int:
        """|C_k| = 2^k C(d, k)."""
        return int(2**self.k) * self.tables

    @property
    def log_cells(self) -> float:
        """ln |C_k|."""
        return self.k * math.log(2) + math.log(self.tables)


def as_epsilon(value: float) -> float:
    """Returns ε; refuses values for which bounds cannot be computed."""
    if above_zero("epsilon", value) < _LEAST_EPSILON:
        raise invalid("epsilon", f"a finite number of {_LEAST_EPSILON:g} or more", value)
    return float(value)


@dataclass(frozen=True)
class Blr(Record):
    """What the mechanism of Blum, Ligett and Roth guarantees for all k-way tables."""

    alpha: float  # the error of every fraction, with probability 1 − alpha²
    mse: float  # the mean squared error of a count, never more than n²
    distortion: float  # its root
    vacuous: bool  # whether any answer would do as well
    constant: float
    vc: float


def blr(n: int, d: int, k: int, epsilon: float, constant: float = 1.0, vc: float | None = None) -> Blr:
    """Returns the error bound of synthetic data for all k-way tables, (ε, 0)-private.

    Parameters
    ----------
    n, d, k
        People, attributes, attributes per table.
    constant
        The paper's C, which it never states; with 1 the answer is a rate.
    vc
        The VC dimension of the class; default ⌊log2(2^k C(d, k))⌋.

    Notes
    -----
    α solves n = C V d ln(1/α)/(α³ ε): α = exp(−W(3/A)/3) with A = C V d/(n ε) and W the Lambert function, and
    MSE ≤ 2α²n² (contingency-tables, Eq. 10 and Proposition A.3). The paper's V = k log d is too small for
    k = 1 (E-CT-8); its "distortion" with exponent 2/3 is the mean squared error (E-CT-3).

    Examples
    --------
    >>> round(blr(1_000_000, 20, 2, 1.0).alpha, 4)
    0.0772
    """
    from scipy.special import lambertw

    sizes, eps = TableSizes.of(n, d, k), as_epsilon(epsilon)
    front = above_zero("constant", constant)
    dimension = above_zero("vc", math.floor(sizes.log_cells / math.log(2) + 1e-12) if vc is None else vc)
    ratio = front * dimension * sizes.d / (sizes.n * eps)
    alpha = math.exp(-float(lambertw(3 / ratio).real) / 3)
    mse = min(2 * alpha**2, 1.0) * float(sizes.n) ** 2
    return Blr(alpha, mse, math.sqrt(mse), 2 * alpha**2 >= 1, front, dimension)


@dataclass(frozen=True)
class Sampled(Record):
    """The errors of tables of half the people, scaled up, and how much they can give away."""

    people: int  # in the sample
    rms: float  # root mean squared error of the worst cell
    largest: float  # with probability 1 − failure no cell is further off
    failure: float
    row_cap: float  # the most often a row can be named: 5/6
    attribute_cap: float  # the most often a secret bit can be named: 3/4


def sampled(n: int, d: int, k: int, failure: float = 0.05) -> Sampled:
    """Returns the errors of all k-way tables of a random half of the people, scaled up to everybody.

    Notes
    -----
    A cell of K people has variance (n/N)² N (K/n)(1 − K/n)(n − N)/(n − 1), largest at K = n/2. All cells are
    within (n/N) √(N (1 − (N − 1)/n) ln(2|C_k|/failure)/2), N = ⌊n/2⌋, by Serfling's inequality; the tail
    printed in the contingency-tables paper's App. B misses a factor 2 (E-CT-7). Not differentially private:
    the people in the sample are exposed. A row that could be guessed with probability 2/3 is named with
    probability at most 1/2 + 1/2 · 2/3; a fair bit, at most 1/2 + 1/2 · 1/2.
    """
    sizes = TableSizes.of(n, d, k)
    if sizes.n < 2:
        raise invalid("n", "2 or more, so that half of them can be drawn", n)
    chance = share("failure", failure, zero=False, one=False)
    half = sizes.n // 2
    scale, yes = sizes.n / half, half / sizes.n
    variance = scale**2 * half * yes * (1 - yes) * (sizes.n - half) / (sizes.n - 1)
    tail = math.log(2 / chance) + sizes.log_cells
    largest = scale * math.sqrt(half * (1 - (half - 1) / sizes.n) * tail / 2)
    return Sampled(half, math.sqrt(variance), largest, chance, 1 / 2 + 1 / 3, 3 / 4)


@dataclass(frozen=True)
class NoisyTables(Record):
    """Independent noise on every cell, enough for (ε, δ) when one row is replaced."""

    std: float | None  # of the Gaussian noise; None for δ = 0, which no Gaussian noise reaches
    largest: float | None  # with probability 1 − failure no cell's Gaussian noise is larger
    failure: float
    printed: float | None  # the standard deviation printed in the paper
    printed_delta: float | None  # the δ that it really gives
    laplace_scale: float  # Laplace noise for (ε, 0)
    laplace_std: float


def noisy_tables(d: int, k: int, epsilon: float, delta: float, failure: float = 0.05) -> NoisyTables:
    """Returns the noise that Gaussian (SuLQ) and Laplace mechanisms add to each cell of all k-way tables.

    Notes
    -----
    Sensitivities of C_k, one row replaced: L2 √(2 m_k), L1 2 m_k. The Gaussian is calibrated exactly
    (Balle and Wang); the printed √(2 m_k log(1/δ))/ε, log read as ln, spends more than δ if δ is small:
    1.68e-5 for (0.5, 1e-5) (E-CT-1). The Laplace scale is 2 m_k/ε and its standard deviation √2 times that
    (E-CT-2).

    Examples
    --------
    >>> noise = noisy_tables(20, 3, 1.0, 1e-6)
    >>> round(noise.std, 3), round(noise.printed, 3), f"{noise.printed_delta:.2e}"
    (201.726, 177.481, '1.06e-05')
    """
    from scipy.special import ndtri_exp

    from tellall.protections.profile import gaussian_delta, gaussian_std

    sizes, eps = TableSizes.of(1, d, k), as_epsilon(epsilon)
    slack = share("delta", delta, one=False)
    chance = share("failure", failure, zero=False, one=False)
    moved, scale = math.sqrt(2 * sizes.tables), 2 * sizes.tables / eps
    laplace = (scale, math.sqrt(2) * scale)
    if slack == 0:
        return NoisyTables(None, None, chance, None, None, *laplace)
    std = gaussian_std(eps, slack, sensitivity=moved)
    printed = moved * math.sqrt(-math.log(slack)) / eps
    # cells are independent: each is within the bound with probability (1 − failure)^(1/cells)
    each = math.log(-math.expm1(math.log1p(-chance) / sizes.cells) / 2)
    largest = -float(ndtri_exp(each)) * std
    spent = float(gaussian_delta(eps, moved, printed))
    return NoisyTables(std, largest, chance, printed, spent, *laplace)
