"""Moments: all products of `order` rows of a factor, never formed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator

__all__ = ["Moments"]

_ROWS = 4096  # rows formed at once where a weighted gram has no closed form


@final
class Moments(LinearOperator):
    """One row per choice of `order` distinct rows of the factor T: their entrywise product.

    For T of shape d × n and order 2 the matrix is ``A[(i, j), p] = T[i, p] * T[j, p]``, i < j, rows in
    lexicographic order; orders 1 to 3.

    Notes
    -----
    A s is read off ``(T * s) @ T.T`` and Aᵀ y is ``sum((Y @ T) * T, axis=0)``, Y the upper triangle filled
    with y: two matrix products, O(d^order n) flops, O(n d + d²) memory, instead of C(d, order) × n entries.
    Entry (a, b) of the gram is the elementary symmetric polynomial of the numbers T[i, a] T[i, b], which
    Newton's identities give from the power sums P_j = (T^j)ᵀ (T^j):
    e1 = P1, e2 = (P1² − P2)/2, e3 = (P1³ − 3 P1 P2 + 2 P3)/6. For ±1 rows e2 = (G² − d)/2 with G = TᵀT.
    The row-product matrices of the linear-reconstruction paper (Sec. 3), on distinct index sets.
    """

    def __init__(self, factor: npt.ArrayLike, order: int) -> None:
        array = np.asarray(factor)
        if array.ndim != 2:
            raise invalid("factor", "two-dimensional (attributes × people)", array.shape)
        if order not in (1, 2, 3):
            raise invalid("order", "1, 2 or 3", order)
        self.factor: Array = array if array.dtype.kind == "f" else array.astype(np.float64)
        self.order = order
        self.shape = (comb(array.shape[0], order), array.shape[1])
        self.dtype = self.factor.dtype

    def matmat(self, block: Array) -> Array:
        columns = [self._image(block[:, c]) for c in range(block.shape[1])]
        return np.stack(columns, axis=1) if columns else np.zeros((self.shape[0], 0), dtype=block.dtype)

    def rmatmat(self, block: Array) -> Array:
        columns = [self._back_image(block[:, c]) for c in range(block.shape[1])]
        return np.stack(columns, axis=1) if columns else np.zeros((self.shape[1], 0), dtype=block.dtype)

    def matvec(self, vector: Array) -> Array:
        return self._image(vector)

    def rmatvec(self, vector: Array) -> Array:
        return self._back_image(vector)

    def gram(self, weights: Array | None = None) -> Array:
        scale = self._common_weight(weights)
        if scale is not None:
            return scale * _elementary_symmetric(self.factor, self.order)
        assert weights is not None
        n = self.shape[1]
        out = np.zeros((n, n), dtype=np.result_type(self.dtype, weights.dtype))
        start = 0
        for rows in self._row_blocks():
            stop = start + rows.shape[0]
            out += rows.T @ (rows * weights[start:stop, None])
            start = stop
        return out

    def take(self, columns: IntArray) -> Moments:
        return Moments(np.ascontiguousarray(self.factor[:, columns]), self.order)

    def squared(self) -> Moments:
        return Moments(self.factor**2, self.order)

    def to_dense(self) -> Array:
        blocks = list(self._row_blocks())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, dtype=self.dtype)

    def _image(self, vector: Array) -> Array:
        if self.order == 1:
            single: Array = self.factor @ vector
            return single
        if self.order == 2:
            return _pairs(self.factor, vector)
        T, d = self.factor, self.factor.shape[0]
        parts = [_pairs(T[i + 1 :], T[i] * vector) for i in range(d - 2)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=vector.dtype)

    def _back_image(self, vector: Array) -> Array:
        if self.order == 1:
            single: Array = self.factor.T @ vector
            return single
        if self.order == 2:
            return _pairs_transposed(self.factor, vector)
        T, d = self.factor, self.factor.shape[0]
        out = np.zeros(self.shape[1], dtype=np.result_type(T, vector))
        start = 0
        for i in range(d - 2):
            stop = start + comb(d - 1 - i, 2)
            out += T[i] * _pairs_transposed(T[i + 1 :], vector[start:stop])
            start = stop
        return out

    def _common_weight(self, weights: Array | None) -> float | None:
        """The one weight of all rows that are not zero, or None where they differ."""
        if weights is None:
            return 1.0
        active = self.squared().matvec(np.ones(self.shape[1], dtype=self.dtype)) > 0
        used = weights[active]
        if used.size == 0:
            return 0.0
        return float(used[0]) if np.all(used == used[0]) else None

    def _row_blocks(self) -> Iterator[Array]:
        """The rows of the matrix, some thousand at a time."""
        chosen: list[tuple[int, ...]] = []
        for choice in combinations(range(self.factor.shape[0]), self.order):
            chosen.append(choice)
            if len(chosen) == _ROWS:
                yield self.factor[np.array(chosen)].prod(axis=1)
                chosen = []
        if chosen:
            yield self.factor[np.array(chosen)].prod(axis=1)


def _pairs(T: Array, s: Array) -> Array:
    """Σ_p T[i,p] T[j,p] s[p] for i < j, lexicographic."""
    products = (T * s) @ T.T
    return products.ravel().take(_upper_triangle(T.shape[0]))


def _pairs_transposed(T: Array, y: Array) -> Array:
    """Σ_{i<j} y[i,j] T[i,p] T[j,p] for every p."""
    d = T.shape[0]
    upper = np.zeros(d * d, dtype=y.dtype)
    upper[_upper_triangle(d)] = y
    out: Array = np.einsum("ip,ip->p", upper.reshape(d, d) @ T, T)
    return out


@lru_cache(maxsize=256)
def _upper_triangle(d: int) -> IntArray:
    """The flat places of i < j in a d × d matrix."""
    return np.flatnonzero(np.triu(np.ones((d, d), dtype=bool), 1))


def _elementary_symmetric(T: Array, order: int) -> Array:
    """The elementary symmetric polynomial of T[i, a] T[i, b] over i, for every a and b."""
    p1: Array = T.T @ T
    if order == 1:
        return p1
    square = T * T
    p2: Array = square.T @ square
    if order == 2:
        return (p1 * p1 - p2) / 2
    cube = square * T
    p3: Array = cube.T @ cube
    return (p1**3 - 3 * p1 * p2 + 2 * p3) / 6
