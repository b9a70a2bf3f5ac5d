"""Medians: the middle number in every cell of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset
from tellall.statistics.ranked_cells import RankedCells

__all__ = ["Medians"]


@dataclass(frozen=True, init=False)
class Medians(RankedCells):
    """The median of the secret in every cell of every table of ways − 1 public columns.

    It takes the same parameters as `RankedCells`. Of an even number of people it is the mean of the two
    middle numbers.

    Notes
    -----
    It limits nobody's number: half of a cell's people lie above it, and nothing says which half.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 4.0])
    >>> Medians(2).values(people).tolist()
    [2.5, 2.5]
    """

    @property
    def noun(self) -> str:
        return "medians"

    def serves(self, levels: int) -> str:
        return "medians are about real numbers; use Marginals" if levels else ""

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None or dataset.levels:
            raise invalid("dataset", "one whose secret is a real number, to have a median", "another")
        return super().values(dataset)

    def in_cells(self, numbers: Array, cells: Sequence[IntArray], count: int) -> Sequence[Array]:
        found = np.full(count, np.nan)
        for cell in cells:
            order = np.lexsort((numbers, cell))
            shown, first, people = np.unique(cell[order], return_index=True, return_counts=True)
            below, above = (numbers[order[first + half]] for half in ((people - 1) // 2, people // 2))
            found[shown] = (below + above) / 2
        return (found,)

    def sums(self, parts: Sequence[Array], people: Array) -> Sequence[Array]:
        return (np.where(people <= 2, people * parts[0], np.nan),)
