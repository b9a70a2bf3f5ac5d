"""Rows of packed calls that stay in a file until they are asked for."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.genomics.sites import Places

__all__ = ["Bytes", "PackedRows"]

Bytes = npt.NDArray[np.uint8]
_DENSE = 4  # rows read for each one wanted, at most, before each is read alone


@dataclass(frozen=True, eq=False)
class PackedRows:
    """A file of rows of equal width, one per site, after a header.

    Notes
    -----
    Read, not mapped: mapped pages would count as the process's memory, and copying a row costs less than its
    scoring by far.
    """

    file: Any
    header: int
    width: int
    _place: Lock = field(default_factory=Lock, repr=False)  # a file has one, and threads read by turns

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)

    def read(self, places: Places) -> Bytes:
        """The rows at these places, in this order."""
        if places.size == 0:
            return np.empty((0, self.width), dtype=np.uint8)
        first, last = int(places.min()), int(places.max()) + 1
        if last - first <= _DENSE * places.size:
            rows = np.empty((last - first, self.width), dtype=np.uint8)
            self._fill(rows, first)
            in_a_row = last - first == places.size and bool((places[1:] > places[:-1]).all())
            return rows if in_a_row else rows[places - first]
        rows = np.empty((places.size, self.width), dtype=np.uint8)
        for row, place in zip(rows, places.tolist(), strict=True):
            self._fill(row, place)
        return rows

    def _fill(self, rows: Bytes, first: int) -> None:
        left = memoryview(rows.data).cast("B")
        with self._place:
            self.file.seek(self.header + first * self.width)
            while left.nbytes:
                got = self.file.readinto(left)
                if not got:
                    raise invalid(
                        "path", "a file that stays as it is while it is read", "one that became shorter"
                    )
                left = left[got:]
