"""RankedCells: what every cell of every table says of its people's numbers by their order alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.not_done import NotDone
from tellall.linalg.operators.compose import Stack
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.marginals import alike_in, cell_counts, sizes_of
from tellall.statistics.numbers import NumberFacts
from tellall.statistics.statistic import Equations, Statistic, Ways, check_ways, column_sets, say_ways

__all__ = ["RankedCells"]

_EXACT = 1e-7  # the spread that exact numbers are given, relative to their typical size
_FAR = 1e-5  # or, far from zero, as a share of how much people differ
_DIGITS = 1e-13  # of their typical size: the last digits are rounded


@dataclass(frozen=True, init=False)
class RankedCells(Statistic):
    """Numbers of people by their order in every cell of every table of ways − 1 public columns.

    Parameters
    ----------
    ways
        The number of columns in each table, including the secret; a list of numbers for tables with their
        totals and subtotals.
    attributes
        The public column sets to tabulate instead of all of that size: names or indices.

    Notes
    -----
    Each part has the tables in lexicographic order of their columns and cells in C order; values of a cell
    without people are missing. They give equations only for cells of one person, whose number they are, and
    of two, whose sum they tell. Replacing one person can move them by as much as numbers differ, so noise on
    them promises nothing.
    """

    scale = "counts"  # the only scale of numbers
    counts_people = False
    parts = 1  # values of a cell

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

    @property
    @abstractmethod
    def noun(self) -> str:
        """What the values are called."""

    @abstractmethod
    def in_cells(self, numbers: Array, cells: Sequence[IntArray], count: int) -> Sequence[Array]:
        """The values of ``count`` cells, a list for each part; not finite where there are no people."""

    @abstractmethod
    def sums(self, parts: Sequence[Array], people: Array) -> Sequence[Array]:
        """What the values say of the sum of a cell of one or two people, for each part; NaN: nothing."""

    def facts(self, public: Public, people: Array, parts: Sequence[Array]) -> NumberFacts | None:
        """What the values say beyond equations."""
        return None

    def describe(self) -> str:
        return f"{self.noun} in {say_ways(self.ways, self.attributes)}"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The public columns of each table, by index."""
        return column_sets(public, self.ways, self.attributes, None)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public) * self.parts

    def size(self, public: Outline) -> int:
        return self.parts * sum(sizes_of(public, self.sets(public)))

    def needs(self, columns: Outline) -> set[str]:
        return {columns.names[place] for chosen in self.sets(columns) for place in chosen}

    def cells(self, public: Public) -> list[IntArray]:
        """The cell of each person in each table; cells are numbered across all tables."""
        sets = self.sets(public)
        start = 0
        out: list[IntArray] = []
        for columns, size in zip(sets, sizes_of(public, sets), strict=True):
            codes = [np.asarray(public.codes[column], dtype=np.intp) for column in columns]
            shape = [public.levels[column] for column in columns]
            cell = np.ravel_multi_index(codes, shape) if columns else np.zeros(public.n, dtype=np.intp)
            out.append(start + np.asarray(cell))
            start += size
        return out

    def values(self, dataset: Dataset) -> Array:
        numbers = np.asarray(dataset.secret, dtype=np.float64)
        count = self.size(dataset.public) // self.parts
        found = np.concatenate(self.in_cells(numbers, self.cells(dataset.public), count))
        return np.where(np.isfinite(found), found, np.nan)

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array]:
        return self, values / unit

    def equations(self, public: Public, values: Array) -> Equations:
        sets = self.sets(public)
        cells = cell_counts(public, sets)
        people = cells @ np.ones(public.n)
        parts = np.split(np.asarray(values, dtype=np.float64), self.parts)
        pair = people == 2
        target = np.concatenate(self.sums(parts, people))
        gain = np.where(pair, np.sqrt(2.0), 1.0)
        known = target[~np.isnan(target)]
        typical = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
        floor = min(_EXACT * typical, _FAR) + _DIGITS * typical if typical else _FAR
        many = int((people > 2).sum())
        some = f"{self.noun} of {many:,} cells of three people or more"
        return Equations(
            Stack([cells] * self.parts),
            target,
            alike_in(public, sets, None),
            np.tile(gain, self.parts),
            np.tile(np.where(pair, 2.0, 1.0), self.parts),
            floor=floor,
            skipped=(NotDone(some, "limits at most, no equations", "use"),) if many else (),
            numbers=self.facts(public, people, parts),
        )
