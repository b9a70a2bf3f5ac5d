"""Intervals: how far luck alone can move a share, an advantage or a number of right guesses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.counts import People
from tellall.core.intervals import clopper_pearson
from tellall.core.records import Meaning, Record
from tellall.linalg.operators.linear_operator import Array

__all__ = [
    "CHANCE",
    "EXPLAINED",
    "NORMAL",
    "Luck",
    "exact_interval",
    "gain_interval",
    "highest_share",
    "luck",
    "share_interval",
]

CHANCE = 0.05  # intervals miss with this chance
NORMAL = 1.959963984540054  # the 97.5 % quantile of the normal law
_ALIKE = 9  # digits of the largest gain: gains that differ by less differ by rounding alone
_FEW = 5  # people unlike the rest, below which resampling them shows too little
_RESAMPLES, _FEWEST = 10_000, 1000
_WORK = 20_000_000  # distinct gains × resamples
_AT_ONCE = 2_000_000  # of those, turned to floating point at once
EXPLAINED = 0.01  # if luck makes as many right with a higher chance, sure guesses expose nobody
_RELIABLE = 0.90  # the hit rate that sure guesses must be able to have
_EXACT_LUCK = 3000  # probabilities convolved exactly; more are nearly normal


def gain_interval(
    gains: npt.ArrayLike,
    counts: npt.ArrayLike | None = None,
    *,
    draw_variance: float = 0.0,
    largest: float = 1.0,
    chance: float = CHANCE,
) -> tuple[float, float]:
    """The interval of the mean gain of an attack over the strongest baseline.

    Parameters
    ----------
    gains
        What each person gains, averaged over draws of the noise: +1 where only the attack is right, −1 where
        only the baseline is, or a number for a real secret.
    counts
        How many people have each gain; by default one each.
    draw_variance
        The variance of the mean over the draws.
    largest
        The most that one person can gain or lose.
    chance
        Twice how often the lower end may miss; it is smaller where several attacks were tried. The upper end
        always has the usual chance: it says what cannot be excluded of this attack.

    Notes
    -----
    Paired bootstrap over people: a resample is one multinomial draw over the distinct gains, and a normal
    error of the draws' variance is added. The random numbers are always the same, so the same attack has the
    same interval whoever asks. Where fewer than five people differ from the rest the interval is widened to
    the exact one of :func:`exact_interval`, since resamples cannot show what they have not seen. Beyond
    20,000 distinct gains the normal interval is used.

    Examples
    --------
    >>> low, high = gain_interval([0, 1, -1], [60, 30, 10])
    >>> 0.05 < low < 0.2 < high < 0.35
    True
    """
    each = np.asarray(gains, dtype=np.float64)
    size = float(np.abs(each).max(initial=0.0)) or 1.0
    _, first, index = np.unique(np.round(each / size, _ALIKE), return_index=True, return_inverse=True)
    values = each[first]
    numbers = np.bincount(index, None if counts is None else np.asarray(counts, dtype=np.float64))
    numbers = numbers.astype(np.int64)
    people = int(numbers.sum())
    if values.size * _FEWEST > _WORK:  # this many distinct gains have a normal mean
        from scipy.special import ndtri

        mean = float(numbers @ values) / people
        variance = float(numbers @ (values - mean) ** 2) / people**2 + draw_variance
        below, above = (-float(ndtri(each / 2)) * math.sqrt(variance) for each in (chance, CHANCE))
        return mean - below, mean + above
    weights, errors = _resamples(tuple(numbers.tolist()))
    step = max(1, _AT_ONCE // values.size)
    sums = [weights[begin : begin + step] @ values for begin in range(0, len(weights), step)]
    means = np.concatenate(sums) / people + math.sqrt(draw_variance) * errors
    low, high = (float(end) for end in np.quantile(means, [chance / 2, 1 - CHANCE / 2]))
    if people - int(numbers.max()) >= _FEW or largest == 0:
        return low, high
    won, lost = (float(numbers @ np.maximum(sign * values, 0.0)) / largest for sign in (1, -1))
    least, most = (
        exact_interval(min(won, people), min(lost, people), people, each)[end]
        for end, each in enumerate((chance, CHANCE))
    )
    return min(low, least * largest), max(high, most * largest)


@lru_cache(maxsize=1)
def _resamples(numbers: tuple[int, ...]) -> tuple[npt.NDArray[np.unsignedinteger[Any]], Array]:
    """How many people of each gain every resample draws, and a standard normal error for each resample.

    The last ones are kept: in a sweep over a real secret everybody's gain differs in every row, so all rows
    share them.
    """
    people, rng = sum(numbers), np.random.default_rng(0)
    count = int(np.clip(_WORK // len(numbers), _FEWEST, _RESAMPLES))
    weights = rng.multinomial(people, np.array(numbers) / people, size=count)
    return weights.astype(np.min_scalar_type(int(weights.max()))), rng.standard_normal(count)


def exact_interval(won: float, lost: float, people: int, chance: float = CHANCE) -> tuple[float, float]:
    """An interval of the advantage that misses with at most this chance, however few people.

    Parameters
    ----------
    won, lost
        How many people only the attack gets right, and only the baseline.

    Notes
    -----
    Each end is one limit of the share won minus the opposite limit of the share lost, by Clopper and Pearson,
    each with a quarter of the chance, so nothing is assumed about how the two depend on each other.

    Examples
    --------
    >>> low, high = exact_interval(0, 0, 1000)
    >>> -low == high, round(1000 * high, 1)
    (True, 4.4)
    """
    each = chance / 4
    return (
        _lowest_share(won, people, each) - highest_share(lost, people, each),
        highest_share(won, people, each) - _lowest_share(lost, people, each),
    )


def share_interval(share: float, people: int, draw_variance: float = 0.0) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of people, widened by the variance that drawn noise adds.

    Examples
    --------
    >>> low, high = share_interval(1.0, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    per = NORMAL**2 / people
    centre = (share + per / 2) / (1 + per)
    variance = (share * (1 - share) / people + per / (4 * people)) / (1 + per) ** 2 + draw_variance
    half = NORMAL * math.sqrt(variance)
    return max(0.0, centre - half), min(1.0, centre + half)


def highest_share(count: float, people: int, chance: float) -> float:
    """Clopper and Pearson's upper limit of a share, exceeded with at most this chance."""
    return float(clopper_pearson(count, people, 2 * chance)[1])


def _lowest_share(count: float, people: int, chance: float) -> float:
    return float(clopper_pearson(count, people, 2 * chance)[0])


def luck(probabilities: Array, right: int) -> float:
    """The chance that guesses with these probabilities of being right are right this often or more.

    Notes
    -----
    The tail of a Poisson-binomial law: exact by convolution up to 3000 guesses, O(n²); beyond, normal with a
    continuity correction, whose error is of the order of one over the standard deviation of the count.

    Examples
    --------
    >>> round(luck(np.array([0.5, 0.5]), 2), 3), luck(np.array([0.3]), 0)
    (0.25, 1.0)
    """
    from scipy.special import ndtr

    if right <= 0:
        return 1.0
    if probabilities.size > _EXACT_LUCK:
        mean, variance = probabilities.sum(), (probabilities * (1 - probabilities)).sum()
        return float(ndtr((mean - right + 0.5) / math.sqrt(variance)))
    law = np.ones(1)
    for probability in np.sort(probabilities):  # rounded the same in whatever order people are
        law = np.convolve(law, [1 - probability, probability])
    return float(law[right:].sum())


@dataclass(frozen=True)
class Luck(Record):
    """How many guesses were sure, how many of them right, and whether luck explains what the attack knows."""

    sure: Annotated[People, Meaning("With confidence 0.95 and three times the strongest baseline's odds.")]
    right: Annotated[People, Meaning("How many of them are right.")]
    expected: Annotated[float, Meaning("How many would be, by the baselines' own probabilities.")]
    chance: Annotated[
        float, Meaning("The chance that luck makes as many of the moved right.", least=0, most=1)
    ]
    moved: Annotated[
        People, Meaning("Whose odds the attack puts at three times the strongest baseline's, sure or not.")
    ] = 0
    moved_right: Annotated[People, Meaning("How many of them are guessed right.")] = 0
    moved_expected: Annotated[
        float, Meaning("How many would be, by the baselines' own probabilities.", least=0)
    ] = 0.0

    @property
    def explained(self) -> bool:
        """Whether luck explains the right guesses, so that they expose nobody."""
        return self.chance > EXPLAINED

    @property
    def unreliable(self) -> bool:
        """Whether the sure guesses are wrong too often to be called sure (99 % limit below 0.90)."""
        sure, right = round(self.sure), round(self.right)
        return sure > 0 and highest_share(right, sure, 0.01) < _RELIABLE
