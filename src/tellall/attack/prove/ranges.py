"""Ranges: the least and the largest value of each whole-numbered unknown, over all solutions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from tellall.attack.prove.proof import WALKS, Budget, Search, list_solutions
from tellall.evidence.bounds import Certain
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.constraints import Wishes
from tellall.linalg.solvers.solution import Component, Mask, WholeSystem, enclose

__all__ = ["Ranges", "find_ranges"]

_LISTED = 10  # unknowns up to which all solutions are listed
_LISTING = 3.0  # effort of that
_FAR = 0.5  # of the walks hold an unknown at its bound, the others one step beyond what was seen


@dataclass(frozen=True, eq=False)
class Ranges:
    """Bounds on every unknown that hold in all solutions; they are reached unless ``open`` says otherwise.

    Attributes
    ----------
    open
        Unknowns whose bounds may not be reached: the steps were used up before that was found out.
    solution
        One solution; None if none was found.
    empty
        Whether there is no solution.
    parts
        The parts of what bound propagation left open, and which unknowns each of them is about.
    """

    lower: Array
    upper: Array
    open: Mask
    solution: Array | None
    empty: bool = False
    steps: int = 0
    parts: tuple[tuple[Component, IntArray], ...] = ()


def find_ranges(
    certain: Certain,
    upper: Array,
    effort: int,
    starts: Array,
    *,
    asked: Mask | None = None,
    interruptible: bool = True,
) -> Ranges:
    """Returns the range of every unknown from zero to ``upper``, within this many steps.

    Parameters
    ----------
    starts
        Points near which solutions may be found, one per row; they only decide how long the search takes.
    asked
        The unknowns whose ranges are wanted, if not all; the bounds of others may not be reached.

    Notes
    -----
    Bounds are propagated, and what is left falls into parts that share no unknown (`enclose`,
    `WholeSystem.parts`). In each part solutions are collected by walks: from the starts, then from known
    solutions with one unknown held beyond the values seen so far. When walks find no more, CP-SAT is asked
    for a solution in which any unknown goes beyond the values seen; if it gives up, one unknown after the
    other. If there is none, the values seen are the ranges.
    An unknown that no row bounds from above never needs to be larger than the largest low end of a row: it is
    capped there, and its range has no upper end. With ``interruptible``, Ctrl-C ends the search and keeps
    what was found in parts that are finished.
    """
    nobody = np.zeros(upper.size, dtype=bool)
    endless = np.isinf(upper)
    low = certain.low[np.isfinite(certain.low)]
    capped = np.where(endless, max(1.0, float(low.max(initial=0.0))), upper)
    box = enclose(certain.operator, certain.low, certain.high, upper=capped)
    if box.empty:
        return Ranges(np.zeros(upper.size), upper, nobody, None, empty=True)
    ends = certain.low, certain.high
    system = WholeSystem.left_open(certain.operator, *ends, certain.gaps, box)
    budget = Budget(effort)
    lower, upper, open_ = box.lower.copy(), box.upper.copy(), nobody
    solution, complete, parts, stopped = box.lower.copy(), True, [], not effort
    left = system.parts()
    for part, share in zip(left, budget.parts(len(left)), strict=True):
        place = system.columns[part.columns]
        parts.append((part, place))
        found = Ranges(part.lower, part.upper, np.ones(place.size, dtype=bool), None)
        try:
            wanted = np.ones(place.size, dtype=bool) if asked is None else asked[place]
            found = found if stopped else _ranges_of(part, share, starts[:, place], wanted)
        except KeyboardInterrupt:
            if not interruptible:
                raise
            stopped = True
        if found.empty:
            steps = round(budget.spent + share.spent)
            top = np.where(endless, np.inf, capped)
            return Ranges(np.zeros(upper.size), top, nobody, None, True, steps)
        lower[place], upper[place], open_[place] = found.lower, found.upper, found.open
        if found.solution is None:
            complete = False
        else:
            solution[place] = found.solution
    upper = np.where(endless & (upper >= capped), np.inf, upper)
    steps = round(budget.spent)
    return Ranges(lower, upper, open_, solution if complete else None, False, steps, tuple(parts))


def _ranges_of(part: Component, budget: Budget, starts: Array, asked: Mask) -> Ranges:
    n = part.columns.size
    nobody = np.zeros(n, dtype=bool)
    if not n:
        return Ranges(part.lower, part.upper, nobody, part.lower, empty=not part.fits(part.lower))
    if (part.low > part.high).any():
        return Ranges(part.lower, part.upper, nobody, None, empty=True)
    if (only := _single(part)) is not None:
        return only
    if n <= _LISTED:
        budget.take(_LISTING)
        if (listed := list_solutions(part)) is not None:
            return Ranges(listed.lower, listed.upper, nobody, listed.solution, listed.empty)
    search = _Widening(part, budget, asked)
    search.mend(np.clip(starts, part.lower, part.upper))
    empty = search.run()
    return search.result(empty)


def _single(part: Component) -> Ranges | None:
    """Returns the ranges of a part of one row of ones, which bound propagation finds; None for any other."""
    if part.matrix.shape[0] != 1 or part.gaps or (part.matrix.data != 1).any():
        return None
    before = np.concatenate([[0.0], np.cumsum(part.upper - part.lower)[:-1]])
    missing = part.low[0] - part.lower.sum()  # given to one unknown after another
    solution = part.lower + np.clip(missing - before, 0.0, part.upper - part.lower)
    return Ranges(part.lower, part.upper, np.zeros(part.columns.size, dtype=bool), solution)


@final
@dataclass
class _Widening(Search):
    """What was seen of each of n unknowns; key u asks for less of unknown u, key n + u for more."""

    asked: Mask
    least: Array = field(init=False)
    most: Array = field(init=False)
    reached: Mask = field(init=False)
    solutions: list[Array] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.least, self.most = self.part.upper.copy(), self.part.lower.copy()
        self.reached = np.zeros(2 * self.least.size, dtype=bool)
        self.walking = True

    def keys(self) -> IntArray:
        further = np.concatenate([self.least > self.part.lower, self.most < self.part.upper])
        further &= np.tile(self.asked, 2)
        return np.flatnonzero(further & ~self.reached)

    def wishes(self, keys: IntArray) -> Wishes:
        unknown = keys % self.least.size
        falls = keys < self.least.size
        return Wishes(
            unknown,
            np.where(falls, self.part.lower[unknown], self.most[unknown] + 1),
            np.where(falls, self.least[unknown] - 1, self.part.upper[unknown]),
        )

    def direction(self, keys: IntArray) -> Array:
        n = self.least.size
        away = np.zeros(n)
        away[keys[keys < n]] -= 1.0
        away[keys[keys >= n] - n] += 1.0
        return away

    def learn(self, x: Array) -> None:
        falls, rises = self.part.movable(x)
        self.solutions.append(x)
        self.least, self.most = np.minimum(self.least, x - falls), np.maximum(self.most, x + rises)

    def exclude(self, keys: IntArray) -> None:
        self.reached[keys] = True
        n = self.least.size
        for unknown in np.unique(keys % n).tolist():
            least = self.least[unknown] if self.reached[unknown] else self.part.lower[unknown]
            most = self.most[unknown] if self.reached[n + unknown] else self.part.upper[unknown]
            self.engine.narrow(unknown, least, most)

    def walk(self) -> None:
        """Walks with one unknown held beyond what was seen of it, until few of them get there.

        Once none do, no walks are tried any more.
        """
        rng, n = self.walker.rng, self.least.size
        while self.walking and self.walker.able and self.budget.left > 0:
            keys = self.keys()
            if not keys.size:
                return
            if keys.size > WALKS:
                keys = np.sort(rng.choice(keys, WALKS, replace=False))
            unknown, falls = keys % n, keys < n
            near = np.where(falls, self.least[unknown] - 1, self.most[unknown] + 1)
            far = np.where(falls, self.part.lower[unknown], self.part.upper[unknown])
            target = np.where(rng.random(keys.size) < _FAR, far, near)
            at = np.arange(keys.size)
            start = np.array([self.solutions[each] for each in rng.integers(0, len(self.solutions), at.size)])
            start[at, unknown] = target
            held = np.zeros(start.shape, dtype=bool)
            held[at, unknown] = True
            self.mend(start, held)
            reached = (self.least[unknown] <= target) & (self.most[unknown] >= target)
            self.walking = bool(reached.any())
            if int(reached.sum()) * 8 < keys.size:
                return

    def result(self, empty: bool) -> Ranges:
        """Returns the ranges seen; for open unknowns, the bounds known before."""
        part, n = self.part, self.least.size
        if self.seen is None:
            return Ranges(part.lower, part.upper, np.full(n, not empty), None, empty)
        left = np.zeros(2 * n, dtype=bool)
        left[self.keys()] = True
        lower = np.where(left[:n] | ~self.asked, part.lower, self.least)
        upper = np.where(left[n:] | ~self.asked, part.upper, self.most)
        return Ranges(lower, upper, left[:n] | left[n:], self.seen)
