"""The popcount kernel, compiled by numba (extra ``fast``): one head against four planes at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

__all__ = [
    "add_all",
]


@intrinsic
def _ones(context: Any, word: Any) -> Any:
    """The number of ones of a word, as the processor's own instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(nogil=True, cache=True)
def _add_run(head, planes, start, stop, begin, end, index, counts):
    # one-dimensional slices: a two-dimensional index inside the loop keeps LLVM from vectorising it
    plane = start
    while plane + 4 <= stop:
        a, b = planes[plane, begin:end], planes[plane + 1, begin:end]
        c, d = planes[plane + 2, begin:end], planes[plane + 3, begin:end]
        in_a = np.uint64(0)
        in_b = np.uint64(0)
        in_c = np.uint64(0)
        in_d = np.uint64(0)
        for w in range(head.size):
            word = head[w]
            in_a += _ones(word & a[w])
            in_b += _ones(word & b[w])
            in_c += _ones(word & c[w])
            in_d += _ones(word & d[w])
        counts[index] += np.int64(in_a)
        counts[index + 1] += np.int64(in_b)
        counts[index + 2] += np.int64(in_c)
        counts[index + 3] += np.int64(in_d)
        plane += 4
        index += 4
    while plane < stop:
        a = planes[plane, begin:end]
        in_a = np.uint64(0)
        for w in range(head.size):
            in_a += _ones(head[w] & a[w])
        counts[index] += np.int64(in_a)
        plane += 1
        index += 1


@njit(nogil=True, cache=True)
def add_all(planes, heads, starts, stops, indices, width, counts):
    """Add the counts of all runs, block by block of words, so that a block's planes stay in the cache."""
    order = heads.shape[1]
    for begin in range(0, planes.shape[1], width):
        end = min(begin + width, planes.shape[1])
        common = np.empty((order + 1, end - begin), np.uint64)  # common[j]: the AND of the first j planes
        common[0, :] = np.uint64(0xFFFFFFFFFFFFFFFF)
        for run in range(starts.size):
            kept = 0
            while run > 0 and kept < order and heads[run, kept] == heads[run - 1, kept]:
                kept += 1
            for j in range(kept, order):
                above, here = common[j, :], common[j + 1, :]
                plane = planes[heads[run, j], begin:end]
                for w in range(here.size):
                    here[w] = above[w] & plane[w]
            _add_run(common[order, :], planes, starts[run], stops[run], begin, end, indices[run], counts)
