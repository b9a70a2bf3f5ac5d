"""A world: people made up, what is published about them, and what an audit says of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.audits.measures.reliability import Bin, add_bins
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned

__all__ = [
    "Audited",
    "Kinds",
    "Tally",
    "World",
    "audited",
    "chances",
    "drawn",
    "people_of",
    "runs_of",
    "table",
]

Make = Callable[[np.random.Generator], "World"]
Kinds = Mapping[str, Make]
WORDS = ("pass", "review", "fail")


@dataclass(frozen=True, eq=False)
class World:
    """People with what is published about them.

    Attributes
    ----------
    releases
        A statistic and its protections each; or a release that exists already.
    settings
        Further keys of the plan.
    """

    people: ta.Dataset
    releases: tuple[tuple[ta.Statistic, tuple[ta.Protection, ...]] | ta.Release, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        planned = [
            Planned.published(f"release {number}", one)
            if isinstance(one, ta.Release)
            else Planned(f"release {number}", *one, stream=number)
            for number, one in enumerate(self.releases)
        ]
        return Plan(
            tuple(planned),
            secret=self.people.secret_name,
            steps=False,
            **{k: v for k, v in self.settings.items() if k in Plan.__dataclass_fields__},
        )


@dataclass(frozen=True)
class Audited:
    """What one audit said: its word, the codes of its reasons, and how often stated confidences were right.

    ``bins`` has the guesses of each decoder whose answer is settled, on all releases together.
    """

    word: str
    codes: tuple[str, ...]
    bins: Mapping[str, tuple[Bin, ...]]
    seconds: float
    sentence: str


def audited(world: World, seed: int) -> Audited:
    """The audit of a world, with the seed of its noise."""
    begun = time.process_time()
    plan = world.plan
    plan = type(plan)(**{**vars(plan), "seed": seed})
    found = ta.audit(world.people, plan)
    last = found.found[-1] if found.found else None
    settled = () if last is None else [one for one in last.outcomes if one.settled and one.reliability]
    return Audited(
        found.verdict.word,
        tuple(one.code for one in found.verdict.reasons),
        {one.asked: one.reliability for one in settled},
        time.process_time() - begun,
        found.verdict.sentence,
    )


@dataclass(frozen=True)
class Tally:
    """Several runs of one kind of world."""

    name: str
    runs: tuple[Audited, ...]

    def count(self, word: str) -> int:
        return sum(one.word == word for one in self.runs)

    @property
    def codes(self) -> Counter[str]:
        return Counter(code for one in self.runs for code in one.codes)

    @property
    def bins(self) -> dict[str, tuple[Bin, ...]]:
        """The guesses of all runs, by decoder."""
        parts: dict[str, list[tuple[Bin, ...]]] = {}
        for one in self.runs:
            for decoder, bins in one.bins.items():
                parts.setdefault(decoder, []).append(bins)
        return {decoder: add_bins(each) for decoder, each in parts.items()}


def runs_of(name: str, make: Make, runs: int, first: int) -> Tally:
    """So many runs of one kind, each with people of its own; ``first`` is the first seed."""
    seeds = range(first, first + runs)
    return Tally(name, tuple(audited(make(drawn(name, seed)), seed) for seed in seeds))


def drawn(name: str, seed: int) -> np.random.Generator:
    """The random numbers of one run: no two kinds share them."""
    return np.random.default_rng([seed, *name.encode()])


def table(tallies: Sequence[Tally]) -> str:
    """A line for each kind: pass, review, fail, the codes of the reasons, seconds of the processor."""
    width = max(len(one.name) for one in tallies)
    lines = [f"{'':{width}}  pass  review  fail  seconds  reasons"]
    for one in tallies:
        counts = [one.count(word) for word in WORDS]
        seconds = sum(run.seconds for run in one.runs)
        codes = ", ".join(f"{code} {count}" for code, count in one.codes.most_common())
        lines.append(
            f"{one.name:{width}}  {counts[0]:4}  {counts[1]:6}  {counts[2]:4}  {seconds:7.1f}  {codes}"
        )
    return "\n".join(lines)


def chances(codes: npt.NDArray[Any], usual: float, rng: np.random.Generator, size: float) -> npt.NDArray[Any]:
    """A chance for everybody that depends on their columns (people × columns) as a logistic model says."""
    scaled = (codes - codes.mean(axis=0)) / np.maximum(codes.std(axis=0), 1e-9)
    score = scaled @ rng.normal(0, size / np.sqrt(codes.shape[1]), codes.shape[1])
    low, high = -20.0, 20.0
    for _ in range(60):  # the constant with which the mean chance is as wanted
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-score - middle))).mean() < usual else (low, middle)
    return np.asarray(1 / (1 + np.exp(-score - low)))


def people_of(
    rng: np.random.Generator, n: int, levels: Sequence[int], usual: float, size: float = 0.7
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Columns with so many about equally common values, bits that depend on them, and the chance of each."""
    codes = np.stack([rng.integers(0, each, n) for each in levels], axis=1)
    chance = chances(codes, usual, rng, size)
    return codes, (rng.random(n) < chance).astype(int), chance
