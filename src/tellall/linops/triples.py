"""Products of three rows, summed over people: no product taken twice, in blocks that stay in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

from tellall.linops.base import Array, IntArray

__all__ = ["triples", "triples_transposed"]

_MIDDLES = 4  # middle rows whose products share one matrix product
_NUMBERS = 2**18  # products of two rows held at once


@dataclass(frozen=True, eq=False)
class _Block:
    """The triples i < j < k whose middle row j lies in a block.

    Attributes
    ----------
    after
        The first row that can be k, one beyond the block's first row.
    middles
        Each j with the place of its first pair (0, j) among the block's pairs.
    place
        For each pair (i, j) and each k from `after` on, where the triple stands in lexicographic order; the
        number of all triples where k ≤ j.
    """

    after: int
    middles: tuple[tuple[int, int], ...]
    place: IntArray


def triples(T: Array, s: Array) -> Array:
    """Σ_p T[i,p] T[j,p] T[k,p] s[p] for i < j < k, lexicographic.

    Notes
    -----
    For every middle row j, (T[:j] * T[j] s) @ T[j+1:].T: d³ n / 3 flops, each triple once, but for k ≤ j
    within a block of four js.
    """
    d, n = T.shape
    dtype = np.result_type(T, s)
    blocks = _blocks(d)
    totals = [np.zeros(block.place.shape, dtype=dtype) for block in blocks]
    for columns in _people(d, n):
        part = np.ascontiguousarray(T[:, columns], dtype=dtype)
        scaled = part * s[columns]
        for block, total in zip(blocks, totals, strict=True):
            pairs = np.empty((total.shape[0], part.shape[1]), dtype=dtype)
            for j, first in block.middles:
                np.multiply(part[:j], scaled[j], out=pairs[first : first + j])
            total += pairs @ part[block.after :].T
    out = np.empty(comb(d, 3) + 1, dtype=dtype)
    for block, total in zip(blocks, totals, strict=True):
        out[block.place] = total
    return out[:-1]


def triples_transposed(T: Array, y: Array) -> Array:
    """Σ_{i<j<k} y[i,j,k] T[i,p] T[j,p] T[k,p] for every p."""
    d, n = T.shape
    dtype = np.result_type(T, y)
    padded = np.append(y, y.dtype.type(0))
    blocks = _blocks(d)
    spread = [padded[block.place] for block in blocks]
    out = np.zeros(n, dtype=dtype)
    for columns in _people(d, n):
        part = np.ascontiguousarray(T[:, columns], dtype=dtype)
        total = out[columns]
        for block, weights in zip(blocks, spread, strict=True):
            pairs = weights @ part[block.after :]
            for j, first in block.middles:
                total += part[j] * np.einsum("ip,ip->p", pairs[first : first + j], part[:j])
    return out


def _people(d: int, n: int) -> list[slice]:
    width = max(128, _NUMBERS // (_MIDDLES * max(d, 1)) // 64 * 64)
    return [slice(start, start + width) for start in range(0, n, width)]


@lru_cache(maxsize=8)
def _blocks(d: int) -> tuple[_Block, ...]:
    firsts, middles = np.triu_indices(d, 1)
    runs = d - 1 - middles
    start = np.zeros((d, d), dtype=np.intp)
    start[firsts, middles] = np.cumsum(runs) - runs  # where the run of ks of a pair begins
    out = []
    for low in range(1, d - 1, _MIDDLES):
        js = np.arange(low, min(low + _MIDDLES, d - 1))
        pair_j = np.repeat(js, js)
        pair_i = np.concatenate([np.arange(j) for j in js])
        beyond = np.arange(low + 1, d) - pair_j[:, None] - 1
        place = np.where(beyond < 0, comb(d, 3), start[pair_i, pair_j][:, None] + beyond)
        places = np.cumsum(js) - js
        out.append(_Block(low + 1, tuple(zip(js.tolist(), places.tolist(), strict=True)), place))
    return tuple(out)
