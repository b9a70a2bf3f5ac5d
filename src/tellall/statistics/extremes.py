"""Extremes: the least and the largest number in every cell of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset, Public
from tellall.statistics.numbers import NumberFacts
from tellall.statistics.ranked_cells import RankedCells

__all__ = ["CellExtremes", "Extremes"]


@dataclass(frozen=True, eq=False)
class CellExtremes(NumberFacts):
    """The cell of each person in each table, and each cell's number of people, minimum and maximum."""

    cells: Sequence[IntArray]
    people: Array
    least: Array
    most: Array

    def limits(self, error: float) -> tuple[Array, Array]:
        n = self.cells[0].size
        low = np.full(n, -np.inf)
        high = np.full(n, np.inf)
        for cell in self.cells:  # hidden values limit nobody
            low = np.fmax(low, self.least[cell] - error)
            high = np.fmin(high, self.most[cell] + error)
        return low, high

    def of_bits(self) -> Array:
        """A minimum of 1 says that everybody in the cell has the secret, a maximum of 0 that nobody has."""
        everybody = np.where(self.least == 1, self.people, np.nan)
        return np.concatenate([everybody, np.where(self.most == 0, 0.0, np.nan)])


@dataclass(frozen=True, init=False)
class Extremes(RankedCells):
    """The minimum and the maximum of the secret in every cell of every table of ways − 1 public columns.

    It takes the same parameters as `RankedCells`.

    Notes
    -----
    All minima come first, then all maxima. They say exactly this. Everybody's number lies between the largest
    minimum and the smallest maximum of their cells (`Reconstruction.limits` and every interval respect that).
    In a cell of one person both are the number itself; in a cell of two, they add up to the
    sum. In larger cells they give equations only for bits: a minimum of 1 and a maximum of 0.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 4.0])
    >>> Extremes(2).values(people).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """

    parts = 2

    @property
    def noun(self) -> str:
        return "minima and maxima"

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to have a minimum", "no secret")
        if dataset.levels not in (0, 2):
            raise invalid("secret", "real numbers or bits, to be compared", "categories", "Use Marginals.")
        return super().values(dataset)

    def in_cells(self, numbers: Array, cells: Sequence[IntArray], count: int) -> Sequence[Array]:
        least = np.full(count, np.inf)
        most = np.full(count, -np.inf)
        for cell in cells:
            np.minimum.at(least, cell, numbers)
            np.maximum.at(most, cell, numbers)
        return least, most

    def sums(self, parts: Sequence[Array], people: Array) -> Sequence[Array]:
        least, most = parts
        high = np.where(people == 1, most, np.where(people == 2, least + most, np.nan))
        return np.where(people == 1, least, np.nan), high

    def facts(self, public: Public, people: Array, parts: Sequence[Array]) -> NumberFacts | None:
        least, most = parts
        return CellExtremes(self.cells(public), people, least, most)
