"""Interprets printed tables: which axis is which column, which labels are totals, which cell has which value.

Everything is matched by labels, never by position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import IntArray
from tellall.outputs.grids import TOTALS, Grid
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.labels import label_text, own_label
from tellall.people.matching import layers_of, reads_all
from tellall.statistics.cell_counts import TOTAL
from tellall.statistics.where import Where, people_where

__all__ = ["Codes", "PrintedTable", "TableContext", "Variable", "codes_of", "sort_values", "understand"]

Codes = tuple[int, ...]  # of a cell: the category of each variable, the secret's last; TOTAL for a total


@dataclass(frozen=True)
class TableContext:
    """What is known before a table is read: the people, and the secret's name and values if known.

    ``meaning`` lists the secret's values. It is empty for real numbers and None if not known. With
    ``may_include`` nobody knows which of the people are in a table.
    """

    public: Public
    secret: str | None
    meaning: tuple[str, ...] | None
    may_include: bool = False

    @classmethod
    def of(cls, public: Any, secret: str | None = None, meaning: Sequence[Any] | None = None) -> TableContext:
        """The context from the arguments of a reader."""
        view = as_public(public)
        values = None if meaning is None else tuple(map(label_text, meaning))
        if isinstance(public, Dataset) and public.secret is not None:
            if secret not in (None, public.secret_name):
                raise invalid("secret", f"that of the people, {public.secret_name}", secret)
            return cls(view, public.secret_name, values or public.meaning)
        if secret is not None and secret in view.names:
            raise invalid("secret", "a column that is not among the public ones", f"'{secret}'")
        return cls(view, secret, values)

    def among(self, where: Where | None) -> TableContext:
        """The same with only the people whom a condition or a mask selects; None selects everybody."""
        if where is None:
            return self
        return replace(self, public=self.public.take(people_where(where, self.public)))


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable of a table: a public column, or the secret (index None), and its categories."""

    index: int | None
    labels: tuple[str, ...]

    def code(self, label: str) -> int:
        """The index of a label; TOTAL if it is not one of the categories."""
        return self.labels.index(label) if label in self.labels else TOTAL


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """The values of a table by cell. Variables are in the order of the public columns, the secret last."""

    public: Public
    columns: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    meaning: tuple[str, ...]
    values: dict[Codes, float]

    @cached_property
    def layers(self) -> list[IntArray]:
        """For each column, layers × people: each person's category, −1 for none; see `layers_of`."""
        return [
            layers_of(self.public, index, labels)
            for index, labels in zip(self.columns, self.labels, strict=True)
        ]

    @property
    def overlaps(self) -> bool:
        """Whether some person is in two categories of a column."""
        return any(len(each) > 1 for each in self.layers)

    def people(self) -> dict[Codes, int]:
        """How many people each combination of categories has; people without a category are left out."""
        if not self.columns:
            return {(): self.public.n}
        found: dict[Codes, int] = {}
        for each in product(*self.layers):
            codes = np.array(each)
            rows, counts = np.unique(codes[:, (codes >= 0).all(axis=0)].T, axis=0, return_counts=True)
            found |= {tuple(map(int, row)): int(count) for row, count in zip(rows, counts, strict=True)}
        return found


def understand(grid: Grid, known: TableContext) -> tuple[PrintedTable, Grid, list[Variable]]:
    """The table of a grid, the grid with the columns' own labels, and its variables in its order."""
    variables, grid, known = _understood(_without_titles(_with_totals(grid), known), known)
    return _as_table(grid, variables, known), grid, variables


# Which variable is which column, and which labels are totals.


def _without_titles(grid: Grid, known: TableContext) -> Grid:
    """The grid without axes that only say what was counted: those without a name and with one label."""
    at = 0
    while at < len(grid.names):
        labels = grid.labels(at)
        if grid.names[at] is None and len(labels) == 1 and not _candidates(labels, known):
            if labels[0].lower() in ("mean", "sum", "median", "std", "var", "min", "max"):
                raise invalid("frame", "a table of counts or shares of people", f"'{labels[0]}'")
            grid = grid.without(at)
        else:
            at += 1
    return grid


def _candidates(labels: Sequence[str], known: TableContext) -> list[str]:
    """The columns to which an axis without a name may belong, by its labels."""
    shown = [label for label in labels if label.lower() not in TOTALS and label]
    if not shown:
        return []
    view = known.public
    found = [name for index, name in enumerate(view.names) if reads_all(view, index, shown)]
    if known.secret is not None and known.meaning is not None and set(shown) <= set(known.meaning):
        found.append(known.secret)
    return found


def _with_totals(grid: Grid) -> Grid:
    """The grid with full labels for rows and columns of totals: pandas leaves all but the first empty."""

    def full(line: tuple[str, ...]) -> tuple[str, ...]:
        total = next((label for label in line if label.lower() in TOTALS), None)
        return line if total is None else tuple(label or total for label in line)

    return replace(grid, rows=tuple(map(full, grid.rows)), columns=tuple(map(full, grid.columns)))


def _understood(grid: Grid, known: TableContext) -> tuple[list[Variable], Grid, TableContext]:
    """The variables in the grid's order, the grid with their own labels, and the completed context."""
    names = [_name_of(grid, at, known) for at in range(len(grid.names))]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid("frame", "a table with each column once", f"'{twice}' twice")
    view, secret = known.public, known.secret
    strangers = [name for name in names if name not in view.names]
    if secret is None and len(strangers) == 1 and view.without(strangers[0]) is None:
        secret = strangers[0]
    found, words = [], []
    for at, name in enumerate(names):
        index = None if name == secret else view.position(name, "frame")
        column = None if index is None else view.columns[index]
        own = (known.meaning or ()) if column is None else column.labels
        gaps = column is not None and column.gaps
        words.append({label: own_label(label, own, gaps=gaps) for label in grid.labels(at)})
        shown = _labels_only(words[at].values(), own)
        if index is None:
            own = known.meaning or _found_meaning(name, shown)
            known = TableContext(view, name, own)
            if unknown := [label for label in shown if label not in own]:
                raise invalid("label", f"a value of the secret '{name}'", f"'{unknown[0]}'")
        found.append(Variable(index, own if index is None else shown))
    down = grid.down

    def told(line: tuple[str, ...], first: int) -> tuple[str, ...]:
        return tuple(words[first + at][label] for at, label in enumerate(line))

    rows = tuple(told(line, 0) for line in grid.rows)
    return found, replace(grid, rows=rows, columns=tuple(told(c, down) for c in grid.columns)), known


def _name_of(grid: Grid, at: int, known: TableContext) -> str:
    """The column that an axis stands for, by its name or else by its labels."""
    name = grid.names[at]
    if name is not None:
        return name
    labels, given = grid.labels(at), {name for name in grid.names if name is not None}
    found = [name for name in _candidates(labels, known) if name not in given]
    if not found and known.meaning is None and (known.secret or "") not in given:
        return known.secret or "the secret"
    shown = ", ".join(labels[:4])
    if len(found) != 1:
        got = f"an axis without a name ({shown}) that fits {' and '.join(found[:3]) or 'no column'}"
        raise invalid("frame", "a table whose axes have the names of columns", got, "Name the axis.")
    return found[0]


def _labels_only(labels: Iterable[str], own: Sequence[str]) -> tuple[str, ...]:
    """The labels of a variable without totals, in an order that does not depend on the table."""
    kept = {label for label in labels if label in own or label.lower() not in TOTALS}
    order = {label: place for place, label in enumerate(own)}
    return tuple(sorted(kept, key=lambda label: (order.get(label, len(order)), label)))


def _found_meaning(secret: str, shown: Sequence[str]) -> tuple[str, ...]:
    if len(shown) < 2:
        got = f"a table that shows {len(shown)} of them"
        raise invalid("meaning", f"the values of the secret '{secret}', two or more", got)
    return sort_values(shown)


def sort_values(labels: Sequence[str]) -> tuple[str, ...]:
    """Values of a secret in the order of their codes: in numerical order if all are numbers, else as text.

    Examples
    --------
    >>> sort_values(["10", "9"]), sort_values(["yes", "no"])
    (('9', '10'), ('no', 'yes'))
    """
    try:
        return tuple(sorted(set(labels), key=float))
    except ValueError:
        return tuple(sorted(set(labels)))


def _as_table(grid: Grid, variables: Sequence[Variable], known: TableContext) -> PrintedTable:
    """The values by cell, independent of the order of rows, columns and variables."""
    order = sorted(
        (at for at, each in enumerate(variables) if each.index is not None),
        key=lambda at: variables[at].index or 0,
    )
    secret = [at for at, each in enumerate(variables) if each.index is None]
    values: dict[Codes, float] = {}
    for (row, column), value in zip(product(grid.rows, grid.columns), grid.values.ravel(), strict=True):
        codes = codes_of((*row, *column), variables)
        cell = tuple(codes[at] for at in (*order, *secret))
        if cell in values:
            raise invalid("frame", "a table with each combination of labels once", "one of them twice")
        values[cell] = float(value)
    meaning = known.meaning or () if secret else ()
    columns = tuple(variables[at].index or 0 for at in order)
    return PrintedTable(known.public, columns, tuple(variables[at].labels for at in order), meaning, values)


def codes_of(line: Sequence[str], variables: Sequence[Variable]) -> list[int]:
    """The category of each label of a row or column."""
    return [each.code(label) for each, label in zip(variables, line, strict=True)]
