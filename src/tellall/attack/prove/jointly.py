"""Solves for what the attacker does not know together with the secret, in small cases.

The unknowns: columns of people in the view, rows of people outside the view, and who is in a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, cast

import numpy as np

from tellall.attack.prove.proof import Budget, Ends, Proof, prove, search_parts, with_open
from tellall.attack.secret import Code, Secret
from tellall.core.amounts import count_of
from tellall.evidence.bounds import Bounds, Certain, NeighbourSums, sums_of
from tellall.evidence.evidence import Evidence
from tellall.evidence.undo import neighbour_sums, possible_counts
from tellall.evidence.usable import unknown_condition
from tellall.evidence.view import (
    SAME_PEOPLE,
    Knowledge,
    Known,
    PopulationMismatch,
    fit_columns,
)
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.solution import Enclosure, Gaps, Mask, enclose
from tellall.people.dataset import Public
from tellall.release.release import Release
from tellall.statistics.statistic import tables_of

__all__ = ["prove_releases"]

_MOST_UNKNOWNS = 10_000  # counts of people by group or row, unknown columns and secret
_MOST_ENTRIES = 500_000
_MOST_CHECKED = 2_000_000  # groups × combinations of unknown columns


def prove_releases(
    evidence: Evidence,
    releases: Sequence[Release],
    view: Public,
    known: Knowledge,
    effort: int,
    *,
    interruptible: bool = True,
) -> Proof:
    """Returns what `prove` proves about the people of a view, and what solving for the unknowns adds.

    Notes
    -----
    Let x[g, u, s] be the number of people of group g who have the values u of the unknown columns and the
    secret s. A cell of a table is a sum of these, Σ_u,s x[g, u, s] is the size of the group, and the count
    asked for is Σ_u x[g, u, s]. People whom a release counts but who are not in the view have counts y[v, s]
    of their own for each release, v being the values of all columns of its tables. If people of the view may
    be absent from a release, z[g, u, s] ≤ x[g, u, s] of them are in it. Bounds are propagated through all of
    this, and each part is searched (`settle`). Tables of counts and of fractions are used, about everybody or
    about people who are known. With more than 10,000 unknowns, only sums over unknown columns and
    cell-by-cell bounds on unknown people (`restrict`) are used. The proof's ``note`` says which was done.
    """
    secret = Secret.of(releases[0].levels)
    proof = prove(evidence, secret, effort, interruptible=interruptible)
    seen = [_Counted.of(release, view, known, evidence) for release in releases]
    tables = _Unknown.of([each for each in seen if each is not None], evidence, max(2, releases[0].levels))
    if tables is None:
        return proof
    box = proof.enclosure
    if reason := _not_solved(tables, secret, box, effort - proof.steps):
        said = f"{tables.words}. It was not solved for, but summed over or bounded cell by cell: {reason}."
        return replace(proof, note=said)
    certain, upper = tables.system(evidence, box)
    wide = upper.size - box.upper.size
    lower = np.concatenate([box.lower, np.zeros(wide)])
    found = enclose(certain.operator, certain.low, certain.high, upper=upper, lower=lower)
    size = np.concatenate([evidence.system.size.astype(np.float64), np.full(wide, -1.0)])
    settles = isinstance(secret, Code) and not secret.exclusive
    zero = (np.arange(size.size) < box.upper.size) & settles
    budget = Budget(effort - proof.steps)
    searched = search_parts(certain, found, Ends(size, zero), budget, interruptible=interruptible)
    asked, found = slice(None, box.upper.size), searched.box
    joined = replace(
        proof,
        enclosure=Enclosure(found.lower[asked], found.upper[asked], found.empty),
        steps=proof.steps + searched.steps,
        interrupted=proof.interrupted or searched.stopped,
        jointly=tables.parts,
        note=f"{tables.words}. It was solved for together with the secret.",
    )
    if found.empty or not isinstance(secret, Code):
        return joined
    return with_open(evidence, secret, joined, searched.left[asked], searched.loose[asked])


def _not_solved(tables: _Unknown, secret: Secret, box: Enclosure, effort: int) -> str:
    """Returns why the unknowns are not solved for; empty if they are."""
    if not isinstance(secret, Code):
        return "the secret is a number"
    if not any(each.bounded for each in tables.releases):
        return "the errors of what was published have no bounds, so nothing would be proved"
    if box.empty:
        return "the published values contradict each other"
    if not (box.lower < box.upper).any():
        return "that settles all that can be settled"
    if tables.unknowns > _MOST_UNKNOWNS or tables.entries > _MOST_ENTRIES:
        return f"that would take {tables.unknowns:,} unknown counts, too many to be searched"
    return "" if effort > 0 else "the steps of the search for proofs are used up"


# What is unknown, and the equations about it.


@dataclass(frozen=True)
class _Column:
    """A column as a release has it; if another release cuts it differently, that is another unknown."""

    name: str
    levels: int
    cuts: tuple[float, ...] | None


@dataclass(frozen=True, eq=False)
class _Counted:
    """Tables of counts as a view sees them.

    Attributes
    ----------
    release
        The release, without the condition that selects its people.
    columns
        The columns of its tables, as the release has them.
    codes
        The categories of each group's people in these columns, as the view has them: columns × groups.
    merged
        For each column, the view's category for each of the release's.
    inside
        Which groups it is about.
    mismatch
        How many people outside the view it counts, and how many people of the view it does not.
    at_most
        Whether the number outside the view is only an upper limit.
    """

    release: Release
    columns: tuple[_Column, ...]
    codes: IntArray
    merged: tuple[IntArray, ...]
    inside: Mask
    mismatch: PopulationMismatch
    at_most: bool

    @classmethod
    def of(cls, release: Release, view: Public, known: Knowledge, evidence: Evidence) -> _Counted | None:
        """Returns the tables of a release; None if it has none that add up, or if all of it is known.

        Also None if it is not known which people it is about.
        """
        first, inside = evidence.groups.first, np.ones(len(evidence.groups), dtype=bool)
        where = release.where
        if where is not None:
            if unknown_condition(release, view):
                return None
            inside = where.members(view, "where")[first]
            release = replace(release, where=None)
        shape = release.shape
        if shape is None or not release.statistic.adds_up:
            return None
        people = int(evidence.groups.counts[inside].sum())
        mismatch = SAME_PEOPLE
        if known.missing is not None or known.may_include or shape.people != people:
            mismatch = PopulationMismatch.of(release, people, known, part=where is not None)
        if mismatch == SAME_PEOPLE and replace(shape, people=view.n) == view.shape:
            return None
        public, merged = fit_columns(shape, view)
        used = sorted({one for each in release.statistic.tables(_outline(release)) for one in each})
        codes = np.array([np.asarray(public.codes[at])[first] for at in used], dtype=np.intp)
        return cls(
            release,
            tuple(_Column(shape.names[at], shape.levels[at], shape.cuts[at]) for at in used),
            codes.reshape(len(used), first.size),
            tuple(merged[at] for at in used),
            inside,
            mismatch,
            at_most=known.may_include,
        )

    @property
    def bounded(self) -> bool:
        """Whether its values give bounds on counts."""
        return self.release.noise.known and np.isfinite(self.release.noise.bound)

    @property
    def unknown(self) -> tuple[_Column, ...]:
        """The columns that the attacker does not know in the release's categories."""
        each = zip(self.columns, self.merged, strict=True)
        return tuple(one for one, merged in each if not np.array_equal(merged, np.arange(one.levels)))

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of categories of each of its columns."""
        return tuple(column.levels for column in self.columns)

    @property
    def rows(self) -> int:
        """How many different rows somebody outside the view may have."""
        return prod(self.levels) if self.mismatch.missing else 0

    @property
    def tables(self) -> int:
        """How many tables it has."""
        return len(self.release.statistic.tables(_outline(self.release)))

    def cells(self, codes: Sequence[IntArray], value: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the cell of every table that counts each unknown, by its categories and its value.

        The answer is pairs of cell and unknown.
        """
        fine = tables_of(self.release.statistic, _outline(self.release), self.release.levels)
        assert self.release.shape is not None
        names = self.release.shape.names
        place = {names.index(one.name): code for one, code in zip(self.columns, codes, strict=True)}
        cells, start = [], 0
        for columns, sizes in zip(fine.columns, fine.shapes, strict=True):
            axes = [*(place[column] for column in columns), value]
            cells.append(start + np.ravel_multi_index(axes, sizes))
            start += int(np.prod(sizes))
        return np.concatenate(cells), np.tile(np.arange(value.size), len(cells))


def _outline(release: Release) -> Public:
    assert release.shape is not None
    return cast(Public, Known.of(release.shape))


def _combinations(index: IntArray, levels: Sequence[int]) -> tuple[IntArray, ...]:
    """Returns the category of each column in these combinations of all of them."""
    return tuple(np.unravel_index(index, tuple(levels))) if levels else ()


@dataclass
class _Builder:
    """A system of counts as it grows: unknowns from zero to an upper limit, and rows about them."""

    upper: list[Array] = field(default_factory=list)
    low: list[Array] = field(default_factory=list)
    high: list[Array] = field(default_factory=list)
    gaps: list[tuple[int, Any]] = field(default_factory=list)
    entries: list[tuple[IntArray, IntArray, Array]] = field(default_factory=list)

    def counts(self, upper: Array) -> IntArray:
        """Adds unknowns; returns their indices."""
        start = sum(each.size for each in self.upper)
        self.upper.append(upper)
        return start + np.arange(upper.size)

    def rows(self, low: Array, high: Array, gaps: Gaps = ()) -> int:
        """Adds rows without any unknowns in them; returns the index of the first."""
        start = sum(each.size for each in self.low)
        self.low.append(low)
        self.high.append(high)
        self.gaps += [(start + row, counts) for row, counts in gaps]
        return start

    def add(self, row: IntArray, unknown: IntArray, factor: Array | float = 1.0) -> None:
        """Adds unknowns to rows."""
        self.entries.append((row, unknown, np.broadcast_to(np.asarray(factor, dtype=np.float64), row.shape)))

    def add_sums(self, asked: NeighbourSums, cell: IntArray, unknown: IntArray) -> None:
        """Adds rows for sums of neighbouring cells, given the unknowns that each cell counts."""
        from scipy.sparse import csr_array

        size = max(int(cell.max()), int(asked.stop.max())) + 1, int(unknown.max()) + 1
        cells = csr_array((np.ones(cell.size), (cell, unknown)), size)
        sums = sums_of(Sparse(cells), asked.start, asked.stop).to_sparse().tocoo()
        self.add(self.rows(asked.bounds.low, asked.bounds.high) + sums.row, sums.col, sums.data)

    def done(self) -> tuple[Certain, Array]:
        """Returns what is certain, and the upper limit of each unknown."""
        from scipy.sparse import csr_array

        upper, low, high = (np.concatenate(each) for each in (self.upper, self.low, self.high))
        row, unknown, factor = (np.concatenate(each) for each in zip(*self.entries, strict=True))
        matrix = csr_array((factor, (row, unknown)), shape=(low.size, upper.size))
        origin = np.full((low.size, 2), -1)
        return Certain(Sparse(matrix), Bounds(low, high, tuple(self.gaps)), origin), upper


@dataclass(frozen=True, eq=False)
class _Unknown:
    """Tables about which the attacker does not know everything.

    Attributes
    ----------
    releases
        The tables.
    columns
        The columns that are not known, or only up to coarser categories.
    group, cell
        Which group can have which combination of these: pairs; None if there are too many to list.
    values
        How many values the secret has.
    pairs
        How many pairs there are; an upper limit if they are not listed.
    """

    releases: tuple[_Counted, ...]
    columns: tuple[_Column, ...]
    group: IntArray | None
    cell: IntArray | None
    values: int
    pairs: int

    @classmethod
    def of(cls, releases: Sequence[_Counted], evidence: Evidence, values: int) -> _Unknown | None:
        """Returns what is unknown about these tables; None if nothing is."""
        merging: dict[_Column, tuple[IntArray, IntArray]] = {}
        for each in releases:
            for one, merged, codes in zip(each.columns, each.merged, each.codes, strict=True):
                if one in each.unknown:
                    merging[one] = merged, codes
        if not merging and all(each.mismatch == SAME_PEOPLE for each in releases):
            return None
        columns, levels = tuple(merging), tuple(one.levels for one in merging)
        groups, cells = len(evidence.groups), prod(levels)
        if groups * cells > _MOST_CHECKED:
            return cls(tuple(releases), columns, None, None, values, groups * cells)
        allowed = np.ones((groups, cells), dtype=bool)
        for (merged, own), code in zip(
            merging.values(), _combinations(np.arange(cells), levels), strict=True
        ):
            allowed &= merged[code][None, :] == own[:, None]
        group, cell = np.nonzero(allowed)
        return cls(tuple(releases), columns, group, cell, values, group.size)

    @property
    def parts(self) -> tuple[str, ...]:
        """What is unknown, each in a few words."""
        missing = max(each.mismatch.missing for each in self.releases)
        absent = any(each.mismatch.absent for each in self.releases)
        people = (f"the rows of {count_of(missing, 'person', 'people')}",) if missing else ()
        return (
            *dict.fromkeys(one.name for one in self.columns),
            *people,
            *(("who is in the release",) if absent else ()),
        )

    @property
    def words(self) -> str:
        """What is unknown, in words."""
        return f"This attacker does not know {', '.join(self.parts)}"

    @property
    def unknowns(self) -> int:
        """How many counts would have to be solved for."""
        absent = sum(each.mismatch.absent > 0 for each in self.releases)
        return self.values * (self.pairs * (1 + absent) + sum(each.rows for each in self.releases))

    @property
    def entries(self) -> int:
        """How many coefficients their equations would have."""
        return self.unknowns * (2 + sum(each.tables for each in self.releases))

    def system(self, evidence: Evidence, box: Enclosure) -> tuple[Certain, Array]:
        """Returns what is certain about all counts, those asked for first, and the upper limit of each."""
        assert self.group is not None
        assert self.cell is not None
        group, cell = (np.repeat(each, self.values) for each in (self.group, self.cell))
        value = np.tile(np.arange(self.values), self.group.size)
        counts = evidence.groups.counts.astype(np.float64)
        told, build = evidence.certain, _Builder()
        asked = build.counts(box.upper)
        x = build.counts(counts[group])
        matrix = told.operator.to_sparse().tocoo()
        start = build.rows(told.low, told.high, told.gaps)
        build.add(start + matrix.row, matrix.col, matrix.data)
        build.add(build.rows(counts, counts) + group, x)
        start, none = build.rows(np.zeros(asked.size), np.zeros(asked.size)), evidence.values == 1
        build.add(start + np.arange(asked.size), asked, -1.0)
        chosen = np.flatnonzero(value == 1) if none else np.arange(x.size)
        target = group[chosen] if none else value[chosen] * counts.size + group[chosen]
        build.add(start + target, x[chosen])
        levels = tuple(one.levels for one in self.columns)
        places = dict(zip(self.columns, _combinations(cell, levels), strict=True))
        for each in self.releases:
            if each.bounded:
                here = np.flatnonzero(each.inside[group])
                codes = [
                    places[one][here] if one in each.unknown else own[group[here]]
                    for one, own in zip(each.columns, each.codes, strict=True)
                ]
                _add_tables(build, each, codes, value[here], x[here], self.values)
        return build.done()


def _add_tables(
    build: _Builder, tables: _Counted, codes: Sequence[IntArray], value: IntArray, x: IntArray, values: int
) -> None:
    """Adds what tables say about people of the view, by their categories and value, and about others."""
    release, mismatch = tables.release, tables.mismatch
    assert release.shape is not None
    units = release.statistic.units(_outline(release))
    possible = possible_counts(release.values, release.protections, units)
    start = build.rows(possible.low, possible.high, possible.gaps)
    present = x
    if mismatch.absent:  # only some of them are counted
        upper = np.concatenate(build.upper)[x]
        present = build.counts(upper)
        less = build.rows(np.full(x.size, -np.inf), np.zeros(x.size)) + np.arange(x.size)
        build.add(less, present)
        build.add(less, x, -1.0)
    cell, unknown = tables.cells(codes, value)
    counted = [(cell, present[unknown])]
    beyond: IntArray = np.zeros(0, dtype=np.intp)
    if mismatch.missing:
        own = [np.repeat(each, values) for each in _combinations(np.arange(tables.rows), tables.levels)]
        held = np.tile(np.arange(values), tables.rows)
        beyond = build.counts(np.full(held.size, float(mismatch.missing)))
        cell, unknown = tables.cells(own, held)
        counted.append((cell, beyond[unknown]))
        most = np.array([float(mismatch.missing)])
        row = build.rows(np.zeros(1) if tables.at_most else most, most)
        build.add(np.full(beyond.size, row), beyond)
    cell, unknown = (np.concatenate(each) for each in zip(*counted, strict=True))
    build.add(start + cell, unknown)
    layout = tables_of(release.statistic, _outline(release), values)
    sums = neighbour_sums(release.values, layout, release.protections, units)
    if sums is not None:
        build.add_sums(sums, cell, unknown)
    if mismatch.absent or mismatch.missing:
        total = np.array([float(release.shape.people)])
        row = build.rows(total, total)
        everybody = np.concatenate([present, beyond])
        build.add(np.full(everybody.size, row), everybody)
