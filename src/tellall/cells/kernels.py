"""How many people have all of some bits: three ways to count, one answer.

Bits are kept in planes, one row of 64-bit words each. What is to be counted comes as runs: the planes of a
head, and the range of planes each of which is counted together with that head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["KERNELS", "Runs", "Words", "add_counts", "choose", "runs_of"]

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

KERNELS = ("numba", "words", "products")
WORTH_COMPILING = 200_000_000  # ANDs of words; NumPy needs a quarter of a second for them, numba's start more
_IN_CACHE = 2**15  # words of all planes together that stay in a core's cache
_IN_CACHE_NUMPY = 2**17  # the same where each call costs microseconds
_IN_CACHE_PRODUCTS = 2**14  # people whose bits are multiplied at once


@dataclass(frozen=True, eq=False)
class Runs:
    """Sets of planes in lexicographic order, those that differ only in a last plane that goes up one by one
    together.

    Attributes
    ----------
    heads
        Runs × (order − 1): the planes before the last.
    starts, stops
        The range of the last plane.
    places
        Where the counts of each run begin among all counts.
    """

    heads: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]

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
    places = np.flatnonzero(np.r_[True, ~goes_on]) if len(sets) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[places, len(sets)])
    starts = last[places]
    return Runs(np.ascontiguousarray(head[places]), starts, starts + lengths, places)


def choose(words: float) -> str:
    """The kernel for so many ANDs of words.

    Notes
    -----
    Measured, all 3-way counts of 100 planes over 10⁶ people on one core: numba 0.3 s, ``numpy.bitwise_count``
    3.5 s, float32 matrix products 10 s; 2-way: 0.01 s, 0.10 s, 0.3 s. So words beat products wherever
    NumPy can count bits (2.0 and later), and numba beats both once its start (about a second) is repaid.
    """
    if words >= WORTH_COMPILING and _can_compile():
        return "numba"
    return "words" if hasattr(np, "bitwise_count") else "products"


def _can_compile() -> bool:
    """Whether numba is there and works: it refuses a NumPy newer than it knows, or where it cannot write."""
    try:
        import tellall.cells.compiled  # noqa: F401  it is used where the counting is
    except (ImportError, RuntimeError):
        return False
    return True


def add_counts(kernel: str, planes: Words, wanted: Sequence[tuple[Runs, Counts]]) -> None:
    """Add to the counts of some runs, in place, the people of these planes who have all bits of each set."""
    wanted = [(runs, counts) for runs, counts in wanted if runs.starts.size]
    if not wanted or not planes.shape[1]:
        return
    if kernel == "products":
        _add_products(planes, wanted)
        return
    for runs, counts in wanted:
        if kernel == "numba":
            from tellall.cells.compiled import add_all

            width = max(64, _IN_CACHE // planes.shape[0])
            add_all(planes, runs.heads, runs.starts, runs.stops, runs.places, width, counts)
        else:
            _add_words(planes, runs, counts)


def _add_words(planes: Words, runs: Runs, counts: Counts) -> None:
    """By AND and ``numpy.bitwise_count``, in blocks of words that stay in the cache."""
    longest = int((runs.stops - runs.starts).max())
    width = max(256, min(2**15, _IN_CACHE_NUMPY // longest))
    listed = [array.tolist() for array in (runs.heads, runs.starts, runs.stops, runs.places)]
    both, ones = np.empty((longest, width), np.uint64), np.empty((longest, width), np.uint8)
    for begin in range(0, planes.shape[1], width):
        block = np.ascontiguousarray(planes[:, begin : begin + width])
        w = block.shape[1]
        before: list[int] = []
        everybody = np.full(w, np.uint64(2**64 - 1))
        common = [everybody]  # common[j]: the AND of the first j planes of the head
        for head, start, stop, place in zip(*listed, strict=True):
            kept = _shared(before, head)
            del common[kept + 1 :]
            for plane in head[kept:]:
                common.append(common[-1] & block[plane])
            before, many = head, stop - start
            found = np.bitwise_and(block[start:stop], common[-1], out=both[:many, :w])
            np.bitwise_count(found, out=ones[:many, :w])
            counts[place : place + many] += ones[:many, :w].sum(axis=1, dtype=np.int64)


def _shared(one: list[int], other: list[int]) -> int:
    """How many planes two heads have in common at their beginning."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _add_products(planes: Words, wanted: Sequence[tuple[Runs, Counts]]) -> None:
    """By float32 matrix products: exact, since a block has fewer than 2²⁴ people."""
    width = max(16, 2**16 // planes.shape[0])  # words whose bits as floats take 16 MiB
    room = np.empty((planes.shape[0], 64 * min(width, planes.shape[1])), np.float32)
    for begin in range(0, planes.shape[1], width):
        block = as_bits(planes[:, begin : begin + width])
        bits = room[:, : block.shape[1]]
        np.copyto(bits, block)
        for runs, counts in wanted:
            if runs.heads.shape[1]:
                _add_block(bits, runs, counts)
            else:
                found = bits @ np.ones(bits.shape[1], np.float32)
                for start, stop, place in zip(runs.starts, runs.stops, runs.places, strict=True):
                    counts[place : place + stop - start] += found[start:stop].astype(np.int64)


def _add_block(bits: npt.NDArray[np.float32], runs: Runs, counts: Counts) -> None:
    """Runs whose heads differ in their last plane only are one product; where its two sides are nearly the
    same planes it is X Xᵀ, which BLAS knows to be symmetric (bits are their own squares).
    """
    stems, lasts = runs.heads[:, :-1], runs.heads[:, -1]
    edges = np.flatnonzero(np.r_[True, (stems[1:] != stems[:-1]).any(axis=1), True]).tolist()
    for first, last in pairwise(edges):
        low, high = int(runs.starts[first:last].min()), int(runs.stops[first:last].max())
        heads = lasts[first:last]
        least = min(low, int(heads.min()))
        stem = stems[first].tolist()
        symmetric = (high - least) ** 2 <= 2 * heads.size * (high - low)
        right = slice(least, high) if symmetric else slice(low, high)
        together = np.zeros((right.stop - right.start if symmetric else heads.size, right.stop - right.start))
        for begin in range(0, bits.shape[1], _IN_CACHE_PRODUCTS):
            some = bits[:, begin : begin + _IN_CACHE_PRODUCTS]
            left = some[right] if symmetric else some[heads]
            for plane in stem:
                left = left * some[plane]
            together += left @ (left if symmetric else some[right]).T
        rows, low = (heads - least, least) if symmetric else (np.arange(heads.size), low)
        for row, run in zip(rows.tolist(), range(first, last), strict=True):
            start, stop, place = int(runs.starts[run]), int(runs.stops[run]), int(runs.places[run])
            counts[place : place + stop - start] += together[row, start - low : stop - low].astype(np.int64)


def as_bits(planes: Words) -> npt.NDArray[np.uint8]:
    """The bits of planes, one a byte."""
    return np.unpackbits(np.ascontiguousarray(planes).view(np.uint8), axis=1, bitorder="little")
