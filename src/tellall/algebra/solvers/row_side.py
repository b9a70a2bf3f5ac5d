"""Solving through the rows: (Aᵀ W A + diag λ)⁻¹ by a factorisation as large as the rows, not the unknowns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.algebra.operators.distinct import DistinctRows
from tellall.algebra.solvers.base import Array

__all__ = ["RowFactor"]

_LEAST = 1e-12  # of a prior variance: what rounding may leave of it


@final
class RowFactor:
    """H⁻¹ for H = Aᵀ W A + diag(λ), λ above zero, with a factorisation of the rows' side.

    Notes
    -----
    S = I + W^½ A Λ⁻¹ Aᵀ W^½ gives H⁻¹ = Λ⁻¹ − Λ⁻¹ Aᵀ W^½ S⁻¹ W^½ A Λ⁻¹: r³ flops for r distinct rows. Of a
    sparse matrix with e entries a column, S and the diagonal of H⁻¹ cost n e² each; else n r². Rows in blocks
    (`RowBlocks`, the cells of tables) are added up block by block, the quickest.
    """

    def __init__(self, rows: DistinctRows, weights: Array, precision: Array) -> None:
        from scipy.linalg import lapack

        self.rows, self.precision, self.weight = rows, precision, np.sqrt(weights)
        if rows.blocks is not None:
            inner = rows.blocks.outer(self.weight, 1 / precision)
        else:
            inner = self._scaled @ self._scaled.T
            inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
        inner[np.diag_indices_from(inner)] += 1
        self.factor, _ = lapack.dpotrf(inner.T, lower=1, clean=1, overwrite_a=1)  # symmetric

    def solve(self, right: Array) -> Array:
        """H⁻¹ times a vector."""
        from scipy.linalg import cho_solve

        spread = right / self.precision
        inside = cho_solve((self.factor, True), self.weight * self.rows.image(spread))
        out: Array = spread - self.rows.back(self.weight * inside) / self.precision
        return out

    @cached_property
    def _scaled(self) -> Any:
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
        out: Array = np.maximum(1 - used, _LEAST) / self.precision
        return out

    @property
    def shares(self) -> Array:
        """w_j a_j H⁻¹ a_jᵀ for each distinct row."""
        out: Array = 1 - self._inverse.diagonal()
        return out

    @cached_property
    def _inverse(self) -> Array:
        """The upper half of S⁻¹."""
        from scipy.linalg import lapack

        half, _ = lapack.dpotri(self.factor, lower=1)
        out: Array = half.T
        return out


def _times(matrix: Any, rows: Array, columns: Array) -> Any:
    """diag(rows) A diag(columns)."""
    if isinstance(matrix, np.ndarray):
        return matrix * rows[:, None] * columns
    out = matrix.copy()
    out.data *= np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    return out


def _quadratic(matrix: Any, inner: Array) -> Array:
    """a_pᵀ K a_p for every column a_p of a sparse matrix; of the symmetric K the upper half is read."""
    matrix.sort_indices()
    counts, flat = np.diff(matrix.indptr), inner.ravel()
    out = np.zeros(counts.size)
    for entries in np.unique(counts[counts > 0]):
        alike = np.flatnonzero(counts == entries)
        at = matrix.indptr[alike] + np.arange(entries)[:, None]
        rows, values = matrix.indices[at].astype(np.intp), matrix.data[at]
        total = np.zeros(alike.size)
        for i in range(entries):
            start = rows[i] * inner.shape[1]
            row = 0.5 * values[i] * flat.take(start + rows[i])
            for j in range(i + 1, entries):
                row += values[j] * flat.take(start + rows[j])
            total += 2 * values[i] * row
        out[alike] = total
    return out
