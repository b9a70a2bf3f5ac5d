"""Extremes: the least and the largest number in every cell of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.core.not_done import NotDone
from tellall.linalg.operators.compose import Stack
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.marginals import alike_in, cell_counts, sizes_of
from tellall.statistics.numbers import NumberFacts
from tellall.statistics.statistic import Equations, Statistic, Ways, check_ways, column_sets, say_ways

__all__ = ["CellExtremes", "Extremes"]

_EXACT = 1e-7  # the spread that exact numbers are given, relative to their typical size
_FAR = 1e-5  # or, far from zero, as a share of how much people differ
_DIGITS = 1e-13  # of their typical size: the last digits are rounded


@dataclass(frozen=True, eq=False)
class CellExtremes(NumberFacts):
    """The cell of each person in each table, and each cell's number of people, minimum and maximum."""

    cells: Sequence[IntArray]
    people: Array
    least: Array
    most: Array

    def limits(self, error: float) -> tuple[Array, Array]:
        n = self.cells[0].size
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        for cell in self.cells:  # hidden values limit nobody
            low = np.fmax(low, self.least[cell] - error)
            high = np.fmin(high, self.most[cell] + error)
        return low, high

    def of_bits(self) -> Array:
        """A minimum of 1 says that everybody in the cell has the secret, a maximum of 0 that nobody has."""
        everybody = np.where(self.least == 1, self.people, np.nan)
        return np.concatenate([everybody, np.where(self.most == 0, 0.0, np.nan)])


@dataclass(frozen=True, init=False)
class Extremes(Statistic):
    """The minimum and the maximum of the secret in every cell of every table of ways − 1 public columns.

    Parameters
    ----------
    ways
        The number of columns in each table, including the secret; a list of numbers for tables with their
        totals and subtotals.
    attributes
        The public column sets to tabulate instead of all of that size: names or indices.

    Notes
    -----
    All minima come first, then all maxima, tables in lexicographic order of their columns and cells in C
    order; those of a cell without people are missing. They say exactly this. Everybody's number lies between
    the largest minimum and the smallest maximum of their cells (`Reconstruction.limits` and every interval
    respect that). In a cell of one person both are the number itself; in a cell of two, they add up to the
    sum. In larger cells they give equations only for bits: a minimum of 1 and a maximum of 0. Replacing one
    person can move them by as much as numbers differ, so noise on them promises nothing.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 4.0])
    >>> Extremes(2).values(people).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """

    scale = "counts"  # the only scale of numbers
    counts_people = False

    ways: Ways
    attributes: tuple[tuple[str | int, ...], ...] | None = None

    def __init__(
        self, ways: int | Sequence[int], attributes: Sequence[Sequence[str | int]] | None = None
    ) -> None:
        chosen, sets = check_ways(ways, attributes)
        object.__setattr__(self, "ways", chosen)
        object.__setattr__(self, "attributes", sets)

    def measured_in(self) -> str:
        return "units of the secret"

    def describe(self) -> str:
        return f"minima and maxima in {say_ways(self.ways, self.attributes)}"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The public columns of each table, by index."""
        return column_sets(public, self.ways, self.attributes, None)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public) * 2

    def size(self, public: Outline) -> int:
        return 2 * sum(sizes_of(public, self.sets(public)))

    def needs(self, columns: Outline) -> set[str]:
        return {columns.names[place] for chosen in self.sets(columns) for place in chosen}

    def cells(self, public: Public) -> list[IntArray]:
        """The cell of each person in each table; cells are numbered across all tables."""
        sets, start = self.sets(public), 0
        out: list[IntArray] = []
        for columns, size in zip(sets, sizes_of(public, sets), strict=True):
            codes = [np.asarray(public.codes[column], dtype=np.intp) for column in columns]
            shape = [public.levels[column] for column in columns]
            cell = np.ravel_multi_index(codes, shape) if columns else np.zeros(public.n, dtype=np.intp)
            out.append(start + np.asarray(cell))
            start += size
        return out

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to have a minimum", "no secret")
        if dataset.levels not in (0, 2):
            raise invalid("secret", "real numbers or bits, to be compared", "categories", "Use Marginals.")
        numbers, half = np.asarray(dataset.secret, dtype=np.float64), self.size(dataset.public) // 2
        least, most = np.full(half, np.inf), np.full(half, -np.inf)
        for cell in self.cells(dataset.public):
            np.minimum.at(least, cell, numbers)
            np.maximum.at(most, cell, numbers)
        found = np.concatenate([least, most])
        return np.where(np.isfinite(found), found, np.nan)

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array]:
        return self, values / unit

    def equations(self, public: Public, values: Array) -> Equations:
        sets = self.sets(public)
        cells = cell_counts(public, sets)
        people = cells @ np.ones(public.n)
        least, most = np.split(np.asarray(values, dtype=np.float64), 2)
        pair = people == 2
        low = np.where(people == 1, least, np.nan)
        high = np.where(people == 1, most, np.where(pair, least + most, np.nan))
        gain = np.concatenate([np.ones(people.size), np.where(pair, np.sqrt(2.0), 1.0)])
        reach = np.concatenate([np.ones(people.size), np.where(pair, 2.0, 1.0)])
        target = np.concatenate([low, high])
        known = target[~np.isnan(target)]
        typical = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
        floor = min(_EXACT * typical, _FAR) + _DIGITS * typical if typical else _FAR
        many = int((people > 2).sum())
        some = f"minimum and maximum of {many:,} cells of three people or more"
        skipped = (NotDone(some, "limits, no equations", "use"),)
        return Equations(
            Stack([cells, cells]),
            target,
            alike_in(public, sets, None),
            gain,
            reach,
            floor=floor,
            skipped=skipped if many else (),
            numbers=CellExtremes(self.cells(public), people, least, most),
        )
