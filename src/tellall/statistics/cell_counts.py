"""CellCounts: the cells of one table as it was printed, with its own labels and its totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod, sqrt
from typing import Any

import numpy as np

from tellall.core.checks import is_whole, whole
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.people.bands import Bands, most_at_once
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Public
from tellall.people.matching import layers_of
from tellall.statistics.statistic import Equations, Statistic

__all__ = ["TOTAL", "CellCounts"]

TOTAL = -1  # in place of a category: all of them
_MOST_CELLS = 1_000_000
_MOST_ENTRIES = 100_000_000


@dataclass(frozen=True)
class CellCounts(Statistic):
    """Cells of a table of the secret with public columns, under the labels that were printed.

    :class:`Marginals` has every cell, in the categories of the public columns. This statistic has any cells,
    its own categories ("20-29", "80+"), and totals.

    Parameters
    ----------
    columns
        The public columns of the table.
    labels
        For each of them the categories in the table: a value, or a range of numbers such as "(20, 30]",
        "20-29", "80+", "≤ 49.5".
    cells
        For each published value, the category of each column as its index in ``labels`` (−1 for a total over
        that column), and then the code of the secret. By default every cell, without totals.
    levels
        How many values the secret has.

    Notes
    -----
        value(c, v) = Σ_{i in c} [s_i = v]

    People whose value of a column is in none of its categories are in no
    cell and in no total: a table drops them. Replacing one person moves at most two cells for each set of
    columns that is summed over: L1 sensitivity 2t, L2 √(2t) for t such sets.

    Examples
    --------
    >>> people = Dataset.from_frame({"age": [23, 31, 38, 64], "ill": [0, 1, 1, 0]}, secret="ill")
    >>> table = CellCounts(["age"], [["20-39", "40+"]], [[0, 1], [1, 1], [-1, 1]])
    >>> table.values(people).tolist()
    [2.0, 0.0, 2.0]
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[int, ...], ...]
    levels: int = 2

    def __init__(
        self,
        columns: Sequence[str],
        labels: Sequence[Sequence[str]],
        cells: Sequence[Sequence[int]] | None = None,
        levels: int = 2,
    ) -> None:
        object.__setattr__(self, "columns", _texts("columns", columns))
        object.__setattr__(self, "labels", _labels(labels, len(self.columns)))
        object.__setattr__(self, "levels", whole("levels", levels, 2))
        sizes = [*map(len, self.labels), self.levels]
        if cells is None and prod(sizes) <= _MOST_CELLS:
            cells = list(product(*map(range, sizes)))
        object.__setattr__(self, "cells", _cells(cells, sizes))

    def explained(self, bands: Sequence[Bands]) -> CellCounts:
        """The same cells, with labels that are made of ranges or values, as Bands say."""
        told = {each.column: each for each in bands}
        labels = [
            [told[name].explained(label) if name in told else label for label in each]
            for name, each in zip(self.columns, self.labels, strict=True)
        ]
        return CellCounts(self.columns, labels, self.cells, self.levels)

    def check_labels(self, public: Public) -> None:
        """Refuses columns that people do not have, and labels that nobody can have."""
        self._layers(public)

    def describe(self) -> str:
        over = ", ".join(self.columns) or "everybody"
        return f"{len(self.cells)} cells of a table over {over}"

    def size(self, public: Public) -> int:
        return len(self.cells)

    def columns_used(self, public: Public) -> set[str]:
        return set(self.columns) & set(public.names)

    def serves(self, levels: int) -> str:
        return ""  # `size_for` compares them with the table's

    def size_for(self, public: Public, levels: int) -> int:
        if levels != self.levels:
            raise invalid("levels", f"{self.levels}, as in the table", levels)
        return len(self.cells)

    def sensitivity(self, public: Public) -> tuple[float, float]:
        """The L1 and L2 sensitivities of the counts, one person replaced."""
        most = [most_at_once(name, labels) for name, labels in zip(self.columns, self.labels, strict=True)]
        summed = {tuple(code == TOTAL for code in cell[:-1]) for cell in self.cells}
        moved = sum(
            prod(1 if over else many for over, many in zip(each, most, strict=True)) for each in summed
        )
        return 2.0 * moved, sqrt(2.0 * moved)

    def memory(self, public: Public, *, packed: bool = False) -> int:
        sums = len({tuple(code == TOTAL for code in cell[:-1]) for cell in self.cells})
        return 12 * sums * public.n * self.levels

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to tabulate it", "no secret")
        self.size_for(dataset.public, dataset.levels)
        people = self._members(dataset.public)
        value = self._value
        out = np.empty(len(self.cells))
        for code in range(self.levels):
            out[value == code] = people[value == code] @ (dataset.secret == code)
        return out

    def equations(self, public: Public, values: Array) -> Equations:
        people = self._members(public)
        value = self._value
        alike = group_rows(np.concatenate(self._layers(public))).index
        if self.levels == 2:
            signs = np.where(value == 1, 1.0, -1.0)
            target = values - np.where(value == 1, 0.0, people.sum(axis=1))
            return Equations(Sparse(people.multiply(signs[:, None])), target, alike)
        from scipy.sparse import csr_array

        shift = np.repeat(value, np.diff(people.indptr)) * public.n
        shape = (len(self.cells), self.levels * public.n)
        moved = csr_array((people.data, people.indices + shift, people.indptr), shape)
        return Equations(Sparse(moved), values.copy(), alike)

    @property
    def _value(self) -> IntArray:
        return np.array([cell[-1] for cell in self.cells], dtype=np.int64)

    def _layers(self, public: Public) -> list[IntArray]:
        """For each column, layers × people: the category of each person, −1 if the layer has none for them.

        Categories that overlap are in different layers.
        """
        found = [
            layers_of(public, public.position(name, "columns"), labels, "labels")
            for name, labels in zip(self.columns, self.labels, strict=True)
        ]
        return found or [np.zeros((1, public.n), dtype=np.int64)]

    def _members(self, public: Public) -> Any:
        """Cells × people, as a sparse array: who is in which cell, whatever their secret."""
        from scipy.sparse import csr_array

        layers = self._layers(public) if self.columns else []
        somewhere = np.ones(public.n, dtype=bool)
        for each in layers:
            somewhere &= (each >= 0).any(axis=0)
        cells = np.array(self.cells, dtype=np.int64)[:, :-1]
        rows: list[IntArray] = []
        people: list[IntArray] = []
        for summed in np.unique(cells == TOTAL, axis=0):
            kept = np.flatnonzero(~summed)
            here = np.flatnonzero(((cells == TOTAL) == summed).all(axis=1))
            for chosen in product(*(layers[column] for column in kept)):
                codes = np.array(chosen, dtype=np.int64).reshape(kept.size, public.n)
                inside = np.flatnonzero(somewhere & (codes >= 0).all(axis=0))
                both = np.concatenate([cells[here][:, kept], codes[:, inside].T])
                key = group_rows(both.T).index if kept.size else np.zeros(len(both), dtype=np.intp)
                order = np.argsort(key[: here.size], kind="stable")
                first = np.searchsorted(key[: here.size][order], key[here.size :], side="left")
                last = np.searchsorted(key[: here.size][order], key[here.size :], side="right")
                count = last - first
                if sum(map(len, rows)) + count.sum() > _MOST_ENTRIES:
                    raise invalid("cells", f"of at most {_MOST_ENTRIES:,} memberships of people", "more")
                steps = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
                rows.append(here[order[np.repeat(first, count) + steps]])
                people.append(np.repeat(inside, count))
        entries = (np.concatenate(rows), np.concatenate(people))
        return csr_array((np.ones(entries[0].size), entries), (len(self.cells), public.n))


def _texts(parameter: str, names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise invalid(parameter, "a list of texts", names)
    listed = tuple(names)
    if not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise invalid(parameter, "different texts", listed)
    return listed


def _labels(labels: object, count: int) -> tuple[tuple[str, ...], ...]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise invalid("labels", "a list of labels for each column", labels)
    chosen = tuple(_texts("labels", each) for each in labels)
    if len(chosen) != count or not all(chosen):
        raise invalid("labels", f"a list of labels for each column ({count})", f"{len(chosen)} lists")
    return chosen


def _cells(cells: object, sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    rule = f"lists of {len(sizes)} places: one for each column, −1 for a total, and the secret's code"
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise invalid("cells", rule, cells)
    try:
        chosen = tuple(tuple(cell) for cell in cells)
    except TypeError:
        raise invalid("cells", rule, cells) from None
    if not 0 < len(chosen) <= _MOST_CELLS:
        raise invalid("cells", f"from 1 to {_MOST_CELLS:,}", f"{len(chosen):,}")
    for cell in chosen:
        if len(cell) != len(sizes) or not all(map(is_whole, cell)):
            raise invalid("cells", rule, cell)
        least = [*[TOTAL] * (len(sizes) - 1), 0]
        if not all(low <= code < size for low, code, size in zip(least, cell, sizes, strict=True)):
            raise invalid("cells", "within the labels and the values of the secret", cell)
    if len(set(chosen)) < len(chosen):
        raise invalid("cells", "each cell once", "one of them twice")
    return tuple(tuple(map(int, cell)) for cell in chosen)
