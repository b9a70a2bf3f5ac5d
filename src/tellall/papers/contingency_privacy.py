"""contingency-tables, Section 4 and Appendix D: what differential privacy costs, with constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.people.dataset import Dataset
from tellall.promise.bounds.mechanisms import blr, noisy_tables
from tellall.promise.bounds.table import least_noise, table
from tellall.release.profile import gaussian_std
from tellall.release.protections.calibrated import SuLQ
from tellall.release.protections.law import Rng, as_rng
from tellall.release.release import publish
from tellall.release.statistics.tables import Tables
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Series

__all__ = [
    "Privacy",
    "constant_output",
    "inner_products",
    "two_sided",
]

_PEOPLE = 100_000
_EPSILON, _DELTA = 0.5, 1e-6
_GRID = (10, 14, 20, 28, 40, 56, 80)


def inner_products(signs: Array, order: int) -> Array:
    """I_k: the sums over people of the products of every `order` of their ±1 attributes.

    Examples
    --------
    >>> inner_products(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), 2).tolist()
    [0.0, 2.0, 0.0]
    """
    chosen = np.array(list(combinations(range(signs.shape[1]), order)))
    out: Array = signs[:, chosen].prod(axis=2).sum(axis=0)
    return out


def constant_output(d: int, order: int) -> tuple[float, float, float, float]:
    """App. D: the errors of answering −1 always, along Δ, on D and on D′; an entry of Σ(D′); 〈Δ, Δ〉.

    Examples
    --------
    >>> constant_output(5, 3)
    (0.0, 1600.0, 4.0, 40.0)
    """
    one, other = -np.ones((1, d)), np.ones((1, d))
    answer = -np.ones(math.comb(d, order))
    moved = inner_products(other, order) - inner_products(one, order)
    misses = [answer - inner_products(people, order) for people in (one, other)]
    here, there = (float((miss @ moved) ** 2) for miss in misses)
    return here, there, float(misses[1][0] * misses[1][-1]), float(moved @ moved)


def two_sided(pairs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Lemma 4.12 repaired, on random pairs of laws on five points: the least share of the bound seen.

    Returns
    -------
    tuple of float
        The least of max(E X², E (Y − a)²)/((1 − t) a²/4), t the total variation distance: 1 or more, and 1 at
        X = Y = a/2; and the largest t seen.
    """
    least, furthest = math.inf, 0.0
    for _ in range(pairs):
        points = rng.normal(0.5, 1.0, 5)
        first, second = rng.dirichlet(np.full(5, 0.5), 2)
        apart = float(np.abs(first - second).sum()) / 2
        worst = max(float(first @ points**2), float(second @ (points - 1) ** 2))
        least = min(least, worst / ((1 - apart) / 4))
        furthest = max(furthest, apart)
    return least, furthest


@dataclass(frozen=True, eq=False)
class Privacy:
    """Certified lower bounds beside achieved errors, and what Appendix D shows.

    Attributes
    ----------
    achieved
        (attributes, root mean squared error of SuLQ's noise on real releases) at k = 2.
    pairs
        What :func:`two_sided` found.
    """

    achieved: tuple[tuple[int, float], ...]
    pairs: tuple[float, float]

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Privacy:
        """SuLQ noise on real tables, and random pairs of laws."""
        generator = as_rng(rng)
        achieved = []
        for d in _GRID[:4] if quick else _GRID:
            people = Dataset.from_arrays(generator.integers(0, 2, (500, d)))
            exact = Tables(2).values(people)
            seen = publish(people, Tables(2), SuLQ(_EPSILON, _DELTA), rng=generator).values
            achieved.append((d, float(np.sqrt(np.mean((seen - exact) ** 2)))))
        return cls(tuple(achieved), two_sided(2000 if quick else 100_000, generator))

    def statements(self) -> Iterator[Statement]:
        """Section 4 and Appendix D."""
        yield from self._lower()
        yield _orthogonal()
        yield from self._appendix_d()
        yield from _not_reproduced()

    def _lower(self) -> Iterator[Statement]:
        for k in (2, 3, 4):
            ratios = []
            for d in _GRID:
                std = noisy_tables(d, k, _EPSILON, _DELTA).std
                assert std is not None  # δ is above zero
                ratios.append(std / least_noise(_PEOPLE, d, k, _EPSILON, _DELTA).per_cell)
            yield Statement.at_least(
                "Gaussian noise over the certified lower bound",
                "Thm. 4.9",
                "no private release with data-independent noise is below Ω(√m_k (1 − δ/ε)/(2^k ε))",
                min(ratios),
                1.0,
                setting=f"k = {k}, d = {_GRID[0]} to {_GRID[-1]}, ε = {_EPSILON:g}, δ = {_DELTA:g}",
            )
            yield Statement.at_most(
                "tight in d: how much that ratio grows with d",
                "Thm. 4.9, Table 1",
                "both are of order √m_k: the ratio stays; here: by at most a tenth",
                max(ratios) / min(ratios),
                1.1,
                setting=f"k = {k}, ratios {min(ratios):.1f} to {max(ratios):.1f}",
            )
        d, seen = self.achieved[-1]
        bound = least_noise(_PEOPLE, d, 2, _EPSILON, _DELTA).per_cell
        yield Statement.at_least(
            "error of a real SuLQ release",
            "Thm. 4.9",
            f"at least the certified {bound:.3g} a cell",
            seen,
            bound,
            setting=f"k = 2, d = {d}, ε = {_EPSILON:g}, δ = {_DELTA:g}",
        )

    def _appendix_d(self) -> Iterator[Statement]:
        least, furthest = self.pairs
        gone = (2 - math.sqrt(math.e) - 0.3513) ** 2
        yield Statement(
            "one of two neighbours has a large error",
            "Lemma 4.12, E-CT-5",
            f"Ω(a²(1 − δ)²) by (2 − √e − δ)², which is {gone:.0e} at δ = 0.3513",
            f"max ≥ (1 − t) a²/4, t the distance of the laws: {least:.2f} times that or more in all pairs",
            "corrected" if least >= 1 - 1e-12 else "does not hold",
            f"random pairs of laws on five points, t up to {furthest:.2f}",
            least,
            1.0,
        )
        d, k = 9, 3
        here, there, entry, norm = constant_output(d, k)
        tables = math.comb(d, k)
        right = here == 0 and there == (4 * tables) ** 2 and entry == 4 and there >= norm**2 / 4
        yield Statement(
            "a constant answer is private and wrong on one side only",
            "App. D, E-CT-9",
            "0 on D, Ω(m_k²) on D′; entries of Σ(D′) printed as 2",
            f"{here:g} on D, {there:g} = 16 m_k² on D′; entries are {entry:g}",
            "corrected" if right else "does not hold",
            f"d = {d}, k = {k}, m_k = {tables}, n = 1",
            there,
            norm**2 / 4,
        )

    def figures(self) -> Iterator[Figure]:
        """The lower bound beside what is achieved."""
        kept = [noisy_tables(d, 2, _EPSILON, _DELTA) for d in _GRID]
        walsh = [_walsh_cell(d, 2) for d in _GRID]
        rates = [math.sqrt(math.comb(d, 2)) * (1 - _DELTA / _EPSILON) / (4 * _EPSILON) for d in _GRID]
        yield Figure(
            "What privacy costs a cell, and what it must cost (k = 2)",
            f"All 2-way tables of d attributes, ε = {_EPSILON:g}, δ = {_DELTA:g}, one row replaced. No "
            "private release with noise that does not depend on the data is below the certified bound; the "
            "printed rate has an unknown constant, here 1. All but Laplace grow like √m_k.",
            Axis("attributes d", log=True),
            Axis("root mean squared error of a cell", unit="people", log=True),
            (
                Series("SuLQ, measured", *zip(*self.achieved, strict=True), kind="points"),
                Series("Laplace, δ = 0", _GRID, [noise.laplace_std for noise in kept]),
                Series("Gaussian (SuLQ)", _GRID, [noise.std or math.nan for noise in kept]),
                Series("Walsh noise", _GRID, walsh),
                Series("printed rate, constant 1", _GRID, rates),
                Series(
                    "certified lower bound",
                    _GRID,
                    [least_noise(_PEOPLE, d, 2, _EPSILON, _DELTA).per_cell for d in _GRID],
                ),
            ),
        )


def _walsh_cell(d: int, k: int) -> float:
    """The standard deviation of a cell of tables made from noisy inner products.

    All Σ C(d, l), 1 ≤ l ≤ k, products, each moved by two at most; (2^k − 1)/4^k of the variance in a cell.
    """
    count = sum(math.comb(d, order) for order in range(1, k + 1))
    noise = gaussian_std(_EPSILON, _DELTA, sensitivity=2 * math.sqrt(count))
    return float(noise * math.sqrt(2**k - 1) / 2**k)


def _orthogonal() -> Statement:
    """Lemma 4.7 by going through all rows."""
    furthest = 0.0
    for d, k in ((6, 2), (7, 3), (8, 4)):
        rows = np.array([inner_products(np.array([row]), k) for row in product((-1.0, 1.0), repeat=d)])
        mean = rows.T @ rows / len(rows)
        furthest = max(furthest, float(np.abs(mean - np.eye(mean.shape[0])).max()))
    return Statement.at_most(
        "inner products of a random row are uncorrelated",
        "Lemma 4.7",
        "E[z zᵀ] is the identity",
        furthest,
        0.0,
        setting="largest entry of the difference, all rows for (d, k) = (6, 2), (7, 3), (8, 4)",
    )


def _not_reproduced() -> Iterator[Statement]:
    """Rates whose constants nobody states: printed, not tried."""
    found = table(_PEOPLE, 20, 3, _EPSILON, _DELTA)
    general = next(row for row in found.rows if row.side == "lower" and row.guarantee == "(ε, δ)-private")
    setting = f"n = {_PEOPLE:,}, d = 20, k = 3, ε = {_EPSILON:g}, δ = {_DELTA:g}"
    yield Statement(
        "noise that depends on the data",
        "Thm. 4.21",
        f"no private release below the order of {general.formula}",
        f"not reproduced: a statement about all mechanisms with unknown constants; rate {general.plain:.3g}",
        "no promise",
        setting,
    )
    synthetic = blr(_PEOPLE, 20, 3, _EPSILON)
    yield Statement(
        "synthetic data (Blum, Ligett, Roth)",
        "App. A, E-CT-3, E-CT-8",
        "distortion Õ((n²dk/ε)^(1/3)); Sec. 1.3 prints the exponent 2/3 of the mean squared error",
        f"not reproduced: the algorithm takes exponential time and its constant is unknown; with constant 1 "
        f"off by {synthetic.distortion:,.0f} of {_PEOPLE:,} people a cell",
        "no promise",
        setting,
    )
