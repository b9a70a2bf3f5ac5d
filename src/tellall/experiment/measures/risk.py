"""Risk: what one attack found about each person, beyond what the strongest baseline would have guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.attack.secret import Secret
from tellall.core.amounts import amount, points
from tellall.core.errors import invalid
from tellall.core.notebook import InNotebook
from tellall.experiment.measures.intervals import CHANCE, NORMAL, gain_interval, highest_share, luck

__all__ = ["LEVELS", "NUMBER", "Luck", "Mask", "Risk"]

LEVELS = (0.95, 0.99)  # confidences at which people are counted as exposed
NUMBER = "number"  # the one value under which people with real secrets are counted
_ODDS = 3.0  # how many times the strongest baseline's odds a sure guess must have
_EXPLAINED = 0.01  # sure guesses that luck makes this right with a higher chance expose nobody
_RELIABLE = 0.90  # the hit rate that sure guesses must be able to have

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Luck:
    """How many guesses an attack is sure of, how many are right, and how many luck would make right.

    Attributes
    ----------
    sure, right
        Guesses with confidence 0.95 and three times the strongest baseline's odds, and those that are right.
    expected
        How many would be right by the baselines' own probabilities.
    chance
        The chance that luck alone makes this many right.
    """

    sure: float
    right: float
    expected: float
    chance: float

    @property
    def explained(self) -> bool:
        """Whether luck explains the right guesses, so that they expose nobody."""
        return self.chance > _EXPLAINED

    @property
    def unreliable(self) -> bool:
        """Whether the sure guesses are wrong too often to be called sure (99 % limit below 0.90)."""
        sure, right = round(self.sure), round(self.right)
        return sure > 0 and highest_share(right, sure, 0.01) < _RELIABLE


@dataclass(frozen=True, eq=False, repr=False)
class Risk(InNotebook):
    """How much a release gives away about these people, by one attack.

    Attributes
    ----------
    secret
        What kind of secret was attacked.
    baselines
        The share that each baseline guesses right; for a real secret, its mean absolute error.
    baseline
        The name of the strongest baseline.
    ways
        Among how many ways of guessing this is the one with the largest advantage; its interval is corrected
        for that.
    """

    secret: Secret
    baselines: Mapping[str, float]
    baseline: str
    _truth: npt.NDArray[Any]
    _guess: npt.NDArray[Any]
    _off: Array  # 0 where right and 1 where wrong; for a real secret the absolute error
    _confidence: Array  # for a real secret the half-width of the attack's 95 % interval
    _expected: Array  # the largest probability that a baseline gives to the attack's guess
    _narrowest: Array  # for a real secret the half-width of the narrowest baseline's interval
    _baseline_off: Mapping[str, Array]
    _proved: npt.NDArray[np.str_]  # "alone", "group" or ""
    _fitted_off: Array | None = None  # for a real secret, how far an ordinary fit to everybody is off
    contradicted: bool = False  # a proof that the truth contradicts: the release is about other people
    ways: int = 1
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # who these people are
    everybody: int = 0  # of how many

    @property
    def n(self) -> int:
        """How many people were guessed at."""
        return self._off.size

    @property
    def error(self) -> float:
        """The share of people guessed wrong; for a real secret the mean absolute error."""
        return float(self._off.mean())

    @property
    def accuracy(self) -> float:
        """The share of people guessed right; not a number for a real secret."""
        return 1 - self.error if self.secret.levels else float("nan")

    @property
    def hamming(self) -> int:
        """The number of people guessed wrong."""
        return int((~self.right).sum())

    @property
    def right(self) -> Mask:
        """Who is guessed right; for a real secret, whose number the attack's 95 % interval holds."""
        return self._off == 0 if self.secret.levels else self._off <= self._confidence

    @property
    def gain(self) -> Array:
        """What each person gains over the strongest baseline: its error less the attack's."""
        return self._baseline_off[self.baseline] - self._off

    @property
    def advantage(self) -> float:
        """Accuracy beyond the strongest baseline; for a real secret, how much smaller the error is."""
        return float(self.gain.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the advantage: paired bootstrap over people; see `gain_interval`."""
        return gain_interval(self.gain, largest=self.largest, chance=CHANCE / self.ways)

    @property
    def largest(self) -> float:
        """The most that one person can gain or lose; nothing who keep the strongest baseline's number."""
        if self.secret.levels:
            return 1.0
        moved = self.gain != 0
        both = self._off[moved], self._baseline_off[self.baseline][moved]
        return float(np.max(both, initial=0.0))

    @property
    def beyond_fit(self) -> Array:
        """For a real secret, what each person gains over an ordinary fit to people with them in it.

        That fit is the population baseline's model without leaving anybody out; where it is no nearer than
        the strongest baseline, or not known, the `gain`.
        """
        if self._fitted_off is None or self._fitted_off.mean() >= self._baseline_off[self.baseline].mean():
            return self.gain
        return self._fitted_off - self._off

    @property
    def in_sample(self) -> float:
        """The part of a real secret's advantage that an ordinary fit has because everybody is in it.

        It speaks of how well a model fits, not of single people: one regression on a few columns has
        nothing else.
        """
        return max(0.0, min(self.advantage, self.advantage - float(self.beyond_fit.mean())))

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the secret, as counts by value name them."""
        return tuple(map(str, range(self.secret.levels))) or (NUMBER,)

    def sure(self, level: float = LEVELS[0]) -> Mask:
        """Who is guessed with this confidence and at least three times the strongest baseline's odds.

        For a real secret: whose 95 % interval is at most a third as wide as the narrowest baseline's.
        """
        if not 0.5 <= level <= 1:
            raise invalid("level", "a confidence from 0.5 to 1", level)
        if not self.secret.levels:
            from scipy.special import ndtri

            wider = float(ndtri(0.5 + level / 2)) / NORMAL
            return np.asarray(wider * self._confidence <= self._narrowest / _ODDS)
        chance = np.minimum(self._confidence, 1 - 1e-15)
        odds, usual = chance / (1 - chance), self._expected / (1 - self._expected)
        return np.asarray((self._confidence >= level) & (odds >= _ODDS * usual))

    @cached_property
    def luck(self) -> Luck:
        """How often the sure guesses are right, and how often luck would make them so."""
        sure = self.sure()
        right = int((self.right & sure).sum())
        expected = self._expected[sure]
        return Luck(int(sure.sum()), right, float(expected.sum()), luck(expected, right))

    def exposed_people(self, level: float = LEVELS[0]) -> Mask:
        """Who is exposed: guessed right and surely, beyond luck, and not proved as a group."""
        sure = self.sure(level)
        if self.luck.explained:
            return np.zeros(self.n, dtype=bool)
        return np.asarray(self.right & sure & (self._proved != "group"))

    @property
    def exposed(self) -> int:
        """The number of people exposed at confidence 0.95."""
        return self.exposed_at(LEVELS[0])

    def exposed_at(self, level: float, value: int | None = None) -> int:
        """How many people are exposed at this confidence; with ``value``, of those who have that value."""
        return int((self.exposed_people(level) & self._of(value)).sum())

    @property
    def proved_alone(self) -> int:
        """How many people are proved by more than one cell in which everybody is alike."""
        return int((self._proved == "alone").sum())

    @property
    def proved_group(self) -> int:
        """How many people are proved because one published cell of two or more shows them all alike."""
        return int((self._proved == "group").sum())

    @property
    def proved_alone_by_value(self) -> dict[str, int]:
        """The people proved alone, by the value of their secret."""
        return self._by_value(self._proved == "alone")

    @property
    def proved_group_by_value(self) -> dict[str, int]:
        """The people proved as a group, by the value of their secret."""
        return self._by_value(self._proved == "group")

    @property
    def learnt_by_value(self) -> dict[str, int]:
        """The people who are proved alone or exposed at confidence 0.95, by the value of their secret."""
        return self._by_value((self._proved == "alone") | self.exposed_people())

    @property
    def exposed_by_value(self) -> dict[str, int]:
        """The people exposed at confidence 0.95, by the value of their secret."""
        return self._by_value(self.exposed_people())

    def exposed_within(self, tolerance: float) -> int:
        """How many real secrets the attack knows to within the tolerance and no baseline does."""
        if not tolerance >= 0:
            raise invalid("tolerance", "zero or more", tolerance)
        nearest = np.min(list(self._baseline_off.values()), axis=0)
        return int(((self._off <= tolerance) & (nearest > tolerance)).sum())

    def named(self, level: float = LEVELS[0], value: int = 1) -> tuple[int, int]:
        """How many are said with this confidence to have this value, and how many of those do."""
        said = (self._guess == value) & (self._confidence >= level)
        return int(said.sum()), int((said & self.right).sum())

    def found(self, value: int = 1) -> float:
        """The share of the people with this value who are guessed to have it."""
        people = self._of(value)
        return float(self.right[people].mean()) if people.any() else float("nan")

    def _of(self, value: int | None) -> Mask:
        if value is None:
            return np.ones(self.n, dtype=bool)
        if isinstance(value, bool) or value not in range(self.secret.levels):
            raise invalid("value", f"from 0 to {self.secret.levels - 1}, or None", value)
        return np.asarray(self._truth == value)

    def _by_value(self, people: Mask) -> dict[str, int]:
        if not self.secret.levels:
            return {NUMBER: int(people.sum())}
        counts = np.bincount(self._truth[people].astype(np.intp), minlength=self.secret.levels)
        return dict(zip(self.values, counts.tolist(), strict=True))

    def spread(self, each: npt.NDArray[Any], nothing: Any) -> npt.NDArray[Any]:
        """What holds of each of these people, for everybody; ``nothing`` for people who are not judged."""
        out = np.full(self.everybody, nothing, dtype=each.dtype)
        out[self.rows] = each
        return out

    def __repr__(self) -> str:
        low, high = self.interval
        usual = self.baselines[self.baseline]
        if not self.secret.levels:
            return (
                f"Risk: {self.n} real numbers known with mean absolute error {self.error:.3g}; strongest "
                f"baseline ({self.baseline}) {usual:.3g}; advantage {self.advantage:+.3g} "
                f"[{low:+.3g}, {high:+.3g}], {self.in_sample:.3g} of it in-sample fit; {self.exposed} people "
                "exposed"
            )
        return (
            f"Risk: {self.accuracy:.1%} of {self.n} people right; strongest baseline ({self.baseline}) "
            f"{usual:.1%}; advantage {amount(self.advantage, False, '+')} [{points(low)}, {points(high)}]; "
            f"{self.proved_alone + self.proved_group} people proved, {self.exposed} exposed"
        )
