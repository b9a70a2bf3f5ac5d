"""LinearOperator: a matrix that knows how to multiply without being written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.device import HOST, Device
from tellall.core.errors import TellallError, invalid

__all__ = [
    "Array",
    "IntArray",
    "LinearOperator",
    "gram_of_rows",
    "in_chunks",
    "is_two_valued",
    "split_rows",
    "stack_columns",
]

Array = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]

_BLOCK = 1024  # columns of the identity multiplied at once where no closed form exists


class LinearOperator(ABC):
    """An m × n matrix A given by its products.

    A subclass supplies ``shape``, ``matmat``, ``rmatmat``, ``take`` and ``squared``. The rest is derived;
    override it where a closed form is faster.

    Notes
    -----
    Laws, checked by `check_operator`: ⟨A u, v⟩ = ⟨u, Aᵀ v⟩, and every method equals
    the same operation on ``to_dense()``.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any] = np.dtype(np.float64)
    device: Device = HOST  # where the arrays are that products take and give

    @abstractmethod
    def matmat(self, block: Array) -> Array:
        """A X for an n × c block X."""

    @abstractmethod
    def rmatmat(self, block: Array) -> Array:
        """Aᵀ Y for an m × c block Y."""

    @abstractmethod
    def take(self, columns: IntArray) -> LinearOperator:
        """The operator with only these columns, in this order."""

    @abstractmethod
    def squared(self) -> LinearOperator:
        """The operator whose entries are the squares of this one's."""

    def on(self, device: Device) -> LinearOperator:
        """The same operator on arrays of another device, where it has a form there."""
        raise TellallError(f"{type(self).__name__} equations are not implemented on {device.name}")

    @property
    def resident(self) -> LinearOperator:
        """The operator on arrays of the device that does its work: itself, unless it is `OnDevice`."""
        return self

    def matvec(self, vector: Array) -> Array:
        """A x."""
        return self.matmat(vector[:, None])[:, 0]

    def rmatvec(self, vector: Array) -> Array:
        """Aᵀ y."""
        return self.rmatmat(vector[:, None])[:, 0]

    def gram(self, weights: Array | None = None) -> Array:
        """Aᵀ diag(weights) A as an n × n array in double precision (weights one where not given).

        Single precision would cost the solvers as many digits as the condition number has, for no gain: to
        factorise the matrix takes longer than to form it.
        """
        n = self.shape[1]
        out = np.empty((n, n))
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            image = self.matmat(np.eye(n, stop - start, -start))
            out[:, start:stop] = self.rmatmat(image if weights is None else image * weights[:, None])
        return out

    def to_dense(self) -> Array:
        """The matrix itself; only for small problems and tests."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def to_sparse(self) -> Any:
        """The matrix as a scipy CSR array."""
        from scipy.sparse import csr_array

        return csr_array(self.to_dense())

    @property
    def T(self) -> LinearOperator:
        """Aᵀ."""
        return Transposed(self)

    def __matmul__(self, other: npt.ArrayLike) -> Array:
        block = np.asarray(other)
        if block.dtype.kind not in "fiub":
            raise invalid("right-hand side", "an array of numbers", block.dtype)
        if block.ndim not in (1, 2) or block.shape[0] != self.shape[1]:
            raise invalid(
                "right-hand side", f"of length {self.shape[1]}, the operator's columns", block.shape
            )
        if block.dtype.kind != "f":
            block = block.astype(np.float64)
        return self.matvec(block) if block.ndim == 1 else self.matmat(block)


def stack_columns(device: Device, product: Callable[[Array], Array], block: Array, rows: int) -> Array:
    """A product with each column of a block on that device, side by side."""
    columns = [product(block[:, c])[:, None] for c in range(block.shape[1])]
    nothing = device.zeros((rows, 0), block.dtype)
    out: Array = device.xp.concat(columns, axis=1) if columns else nothing
    return out


def split_rows(rows: Any, operators: Sequence[LinearOperator]) -> list[Any]:
    """The rows of each of several operators whose rows come one after the other; None of None."""
    if rows is None:
        return [None] * len(operators)
    ends = np.cumsum([operator.shape[0] for operator in operators])
    return [rows[end - operator.shape[0] : end, ...] for end, operator in zip(ends, operators, strict=True)]


def gram_of_rows(blocks: Iterable[Array], weights: Array, n: int) -> Array:
    """Aᵀ diag(weights) A from the rows of A, some at a time."""
    total, start = np.zeros((n, n)), 0
    for rows in blocks:
        total += rows.T @ (rows * weights[start : start + len(rows), None])
        start += len(rows)
    return total


def in_chunks(choices: Iterable[tuple[int, ...]], size: int) -> Iterator[IntArray]:
    """Index tuples as arrays, `size` of them at a time."""
    rest = iter(choices)
    while chunk := list(islice(rest, size)):
        yield np.array(chunk, dtype=np.intp)


@final
class Transposed(LinearOperator):
    """Aᵀ of an operator A."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator
        self.shape = (operator.shape[1], operator.shape[0])
        self.dtype, self.device = operator.dtype, operator.device

    def matmat(self, block: Array) -> Array:
        return self.operator.rmatmat(block)

    def rmatmat(self, block: Array) -> Array:
        return self.operator.matmat(block)

    def take(self, columns: IntArray) -> LinearOperator:
        from tellall.algebra.operators.compose import RowSelect

        return RowSelect(self.operator, columns).T

    def squared(self) -> LinearOperator:
        return Transposed(self.operator.squared())

    def on(self, device: Device) -> LinearOperator:
        return Transposed(self.operator.on(device))

    @property
    def T(self) -> LinearOperator:
        return self.operator


def is_two_valued(array: npt.NDArray[Any]) -> bool:
    """Whether all entries are 0 or 1, or all −1 or 1."""
    return bool(((array == 0) | (array == 1)).all() or ((array == -1) | (array == 1)).all())
