"""contingency-tables: the attribute and the row attack against noise, and their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.core.work import Tell
from tellall.papers.claims import (
    Array,
    Found,
    Joined,
    NamedCase,
    attributes_for,
    case_of,
    interval_series,
    mean_of,
)
from tellall.papers.reader import read_paper
from tellall.report.kit.plot import Axis, Figure, Rule, Series

__all__ = [
    "LITTLE",
    "NEARLY_ALL",
    "Plain",
    "attribute_attack",
    "attributes",
    "beyond",
    "bits_of",
    "random_people",
    "row_attack",
    "rows",
]

Rng = np.random.Generator
_SETTINGS = read_paper("contingency-tables").settings
NEARLY_ALL, LITTLE = _SETTINGS["nearly_all"], _SETTINGS["little"]
_NOISE = Axis("noise σ / √n", log=True)
_SHARE = Axis("share of secrets right", low=0.45, high=1.0)
_RATIOS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5)
_ROW_RATIOS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0)
_COIN = (Rule(0.5, "coin"),)


def bits_of(n: int, d: int, rng: Rng, rate: float | Array = 0.5) -> npt.NDArray[np.int8]:
    """n random people with d attributes of the given rates, no two of them alike."""
    kept = np.zeros((0, d), dtype=np.int8)
    while kept.shape[0] < n:
        both = np.vstack([kept, (rng.random((n, d)) < rate).astype(np.int8)])
        kept = both[np.sort(np.unique(both, axis=0, return_index=True)[1])][:n]
    return kept


def random_people(n: int, d: int, rng: Rng, rate: float | Array = 0.5) -> ta.Dataset:
    """Random people with a fair secret."""
    return ta.Dataset.from_arrays(bits_of(n, d, rng, rate), secret=rng.integers(0, 2, n))


@dataclass(frozen=True, eq=False)
class Plain:
    """The paper's attack on a statistic: x = M⁺ z without box or prior, rounded at 1/2 (Proposition 2.4)."""

    people: ta.Dataset
    statistic: Any

    @cached_property
    def operator(self) -> Any:
        """M."""
        return ta.linearise(ta.publish(self.people, self.statistic), self.people.public).operator

    @cached_property
    def secret(self) -> Array:
        """s."""
        return self.people.bits.astype(np.float64)

    def wrong(self, errors: Array) -> npt.NDArray[np.intp]:
        """How many people the attack gets wrong for each column of errors in the published values."""
        return self._missed(self._moved(errors))

    def recovered(self, stds: Sequence[float], draws: int, rng: Rng) -> tuple[Array, ...]:
        """The share of people right in each draw of Gaussian noise; every size scales the same draws."""
        moved = self._moved(rng.normal(size=(self.operator.shape[0], draws)))
        return tuple(1 - self._missed(std * moved) / self.secret.size for std in stds)

    def predicted(self, std: float) -> float:
        """The expected share right: mean over people of Φ(1/(2 sd_i)), sd_i² = std² [(MᵀM)⁻¹]_ii."""
        from scipy.special import ndtr

        return float(np.mean(ndtr(1 / (2 * std * np.sqrt(self._inverse.diagonal())))))

    def _moved(self, errors: Array) -> Array:
        """M⁺ e for every column e: M⁺(M s + e) = s + M⁺ e, so the errors alone are solved for."""
        return np.asarray(self._inverse @ np.asarray(self.operator.T @ errors, dtype=np.float64))

    def _missed(self, moved: Array) -> npt.NDArray[np.intp]:
        truth = self.secret[:, None]
        return np.asarray(((truth + moved >= 0.5) != (truth == 1)).sum(axis=0))

    @cached_property
    def _inverse(self) -> Array:
        """(MᵀM)⁻¹."""
        return np.linalg.inv(np.asarray(self.operator.gram(), dtype=np.float64))


# Theorem 2.7: the attribute attack


@dataclass(frozen=True, eq=False)
class _Curve:
    """Recovery of plain least squares against noise: an array of draws for each ratio, and predictions."""

    label: str
    n: int
    measured: tuple[Array, ...]
    predicted: tuple[float, ...]

    @classmethod
    def of(cls, label: str, people: ta.Dataset, statistic: Any, draws: int, rng: Rng) -> _Curve:
        """The paper's attack on a statistic of these people."""
        plain, stds = Plain(people, statistic), [ratio * math.sqrt(people.n) for ratio in _RATIOS]
        return cls(label, people.n, plain.recovered(stds, draws, rng), tuple(map(plain.predicted, stds)))

    def at(self, ratio: float) -> Array:
        """The draws at one ratio."""
        return self.measured[_RATIOS.index(ratio)]

    @property
    def gap(self) -> float:
        """The largest distance of the measured mean from the prediction."""
        return max(abs(float(m.mean()) - p) for m, p in zip(self.measured, self.predicted, strict=True))

    def drawn(self, label: str = "") -> tuple[Series, Series]:
        """The measured points and the predicted line."""
        label = label or self.label
        predicted = Series(f"predicted, {label}", _RATIOS, self.predicted)
        return interval_series(label, _RATIOS, self.measured), predicted


def attribute_attack(people: ta.Dataset, statistic: Any, protect: Any, rng: Rng) -> npt.NDArray[np.bool_]:
    """Which people's secrets tellall's least squares, with box and prior, gets right."""
    release = ta.publish(people, statistic, protect, rng=rng)
    found = ta.reconstruct(release, people.public, "least-squares", 0.5, rng)
    return np.asarray(found.guess == people.bits)


def _attacked(people: ta.Dataset, noise: Any, runs: int, rng: Rng) -> Array:
    """The share of secrets right in each run, 3-way tables."""
    return np.array([attribute_attack(people, ta.Marginals(3), noise, rng).mean() for _ in range(runs)])


def attributes(quick: bool, rng: Rng, tell: Tell) -> Found:
    """Theorem 2.7 for k = 2, 3, 4 and for growing n; printed cells alone; what no decoder beats."""
    n, draws, runs = (400, 80, 4) if quick else (2000, 40, 3)
    by_ways, tables, crowds = [], [], []
    for ways in (2, 3, 4):
        d = attributes_for(2 * n, ways - 1)
        people = random_people(n, d, rng)
        crowds.append(people)
        by_ways.append(_Curve.of(f"k = {ways}, d = {d}", people, ta.Marginals(ways), draws, rng))
        tables.append(math.comb(d, ways - 1))
    three, by_people = crowds[1], []
    for count in (n // 8, n // 4, n // 2, n):
        some = random_people(count, attributes_for(2 * count, 2), rng)
        by_people.append(_Curve.of(f"n = {count}", some, ta.Marginals(3), max(draws, 8000 // count), rng))
    noises = [ta.Gaussian(ratio * math.sqrt(n)) for ratio in _RATIOS]
    decoded = [_attacked(three, noise, runs, rng) for noise in noises]
    found = [ta.bounds.gauge(ta.Marginals(3), three.public, noise).limit for noise in noises]
    limits = [math.nan if limit is None else limit for limit in found]
    printed = _Curve.of("cells of ones only", three, ta.Predicates("and", 3), draws, rng)
    worst = _worst(10 if quick else 500, rng)
    figures = _attribute_figures(by_ways, by_people, printed, decoded, limits)
    cases: list[NamedCase] = [
        ("attribute", case_of(mean_of(curve.at(LITTLE)), label=curve.label, n=n, tables=count))
        for curve, count in zip(by_ways, tables, strict=True)
    ]
    wrong = np.rint((1 - by_ways[1].at(LITTLE)) * n).astype(int)
    fails = ta.bounds.recovery(wrong, n, 1 - NEARLY_ALL)
    ends = (fails.low, fails.high)
    cases.append(("fails", case_of((fails.beta, ends), label=by_ways[1].label, draws=wrong.size)))
    sizes = Joined(curve.n for curve in by_people)
    cases += [
        ("root law", {"value": min(float(c.at(LITTLE).mean()) for c in by_people), "sizes": sizes}),
        ("above root", {"value": max(float(c.at(_RATIOS[-1]).mean()) for c in by_people), "sizes": sizes}),
        ("instances", worst),
    ]
    words = {"n": n, "low": _RATIOS[0], "high": _RATIOS[-1]}
    cases += [("predicted", {"value": c.gap, "label": c.label, **words}) for c in (*by_ways, printed)]
    pairs = zip(decoded, limits, strict=True)
    lead = max(float(shares.mean()) - top for shares, top in pairs if top < 0.999)  # else both get everybody
    return figures, [*cases, ("limit", {"value": lead})]


def _attribute_figures(
    by_ways: list[_Curve], by_people: list[_Curve], printed: _Curve, decoded: list[Array], limits: list[float]
) -> Iterator[Figure]:
    points, lines = zip(*(curve.drawn() for curve in by_ways), strict=True)
    yield Figure(
        "Attribute attack: secrets recovered against noise, k = 2, 3, 4",
        f"All k-way tables of the secret with d public attributes, n = {by_ways[0].n} people, about "
        "twice as many tables as people. Points: plain least squares as in the paper (95 % over draws "
        "of the noise); lines: predicted from the equations alone. 1/2 is a coin.",
        _NOISE,
        _SHARE,
        (*points, *lines),
        _COIN,
    )
    drawn = [curve.drawn() for curve in by_people]
    yield Figure(
        "The √n law: the same noise over √n, growing n",
        "k = 3, twice as many tables as people: d grows like √n, and the curves nearly fall on one "
        "another (small tables hold relatively more of the lower moments). "
        "Lines: predicted for the smallest and the largest n.",
        _NOISE,
        _SHARE,
        (*(points for points, _ in drawn), drawn[0][1], drawn[-1][1]),
        _COIN,
    )
    cells, foreseen = printed.drawn("printed: cells of ones")
    every, line = by_ways[1].drawn("every cell")
    boxed = interval_series("every cell, box and prior", _RATIOS, decoded)
    ours = boxed, Series("limit of all decoders", _RATIOS, limits)
    yield Figure(
        "What the printed attack leaves on the table (k = 3)",
        "Printed: the cells where all attributes are one, which the theorem needs. Every cell: what is "
        "published. Box and prior: tellall's least squares, which knows that secrets are 0 or 1. "
        "No decoder gets above the limit: somebody who knows everybody else's secret.",
        _NOISE,
        _SHARE,
        (cells, foreseen, every, line, *ours),
        _COIN,
    )


def _worst(instances: int, rng: Rng) -> dict[str, Any]:
    """How often d_H > ⌊4‖e‖²/σ²⌋, the largest share of that bound that was reached, and how many were tried.

    Errors are drawn at random, along the weakest direction, and towards the reverse of everybody's secret.
    """
    violated, largest, count = 0, 0.0, 0
    for _ in range(instances):
        n = int(rng.integers(40, 121))
        plain = Plain(random_people(n, attributes_for(2 * n, 2), rng), ta.Predicates("and", 3))
        values = ta.bounds.singular_values(plain.operator)
        if values.least_interval[0] < 1e-6:
            continue  # somebody with fewer than two attributes is in no cell: the bound is infinite
        weak = np.asarray(plain.operator @ values.least_vector)
        flip = np.asarray(plain.operator @ (1 - 2 * plain.secret))  # moves every estimate towards its reverse
        shapes = [rng.normal(size=weak.size), np.sign(rng.normal(size=weak.size)), weak, np.sign(weak), flip]
        for shape in shapes:
            unit = 1.0 if shape is flip else math.sqrt(n / np.mean(shape**2))
            for size in (0.05, 0.3, 0.51, 1.0):
                error = size * unit * shape
                wrong, norm = int(plain.wrong(error[:, None])[0]), float(np.linalg.norm(error))
                violated += wrong > ta.bounds.hamming_from_norm(norm, values.least_interval[0])
                largest = max(largest, wrong * values.least**2 / (4 * norm**2))
                count += 1
    return {"value": violated, "largest": largest, "count": count}


# Theorem 2.9: the row attack


def row_attack(
    rows: npt.NDArray[np.int8], present: npt.NDArray[np.int64], ways: int, protect: Any, rng: Rng
) -> Any:
    """The row attack on tables of Dst(s) = diag(s) Mᵀ: which rows are present and which are zeros."""
    people = ta.Dataset.from_arrays(rows * present[:, None])
    release = ta.publish(people, ta.Tables(ways), protect, rng=rng)
    return ta.reconstruct_rows(release, rows, "least-squares", 0.5, rng, absent="zeros")


def rows(quick: bool, rng: Rng, tell: Tell) -> Found:
    """Theorem 2.9 on at least twice as many tables as rows, for k = 2, 3, 4, and its condition."""
    n, runs = (200, 4) if quick else (500, 10)
    cases: list[NamedCase] = []
    points, lines, guessed = [], [], []
    for ways in (2, 3, 4):
        d = attributes_for(2 * n, ways)
        candidates = bits_of(n, d, rng)
        shares, expected = [], []
        for ratio in _ROW_RATIOS:
            std, right = ratio * math.sqrt(n), []
            for _ in range(runs):
                present = rng.integers(0, 2, n)
                found = row_attack(candidates, present, ways, ta.Gaussian(std), rng)
                right.append(float((found.guess == present).mean()))
                guessed.append(1 - float(present.mean()))
            operator = found.evidence.operator
            expected.append(ta.bounds.predict(operator, np.full(operator.shape[0], std)).accuracy)
            shares.append(np.array(right))
        label = f"k = {ways}, d = {d}"
        points.append(interval_series(label, _ROW_RATIOS, shares))
        lines.append(Series(f"predicted, {label}", _ROW_RATIOS, expected))
        little = mean_of(shares[_ROW_RATIOS.index(LITTLE)])
        cases.append(("row", case_of(little, label=label, n=n, tables=math.comb(d, ways))))
    prior, alone = ta.bounds.prior_guess(d), float(np.mean(guessed))
    near = abs(alone - prior) < 4 * math.sqrt(0.25 / (n * len(guessed)))
    words = {"d": d, "alone": alone, "single": ta.bounds.prior_guess(1)}
    cases.append(("prior", {"value": prior, "bound": 2 / 3, "mended": prior <= 2 / 3 and near, **words}))
    figure = Figure(
        "Row attack: rows recovered against noise, k = 2, 3, 4",
        f"{n} candidate rows; each is in the data, or zeros stand in its place, by a coin. "
        "All k-way tables are published, at least twice as many as rows. Points: tellall's least squares "
        "with box and prior (95 % over runs); lines: predicted for plain least squares, which it beats.",
        _NOISE,
        Axis("share of rows right", low=0.45, high=1.0),
        (*points, *lines),
        (Rule(0.5, "best guess before"),),
    )
    return [figure], cases


def beyond(quick: bool, rng: Rng, tell: Tell) -> Found:
    """More people than can be solved for, and attributes that are rare; k = 3 throughout."""
    runs, d = (3, 16) if quick else (8, 24)
    statistic, noise = ta.Marginals(3), ta.Gaussian(0.5)
    cap = 1 + d + math.comb(d, 2)
    sizes, everybody, first = [], [], []
    for share in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0):
        n, all_of_them, some = round(share * cap), [], []
        for _ in range(runs):
            people = random_people(n, d, rng)
            all_of_them.append(attribute_attack(people, statistic, noise, rng).mean())
            count = min(n, cap // 2)  # in Dat(s) everybody after these has attributes zero
            padded = np.zeros((n, d), dtype=np.int8)
            padded[:count] = bits_of(count, d, rng)
            zeros = ta.Dataset.from_arrays(padded, secret=rng.integers(0, 2, n))
            some.append(attribute_attack(zeros, statistic, noise, rng)[:count].mean())
        sizes.append(n)
        everybody.append(np.array(all_of_them))
        first.append(np.array(some))
    rank = ta.bounds.gauge(statistic, people.public).rank or 0
    words = {"d": d, "n": n, "std": noise.std, "a": cap // 2, "times": n / cap, "rows": d**2}
    cases: list[NamedCase] = [
        ("rank", {"value": rank, "bound": cap, "share": rank / d**2, "mended": rank == cap, **words}),
        ("first", case_of(mean_of(first[-1]), **words)),
        ("everybody", case_of(mean_of(everybody[-1]), **words)),
    ]
    scaled = [n / cap for n in sizes]
    figure = Figure(
        "More people than equations (k = 3)",
        f"d = {d} attributes: no more than {cap} unknowns can be solved for, whatever n. "
        f"Noise {noise.std:g} a cell, tellall's least squares. In the paper's Dat(s) only the first "
        f"{cap // 2} people have attributes, and those are always found. Bands: 95 % over runs.",
        Axis("people / rank", log=True),
        _SHARE,
        (
            interval_series("attributes random, all people", scaled, everybody, "both"),
            interval_series("Dat(s), the first people", scaled, first, "both"),
        ),
        (Rule(1.0, "people = rank", "x"), *_COIN),
    )
    rare, case = _rare(200 if quick else 500, runs, rng)
    return [figure, rare], [*cases, case]


def _rare(n: int, runs: int, rng: Rng) -> tuple[Figure, NamedCase]:
    """Attributes that are one with some rate other than 1/2 (the remark on Theorem 3.1)."""
    d, root, statistic = attributes_for(2 * n, 2), math.sqrt(n), ta.Marginals(3)
    points, lines = [], []
    for rate in (0.5, 0.2, 0.05):
        people = random_people(n, d, rng, rate)
        shares, expected = [], []
        for ratio in _ROW_RATIOS:
            noise = ta.Gaussian(ratio * root)
            shares.append(_attacked(people, noise, runs, rng))
            expected.append(ta.bounds.gauge(statistic, people.public, noise).with_prior)
        points.append(interval_series(f"rate {rate:g}", _ROW_RATIOS, shares))
        lines.append(Series(f"predicted, rate {rate:g}", _ROW_RATIOS, expected))
    own = [random_people(n, d, rng, rng.uniform(0.2, 0.8, d)) for _ in range(runs)]
    little = ta.Gaussian(LITTLE * root)
    between = np.array([attribute_attack(one, statistic, little, rng).mean() for one in own])
    figure = Figure(
        "Biased attributes (k = 3)",
        f"n = {n}; every attribute is one with the rate given. Points: tellall's least squares "
        "(95 % over runs); lines: predicted for least squares with the prior and no box. Rare "
        "attributes say less, and people without any look alike.",
        _NOISE,
        _SHARE,
        (*points, *lines),
        _COIN,
    )
    return figure, ("biased", case_of(mean_of(between), n=n))
