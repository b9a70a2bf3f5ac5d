"""Products of three rows, summed over people: no product taken twice, in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from tellall.linops.base import IntArray
from tellall.linops.place import HOST, Place

__all__ = ["gathered", "spread", "triples", "triples_transposed"]

_MIDDLES = 4  # middle rows whose products share one matrix product
_NUMBERS = 2**18  # products of two rows held at once on the host
_BYTES = 16  # and on a device, of a block of work, for each of them

Part = tuple[int, int, Any]  # start, stop and the columns of the factor between


@dataclass(frozen=True, eq=False)
class _Block:
    """The triples i < j < k whose middle row j lies in a block: pairs (i, j) by rows k.

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


def triples(place: Place, d: int, s: Any, parts: Iterable[Part], order: Any) -> Any:
    """Σ_p T[i,p] T[j,p] T[k,p] s[p] for i < j < k, lexicographic.

    Parameters
    ----------
    s
        In the number type of the result.
    parts
        The factor T, some columns at a time, in the type of s or in the place's narrow one.
    order
        `gathered`, at that place.

    Notes
    -----
    For every middle row j, (T[:j] * T[j] s) @ T[j+1:].T: d³ n / 3 flops, each triple once, but for k ≤ j
    within a block of four js.
    """
    xp, blocks = place.xp, _blocks(d)
    totals = [place.zeros(block.place.shape, s.dtype) for block in blocks]
    for start, T in _people(place, parts):
        for weights in place.parts(s[start : start + T.shape[1]], T.dtype):
            scaled = T * weights
            for block, total in zip(blocks, totals, strict=True):
                total += place.product(_pairs(place, block, T, scaled), T[block.after :, :].T)
    flat = [place.zeros((0,), s.dtype), *(xp.reshape(total, (-1,)) for total in totals)]
    return xp.take(xp.concat(flat), order)


def triples_transposed(place: Place, d: int, y: Any, parts: Iterable[Part], order: Any, work: Any) -> Any:
    """Σ_{i<j<k} y[i,j,k] T[i,p] T[j,p] T[k,p] for every p.

    As `triples`, but that y is in the type of the result, the parts in that of `work`, `order` is `spread`.
    """
    xp, blocks = place.xp, _blocks(d)
    values = xp.take(xp.concat([y, place.zeros((1,), y.dtype)]), order)
    weights, start = [], 0
    for block in blocks:
        size = block.place.size
        weights.append(place.parts(xp.reshape(values[start : start + size], block.place.shape), work))
        start += size
    out = [place.zeros((0,), y.dtype)]
    for _, T in _people(place, parts):
        total = place.zeros((T.shape[1],), y.dtype)
        for block, known in zip(blocks, weights, strict=True):
            pairs = place.product(known[0], T[block.after :, :])
            for more in known[1:]:
                pairs += place.product(more, T[block.after :, :])
            for j, first in block.middles:
                total += T[j, :] * place.column_dots(pairs[first : first + j, :], T[:j, :])
        out.append(total)
    return xp.concat(out)


def _pairs(place: Place, block: _Block, T: Any, scaled: Any) -> Any:
    """T[i] scaled[j] for every pair of a block."""
    if place is not HOST:
        return place.xp.concat([T[:j, :] * scaled[j, :] for j, _ in block.middles])
    out = np.empty((block.place.shape[0], T.shape[1]), dtype=T.dtype)
    for j, first in block.middles:
        np.multiply(T[:j], scaled[j], out=out[first : first + j])
    return out


def _people(place: Place, parts: Iterable[Part]) -> Iterator[tuple[int, Any]]:
    """The factor's columns, so many at a time as the products of a block's pairs leave room for."""
    for start, stop, T in parts:
        width, count = _width(place, T.shape[0]), stop - start
        for first in range(0, count, width):
            part = T[:, first : min(first + width, count)]
            yield start + first, np.ascontiguousarray(part) if place is HOST else part


def _width(place: Place, d: int) -> int:
    numbers = _NUMBERS if place is HOST else place.block // _BYTES
    return max(128, numbers // (_MIDDLES * max(d, 1)) // 64 * 64)


@lru_cache(maxsize=2)
def spread(d: int) -> IntArray:
    """For every place in the blocks, one after the other, which triple stands there; their number if none."""
    places = [block.place.ravel() for block in _blocks(d)]
    return np.concatenate([np.zeros(0, dtype=np.intp), *places])


@lru_cache(maxsize=2)
def gathered(d: int) -> IntArray:
    """For every triple its place in the blocks, one after the other."""
    out = np.empty(comb(d, 3) + 1, dtype=np.intp)
    out[spread(d)] = np.arange(spread(d).size)
    return out[:-1]


@lru_cache(maxsize=2)
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
