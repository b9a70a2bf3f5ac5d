"""Sparse: the operator of a matrix that keeps only its nonzero entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator

if TYPE_CHECKING:
    from scipy.sparse import csr_array, sparray

__all__ = ["Sparse"]


@final
class Sparse(LinearOperator):
    """The operator of an explicit m × n matrix that keeps only its nonzero entries.

    Notes
    -----
    A scipy CSR array: products cost O(entries), the gram O(Σ (entries of a row)²).
    """

    def __init__(self, matrix: npt.ArrayLike | sparray) -> None:
        from scipy.sparse import csr_array

        given: Any = matrix
        if np.ndim(given) != 2:
            raise invalid("matrix", "two-dimensional", np.shape(given))
        self.matrix: csr_array = csr_array(given, dtype=np.float64)
        self.shape = (int(self.matrix.shape[0]), int(self.matrix.shape[1]))
        self.dtype = np.dtype(np.float64)

    @property
    def entries(self) -> int:
        return int(self.matrix.nnz)

    def matmat(self, block: Array) -> Array:
        return np.asarray(self.matrix @ block)

    def rmatmat(self, block: Array) -> Array:
        return np.asarray(self.matrix.T @ block)

    def gram(self, weights: Array | None = None) -> Array:
        scaled = self.matrix if weights is None else self.matrix.multiply(weights[:, None])
        return np.asarray((self.matrix.T @ scaled).toarray())

    def take(self, columns: IntArray) -> Sparse:
        return Sparse(self.matrix[:, columns])

    def squared(self) -> Sparse:
        return Sparse(self.matrix.power(2))

    def to_dense(self) -> Array:
        return np.asarray(self.matrix.toarray())

    def to_sparse(self) -> csr_array:
        return self.matrix
