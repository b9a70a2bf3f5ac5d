"""Moments: all products of `order` rows of a factor, never formed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator, stack_columns
from tellall.linops.packed import Packed, is_two_valued
from tellall.linops.place import HOST, Place
from tellall.linops.triples import triples, triples_transposed

__all__ = ["Moments", "upper_triangle"]

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
    A packed factor takes n d / 8 bytes and is expanded in blocks of columns.
    Entry (a, b) of the gram is the elementary symmetric polynomial of the numbers T[i, a] T[i, b], which
    Newton's identities give from the power sums P_j = (T^j)ᵀ (T^j):
    e1 = P1, e2 = (P1² − P2)/2, e3 = (P1³ − 3 P1 P2 + 2 P3)/6. For ±1 rows e2 = (G² − d)/2 with G = TᵀT.
    The row-product matrices of the linear-reconstruction paper (Sec. 3), on distinct index sets.
    """

    def __init__(self, factor: npt.ArrayLike | Packed, order: int, *, place: Place = HOST) -> None:
        if order not in (1, 2, 3):
            raise invalid("order", "1, 2 or 3", order)
        self.factor: Any = factor
        self.place = place
        if isinstance(factor, Packed):
            self.place, self.dtype = factor.place, np.dtype(np.float32)
        elif place is HOST:
            array = np.asarray(factor)
            if array.ndim != 2:
                raise invalid("factor", "two-dimensional (attributes × people)", array.shape)
            self.factor = array if array.dtype.kind == "f" else array.astype(np.float64)
            self.dtype = self.factor.dtype
        else:
            self.dtype = place.numpy_dtype(self.factor)
        self.order = order
        self.shape = (comb(self.factor.shape[0], order), self.factor.shape[1])
        self._indices: dict[tuple[str, int], Any] = {}

    def matmat(self, block: Array) -> Array:
        return stack_columns(self._image, block, self.shape[0])

    def rmatmat(self, block: Array) -> Array:
        return stack_columns(self._back_image, block, self.shape[1])

    def matvec(self, vector: Array) -> Array:
        out: Array = self._image(vector)
        return out

    def rmatvec(self, vector: Array) -> Array:
        out: Array = self._back_image(vector)
        return out

    def gram(self, weights: Array | None = None) -> Array:
        scale = self._common_weight(weights)
        if scale is not None:
            return scale * _elementary_symmetric(self._whole(), self.order)
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
        if isinstance(self.factor, Packed):
            return Moments(self.factor.take(columns), self.order)
        kept = self.place.xp.take(self.factor, self.place.put(columns), axis=1)
        return Moments(kept, self.order, place=self.place)

    def squared(self) -> Moments:
        if isinstance(self.factor, Packed):
            return Moments(self.factor.squared(), self.order)
        square = self.factor**2
        if bool(self.place.xp.all(square == 1)):  # of signs: products with it are sums
            d, n = self.factor.shape
            return Moments(Packed.ones(d, n, self.place), self.order)
        return Moments(square, self.order, place=self.place)

    def on(self, place: Place) -> Moments:
        factor = self.factor
        if not isinstance(factor, Packed) and is_two_valued(factor):
            factor = Packed.of(factor)
        moved = factor.on(place) if isinstance(factor, Packed) else place.put(factor)
        return Moments(moved, self.order, place=place)

    def to_dense(self) -> Array:
        blocks = list(self._row_blocks())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, dtype=self.dtype)

    @property
    def _plain(self) -> bool:
        return self.place is HOST and self._entry is None

    def _whole(self) -> Any:
        if isinstance(self.factor, Packed):
            return self.factor.block(0, self.shape[1], self.place.dtype(self.dtype))
        return self.factor

    def _work_dtype(self, dtype: Any) -> Any:
        """The number type of the factor in products with vectors of that type."""
        narrow = self.place.narrow
        single = narrow is not None and dtype == self.place.xp.float32
        return narrow if single and isinstance(self.factor, Packed) else dtype

    def _blocks(self, dtype: Any) -> Iterator[tuple[int, int, Any]]:
        """Start, stop and the factor's columns between, for products with vectors of that number type."""
        if isinstance(self.factor, Packed):
            yield from self.factor.blocks(self._work_dtype(dtype))
        else:
            whole = self.factor if self.factor.dtype == dtype else self.place.xp.astype(self.factor, dtype)
            yield 0, self.shape[1], whole

    def _host_blocks(self, vector: Array) -> Iterator[tuple[int, int, Array]]:
        """The same for what takes any types as they are."""
        if isinstance(self.factor, Packed):
            return self.factor.blocks(np.result_type(self.dtype, vector))
        return iter([(0, self.shape[1], self.factor)])

    def _image(self, vector: Any) -> Any:
        if self.order == 3 and self._plain:
            found = (triples(T, vector[start:stop]) for start, stop, T in self._host_blocks(vector))
            return sum(found, np.zeros(self.shape[0], np.result_type(self.dtype, vector)))
        place, xp, d = self.place, self.place.xp, self.factor.shape[0]
        vector = xp.astype(vector, xp.result_type(vector.dtype, place.dtype(self.dtype)), copy=False)
        if self._entry is not None:
            return place.zeros((self.shape[0],), vector.dtype) + self._entry * xp.sum(vector)
        firsts = range(d - 2) if self.order == 3 else range(1)
        sizes = [d - 1 - i if self.order == 3 else d for i in firsts]
        shapes = [(d,) if self.order == 1 else (size, size) for size in sizes]
        totals = [place.zeros(shape, vector.dtype) for shape in shapes]
        for start, stop, T in self._blocks(vector.dtype):
            part = vector[start:stop]
            if self.order == 1:
                totals[0] += place.thin_product(T, part)
            elif self.order == 2:
                _add_pairs(place, totals[0], T, part)
            else:
                for i in firsts:
                    _add_pairs(place, totals[i], T[i + 1 :, :], xp.astype(T[i, :], vector.dtype) * part)
        if self.order == 1:
            return totals[0]
        parts = [xp.take(xp.reshape(each, (-1,)), self._upper(each.shape[0])) for each in totals]
        return xp.concat(parts) if parts else place.zeros((0,), vector.dtype)

    def _back_image(self, vector: Any) -> Any:
        if self.order == 3 and self._plain:
            kind = np.result_type(self.dtype, vector)
            found = [triples_transposed(T, vector) for _, _, T in self._host_blocks(vector)]
            return np.concatenate([np.zeros(0, kind), *found])
        place, xp, d = self.place, self.place.xp, self.factor.shape[0]
        vector = xp.astype(vector, xp.result_type(vector.dtype, place.dtype(self.dtype)), copy=False)
        if self._entry is not None:
            return place.zeros((self.shape[1],), vector.dtype) + self._entry * xp.sum(vector)
        out = [place.zeros((0,), vector.dtype)]
        work = self._work_dtype(vector.dtype)
        pairs = place.parts(self._spread(d, vector), work) if self.order == 2 else []
        for _, _, T in self._blocks(vector.dtype):
            if self.order == 1:
                out.append(place.thin_product(T.T, vector))
            elif self.order == 2:
                out.append(_pairs_transposed(place, T, pairs))
            else:
                total, first = place.zeros((T.shape[1],), vector.dtype), 0
                for i in range(d - 2):
                    last = first + comb(d - 1 - i, 2)
                    spread = place.parts(self._spread(d - 1 - i, vector[first:last]), work)
                    total = total + T[i, :] * _pairs_transposed(place, T[i + 1 :, :], spread)
                    first = last
                out.append(total)
        return xp.concat(out) if len(out) > 2 else out[-1]

    @property
    def _entry(self) -> float | None:
        """The one entry of a matrix whose entries are all the same."""
        packed = isinstance(self.factor, Packed) and self.factor.constant
        return self.factor.low**self.order if packed else None

    def _upper(self, d: int) -> Any:
        """The flat places of i < j in a d × d matrix."""
        return self._index("upper", d, upper_triangle)

    def _spread(self, d: int, vector: Array) -> Any:
        """The d × d matrix with the vector above its diagonal and zeros elsewhere."""
        place, xp = self.place, self.place.xp
        if place is HOST:
            upper = np.zeros(d * d, dtype=vector.dtype)
            upper[upper_triangle(d)] = vector
            return upper.reshape(d, d)
        padded = xp.concat([vector, place.zeros((1,), vector.dtype)])
        return xp.reshape(xp.take(padded, self._index("spread", d, _spread_triangle)), (d, d))

    def _index(self, name: str, d: int, make: Callable[[int], IntArray]) -> Any:
        if self.place is HOST:
            return make(d)
        if (name, d) not in self._indices:
            self._indices[name, d] = self.place.put(make(d))
        return self._indices[name, d]

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
        factor = self._whole()
        chosen: list[tuple[int, ...]] = []
        for choice in combinations(range(factor.shape[0]), self.order):
            chosen.append(choice)
            if len(chosen) == _ROWS:
                yield factor[np.array(chosen)].prod(axis=1)
                chosen = []
        if chosen:
            yield factor[np.array(chosen)].prod(axis=1)


def _add_pairs(place: Place, total: Any, T: Any, s: Any) -> None:
    """Σ_p T[i,p] T[j,p] s[p] added to total[i, j] for i ≤ j; below the diagonal only what comes for free.

    Of a symmetric product half is redundant: a panel of rows meets the rows from the panel's first on.
    """
    parts = place.parts(s, T.dtype)
    for i, j in _panels(T.shape[0], place.panel):
        rows, others = T[i:j, :], T[i:, :].T
        for part in parts:
            total[i:j, i:] += place.product(rows * part, others)


def _pairs_transposed(place: Place, T: Any, parts: list[Any]) -> Any:
    """Σ_{i<j} Y[i,j] T[i,p] T[j,p] for every p; the parts of Y have zeros on and below the diagonal."""
    total = None
    for i, j in _panels(T.shape[0], place.panel):
        found = place.product(parts[0][i:j, i:], T[i:, :])
        for part in parts[1:]:
            found += place.product(part[i:j, i:], T[i:, :])
        dots = place.column_dots(found, T[i:j, :])
        total = dots if total is None else total + dots
    return total


def _panels(rows: int, height: int) -> list[tuple[int, int]]:
    return [(first, min(first + height, rows)) for first in range(0, max(rows, 1), height)]


@lru_cache(maxsize=256)
def upper_triangle(d: int) -> IntArray:
    """The flat places of i < j in a d × d matrix."""
    return np.flatnonzero(np.triu(np.ones((d, d), dtype=bool), 1))


def _spread_triangle(d: int) -> IntArray:
    """For each flat place of a d × d matrix the number of its pair i < j, or the number of pairs."""
    out = np.full(d * d, comb(d, 2), dtype=np.intp)
    out[upper_triangle(d)] = np.arange(comb(d, 2))
    return out


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
