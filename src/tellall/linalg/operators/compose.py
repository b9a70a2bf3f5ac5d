"""Operators made of others: stacked, with chosen, scaled or distinct rows, on a device; a factor of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import (
    HOST,
    Array,
    Device,
    IntArray,
    LinearOperator,
    Partition,
    RowSelect,
    split_rows,
)
from tellall.linalg.operators.row_blocks import ManyColumns, RowBlocks, WideRows
from tellall.linalg.operators.sparse import Sparse

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

__all__ = [
    "MOST_ENTRIES",
    "MOST_PLACES",
    "MOST_PRODUCTS",
    "SPARSE",
    "DistinctRows",
    "OnDevice",
    "Partition",
    "RowFactor",
    "RowScale",
    "RowSelect",
    "Stack",
    "first_of_each",
]

Indices = npt.NDArray[np.intp]


SPARSE = 0.1  # share of nonzero entries below which zeros are left out
MOST_ENTRIES = 50_000_000  # nonzero, of a matrix that is written out
MOST_PLACES = 500_000_000  # and of one that is kept in blocks, a byte or two each
MOST_PRODUCTS = 200_000_000_000  # rows² × unknowns, if rows are few and written in pieces
_LOOKED_AT = 20_000  # rows compared first, before all of them are


@final
class Stack(LinearOperator):
    """The rows of several operators over the same people, one after the other."""

    def __init__(self, operators: Sequence[LinearOperator]) -> None:
        if not operators:
            raise invalid("operators", "one or more", "none")
        widths = {operator.shape[1] for operator in operators}
        if len(widths) > 1:
            raise invalid("operators", "over the same number of people", sorted(widths))
        self.operators = tuple(operators)
        self.shape = (sum(operator.shape[0] for operator in operators), widths.pop())
        self.dtype = np.result_type(*(operator.dtype for operator in operators))
        self.device = operators[0].device

    @property
    def entries(self) -> int:
        return sum(operator.entries for operator in self.operators)

    def matmat(self, block: Array) -> Array:
        return self.device.xp.concat([operator.matmat(block) for operator in self.operators])

    def rmatmat(self, block: Array) -> Array:
        parts = zip(self.operators, split_rows(block, self.operators), strict=True)
        nothing = self.device.zeros((self.shape[1], block.shape[1]), block.dtype)
        return sum((operator.rmatmat(part) for operator, part in parts), start=nothing)

    def on(self, device: Device) -> Stack:
        return Stack([operator.on(device) for operator in self.operators])

    def gram(self, weights: Array | None = None) -> Array:
        parts = zip(self.operators, split_rows(weights, self.operators), strict=True)
        total: Array = sum((operator.gram(part) for operator, part in parts), start=np.zeros(()))
        return total

    def take(self, columns: IntArray) -> Stack:
        return Stack([operator.take(columns) for operator in self.operators])

    def squared(self) -> Stack:
        return Stack([operator.squared() for operator in self.operators])

    def to_sparse(self) -> csr_array:
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([operator.to_sparse() for operator in self.operators]))


@final
class RowScale(LinearOperator):
    """diag(scale) A: each row of an operator multiplied by its own number."""

    def __init__(self, operator: LinearOperator, scale: npt.ArrayLike) -> None:
        self.scale: Array = np.asarray(scale, dtype=np.float64)
        if self.scale.shape != (operator.shape[0],):
            raise invalid("scale", f"one number per row ({operator.shape[0]})", self.scale.shape)
        self.operator = operator
        self.shape = operator.shape
        self.dtype = operator.dtype
        self.device = operator.device
        self._rows: Any = self.device.put(self.scale)

    @property
    def entries(self) -> int:
        return self.operator.entries

    def matmat(self, block: Array) -> Array:
        return self._scaled(self.operator.matmat(block))

    def rmatmat(self, block: Array) -> Array:
        return self.operator.rmatmat(self._scaled(block))

    def on(self, device: Device) -> RowScale:
        return RowScale(self.operator.on(device), self.scale)

    def _scaled(self, block: Array) -> Array:
        return block * self.device.xp.astype(self._rows, block.dtype, copy=False)[:, None]

    def gram(self, weights: Array | None = None) -> Array:
        square = self.scale**2
        return self.operator.gram(square if weights is None else square * weights)

    def take(self, columns: IntArray) -> RowScale:
        return RowScale(self.operator.take(columns), self.scale)

    def squared(self) -> RowScale:
        return RowScale(self.operator.squared(), self.scale**2)

    def to_dense(self) -> Array:
        return np.asarray(self.operator.to_dense() * self.scale[:, None])

    def to_sparse(self) -> csr_array:
        from scipy.sparse import csr_array

        return csr_array(self.operator.to_sparse().multiply(self.scale[:, None]))


@final
class OnDevice(LinearOperator):
    """An operator on another device whose products take and give NumPy arrays.

    Iterative solvers ask for ``resident`` and stay on the device; other callers need not know. A gram or the
    matrix itself is formed from the ``source`` on the host, if there is one.
    """

    def __init__(self, resident: LinearOperator, source: LinearOperator | None = None) -> None:
        self._resident = resident
        self._source = source
        self.shape = resident.shape
        self.dtype = resident.dtype

    @classmethod
    def move(cls, operator: LinearOperator, device: Device) -> LinearOperator:
        """The operator with its products computed on that device."""
        if device is HOST or operator.resident.device is device:
            return operator
        return cls(operator.on(device), operator)

    @property
    def source(self) -> LinearOperator | None:
        """The same operator on the host, if there is one."""
        return self._source

    def on(self, device: Device) -> LinearOperator:
        if self._resident.device is device:
            return self._resident
        return (self._source or self._resident).on(device)

    @property
    def resident(self) -> LinearOperator:
        return self._resident

    @property
    def entries(self) -> int:
        return self._resident.entries if self._source is None else self._source.entries

    def matmat(self, block: Array) -> Array:
        device = self._resident.device
        return device.get(self._resident.matmat(device.put(block)))

    def rmatmat(self, block: Array) -> Array:
        device = self._resident.device
        return device.get(self._resident.rmatmat(device.put(block)))

    def gram(self, weights: Array | None = None) -> Array:
        return super().gram(weights) if self._source is None else self._source.gram(weights)

    def to_dense(self) -> Array:
        return super().to_dense() if self._source is None else self._source.to_dense()

    def to_sparse(self) -> csr_array:
        return super().to_sparse() if self._source is None else self._source.to_sparse()

    def take(self, columns: IntArray) -> OnDevice:
        return OnDevice(self._resident.take(columns), self._source and self._source.take(columns))

    def squared(self) -> OnDevice:
        return OnDevice(self._resident.squared(), self._source and self._source.squared())


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a matrix up to sign: row j is ``sign[j]`` times distinct row ``index[j]``.

    Attributes
    ----------
    matrix
        The distinct rows in the order in which they first occur: a sparse array if most entries are zero;
        None if there are so many that they are kept only in blocks or pieces.
    shape
        Of that matrix.
    """

    matrix: Any
    index: Indices
    sign: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, operator: LinearOperator) -> DistinctRows:
        """The distinct rows of an operator's matrix, found by two random projections."""
        from scipy.sparse import csr_array, diags_array

        written = csr_array(operator.to_sparse()).astype(np.float64)
        m, n = written.shape
        first, index, sign = _alike(written @ _directions(n))
        same: Any = csr_array(diags_array(sign, shape=(m, m)) @ written) if m else written
        rows = same[first]
        if (same != rows[index]).nnz:
            rows = written
            index = np.arange(m)
            sign = np.ones(m)
        sparse = rows.nnz < SPARSE * rows.shape[0] * n
        return cls(rows if sparse else rows.toarray(), index, sign, rows.shape)

    @classmethod
    def within_reach(cls, operator: LinearOperator) -> DistinctRows | None:
        """The distinct rows of an operator, written out, in blocks or in pieces; None if too many."""
        n = operator.shape[1]
        if operator.entries <= MOST_ENTRIES:
            return cls.of(operator)
        if operator.device is not HOST:
            return None
        one, other = _directions(n).T
        prints = np.asarray(operator @ one)[:, None]
        every = max(1, prints.shape[0] // _LOOKED_AT)
        some = every * _alike(prints[::every])[0]
        if RowSelect(operator, some).entries > MOST_PLACES and some.size**2 * n > MOST_PRODUCTS:
            return None  # too many distinct ones among a few, and sorting all of them takes long
        first, index, sign = _alike(np.column_stack([prints, operator @ other]))
        rows = RowScale(RowSelect(operator, first), sign[first])
        blocks: ManyColumns | None = RowBlocks.of(rows) if rows.entries <= MOST_PLACES else None
        if blocks is None and first.size**2 * n <= MOST_PRODUCTS:
            blocks = WideRows(rows)
        if blocks is None:
            return None
        found = cls(None, index, sign, (first.size, n))
        vars(found)["blocks"] = blocks  # where cached properties are kept
        return found

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def sparse(self) -> bool:
        """Whether the zeros are left out."""
        return not isinstance(self.matrix, np.ndarray)

    @cached_property
    def blocks(self) -> ManyColumns | None:
        """The rows in blocks or pieces; None if they do not fall into blocks, or zeros are written out."""
        return RowBlocks.of(Sparse(self.matrix)) if self.sparse else None

    def take(self, free: Indices) -> DistinctRows:
        """The same rows over these unknowns only."""
        if free.size == self.shape[1]:
            return self
        some = None if self.matrix is None else self.matrix[:, free]
        found = DistinctRows(some, self.index, self.sign, (len(self), free.size))
        # blocks over all unknowns are blocks over some
        vars(found)["blocks"] = None if self.blocks is None else self.blocks.take(free)
        return found

    def image(self, vector: Array) -> Array:
        """The distinct rows times a vector."""
        if self.matrix is None and self.blocks is not None:
            return self.blocks.image(vector)
        return np.asarray(self.matrix @ vector)

    def back(self, rows: Array) -> Array:
        """Their transpose times a vector."""
        if self.matrix is None and self.blocks is not None:
            return self.blocks.back(rows)
        return np.asarray(self.matrix.T @ rows)

    def gather(self, values: Array) -> Array:
        """Σ over equal rows."""
        return np.bincount(self.index, values, minlength=len(self)).astype(np.float64, copy=False)


def _directions(unknowns: int) -> Array:
    return np.random.default_rng(0).normal(size=(unknowns, 2))


def _alike(prints: Array) -> tuple[Indices, Indices, Array]:
    """The first rows that differ, which of them each row equals up to sign, and that sign; by projections."""
    sign = np.where(prints[:, 0] < 0, -1.0, 1.0)
    return *first_of_each(np.round(sign[:, None] * prints, 7)), sign


def first_of_each(keys: Array) -> tuple[Indices, Indices]:
    """The first index of each distinct row of keys, ascending, and which of these rows every row equals.

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


_LEAST = 1e-12  # the least share of a prior variance that rounding may leave


@final
class RowFactor:
    """H⁻¹ for H = Aᵀ W A + diag(λ), λ above zero, from the factor of a matrix of rows × rows.

    Notes
    -----
    S = I + W^½ A Λ⁻¹ Aᵀ W^½ gives H⁻¹ = Λ⁻¹ − Λ⁻¹ Aᵀ W^½ S⁻¹ W^½ A Λ⁻¹: r³ flops for r distinct rows. For
    a sparse matrix with e entries per column, S and the diagonal of H⁻¹ cost n e² each; otherwise n r². Rows
    in blocks (`RowBlocks`, the cells of tables) are summed block by block, which is quickest.
    """

    def __init__(self, rows: DistinctRows, weights: Array, precision: Array) -> None:
        self.rows = rows
        self.precision = precision
        self.weight = np.sqrt(weights)
        self.factor, failed = self._factorised()
        if failed:  # weights so large that rounding hides the ones on the diagonal
            self.factor, _ = self._factorised(10 * len(rows) * float(np.finfo(np.float64).eps))

    def _factorised(self, more: float = 0.0) -> tuple[Array, int]:
        """The Cholesky factor of S, `more` of its largest entry added to the diagonal; whether it failed."""
        from scipy.linalg import lapack

        if self.rows.blocks is not None:
            inner = self.rows.blocks.outer(self.weight, 1 / self.precision)
        else:
            product = self._scaled @ self._scaled.T
            inner = product if isinstance(product, np.ndarray) else product.toarray()
        inner[np.diag_indices_from(inner)] += 1 + (more and more * float(inner.max()))
        factor, failed = lapack.dpotrf(inner.T, lower=1, clean=1, overwrite_a=1)  # symmetric
        return factor, failed

    def solve(self, right: Array) -> Array:
        """H⁻¹ times a vector."""
        from scipy.linalg import cho_solve

        spread = right / self.precision
        inside = cho_solve((self.factor, True), self.weight * self.rows.image(spread))
        return spread - self.rows.back(self.weight * inside) / self.precision

    @cached_property
    def _scaled(self) -> csr_array | Array:
        """W^½ A Λ^−½."""
        return _times(self.rows.matrix, self.weight, 1 / np.sqrt(self.precision))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of H⁻¹."""
        from scipy.linalg import solve_triangular

        blocks = self.rows.blocks
        used: Array
        if blocks is not None and blocks.dense:
            used = blocks.lengths(self.weight, self.factor) / self.precision
        elif blocks is not None:
            used = blocks.quadratic(self.weight, self._inverse) / self.precision
        elif isinstance(self._scaled, np.ndarray):
            reduced = solve_triangular(self.factor, self._scaled, lower=True)
            used = np.einsum("ij,ij->j", reduced, reduced)
        else:
            used = _quadratic(self._scaled.tocsc(), self._inverse)
        return np.maximum(1 - used, _LEAST) / self.precision

    @property
    def shares(self) -> Array:
        """w_j a_j H⁻¹ a_jᵀ for each distinct row."""
        return 1 - self._inverse.diagonal()

    @cached_property
    def _inverse(self) -> Array:
        """The upper half of S⁻¹."""
        from scipy.linalg import lapack

        half, _ = lapack.dpotri(self.factor, lower=1)
        out: Array = half.T
        return out


def _times(matrix: csr_array | Array, rows: Array, columns: Array) -> csr_array | Array:
    """diag(rows) A diag(columns)."""
    if isinstance(matrix, np.ndarray):
        return matrix * rows[:, None] * columns
    out = matrix.copy()
    out.data *= np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    return out


def _quadratic(matrix: csc_array, inner: Array) -> Array:
    """a_pᵀ K a_p for every column a_p of a sparse matrix; reads only the upper half of the symmetric K."""
    matrix.sort_indices()
    counts = np.diff(matrix.indptr)
    flat = inner.ravel()
    out = np.zeros(counts.size)
    for entries in np.unique(counts[counts > 0]):
        alike = np.flatnonzero(counts == entries)
        at = matrix.indptr[alike] + np.arange(entries)[:, None]
        rows = matrix.indices[at].astype(np.intp)
        values = matrix.data[at]
        total = np.zeros(alike.size)
        for i in range(entries):
            start = rows[i] * inner.shape[1]
            row = 0.5 * values[i] * flat.take(start + rows[i])
            for j in range(i + 1, entries):
                row += values[j] * flat.take(start + rows[j])
            total += 2 * values[i] * row
        out[alike] = total
    return out
