"""PrintedCells: rates, means and sums in the cells of one table as it was printed, with its own labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.core.checks import one_of
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.people.bands import Bands
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.cell_counts import CellCounts
from tellall.statistics.numbers import NumberTable, NumberTables
from tellall.statistics.statistic import Equations, Statistic

__all__ = ["PrintedCells"]

_MEASURES = ("rates", "percentages", "means", "sums")
_WHOLE = 1e-6  # how far a rate times its number of people may be from a whole number
_EXACT = 1e-7  # the spread that exact numbers are given, relative to their typical size


@dataclass(frozen=True)
class PrintedCells(Statistic):
    """Rates, means or sums of the secret in cells of a table, under the labels that were printed.

    :class:`CellCounts` has the counts of such a table.

    Parameters
    ----------
    columns, labels, cells
        As for :class:`CellCounts`; where the secret is a number, the last place of a cell is 0.
    measure
        "rates", or "percentages": the share of a cell's people with a value of the secret; "means" or "sums"
        of a secret that is a number.
    levels
        How many values the secret has; zero for numbers.

    Notes
    -----
    With N_c the number of people in the cell, which is public,

        rate(c, v) = Σ_{i in c} [s_i = v] / N_c,  mean(c) = Σ_{i in c} s_i / N_c,  sum(c) = Σ_{i in c} s_i.

    There is no sensitivity: a cell that loses its only person loses its rate and its mean.

    Examples
    --------
    >>> people = Dataset.from_frame({"age": [23, 31, 38, 64], "ill": [0, 1, 1, 0]}, secret="ill")
    >>> PrintedCells(["age"], [["20-39", "40+"]], [[0, 1], [1, 1], [-1, 1]]).values(people).tolist()
    [0.6666666666666666, 0.0, 0.5]
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[int, ...], ...]
    measure: str = "rates"
    levels: int = 2

    counts_people = False

    def __init__(
        self,
        columns: Sequence[str],
        labels: Sequence[Sequence[str]],
        cells: Sequence[Sequence[int]] | None = None,
        measure: str = "rates",
        levels: int = 2,
    ) -> None:
        one_of("measure", measure, _MEASURES)
        if (levels == 0) != (measure in ("means", "sums")):
            raise invalid("measure", "rates or percentages of categories, means or sums of numbers", measure)
        if cells is not None and not levels and any(tuple(cell)[-1:] != (0,) for cell in cells):
            raise invalid("cells", "with 0 in their last place, where the secret is a number", cells)
        inner = CellCounts(columns, labels, cells, levels or 2)
        chosen = inner.cells if levels or cells is not None else [c for c in inner.cells if c[-1] == 0]
        settled = (inner.columns, inner.labels, tuple(chosen), measure, levels)
        for name, value in zip(("columns", "labels", "cells", "measure", "levels"), settled, strict=True):
            object.__setattr__(self, name, value)

    def explained(self, bands: Sequence[Bands]) -> PrintedCells:
        """The same cells, with labels that are made of ranges or values, as Bands say."""
        labels = CellCounts(self.columns, self.labels, self.cells, self.levels or 2).explained(bands).labels
        return PrintedCells(self.columns, labels, self.cells, self.measure, self.levels)

    def describe(self) -> str:
        over = ", ".join(self.columns) or "everybody"
        return f"{self.measure} in {len(self.cells)} cells of a table over {over}"

    def measured_in(self) -> str:
        if self.levels:
            return "shares of a cell's people" if self.measure == "rates" else "percent of a cell's people"
        return "units of the secret"

    def size(self, public: Public) -> int:
        return len(self.cells)

    def columns_used(self, public: Public) -> set[str]:
        return set(self.columns) & set(public.names)

    def serves(self, levels: int) -> str:
        return ""  # `size_for` compares them with the table's

    def size_for(self, public: Public, levels: int) -> int:
        if levels != self.levels and not (levels == 2 and not self.levels):
            raise invalid("levels", f"{self.levels}, as in the table", levels)
        return len(self.cells)

    def needs(self, columns: Outline) -> set[str]:
        return set(self.columns)

    def memory(self, public: Public, *, packed: bool = False) -> int:
        sums = len({tuple(code == -1 for code in cell[:-1]) for cell in self.cells})
        return 12 * sums * public.n * max(self.levels, 1)

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to tabulate it", "no secret")
        self.size_for(dataset.public, dataset.levels)
        people, value = self._members(dataset.public)
        n = np.asarray(people.sum(axis=1), dtype=np.float64)
        secret = np.asarray(dataset.secret)
        out = np.empty(len(self.cells))
        for code in range(max(self.levels, 1)):
            own = (secret == code) if self.levels else secret
            out[value == code] = people[value == code] @ own.astype(np.float64)
        return out * self._factors(n)

    def _factors(self, n: Array) -> Array:
        """What turns a cell's count or sum into its printed number; missing where nobody is."""
        if self.measure == "sums":
            return np.where(n > 0, 1.0, np.nan)
        with np.errstate(divide="ignore"):
            return np.where(n > 0, (100.0 if self.measure == "percentages" else 1.0) / n, np.nan)

    def number_tables(self, public: Public) -> NumberTables | None:
        if self.levels:
            return None
        people, _ = self._members(public)
        cell = np.repeat(np.arange(len(self.cells)), np.diff(people.indptr))
        table = NumberTable(cell, people.indices.astype(np.intp), len(self.cells), self._name_of)
        return NumberTables([table], np.ones(public.n), self._factors)

    def _name_of(self, cell: int) -> str:
        """The name of a cell: the columns with their labels, but for those that it sums over."""
        pairs = zip(self.columns, self.labels, self.cells[cell][:-1], strict=True)
        return ", ".join(f"{name} {labels[code]}" for name, labels, code in pairs if code >= 0) or "everybody"

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array] | None:
        return None if self.levels else (self, values / unit)

    def equations(self, public: Public, values: Array) -> Equations:
        people, value = self._members(public)
        n = np.asarray(people.sum(axis=1), dtype=np.float64)
        factors = self._factors(n)
        said = np.isfinite(factors)
        layers = CellCounts(self.columns, self.labels, self.cells, self.levels or 2)._layers(public)
        alike = group_rows(np.concatenate(layers)).index
        if not self.levels:
            rows = people.multiply(np.where(said, factors, 0.0)[:, None])
            target = np.where(said, values, np.nan)
            known = target[~np.isnan(target)]
            typical = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
            return Equations(Sparse(rows), target, alike, floor=_EXACT * typical or _EXACT)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(said, 1.0 / factors, 0.0)
            target = np.where(said, values * gain, np.nan)
        near = np.rint(target)
        target = np.where(np.abs(target - near) < _WHOLE, near, target)
        if self.levels == 2:
            signs = np.where(value == 1, 1.0, -1.0)
            target = target - np.where(value == 1, 0.0, n)
            return Equations(Sparse(people.multiply(signs[:, None])), target, alike, gain, gain)
        from scipy.sparse import csr_array

        shift = np.repeat(value, np.diff(people.indptr)) * public.n
        shape = (len(self.cells), self.levels * public.n)
        moved = csr_array((people.data, people.indices + shift, people.indptr), shape)
        return Equations(Sparse(moved), target, alike, gain, gain)

    def _members(self, public: Public) -> tuple[Any, IntArray]:
        """Cells × people, as a sparse array: who is in which cell; and the value of the secret of each."""
        cells = np.array(self.cells, dtype=np.int64)
        own, inverse = np.unique(cells[:, :-1], axis=0, return_inverse=True)
        alone = CellCounts(self.columns, self.labels, [(*row, 0) for row in own.tolist()])
        return alone._members(public)[inverse.ravel()], cells[:, -1]
