"""Layout: which of the published values belong to one table, and how they lie in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Where tables lie among the published values: one after the other, cells in C order, the secret last.

    Attributes
    ----------
    columns
        The public columns of each table, by place; empty where the values are no tables.
    shapes
        The number of values of each column, and of the secret (one where it is not in the tables).
    """

    columns: tuple[tuple[int, ...], ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def alike(self) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.intp], npt.NDArray[Any]]]:
        """For each shape: the tables that have it, and the places of their cells (tables × cells)."""
        sizes = np.array([prod(shape) for shape in self.shapes], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for table, shape in enumerate(self.shapes):
            by_shape.setdefault(shape, []).append(table)
        for shape, members in by_shape.items():
            chosen = np.array(members, dtype=np.intp)
            yield shape, chosen, starts[chosen, None] + np.arange(prod(shape))
