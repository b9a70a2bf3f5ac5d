"""The sums of packed calls in one fused loop; needs numba (the extra "fast").

NumPy takes a pass through the cache for every step; here words of sixteen calls go to sums in registers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "add_sums",
]

_LOOSE = {"contract", "reassoc", "nsz"}  # sums in any order, fused; NaN and infinities are kept
_SITES = 512  # summed in single precision before they are added in double
_FOUR = 4  # sites at once, so that the sums are fetched and stored a fourth as often
_WIDE = 2560  # bytes of a row at once: their sums stay in the cache
_PEOPLE = 16  # to a word of 32 bits
_LANES = 64  # bytes of the widest vector


@njit(inline="always")
def _upper(byte):
    return np.uint8(byte >> np.uint8(1))


@njit(inline="always")
def _counted(byte):
    """How many bits are set in each of the four pairs of bits."""
    return np.uint8(byte - np.uint8(_upper(byte) & np.uint8(0x55)))


@njit(inline="always")
def _absent(byte):
    """Which of the four pairs of bits are 01; the upper bits of the pairs mean nothing."""
    return np.uint8(byte & ~_upper(byte))


@njit(inline="always")
def _number(word, mask):
    # a masked pair stays where it is: a factor 4^pair, exact
    return np.float32(np.int32(word & mask))


@njit(cache=True, nogil=True)
def _count_four(flat, start, width, wide, four):
    """Counts four sites, one after the other in `flat`; returns whether one of their calls is missing."""
    seen = np.uint8(0)
    # an unsigned index is not checked for being negative; the check would prevent vectorisation
    i0, step = np.uint64(start), np.uint64(width)
    i1 = i0 + step
    i2 = i0 + step + step
    i3 = i0 + step + step + step
    for k in range(wide):
        u = np.uint64(k)
        a = flat[i0 + u]
        b = flat[i1 + u]
        c = flat[i2 + u]
        d = flat[i3 + u]
        seen = np.uint8(seen | _absent(a) | _absent(b) | _absent(c) | _absent(d))
        four[0, k], four[1, k], four[2, k], four[3, k] = _counted(a), _counted(b), _counted(c), _counted(d)
    return (seen & np.uint8(0x55)) != 0


@njit(cache=True, nogil=True)
def _mark_four(flat, start, width, wide, four):
    """Marks the missing calls of four sites."""
    for i in range(_FOUR):
        at = np.uint64(start + i * width)
        for k in range(wide):
            four[i, k] = np.uint8(_absent(flat[at + np.uint64(k)]) & np.uint8(0x55))


@njit(fastmath=_LOOSE, cache=True, nogil=True)
def _add_four(words, many, weights, j, sums):
    """Adds the weighted numbers of four sites to the sums of each of a word's sixteen people."""
    w0 = weights[j]
    w1 = weights[j + 1]
    w2 = weights[j + 2]
    w3 = weights[j + 3]
    for pair in range(_PEOPLE - 1):
        mask = np.int32(3 << 2 * pair)
        for k in range(many):
            sums[pair, k] += (
                w0 * _number(words[0, k], mask)
                + w1 * _number(words[1, k], mask)
                + w2 * _number(words[2, k], mask)
                + w3 * _number(words[3, k], mask)
            )
    for k in range(many):  # the last pair holds the sign bit, so it is shifted down
        sums[_PEOPLE - 1, k] += (
            w0 * _number(words[0, k] >> 30, 3)
            + w1 * _number(words[1, k] >> 30, 3)
            + w2 * _number(words[2, k] >> 30, 3)
            + w3 * _number(words[3, k] >> 30, 3)
        )


@njit(cache=True, nogil=True)
def _add_sums(flat, width, slope, gap, four, words, sums, total):
    height = flat.size // width
    for left in range(0, width, _WIDE):
        wide = min(_WIDE, width - left)
        four[:] = 0
        many = (wide + 3) // 4
        whole = (wide + _LANES - 1) // _LANES * _LANES // 4  # whole vectors; the rest is zero
        for start in range(0, height, _SITES):
            sums[:] = 0
            for j in range(start, min(start + _SITES, height), _FOUR):
                missing = _count_four(flat, j * width + left, width, wide, four)
                _add_four(words, whole, slope, j, sums)
                if missing:
                    _mark_four(flat, j * width + left, width, wide, four)
                    _add_four(words, whole, gap, j, sums)
            for pair in range(_PEOPLE):
                first = np.uint64(left // 4)
                for k in range(many):
                    total[pair, first + np.uint64(k)] += sums[pair, k]


def _aligned(rows: int, bytes_: int) -> npt.NDArray[np.uint8]:
    """Rows that are aligned with vectors; others load at half the speed."""
    room = np.zeros(rows * bytes_ + _LANES, dtype=np.uint8)
    first = -room.ctypes.data % _LANES
    return room[first : first + rows * bytes_].reshape(rows, bytes_)


def add_sums(
    rows: npt.NDArray[np.uint8], slope: npt.NDArray[np.float32], gap: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Σ slope·t + gap·[missing] over the sites for each person, where t is the number of bits set in a call.

    Notes
    -----
    Single precision within 512 sites, double between. Compiled on the first call, which takes some seconds
    once per machine; O(sites · people) time, 8 bytes of memory per person.
    """
    height, width = rows.shape
    total = np.zeros((_PEOPLE, (width + 3) // 4))
    # side by side: a load waits for a store whose address shares its last 12 bits
    room = _aligned(_FOUR + _PEOPLE, _WIDE)
    four, sums = room[:_FOUR], room[_FOUR:].view(np.float32)
    fours = height // _FOUR * _FOUR
    parts = [(rows[:fours], slope, gap)]
    if fours < height:  # the last sites, filled up to four with zeros
        rest, weights = np.zeros((_FOUR, width), dtype=np.uint8), np.zeros((2, _FOUR), dtype=np.float32)
        rest[: height - fours], weights[:, : height - fours] = rows[fours:], (slope[fours:], gap[fours:])
        parts.append((rest, weights[0], weights[1]))
    for some, by_count, by_gap in parts:
        flat = np.ascontiguousarray(some).reshape(-1)
        _add_sums(flat, width, by_count, by_gap, four, four.view(np.int32), sums, total)
    scales = 0.25 ** (np.arange(_PEOPLE) % (_PEOPLE - 1))
    people = np.ascontiguousarray(total.T) * scales
    return np.asarray(people.reshape(-1)[: 4 * width])
