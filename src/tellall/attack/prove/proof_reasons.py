"""Reasons: published values that suffice for a proof, or that cannot all be true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.attack.prove.proof import Budget, Ends, settle
from tellall.evidence.bounds import Bounds, Certain
from tellall.evidence.evidence import Evidence
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.solution import Enclosure, WholeSystem, enclose

__all__ = ["Premise", "contradicting_rows", "contradiction", "reasons_for", "rows_that_bound"]

_TESTS = 400  # most sets of rows that are tried
_EFFORT = 500.0  # steps for each of them
_ROOM = 1e-12  # for floating point, in a linear programme
_WEIGHT = 1e-9  # less in a dual is none


@dataclass(frozen=True, eq=False)
class Premise:
    """One published value that a proof uses: low ≤ coefficients @ people ≤ high in every possible secret.

    Attributes
    ----------
    release, value
        Which release, and which of its values, by index; −1 if it is a sum of neighbouring values, or says
        that everybody has one value.
    coefficients
        One number per person; for a categorical secret, one such row per value.
    low, high
        The least and the largest that the sum can be.
    gaps
        Whole numbers between these that it cannot be.
    """

    release: int
    value: int
    coefficients: Array
    low: float
    high: float
    gaps: tuple[int, ...] = ()


class _Rows:
    """Certain rows, to be tried in sets."""

    def __init__(self, certain: Certain, effort: float = _EFFORT) -> None:
        self.certain = certain
        self.effort = effort
        self.matrix: Any = self.certain.operator.to_sparse().tocsr()
        self.gaps = dict(self.certain.gaps)
        self.tests = 0

    def impossible(self, rows: IntArray, box: Enclosure) -> bool:
        """Whether nothing in the box satisfies these rows; False also if that was not found out."""
        self.tests += 1
        if self.tests > _TESTS:
            return False
        gaps = tuple((place, self.gaps[row]) for place, row in enumerate(rows.tolist()) if row in self.gaps)
        some = Certain(
            Sparse(self.matrix[rows]),
            Bounds(self.certain.low[rows], self.certain.high[rows], gaps),
            self.certain.origin[rows],
        )
        tight = enclose(some.operator, some.low, some.high, upper=box.upper, lower=box.lower)
        if tight.empty or not self.effort:
            return tight.empty
        system = WholeSystem.left_open(some.operator, some.low, some.high, gaps, tight)
        budget = Budget(self.effort)
        nobody = Ends(np.full(system.columns.size, -1.0), zero=False)  # nothing to settle
        return any(
            settle(part, nobody.take(part.columns), budget).empty
            for part in system.parts()
            if budget.left > 0
        )

    def near(self, unknown: int) -> IntArray:
        """Returns all rows that are linked to an unknown, the nearest first."""
        from scipy.sparse import block_array
        from scipy.sparse.csgraph import breadth_first_order

        m = self.matrix.shape[0]
        links = block_array([[None, self.matrix], [self.matrix.T, None]]).tocsr()
        order = breadth_first_order(links, m + unknown, directed=False, return_predecessors=False)
        return np.asarray(order[order < m])


def _reasons(evidence: Evidence, rows: _Rows, chosen: IntArray) -> tuple[Premise, ...]:
    index, values = evidence.groups.index, evidence.values
    found = []
    for row in np.sort(chosen).tolist():
        by_group = rows.matrix[[row]].toarray().reshape(values, -1)
        people = by_group[:, index]
        release, value = rows.certain.origin[row].tolist()
        gaps = tuple(map(int, rows.gaps.get(row, ())))
        ends = float(rows.certain.low[row]), float(rows.certain.high[row])
        found.append(Premise(release, value, people[0] if values == 1 else people, *ends, gaps))
    return tuple(found)


def reasons_for(evidence: Evidence, person: int, value: int) -> tuple[Premise, ...]:
    """Returns published values that suffice to prove a person's value; none after too many tries.

    The rows nearest to the count are tried first, then twice as many, and so on. What suffices is made
    irreducible: without any one of them the rest would not suffice, as far as the search can tell.
    """
    rows, size = _Rows(evidence.certain), evidence.system.size.astype(np.float64)
    box = Enclosure(np.zeros(size.size), size, empty=False)
    unknown = int(evidence.groups.index[person])
    if evidence.values > 1:
        unknown += value * len(evidence.groups)
    if evidence.values > 1 or value == 1:  # everybody of the group has it, or nobody
        box.upper[unknown] -= 1
    else:
        box.lower[unknown] = 1
    order, many = rows.near(unknown), 1
    while many < 2 * order.size:
        chosen = order[:many]
        if rows.impossible(chosen, box):
            return _reasons(evidence, rows, _needed(rows, chosen, box))
        many *= 2
    return ()


def contradiction(evidence: Evidence, effort: float = _EFFORT) -> tuple[Premise, ...]:
    """Returns values that cannot all be true, none of them superfluous; empty if none were found.

    ``effort`` is how many steps each set of values may take; with 0, only bounds are propagated.
    """
    rows, size = _Rows(evidence.certain, effort), evidence.system.size.astype(np.float64)
    return _reasons(evidence, rows, _contradicting(rows, Enclosure(np.zeros(size.size), size, empty=False)))


def contradicting_rows(certain: Certain, upper: Array) -> IntArray:
    """Returns rows that no whole numbers from 0 to ``upper`` satisfy, none superfluous; possibly empty."""
    return _contradicting(_Rows(certain), Enclosure(np.zeros(upper.size), upper, empty=False))


def rows_that_bound(
    certain: Certain, lower: Array, unknown: int, low: float, high: float, *, whole: bool
) -> IntArray:
    """Returns rows that suffice for the ends of one unknown, whole or any number of at least ``lower``.

    Notes
    -----
    The rows with weight in the dual of a linear programme suffice if that has the same end. Of whole numbers
    this is checked (`_Rows`); if they do not suffice, rows near the unknown are tried, then twice as many,
    and so on, and what suffices is made irreducible. Empty if none were found.
    """
    rows = _Rows(certain)
    found: list[IntArray] = [np.zeros(0, dtype=np.intp)]
    for end, sign in ((low, 1.0), (high, -1.0)):
        if not np.isfinite(end) or (sign > 0 and end <= lower[unknown]):
            continue  # nothing published is needed for that
        chosen = _with_weight(certain, lower, unknown, sign)
        if whole:
            chosen = _excluding(rows, unknown, end, sign, chosen)
        found.append(chosen)
    return np.unique(np.concatenate(found))


def _with_weight(certain: Certain, lower: Array, unknown: int, sign: float) -> IntArray:
    """Returns the rows that a linear programme needs for the least or the largest of an unknown."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    matrix = certain.operator.to_sparse().tocsr()
    above, below = np.flatnonzero(np.isfinite(certain.high)), np.flatnonzero(np.isfinite(certain.low))
    cost = np.zeros(lower.size)
    cost[unknown] = sign
    sides = vstack([matrix[above], -matrix[below]], format="csr")
    ends = np.concatenate([certain.high[above], -certain.low[below]])
    scale = float(np.abs(ends).max(initial=0.0)) or 1.0
    room = _ROOM * (1 + np.abs(ends / scale))
    found = linprog(
        cost,
        sides,
        ends / scale + room,
        bounds=[(None if least < 0 else 0.0, None) for least in lower],
        method="highs",
    )
    if found.status != 0:
        return np.zeros(0, dtype=np.intp)
    used = np.abs(found.ineqlin.marginals) > _WEIGHT
    return np.unique(np.concatenate([above, below])[used])


def _excluding(rows: _Rows, unknown: int, end: float, sign: float, chosen: IntArray) -> IntArray:
    """Returns rows that exclude whole numbers of an unknown beyond an end, none superfluous."""
    size = rows.matrix.shape[1]
    most = rows.certain.low[np.isfinite(rows.certain.low)].max(initial=1.0)
    box = Enclosure(np.zeros(size), np.full(size, max(most, end + 1)), empty=False)
    if sign > 0:
        box.upper[unknown] = end - 1
    else:
        box.lower[unknown] = end + 1
    if chosen.size and rows.impossible(chosen, box):
        return chosen  # as few as a corner of the dual has
    order = rows.near(unknown)
    many = 1
    while many < 2 * order.size:
        chosen = order[:many]
        if rows.impossible(chosen, box):
            return _needed(rows, chosen, box)
        many *= 2
    return order[:0]


def _contradicting(rows: _Rows, box: Enclosure) -> IntArray:
    every = np.arange(rows.certain.low.size)
    if not rows.impossible(every, box):
        return every[:0]
    return _needed(rows, every, box)


def _needed(rows: _Rows, chosen: IntArray, box: Enclosure) -> IntArray:
    """Returns a subset of rows that is impossible in the box, but not without any one published value.

    Rows that hold anyway (everybody has one value) are dropped last: whoever checks the others knows them.
    """

    def suffices(some: IntArray) -> bool:
        return rows.impossible(some, box)

    anyway = rows.certain.origin[chosen, 0] < 0
    published = _irreducible(chosen[~anyway], chosen[anyway], suffices)
    return np.concatenate([published, _irreducible(chosen[anyway], published, suffices)])


def _irreducible(rows: IntArray, given: IntArray, suffices: Callable[[IntArray], bool]) -> IntArray:
    """Returns a subset of the rows that suffices with those given, but not without any one of them.

    Notes
    -----
    QuickXplain (Junker 2004): halves are dropped or kept whole, about 2 k log₂(n/k) tries for k of n rows.
    """

    def within(known: IntArray, fresh: bool, some: IntArray) -> IntArray:
        if fresh and known.size and suffices(known):
            return some[:0]
        if some.size <= 1:
            return some
        first, second = np.array_split(some, 2)
        right = within(np.concatenate([known, first]), True, second)
        left = within(np.concatenate([known, right]), bool(right.size), first)
        return np.concatenate([left, right])

    return within(given, True, rows)
