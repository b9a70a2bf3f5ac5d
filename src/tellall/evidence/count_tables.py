"""Tables of counts as they are published, with nobody's data: given, or taken out of a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.linalg.operators.linear_operator import Array
from tellall.people.bands import ColumnLabels
from tellall.people.codes import Column
from tellall.people.dataset import Outline, Public
from tellall.people.shape import Shape
from tellall.protections.protection import Protection, as_protections
from tellall.release.release import Release
from tellall.statistics.cell_counts import TOTAL, CellCounts
from tellall.statistics.conditions import Condition, Subset, parse_condition
from tellall.statistics.marginals import RATES, Marginals, Tables

__all__ = ["SECRET", "CountTable", "Shaped", "name_cell", "tables_in"]

SECRET = "secret"  # the name of the tabulated column of Marginals
_MOST_PEOPLE = 10**12  # in a cell; more than ever lived, and counted without error


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
    summed
        The columns that a total was summed over. If people may have no value of one of them, nobody knows
        whether the total counts these people, unless the table itself is there and tells.
    coded
        Columns whose labels are numbers of categories, with their cut points, or None if there are none.

    Notes
    -----
    Values may be bands ("20-29", "80+", "under 12"), which may overlap, and tables may have different bands
    of one column; people whose value is in no band are in no cell.

    Examples
    --------
    >>> CountTable({"age": ["0-19", "20+"], "sex": ["f", "m"]}, [[1, 0], [2, 3]])
    CountTable of age × sex: 4 cells; exact
    >>> from tellall.protections import Rounding
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
    summed: tuple[str, ...]
    coded: tuple[tuple[str, tuple[float, ...] | None], ...]

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
        summed: Sequence[str] = (),
        coded: Mapping[str, tuple[float, ...] | None] | None = None,
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
            "summed": tuple(summed),
            "coded": tuple((coded or {}).items()),
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
        return CountTable(
            dict(zip(self.columns, self.labels, strict=True)),
            self.counts,
            self.protections,
            self.people,
            where=where,
            shares_of=self.shares_of,
            units=self.units,
            summed=self.summed,
            coded=dict(self.coded),
        )

    def coding(self, name: str) -> ColumnLabels:
        """The values of a column as this table has them."""
        labels = self.labels[self.columns.index(name)]
        coded = dict(self.coded)
        return ColumnLabels(labels, name in coded, coded.get(name))

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


class Shaped(Outline):
    """Columns whose shape is all that is known."""

    left_out: tuple[NotDone, ...] = ()

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
    statistic = release.statistic
    shape = release.shape
    if release.where is not None:
        return _tables_where(release, release.where)
    if isinstance(statistic, CellCounts):
        return _printed_tables(release, statistic)
    if not isinstance(statistic, Tables | Marginals):
        raise invalid("releases", "tables of everybody (Tables, Marginals)", statistic.describe())
    if getattr(statistic, "weights", None) is not None:
        raise invalid("releases", "tables of people, without weights", statistic.describe())
    if shape is None:
        raise invalid("releases", "ones that say how many values each column has", "one that does not")
    outline = Shaped(shape)
    last = {SECRET: _numbered(release.levels)} if isinstance(statistic, Marginals) else {}
    cuts = {**dict(zip(shape.names, shape.cuts, strict=True)), SECRET: None}
    units = statistic.units(outline)
    if SECRET in shape.names and last:
        raise invalid("releases", f"without a public column called '{SECRET}'", "one with it")
    found = []
    start = 0
    for columns in statistic.tables(outline):
        names = {shape.names[column]: outline.columns[column].labels for column in columns} | last
        cells = prod(map(len, names.values()))
        values = release.values[start : start + cells]
        of = list(names)[:-1] if statistic.scale == RATES else None
        done = release.protections
        coded = {name: cuts[name] for name in names}
        found.append(CountTable(names, values, done, shape.people, shares_of=of, units=units, coded=coded))
        start += cells
    return found


def _tables_where(release: Release, where: Subset) -> list[CountTable]:
    """The tables of a release about some of the people; it needs printed labels and a condition in words."""
    statistic = release.statistic
    if where.words is None or not isinstance(statistic, CellCounts):
        rule = "of everybody, or with printed labels and a condition in words"
        advice = "Give each table as a CountTable with its values and where=."
        raise invalid("releases", rule, release.describe(), advice)
    return [table.about(where.words) for table in _printed_tables(release, statistic)]


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
    codes = cells[:, :-1]
    value = cells[:, -1]
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
            over = [name for name in names if name not in kept]
            found.append(CountTable(columns, counts, release.protections, summed=over, coded={SECRET: None}))
    return found
