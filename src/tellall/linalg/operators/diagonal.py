"""BlockDiagonal: operators on different columns, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, Device, IntArray, LinearOperator, split_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["BlockDiagonal"]


@final
class BlockDiagonal(LinearOperator):
    """Operators on the diagonal: ``A = diag(A_1, ..., A_K)``, a block of rows and of columns for each.

    ``columns[b]`` are the columns of part b; by default the parts' columns follow each other. There are
    ``width`` columns in all; those of no part are zero.
    """

    def __init__(
        self,
        parts: Sequence[LinearOperator],
        columns: Sequence[IntArray] | None = None,
        width: int | None = None,
    ) -> None:
        if not parts:
            raise invalid("parts", "one operator or more", "none")
        widths = [part.shape[1] for part in parts]
        if columns is None:
            columns = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
        if [some.size for some in columns] != widths:
            raise invalid(
                "columns", f"as many as the columns of each part ({widths})", [some.size for some in columns]
            )
        self.parts = tuple(parts)
        self.columns = tuple(columns)
        self.shape = (sum(part.shape[0] for part in parts), sum(widths) if width is None else width)
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.device = parts[0].device

    @property
    def entries(self) -> int:
        return sum(part.entries for part in self.parts)

    def matmat(self, block: Array) -> Array:
        xp = self.device.xp
        pairs = zip(self.parts, self._indices, strict=True)
        return xp.concat([part.matmat(xp.take(block, index, axis=0)) for part, index in pairs])

    def rmatmat(self, block: Array) -> Array:
        xp = self.device.xp
        found = [
            part.rmatmat(rows) for part, rows in zip(self.parts, split_rows(block, self.parts), strict=True)
        ]
        if self._has_zeros:
            found.append(self.device.zeros((1, block.shape[1]), found[0].dtype))
        return xp.take(xp.concat(found), self._order, axis=0)

    def on(self, device: Device) -> BlockDiagonal:
        return BlockDiagonal([part.on(device) for part in self.parts], self.columns, self.shape[1])

    def gram(self, weights: Array | None = None) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        for part, index, some in zip(self.parts, self.columns, split_rows(weights, self.parts), strict=True):
            out[np.ix_(index, index)] = part.gram(some)
        return out

    def take(self, columns: IntArray) -> LinearOperator:
        owner = np.full(self.shape[1], -1)
        local = np.empty(self.shape[1], dtype=np.intp)
        for b, index in enumerate(self.columns):
            owner[index] = b
            local[index] = np.arange(index.size)
        chosen = [np.flatnonzero(owner[columns] == b) for b in range(len(self.parts))]
        kept = [part.take(local[columns[index]]) for part, index in zip(self.parts, chosen, strict=True)]
        if len(kept) == 1 and chosen[0].size == len(columns):
            return kept[0]
        return BlockDiagonal(kept, chosen, len(columns))

    def squared(self) -> BlockDiagonal:
        return BlockDiagonal([part.squared() for part in self.parts], self.columns, self.shape[1])

    def to_sparse(self) -> csr_array:
        from scipy.sparse import block_diag, coo_array, csr_array

        found = coo_array(block_diag([part.to_sparse() for part in self.parts]))
        place = np.concatenate(self.columns)[found.col]
        return csr_array((found.data, (found.row, place)), shape=self.shape)

    @cached_property
    def _indices(self) -> list[IntArray]:
        """The columns of each part, on the device."""
        return [self.device.put(index) for index in self.columns]

    @property
    def _has_zeros(self) -> bool:
        """Whether some columns belong to no part, and are zero."""
        return sum(index.size for index in self.columns) < self.shape[1]

    @cached_property
    def _order(self) -> IntArray:
        """For each column its index when the parts' columns come one after the other, zeros last."""
        placed = np.concatenate(self.columns)
        order = np.full(self.shape[1], placed.size)
        order[placed] = np.arange(placed.size)
        return self.device.put(order)
