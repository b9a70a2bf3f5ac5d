"""Tables read together, without any people: what they say about how often each possible row occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.operators.sparse import Sparse
from tellall.algebra.solvers.base import Gaps
from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.columns import Column
from tellall.people.dataset import Outline, Public
from tellall.people.shape import Shape
from tellall.release.equations import Certain
from tellall.release.linearise import possible_counts, stretches_of
from tellall.release.protections.protection import Protection, as_protections, noise_of
from tellall.release.release import Release
from tellall.release.shares import base_bounds, counts_of_shares
from tellall.release.statistics.among import Among
from tellall.release.statistics.base import CellLayout
from tellall.release.statistics.cell_counts import TOTAL, CellCounts
from tellall.release.statistics.conditions import Condition, parse_condition
from tellall.release.statistics.marginals import RATES, Marginals
from tellall.release.statistics.tables import Tables

__all__ = ["SECRET", "CountTable", "Joint", "join_tables", "name_cell", "tables_in"]

SECRET = "secret"  # the name of the tabulated column of Marginals
_MOST_ROWS = 1_000_000  # of the joint domain
_MOST_PEOPLE = 10**12  # in a cell; more than ever lived, and counted without error
_MOST_ENTRIES = 20_000_000  # rows of the joint domain times tables


@dataclass(frozen=True, eq=False)
class CountTable:
    """A published table of counts or shares: its columns with all their values, and the number in each cell.

    Parameters
    ----------
    columns
        The values of each column, by its name; none for a total.
    counts
        A count per cell, with the last column's values changing fastest; NaN if it is hidden.
    protect
        What is known to have been done to the counts, in order; None if they are exact.
    people
        How many people the table is about, if that is published.
    where
        Which people it is about, if not everybody: a condition on columns of the tables, such as
        ``"sex = 'f'"``. Values are compared as they are printed, in quotes.
    shares_of
        If the values are shares: the columns whose cells they are shares of, ("age",) for the share of
        each age that is ill, () for shares of everybody. The counts of these cells must be in another table.
    units
        The factor that turns a published value into a count or a share: 0.01 for percentages.

    Examples
    --------
    >>> CountTable({"age": ["0-19", "20+"], "sex": ["f", "m"]}, [[1, 0], [2, 3]])
    CountTable of age × sex: 4 cells; exact
    >>> from tellall.release.protections import Rounding
    >>> ages = {"age": ["0-19", "20+"], "ill": ["no", "yes"]}
    >>> CountTable(ages, [[67, 33], [50, 50]], Rounding(1), shares_of=["age"], units=0.01)
    CountTable of age × ill, shares of age: 4 cells; Rounding(base=1.0, mode='nearest', ties=None)
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: Array
    protections: tuple[Protection, ...]
    people: int | None
    where: Condition | None
    shares_of: tuple[str, ...] | None
    units: float

    def __init__(
        self,
        columns: Mapping[str, Sequence[object]],
        counts: npt.ArrayLike,
        protect: Protection | Sequence[Protection] | None = None,
        people: int | None = None,
        *,
        where: str | None = None,
        shares_of: Sequence[str] | None = None,
        units: float = 1.0,
    ) -> None:
        names, labels = _check_columns(columns)
        if isinstance(shares_of, str) or not set(shares_of or ()) < {*names, ""}:
            rule = f"some of the table's columns, in a list ({', '.join(names)})"
            raise invalid("shares_of", rule, shares_of)
        try:
            values = np.array(counts, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise invalid("counts", "numbers, NaN where hidden", type(counts).__name__) from None
        cells = prod(map(len, labels))
        if values.size != cells:
            raise invalid("counts", f"{cells} numbers, one per cell", f"{values.size}")
        if np.isinf(values).any():
            raise invalid("counts", "finite, or NaN where hidden", "an infinite one")
        if shares_of is None and (np.abs(values[~np.isnan(values)] * units) > _MOST_PEOPLE).any():
            raise invalid("counts", f"numbers of people, at most {_MOST_PEOPLE:,}", "a larger one")
        if people is not None and (not is_whole(people) or people < 0):
            raise invalid("people", "a whole number, zero or more, or None", people)
        if where is not None and not isinstance(where, str):
            raise invalid("where", "a condition such as \"sex = 'f'\"", type(where).__name__)
        given = {
            "columns": names,
            "labels": labels,
            "counts": values,
            "protections": as_protections(protect),
            "people": people,
            "where": None if where is None else parse_condition(where),
            "shares_of": None if shares_of is None else tuple(name for name in names if name in shares_of),
            "units": float(units),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def describe(self) -> str:
        """The names of the columns, and which people the table is about."""
        whom = "" if self.where is None else f", where {self.where.text}"
        base = "" if self.shares_of is None else f", shares of {' × '.join(self.shares_of) or 'everybody'}"
        return (" × ".join(self.columns) or "total") + base + whom

    def about(self, where: str) -> CountTable:
        """The same counts, as a table of only some of the people."""
        columns = dict(zip(self.columns, self.labels, strict=True))
        done, of = self.protections, self.shares_of
        return CountTable(
            columns, self.counts, done, self.people, where=where, shares_of=of, units=self.units
        )

    def cell(self, index: int) -> dict[str, str]:
        """The value of each column in a cell."""
        places = np.unravel_index(index, tuple(map(len, self.labels))) if self.labels else ()
        return {
            name: labels[place] for name, labels, place in zip(self.columns, self.labels, places, strict=True)
        }

    def __repr__(self) -> str:
        hidden = int(np.isnan(self.counts).sum())
        gone = f", {hidden} hidden" if hidden else ""
        done = ", ".join(map(repr, self.protections)) or "exact"
        return f"CountTable of {self.describe()}: {self.counts.size} cells{gone}; {done}"


def _check_columns(columns: object) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    if not isinstance(columns, Mapping):
        raise invalid("columns", "the values of each column by its name", type(columns).__name__)
    labels = []
    for name, values in columns.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise invalid("columns", f"a list of the values of '{name}'", values)
        texts = tuple(map(str, values))
        if not texts or len(set(texts)) < len(texts):
            raise invalid("columns", f"one or more different values of '{name}'", ", ".join(texts) or "none")
        labels.append(texts)
    return tuple(map(str, columns)), tuple(labels)


class _Shaped(Outline):
    """Columns whose shape is all that is known."""

    left_out: tuple[str, ...] = ()

    def __init__(self, shape: Shape) -> None:
        sizes = zip(shape.names, shape.levels, shape.cuts, strict=True)
        self.columns = tuple(Column(name, _numbered(levels), cuts) for name, levels, cuts in sizes)
        self._people = shape.people

    @property
    def n(self) -> int:
        return self._people


def _numbered(levels: int) -> tuple[str, ...]:
    return tuple(map(str, range(levels)))


def tables_in(release: Release) -> list[CountTable]:
    """The tables of a release, one by one; the tabulated column is called "secret".

    Values are called by their codes, or by the labels that were printed (`CellCounts`).
    """
    statistic, shape = release.statistic, release.shape
    if isinstance(statistic, Among):
        return _tables_among(release, statistic)
    if isinstance(statistic, CellCounts):
        return _printed_tables(release, statistic)
    if not isinstance(statistic, Tables | Marginals):
        raise invalid("releases", "tables of everybody (Tables, Marginals)", statistic.describe())
    if getattr(statistic, "weights", None) is not None:
        raise invalid("releases", "tables of people, without weights", statistic.describe())
    if shape is None:
        raise invalid("releases", "ones that say how many values each column has", "one that does not")
    outline = _Shaped(shape)
    last = {SECRET: _numbered(release.levels)} if isinstance(statistic, Marginals) else {}
    units = statistic.units(outline)
    if SECRET in shape.names and last:
        raise invalid("releases", f"without a public column called '{SECRET}'", "one with it")
    found, start = [], 0
    for columns in statistic.tables(outline):
        names = {shape.names[column]: outline.columns[column].labels for column in columns} | last
        cells = prod(map(len, names.values()))
        values = release.values[start : start + cells]
        of, done = list(names)[:-1] if statistic.scale == RATES else None, release.protections
        found.append(CountTable(names, values, done, shape.people, shares_of=of, units=units))
        start += cells
    return found


def _tables_among(release: Release, among: Among) -> list[CountTable]:
    """The tables of a release about some of the people; it needs printed labels and a condition in words."""
    words, inner = among.words, among.statistic
    if words is None or not isinstance(inner, CellCounts):
        rule = "of everybody, or with printed labels and a condition in words"
        advice = "Give each table as a CountTable with its values and where=."
        raise invalid("releases", rule, among.describe(), advice)
    return [table.about(words) for table in _printed_tables(release, inner)]


def name_cell(release: Release, public: Public, value: int) -> dict[str, str]:
    """The value of each column in a published cell; empty if the release has no tables."""
    try:
        tables = tables_in(release)
    except InvalidInput:
        return {}
    for table in tables:
        if value < table.counts.size:
            labels = {column.name: column.labels for column in public.columns}
            return {
                name: labels[name][int(code)] if name in labels and code.isdecimal() else code
                for name, code in table.cell(value).items()
            }
        value -= table.counts.size
    return {}


def _printed_tables(release: Release, statistic: CellCounts) -> list[CountTable]:
    """A table for each set of columns that printed cells are summed over.

    A cell that was not printed may not be one that a rule hid. If a rule hides cells, sets with unprinted
    cells are therefore left out. Tables drop people without a label, so the number of people is not used.
    """
    cells = np.array(statistic.cells, dtype=np.int64)
    codes, value = cells[:, :-1], cells[:, -1]
    names = dict(zip(statistic.columns, statistic.labels, strict=True))
    hides = any(protection.hides for protection in release.protections)
    found = []
    for summed in np.unique(codes == TOTAL, axis=0):
        here = np.flatnonzero(((codes == TOTAL) == summed).all(axis=1))
        kept = [name for name, total in zip(names, summed, strict=True) if not total]
        shape = (*(len(names[name]) for name in kept), statistic.levels)
        flat = np.ravel_multi_index((*codes[here][:, ~summed].T, value[here]), shape)
        counts = np.full(prod(shape), np.nan)
        counts[flat] = release.values[here]
        if here.size == counts.size or not hides:
            columns = {name: names[name] for name in kept} | {SECRET: _numbered(statistic.levels)}
            found.append(CountTable(columns, counts, release.protections))
    return found


@dataclass(frozen=True, eq=False)
class Joint:
    """The system that several tables give about the rows of their joint domain.

    Attributes
    ----------
    columns, labels
        The columns of all tables, and the values of each.
    tables
        The tables.
    certain
        low ≤ operator @ counts ≤ high, a column per row of the joint domain; ``origin`` is the table and its
        cell, −1 for the number of people or a sum of neighbouring cells.
    upper
        How often each row can occur at most, judging by single cells; infinite if nothing bounds it.
    people
        How many people the tables are about; None if not given.
    target, spread
        For each row of the operator, the published value as a count (NaN if hidden or not a cell) and the
        standard deviation of its error.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    tables: tuple[CountTable, ...]
    certain: Certain
    upper: Array
    people: int | None
    target: Array
    spread: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(map(len, self.labels))

    @cached_property
    def rows(self) -> IntArray:
        """The joint domain in C order, one row of codes per combination."""
        return np.stack(np.unravel_index(np.arange(prod(self.shape)), self.shape), axis=1)

    @cached_property
    def places(self) -> tuple[IntArray, ...]:
        """For each table, the cell of every row of the joint domain; one past the last if in none."""
        return tuple(_cells(self.rows, self.columns, self.labels, table) for table in self.tables)


def join_tables(tables: Sequence[CountTable], people: int | None, order: Sequence[str] = ()) -> Joint:
    """What the tables say together; an error if the joint domain is too large to list.

    ``people`` is how many there are, if known. Columns come in ``order``, then the others as the tables have
    them, the secret last. If a table is about some of the people and says how many, that total is a table
    too. Shares become the counts that they can stand for; the counts of their base are in another table.
    """
    totals = [
        CountTable({}, [float(table.people)], where=table.where.text)
        for table in tables
        if table.where is not None and table.people is not None
    ]
    tables = [*tables, *totals]
    columns, labels = _columns_of(tables, order)
    shape = tuple(map(len, labels))
    size = prod(shape)
    if size > _MOST_ROWS or size * len(tables) > _MOST_ENTRIES:
        raise _too_large(columns, shape, size)
    rows = np.stack(np.unravel_index(np.arange(size), shape), axis=1)
    upper = np.full(size, np.inf if people is None else float(people))
    found: list[Certain] = []
    target, spread = [], []
    counts_first = sorted(range(len(tables)), key=lambda number: tables[number].shares_of is not None)
    by_counts: list[tuple[CountTable, Array, Array]] = []
    for number in counts_first:
        table = tables[number]
        place = _cells(rows, columns, labels, table)
        if table.shares_of is not None:
            low, high = counts_of_shares(table, base_bounds(table, by_counts, people))
            part = Certain(Sparse(_selection(place, low.size)), low, high, (), _origin(number, low.size))
            np.minimum(upper, np.append(high, np.inf)[place], out=upper)
            found.append(part)
            target.append(np.full(low.size, np.nan))
            spread.append(np.zeros(low.size))
            continue
        part, cells = _facts(number, table, place), table.counts.size
        by_counts.append((table, part.low[:cells], part.high[:cells]))
        np.minimum(upper, np.append(part.high[:cells], np.inf)[place], out=upper)
        found.append(part)
        gone = np.full(part.low.size - cells, np.nan)
        target += [table.counts * table.units, gone]
        std = noise_of(table.protections).assumed.ordinary.std * table.units
        spread.append(np.full(part.low.size, std if isfinite(std) else 0.0))
    if people is not None:
        every = Sparse(_selection(np.zeros(size, dtype=np.intp), 1))
        end = np.array([float(people)])
        found.append(Certain(every, end, end, (), np.array([[-1, -1]])))
        target.append(end)
        spread.append(np.zeros(1))
    certain = _stacked(found)
    return Joint(
        columns, labels, tuple(tables), certain, upper, people, np.concatenate(target), np.concatenate(spread)
    )


def _too_large(columns: Sequence[str], shape: Sequence[int], size: int) -> InvalidInput:
    listed = ", ".join(f"{name} {levels}" for name, levels in zip(columns, shape, strict=True))
    rule = f"about columns whose values have at most {_MOST_ROWS:,} combinations"
    return invalid("releases", rule, f"{size:,} ({listed})", "Use fewer columns, or coarser ones.")


def _columns_of(
    tables: Sequence[CountTable], order: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    known: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for name, labels in zip(table.columns, table.labels, strict=True):
            if known.setdefault(name, labels) != labels:
                rule = f"ones in which '{name}' has the same values in the same order"
                raise invalid("releases", rule, f"{len(known[name])} and {len(labels)} of them, not the same")
    first = [name for name in dict.fromkeys(order) if name in known]
    ordered = sorted(dict.fromkeys([*first, *known]), key=lambda name: name == SECRET)
    return tuple(ordered), tuple(known[name] for name in ordered)


def _cells(
    rows: IntArray, columns: Sequence[str], labels: Sequence[tuple[str, ...]], table: CountTable
) -> npt.NDArray[np.intp]:
    """The cell of a table that each row of the joint domain is in; one past the last if in none."""
    flat = np.zeros(rows.shape[0], dtype=np.intp)
    for name in table.columns:
        at = columns.index(name)
        flat = flat * len(labels[at]) + rows[:, at]
    if table.where is not None:
        flat[~_inside(rows, columns, labels, table.where)] = table.counts.size
    return flat


def _inside(
    rows: IntArray, columns: Sequence[str], labels: Sequence[tuple[str, ...]], where: Condition
) -> npt.NDArray[np.bool_]:
    """Which rows of the joint domain satisfy a condition, which must be about columns of the tables."""
    for name in sorted(where.columns):
        if name not in columns:
            raise invalid("where", "about columns of the tables", f"'{name}', which is in none")
    values = zip(columns, labels, strict=True)
    return where.mask(Public(tuple(Column(name, each) for name, each in values), rows.T))


def _selection(place: npt.NDArray[np.intp], cells: int) -> Any:
    """Cells × rows of the joint domain: which rows are in which cell."""
    from scipy.sparse import csr_array

    inside = np.flatnonzero(place < cells)
    return csr_array((np.ones(inside.size), (place[inside], inside)), shape=(cells, place.size))


def _origin(number: int, cells: int) -> IntArray:
    """The origin of each cell of a table: the table's number and the cell's index."""
    return np.column_stack([np.full(cells, number), np.arange(cells)])


def _facts(number: int, table: CountTable, place: npt.NDArray[np.intp]) -> Certain:
    """What is certain about the cells of a table, and about sums of neighbouring cells."""
    from scipy.sparse import csr_array, vstack

    cells = table.counts.size
    possible = possible_counts(table.counts, table.protections, table.units)
    operator = _selection(place, cells)
    layout = CellLayout((tuple(range(len(table.columns))),), (tuple(map(len, table.labels)),))
    sums = stretches_of(table.counts, layout, table.protections, table.units)
    origin = _origin(number, cells)
    if sums is None:
        return Certain(Sparse(operator), possible.low, possible.high, possible.gaps, origin)
    at = np.arange(cells)
    inside = (at >= sums.start[:, None]) & (at <= sums.stop[:, None])
    more = csr_array(inside.astype(np.float64)) @ operator
    return Certain(
        Sparse(csr_array(vstack([operator, more]))),
        np.concatenate([possible.low, sums.low]),
        np.concatenate([possible.high, sums.high]),
        possible.gaps,
        np.concatenate(
            [origin, np.column_stack([np.full(sums.low.size, number), np.full(sums.low.size, -1)])]
        ),
    )


def _stacked(parts: Sequence[Certain]) -> Certain:
    from scipy.sparse import csr_array, vstack

    starts = np.cumsum([0, *(each.low.size for each in parts)])
    gaps: Gaps = tuple(
        (row + int(start), counts)
        for start, each in zip(starts, parts, strict=False)
        for row, counts in each.gaps
    )
    return Certain(
        Sparse(csr_array(vstack([each.operator.to_sparse() for each in parts]))),
        np.concatenate([each.low for each in parts]),
        np.concatenate([each.high for each in parts]),
        gaps,
        np.concatenate([each.origin for each in parts]),
    )
