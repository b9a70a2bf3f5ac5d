"""Operators made of operators: several releases, chosen rows, weighted rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops.base import Array, IntArray, LinearOperator, split_rows
from tellall.linops.partition import Partition
from tellall.linops.place import Place

__all__ = ["RowScale", "RowSelect", "Stack"]


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
        self.place = operators[0].place

    def matmat(self, block: Array) -> Array:
        out: Array = self.place.xp.concat([operator.matmat(block) for operator in self.operators])
        return out

    def rmatmat(self, block: Array) -> Array:
        parts = self._split(block)
        return sum(
            (op.rmatmat(part) for op, part in zip(self.operators, parts, strict=True)),
            start=self.place.zeros((self.shape[1], block.shape[1]), block.dtype),
        )

    def on(self, place: Place) -> Stack:
        return Stack([operator.on(place) for operator in self.operators])

    def gram(self, weights: Array | None = None) -> Array:
        parts: Sequence[Array | None]
        parts = [None] * len(self.operators) if weights is None else self._split(weights)
        total = self.operators[0].gram(parts[0])
        for operator, part in zip(self.operators[1:], parts[1:], strict=True):
            total = total + operator.gram(part)
        return total

    def take(self, columns: IntArray) -> Stack:
        return Stack([operator.take(columns) for operator in self.operators])

    def squared(self) -> Stack:
        return Stack([operator.squared() for operator in self.operators])

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([operator.to_sparse() for operator in self.operators]))

    def _split(self, rows: Array) -> list[Array]:
        return split_rows(rows, self.operators)


@final
class RowSelect(LinearOperator):
    """Rows ``index`` of an operator, in that order; a row may come more than once or not at all."""

    def __init__(self, operator: LinearOperator, index: npt.ArrayLike) -> None:
        self.index: IntArray = np.asarray(index, dtype=np.intp)
        if self.index.size and (self.index.min() < 0 or self.index.max() >= operator.shape[0]):
            raise invalid("index", f"row numbers from 0 to {operator.shape[0] - 1}", self.index)
        self.operator = operator
        self.shape = (self.index.size, operator.shape[1])
        self.dtype, self.place = operator.dtype, operator.place
        self._index: Any = self.place.put(self.index)
        # its counts add up what comes back to rows that were selected more than once
        self._chosen = Partition(self.index, operator.shape[0], place=self.place)

    def matmat(self, block: Array) -> Array:
        out: Array = self.place.xp.take(self.operator.matmat(block), self._index, axis=0)
        return out

    def rmatmat(self, block: Array) -> Array:
        rows = self.place.xp.astype(self._chosen.matmat(block), block.dtype, copy=False)
        return self.operator.rmatmat(rows)

    def on(self, place: Place) -> RowSelect:
        return RowSelect(self.operator.on(place), self.index)

    def gram(self, weights: Array | None = None) -> Array:
        return self.operator.gram(self._chosen.matvec(np.ones(self.shape[0]) if weights is None else weights))

    def take(self, columns: IntArray) -> RowSelect:
        return RowSelect(self.operator.take(columns), self.index)

    def squared(self) -> RowSelect:
        return RowSelect(self.operator.squared(), self.index)

    def to_sparse(self) -> Any:
        return self.operator.to_sparse()[self.index]


@final
class RowScale(LinearOperator):
    """diag(scale) A: each row of an operator times a number of its own."""

    def __init__(self, operator: LinearOperator, scale: npt.ArrayLike) -> None:
        self.scale: Array = np.asarray(scale, dtype=np.float64)
        if self.scale.shape != (operator.shape[0],):
            raise invalid("scale", f"one number per row ({operator.shape[0]})", self.scale.shape)
        self.operator = operator
        self.shape = operator.shape
        self.dtype, self.place = operator.dtype, operator.place
        self._rows: Any = self.place.put(self.scale)

    def matmat(self, block: Array) -> Array:
        return self._scaled(self.operator.matmat(block))

    def rmatmat(self, block: Array) -> Array:
        return self.operator.rmatmat(self._scaled(block))

    def on(self, place: Place) -> RowScale:
        return RowScale(self.operator.on(place), self.scale)

    def _scaled(self, block: Array) -> Array:
        out: Array = block * self.place.xp.astype(self._rows, block.dtype, copy=False)[:, None]
        return out

    def gram(self, weights: Array | None = None) -> Array:
        square = self.scale**2
        return self.operator.gram(square if weights is None else square * weights)

    def take(self, columns: IntArray) -> RowScale:
        return RowScale(self.operator.take(columns), self.scale)

    def squared(self) -> RowScale:
        return RowScale(self.operator.squared(), self.scale**2)

    def to_sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self.operator.to_sparse().multiply(self.scale[:, None]))
