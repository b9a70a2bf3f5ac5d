"""Ranges of amounts: the least and the largest value of each unknown, by linear programmes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellall.core.work import doing
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.programme import Programme, programme_of
from tellall.linalg.solvers.solution import Mask

__all__ = ["SumRanges", "find_sum_ranges", "upper_bounds"]

_ROOMS = (1e-14, 1e-12, 1e-10)  # for floating point, as shares of a row: the first in which numbers fit
_KNOWN = 1e-9  # an unknown whose ends differ by less, as a share of its size, is known
_NEAR = 1e-9  # ends that differ by less are one, as a share of the largest number in a part
_ROUNDS = 30  # of bound propagation
_WORTH = 20  # solutions in random directions are worth looking for if they settle one end in so many
_COST = 0.1  # of a programme, for a thousand coefficients


@dataclass(frozen=True, eq=False)
class SumRanges:
    """The range of every unknown that was asked for; NaN if no numbers fit.

    Attributes
    ----------
    open
        Those whose ends may be nearer, since the effort was used up.
    """

    lower: Array
    upper: Array
    open: Mask

    @property
    def empty(self) -> bool:
        """Whether no numbers fit what was published."""
        return bool(np.isnan(self.lower).any())


def find_sum_ranges(
    matrix: Any, low: Array, high: Array, lower: Array, asked: IntArray, effort: float
) -> SumRanges:
    """The least and largest of each unknown asked for, with low ≤ matrix @ x ≤ high and x from ``lower``.

    Notes
    -----
    What is known at once is left out. The rest falls into parts that share no unknown, and each is scaled by
    its largest number, so that the unit decides nothing. An end to which bounds are propagated, and which
    some solution reaches, is settled; every other one is a linear programme. The sums in a file agree to
    within the last digits of floating point: rows have that much room, 1e-14 of their size, and more only
    if nothing fits.
    """
    for room in _ROOMS:
        found = _found(matrix, low, high, lower, asked, effort, room)
        if not found.empty:
            return found
    return found


def upper_bounds(matrix: Any, low: Array, high: Array, lower: Array) -> Array:
    """What no unknown is above, as far as single rows say, one after the other; infinite where none does."""
    endless = np.full(lower.size, np.inf)
    bounds = _propagated(_System(matrix, low, high, lower, endless))
    return endless if bounds is None else bounds[1]


def _found(
    matrix: Any, low: Array, high: Array, lower: Array, asked: IntArray, effort: float, room: float
) -> SumRanges:
    sizes = [np.abs(np.where(np.isfinite(side), side, 0.0)) for side in (low, high)]
    more = room * np.maximum(*sizes)
    whole = _System(matrix, low - more, high + more, lower, np.full(lower.size, np.inf))
    nobody = np.zeros(asked.size, dtype=bool)
    nothing = np.full(asked.size, np.nan)
    bounds = _propagated(whole)
    if bounds is None:
        return SumRanges(nothing, nothing, nobody)
    found = SumRanges(bounds[0][asked], bounds[1][asked], nobody)
    place = np.full(lower.size, -1)
    place[asked] = np.arange(asked.size)
    left = effort
    for part, unknowns in _parts(whole, *bounds):
        wanted = np.flatnonzero(place[unknowns] >= 0)
        if not wanted.size:
            continue
        search = _Search(part, wanted, bounds[0][unknowns[wanted]], bounds[1][unknowns[wanted]])
        if not search.run(left):
            return SumRanges(nothing, nothing, nobody)
        left -= search.spent
        at = place[unknowns[wanted]]
        found.lower[at], found.upper[at] = search.ends
        found.open[at] = ~search.settled.all(axis=0)
    return found


@dataclass(frozen=True, eq=False)
class _System:
    """low ≤ matrix @ x ≤ high with x from lower to upper."""

    matrix: Any
    low: Array
    high: Array
    lower: Array
    upper: Array


def _propagated(system: _System) -> tuple[Array, Array] | None:
    """Bounds on every unknown that single rows give, one after the other; None if nothing fits."""
    entries = system.matrix.tocsc()
    used = np.flatnonzero(np.diff(entries.indptr))
    starts = entries.indptr[used]
    row, weight = entries.indices, entries.data
    column = np.repeat(np.arange(system.lower.size), np.diff(entries.indptr))
    rows = system.low.size
    up = weight > 0
    lower, upper = system.lower.copy(), system.upper.copy()
    for _ in range(_ROUNDS):
        before = lower.copy(), upper.copy()
        least = weight * np.where(up, lower[column], upper[column])
        most = weight * np.where(up, upper[column], lower[column])
        others_least, others_most = (_of_others(row, each, rows) for each in (least, most))
        roof = (system.high[row] - others_least) / weight
        floor = (system.low[row] - others_most) / weight
        capped = np.minimum.reduceat(np.where(up, roof, floor), starts)
        raised = np.maximum.reduceat(np.where(up, floor, roof), starts)
        upper[used] = np.minimum(upper[used], capped)
        lower[used] = np.maximum(lower[used], raised)
        if (lower > upper + _KNOWN * _size(lower, upper)).any():
            return None
        crossed = lower > upper
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
        if np.array_equal(before[0], lower) and np.array_equal(before[1], upper):
            break
    return lower, upper


def _of_others(row: IntArray, terms: Array, rows: int) -> Array:
    """For each coefficient, the sum of the other terms of its row, infinite if one of them is."""
    endless = np.isinf(terms)
    finite = np.where(endless, 0.0, terms)
    sums = np.bincount(row, finite, minlength=rows)
    many = np.bincount(row, endless, minlength=rows)
    sign = np.sign(np.bincount(row, np.where(endless, np.sign(terms), 0.0), minlength=rows))
    others = many[row] - endless
    return np.asarray(
        np.where(others > 0, np.inf * np.where(sign[row] == 0, 1, sign[row]), sums[row] - finite)
    )


def _size(lower: Array, upper: Array) -> Array:
    """The largest number that a range has at its finite ends."""
    ends = [np.abs(np.where(np.isfinite(side), side, 0.0)) for side in (lower, upper)]
    return np.maximum(*ends)


def _parts(system: _System, lower: Array, upper: Array) -> list[tuple[_System, IntArray]]:
    """The parts that share no unknown that is left open, and which unknowns they are about."""
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    known = np.isfinite(upper - lower) & (upper - lower <= _KNOWN * _size(lower, upper))
    open_ = np.flatnonzero(~known)
    fixed = np.zeros(lower.size)
    fixed[known] = (lower[known] + upper[known]) / 2
    held = system.matrix @ fixed
    inside = system.matrix[:, open_].tocsr()
    said = np.isfinite(system.low) | np.isfinite(system.high)
    rows = np.flatnonzero((np.diff(inside.indptr) > 0) & said)
    inside, low, high = inside[rows], (system.low - held)[rows], (system.high - held)[rows]
    if not rows.size:
        return []
    links = block_array([[None, inside], [inside.T, None]]).tocsr()
    number, label = connected_components(links, directed=False)
    found: list[tuple[_System, IntArray]] = []
    for part in range(number):
        at, own = np.flatnonzero(label[: rows.size] == part), np.flatnonzero(label[rows.size :] == part)
        if at.size:
            ends = system.lower[open_[own]], system.upper[open_[own]]
            found.append((_System(inside[at][:, own].tocsr(), low[at], high[at], *ends), open_[own]))
    return found


@dataclass
class _Search:
    """The ends of the ``wanted`` unknowns of a part: ``outer`` are bounds, ``seen`` is what solutions have.

    Least values are those of the negated unknowns, so that both ends are largest values.
    """

    part: _System
    wanted: IntArray
    lower: Array
    upper: Array
    spent: float = 0.0
    settled: Mask = field(init=False)

    def __post_init__(self) -> None:
        part = self.part
        self.scale = float(_size(part.low, part.high).max(initial=0.0)) or 1.0
        ends = (side / self.scale for side in (part.low, part.high, part.lower, part.upper))
        self.programme: Programme = programme_of(part.matrix, *ends)
        self.outer = np.stack([-self.lower, self.upper]) / self.scale
        self.seen = np.full(self.outer.shape, -np.inf)
        self.settled = np.zeros(self.outer.shape, dtype=bool)
        self.step = _COST * max(part.matrix.nnz, 1) / 1000

    @property
    def ends(self) -> tuple[Array, Array]:
        """The least and the largest of each; where that is left open, the bounds."""
        return -self.scale * self.outer[0], self.scale * self.outer[1]

    def run(self, effort: float) -> bool:
        """Settles ends within the effort; returns whether there is a solution at all."""
        rng = np.random.default_rng(0)
        left = 2 * self.wanted.size
        while left and self.spent < effort:
            away = np.where(self.settled, 0.0, rng.random(self.settled.shape))
            if not self._solve(away[1] - away[0], None):
                return False
            before, left = left, int((~self.settled).sum())
            if (before - left) * _WORTH < before:
                break
        for side, at in np.argwhere(~self.settled).tolist():
            if self.spent >= effort:
                break
            if self.settled[side, at]:
                continue
            direction = np.zeros(self.wanted.size)
            direction[at] = 1.0 if side else -1.0
            if not self._solve(direction, (side, at)):
                return False
        return True

    def _solve(self, direction: Array, asked: tuple[int, int] | None) -> bool:
        """Goes as far in a direction as possible; returns whether there is a solution."""
        doing("looking for the ends of intervals")
        self.spent += self.step
        every = np.zeros(self.part.lower.size)
        every[self.wanted] = direction
        largest, x = self.programme.largest(every)
        if np.isneginf(largest):
            return False
        if x is not None:
            own = x[self.wanted]
            self.seen = np.maximum(self.seen, np.stack([-own, own]))
            if asked is not None:
                self.outer[asked] = self.seen[asked]
        if asked is not None and not np.isnan(largest):
            self.settled[asked] = True
        self.settled |= self.seen >= self.outer - _NEAR
        return True
