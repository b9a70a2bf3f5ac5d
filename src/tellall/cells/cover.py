"""Few larger tables from which many smaller ones follow, for engines where each query costs a pass."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["cover", "fold"]


def cover(
    levels: Sequence[int], sets: Sequence[tuple[int, ...]], most: int
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Larger sets of columns, of at most `most` cells where that is possible, each with the sets inside it.

    Notes
    -----
    Greedy: the first set not yet covered, and then the columns of those after it as long as they fit.

    Examples
    --------
    >>> cover([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3)], 8)
    [((0, 1, 2), [0, 1]), ((2, 3), [2])]
    """
    masks = [sum(1 << place for place in places) for places in sets]
    waiting, found = list(range(len(sets))), []
    while waiting:
        whole = set(sets[waiting[0]])
        cells = prod(levels[place] for place in whole)
        for number in waiting:
            more = set(sets[number]) - whole
            larger = cells * prod(levels[place] for place in more)
            if larger <= most:
                whole, cells = whole | more, larger
        mask = sum(1 << place for place in whole)
        inside = [number for number in waiting if not masks[number] & ~mask]
        found.append((tuple(sorted(whole)), inside))
        taken = set(inside)
        waiting = [number for number in waiting if number not in taken]
    return found


def fold(
    keys: npt.NDArray[np.int64],
    people: npt.NDArray[np.int64],
    shape: Sequence[int],
    axes: Sequence[int],
) -> npt.NDArray[Any]:
    """The table over some axes of a larger one given by its cells that have people.

    Examples
    --------
    >>> fold(np.array([0, 3]), np.array([5, 7]), (2, 2), [1]).tolist()
    [5, 7]
    """
    codes = np.unravel_index(keys, tuple(shape)) if len(shape) else ()
    sizes = tuple(shape[axis] for axis in axes)
    out = np.zeros(prod(sizes), dtype=np.int64)
    flat = np.ravel_multi_index(tuple(codes[axis] for axis in axes), sizes) if axes else np.zeros_like(keys)
    np.add.at(out, flat, people)
    return out
