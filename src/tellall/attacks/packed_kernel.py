"""The sums of packed calls in one fused loop; needs numba (the extra "fast").

NumPy takes a pass through the cache for every step; here bytes go to sums in registers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["add_sums"]

_LOOSE = {"contract", "reassoc", "nsz"}  # sums in any order, fused; NaN and infinities are kept
_ROWS = 512  # sites summed in single precision before they are added in double


@njit(inline="always")
def _counts(byte):
    """How many bits are set in each of the four pairs of bits."""
    return np.uint8(byte - ((byte >> np.uint8(1)) & np.uint8(0x55)))


@njit(inline="always")
def _absent(byte):
    """Which of the four pairs of bits are 01."""
    return np.uint8(byte & ~(byte >> np.uint8(1)) & np.uint8(0x55))


@njit(inline="always")
def _number(byte, mask):
    # through a 32-bit integer: the vector unit turns those to numbers, not 64-bit ones
    return np.float32(np.int32(np.uint8(byte & np.uint8(mask))))


@njit(cache=True, nogil=True)
def _any_absent(row):
    seen = np.uint8(0)
    for k in range(row.size):
        seen = np.uint8(seen | _absent(row[k]))
    return seen != 0


@njit(fastmath=_LOOSE, cache=True, nogil=True)
def _add_four(rows, j, slope, sums):
    """Four sites at once, so that the sums are fetched and stored a fourth as often."""
    r0, r1, r2, r3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
    w0, w1, w2, w3 = slope[j], slope[j + 1], slope[j + 2], slope[j + 3]
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    for k in range(rows.shape[1]):
        x, y, z, u = _counts(r0[k]), _counts(r1[k]), _counts(r2[k]), _counts(r3[k])
        a[k] += w0 * _number(x, 3) + w1 * _number(y, 3) + w2 * _number(z, 3) + w3 * _number(u, 3)
        b[k] += w0 * _number(x, 12) + w1 * _number(y, 12) + w2 * _number(z, 12) + w3 * _number(u, 12)
        c[k] += w0 * _number(x, 48) + w1 * _number(y, 48) + w2 * _number(z, 48) + w3 * _number(u, 48)
        d[k] += w0 * _number(x, 192) + w1 * _number(y, 192) + w2 * _number(z, 192) + w3 * _number(u, 192)


@njit(fastmath=_LOOSE, cache=True, nogil=True)
def _add_one(row, weight, sums):
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    for k in range(row.size):
        x = _counts(row[k])
        a[k] += weight * _number(x, 3)
        b[k] += weight * _number(x, 12)
        c[k] += weight * _number(x, 48)
        d[k] += weight * _number(x, 192)


@njit(fastmath=_LOOSE, cache=True, nogil=True)
def _add_absent(row, weight, sums):
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    for k in range(row.size):
        x = _absent(row[k])
        a[k] += weight * _number(x, 3)
        b[k] += weight * _number(x, 12)
        c[k] += weight * _number(x, 48)
        d[k] += weight * _number(x, 192)


@njit(cache=True, nogil=True)
def _add_sums(rows, slope, gap, total):
    height, width = rows.shape
    sums = np.zeros((4, width), dtype=np.float32)
    for start in range(0, height, _ROWS):
        stop = min(start + _ROWS, height)
        sums[:] = 0
        fours = start + (stop - start) // 4 * 4
        for j in range(start, fours, 4):
            _add_four(rows, j, slope, sums)
            for i in range(j, j + 4):  # while the rows are near
                if gap[i] != 0 and _any_absent(rows[i]):
                    _add_absent(rows[i], gap[i], sums)
        for j in range(fours, stop):
            _add_one(rows[j], slope[j], sums)
            if gap[j] != 0 and _any_absent(rows[j]):
                _add_absent(rows[j], gap[j], sums)
        scale = 1.0
        for place in range(4):
            for k in range(width):
                total[place, k] += sums[place, k] * scale
            scale /= 4


def add_sums(
    rows: npt.NDArray[np.uint8],
    slope: npt.NDArray[np.float32],
    gap: npt.NDArray[np.float32],
    total: npt.NDArray[np.float64],
) -> None:
    """Add slope·t + gap·[missing] of every site to total (4 × bytes), t the bits set in a call.

    Notes
    -----
    Single precision within 512 sites, double between. Compiled on the first call, which takes some seconds
    once per machine; O(sites · people) time, 16 bytes of memory a byte of a row.
    """
    _add_sums(rows, slope, gap, total)
