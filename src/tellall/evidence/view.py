"""Views: what an attacker who knows some public columns of some people can use of a release.

Tables are summed over columns that the attacker does not know, or knows only in coarser categories. People
the attacker does not know, and people who may not be in the release, turn equations into intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.evidence.bounds import Bounds
from tellall.evidence.evidence import ReleaseEquations, Rows
from tellall.linalg.operators.linear_operator import Array, Dense, IntArray
from tellall.people.codes import Column, Numbers
from tellall.people.cuts import cut_labels
from tellall.people.dataset import Outline, Public
from tellall.people.shape import Shape
from tellall.protections.protection import Exact
from tellall.release.release import Release
from tellall.statistics.statistic import CellLayout, Equations, Statistic, tables_of

__all__ = [
    "EVERYTHING",
    "SAME_PEOPLE",
    "UNKNOWN_TO_ATTACKER",
    "AddedCells",
    "Knowledge",
    "PopulationMismatch",
    "Restriction",
    "fit_columns",
    "nothing",
    "other_columns",
    "restrict",
    "widen",
]

UNKNOWN_TO_ATTACKER = "unknown-to-attacker"  # the code of what needs columns that this attacker does not know


@dataclass(frozen=True)
class Knowledge:
    """What an attacker knows in addition to the public columns of the view, and what is missing.

    Attributes
    ----------
    missing
        How many people the releases count who are not in the view; None: taken from exact totals.
    may_include
        Whether the view has people who may not be in a release.
    secrets
        The secrets that the attacker knows already, by the person's row.
    """

    missing: int | None = None
    may_include: bool = False
    secrets: Mapping[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.missing is not None and not (is_whole(self.missing) and self.missing >= 0):
            raise invalid("missing", "a number of people, zero or more, or None", self.missing)
        if not isinstance(self.may_include, bool | np.bool_):
            raise invalid("may_include", "True or False", self.may_include)
        if not isinstance(self.secrets, Mapping):
            raise invalid("known_secrets", "a mapping from rows to values, such as {7: 1}", self.secrets)


EVERYTHING = Knowledge()


@dataclass(frozen=True)
class Known(Outline):
    """The columns of a release, as far as the release itself describes them."""

    columns: tuple[Column, ...]
    people: int
    left_out: tuple[NotDone, ...] = ()

    @classmethod
    def of(cls, shape: Shape) -> Known:
        """The columns of this shape; their categories have no names."""
        each = zip(shape.names, shape.levels, shape.cuts, strict=True)
        return cls(tuple(Column(name, ("",) * levels, cuts) for name, levels, cuts in each), shape.people)

    @property
    def n(self) -> int:
        """How many people."""
        return self.people


# Columns: the view in the columns of the release, with coarser or merged categories where less is known.


def fit_columns(shape: Shape, view: Public) -> tuple[Public, list[IntArray]]:
    """The view with the release's columns, and for each column the view's category of each of its categories.

    An unknown column has one category for everybody. Numbers that the view cuts at other points are cut again
    at the release's points.
    """
    columns: list[Column] = []
    codes: list[IntArray] = []
    numbers: list[Array | None] = []
    merged: list[IntArray] = []
    for name, levels, cuts in zip(shape.names, shape.levels, shape.cuts, strict=True):
        if name not in view.names:
            columns.append(Column(name, ("",)))
            codes.append(np.zeros(view.n, dtype=np.uint8))
            numbers.append(None)
            merged.append(np.zeros(levels, dtype=np.intp))
            continue
        place = view.names.index(name)
        column = view.columns[place]
        own = np.asarray(view.codes[place])
        values = view.numbers[place] if view.numbers else None
        if (column.cuts != cuts or column.levels != levels) and values is not None and cuts is not None:
            column, own = _cut_again(column, values, cuts)
        columns.append(column)
        codes.append(own)
        numbers.append(values)
        merged.append(_merging(column, levels, cuts))
    stacked = np.stack(codes) if codes else np.zeros((0, view.n), dtype=np.uint8)
    others = {j: one for j, one in enumerate(numbers) if one is None or columns[j].labels != ("0", "1")}
    return Public(tuple(columns), stacked, Numbers(stacked, others), view.left_out), merged


def _cut_again(column: Column, values: Array, cuts: tuple[float, ...]) -> tuple[Column, IntArray]:
    """The column cut at other points."""
    gone = np.isnan(values)
    codes = np.where(gone, len(cuts) + 1, np.searchsorted(np.array(cuts), values, side="left"))
    labels = (*cut_labels(cuts), *((column.labels[-1],) if column.gaps else ()))
    return Column(column.name, labels, cuts, column.gaps), codes.astype(np.int64)


def _merging(column: Column, levels: int, cuts: tuple[float, ...] | None) -> IntArray:
    """For each category of a column in the release, the category that the attacker knows."""
    if column.parts is not None and len(column.parts) == levels:
        return np.array(column.parts, dtype=np.intp)
    if column.cuts == cuts and column.levels == levels:
        return np.arange(levels)
    if column.cuts is not None and cuts is not None and set(column.cuts) <= set(cuts):
        edges = np.append(np.array(cuts), np.inf)
        found = np.searchsorted(np.array(column.cuts), edges, side="left")
        if column.levels == len(column.cuts) + 1 + column.gaps and levels == len(cuts) + 1 + column.gaps:
            return np.append(found, [column.levels - 1] * column.gaps).astype(np.intp)
    what = f"other cut points of {column.name}"
    if column.cuts == cuts:
        what = f"{column.levels:,} categories of {column.name}, not {levels:,}"
    raise invalid("public", "the people the release was made for", what)


def _unknown(what: str, reason: str) -> NotDone:
    """What an attacker with these columns cannot use."""
    return NotDone(what, reason, "use", UNKNOWN_TO_ATTACKER)


# Sums over what is not known.


@dataclass(frozen=True, eq=False)
class AddedCells:
    """Published values added up to ``size`` sums: ``index`` says to which sum each value belongs."""

    index: IntArray
    size: int

    @classmethod
    def of(cls, fine: CellLayout, coarse: CellLayout, merged: Sequence[IntArray]) -> AddedCells:
        """The cells of tables, added up over the categories that the attacker cannot tell apart."""
        parts = [np.zeros(0, dtype=np.intp)]
        start = 0
        for columns, before, after in zip(fine.columns, fine.shapes, coarse.shapes, strict=True):
            axes = [*(merged[column] for column in columns), np.arange(before[-1])]
            grid = np.meshgrid(*axes, indexing="ij")
            parts.append(start + np.ravel_multi_index([each.ravel() for each in grid], after))
            start += int(np.prod(after))
        return cls(np.concatenate(parts), start)

    @property
    def terms(self) -> Array:
        """How many values each sum adds up."""
        return np.bincount(self.index, minlength=self.size).astype(np.float64)

    def add(self, values: Array) -> Array:
        """The sums; missing if one of their values is."""
        return np.bincount(self.index, values, minlength=self.size).astype(np.float64)

    def add_possible(self, possible: Bounds) -> Bounds:
        """The possible values of the sums."""
        return Bounds(self.add(possible.low), self.add(possible.high))


@dataclass(frozen=True, eq=False)
class Restriction:
    """The part of a release that a view of the people lets one use.

    Attributes
    ----------
    statistic
        The statistic without the parts that need unknown columns; None if nothing is left.
    public
        The view with the release's columns.
    chosen
        Which published values are left, by index; None for all.
    sums
        How these values are added up; None if they are used one by one.
    skipped
        What cannot be used, and why.
    """

    statistic: Statistic | None
    public: Public
    chosen: IntArray | None = None
    sums: AddedCells | None = None
    skipped: tuple[NotDone, ...] = ()


def restrict(release: Release, view: Public) -> Restriction:
    """The part of a release about these people that a view lets one use.

    Notes
    -----
    Tables whose cells add up are summed over the unknown columns. Other statistics lose the values that need
    a column which the attacker does not know as finely as the release has it.
    """
    shape = release.shape
    statistic = release.statistic
    assert shape is not None
    if view.names and not set(view.names) & set(shape.names):
        raise invalid(
            "public", f"the columns of the release ({', '.join(shape.names)})", ", ".join(view.names)
        )
    public, merged = fit_columns(shape, view)
    unknown = [
        name
        for name, levels, merge in zip(shape.names, shape.levels, merged, strict=True)
        if not np.array_equal(merge, np.arange(levels))
    ]
    if not unknown:
        return Restriction(statistic, public)
    outline = Known.of(shape)
    if statistic.adds_up:
        fine, coarse = (
            tables_of(statistic, each, release.levels) for each in (cast(Public, outline), public)
        )
        return Restriction(statistic, public, sums=AddedCells.of(fine, coarse, merged))
    all_need = statistic.needs(outline)
    if all_need is not None and not all_need & set(unknown):
        return Restriction(statistic, public)
    found = statistic.without(unknown, outline)
    chosen = np.zeros(0, dtype=np.intp) if found is None else found[1]
    less = release.values.size - chosen.size
    if not less:
        return Restriction(statistic, public)
    needed = [
        name
        for name in unknown
        if all_need is None or name in all_need
        if (rest := statistic.without([name], outline)) is None or rest[1].size < release.values.size
    ]
    what = statistic.describe() if found is None else f"{less:,} values of {statistic.describe()}"
    why = _unknown(what, f"needs {', '.join(needed)}, which this attacker does not know")
    return Restriction(None if found is None else found[0], public, chosen, skipped=(why,))


def other_columns(release: Release, view: Public) -> InvalidInput:
    """The error for people with other columns than those of a release."""
    rule = f"the columns of the release ({', '.join(release.columns)})"
    return invalid("public", rule, ", ".join(view.names))


def nothing(n: int, levels: int, why: NotDone) -> ReleaseEquations:
    """No equations: for a release that the attacker cannot use."""
    none = np.zeros(0)
    width = n * (levels if levels > 2 else 1)
    alike = np.zeros(n, dtype=np.intp)
    rows = Rows.exact(none)
    return ReleaseEquations(
        Dense(np.zeros((0, width))),
        np.zeros(0, np.intp),
        rows,
        Exact(),
        alike,
        Bounds(none, none),
        None,
        (why,),
    )


# People in the release but not in the view, and the other way round.


@dataclass(frozen=True)
class PopulationMismatch:
    """At most how many people of the release are not in the view (missing), and the reverse (absent)."""

    missing: int = 0
    absent: int = 0

    @classmethod
    def of(cls, release: Release, n: int, known: Knowledge, *, part: bool = False) -> PopulationMismatch:
        """Those of a release and a view of n people; ``part``: the release is about only some people."""
        counted = n if release.shape is None else release.shape.people
        more = counted - n
        if known.may_include:
            missing = known.missing or 0
            if more > missing:
                raise invalid("missing", f"at least {more:,}, since the release counts {counted:,}", missing)
            return cls(missing, n + missing - counted)
        if known.missing is not None and (known.missing == more or (part and 0 <= more <= known.missing)):
            return cls(more)
        if more == 0 and known.missing is None:
            return cls()
        if more > 0 and known.missing is None and _exact_totals(release):
            return cls(more)
        if known.missing is not None:
            rule = f"{more:,}, since the release counts {counted:,} people and the view holds {n:,}"
            raise invalid("missing", rule, known.missing)
        advice = (
            "Say which of them it is about (where, or --where), or that it is not known who is in it "
            "(may_include, or --may-include)."
        )
        if more > 0:
            advice = (
                f"If it counts {more:,} people whom the attacker does not know, say so (missing={more}, or "
                f"--missing {more})."
            )
        rule = "the people the release was made for"
        raise invalid("public", rule, f"{n:,} people, not {counted:,}", advice)

    def rows(self, equations: Equations, possible: Bounds | None, last: int) -> tuple[Array, Array]:
        """By how much missing and absent people can change each row, at most.

        ``last`` is how many neighbouring cells together count all people of a public cell (the number of
        values of the secret); zero if the values are not tables.
        """
        size = equations.target.size
        if not last:
            return np.full(size, float(self.missing)), np.full(size, float(self.absent))
        here = equations.squares
        more = np.full(size, float(self.missing))
        fewer = np.minimum(float(self.absent), here)
        if possible is None:
            return more, fewer
        low, high = (
            np.repeat(side.reshape(-1, last).sum(axis=1), last) for side in (possible.low, possible.high)
        )
        most = np.minimum(more, np.maximum(high - here + fewer, 0.0))
        return most, np.minimum(fewer, np.maximum(here - low + more, 0.0))


SAME_PEOPLE = PopulationMismatch()


def _exact_totals(release: Release) -> bool:
    """Whether some table is shown completely and without error."""
    if not (release.statistic.adds_up and release.noise.known and release.noise.bound == 0):
        return False
    assert release.shape is not None
    layout = tables_of(release.statistic, cast(Public, Known.of(release.shape)), release.levels)
    ends = np.cumsum([int(np.prod(shape)) for shape in layout.shapes])
    return any(not np.isnan(cells).any() for cells in np.split(release.values, ends[:-1]))


def widen(rows: Rows, more: Array, fewer: Array) -> Rows:
    """The rows if values may count this many people too many or too few: A s is in [z − more, z + fewer].

    Exact rows become intervals.
    """
    half = (more + fewer) / 2
    wide = half > 0
    slack = rows.slack + half + np.where(wide & (rows.slack == 0), 0.5, 0.0)
    spread = np.hypot(rows.rest, slack / np.sqrt(3))
    return Rows(
        rows.target + (fewer - more) / 2,
        np.where(wide, spread, rows.std),
        np.where(wide, spread, rows.spread),
        rows.bound + half,
        np.where(wide, slack, rows.slack),
        rows.rest,
        rows.unseen | (wide & (rows.std == 0)),
    )
