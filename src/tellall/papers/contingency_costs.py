"""contingency-tables, Appendix B: the error that resisting costs, sampling and noise side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tellall.papers.contingency_mechanisms import DELTA, EPSILON
from tellall.people.dataset import Dataset
from tellall.promise.bounds.mechanisms import noisy_tables, sampled
from tellall.release.protections.calibrated import SuLQ
from tellall.release.protections.law import Rng, as_rng
from tellall.release.protections.protection import Protection
from tellall.release.protections.records import Subsample
from tellall.release.release import publish
from tellall.release.statistics.tables import Tables
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Costs",
]

_WAYS, _ATTRIBUTES = 3, 12


@dataclass(frozen=True, eq=False)
class Costs:
    """The largest errors of the combined mechanism, with the statements and the figure made from them.

    Attributes
    ----------
    errors
        (people, largest error measured, sampling's bound, SuLQ's bound) for growing n.
    inside
        The share of samples with a cell beyond Serfling's bound, and how many samples.
    """

    errors: tuple[tuple[int, float, float, float], ...]
    inside: tuple[float, int]
    d: int = _ATTRIBUTES

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Costs:
        """All 3-way tables of twelve attributes."""
        generator, runs = as_rng(rng), 4 if quick else 10
        sizes = (20, 60, 200, 220, 600, 2000) if quick else (20, 60, 200, 220, 600, 2000, 6000, 20_000)
        errors = tuple(_largest(n, _ATTRIBUTES, runs, generator) for n in sizes)
        return cls(errors, _serfling(10 * runs, generator))

    def statements(self) -> Iterator[Statement]:
        """Proposition B.1: how far off the tables are."""
        share, runs = self.inside
        yield Statement.at_most(
            "samples with a cell beyond Serfling's bound",
            "App. B, E-CT-7",
            "all cells within O(√(n k log(d/k))), constant probability; here: at most 5 % of samples beyond",
            share,
            0.05,
            setting=f"n = 200, d = {self.d}, k = {_WAYS}, {runs} samples",
        )
        yield self._switch()

    def _switch(self) -> Statement:
        """Where SuLQ becomes the better of the two, against where the combined mechanism switches."""
        tables = math.comb(self.d, _WAYS)
        crossing = _crossing(self.d)
        shown = f"sampling has the smaller bound up to n = {crossing:,}, {crossing / tables:.0f} m_k"
        return Statement(
            "where the combined mechanism switches",
            "Prop. B.1",
            f"at n = m_k = {tables}: right up to a constant",
            shown,
            "no promise",
            f"d = {self.d}, k = {_WAYS}, ε = δ = {EPSILON:g}",
            float(crossing),
            float(tables),
        )

    def figures(self) -> Iterator[Figure]:
        """The combined mechanism's error against n."""
        n = [float(size) for size, *_ in self.errors]
        rate = [
            math.sqrt(min(size, math.comb(self.d, _WAYS)) * _WAYS * math.log(self.d / _WAYS)) for size in n
        ]
        yield Figure(
            "The error that resisting costs",
            f"All {_WAYS}-way tables of d = {self.d} attributes, ε = δ = {EPSILON:g}. Points: the largest "
            "error of any cell, mean over runs of the combined mechanism, which tabulates half the people "
            f"up to n = m_k = {math.comb(self.d, _WAYS)} and adds noise beyond. Lines: what 95 % of "
            "releases stay within, and the printed rate with constant 1.",
            Axis("people n", log=True),
            Axis("largest error of a cell", unit="people", log=True),
            (
                Series("combined, measured", n, [seen for _, seen, _, _ in self.errors], kind="points"),
                Series("half the people: bound", n, [half for _, _, half, _ in self.errors]),
                Series("SuLQ noise: bound", n, [noisy for _, _, _, noisy in self.errors]),
                Series("rate of Prop. B.1, constant 1", n, rate),
            ),
            (Rule(float(math.comb(self.d, _WAYS)), "n = m_k", "x"),),
        )


def _largest(n: int, d: int, runs: int, rng: np.random.Generator) -> tuple[int, float, float, float]:
    """The largest error of the combined mechanism beside the bounds of its two halves."""
    tables, seen = math.comb(d, _WAYS), []
    # Combined itself fits tables with a secret; its rule, by hand
    protect: Protection = Subsample(0.5) if n <= tables else SuLQ(EPSILON, DELTA)
    for _ in range(runs):
        people = Dataset.from_arrays(rng.integers(0, 2, (n, d)))
        exact = Tables(_WAYS).values(people)
        seen.append(np.abs(publish(people, Tables(_WAYS), protect, rng=rng).values - exact).max())
    noisy = noisy_tables(d, _WAYS, EPSILON, DELTA).largest
    assert noisy is not None  # δ is above zero
    return n, float(np.mean(seen)), sampled(n, d, _WAYS).largest, noisy


def _crossing(d: int) -> int:
    """The most people for which sampling's bound is the smaller."""
    noisy = noisy_tables(d, _WAYS, EPSILON, DELTA).largest
    assert noisy is not None
    low, high = 2, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sampled(middle, d, _WAYS).largest <= noisy else (low, middle)
    return low


def _serfling(samples: int, rng: np.random.Generator) -> tuple[float, int]:
    """How often some cell of a sample is beyond the bound that 95 % stay within."""
    n, d = 200, 12
    people = Dataset.from_arrays(rng.integers(0, 2, (n, d)))
    exact, bound = Tables(_WAYS).values(people), sampled(n, d, _WAYS).largest
    beyond = 0
    for _ in range(samples):
        seen = publish(people, Tables(_WAYS), Subsample(0.5), rng=rng).values
        beyond += bool(np.abs(seen - exact).max() > bound)
    return beyond / samples, samples
