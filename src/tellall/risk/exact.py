"""Limits of a share and of an advantage that hold where there is little to resample."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["FEW", "NORMAL", "exact_interval", "share_interval", "with_few_different"]

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
