"""Ranges: the least and the largest value of each whole-numbered unknown, over all solutions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.solvers.base import Component, Mask, Walker, WholeSystem, enclose
from tellall.attack.prove.certify import is_empty_for_sure
from tellall.attack.prove.proof import Budget, Wish, affordable, find_solution, list_solutions
from tellall.release.equations import Certain

__all__ = ["Ranges", "find_ranges"]

_LISTED = 10  # unknowns up to which all solutions are listed
_STEP, _STRIDE = 3.0, 1.0  # steps of a set of walks, and of each walk per thousand entries
_WALKS = 32  # at once
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
    certified
        Whether all that the integer solver said was checked in whole numbers; it works in floating point.
    parts
        The parts of what bound propagation left open, and which unknowns each of them is about.
    """

    lower: Array
    upper: Array
    open: Mask
    solution: Array | None
    empty: bool = False
    steps: int = 0
    certified: bool = True
    parts: tuple[tuple[Component, IntArray], ...] = ()


def find_ranges(
    certain: Certain, upper: Array, effort: int, starts: Array, *, interruptible: bool = True
) -> Ranges:
    """Returns the range of every unknown from zero to ``upper``, within this many steps.

    Parameters
    ----------
    starts
        Points near which solutions may be found, one per row; they only decide how long the search takes.

    Notes
    -----
    Bounds are propagated, and what is left falls into parts that share no unknown (`enclose`,
    `WholeSystem.parts`). In each part solutions are collected by walks: from the starts, then from known
    solutions with one unknown held beyond the values seen so far. When walks find no more, one integer
    programme asks for a solution in which at least one unknown, and as many as possible, go beyond the values
    seen: with m_i the least value seen and c_i ∈ {0, 1}, x_i ≤ m_i − 1 if c_i = 1, likewise above, Σ c ≥ 1.
    If it has no solution, the values seen are the ranges of all unknowns at once.
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
    sure = True
    for part in system.parts():
        place = system.columns[part.columns]
        parts.append((part, place))
        found = Ranges(part.lower, part.upper, np.ones(place.size, dtype=bool), None)
        try:
            found = found if stopped else _ranges_of(part, budget, starts[:, place])
        except KeyboardInterrupt:
            if not interruptible:
                raise
            stopped = True
        if found.empty:
            steps = round(budget.spent)
            top = np.where(endless, np.inf, capped)
            return Ranges(np.zeros(upper.size), top, nobody, None, True, steps, found.certified)
        sure &= found.certified
        lower[place], upper[place], open_[place] = found.lower, found.upper, found.open
        if found.solution is None:
            complete = False
        else:
            solution[place] = found.solution
    upper = np.where(endless & (upper >= capped), np.inf, upper)
    steps = round(budget.spent)
    return Ranges(lower, upper, open_, solution if complete else None, False, steps, sure, tuple(parts))


def _ranges_of(part: Component, budget: Budget, starts: Array) -> Ranges:
    n = part.columns.size
    nobody = np.zeros(n, dtype=bool)
    if not n:
        return Ranges(part.lower, part.upper, nobody, part.lower, empty=not part.fits(part.lower))
    if (part.low > part.high).any():
        return Ranges(part.lower, part.upper, nobody, None, empty=True)
    if (only := _single(part)) is not None:
        return only
    if n <= _LISTED:
        budget.take(_STEP)
        if (listed := list_solutions(part)) is not None:
            return Ranges(listed.lower, listed.upper, nobody, listed.solution, listed.empty)
    if not affordable(part, budget):
        return Ranges(part.lower, part.upper, ~nobody, None)
    return _Widening(part, budget).run(starts)


def _single(part: Component) -> Ranges | None:
    """Returns the ranges of a part of one row of ones, which bound propagation finds; None for any other."""
    if part.matrix.shape[0] != 1 or part.gaps or (part.matrix.data != 1).any():
        return None
    before = np.concatenate([[0.0], np.cumsum(part.upper - part.lower)[:-1]])
    missing = part.low[0] - part.lower.sum()  # given to one unknown after another
    solution = part.lower + np.clip(missing - before, 0.0, part.upper - part.lower)
    return Ranges(part.lower, part.upper, np.zeros(part.columns.size, dtype=bool), solution)


@dataclass
class _Widening:
    """What was seen of each unknown in the solutions found so far."""

    part: Component
    budget: Budget
    least: Array = field(init=False)
    most: Array = field(init=False)
    walker: Walker = field(init=False)
    seen: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.least, self.most = self.part.upper.copy(), self.part.lower.copy()
        self.walker = Walker(self.part)

    def run(self, starts: Array) -> Ranges:
        part, nobody = self.part, np.zeros(self.part.columns.size, dtype=bool)
        self._walks(np.clip(starts, part.lower, part.upper), None)
        if not self.seen:
            x, over = find_solution(part, self.budget)
            if x is None:
                sure = not over or is_empty_for_sure(part)
                return Ranges(part.lower, part.upper, ~nobody & (not over), None, over, certified=sure)
            self._learn(x)
        while True:
            self._walk_further()
            low, high = self._left()
            if not (low.size or high.size):
                return self._result(nobody)
            wish = self._beyond(low, high)
            x, over = find_solution(part, self.budget, wish)
            if over:
                return self._result(nobody, certified=is_empty_for_sure(part, wish))
            if x is None or not ((x < self.least) | (x > self.most)).any():
                return self._result((self.least > part.lower) | (self.most < part.upper))
            self._learn(x)

    def _left(self) -> tuple[IntArray, IntArray]:
        """Returns the unknowns that may be less, and those that may be more, than was seen."""
        return np.flatnonzero(self.least > self.part.lower), np.flatnonzero(self.most < self.part.upper)

    def _walks(self, start: Array, held: Mask | None) -> None:
        """Learns from the solutions that walks from these starts end at."""
        if self.walker.able and len(start) and self.budget.left > 0:
            self.budget.take(_STEP + _STRIDE * len(start) * self.part.entries / 1000)
            ends, solved = self.walker.mend(start, held)
            for x in ends[solved]:
                if self.part.fits(x):
                    self._learn(x)

    def _walk_further(self) -> None:
        """Walks with one unknown held beyond what was seen of it, until few of them get there."""
        rng = self.walker.rng
        while self.walker.able and self.budget.left > 0:
            low, high = self._left()
            unknown = np.concatenate([low, high])
            near = np.concatenate([self.least[low] - 1, self.most[high] + 1])
            far = np.concatenate([self.part.lower[low], self.part.upper[high]])
            target = np.where(rng.random(unknown.size) < _FAR, far, near)
            if not unknown.size:
                return
            if unknown.size > _WALKS:
                chosen = np.sort(rng.choice(unknown.size, _WALKS, replace=False))
                unknown, target = unknown[chosen], target[chosen]
            at = np.arange(unknown.size)
            start = np.array([self.seen[each] for each in rng.integers(0, len(self.seen), unknown.size)])
            start[at, unknown] = target
            held = np.zeros(start.shape, dtype=bool)
            held[at, unknown] = True
            self._walks(start, held)
            reached = (self.least[unknown] <= target) & (self.most[unknown] >= target)
            if int(reached.sum()) * 8 < unknown.size:
                return

    def _learn(self, x: Array) -> None:
        """Widens what was seen by a solution, and by every single step from it."""
        falls, rises = self.part.movable(x)
        self.seen.append(x)
        self.least, self.most = np.minimum(self.least, x - falls), np.maximum(self.most, x + rises)

    def _beyond(self, low: IntArray, high: IntArray) -> Wish:
        """Returns the wish that a solution goes beyond what was seen, in as many unknowns as possible."""
        from scipy.sparse import csr_array

        part, n = self.part, self.part.columns.size
        k, at = low.size + high.size, np.arange(low.size + high.size)
        # x + (upper − least + 1) c ≤ upper, x − (most + 1 − lower) c ≥ lower, Σ c ≥ 1
        weight = np.concatenate(
            [part.upper[low] - self.least[low] + 1, part.lower[high] - self.most[high] - 1, np.ones(k)]
        )
        data = np.concatenate([np.ones(k), weight])
        rows = np.concatenate([at, at, np.full(k, k)])
        columns = np.concatenate([low, high, n + at, n + at])
        matrix = csr_array((data, (rows, columns)), shape=(k + 1, n + k))
        least = np.concatenate([np.full(low.size, -np.inf), part.lower[high], [1.0]])
        most = np.concatenate([part.upper[low], np.full(high.size + 1, np.inf)])
        return Wish(np.concatenate([np.zeros(n), -np.ones(k)]), matrix, least, most)

    def _result(self, open_: Mask, *, certified: bool = True) -> Ranges:
        """Returns the ranges seen; for open unknowns, the bounds known before."""
        lower = np.where(open_, self.part.lower, self.least)
        upper = np.where(open_, self.part.upper, self.most)
        return Ranges(lower, upper, open_, self.seen[0], certified=certified)
