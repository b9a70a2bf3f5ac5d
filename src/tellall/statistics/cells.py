"""The common base of sums and means by cell: who is in which cell of a table, and with which weight."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from tellall.core.checks import above_zero
from tellall.core.errors import invalid
from tellall.linalg.operators.compose import RowScale, RowSelect, Stack
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.marginals import (
    alike_in,
    cell_counts,
    sizes_of,
    weighted_cells,
    weights_of,
)
from tellall.statistics.numbers import NumberTable, NumberTables
from tellall.statistics.statistic import (
    Equations,
    Statistic,
    Ways,
    check_ways,
    check_weights,
    column_sets,
    say_ways,
)

__all__ = ["CellNumbers"]

_EXACT = 1e-7  # the spread that exact numbers are given, relative to their typical size
_FAR = 1e-5  # or, far from zero, to the spread of sums of people who differ by one
_DIGITS = 1e-13  # of their typical size: the last digits are rounded


@dataclass(frozen=True)
class CellNumbers(Statistic):
    """A number for each cell of each table of ways − 1 public columns, computed from the secret there.

    Parameters
    ----------
    ways
        The number of columns in each table, including the secret; a list of numbers for tables with their
        totals and subtotals.
    attributes
        The public column sets to tabulate instead of all of that size: names or indices.
    counts
        Whether the number of people in each cell is published too, after the numbers of all tables.
    weights
        A public column with people's weights.
    largest
        The largest absolute value that anybody can have, if known; people with larger ones are refused.
        Without it, it is unknown how far one person can move a sum.
    """

    scale = "counts"  # the only scale of numbers
    counts_people = False

    ways: Ways
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    counts: bool = False
    weights: str | None = None
    largest: float | None = None

    def __init__(
        self,
        ways: int | Sequence[int],
        attributes: Sequence[Sequence[str | int]] | None = None,
        *,
        counts: bool = False,
        weights: str | None = None,
        largest: float | None = None,
    ) -> None:
        if not isinstance(counts, bool | np.bool_):
            raise invalid("counts", "True or False", counts)
        chosen, sets = check_ways(ways, attributes)
        settled = {
            "ways": chosen,
            "attributes": sets,
            "counts": bool(counts),
            "weights": check_weights(weights),
            "largest": None if largest is None else above_zero("largest", largest),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def noun(self) -> str:
        """What is published for a cell, in one word."""

    @abstractmethod
    def factors(self, totals: Array) -> Array:
        """The factor that turns each cell's sum into its published number, given its people or weights."""

    def measured_in(self) -> str:
        return "units of the secret"

    def describe(self) -> str:
        counts = " with counts" if self.counts else ""
        weighted = f" weighted by {self.weights}" if self.weights else ""
        return f"{self.noun} in {say_ways(self.ways, self.attributes)}{weighted}{counts}"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The public columns of each table, by index."""
        return column_sets(public, self.ways, self.attributes, self.weights)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public) * (1 + self.counts)

    def size(self, public: Outline) -> int:
        return (1 + self.counts) * sum(sizes_of(public, self.sets(public)))

    def needs(self, columns: Outline) -> set[str]:
        used = {place for chosen in self.sets(columns) for place in chosen}
        return {columns.names[place] for place in used} | ({self.weights} if self.weights else set())

    def own_weights(self, public: Public) -> Array:
        """The weight of each person."""
        return np.ones(public.n) if self.weights is None else weights_of(public, self.weights)

    def number_tables(self, public: Public) -> NumberTables:
        everybody, found = np.arange(public.n), []
        for columns in self.sets(public):
            cell: IntArray = np.zeros(public.n, dtype=np.intp)
            for column in columns:
                cell = cell * public.levels[column] + np.asarray(public.codes[column])
            size = prod(public.levels[column] for column in columns)
            found.append(NumberTable(cell, everybody, size, partial(_name_of, public, columns)))
        return NumberTables(found, self.own_weights(public), self.factors, self.counts)

    def memory(self, public: Public, *, packed: bool = False) -> int:
        return 16 * public.n * len(self.sets(public))

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to add it up", "no secret")
        if dataset.levels not in (0, 2):
            raise invalid("secret", "real numbers or bits, to be added up", "categories", "Use Marginals.")
        if self.largest is not None and np.abs(dataset.secret).max(initial=0.0) > self.largest:
            advice = "Give a larger bound, or cut the numbers off at this one first."
            raise invalid("largest", "at least everybody's absolute value", self.largest, advice)
        public = dataset.public
        cells = weighted_cells(public, self.sets(public), self.weights)
        people = np.ones(public.n)
        sums = cells @ np.asarray(dataset.secret, dtype=np.float64)
        totals = cells @ people
        found = self._scaled(sums, totals)
        if not self.counts:
            return found
        return np.concatenate([found, cell_counts(public, self.sets(public)) @ people])

    def _scaled(self, sums: Array, totals: Array) -> Array:
        """The numbers of cells; missing if a cell has none, as the mean of a cell without people."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                np.where(np.isfinite(self.factors(totals)), sums * self.factors(totals), np.nan)
            )

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array]:
        numbers = values.size // (1 + self.counts)
        return self, np.concatenate([values[:numbers] / unit, values[numbers:]])

    def equations(self, public: Public, values: Array) -> Equations:
        sets = self.sets(public)
        cells = weighted_cells(public, sets, self.weights)
        factors = self.factors(cells @ np.ones(public.n))
        said = np.isfinite(factors)
        operator: LinearOperator = RowScale(cells, np.where(said, factors, 0.0))
        target = np.where(said, values[: cells.shape[0]], np.nan)
        # a cell without people says nothing, and neither do counts of known people
        target = np.where(operator.squared() @ np.ones(public.n) > 0, target, np.nan)
        if self.counts:
            nothing = RowScale(RowSelect(cells, np.arange(cells.shape[0])), np.zeros(cells.shape[0]))
            operator = Stack([operator, nothing])
            target = np.concatenate([target, np.full(cells.shape[0], np.nan)])
        known = target[~np.isnan(target)]
        typical = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
        squares = (operator.squared() @ np.ones(public.n))[~np.isnan(target)]
        usual = float(np.sqrt(np.mean(squares))) if squares.size else 1.0
        floor = min(_EXACT * typical, _FAR * usual) + _DIGITS * typical if typical else _FAR * usual
        return Equations(operator, target, alike_in(public, sets, self.weights), floor=floor)


def _name_of(public: Public, columns: Sequence[int], cell: int) -> str:
    """The name of a cell: the columns of its table with their values."""
    codes = np.unravel_index(cell, [public.levels[column] for column in columns])
    labels = [
        f"{public.names[column]} {public.columns[column].labels[code]}"
        for column, code in zip(columns, codes, strict=True)
    ]
    return ", ".join(labels) or "everybody"
