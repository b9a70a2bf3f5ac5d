"""Partition: tables over people, each person in one cell of each table."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator, stack_columns
from tellall.linops.place import HOST, Place

__all__ = ["Partition"]

_CHUNK = 1 << 20  # memberships handled at once, so that temporaries stay in cache-sized pieces


@final
class Partition(LinearOperator):
    """The cell counts of one or several tables: ``A[c, p] = 1`` where person p is in cell c.

    ``codes`` is one row of cell numbers per table (tables × n); cells of different tables have different
    numbers below ``cells``.

    Notes
    -----
    A s = bincount(codes, s) and Aᵀ y = y[codes] summed over tables: O(tables · n) time, no matrix. The gram
    adds each cell's weight to all pairs of its people: O(Σ |cell|²) time.
    """

    def __init__(self, codes: npt.ArrayLike, cells: int, *, place: Place = HOST) -> None:
        self.place = place
        array = np.atleast_2d(np.asarray(codes))
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise invalid("codes", "an integer array, one row per table", f"{array.dtype} {array.shape}")
        if array.size and (array.min() < 0 or array.max() >= cells):
            raise invalid("codes", f"cell numbers from 0 to {cells - 1}", f"{array.min()} to {array.max()}")
        self.codes: IntArray = array
        self.shape = (cells, array.shape[1])
        self.dtype = np.dtype(np.float64)

    def matmat(self, block: Array) -> Array:
        return stack_columns(self.place, self._count, block, self.shape[0])

    def rmatmat(self, block: Array) -> Array:
        place = self.place
        out: Array = place.zeros((self.shape[1], block.shape[1]), block.dtype)
        for row in self._cells:
            out += place.xp.take(block, row, axis=0)
        return out

    def rmatvec(self, vector: Array) -> Array:
        if self.place is not HOST:
            return self.rmatmat(vector[:, None])[:, 0]
        out = np.zeros(self.shape[1], dtype=vector.dtype)
        for rows in self._chunks():
            out += vector[rows].sum(axis=0)
        return out

    def on(self, place: Place) -> Partition:
        return Partition(self.codes, self.shape[0], place=place)

    def gram(self, weights: Array | None = None) -> Array:
        n = self.shape[1]
        out = np.zeros((n, n))
        for row in self.codes:
            order = np.argsort(row, kind="stable")
            borders = np.flatnonzero(np.diff(row[order])) + 1
            for people in np.split(order, borders) if n else ():
                weight = 1.0 if weights is None else float(weights[row[people[0]]])
                if weight:
                    out[people[:, None], people] += weight
        return out

    def take(self, columns: IntArray) -> Partition:
        return Partition(np.ascontiguousarray(self.codes[:, columns]), self.shape[0], place=self.place)

    def squared(self) -> Partition:
        return self

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array

        tables, n = self.codes.shape
        people = np.broadcast_to(np.arange(n), (tables, n)).ravel()
        return csr_array((np.ones(tables * n), (self.codes.ravel(), people)), shape=self.shape)

    def _count(self, vector: Any) -> Any:
        if self.place is not HOST:
            return self._count_sorted(vector)
        out = np.zeros(self.shape[0])
        for rows in self._chunks():
            weights = np.broadcast_to(vector, rows.shape).ravel()
            out += np.bincount(rows.ravel(), weights, minlength=self.shape[0])
        return out

    def _count_sorted(self, vector: Any) -> Any:
        """The same by running sums over the people in the order of their cells, in double precision."""
        place, xp = self.place, self.place.xp
        people, ends = self._sorted
        sums = xp.cumulative_sum(xp.take(xp.astype(vector, xp.float64), people), axis=0)
        until = xp.take(xp.concat([place.zeros((1,), xp.float64), sums]), ends)
        return xp.astype(until[1:] - until[:-1], vector.dtype)

    @cached_property
    def _sorted(self) -> tuple[Any, Any]:
        """The people in the order of their cells, and how many are in all cells before each."""
        order = np.argsort(self.codes, axis=None, kind="stable")
        counts = np.bincount(self.codes.ravel(), minlength=self.shape[0])
        ends = np.concatenate([[0], np.cumsum(counts)])
        return self.place.put(order % max(self.shape[1], 1)), self.place.put(ends)

    @cached_property
    def _cells(self) -> list[Any]:
        """The cell numbers of each table, where products are computed."""
        return [self.place.put(row) for row in self.codes]

    def _chunks(self) -> list[IntArray]:
        step = max(1, _CHUNK // max(1, self.shape[1]))
        return [self.codes[i : i + step] for i in range(0, self.codes.shape[0], step)]
