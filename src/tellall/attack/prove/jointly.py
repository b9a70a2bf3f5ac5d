"""Columns that the attacker does not know, solved for together with the secret; small cases alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

import numpy as np

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.operators.sparse import Sparse
from tellall.algebra.solvers.base import Enclosure, Mask, WholeSystem, enclose
from tellall.attack.prove.proof import Budget, Ends, Proof, affordable, settle, with_open
from tellall.attack.secret import Code, Secret
from tellall.people.dataset import Public
from tellall.release.equations import Evidence
from tellall.release.possible import Certain, possible_counts
from tellall.release.release import Release
from tellall.release.sight import Knowledge, Known, fit_columns
from tellall.release.statistics.base import tables_of
from tellall.release.statistics.marginals import Marginals

__all__ = ["prove_jointly"]

_MOST_UNKNOWNS = 10_000  # groups × combinations of unknown columns × values of the secret
_MOST_ENTRIES = 500_000


def prove_jointly(
    proof: Proof,
    evidence: Evidence,
    releases: Sequence[Release],
    view: Public,
    known: Knowledge,
    effort: int,
    *,
    interruptible: bool = True,
) -> Proof:
    """The proof with what follows where unknown columns are solved for together with the secret.

    Notes
    -----
    With x[g, u, s] the number of people of group g who have the values u of the unknown columns and the
    secret s, a cell of a table is a sum of these, Σ_u,s x[g, u, s] is the size of the group, and the count
    that is asked for is Σ_u x[g, u, s]. Bounds are propagated through all of it, and each part is searched
    (`settle`). It takes tables of counts of exactly these people, whose columns are known, known up to
    coarser categories, or not known. Where the unknowns are more than 10,000, sums over unknown columns,
    which `see` makes, are all that is used.
    """
    secret = Secret.of(releases[0].levels)
    box = proof.enclosure
    effort -= proof.steps
    if not isinstance(secret, Code) or effort <= 0 or box.empty or not (box.lower < box.upper).any():
        return proof
    tables = _Unknown.of(releases, view, known, evidence)
    if tables is None:
        return proof
    certain, upper = tables.system(evidence, box)
    wide = upper.size - box.upper.size
    lower = np.concatenate([box.lower, np.zeros(wide)])
    found = enclose(certain.operator, certain.low, certain.high, upper=upper, lower=lower)
    size = np.concatenate([evidence.system.size.astype(np.float64), np.full(wide, -1.0)])
    zero = np.arange(size.size) < box.upper.size if not secret.exclusive else np.zeros(size.size, dtype=bool)
    searched = _searched(certain, found, Ends(size, zero), effort, interruptible)
    asked, found = slice(None, box.upper.size), searched.box
    joined = replace(
        proof,
        enclosure=Enclosure(found.lower[asked], found.upper[asked], found.empty),
        steps=proof.steps + searched.steps,
        interrupted=proof.interrupted or searched.stopped,
        jointly=tables.names,
    )
    doubted = searched.doubted[asked].reshape(evidence.values, -1).any(axis=0)
    doubt = max(proof.uncertified, int(evidence.groups.counts[doubted].sum()))
    joined = replace(joined, uncertified=doubt)
    return joined if found.empty else with_open(evidence, secret, joined, searched.left[asked])


@dataclass(frozen=True, eq=False)
class _Searched:
    """The box after a search, what is open or proved by the solver's word alone, the steps, how it ended."""

    box: Enclosure
    left: Mask
    doubted: Mask
    steps: int = 0
    stopped: bool = False


def _searched(certain: Certain, box: Enclosure, ends: Ends, effort: int, interruptible: bool) -> _Searched:
    """What a search in each part adds to the box."""
    lower, upper, budget, stopped = box.lower.copy(), box.upper.copy(), Budget(effort), False
    left, doubted, nobody = (np.zeros(lower.size, dtype=bool) for _ in range(3))
    if box.empty:
        return _Searched(box, left, doubted)
    system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
    for part in system.parts():
        place = system.columns[part.columns]
        left[place] = True
        if stopped or not affordable(part, budget):
            continue
        try:
            found = settle(part, ends.take(place), budget)
        except KeyboardInterrupt:
            if not interruptible:
                raise
            stopped = True
            continue
        if found.empty:
            nothing = Enclosure(box.lower, box.upper, empty=True)
            return _Searched(nothing, nobody, nobody | (not found.certified), round(budget.spent))
        doubted[place] = (found.lower == found.upper) & (not found.certified)
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
    return _Searched(Enclosure(lower, upper, empty=False), left, doubted, round(budget.spent), stopped)


@dataclass(frozen=True, eq=False)
class _Unknown:
    """Tables of columns of which some are not known, and what each group can have of these.

    Attributes
    ----------
    releases
        The tables that are used, each with the view as it sees its columns.
    names, levels
        The columns that are not known, or only up to coarser categories.
    allowed
        Groups × combinations of their values: which a group can have.
    """

    releases: tuple[tuple[Release, Public], ...]
    names: tuple[str, ...]
    levels: tuple[int, ...]
    allowed: Any
    values: int

    @classmethod
    def of(
        cls, releases: Sequence[Release], view: Public, known: Knowledge, evidence: Evidence
    ) -> _Unknown | None:
        """The tables that can be used; None without an unknown column, or where these are too many."""
        if known.may_include or known.missing:
            return None
        used, unknown, tables = [], {}, 0
        first, values = evidence.groups.first, max(2, releases[0].levels)
        merging: dict[str, tuple[IntArray, IntArray]] = {}
        for release in releases:
            if not _is_usable(release, view):
                continue
            shape = release.shape
            assert shape is not None
            public, merged = fit_columns(shape, view)
            used.append((release, public))
            tables += len(release.statistic.tables(cast(Public, Known.of(shape))))
            for at, (name, levels) in enumerate(zip(shape.names, shape.levels, strict=True)):
                if not np.array_equal(merged[at], np.arange(levels)):
                    unknown[name] = levels
                    merging[name] = merged[at], np.asarray(public.codes[at])[first]
        cells = prod(unknown.values())
        unknowns = first.size * cells * values
        if not unknown or unknowns > _MOST_UNKNOWNS or unknowns * (tables + 2) > _MOST_ENTRIES:
            return None
        places = np.unravel_index(np.arange(cells), tuple(unknown.values()))
        allowed = np.ones((first.size, cells), dtype=bool)
        for code, (merged_, own) in zip(places, merging.values(), strict=True):
            allowed &= merged_[code][None, :] == own[:, None]
        return cls(tuple(used), tuple(unknown), tuple(unknown.values()), allowed, values)

    def system(self, evidence: Evidence, box: Enclosure) -> tuple[Certain, Array]:
        """What is certain of the counts asked for, followed by x[g, u, s], and the largest of each."""
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        (groups, cells), values = self.allowed.shape, self.values
        group, cell, value = (
            each.ravel() for each in np.indices((groups, cells, values))
        )  # of each x, in this order
        counts = evidence.groups.counts.astype(np.float64)
        asked, every = box.upper.size, np.arange(group.size)
        told = evidence.certain
        blocks = [hstack([told.operator.to_sparse(), csr_array((told.low.size, group.size))])]
        low, high, gaps = [told.low], [told.high], list(told.gaps)

        def add(row: IntArray, column: IntArray, left: Any, least: Array, most: Array) -> int:
            start = sum(each.size for each in low)
            size = least.size
            x = csr_array((np.ones(row.size), (row, column)), shape=(size, group.size))
            blocks.append(hstack([csr_array((size, asked)) if left is None else left, x]))
            low.append(least)
            high.append(most)
            return start

        add(group, every, None, counts, counts)
        chosen = np.flatnonzero(value == 1) if evidence.values == 1 else every
        target = group[chosen] if evidence.values == 1 else value[chosen] * groups + group[chosen]
        none = np.zeros(asked)
        add(target, chosen, -eye_array(asked), none, none)
        for release, public in self.releases:
            possible = possible_counts(release.values, release.protections, 1.0)
            row, column = self._cells(release, public, evidence.groups.first, (group, cell, value))
            start = add(row, column, None, possible.low, possible.high)
            gaps += [(start + at, missing) for at, missing in possible.gaps]
        matrix = csr_array(vstack(blocks))
        upper = np.concatenate([box.upper, counts[group] * self.allowed[group, cell]])
        ends = np.concatenate(low), np.concatenate(high)
        origin = np.full((ends[0].size, 2), -1)
        return Certain(Sparse(matrix), *ends, tuple(gaps), origin), upper

    def _cells(
        self, release: Release, public: Public, first: IntArray, of: tuple[IntArray, IntArray, IntArray]
    ) -> tuple[IntArray, IntArray]:
        """For every table of a release, the cell that each x is counted in: pairs of cell and x."""
        group, cell, value = of
        shape = release.shape
        assert shape is not None
        fine = tables_of(release.statistic, cast(Public, Known.of(shape)), release.levels)
        places = np.unravel_index(cell, self.levels)
        codes = [
            places[self.names.index(name)]
            if name in self.names
            else np.asarray(public.codes[at])[first][group].astype(np.intp)
            for at, name in enumerate(shape.names)
        ]
        rows, start = [], 0
        for columns, sizes in zip(fine.columns, fine.shapes, strict=True):
            axes = [*(codes[column] for column in columns), value]
            rows.append(start + np.ravel_multi_index(axes, sizes))
            start += int(np.prod(sizes))
        every = np.arange(group.size)
        return np.concatenate(rows), np.tile(every, len(rows))


def _is_usable(release: Release, view: Public) -> bool:
    """Whether a release has tables of counts of exactly these people, with a law that is known."""
    statistic, shape = release.statistic, release.shape
    return (
        isinstance(statistic, Marginals)
        and statistic.scale == "counts"
        and statistic.counts_people
        and statistic.adds_up
        and release.noise.known
        and shape is not None
        and shape.people == view.n
    )
