"""Cut points for numbers: round ones near the quantiles, and never anybody's value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["choose_cuts", "cut_labels", "is_number_text", "number_text"]

Array = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]

_STEPS = (50, 25, 20, 10)  # tenths: multiples of 5, 2.5, 2 and 1 are round, in this order
_FINEST = 18  # powers of ten to try, from the width down
_LARGEST_WHOLE = 2.0**51  # doubles can hold halves up to here
_LEAST_WIDTH = 1e-290


def choose_cuts(
    distinct: Array,
    counts: IntArray,
    pieces: int,
    roundest: Callable[[Array, float], float | None] | None = None,
) -> Array:
    """Round numbers that cut people into about that many equal parts; none of them is anybody's value.

    Parameters
    ----------
    distinct, counts
        The different values, ascending, and how many people have each.
    pieces
        How many parts.
    roundest
        The roundest cut between the first and the last of some values, near another; by default of numbers.

    Notes
    -----
    The cut for the share i/k may lie anywhere that leaves between i/k − 1/(8k) and i/k + 1/(8k) of the people
    below it. If too many people share a value for that, it lies in the nearest gap between two values,
    provided the share there is within 1/(2k) of i/k; otherwise it is left out. If no cut remains, one is made
    near the median, or else wherever there is room; doubles that are neighbours leave none. Each cut is the
    roundest number that nobody has: a multiple of 5, 2.5, 2 or 1 times a power of ten, with the largest step
    that has one, and the multiple nearest to the quantile. Whole numbers are cut half below such a multiple,
    even if people have that value: "≤ 29.5" means below 30. There are people on both sides of every cut.

    The cuts depend on the people and are published with every table. They are round so that they reveal
    little; cut points that were fixed beforehand reveal nothing. O(k log m) for m different values.

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
        near = distinct[first : last + 2]
        found = _roundest(near, ideal, whole=whole) if roundest is None else roundest(near, ideal)
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
    middle = _nearest(shares, 1 / 2)
    if not chosen:
        cut(middle, middle, middle)
    if not chosen:  # no room there: anywhere else
        cut(middle, 0, shares.size - 1)
    return np.array(sorted(chosen.values()))


def _nearest(shares: Array, wanted: float) -> int:
    """The gap whose share is the nearest to the wanted one."""
    after = int(np.searchsorted(shares, wanted))
    around = [index for index in (after - 1, after) if 0 <= index < shares.size]
    return min(around, key=lambda index: abs(float(shares[index]) - wanted))


def _roundest(near: Array, ideal: float, *, whole: bool) -> float | None:
    """The roundest number between the first and the last of these values that equals none of them.

    For whole numbers it is a round number less a half. None if doubles leave no room.
    """
    low = float(near[0])
    high = float(near[-1])
    half = 0.5 if whole else 0.0
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
    """Yields steps, the largest first, as tenths of a power of ten; whole steps for whole numbers."""
    top = ceil(log10(width))
    for power in range(top, top - _FINEST, -1):
        for tenths in _STEPS:
            if not whole or power > 0 or (power == 0 and tenths % 10 == 0):
                yield tenths, power


def number_text(value: float) -> str:
    """The shortest text that is exactly this number, without a decimal point if it is whole.

    Examples
    --------
    >>> number_text(1234567.0), number_text(0.1), number_text(-0.0), number_text(1e300)
    ('1234567', '0.1', '0', '1e+300')
    """
    return repr(float(value) + 0.0).removesuffix(".0")  # -0.0 + 0.0 is 0.0


def is_number_text(text: str) -> bool:
    """Whether a label is a number, as `number_text` writes it."""
    return re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None


def cut_labels(cuts: Sequence[float] | Array) -> tuple[str, ...]:
    """The text of the categories between cut points."""
    edges = tuple(map(number_text, cuts))
    if not edges:
        return ("all",)
    between = (f"({low}, {high}]" for low, high in pairwise(edges))
    return (f"≤ {edges[0]}", *between, f"> {edges[-1]}")
