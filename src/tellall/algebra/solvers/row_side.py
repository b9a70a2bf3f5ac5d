"""Solving through the rows: (Aᵀ W A + diag λ)⁻¹ by a factorisation as large as the rows, not the unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import LinearOperator
from tellall.algebra.solvers.base import Array

__all__ = ["SPARSE", "DistinctRows", "RowFactor"]

SPARSE = 0.1  # share of entries that are not zero below which the zeros are left out
_LEAST = 1e-12  # of a prior variance: what rounding may leave of it

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a matrix up to sign: row j is ``sign[j] * matrix[index[j]]``.

    ``matrix`` is a sparse array where most entries are zero.
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
        key = np.round(sign[:, None] * prints, 7)
        _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
        index = index.reshape(m)
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

    def columns(self, free: Indices) -> Any:
        """The entries of these unknowns."""
        return self.matrix if free.size == self.matrix.shape[1] else self.matrix[:, free]

    def gather(self, values: Array) -> Array:
        """Σ over equal rows."""
        return np.bincount(self.index, values, minlength=len(self)).astype(np.float64, copy=False)


@final
class RowFactor:
    """H⁻¹ for H = Aᵀ W A + diag(λ), λ above zero, with a factorisation of the rows' side.

    Notes
    -----
    S = I + W^½ A Λ⁻¹ Aᵀ W^½ gives H⁻¹ = Λ⁻¹ − Λ⁻¹ Aᵀ W^½ S⁻¹ W^½ A Λ⁻¹: r³ flops for r distinct rows. Of a
    sparse matrix with e entries a column, S and the diagonal of H⁻¹ cost n e² each; else n r².
    """

    def __init__(self, matrix: Any, weights: Array, precision: Array) -> None:
        from scipy.linalg import lapack

        self.root = np.sqrt(precision)
        self.scaled = _times(matrix, np.sqrt(weights), 1 / self.root)
        inner = self.scaled @ self.scaled.T
        inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
        inner[np.diag_indices_from(inner)] += 1
        self.factor, _ = lapack.dpotrf(inner, lower=1, clean=1, overwrite_a=1)

    def solve(self, right: Array) -> Array:
        """H⁻¹ times a vector."""
        from scipy.linalg import cho_solve

        spread = right / self.root
        inside = cho_solve((self.factor, True), self.scaled @ spread)
        out: Array = (spread - self.scaled.T @ inside) / self.root
        return out

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of H⁻¹."""
        from scipy.linalg import solve_triangular

        if isinstance(self.scaled, np.ndarray):
            reduced = solve_triangular(self.factor, self.scaled, lower=True)
            used = np.einsum("ij,ij->j", reduced, reduced)
        else:
            used = _quadratic(self.scaled.tocsc(), self._inverse)
        out: Array = np.maximum(1 - used, _LEAST) / self.root**2
        return out

    @property
    def shares(self) -> Array:
        """w_j a_j H⁻¹ a_jᵀ for each distinct row."""
        out: Array = 1 - self._inverse.diagonal()
        return out

    @cached_property
    def _inverse(self) -> Array:
        """S⁻¹."""
        from scipy.linalg import lapack

        half, _ = lapack.dpotri(self.factor, lower=1)
        return np.asarray(np.tril(half) + np.tril(half, -1).T)


def _times(matrix: Any, rows: Array, columns: Array) -> Any:
    """diag(rows) A diag(columns)."""
    if isinstance(matrix, np.ndarray):
        return matrix * rows[:, None] * columns
    out = matrix.copy()
    out.data *= np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    return out


def _quadratic(matrix: Any, inner: Array) -> Array:
    """a_pᵀ K a_p for every column a_p of a sparse matrix, K symmetric."""
    counts = np.diff(matrix.indptr)
    out = np.zeros(counts.size)
    for entries in np.unique(counts[counts > 0]):
        alike = np.flatnonzero(counts == entries)
        at = matrix.indptr[alike] + np.arange(entries)[:, None]
        rows, values = matrix.indices[at], matrix.data[at]
        total = np.zeros(alike.size)
        for i, j in combinations_with_replacement(range(entries), 2):
            # of tables these are the cells of two of them, so what is read lies close together
            total += (2 if i < j else 1) * values[i] * values[j] * inner[rows[i], rows[j]]
        out[alike] = total
    return out
