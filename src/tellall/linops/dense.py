"""Dense: an operator that is its matrix, for small problems and for matrices without structure."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator

__all__ = ["Dense"]


@final
class Dense(LinearOperator):
    """The operator of an explicit m × n matrix."""

    def __init__(self, matrix: npt.ArrayLike) -> None:
        array = np.asarray(matrix)
        if array.ndim != 2:
            raise invalid("matrix", "two-dimensional", array.shape)
        self.matrix: Array = array if array.dtype.kind == "f" else array.astype(np.float64)
        self.shape = (array.shape[0], array.shape[1])
        self.dtype = self.matrix.dtype

    def matmat(self, block: Array) -> Array:
        out: Array = self.matrix @ block
        return out

    def rmatmat(self, block: Array) -> Array:
        out: Array = self.matrix.T @ block
        return out

    def gram(self, weights: Array | None = None) -> Array:
        out: Array = self.matrix.T @ (self.matrix if weights is None else self.matrix * weights[:, None])
        return out

    def take(self, columns: IntArray) -> Dense:
        return Dense(self.matrix[:, columns])

    def squared(self) -> Dense:
        return Dense(self.matrix**2)

    def to_dense(self) -> Array:
        return self.matrix

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.matrix)
