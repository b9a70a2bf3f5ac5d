"""contingency-tables, Theorem 2.9 and beyond: rows, more people than equations, biased attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.reconstruct.rows import reconstruct_rows
from tellall.papers.contingency_attacks import LITTLE, NEARLY_ALL, NOISE, SHARE, attribute_attack
from tellall.papers.contingency_people import Bits, bits_of, random_people
from tellall.papers.simulated import attributes_for, interval_series, mean_of
from tellall.people.dataset import Dataset
from tellall.promise.bounds.gauge import gauge
from tellall.promise.bounds.prediction import predict
from tellall.promise.bounds.table import prior_guess
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.law import Rng, as_rng
from tellall.release.release import publish
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.tables import Tables
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Beyond",
    "Rows",
    "row_attack",
]

_RATIOS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0)
_BIASES = (0.5, 0.2, 0.05)


def row_attack(
    rows: Bits, present: npt.NDArray[np.int64], ways: int, std: float, rng: np.random.Generator
) -> Reconstruction:
    """The row attack on tables of Dst(s) = diag(s) Mᵀ: who is there and who is a row of zeros."""
    people = Dataset.from_arrays(rows * present[:, None])
    release = publish(people, Tables(ways), Gaussian(std), rng=rng)
    return reconstruct_rows(release, rows, "least-squares", 0.5, rng, absent="zeros")


@dataclass(frozen=True, eq=False)
class Rows:
    """The row attack against noise for k = 2, 3, 4, with its statements and its figure.

    Attributes
    ----------
    labels, sizes
        "k = 2, d = 29", and (attributes, tables) of each.
    measured, predicted
        The share of rows right by tellall's decoder, one array of runs for each ratio; and what plain least
        squares is predicted to get.
    guessed
        How often "a row of zeros" is right without any release.
    """

    n: int
    labels: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    measured: tuple[tuple[Array, ...], ...]
    predicted: tuple[tuple[float, ...], ...]
    guessed: Array

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Rows:
        """The attack on twice as many tables as rows."""
        generator = as_rng(rng)
        n, runs = (200, 4) if quick else (500, 10)
        labels, sizes, measured, predicted, guessed = [], [], [], [], []
        for ways in (2, 3, 4):
            d = attributes_for(2 * n, ways)
            rows = bits_of(n, d, generator)
            shares, expected = [], []
            for ratio in _RATIOS:
                std, right = ratio * math.sqrt(n), []
                for _ in range(runs):
                    present = generator.integers(0, 2, n)
                    found = row_attack(rows, present, ways, std, generator)
                    right.append(float((found.guess == present).mean()))
                    guessed.append(1 - float(present.mean()))
                operator = found.evidence.operator
                expected.append(predict(operator, np.full(operator.shape[0], std)).accuracy)
                shares.append(np.array(right))
            labels.append(f"k = {ways}, d = {d}")
            sizes.append((d, math.comb(d, ways)))
            measured.append(tuple(shares))
            predicted.append(tuple(expected))
        return cls(n, tuple(labels), tuple(sizes), tuple(measured), tuple(predicted), np.array(guessed))

    def statements(self) -> Iterator[Statement]:
        """Theorem 2.9 and its condition."""
        for label, (_, tables), shares in zip(self.labels, self.sizes, self.measured, strict=True):
            value, interval = mean_of(shares[_RATIOS.index(LITTLE)])
            yield Statement.at_least(
                "row attack at little noise",
                "Thm. 2.9",
                f"1 − o(1) of the rows at noise o(√n); here: {NEARLY_ALL:.0%} at {LITTLE:g}√n",
                value,
                NEARLY_ALL,
                setting=f"{label}, n = {self.n}, {tables} tables",
                interval=interval,
            )
        d = self.sizes[-1][0]
        value, _ = mean_of(self.guessed)
        doubt = 4 * math.sqrt(0.25 / (self.n * self.guessed.size))
        yield Statement(
            "rows guessed before any release",
            "Def. 2.3a, E-CT-9",
            "at most 1/2 + 2^−d ≤ 2/3; Pr[E] printed as 2^−d is Pr[not E], and the sum is 1/2 + 2^−(d+1)",
            f"{prior_guess(d):.6f}; “zeros” was right for {value:.3f} of the rows",
            "corrected"
            if prior_guess(d) <= 2 / 3 and abs(value - prior_guess(d)) < doubt
            else "does not hold",
            f"d = {d}; with d = 1 the condition fails: {prior_guess(1):.2f}",
            prior_guess(d),
            2 / 3,
        )

    def figures(self) -> Iterator[Figure]:
        """Rows recovered against noise."""
        points = [
            interval_series(label, _RATIOS, shares)
            for label, shares in zip(self.labels, self.measured, strict=True)
        ]
        lines = [
            Series(f"predicted, {label}", _RATIOS, expected)
            for label, expected in zip(self.labels, self.predicted, strict=True)
        ]
        yield Figure(
            "Row attack: rows recovered against noise, k = 2, 3, 4",
            f"{self.n} candidate rows; each is in the data, or zeros stand in its place, by a coin. "
            "All k-way tables are published, at least twice as many as rows. Points: tellall's least squares "
            "with box and prior (95 % over runs); lines: predicted for plain least squares, which it beats.",
            NOISE,
            Axis("share of rows right", low=0.45, high=1.0),
            (*points, *lines),
            (Rule(0.5, "best guess before"),),
        )


@dataclass(frozen=True, eq=False)
class Beyond:
    """More people than can be solved for, and attributes that are rare.

    Attributes
    ----------
    cap
        The rank that no number of people exceeds.
    ranks
        (people, rank found).
    everybody, first
        (people, shares right): of all people with random attributes; and of the first a in the paper's
        Dat(s), where everybody else's attributes are zero.
    biased
        The rate of the attributes, shares right for each ratio, and what is predicted.
    between
        Shares right where each attribute has its own rate in (0.2, 0.8), at little noise.
    """

    d: int
    cap: int
    std: float
    ranks: tuple[tuple[int, int], ...]
    everybody: tuple[tuple[int, Array], ...]
    first: tuple[tuple[int, Array], ...]
    biased: tuple[tuple[float, tuple[Array, ...], tuple[float, ...]], ...]
    between: Array
    people: int

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Beyond:
        """k = 3 throughout."""
        generator, runs = as_rng(rng), 3 if quick else 8
        d = 16 if quick else 24
        cap, std, statistic = 1 + d + math.comb(d, 2), 0.5, Marginals(3)
        ranks, everybody, first = [], [], []
        for share in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0):
            n, all_of_them, some = round(share * cap), [], []
            for _ in range(runs):
                people = random_people(n, d, generator)
                all_of_them.append(attribute_attack(people, statistic, std, generator))
                some.append(_padded(n, d, cap // 2, std, generator))
            rank = gauge(statistic, people.public).rank
            assert rank is not None  # computed up to 10,000 people
            ranks.append((n, rank))
            everybody.append((n, np.array(all_of_them)))
            first.append((n, np.array(some)))
        n = 200 if quick else 500
        many, root = attributes_for(2 * n, 2), math.sqrt(n)
        biased = []
        for rate in _BIASES:
            people = random_people(n, many, generator, rate)
            shares = tuple(
                np.array([attribute_attack(people, statistic, r * root, generator) for _ in range(runs)])
                for r in _RATIOS
            )
            expected = tuple(gauge(statistic, people.public, Gaussian(r * root)).with_prior for r in _RATIOS)
            biased.append((rate, shares, expected))
        own = [random_people(n, many, generator, generator.uniform(0.2, 0.8, many)) for _ in range(runs)]
        between = np.array([attribute_attack(one, statistic, LITTLE * root, generator) for one in own])
        return cls(d, cap, std, tuple(ranks), tuple(everybody), tuple(first), tuple(biased), between, n)

    def statements(self) -> Iterator[Statement]:
        """The rank, Theorem 2.7's second case, and the remark on rates."""
        n, rank = max(self.ranks)
        yield Statement(
            "equations about the secret that differ",
            "Sec. 2, E-CT-4",
            f"M^(k−1) has d^(k−1) = {self.d**2} rows; repeated index tuples are no cells of their own",
            f"rank {rank}: Σ C(d, l) over l < k, {rank / self.d**2:.2f} d^(k−1)",
            "corrected" if rank == self.cap else "does not hold",
            f"k = 3, d = {self.d}, n = {n}",
            rank,
            self.cap,
        )
        n, shares = self.first[-1]
        value, interval = mean_of(shares)
        yield Statement.at_least(
            "n beyond what can be attacked: the first a people",
            "Thm. 2.7, case 2",
            f"1 − o(1) of a = Ω̃(d^(k−1)) people when all others' attributes are zero; here: {NEARLY_ALL:.0%}",
            value,
            NEARLY_ALL,
            setting=f"k = 3, d = {self.d}, n = {n}, a = {self.cap // 2}, noise {self.std:g}",
            interval=interval,
        )
        n, shares = self.everybody[-1]
        value, interval = mean_of(shares)
        yield Statement.shown(
            "n beyond what can be attacked: everybody's attributes random",
            "Thm. 2.7",
            value,
            setting=f"k = 3, d = {self.d}, n = {n} = {n / self.cap:g} times the rank, noise {self.std:g}",
            interval=interval,
        )
        value, interval = mean_of(self.between)
        yield Statement.at_least(
            "biased attributes",
            "Thm. 3.1, remark",
            f"the same with rates in (q1, q2); here: {NEARLY_ALL:.0%} at {LITTLE:g}√n, rates in (0.2, 0.8)",
            value,
            NEARLY_ALL,
            setting=f"k = 3, n = {self.people}",
            interval=interval,
        )

    def figures(self) -> Iterator[Figure]:
        """Recovery against people, and against noise for rare attributes."""
        sizes = [n / self.cap for n, _ in self.everybody]
        yield Figure(
            "More people than equations (k = 3)",
            f"d = {self.d} attributes: no more than {self.cap} unknowns can be solved for, whatever n. "
            f"Noise {self.std:g} a cell, tellall's least squares. In the paper's Dat(s) only the first "
            f"{self.cap // 2} people have attributes, and those are always found. Bands: 95 % over runs.",
            Axis("people / rank", log=True),
            SHARE,
            (
                interval_series(
                    "attributes random, all people", sizes, [a for _, a in self.everybody], "both"
                ),
                interval_series("Dat(s), the first people", sizes, [a for _, a in self.first], "both"),
            ),
            (Rule(1.0, "people = rank", "x"), Rule(0.5, "coin")),
        )
        points = [interval_series(f"rate {rate:g}", _RATIOS, shares) for rate, shares, _ in self.biased]
        lines = [Series(f"predicted, rate {rate:g}", _RATIOS, expected) for rate, _, expected in self.biased]
        yield Figure(
            "Biased attributes (k = 3)",
            f"n = {self.people}; every attribute is one with the rate given. Points: tellall's least squares "
            "(95 % over runs); lines: predicted for least squares with the prior and no box. Rare "
            "attributes say less, and people without any look alike.",
            NOISE,
            SHARE,
            (*points, *lines),
            (Rule(0.5, "coin"),),
        )


def _padded(n: int, d: int, a: int, std: float, rng: np.random.Generator) -> float:
    """The share of the first a people right in Dat(s): everybody after them has attributes zero."""
    attributes = np.zeros((n, d), dtype=np.int8)
    count = min(n, a)
    attributes[:count] = bits_of(count, d, rng)
    people = Dataset.from_arrays(attributes, secret=rng.integers(0, 2, n))
    release = publish(people, Marginals(3), Gaussian(std), rng=rng)
    found = reconstruct(release, people.public, "least-squares", 0.5, rng)
    assert isinstance(found, Reconstruction)
    return float((found.guess == people.bits)[:count].mean())
