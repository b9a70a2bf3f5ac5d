"""Distinct rows: what a matrix says, each row once, and in blocks where rows share no unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator

__all__ = ["SPARSE", "DistinctRows", "RowBlocks", "first_of_each"]

SPARSE = 0.1  # share of entries that are not zero below which the zeros are left out
_LOOSE = 2.0  # places of the blocks for each entry, up to which they are worth it
_CHUNK = 1 << 15  # unknowns at a time, so that what is added up stays in the cache

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """A matrix whose rows have entries of one value, in blocks that hold every unknown at most once.

    The cells of one table are such a block.

    Attributes
    ----------
    value
        The value of each row's entries.
    start
        The first row of each block, and the number of rows.
    place
        Blocks × unknowns: the row within the block, one beyond its last where the unknown is in none.
    """

    value: Array
    start: Indices
    place: npt.NDArray[Any]

    @classmethod
    def of(cls, matrix: Any) -> RowBlocks | None:
        """The blocks of a sparse matrix; None where entries of a row differ or rows do not fall into blocks.

        A block ends before the first row that has an unknown in common with it.
        """
        rows, unknowns = matrix.shape
        by_row, by_column = matrix.tocsr(), matrix.tocsc()
        if not by_row.nnz:
            return None
        by_column.sort_indices()
        value, filled = np.ones(rows), np.flatnonzero(np.diff(by_row.indptr))
        value[filled] = by_row.data[by_row.indptr[filled]]
        if not np.array_equal(np.repeat(value, np.diff(by_row.indptr)), by_row.data):
            return None
        entry, column = by_column.indices, np.repeat(np.arange(unknowns), np.diff(by_column.indptr))
        before = np.full(rows, -1, dtype=np.intp)  # the last earlier row with an unknown of this one
        follows = column[1:] == column[:-1]
        np.maximum.at(before, entry[1:][follows], entry[:-1][follows])
        starts = [0]
        for row, last in enumerate(before.tolist()):
            if last >= starts[-1]:
                starts.append(row)
        start = np.array([*starts, rows], dtype=np.intp)
        if len(starts) * unknowns > _LOOSE * by_row.nnz:
            return None
        height = np.diff(start)
        small = np.min_scalar_type(int(height.max()))
        place = np.repeat(height.astype(small)[:, None], unknowns, axis=1)
        block = np.searchsorted(start, entry, side="right") - 1
        place[block, column] = entry - start[block]
        return cls(value, start, place)

    def take(self, columns: Indices) -> RowBlocks:
        """The same for some of the unknowns."""
        return replace(self, place=self.place[:, columns])

    def outer(self, rows: Array, columns: Array) -> Array:
        """The upper half of diag(rows) A diag(columns) Aᵀ diag(rows): O(blocks² × unknowns)."""
        left = rows * self.value
        out = np.zeros((left.size, left.size))
        for one, other, size, together, part in self._pairs():
            counts = np.bincount(together, columns[part], minlength=size[0] * size[1]).reshape(size)
            out[one, other] += left[one, None] * counts[:-1, :-1] * left[other]
        return out

    def quadratic(self, rows: Array, inner: Array) -> Array:
        """b_pᵀ K b_p for every column b_p of diag(rows) A; of the symmetric K the upper half is read."""
        left, out = rows * self.value, np.zeros(self.place.shape[1])
        for one, other, size, together, part in self._pairs():
            padded = np.zeros(size)
            padded[:-1, :-1] = (1 if one == other else 2) * left[one, None] * inner[one, other] * left[other]
            out[part] += padded.take(together)
        return out

    def _pairs(self) -> Iterator[tuple[slice, slice, tuple[int, int], Indices, slice]]:
        """For each pair of blocks: their rows, sizes with one more, and where in both some unknowns are."""
        blocks = [slice(int(a), int(b)) for a, b in zip(self.start[:-1], self.start[1:], strict=True)]
        high = [block.stop - block.start + 1 for block in blocks]
        unknowns = self.place.shape[1]
        for begin in range(0, unknowns, _CHUNK):
            part = slice(begin, min(begin + _CHUNK, unknowns))
            place = self.place[:, part].astype(np.intp)
            together = np.empty(part.stop - part.start, dtype=np.intp)
            for i, one in enumerate(blocks):
                for j in range(i, len(blocks)):
                    np.multiply(place[i], high[j], out=together)
                    np.add(together, place[j], out=together)
                    yield one, blocks[j], (high[i], high[j]), together, part


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a matrix up to sign: row j is ``sign[j] * matrix[index[j]]``.

    ``matrix`` is a sparse array where most entries are zero. Rows are in the order in which they come first.
    """

    matrix: Any
    index: Indices
    sign: Array

    @classmethod
    def of(cls, operator: LinearOperator) -> DistinctRows:
        """Those of an operator's matrix, found by two random projections."""
        from scipy.sparse import csr_array, diags_array

        written = csr_array(operator.to_sparse()).astype(np.float64)
        m, n = written.shape
        prints = written @ np.random.default_rng(0).normal(size=(n, 2))
        sign = np.where(prints[:, 0] < 0, -1.0, 1.0)
        first, index = first_of_each(np.round(sign[:, None] * prints, 7))
        same: Any = csr_array(diags_array(sign, shape=(m, m)) @ written) if m else written
        rows = same[first]
        if (same != rows[index]).nnz:
            rows, index, sign = written, np.arange(m), np.ones(m)
        sparse = rows.nnz < SPARSE * rows.shape[0] * n
        return cls(rows if sparse else rows.toarray(), index, sign)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the zeros are left out."""
        return not isinstance(self.matrix, np.ndarray)

    @cached_property
    def blocks(self) -> RowBlocks | None:
        """The rows in blocks; None where they do not fall into any, or zeros are written out."""
        return RowBlocks.of(self.matrix) if self.sparse else None

    def take(self, free: Indices) -> DistinctRows:
        """The entries of these unknowns."""
        if free.size == self.matrix.shape[1]:
            return self
        some = replace(self, matrix=self.matrix[:, free])
        # what was found out about all of them holds for some
        vars(some)["blocks"] = None if self.blocks is None else self.blocks.take(free)
        return some

    def gather(self, values: Array) -> Array:
        """Σ over equal rows."""
        return np.bincount(self.index, values, minlength=len(self)).astype(np.float64, copy=False)


def first_of_each(keys: Array) -> tuple[Indices, Indices]:
    """Where each distinct row of keys comes first, in that order, and which of them every row is.

    Examples
    --------
    >>> first, index = first_of_each(np.array([[3.0], [1.0], [3.0]]))
    >>> first.tolist(), index.tolist()
    ([0, 1], [0, 1, 0])
    """
    _, first, index = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[index.reshape(-1)]
