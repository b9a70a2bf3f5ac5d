"""Dense, Sparse: operators that are their matrix, for small problems and for matrices without structure."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import HOST, Array, Device, IntArray, LinearOperator
from tellall.core.errors import invalid

__all__ = [
    "Dense",
    "Sparse",
    "written_out",
]

_SMALL = 2**20  # entries up to which a product with the matrix is quicker than one with its structure


@final
class Dense(LinearOperator):
    """The operator of an explicit m × n matrix."""

    def __init__(self, matrix: npt.ArrayLike, *, device: Device = HOST) -> None:
        self.device = device
        self.matrix: Any = matrix
        if device is HOST:
            array = np.asarray(matrix)
            if array.ndim != 2:
                raise invalid("matrix", "two-dimensional", array.shape)
            self.matrix = array if array.dtype.kind == "f" else array.astype(np.float64)
        self.shape = (self.matrix.shape[0], self.matrix.shape[1])
        self.dtype = device.numpy_dtype(self.matrix)

    def matmat(self, block: Array) -> Array:
        out: Array = self._like(block) @ block
        return out

    def rmatmat(self, block: Array) -> Array:
        out: Array = self._like(block).T @ block
        return out

    def on(self, device: Device) -> Dense:
        return Dense(device.put(self.matrix), device=device)

    def _like(self, block: Array) -> Any:
        """The matrix in a number type that can be multiplied with the block's, which libraries do not mix."""
        if self.device is HOST or self.matrix.dtype == block.dtype:
            return self.matrix
        return self.device.xp.astype(self.matrix, block.dtype)

    def gram(self, weights: Array | None = None) -> Array:
        matrix = self.to_dense().astype(np.float64, copy=False)
        out: Array = matrix.T @ (matrix if weights is None else matrix * weights[:, None])
        return out

    def take(self, columns: IntArray) -> Dense:
        return Dense(self.device.xp.take(self.matrix, self.device.put(columns), axis=1), device=self.device)

    def squared(self) -> Dense:
        return Dense(self.matrix**2, device=self.device)

    def to_dense(self) -> Array:
        out: Array = self.device.get(self.matrix)
        return out

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.matrix)


@final
class Sparse(LinearOperator):
    """The operator of an explicit m × n matrix of which only the entries that are not zero are kept.

    Notes
    -----
    A scipy CSR array: products cost O(entries), the gram O(Σ entries of a row, squared).
    """

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse import csr_array

        if np.ndim(matrix) != 2:
            raise invalid("matrix", "two-dimensional", np.shape(matrix))
        self.matrix: Any = csr_array(matrix, dtype=np.float64)
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

    def to_sparse(self) -> Any:
        return self.matrix


def written_out(operator: LinearOperator) -> LinearOperator:
    """The operator as its matrix where that is small, for solvers that multiply with it many times."""
    rows, columns = operator.shape
    elsewhere = operator.resident is not operator or operator.device is not HOST
    if isinstance(operator, Dense) or elsewhere or rows * columns > _SMALL:
        return operator
    return Dense(operator.to_sparse().toarray().astype(np.float64))
