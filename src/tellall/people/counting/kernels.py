"""How many people have all of some bits: by numba or by NumPy, with one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "KERNELS",
    "Counts",
    "Runs",
    "Words",
    "add_counts",
    "choose",
    "count_ones",
    "runs_of",
]

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

KERNELS = ("numba", "numpy")
WORTH_COMPILING = (
    200_000_000  # ANDs of words: a quarter of a second for NumPy, less than numba takes to start
)
_IN_CACHE = 2**15  # words of all planes together that stay in a core's cache
_IN_CACHE_NUMPY = 2**17  # the same where each call costs microseconds


@dataclass(frozen=True, eq=False)
class Runs:
    """Sets of planes in lexicographic order; a run is sets whose last plane goes up one by one.

    Attributes
    ----------
    heads
        Runs × (order − 1): the planes before the last.
    starts, stops
        The range of the last plane.
    offsets
        Where the counts of each run begin among all counts.
    """

    heads: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many counts there are."""
        return int((self.stops - self.starts).sum())


def runs_of(sets: npt.NDArray[np.int64]) -> Runs:
    """The runs of distinct sets of planes (one a row), given in lexicographic order.

    Examples
    --------
    >>> runs = runs_of(np.array([[0, 1], [0, 2], [0, 4], [1, 2]]))
    >>> runs.heads.ravel().tolist(), runs.starts.tolist(), runs.stops.tolist()
    ([0, 0, 1], [1, 4, 2], [3, 5, 3])
    """
    head, last = sets[:, :-1], sets[:, -1]
    goes_on = (head[1:] == head[:-1]).all(axis=1) & (last[1:] == last[:-1] + 1)
    offsets = np.flatnonzero(np.r_[True, ~goes_on]) if len(sets) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[offsets, len(sets)])
    starts = last[offsets]
    return Runs(np.ascontiguousarray(head[offsets]), starts, starts + lengths, offsets)


def choose(words: float) -> str:
    """The kernel for this many ANDs of words.

    Notes
    -----
    Measured, all 3-way counts of 100 planes over 10⁶ people on one core: numba 0.3 s, NumPy 3.5 s; 2-way:
    0.01 s, 0.10 s. So numba is quicker once its start (about a second) is repaid.
    """
    return "numba" if words >= WORTH_COMPILING and _can_compile() else "numpy"


def _can_compile() -> bool:
    """Whether numba is there and works: it refuses a NumPy newer than it knows, or where it cannot write."""
    try:
        import tellall.people.counting.compiled  # noqa: F401  add_counts uses it
    except (ImportError, RuntimeError):
        return False
    return True


def add_counts(kernel: str, planes: Words, runs: Runs, counts: Counts) -> None:
    """Add to the counts of some runs, in index, the people of these planes who have all bits of each set."""
    if not runs.starts.size or not planes.shape[1]:
        return
    if kernel == "numba":
        from tellall.people.counting.compiled import add_all

        width = max(64, _IN_CACHE // planes.shape[0])
        add_all(planes, runs.heads, runs.starts, runs.stops, runs.offsets, width, counts)
    else:
        _add_by_numpy(planes, runs, counts)


def _add_by_numpy(planes: Words, runs: Runs, counts: Counts) -> None:
    """By AND and population count, in chunks of words that stay in the cache."""
    longest = int((runs.stops - runs.starts).max())
    width = max(256, min(2**15, _IN_CACHE_NUMPY // longest))
    listed = [array.tolist() for array in (runs.heads, runs.starts, runs.stops, runs.offsets)]
    both = np.empty((longest, width), np.uint64)
    for begin in range(0, planes.shape[1], width):
        chunk = np.ascontiguousarray(planes[:, begin : begin + width])
        w = chunk.shape[1]
        before: list[int] = []
        common = [np.full(w, np.uint64(2**64 - 1))]  # common[j]: the AND of the first j planes of the head
        for head, start, stop, offset in zip(*listed, strict=True):
            kept = _shared(before, head)
            del common[kept + 1 :]
            for plane in head[kept:]:
                common.append(common[-1] & chunk[plane])
            before, many = head, stop - start
            found = np.bitwise_and(chunk[start:stop], common[-1], out=both[:many, :w])
            counts[offset : offset + many] += count_ones(found).sum(axis=1, dtype=np.int64)


def _shared(one: list[int], other: list[int]) -> int:
    """How many planes two heads have in common at their beginning."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _count_ones_by_shifts(words: Words) -> Words:
    """The number of ones of each word by sums of two, four and eight bits: NumPy 1 has no other way."""
    twos, fours = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    pairs: Words = words - ((words >> np.uint64(1)) & twos)
    nibbles: Words = (pairs & fours) + ((pairs >> np.uint64(2)) & fours)
    eights: Words = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    total: Words = (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return total


count_ones: Callable[[Words], npt.NDArray[Any]] = getattr(np, "bitwise_count", _count_ones_by_shifts)
