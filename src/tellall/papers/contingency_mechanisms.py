"""contingency-tables, Appendix B: the upper-bound mechanisms resisting, with their caps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.reconstruct.rows import reconstruct_rows
from tellall.papers.contingency_attacks import LITTLE, NEARLY_ALL
from tellall.papers.contingency_people import bits_of, random_people
from tellall.papers.simulated import attributes_for, mean_of
from tellall.people.dataset import Dataset
from tellall.promise.bounds.table import row_guess
from tellall.release.protections.additive import Gaussian, Laplace
from tellall.release.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise
from tellall.release.protections.law import Rng, as_rng
from tellall.release.protections.protection import Protection
from tellall.release.protections.records import Subsample
from tellall.release.release import Release, publish
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.tables import Tables
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "Mechanisms",
    "sample_attack",
]

EPSILON, DELTA = 0.1, 0.1  # the paper's own choice
BIT_CAP, ROW_CAP = 3 / 4, 5 / 6
SLACK = 4  # standard errors by which a measured mean may exceed its cap
_WAYS = 3
_OPEN = f"for comparison: 1 − o(1) at noise o(√n); here: {NEARLY_ALL:.0%}"


@dataclass(frozen=True, eq=False)
class _Case:
    """One mechanism against one attack."""

    mechanism: str
    target: str  # "bit" or "row"
    shares: Array  # right, one a run
    cap: float | None
    why: str
    setting: str
    guesses: int


@dataclass(frozen=True, eq=False)
class Mechanisms:
    """What the attacks get from protected tables, with the statements and figures made from it.

    Attributes
    ----------
    cases
        Each mechanism against the attribute attack and the row attack.
    """

    cases: tuple[_Case, ...]

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> Mechanisms:
        """Each mechanism with k = 3 and twice as many tables as people."""
        generator, runs = as_rng(rng), 8 if quick else 20
        n = 200 if quick else 400
        return cls((*_bits(n, runs, generator), *_rows(n, runs, generator)))

    def statements(self) -> Iterator[Statement]:
        """Propositions B.1 and B.3: nobody gets above the caps."""
        for case in self.cases:
            value, interval = mean_of(case.shares)
            what = f"{'secrets' if case.target == 'bit' else 'rows'} right: {case.mechanism}"
            where = "Prop. B.3" if case.target == "bit" else "Prop. B.1"
            if case.cap is None:
                theorem = "Thm. 2.7" if case.target == "bit" else "Thm. 2.9"
                yield Statement.at_least(
                    what, theorem, case.why, value, NEARLY_ALL, setting=case.setting, interval=interval
                )
                continue
            told = Statement.at_most(
                what, where, case.why, value, case.cap, setting=case.setting, interval=interval
            )
            # the cap is one of means: a share of fair coins may be above it by chance
            chance = SLACK * 0.5 / math.sqrt(case.guesses)
            yield replace(told, verdict="holds" if value <= case.cap + chance else "does not hold")
        yield Statement.at_most(
            "the gate (2/3)e^ε + δ",
            "Lemma B.2",
            "below 1: an (ε, δ)-private release is not row non-private",
            row_guess(EPSILON, DELTA),
            1 - 1e-9,
            setting=f"ε = δ = {EPSILON:g}; at ε = 1 it is {row_guess(1.0, 1e-6):.2f} and says nothing",
        )

    def figures(self) -> Iterator[Figure]:
        """Accuracy by mechanism, for secrets and for rows."""
        for target, words, rule in (
            ("bit", "secrets", "3/4, half the people left out"),
            ("row", "rows", "5/6, half the rows left out"),
        ):
            yield _categories([case for case in self.cases if case.target == target], words, rule)


def _categories(cases: Sequence[_Case], words: str, rule: str) -> Figure:
    found = [mean_of(case.shares) for case in cases]
    ends = [(value, value) if interval is None else interval for value, interval in found]
    caps = [math.nan if case.cap is None else case.cap for case in cases]
    places = range(len(cases))
    level = BIT_CAP if words == "secrets" else ROW_CAP
    return Figure(
        f"{words.capitalize()} right, by what was done to the tables",
        f"{cases[0].setting}. Caps are what nobody exceeds in the mean; exact tables and little noise "
        "have none. “Half, solved for” is the attack that knows how sampling works. "
        "Whiskers: 95 % over runs.",
        Axis("mechanism", categories=tuple(case.mechanism for case in cases)),
        Axis(f"share of {words} right", low=0.4, high=1.0),
        (
            Series(
                f"{words} right",
                places,
                [value for value, _ in found],
                low=[low for low, _ in ends],
                high=[high for _, high in ends],
                kind="points",
            ),
            Series("cap", places, caps, kind="points"),
        ),
        (Rule(level, rule), Rule(0.5, "best guess before")),
    )


def _bits(n: int, runs: int, rng: np.random.Generator) -> Iterator[_Case]:
    """The attribute attack on each mechanism."""
    d, statistic = attributes_for(2 * n, _WAYS - 1), Marginals(_WAYS)
    tables = math.comb(d, _WAYS - 1)
    setting = f"k = {_WAYS}, n = {n}, d = {d}, {tables} tables"
    private = row_guess(EPSILON, DELTA, 1 / 2)
    pure = row_guess(EPSILON, 0.0, 1 / 2)
    half = f"a fair bit: 1/2 + 1/2 · 1/2 = {BIT_CAP}"
    noisy = f"a fair bit: e^ε/2 + δ = {private:.3f}"
    mechanisms: tuple[tuple[str, Protection | None, float | None, str], ...] = (
        ("exact", None, None, _OPEN),
        ("little noise", Gaussian(LITTLE * math.sqrt(n)), None, _OPEN),
        ("half the people", Subsample(0.5), BIT_CAP, half),
        ("combined", Combined(EPSILON, DELTA), BIT_CAP, half),
        ("SuLQ", SuLQ(EPSILON, DELTA), private, noisy),
        ("Walsh noise", WalshNoise(epsilon=EPSILON, delta=DELTA), private, noisy),
        ("Laplace", Laplace(2 * tables / EPSILON), pure, f"a fair bit: e^ε/2 = {pure:.3f}"),
        ("constant", Trivial(), 1 / 2, "a fair bit: nothing is published about anybody"),
    )
    for name, protect, cap, why in mechanisms:
        shares = []
        for _ in range(runs):
            people = random_people(n, d, rng)
            shares.append(_bit_share(people, statistic, protect, rng))
        yield _Case(name, "bit", np.array(shares), cap, why, setting, n * runs)
        if name == "half the people":
            solved = [sample_attack(random_people(n, d, rng), statistic, rng) for _ in range(runs)]
            yield _Case("half, solved for", "bit", np.array(solved), BIT_CAP, half, setting, n * runs)


def _bit_share(
    people: Dataset, statistic: Statistic, protect: Protection | None, rng: np.random.Generator
) -> float:
    release = publish(people, statistic, protect, rng=rng)
    found = reconstruct(release, people.public, "least-squares", 0.5, rng)
    assert isinstance(found, Reconstruction)
    return float((found.guess == people.bits).mean())


def sample_attack(people: Dataset, statistic: Statistic, rng: np.random.Generator) -> float:
    """The share of secrets right by whoever solves for the sample: the cap is reached.

    Notes
    -----
    Tables of half the people, divided by two, are exact tables of the sample. Each person is a candidate
    twice, with either secret; the row attack says which of the two, if any, is in the sample. Whoever is in
    neither way is guessed by a coin and counts one half: 1/2 · 1 + 1/2 · 1/2 where everybody in the sample
    is found.
    """
    release = publish(people, statistic, Subsample(0.5), rng=rng)
    n, kept = people.n, Subsample(0.5).kept(people.n)
    exact = Release(np.rint(release.values * kept / n), statistic, (), release.columns)
    twice = np.tile(np.arange(n), 2)
    candidates = Dataset(people.public.take(twice), np.repeat(np.array([0, 1], dtype=np.int8), n))
    there = reconstruct_rows(exact, candidates, "least-squares", kept / (2 * n), rng).guess.reshape(2, n)
    known = there.sum(axis=0) == 1
    right = there[people.bits.astype(np.intp), np.arange(n)] == 1
    return float(np.where(known, right, 0.5).mean())


def _rows(n: int, runs: int, rng: np.random.Generator) -> Iterator[_Case]:
    """The row attack on each mechanism that fits tables without a secret."""
    d = attributes_for(2 * n, _WAYS)
    tables = math.comb(d, _WAYS)
    setting = f"k = {_WAYS}, n = {n}, d = {d}, {tables} tables"
    private, pure = row_guess(EPSILON, DELTA), row_guess(EPSILON)
    half = "a row guessed with 2/3 before: 1/2 + 1/2 · 2/3 = 5/6"
    mechanisms: tuple[tuple[str, Protection | None, float | None, str], ...] = (
        ("exact", None, None, _OPEN),
        ("little noise", Gaussian(LITTLE * math.sqrt(n)), None, _OPEN),
        ("half the people", Subsample(0.5), ROW_CAP, half),
        ("SuLQ", SuLQ(EPSILON, DELTA), private, f"a row: (2/3)e^ε + δ = {private:.3f}"),
        ("Laplace", Laplace(2 * tables / EPSILON), pure, f"a row: (2/3)e^ε = {pure:.3f}"),
    )
    for name, protect, cap, why in mechanisms:
        shares = np.array([_row_share(n, d, protect, rng) for _ in range(runs)])
        yield _Case(name, "row", shares, cap, why, setting, n * runs)
        if name == "half the people":
            solved = np.array([_row_sample(n, d, rng) for _ in range(runs)])
            yield _Case("half, solved for", "row", solved, ROW_CAP, half, setting, n * runs)


def _row_share(n: int, d: int, protect: Protection | None, rng: np.random.Generator) -> float:
    rows, present = bits_of(n, d, rng), rng.integers(0, 2, n)
    release = publish(_placed(rows, present), Tables(_WAYS), protect, rng=rng)
    found = reconstruct_rows(release, rows, "least-squares", 0.5, rng, absent="zeros")
    return float((found.guess == present).mean())


def _row_sample(n: int, d: int, rng: np.random.Generator) -> float:
    """The share of rows right by whoever solves for the sample; who is not seen in it is guessed absent."""
    rows, present = bits_of(n, d, rng), rng.integers(0, 2, n)
    release = publish(_placed(rows, present), Tables(_WAYS), Subsample(0.5), rng=rng)
    kept = Subsample(0.5).kept(n)
    exact = Release(np.rint(release.values * kept / n), Tables(_WAYS), (), release.columns)
    found = reconstruct_rows(exact, rows, "least-squares", kept / (2 * n), rng, absent="zeros")
    return float((found.guess == present).mean())


def _placed(rows: npt.NDArray[np.int8], present: npt.NDArray[np.int64]) -> Dataset:
    """Dst(s): each row, or zeros in its place."""
    return Dataset.from_arrays(rows * present[:, None])
