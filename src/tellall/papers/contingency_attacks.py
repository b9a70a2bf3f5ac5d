"""contingency-tables, Theorem 2.7: the attribute attack against noise, its law, its limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.papers.contingency_people import plain_of, random_people
from tellall.papers.simulated import attributes_for, interval_series, mean_of
from tellall.people.dataset import Dataset
from tellall.promise.bounds.decoding import hamming_from_norm, recovery
from tellall.promise.bounds.gauge import gauge
from tellall.promise.bounds.geometry import singular_values
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.law import Rng, as_rng
from tellall.release.release import publish
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.predicates import Predicates
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Attributes",
    "attribute_attack",
]

NEARLY_ALL = 0.95  # what we call 1 − o(1) at these sizes
LITTLE = 0.1  # noise over √n that we call o(√n)
POINTS = 0.02  # how far a prediction may be from what is measured
NOISE = Axis("noise σ / √n", log=True)
SHARE = Axis("share of secrets right", low=0.45, high=1.0)
RATIOS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5)


@dataclass(frozen=True, eq=False)
class _Curve:
    """Recovery against noise for one statistic of some people."""

    label: str
    n: int
    d: int
    tables: int
    measured: tuple[Array, ...]  # one array of draws for each ratio
    predicted: tuple[float, ...]

    @property
    def gap(self) -> float:
        """The largest distance of the measured mean from the prediction."""
        return max(abs(float(m.mean()) - p) for m, p in zip(self.measured, self.predicted, strict=True))

    def at(self, ratio: float) -> Array:
        """The draws at one ratio."""
        return self.measured[RATIOS.index(ratio)]


def attribute_attack(people: Dataset, statistic: Statistic, std: float, rng: Rng) -> float:
    """The share of secrets that tellall's least squares, with box and prior, gets right under this noise."""
    found = reconstruct(
        publish(people, statistic, Gaussian(std), rng=rng), people.public, "least-squares", 0.5, rng
    )
    assert isinstance(found, Reconstruction)
    return float((found.guess == people.bits).mean())


def _curve(label: str, people: Dataset, statistic: Statistic, draws: int, rng: np.random.Generator) -> _Curve:
    plain = plain_of(people, statistic)
    root = math.sqrt(people.n)
    measured = plain.recovered([ratio * root for ratio in RATIOS], draws, rng)
    predicted = tuple(plain.predicted(ratio * root) for ratio in RATIOS)
    d = len(people.public.columns)
    ways = statistic.ways if isinstance(statistic, Marginals | Predicates) else 0
    return _Curve(label, people.n, d, math.comb(d, ways - 1), measured, predicted)


@dataclass(frozen=True, eq=False)
class Attributes:
    """Everything measured about the attribute attack, with the statements and figures made from it.

    Attributes
    ----------
    by_ways, by_people
        Plain least squares for k = 2, 3, 4, and for growing n at k = 3, twice as many tables as people.
    printed
        The same for the cells of ones alone, as printed.
    decoded
        The share right by tellall's decoder at k = 3, one array of runs for each ratio.
    limits
        What no decoder beats there.
    worst
        How often more people were wrong than the bound says, the largest share of it, and the instances.
    """

    by_ways: list[_Curve]
    by_people: list[_Curve]
    printed: _Curve
    decoded: tuple[Array, ...]
    limits: tuple[float, ...]
    worst: tuple[int, float, int]

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Attributes:
        """The attack at sizes that take seconds (`quick`) or a minute."""
        generator = as_rng(rng)
        n, draws, runs = (400, 80, 4) if quick else (2000, 40, 3)
        by_ways = []
        for ways in (2, 3, 4):
            d = attributes_for(2 * n, ways - 1)
            people = random_people(n, d, generator)
            by_ways.append(_curve(f"k = {ways}, d = {d}", people, Marginals(ways), draws, generator))
            if ways == 3:
                three = people
        by_people = []
        for count in (n // 8, n // 4, n // 2, n):
            some = random_people(count, attributes_for(2 * count, 2), generator)
            by_people.append(_curve(f"n = {count}", some, Marginals(3), max(draws, 8000 // count), generator))
        root = math.sqrt(n)
        decoded = tuple(
            np.array([attribute_attack(three, Marginals(3), r * root, generator) for _ in range(runs)])
            for r in RATIOS
        )
        limits = [gauge(Marginals(3), three.public, Gaussian(ratio * root)).limit for ratio in RATIOS]
        return cls(
            by_ways,
            by_people,
            _curve("cells of ones only", three, Predicates("and", 3), draws, generator),
            decoded,
            tuple(math.nan if limit is None else limit for limit in limits),
            _worst(10 if quick else 500, generator),
        )

    def statements(self) -> Iterator[Statement]:
        """Theorem 2.7 and the proof of Proposition 2.4, at finite sizes."""
        for curve in self.by_ways:
            value, interval = mean_of(curve.at(LITTLE))
            yield Statement.at_least(
                "attribute attack at little noise",
                "Thm. 2.7",
                f"1 − o(1) of the secrets at noise o(√n); here: {NEARLY_ALL:.0%} at {LITTLE:g}√n",
                value,
                NEARLY_ALL,
                setting=f"{curve.label}, n = {curve.n}, {curve.tables} tables, plain least squares",
                interval=interval,
            )
        yield _promised(self.by_ways[1])
        yield from self._law()
        yield Statement.at_most(
            "instances with more people wrong than the proof's bound",
            "Prop. 2.4",
            "never more than 4‖e‖²/σ_min² people wrong, whatever the errors",
            self.worst[0],
            0.0,
            setting=f"{self.worst[2]:,} random and adversarial instances, k = 3, n = 40 to 120; at most "
            f"{self.worst[1]:.0%} of the bound was reached",
        )
        for curve in (*self.by_ways, self.printed):
            yield Statement.at_most(
                "predicted accuracy against measured",
                "Prop. 2.4",
                f"orders of growth only; our prediction: within {POINTS:.0%} at every noise",
                curve.gap,
                POINTS,
                setting=f"{curve.label}, n = {curve.n}, σ/√n from {RATIOS[0]} to {RATIOS[-1]}",
            )
        pairs = zip(self.decoded, self.limits, strict=True)
        beaten = max(float(m.mean()) - top for m, top in pairs if top < 0.999)  # else both get everybody
        yield Statement.at_most(
            "no decoder beats the limit",
            "Sec. 2.1",
            "no promise; ours: Φ(‖M_i‖/(2σ)), who knows all others' secrets",
            beaten,
            0.0,
            setting="largest lead of least squares with box and prior where the limit is below 0.999, k = 3",
        )

    def _law(self) -> Iterator[Statement]:
        """Twice as many tables as people: recovery depends on σ/√n alone, so the threshold is of order √n."""
        low = min(float(curve.at(LITTLE).mean()) for curve in self.by_people)
        sizes = ", ".join(str(curve.n) for curve in self.by_people)
        yield Statement.at_least(
            "the √n law: the same noise over √n, growing n",
            "Thm. 2.7",
            f"1 − o(1) at o(√n), whatever n; here: {NEARLY_ALL:.0%} at {LITTLE:g}√n for each",
            low,
            NEARLY_ALL,
            setting=f"k = 3, n = {sizes}, tables = 2n",
        )
        top = max(float(curve.at(RATIOS[-1]).mean()) for curve in self.by_people)
        yield Statement.shown(
            "the √n law: above √n",
            "Thm. 2.7",
            top,
            setting=f"share right at {RATIOS[-1]:g}√n, the largest over n = {sizes}",
        )

    def figures(self) -> Iterator[Figure]:
        """Recovery against noise: by k, by n, and by decoder."""
        yield Figure(
            "Attribute attack: secrets recovered against noise, k = 2, 3, 4",
            f"All k-way tables of the secret with d public attributes, n = {self.by_ways[0].n} people, about "
            "twice as many tables as people. Points: plain least squares as in the paper (95 % over draws "
            "of the noise); lines: predicted from the equations alone. 1/2 is a coin.",
            NOISE,
            SHARE,
            _pairs(self.by_ways),
            (Rule(0.5, "coin"),),
        )
        yield Figure(
            "The √n law: the same noise over √n, growing n",
            "k = 3, twice as many tables as people: d grows like √n, and the curves nearly fall on one "
            "another (small tables hold relatively more of the lower moments). "
            "Lines: predicted for the smallest and the largest n.",
            NOISE,
            SHARE,
            (
                *(interval_series(curve.label, RATIOS, curve.measured) for curve in self.by_people),
                Series(f"predicted, n = {self.by_people[0].n}", RATIOS, self.by_people[0].predicted),
                Series(f"predicted, n = {self.by_people[-1].n}", RATIOS, self.by_people[-1].predicted),
            ),
            (Rule(0.5, "coin"),),
        )
        three = self.by_ways[1]
        yield Figure(
            "What the printed attack leaves on the table (k = 3)",
            "Printed: the cells where all attributes are one, which the theorem needs. Every cell: what is "
            "published. Box and prior: tellall's least squares, which knows that secrets are 0 or 1. "
            "No decoder gets above the limit: somebody who knows everybody else's secret.",
            NOISE,
            SHARE,
            (
                interval_series("printed: cells of ones", RATIOS, self.printed.measured),
                Series("predicted, cells of ones", RATIOS, self.printed.predicted),
                interval_series("every cell", RATIOS, three.measured),
                Series("predicted, every cell", RATIOS, three.predicted),
                interval_series("every cell, box and prior", RATIOS, self.decoded),
                Series("limit of all decoders", RATIOS, self.limits),
            ),
            (Rule(0.5, "coin"),),
        )


def _pairs(curves: Sequence[_Curve]) -> tuple[Series, ...]:
    points = [interval_series(curve.label, RATIOS, curve.measured) for curve in curves]
    lines = [Series(f"predicted, {curve.label}", RATIOS, curve.predicted) for curve in curves]
    return (*points, *lines)


def _promised(curve: _Curve) -> Statement:
    """Definition 2.1's "with probability 1 − negl(d)", over draws of the noise."""
    wrong = np.rint((1 - curve.at(LITTLE)) * curve.n).astype(int)
    found = recovery(wrong, curve.n, 1 - NEARLY_ALL)
    return Statement.at_most(
        "how often it fails",
        "Def. 2.1",
        f"recovery with probability 1 − negl(d); here: no draw with more than {1 - NEARLY_ALL:.0%} wrong",
        found.beta,
        0.0,
        setting=f"{curve.label}, {wrong.size} draws at {LITTLE:g}√n",
        interval=(found.low, found.high),
    )


def _worst(instances: int, rng: np.random.Generator) -> tuple[int, float, int]:
    """How often d_H > ⌊4‖e‖²/σ²⌋, the largest share of that bound, and in how many instances.

    Errors are drawn at random, along the weakest direction, and towards everybody's reverse.
    """
    violated, largest, count = 0, 0.0, 0
    for _ in range(instances):
        n = int(rng.integers(40, 121))
        people = random_people(n, attributes_for(2 * n, 2), rng)
        plain = plain_of(people, Predicates("and", 3))
        values = singular_values(plain.operator)
        if values.least_interval[0] < 1e-6:
            continue  # somebody with fewer than two attributes is in no cell: the bound is infinite
        weak = np.asarray(plain.operator @ values.least_vector)
        flip = np.asarray(plain.operator @ (1 - 2 * plain.secret))  # moves every estimate towards its reverse
        shapes = [rng.normal(size=weak.size), np.sign(rng.normal(size=weak.size)), weak, np.sign(weak), flip]
        for shape in shapes:
            for size in (0.05, 0.3, 0.51, 1.0):
                unit = 1.0 if shape is flip else math.sqrt(n / np.mean(shape**2))
                error = size * unit * shape
                wrong = int(plain.wrong(error[:, None])[0])
                norm = float(np.linalg.norm(error))
                violated += wrong > hamming_from_norm(norm, values.least_interval[0])
                largest = max(largest, wrong * values.least**2 / (4 * norm**2))
                count += 1
    return violated, largest, count
