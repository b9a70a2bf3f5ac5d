"""Tally: what of an attack's score can be added up over blocks of people, so that totals have intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.experiment.intervals import exact_interval, share_interval, with_few_different

__all__ = [
    "Tally",
    "Total",
    "total",
]

_RESAMPLES = 10_000
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Tally:
    """How many people an attack and each baseline got right, over draws of the noise; nobody in it.

    Attributes
    ----------
    people
        How many there are.
    right
        How many the attack guessed right, a number per draw.
    baselines
        The same for each baseline.
    gains
        For each baseline: in how many draws more than the baseline the attack was right, and how many people
        have that number; pairs.
    """

    people: int
    right: tuple[int, ...]
    baselines: Mapping[str, tuple[int, ...]]
    gains: Mapping[str, tuple[tuple[int, int], ...]]

    @classmethod
    def of(cls, right: Sequence[Mask], baselines: Sequence[Mapping[str, Mask]]) -> Tally:
        """The tally of who was right in each draw: the attack, and each baseline by name.

        Examples
        --------
        >>> truth = np.array([True, True, False, True])
        >>> Tally.of([truth], [{"majority": ~truth}]).gains
        {'majority': ((-1, 1), (1, 3))}
        """
        names = [name for name in baselines[0] if all(name in draw for draw in baselines)]
        attack = np.stack(right).astype(np.int64)
        return cls(
            people=attack.shape[1],
            right=tuple(int(count) for count in attack.sum(axis=1)),
            baselines={name: tuple(int(draw[name].sum()) for draw in baselines) for name in names},
            gains={
                name: _histogram((attack - np.stack([draw[name] for draw in baselines])).sum(axis=0))
                for name in names
            },
        )

    @property
    def draws(self) -> int:
        """How many draws."""
        return len(self.right)

    @cached_property
    def strongest(self) -> str:
        """The baseline that is right most often."""
        return max(self.baselines, key=lambda name: sum(self.baselines[name]))

    def standing_in(self, name: str) -> str:
        """The baseline of this name; where there is none here, the strongest."""
        return name if name in self.baselines else self.strongest

    def surely(self, chance: float) -> float:
        """A lower limit of the advantage that is wrong with at most this chance, however few people.

        Notes
        -----
        The share of people whom only the attack gets right, at least, less the share whom only the strongest
        baseline gets right, at most: Clopper and Pearson's limits, half of the chance each.

        Examples
        --------
        >>> Tally(50, (50,), {"majority": (20,)}, {"majority": ((0, 20), (1, 30))}).surely(0.05) > 0.3
        True
        """
        pairs = self.gains[self.strongest]
        won = sum(max(gain, 0) * count for gain, count in pairs) / self.draws
        lost = sum(max(-gain, 0) * count for gain, count in pairs) / self.draws
        return exact_interval(won, lost, self.people, 2 * chance)[0]  # one of its two ends

    def as_json(self) -> dict[str, Any]:
        """The tally as plain data."""
        return {
            "people": self.people,
            "right": list(self.right),
            "baselines": {name: list(counts) for name, counts in self.baselines.items()},
            "gains": {name: [list(pair) for pair in pairs] for name, pairs in self.gains.items()},
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Tally:
        """The tally that :meth:`as_json` gave."""
        return cls(
            int(plain["people"]),
            tuple(int(count) for count in plain["right"]),
            {name: tuple(int(count) for count in counts) for name, counts in plain["baselines"].items()},
            {
                name: tuple((int(gain), int(count)) for gain, count in pairs)
                for name, pairs in plain["gains"].items()
            },
        )


@dataclass(frozen=True)
class Total:
    """The tallies of disjoint people, added up.

    Attributes
    ----------
    accuracy, accuracy_interval
        The share of all people guessed right, with its 95 % interval.
    baselines, baseline
        The share that each baseline gets right of all people, and the strongest on all of them.
    advantage, interval
        Accuracy beyond that baseline, with its 95 % interval.
    """

    people: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]


def total(tallies: Sequence[Tally], *, rng: np.random.Generator) -> Total:
    """All people together.

    Notes
    -----
    The strongest baseline is chosen once, on all people: chosen in each block it would be the luckiest of
    several, and the smaller the blocks, the more of the advantage that would hide. A block that lacks a
    baseline counts with its own strongest in its place.

    The interval is the 95 % bootstrap over people of the mean gain, as for one block; where noise is drawn
    several times, a normal error is added whose variance is that of a block's sum over its draws, summed over
    blocks, since blocks have noise of their own. Where fewer than five people have another gain than the rest
    it is widened to Clopper and Pearson's limits.
    """
    if not tallies:
        raise invalid("tallies", "one or more", "none")
    people = sum(tally.people for tally in tallies)
    names = dict.fromkeys(name for tally in tallies for name in tally.baselines)
    shares = {
        name: math.fsum(float(np.mean(tally.baselines[tally.standing_in(name)])) for tally in tallies)
        / people
        for name in names
    }
    strongest = max(shares, key=lambda name: shares[name])
    accuracy = math.fsum(float(np.mean(tally.right)) for tally in tallies) / people
    luck = math.fsum(_over_draws(tally.right) for tally in tallies) / people**2
    net = [np.subtract(tally.right, tally.baselines[tally.standing_in(strongest)]) for tally in tallies]
    spread = math.sqrt(math.fsum(_over_draws(draws) for draws in net)) / people
    return Total(
        people=people,
        accuracy=accuracy,
        accuracy_interval=share_interval(accuracy, people, luck),
        baselines=shares,
        baseline=strongest,
        advantage=accuracy - shares[strongest],
        interval=_interval(tallies, strongest, spread, rng),
    )


def _interval(
    tallies: Sequence[Tally], baseline: str, spread: float, rng: np.random.Generator
) -> tuple[float, float]:
    merged: dict[float, int] = {}
    for tally in tallies:
        for gain, count in tally.gains[tally.standing_in(baseline)]:
            merged[gain / tally.draws] = merged.get(gain / tally.draws, 0) + count
    values = np.array(sorted(merged))
    counts = np.array([merged[value] for value in values])
    people = int(counts.sum())
    resampled = rng.multinomial(people, counts / people, size=_RESAMPLES) @ values / people
    if spread:
        resampled = resampled + rng.normal(0, spread, _RESAMPLES)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return with_few_different((float(low), float(high)), merged.items())


def _over_draws(sums: Sequence[int] | npt.NDArray[Any]) -> float:
    """The variance of the mean over draws."""
    return float(np.var(sums, ddof=1)) / len(sums) if len(sums) > 1 else 0.0


def _histogram(values: npt.NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    found, counts = np.unique(values, return_counts=True)
    return tuple((int(value), int(count)) for value, count in zip(found, counts, strict=True))
