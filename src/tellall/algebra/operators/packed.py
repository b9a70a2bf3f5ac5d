"""Packed: a matrix of two numbers, one bit for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import HOST, Device, IntArray, is_two_valued
from tellall.core.errors import invalid

__all__ = [
    "Packed",
]

_WORK = 16  # bytes that a product needs for each entry of a block: the block, a multiple of it, an image
_WIDTH = 512  # a block's columns are a multiple of this


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """A d × n matrix whose entries are ``low`` where a bit is 0 and ``high`` where it is 1.

    Parameters
    ----------
    bits
        d × ⌈n/8⌉ bytes as `numpy.packbits` makes them: the first column is the highest bit.
    columns
        n; further bits of the last byte are ignored.

    Notes
    -----
    d n / 8 bytes: a 32nd of single precision. A block is expanded by a table of the 256 bytes, in any number
    type; zero, one and minus one are exact in all of them.

    Examples
    --------
    >>> few = Packed.of([[1, -1, 1], [-1, -1, 1]])
    >>> few.shape, few.block(0, 3, np.float32).tolist()
    ((2, 3), [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    """

    bits: Any
    columns: int
    low: float = 0.0
    high: float = 1.0
    device: Device = HOST

    def __post_init__(self) -> None:
        if len(self.bits.shape) != 2 or self.bits.shape[1] != -(-self.columns // 8):
            raise invalid("bits", f"of {-(-self.columns // 8)} bytes a row", tuple(self.bits.shape))

    @classmethod
    def of(cls, matrix: npt.ArrayLike) -> Packed:
        """A matrix of zeros and ones, or of minus ones and ones, packed."""
        array = np.asarray(matrix)
        signs = bool((array < 0).any())
        if array.ndim != 2 or not is_two_valued(array):
            raise invalid(
                "matrix", "two-dimensional, of 0 and 1 or of −1 and 1", f"{array.dtype} {array.shape}"
            )
        return cls(np.packbits(array > 0, axis=1), array.shape[1], -1.0 if signs else 0.0)

    @classmethod
    def ones(cls, rows: int, columns: int, device: Device = HOST) -> Packed:
        """A matrix of ones."""
        return cls(device.put(np.zeros((rows, -(-columns // 8)), np.uint8)), columns, 1.0, 1.0, device)

    @property
    def constant(self) -> bool:
        """Whether all entries are the same, whatever the bits."""
        return self.low == self.high

    @property
    def shape(self) -> tuple[int, int]:
        """d, n."""
        return (self.bits.shape[0], self.columns)

    def on(self, device: Device) -> Packed:
        """The same on another device."""
        return replace(self, bits=device.put(self.bits), device=device)

    def squared(self) -> Packed:
        """The matrix of squares."""
        return replace(self, low=self.low**2, high=self.high**2)

    def take(self, columns: IntArray) -> Packed:
        """These columns, in this order."""
        wanted = np.asarray(columns)
        kept = np.empty((self.shape[0], -(-wanted.size // 8)), dtype=np.uint8)
        for row, bits in zip(kept, self.device.get(self.bits), strict=True):
            row[:] = np.packbits(np.unpackbits(bits, count=self.columns)[wanted])
        return replace(self, bits=self.device.put(kept), columns=wanted.size)

    def block(self, start: int, stop: int, dtype: Any) -> Any:
        """Columns from start, a multiple of 8, to stop."""
        xp, first, last = self.device.xp, start // 8, -(-stop // 8)
        codes = xp.reshape(self.bits[:, first:last], (-1,))
        expanded = self.device.take_rows(self._table(dtype), codes)
        return xp.reshape(expanded, (self.bits.shape[0], 8 * (last - first)))[:, : stop - start]

    def blocks(self, dtype: Any, *, most: int | None = None) -> Iterator[tuple[int, int, Any]]:
        """Start, stop and the columns between, as many at a time as the device has room for."""
        room = self.device.block // (_WORK * max(1, self.shape[0])) if most is None else most
        width = max(_WIDTH, room // _WIDTH * _WIDTH)
        for start in range(0, self.columns, width):
            stop = min(start + width, self.columns)
            yield start, stop, self.block(start, stop, dtype)

    def _table(self, dtype: Any) -> Any:
        tables: dict[Any, Any] = self._tables
        if dtype not in tables:
            bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
            values = np.where(bits == 1, self.high, self.low).astype(np.float32)
            tables[dtype] = self.device.xp.astype(self.device.put(values), dtype)
        return tables[dtype]

    @cached_property
    def _tables(self) -> dict[Any, Any]:
        return {}
