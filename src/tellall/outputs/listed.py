"""Listed cells: a table line by line, its subtotals and totals among them, some values withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.evidence.count_tables import SECRET, CountTable, Shaped, tables_in
from tellall.evidence.undo import possible_counts, possible_values
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.solution import Gaps, Mask
from tellall.outputs.grids import TOTALS
from tellall.people.bands import ColumnLabels
from tellall.people.dataset import Dataset, Public
from tellall.protections.concentration import (
    Concentration,
    cells_of_people,
    contributions_of,
    largest_of,
)
from tellall.protections.protection import Protection, as_protections
from tellall.release.release import Release
from tellall.statistics.cells import CellNumbers
from tellall.statistics.conditions import Condition, parse_condition
from tellall.statistics.where import people_where

__all__ = ["COUNTS", "KnownSum", "ListedCells", "is_total", "listed_in"]

COUNTS = ""  # the variable of tables of people


def _each(given: npt.ArrayLike | None, otherwise: float, size: int) -> Array:
    if given is None:
        return np.full(size, otherwise)
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (size,)).copy()


def is_total(label: str) -> bool:
    """Whether a label stands for everybody.

    Examples
    --------
    >>> is_total("Total"), is_total("North")
    (True, False)
    """
    return label.lower() in TOTALS


@dataclass(frozen=True)
class KnownSum:
    """Some lines of a table less others are a number that everybody knows, mostly zero."""

    plus: tuple[int, ...]
    minus: tuple[int, ...]
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class ListedCells:
    """Cells of a table as they are listed: its codes, what is shown, and what is withheld.

    Parameters
    ----------
    columns
        For each column, by its name, the code of every line; "Total" stands for everybody.
    values
        What is shown on each line; NaN where nothing is.
    withheld
        Which lines are withheld; by default those that show nothing.
    variable
        What is added up: "" for numbers of people, otherwise the name of an amount.
    protect
        What is known to have been done to the values, in order; None if those that are shown are exact.
    name
        What the table is called.
    secret
        The values that are withheld too, as the publisher knows them; never part of what an outsider uses.
    primary
        Which of the withheld lines a rule withholds; by default all. The others protect them.
    where
        Which people it is about, if not everybody: a condition on columns of the tables.
    low, high
        What is known of each value anyway, on the scale of sums.
    units
        What a value is multiplied by to be a sum: the number of people, if it is a mean.
    coded
        Columns whose codes are numbers of categories, with their cut points, or None if there are none.
    margin
        How far an outsider's interval has to reach beyond each withheld value, if a rule says so; NaN where
        none does.
    fixed
        Which lines have to be shown, so that they cannot be withheld to protect others.
    sums
        Sums of lines that everybody knows, where codes do not tell them.

    Examples
    --------
    >>> ListedCells({"sex": ["f", "m", "Total"]}, [float("nan"), 4, 9])
    ListedCells of sex: 3 lines, 1 withheld
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: IntArray
    values: Array
    withheld: Mask
    variable: str
    protections: tuple[Protection, ...]
    name: str
    secret: Array | None
    margin: Array
    primary: Mask
    where: Condition | None
    units: float | Array
    low: Array
    high: Array
    coded: tuple[tuple[str, tuple[float, ...] | None], ...]
    fixed: Mask
    sums: tuple[KnownSum, ...]

    def __init__(
        self,
        columns: Mapping[str, Sequence[object]],
        values: npt.ArrayLike,
        withheld: npt.ArrayLike | None = None,
        *,
        variable: str = COUNTS,
        protect: Protection | Sequence[Protection] | None = None,
        name: str = "",
        secret: npt.ArrayLike | None = None,
        margin: npt.ArrayLike | None = None,
        primary: npt.ArrayLike | None = None,
        where: str | None = None,
        units: float | Array = 1.0,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        coded: Mapping[str, tuple[float, ...] | None] | None = None,
        fixed: npt.ArrayLike | None = None,
        sums: Sequence[KnownSum] = (),
    ) -> None:
        texts = {str(key): [str(each) for each in codes] for key, codes in columns.items()}
        shown = np.array(values, dtype=np.float64).ravel()
        if any(len(codes) != shown.size for codes in texts.values()):
            raise invalid("columns", f"a code for each of {shown.size} values", "another number of codes")
        gone = np.isnan(shown) if withheld is None else np.array(withheld, dtype=bool).ravel()
        if gone.shape != shown.shape:
            raise invalid("withheld", f"true or false for each of {shown.size} values", f"{gone.size} values")
        if np.isinf(shown).any():
            raise invalid("values", "finite, or NaN where nothing is shown", "an infinite one")
        labels = tuple(tuple(dict.fromkeys(codes)) for codes in texts.values())
        places = [{label: at for at, label in enumerate(each)} for each in labels]
        codes = [[place[code] for code in own] for place, own in zip(places, texts.values(), strict=True)]
        index = np.array(codes, dtype=np.intp).reshape(len(texts), shown.size).T
        if len(np.unique(index, axis=0)) < shown.size and texts:
            raise invalid("columns", "lines that each are another cell", "a cell that is listed twice")
        given = {
            "columns": tuple(texts),
            "labels": labels,
            "codes": index,
            "values": np.where(gone, np.nan, shown),
            "withheld": gone,
            "variable": variable,
            "protections": as_protections(protect),
            "name": name or " × ".join(texts) or "total",
            "secret": None if secret is None else _each(secret, 0.0, shown.size),
            "margin": _each(margin, np.nan, shown.size),
            "primary": gone if primary is None else np.array(primary, dtype=bool).ravel() & gone,
            "where": None if where is None else parse_condition(where),
            "units": units,
            "low": _each(low, 0.0 if variable == COUNTS else -np.inf, shown.size),
            "high": _each(high, np.inf, shown.size),
            "coded": tuple((coded or {}).items()),
            "fixed": np.zeros(shown.size, dtype=bool)
            if fixed is None
            else np.array(fixed, dtype=bool).ravel(),
            "sums": tuple(sums),
        }
        for key, value in given.items():
            object.__setattr__(self, key, value)

    @property
    def truth(self) -> Array:
        """What each line has: what is shown, or what the publisher told of it; NaN where neither is known."""
        return self.values if self.secret is None else np.where(self.withheld, self.secret, self.values)

    def hiding(self, withheld: Mask) -> ListedCells:
        """The table with these lines withheld and all others shown."""
        truth = self.truth
        return self._but(
            values=np.where(withheld, np.nan, truth),
            withheld=withheld,
            primary=self.primary & withheld,
            secret=truth,
        )

    def near_within(self, percent: float) -> ListedCells:
        """The table; withheld values must not be known to within so many percent, if no rule says more."""
        own = np.abs(self.truth) * percent / 100
        return self._but(margin=np.where(np.isnan(self.margin) & self.withheld, own, self.margin))

    def _but(self, **changes: object) -> ListedCells:
        found = copy(self)
        for key, value in changes.items():
            object.__setattr__(found, key, value)
        return found

    @classmethod
    def of_table(cls, table: CountTable) -> ListedCells:
        """A table of counts, line by line."""
        if table.shares_of is not None:
            raise invalid("releases", "tables of counts or sums", f"shares ({table.describe()})")
        cells = table.counts.size
        shape = tuple(map(len, table.labels))
        places = np.unravel_index(np.arange(cells), shape) if shape else ()
        columns = {
            name: [labels[at] for at in own]
            for name, labels, own in zip(table.columns, table.labels, places, strict=True)
        }
        where = None if table.where is None else table.where.text
        return cls(
            columns,
            table.counts,
            protect=table.protections,
            name=table.describe(),
            where=where,
            units=table.units,
            coded=dict(table.coded),
        )

    def coding(self, name: str) -> ColumnLabels:
        """The codes of a column without those that stand for everybody."""
        at = self.columns.index(name)
        coded = dict(self.coded)
        own = tuple(label for label in self.labels[at] if not is_total(label))
        return ColumnLabels(own, name in coded, coded.get(name))

    def cell(self, line: int) -> dict[str, str]:
        """The code of each column on a line."""
        each = zip(self.columns, self.labels, self.codes[line].tolist(), strict=True)
        return {name: labels[code] for name, labels, code in each}

    def possible(self) -> tuple[Array, Array, Gaps]:
        """The least and the largest value of each line by itself, and whole numbers between that are not.

        They are on the scale of sums: of a mean, that times the number of people.
        """
        free = np.isnan(self.values) & ~self.withheld  # nobody says why these are not there
        gaps: Gaps = ()
        if self.variable == COUNTS:
            found = possible_counts(self.values, self.protections, float(self.units))
            low, high = np.maximum(found.low, 0.0), found.high
            gaps = tuple((row, each) for row, each in found.gaps if not free[row])
        else:
            low, high = possible_values(self.values, self.protections)
        low = np.where(free, -np.inf, low) * self.units
        high = np.where(free, np.inf, high) * self.units
        return np.maximum(low, self.low), np.minimum(high, self.high), gaps

    def __repr__(self) -> str:
        of = f", {self.variable}" if self.variable else ""
        return (
            f"ListedCells of {self.name}{of}: {self.values.size} lines, {int(self.withheld.sum())} withheld"
        )


def listed_in(
    release: Release, public: Public | None = None, people: Dataset | None = None
) -> list[ListedCells]:
    """The tables of a release line by line, counts or sums or means.

    Parameters
    ----------
    public
        The public columns of everybody, if they are known; means of groups of unknown size are refused.
    people
        The people themselves, if they are known. Then the rule that withheld sums says how far an outsider
        has to be from them.
    """
    statistic = release.statistic
    if not isinstance(statistic, CellNumbers):
        return [ListedCells.of_table(table) for table in tables_in(release)]
    if release.shape is None:
        raise invalid("releases", "ones that say how many values each column has", "one that does not")
    where = _condition(release)
    inside = None if public is None else public.take(people_where(release.where, public))
    outline = Shaped(release.shape)
    sets = statistic.sets(outline)
    sizes = [prod(outline.levels[column] for column in columns) for columns in sets]
    numbers = sum(sizes)
    counted = release.values[numbers:] if statistic.counts else np.full(numbers, np.nan)
    margins, secret = _margins(release, people), _secret(release, people)
    found, start = [], 0
    for columns, size in zip(sets, sizes, strict=True):
        here = slice(start, start + size)
        start += size
        of = {outline.names[column]: outline.columns[column].labels for column in columns}
        places = np.unravel_index(np.arange(size), tuple(map(len, of.values()))) if of else ()
        listed = {
            name: [labels[at] for at in own] for (name, labels), own in zip(of.items(), places, strict=True)
        }
        totals = counted[here]
        if inside is not None:
            totals = _weight_in(statistic, inside, columns, size)
        factors = statistic.factors(np.where(totals == 0, np.nan, totals))
        values = release.values[here]
        empty = totals == 0  # of nobody there is no mean, and a sum of nothing
        if statistic.noun == "means" and np.isnan(factors[~empty]).any():
            advice = "Give public=, or publish them with counts=True."
            raise invalid(
                "releases", "sums, or means with the number of people in each cell", "means", advice
            )
        ends = np.where(empty, 0.0, np.inf)
        table = ListedCells(
            listed,
            values,
            np.isnan(values) & ~empty,
            variable=SECRET if statistic.weights is None else f"{SECRET} × {statistic.weights}",
            protect=release.protections,
            margin=margins[here] / np.where(empty, 1.0, 1 / factors),
            secret=None if secret is None else secret[here],
            where=where,
            units=np.where(empty, 1.0, 1 / factors),
            low=-ends,
            high=ends,
            coded={outline.names[column]: outline.columns[column].cuts for column in columns},
        )
        found.append(table)
    return found


def _condition(release: Release) -> str | None:
    """Which people a release is about, in words; a mask cannot be told without the people."""
    if release.where is None:
        return None
    if release.where.words is None:
        raise invalid("releases", "about everybody, or about people in words", "one with a mask of people")
    return release.where.words


def _weight_in(statistic: CellNumbers, public: Public, columns: tuple[int, ...], cells: int) -> Array:
    """How many people, or how much weight, each cell has."""
    shape = tuple(public.levels[column] for column in columns)
    codes = [np.asarray(public.codes[column]) for column in columns]
    at = np.ravel_multi_index(tuple(codes), shape) if columns else np.zeros(public.n, dtype=np.intp)
    return np.bincount(at, statistic.own_weights(public), minlength=cells).astype(np.float64)


def _inside(release: Release, people: Dataset) -> Dataset:
    """The people whom a release is about."""
    return people if release.where is None else people.take(people_where(release.where, people.public))


def _secret(release: Release, people: Dataset | None) -> Array | None:
    """The values before anything was done to them, if the people are known."""
    return None if people is None else release.exact(people)


def _margins(release: Release, people: Dataset | None) -> Array:
    """How far an outsider has to be from each withheld value, if a rule withheld it and people are known."""
    margins = np.full(release.values.size, np.nan)
    statistic = release.statistic
    rules = [each for each in release.protections if isinstance(each, Concentration)]
    if people is None or not rules or not isinstance(statistic, CellNumbers):
        return margins
    inside = _inside(release, people)
    own, start = contributions_of(statistic, inside), 0
    for cell, cells in cells_of_people(statistic, inside.public):
        total = np.bincount(cell, own, minlength=cells).astype(np.float64)
        for rule in rules:
            largest = largest_of(cell, cells, own, rule.looked_at)
            broken = rule.breaks(total, largest)
            margins[start : start + cells][broken] = np.fmax(
                margins[start : start + cells], rule.margin(total, largest)
            )[broken]
        start += cells
    return margins
