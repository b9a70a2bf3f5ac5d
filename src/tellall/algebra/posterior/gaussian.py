"""Linear-Gaussian posteriors of one operator under many weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import LinearOperator
from tellall.algebra.solvers.base import Array

__all__ = [
    "GaussianPosterior",
    "GaussianSteps",
]

_MOST_ENTRIES = 30_000_000  # of a matrix written out
_SPARSE = 0.1  # share of entries that are not zero below which the zeros are left out
Indices = npt.NDArray[np.intp]
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
        """Whether the shorter side is at most this long, short enough to be factorised many times."""
        m, n = self.operator.shape
        return n <= limit or (m <= min(limit, _NARROW * n) and m * n <= _MOST_ENTRIES)

    def step(
        self,
        precision: Array,
        pull: Array,
        weights: Array,
        row_pull: Array,
        *,
        fixed: bool,
        held: Array | None = None,
    ) -> GaussianPosterior:
        """The posterior for site precisions λ, pulls η, row weights w and row pulls b.

        ``fixed`` says that the weights are those of every step, so that their Gram matrix is kept. ``held``
        are the values of unknowns that are taken as known, missing (NaN) for the others; theirs comes back
        as mean, with variance zero.
        """
        if held is None or np.isnan(held).all():
            return self._among(np.arange(precision.size), precision, pull, weights, row_pull, fixed)
        free = np.flatnonzero(np.isnan(held))
        known = np.where(np.isnan(held), 0.0, held)
        if not free.size:
            return GaussianPosterior(known, np.zeros(known.size), lambda: np.zeros(weights.size))
        settled = np.asarray(self.operator.matvec(known), dtype=np.float64)
        part = self._among(free, precision, pull, weights, row_pull - weights * settled, fixed)
        mean, variance = known, np.zeros(known.size)
        mean[free], variance[free] = part.mean, part.variance
        return GaussianPosterior(mean, variance, part.shares)

    def _among(
        self, free: Indices, precision: Array, pull: Array, weights: Array, row_pull: Array, fixed: bool
    ) -> GaussianPosterior:
        """The posterior of these unknowns, the others absent."""
        right = self.operator.rmatvec(row_pull) + pull
        m, n = self.operator.shape
        if not m or not free.size:  # LAPACK prints its complaints about matrices of no size
            nothing = np.zeros_like(weights)
            return GaussianPosterior(right[free] / precision[free], 1 / precision[free], lambda: nothing)
        short = m * n <= _MOST_ENTRIES and (m <= 2 * _NARROW * n)
        if short and self._distinct.matrix.shape[0] <= _NARROW * free.size:
            return self._by_rows(free, precision[free], right[free], weights)
        return self._by_unknowns(free, precision[free], right[free], weights, fixed)

    def _by_unknowns(
        self, free: Indices, precision: Array, right: Array, weights: Array, fixed: bool
    ) -> GaussianPosterior:
        from scipy.linalg import cho_solve, lapack

        hessian = self._gram(free, weights, fixed)
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
                image = np.asarray(self._columns(free) @ half.T)
                each = np.einsum("ij,ij->i", image, image)[self._distinct.index]
                exact: Array = weights * each
                return exact
            dtype = self.operator.dtype
            everybody = np.zeros(self.operator.shape[1], dtype=dtype)
            everybody[free] = variance
            alone = self.operator.squared().matvec(everybody)
            total = free.size - float(precision @ variance)  # tr(C Aᵀ W A)
            return weights * alone * (total / max(float(weights @ alone), 1e-300))

        return GaussianPosterior(mean, variance, shares)

    def _by_rows(self, free: Indices, precision: Array, right: Array, weights: Array) -> GaussianPosterior:
        from scipy.linalg import cho_solve, lapack, solve_triangular

        distinct = self._distinct
        merged = distinct.gather(weights)
        root = np.sqrt(merged)
        scaled = distinct.matrix[:, free] * root[:, None]
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

    def _gram(self, free: Indices, weights: Array, fixed: bool) -> Array:
        """Aᵀ W A over these unknowns, an array of its own."""
        m, n = self.operator.shape
        if fixed:
            if self._kept is None or not np.array_equal(self._kept[0], weights):
                self._kept = weights, self.operator.gram(weights)
            kept = self._kept[1]
            return kept.copy() if free.size == n else kept[np.ix_(free, free)]
        if m * n > _MOST_ENTRIES:
            operator = self.operator if free.size == n else self.operator.take(free)
            return operator.gram(weights)
        matrix, merged = self._columns(free), self._distinct.gather(weights)
        if self._sparse is None:
            return np.asarray(matrix.T @ (matrix * merged[:, None]))
        return np.asarray((matrix.T @ matrix.multiply(merged[:, None]).tocsr()).toarray())

    def _columns(self, free: Indices) -> Any:
        """The distinct rows' entries for these unknowns, sparse where most are zero."""
        matrix = self._distinct.matrix if self._sparse is None else self._sparse
        return matrix if free.size == self.operator.shape[1] else matrix[:, free]

    @cached_property
    def _sparse(self) -> Any:
        """The distinct rows as a sparse matrix, where that saves work."""
        from scipy.sparse import csr_array

        matrix = self._distinct.matrix
        return csr_array(matrix) if np.count_nonzero(matrix) < _SPARSE * matrix.size else None

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
