"""Linear-Gaussian posteriors of one operator under many weights: factorise on the shorter side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.linops import LinearOperator
from tellall.solve.base import Array

__all__ = ["GaussianPosterior", "GaussianSteps"]

_MOST_ENTRIES = 30_000_000  # of a matrix written out
_NARROW = 0.8  # rows per unknown below which the factorisation is on the rows' side


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """Mean and variances of the unknowns, and for each row its share w_j a_j C a_jᵀ when asked for."""

    mean: Array
    variance: Array
    shares: Callable[[], Array]


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct rows of a matrix up to sign: row j is ``sign[j] * matrix[index[j]]``."""

    matrix: Array
    index: npt.NDArray[np.intp]
    sign: Array

    def gather(self, values: Array) -> Array:
        """Σ over equal rows."""
        total = np.bincount(self.index, values, minlength=self.matrix.shape[0])
        return total.astype(np.float64, copy=False)


@final
class GaussianSteps:
    """C = (Aᵀ W A + diag λ)⁻¹, its diagonal, C (Aᵀ b + η) and the shares w_j a_j C a_jᵀ.

    Notes
    -----
    With more rows than unknowns: Gram matrix and Cholesky, n³ flops, and 2 m n² for the shares. With fewer,
    on the rows' side: S = I + W^½ A Λ⁻¹ Aᵀ W^½ gives C = Λ⁻¹ − Λ⁻¹ Aᵀ W^½ S⁻¹ W^½ A Λ⁻¹ and the shares
    1 − (S⁻¹)_jj, 3 m² n flops. Rows that are equal up to sign (a table's yes and no cells) count once. Where
    the matrix is too large to be written out the shares are approximate: a_jp² C_pp summed, scaled so that
    their total is right.
    """

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator
        self._kept: tuple[Array, Array] | None = None

    def affordable(self, limit: int) -> bool:
        """Whether the shorter side has at most so many, so that it can be factorised again and again."""
        m, n = self.operator.shape
        return n <= limit or (m <= min(limit, _NARROW * n) and m * n <= _MOST_ENTRIES)

    def step(
        self, precision: Array, pull: Array, weights: Array, row_pull: Array, *, fixed: bool
    ) -> GaussianPosterior:
        """The posterior for site precisions λ, pulls η, row weights w and row pulls b.

        ``fixed`` says that the weights are those of every step, so that their Gram matrix is kept.
        """
        right = np.asarray(self.operator.rmatvec(row_pull.astype(self.operator.dtype, copy=False))) + pull
        m, n = self.operator.shape
        short = m * n <= _MOST_ENTRIES and (m <= 2 * _NARROW * n)
        if short and self._distinct.matrix.shape[0] <= _NARROW * n:
            return self._by_rows(precision, right, weights)
        return self._by_unknowns(precision, right, weights, fixed)

    def _by_unknowns(self, precision: Array, right: Array, weights: Array, fixed: bool) -> GaussianPosterior:
        from scipy.linalg import cho_solve, lapack

        gram = self._gram(weights, fixed)
        hessian = gram.copy()
        hessian[np.diag_indices_from(hessian)] += precision
        factor, failed = lapack.dpotrf(hessian, lower=1, clean=1)
        if failed:  # a gram matrix so large beside the sites that its rounding errors show
            hessian[np.diag_indices_from(hessian)] += 1e-10 * float(hessian.diagonal().max())
            factor, _ = lapack.dpotrf(hessian, lower=1, clean=1)
        mean = cho_solve((factor, True), right)
        half, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
        variance = np.einsum("ij,ij->j", half, half)

        def shares() -> Array:
            if self.operator.shape[0] * self.operator.shape[1] <= _MOST_ENTRIES:
                image = self._distinct.matrix @ half.T
                each = np.einsum("ij,ij->i", image, image)[self._distinct.index]
                exact: Array = weights * each
                return exact
            dtype = self.operator.dtype
            alone = self.operator.squared().matvec(variance.astype(dtype))
            total = self.operator.shape[1] - float(precision @ variance)  # tr(C Aᵀ W A)
            return weights * alone * (total / max(float(weights @ alone), 1e-300))

        return GaussianPosterior(mean, variance, shares)

    def _by_rows(self, precision: Array, right: Array, weights: Array) -> GaussianPosterior:
        from scipy.linalg import cho_solve, lapack, solve_triangular

        distinct = self._distinct
        merged = distinct.gather(weights)
        root = np.sqrt(merged)
        scaled = distinct.matrix * root[:, None]
        scaled /= np.sqrt(precision)
        inner = scaled @ scaled.T
        inner[np.diag_indices_from(inner)] += 1
        factor, _ = lapack.dpotrf(inner, lower=1, clean=1, overwrite_a=1)
        spread = right / np.sqrt(precision)
        mean = (spread - scaled.T @ cho_solve((factor, True), scaled @ spread)) / np.sqrt(precision)
        reduced = solve_triangular(factor, scaled, lower=True, overwrite_b=True)
        left = np.maximum(1 - np.einsum("ij,ij->j", reduced, reduced), 1e-12)

        def shares() -> Array:
            half, _ = lapack.dtrtri(factor, lower=1)
            together = 1 - np.einsum("ij,ij->j", half, half)
            own = np.divide(weights, merged[distinct.index], where=weights > 0, out=np.zeros_like(weights))
            out: Array = own * together[distinct.index]
            return out

        return GaussianPosterior(mean, left / precision, shares)

    def _gram(self, weights: Array, fixed: bool) -> Array:
        if not fixed:
            m, n = self.operator.shape
            if m * n > _MOST_ENTRIES:
                return np.asarray(self.operator.gram(weights), dtype=np.float64)
            matrix, merged = self._distinct.matrix, self._distinct.gather(weights)
            out: Array = matrix.T @ (matrix * merged[:, None])
            return out
        if self._kept is None or not np.array_equal(self._kept[0], weights):
            self._kept = weights, np.asarray(self.operator.gram(weights), dtype=np.float64)
        return self._kept[1]

    @cached_property
    def _distinct(self) -> _Distinct:
        return _distinct_rows(np.asarray(self.operator.to_sparse().toarray(), dtype=np.float64))


def _distinct_rows(matrix: Array) -> _Distinct:
    """The rows that differ by more than their sign, found by two random projections."""
    m, n = matrix.shape
    prints = matrix @ np.random.default_rng(0).normal(size=(n, 2))
    sign = np.where(prints[:, 0] < 0, -1.0, 1.0)
    _, first, index = np.unique(
        np.round(sign[:, None] * prints, 7), axis=0, return_index=True, return_inverse=True
    )
    index = index.reshape(m)
    rows = matrix[first] * sign[first, None]
    if not all(np.array_equal(sign[j] * matrix[j], rows[index[j]]) for j in range(m)):
        return _Distinct(matrix, np.arange(m), np.ones(m))
    return _Distinct(rows, index, sign)
