"""Cut points for numbers: round ones near the quantiles, and never anybody's value."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["choose_cuts"]

Array = npt.NDArray[np.floating[Any]]

_STEPS = (50, 25, 20, 10)  # tenths: multiples of 5, 2.5, 2 and 1 are round, in this order
_FINEST = 18  # powers of ten below a width: nobody has that many values
_LARGEST_WHOLE = 2.0**51  # up to which halves can be written
_LEAST_WIDTH = 1e-290


def choose_cuts(distinct: Array, counts: npt.NDArray[np.integer[Any]], pieces: int) -> Array:
    """Round numbers that cut people into about that many equal parts; none of them is anybody's value.

    Parameters
    ----------
    distinct, counts
        The different values, ascending, and how many people have each.
    pieces
        How many parts.

    Notes
    -----
    A cut for the share i/k may lie wherever the people up to it are between i/k − 1/(8k) and i/k + 1/(8k) of
    all. Where so many share a value that it cannot, it lies in the nearest gap between two values, if that is
    within 1/(2k), and is left out otherwise; one cut there always is. It is the roundest number that nobody
    has: a multiple of 5, 2.5, 2 or 1 times a power of ten, the largest step that has one, and the multiple
    nearest to the quantile. Whole numbers are cut at such a multiple less a half, whoever is there: "≤ 29.5"
    is below 30. Somebody is on both sides of every cut.

    The cuts depend on the people. They are round so that they tell little, and they are published with
    every table; cut points that were fixed beforehand tell nothing. O(k log m) for m different values.

    Examples
    --------
    >>> choose_cuts(np.array([1023.17, 1377.5, 2214.0, 3981.33]), np.ones(4, dtype=int), 2).tolist()
    [2000.0]
    >>> choose_cuts(np.arange(90.0), np.ones(90, dtype=int), 3).tolist()
    [29.5, 59.5]
    """
    shares = np.cumsum(counts)[:-1] / np.sum(counts)  # of the people up to each gap between two values
    whole = bool((distinct == np.rint(distinct)).all()) and float(np.abs(distinct).max()) < _LARGEST_WHOLE
    chosen: dict[int, float] = {}

    def cut(best: int, first: int, last: int) -> None:
        ideal = float(distinct[best] / 2 + distinct[best + 1] / 2)
        found = _roundest(distinct[first : last + 2], ideal, whole=whole)
        if found is not None:
            chosen.setdefault(int(np.searchsorted(distinct, found)), found)  # one cut in a gap is enough

    for part in range(1, pieces):
        best = _nearest(shares, part / pieces)
        first = int(np.searchsorted(shares, (part - 1 / 8) / pieces, side="left"))
        last = int(np.searchsorted(shares, (part + 1 / 8) / pieces, side="right")) - 1
        if first <= last:
            cut(best, first, last)
        elif abs(shares[best] * pieces - part) <= 1 / 2:
            cut(best, best, best)
    if not chosen:
        cut(*[_nearest(shares, 1 / 2)] * 3)
    return np.array(sorted(chosen.values()))


def _nearest(shares: Array, wanted: float) -> int:
    """The gap whose share is the nearest to the wanted one."""
    after = int(np.searchsorted(shares, wanted))
    around = [index for index in (after - 1, after) if 0 <= index < shares.size]
    return min(around, key=lambda index: abs(float(shares[index]) - wanted))


def _roundest(near: Array, ideal: float, *, whole: bool) -> float | None:
    """The roundest number between the first and the last of these values that is none of them.

    None where doubles leave no room. Of whole numbers, the roundest less a half.
    """
    low, high, half = float(near[0]), float(near[-1]), 0.5 if whole else 0.0
    if not isfinite(high - low) or high - low < _LEAST_WIDTH:
        middle = low / 2 + high / 2
        return middle if low < middle < high and middle not in near else None
    for tenths, power in _steps(high - low, whole=whole):
        step = float(f"{tenths}e{power - 1}")
        if step < np.spacing(max(abs(low), abs(high))):
            break
        times = range(floor((low + half) / step), ceil((high + half) / step) + 1)
        found = np.array([float(f"{tenths * k}e{power - 1}") for k in times]) - half
        inside = found[(found > low) & (found < high)]
        free = inside[near[np.searchsorted(near, inside)] != inside]
        if free.size:
            return float(free[np.argmin(np.abs(free - ideal))])
    return None


def _steps(width: float, *, whole: bool) -> Iterator[tuple[int, int]]:
    """Steps, the largest first, as tenths of a power of ten; of whole numbers, whole ones."""
    top = ceil(log10(width))
    for power in range(top, top - _FINEST, -1):
        for tenths in _STEPS:
            if not whole or power > 0 or (power == 0 and tenths % 10 == 0):
                yield tenths, power
