"""Rows of many unknowns: the products that a factorisation of the rows needs, some unknowns at a time.

Rows that share no unknown, such as the cells of a table, are kept and multiplied together, in blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array, LinearOperator

__all__ = ["SHARED", "TALL", "ManyColumns", "RowBlocks", "WideRows"]

_LOOSE = 2.0  # places per entry up to which blocks are worth it
_CHUNK, _FEW = 1 << 15, 1 << 12  # unknowns at a time, so that what is added up stays in the cache
TALL = 6  # mean rows of a block from which leaving out zeros is quicker
SHARED = 4_000_000  # entries of pairs of rows that are written out at once: 48 MB
_WRITTEN = 4_000_000  # entries that are written out at once, to be read into blocks

Indices = npt.NDArray[np.intp]


class ManyColumns(ABC):
    """A matrix A with many columns, written out a few at a time."""

    @abstractmethod
    def take(self, columns: Indices) -> ManyColumns:
        """The same for some of the unknowns."""

    @property
    @abstractmethod
    def unknowns(self) -> int:
        """How many columns it has."""

    @property
    def dense(self) -> bool:
        """Whether `lengths` is quicker than `quadratic`, and zeros are written out."""
        return True

    @abstractmethod
    def image(self, vector: Array) -> Array:
        """A x."""

    @abstractmethod
    def back(self, rows: Array) -> Array:
        """Aᵀ y."""

    @abstractmethod
    def written(self) -> Iterator[tuple[slice, Array]]:
        """Yields slices of unknowns, one after the other, and their columns as a new array."""

    def outer(self, rows: Array, columns: Array) -> Array:
        """The upper half, at least, of diag(rows) A diag(columns) Aᵀ diag(rows)."""
        out = np.zeros((rows.size, rows.size))
        root = np.sqrt(columns)
        for part, written in self.written():
            written *= root[part]
            out += written @ written.T
        out *= rows
        out *= rows[:, None]
        return out

    def quadratic(self, rows: Array, inner: Array) -> Array:
        """b_pᵀ K b_p for every column b_p of diag(rows) A; reads only the upper half of the symmetric K."""
        whole = np.triu(inner) + np.triu(inner, 1).T
        out = np.empty(self.unknowns)
        for part, written in self.written():
            written *= rows[:, None]
            out[part] = np.einsum("ij,ij->j", written, whole @ written)
        return out

    def lengths(self, rows: Array, factor: Array) -> Array:
        """‖L⁻¹ b_p‖² for every column b_p of diag(rows) A: `quadratic` for K⁻¹ = L Lᵀ."""
        from scipy.linalg import solve_triangular

        out = np.empty(self.unknowns)
        for part, written in self.written():
            written *= rows[:, None]
            solved = solve_triangular(factor, written, lower=True, overwrite_b=True, check_finite=False)
            out[part] = np.einsum("ij,ij->j", solved, solved)
        return out


@dataclass(frozen=True, eq=False)
class WideRows(ManyColumns):
    """Few rows of any operator."""

    operator: LinearOperator

    def take(self, columns: Indices) -> WideRows:
        return WideRows(self.operator.take(columns))

    @property
    def unknowns(self) -> int:
        return self.operator.shape[1]

    def image(self, vector: Array) -> Array:
        out = np.zeros(self.operator.shape[0])
        for part, written in self.written():
            out += written @ vector[part]
        return out

    def back(self, rows: Array) -> Array:
        out = np.empty(self.unknowns)
        for part, written in self.written():
            out[part] = rows @ written
        return out

    def written(self) -> Iterator[tuple[slice, Array]]:
        for begin in range(0, self.unknowns, _FEW):
            part = slice(begin, min(begin + _FEW, self.unknowns))
            few = self.operator.take(np.arange(part.start, part.stop))
            yield part, np.array(few.to_dense(), dtype=np.float64, order="F")  # as LAPACK takes it


@dataclass(frozen=True, eq=False)
class RowBlocks(ManyColumns):
    """A matrix whose rows each have one nonzero value, in blocks that hold every unknown at most once.

    The cells of one table are such a block.

    Attributes
    ----------
    value
        The value of each row's entries.
    start
        The first row of each block, and the number of rows.
    place
        Blocks × unknowns: the unknown's row within the block, or one beyond the last if it is in none.
    part
        The matrix whose columns these are some of, and which, if it was taken from a larger one.
    """

    value: Array
    start: Indices
    place: npt.NDArray[Any]

    @classmethod
    def of(cls, operator: LinearOperator) -> RowBlocks | None:
        """The blocks of an operator; None if entries of a row differ or rows do not fall into blocks.

        A block ends before the first row that shares an unknown with it. The entries are written out twice,
        for some unknowns at a time.
        """
        rows, unknowns = operator.shape
        if not rows * unknowns:
            return None
        value = np.zeros(rows)
        before = np.full(rows, -1, dtype=np.intp)  # the last earlier row that shares an unknown
        entries = 0
        for part, row, column, data in _columns(operator):
            value[row] = data
            follows = column[1:] == column[:-1]
            np.maximum.at(before, row[1:][follows], row[:-1][follows])
            entries = entries + row.size
            start = _starts(before)
            if not np.array_equal(value[row], data) or (start.size - 1) * part.stop > _LOOSE * entries:
                return None
        height = np.diff(start)
        place = np.repeat(height.astype(np.min_scalar_type(int(height.max())))[:, None], unknowns, axis=1)
        for part, row, column, data in _columns(operator):
            block = np.searchsorted(start, row, side="right") - 1
            place[block, part.start + column] = row - start[block]
            if not np.array_equal(value[row], data):
                return None  # a row that begins with one value and goes on with another
        return cls(value, start, place)

    part: tuple[RowBlocks, Indices] | None = None

    def take(self, columns: Indices) -> RowBlocks:
        whole, taken = (self, columns) if self.part is None else (self.part[0], self.part[1][columns])
        return RowBlocks(self.value, self.start, np.take(self.place, columns, axis=1), (whole, taken))

    @property
    def unknowns(self) -> int:
        return int(self.place.shape[1])

    @property
    def dense(self) -> bool:
        return self.value.size < TALL * (self.start.size - 1)

    def image(self, vector: Array) -> Array:
        parts = [
            np.bincount(place, vector, minlength=int(high) + 1)[:-1]
            for place, high in zip(self.place, np.diff(self.start), strict=True)
        ]
        return np.concatenate(parts) * self.value

    def back(self, rows: Array) -> Array:
        out = np.zeros(self.unknowns)
        said = rows * self.value
        for place, start, stop in zip(self.place, self.start[:-1], self.start[1:], strict=True):
            out += np.append(said[start:stop], 0.0).take(place)
        return out

    def outer(self, rows: Array, columns: Array) -> Array:
        """As above; O(blocks² × unknowns) if zeros are not written out."""
        if self.dense:
            return super().outer(rows, columns)
        left = rows * self.value
        if self._joint is not None:
            return self._joint.outer(left, self._spread(columns))
        out = np.zeros((left.size, left.size))
        for one, other, size, together, part in self._pairs():
            counts = np.bincount(together, columns[part], minlength=size[0] * size[1]).reshape(size)
            out[one, other] += left[one, None] * counts[:-1, :-1] * left[other]
        return out

    def quadratic(self, rows: Array, inner: Array) -> Array:
        left = rows * self.value
        out = np.zeros(self.unknowns)
        if self._joint is not None:
            every = self._joint.quadratic(left, inner)
            return every if self.part is None else every[self.part[1]]
        for one, other, size, together, part in self._pairs():
            padded = np.zeros(size)
            padded[:-1, :-1] = (1 if one == other else 2) * left[one, None] * inner[one, other] * left[other]
            out[part] += padded.take(together)
        return out

    def _spread(self, columns: Array) -> Array:
        """Numbers of these unknowns among all that they were taken from, with zeros for the others."""
        if self.part is None:
            return columns
        whole, taken = self.part
        out = np.zeros(whole.unknowns)
        out[taken] = columns
        return out

    @cached_property
    def _joint(self) -> _JointRows | None:
        """Which rows share which unknowns, written out; None if that is too much."""
        if self.part is not None:
            return self.part[0]._joint
        blocks = self.start.size - 1
        if self.unknowns * blocks * (blocks + 1) // 2 > SHARED:
            return None
        return _JointRows.of(self)

    def written(self) -> Iterator[tuple[slice, Array]]:
        first = self.start[:-1, None]
        for begin in range(0, self.unknowns, _FEW):
            part = slice(begin, min(begin + _FEW, self.unknowns))
            place = self.place[:, part]
            block, column = np.nonzero(place < np.diff(self.start)[:, None])
            row = (first + place)[block, column]
            written = np.zeros((self.value.size, part.stop - begin), order="F")  # as LAPACK takes it
            written[row, column] = self.value[row]
            yield part, written

    def _pairs(self) -> Iterator[tuple[slice, slice, tuple[int, int], Indices, slice]]:
        """Yields pairs of blocks: their rows, their sizes plus one, and the joint places of some unknowns."""
        blocks = [slice(int(a), int(b)) for a, b in zip(self.start[:-1], self.start[1:], strict=True)]
        high = [block.stop - block.start + 1 for block in blocks]
        for begin in range(0, self.unknowns, _CHUNK):
            part = slice(begin, min(begin + _CHUNK, self.unknowns))
            place = self.place[:, part].astype(np.intp, order="C")
            together = np.empty(part.stop - part.start, dtype=np.intp)
            for i, one in enumerate(blocks):
                for j in range(i, len(blocks)):
                    np.multiply(place[i], high[j], out=together)
                    np.add(together, place[j], out=together)
                    yield one, blocks[j], (high[i], high[j]), together, part


@dataclass(frozen=True, eq=False)
class _JointRows:
    """Which unknowns every two rows share, so that each product is one sparse product.

    Attributes
    ----------
    one, other
        The two rows of each pair that shares an unknown, the first one not after the other.
    shared
        Pairs × unknowns: one where the pair shares the unknown.
    """

    one: Indices
    other: Indices
    shared: Any

    @classmethod
    def of(cls, blocks: RowBlocks) -> _JointRows:
        """The pairs of rows of these blocks."""
        from scipy.sparse import coo_array

        rows = blocks.value.size
        first = blocks.start[:-1, None] + blocks.place
        inside = blocks.place < np.diff(blocks.start)[:, None]
        pairs = list[Indices]()
        unknowns = list[Indices]()
        for i in range(len(first)):
            for j in range(i, len(first)):
                both = np.flatnonzero(inside[i] & inside[j])
                pairs.append(first[i, both] * rows + first[j, both])
                unknowns.append(both)
        pair = np.concatenate(pairs)
        met = np.bincount(pair, minlength=rows * rows) > 0
        at = np.flatnonzero(met)
        place = (np.cumsum(met) - 1)[pair]
        shape = at.size, blocks.unknowns
        shared = coo_array((np.ones(pair.size), (place, np.concatenate(unknowns))), shape=shape).tocsr()
        return cls(at // rows, at % rows, shared)

    def outer(self, left: Array, columns: Array) -> Array:
        """The upper half of diag(left) A diag(columns) Aᵀ diag(left), A being one where it is not zero."""
        out = np.zeros((left.size, left.size))
        out[self.one, self.other] = left[self.one] * left[self.other] * (self.shared @ columns)
        return out

    def quadratic(self, left: Array, inner: Array) -> Array:
        """b_pᵀ K b_p for every column b_p of diag(left) A; reads the upper half of K."""
        twice = np.where(self.one == self.other, 1.0, 2.0)
        said = twice * left[self.one] * left[self.other] * inner[self.one, self.other]
        return np.asarray(self.shared.T @ said)


def _columns(operator: LinearOperator) -> Iterator[tuple[slice, Indices, Indices, Array]]:
    """Yields slices of unknowns with the row, column and value of their entries, column by column."""
    unknowns = operator.shape[1]
    step = max(1, _WRITTEN * unknowns // max(operator.entries, 1))
    for begin in range(0, unknowns, step):
        part = slice(begin, min(begin + step, unknowns))
        few: Any = operator.take(np.arange(part.start, part.stop)).to_sparse().tocsc()
        few.sum_duplicates()
        few.eliminate_zeros()
        yield part, few.indices, np.repeat(np.arange(part.stop - begin), np.diff(few.indptr)), few.data


def _starts(before: Indices) -> Indices:
    """The first row of each block, and the number of rows."""
    starts = [0]
    for row, last in enumerate(before.tolist()):
        if last >= starts[-1]:
            starts.append(row)
    return np.array([*starts, before.size], dtype=np.intp)
