"""Hits: how many people an attack and each baseline got right, added up over draws and areas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.chance_intervals import (
    CHANCE,
    NORMAL,
    exact_interval,
    gain_interval,
    share_interval,
)
from tellall.audits.measures.risk import Mask, Risk
from tellall.core.errors import invalid

__all__ = ["Hits", "Total"]


@dataclass(frozen=True)
class Hits:
    """How many people an attack and each baseline got right: what can be added up over areas.

    Attributes
    ----------
    people
        How many there are.
    right
        How many the attack guessed right, a number per draw.
    baselines
        How many each baseline guessed right.
    gains
        For each baseline, pairs: in how many more draws than the baseline the attack was right, and how many
        people have that number.
    fit
        The same pairs for an ordinary fit to people with everybody in it; empty where that is not known.
    """

    people: int
    right: tuple[int, ...]
    baselines: Mapping[str, int]
    gains: Mapping[str, tuple[tuple[int, int], ...]]
    fit: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, right: Sequence[Mask], baselines: Mapping[str, Mask], fit: Mask | None = None) -> Hits:
        """The hits, from who was guessed right by the attack in each draw, by each baseline and by a fit.

        Examples
        --------
        >>> truth = np.array([True, True, False, True])
        >>> Hits.of([truth], {"majority": ~truth}).gains
        {'majority': ((-1, 1), (1, 3))}
        """
        attack = np.stack(right).astype(np.int64)
        return cls(
            people=attack.shape[1],
            right=tuple(int(count) for count in attack.sum(axis=1)),
            baselines={name: int(mask.sum()) for name, mask in baselines.items()},
            gains={name: _histogram((attack - mask).sum(axis=0)) for name, mask in baselines.items()},
            fit=() if fit is None else _histogram((attack - fit).sum(axis=0)),
        )

    @property
    def draws(self) -> int:
        """How many draws."""
        return len(self.right)

    @property
    def strongest(self) -> str:
        """The baseline that is right most often."""
        return max(self.baselines, key=lambda name: self.baselines[name])

    def standing_in(self, name: str) -> str:
        """The baseline of this name; the strongest if this area has no such baseline."""
        return name if name in self.baselines else self.strongest

    def surely(self, chance: float) -> float:
        """A lower limit of the advantage that is wrong with at most this chance, however few people."""
        pairs = self.gains[self.strongest]
        won = sum(max(gain, 0) * count for gain, count in pairs) / self.draws
        lost = sum(max(-gain, 0) * count for gain, count in pairs) / self.draws
        return exact_interval(won, lost, self.people, 2 * chance)[0]  # one of its two ends

    def most_beyond(self, names: Sequence[str]) -> float:
        """The upper end of the advantage over the best of these baselines; infinite if none is known."""
        known = [name for name in names if name in self.baselines]
        if not known:
            return math.inf
        return self._most(self.gains[max(known, key=lambda name: self.baselines[name])])

    @property
    def beyond_fit(self) -> tuple[float, float] | None:
        """How much more is right than by an ordinary fit to all, with its upper end; None: not known."""
        if not self.fit:
            return None
        point = sum(gain * count for gain, count in self.fit) / self.draws / self.people
        return point, self._most(self.fit)

    def _most(self, pairs: Sequence[tuple[int, int]]) -> float:
        """The upper end of the mean of these gains."""
        gains = {gain / self.draws: count for gain, count in pairs}
        variance = _over_draws(self.right) / self.people**2
        return gain_interval(list(gains), list(gains.values()), draw_variance=variance)[1]

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Hits:
        """The hits that were written as plain data."""
        return cls(
            int(plain["people"]),
            tuple(int(count) for count in plain["right"]),
            {name: int(count) for name, count in plain["baselines"].items()},
            {name: tuple((int(g), int(c)) for g, c in pairs) for name, pairs in plain["gains"].items()},
            tuple((int(g), int(c)) for g, c in plain.get("fit", ())),
        )


@dataclass(frozen=True)
class Total:
    """Accuracy, baselines and advantage of an attack on some people, with their intervals.

    ``beyond_fit``, for real secrets: the advantage without what in-sample fit explains, and its interval.
    """

    people: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]
    beyond_fit: tuple[float, float, float] | None = None

    @classmethod
    def of(cls, parts: Sequence[Hits], chance: float = CHANCE) -> Total:
        """All people of one or several areas together.

        Notes
        -----
        The strongest baseline is chosen once, on all people: chosen in each area it would be the luckiest of
        several, and the smaller the areas, the more of the advantage that would hide. An area that lacks a
        baseline counts with its own strongest. The interval is the bootstrap over all people
        (`gain_interval`); areas have noise of their own, so the variances of their draws add.
        """
        if not parts:
            raise invalid("parts", "one or more", "none")
        people = sum(part.people for part in parts)
        names = dict.fromkeys(name for part in parts for name in part.baselines)
        shares = {
            name: sum(part.baselines[part.standing_in(name)] for part in parts) / people for name in names
        }
        strongest = max(shares, key=lambda name: shares[name])
        accuracy = math.fsum(fmean(part.right) for part in parts) / people
        variance = math.fsum(_over_draws(part.right) for part in parts) / people**2
        gains: dict[float, int] = {}
        for part in parts:
            for gain, count in part.gains[part.standing_in(strongest)]:
                gains[gain / part.draws] = gains.get(gain / part.draws, 0) + count
        return cls(
            people,
            accuracy,
            share_interval(accuracy, people, variance),
            shares,
            strongest,
            accuracy - shares[strongest],
            gain_interval(list(gains), list(gains.values()), draw_variance=variance, chance=chance),
        )

    @classmethod
    def of_reals(cls, risks: Sequence[Risk], chance: float = CHANCE) -> Total:
        """The same for real secrets: mean absolute errors, where smaller is better."""
        first, errors = risks[0], np.array([risk.error for risk in risks])
        error, variance = float(errors.mean()), _over_draws(errors)
        by_person = np.mean([risk._off for risk in risks], axis=0)
        half = NORMAL * math.sqrt(float(by_person.var()) / by_person.size + variance)
        gains = np.mean([risk.gain for risk in risks], axis=0)
        beyond = np.mean([risk.beyond_fit for risk in risks], axis=0)
        more = {"draw_variance": variance, "largest": max(risk.largest for risk in risks), "chance": chance}
        return cls(
            first.n,
            error,
            (max(0.0, error - half), error + half),
            dict(first.baselines),
            first.baseline,
            fmean(risk.advantage for risk in risks),
            gain_interval(gains, **more),
            (float(beyond.mean()), *gain_interval(beyond, **more)),
        )


def _over_draws(sums: npt.ArrayLike) -> float:
    """The variance of the mean over draws."""
    values = np.asarray(sums, dtype=np.float64)
    return float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0


def _histogram(values: np.ndarray[Any, Any]) -> tuple[tuple[int, int], ...]:
    found, counts = np.unique(values, return_counts=True)
    return tuple((int(value), int(count)) for value, count in zip(found, counts, strict=True))
