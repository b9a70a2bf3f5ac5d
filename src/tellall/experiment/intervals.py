"""The interval of an advantage over the strongest of several baselines, over people and draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "FEW",
    "NORMAL",
    "Resamples",
    "exact_interval",
    "share_interval",
    "with_few_different",
]

# Limits of a share and of an advantage that hold where there is little to resample.

FEW = 5  # people unlike all others, from which on resampling them shows how much they could have been
_CHANCE = 0.05
NORMAL = 1.959963984540054  # the quantile of 97.5 %


def exact_interval(won: float, lost: float, people: int, chance: float = _CHANCE) -> tuple[float, float]:
    """An interval of the advantage that is wrong with at most this chance, however few people.

    Parameters
    ----------
    won, lost
        How many people only the attack gets right, and only the baseline; means where noise is drawn often.

    Notes
    -----
    Either end is the share won at its one limit less the share lost at its other, Clopper and Pearson's, each
    wrong with a quarter of the chance; so nothing is assumed of how the two hang together. Of people who are
    all guessed alike by both it is ± (1 − (chance/4)^(1/n)), about 4.4/n for 95 %.

    Examples
    --------
    >>> low, high = exact_interval(0, 0, 1000)
    >>> -low == high, round(1000 * high, 1)
    (True, 4.4)
    """
    each = chance / 4
    return (
        _least(won, people, each) - _most(lost, people, each),
        _most(won, people, each) - _least(lost, people, each),
    )


def with_few_different(
    interval: tuple[float, float], gains: Iterable[tuple[float, int]]
) -> tuple[float, float]:
    """A bootstrap's interval, widened to the exact one where fewer than five people differ from the others.

    ``gains`` are pairs of a gain from −1 to 1 and how many people have it. Where all have the same, every
    resample is the same and a bootstrap has no width at all: what it has not seen it cannot draw.

    Examples
    --------
    >>> with_few_different((0.0, 0.0), [(0, 100)])[1] > 0.04
    True
    >>> with_few_different((0.1, 0.3), [(0, 80), (1, 20)])
    (0.1, 0.3)
    """
    pairs = list(gains)
    people = sum(count for _, count in pairs)
    if people - max(count for _, count in pairs) >= FEW:
        return interval
    low, high = exact_interval(
        sum(max(gain, 0.0) * count for gain, count in pairs),
        sum(max(-gain, 0.0) * count for gain, count in pairs),
        people,
    )
    return min(low, interval[0]), max(high, interval[1])


def share_interval(share: float, people: int, luck: float = 0.0) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of people, wider by the variance that drawn noise adds.

    Examples
    --------
    >>> low, high = share_interval(1.0, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    per = NORMAL**2 / people
    centre = (share + per / 2) / (1 + per)
    half = NORMAL * math.sqrt((share * (1 - share) / people + per / (4 * people)) / (1 + per) ** 2 + luck)
    return max(0.0, centre - half), min(1.0, centre + half)


def _least(count: float, people: int, chance: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(count, people - count + 1, chance)) if count > 0 else 0.0


def _most(count: float, people: int, chance: float) -> float:
    from scipy.special import betaincinv

    return float(betaincinv(count + 1, people - count, 1 - chance)) if count < people else 1.0


_RESAMPLES, _FEWEST = 2000, 200
_WORK = 10_000_000  # people × resamples; fewer resamples where people are many
_AT_ONCE = 2_000_000

Weights = npt.NDArray[np.uint8]


class Resamples:
    """Resamples of so many people, the same for everything that is compared.

    Parameters
    ----------
    n
        How many people.
    seed
        Of the resamples; equal seeds make equal ones.

    Notes
    -----
    2000 resamples, 200 or more where people × resamples would pass ten million. They are kept, a byte for
    each person, where they do not; they do not travel to other processes.

    Examples
    --------
    >>> secret = np.arange(400) % 2
    >>> always, either = np.ones((3, 400)), np.stack([secret == 0, secret == 1])
    >>> low, high = Resamples(400).interval(always, either)
    >>> 0.45 < low < 0.5 < high < 0.55
    True
    """

    def __init__(self, n: int, seed: int | Sequence[int] = 0) -> None:
        self.n, self.seed = n, seed
        self.count = int(np.clip(_WORK // n, _FEWEST, _RESAMPLES))
        self._kept: list[Weights] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Resamples, (self.n, self.seed)

    def interval(self, attack: npt.NDArray[Any], baselines: npt.NDArray[Any]) -> tuple[float, float]:
        """The 95 % interval of the mean score over people and draws less that of the strongest baseline.

        Parameters
        ----------
        attack
            Each person's score (whether guessed right, say), a row per draw of the noise.
        baselines
            The same for each baseline, a row each. For the majority's guess one row for each value: which of
            them is the majority's, a resample decides.

        Notes
        -----
        Bootstrap over people and over draws; in every resample the strongest baseline is chosen again. A
        baseline chosen once, as by `score`, makes the interval jump where two of them change
        places as the noise grows. The spread of the resamples is laid around the advantage itself, since the
        maximum over baselines shifts them down a little; the interval always holds the advantage. For
        an attack that guesses as a baseline does it has no width, however few the people.
        """
        draws = attack.shape[0]
        everything = np.concatenate([attack, baselines]).astype(np.float64).T
        point = float(attack.mean()) - float(everything[:, draws:].mean(axis=0).max())
        shares = np.concatenate([weights.astype(np.float64) @ everything for weights in self._weights()])
        rng = np.random.default_rng([*np.atleast_1d(self.seed), draws])
        chosen = rng.multinomial(draws, np.full(draws, 1 / draws), size=self.count) / draws
        spread = ((shares[:, :draws] * chosen).sum(axis=1) - shares[:, draws:].max(axis=1)) / self.n
        low, high = point + np.quantile(spread, [0.025, 0.975]) - spread.mean()
        # where nearly all resamples are alike, the few that are not move their mean past both quantiles
        return min(float(low), point), max(float(high), point)

    def _weights(self) -> Iterator[Weights]:
        """How often each person is in each resample, some resamples at a time."""
        if self._kept is not None:
            yield from self._kept
            return
        made = []
        for weights in self._draw():
            if self.count * self.n <= _WORK:
                made.append(weights)
            yield weights
        self._kept = made or None

    def _draw(self) -> Iterator[Weights]:
        rng, step = np.random.default_rng(self.seed), max(1, _AT_ONCE // self.n)
        for start in range(0, self.count, step):
            size = min(step, self.count - start)
            people = rng.integers(self.n, size=(size, self.n)) + self.n * np.arange(size)[:, None]
            weights = np.bincount(people.ravel(), minlength=size * self.n)
            yield weights.astype(np.uint8).reshape(size, self.n)  # 256 of one person: never
