"""The search in one part of what bounds leave open: which conditions some solution meets.

Every search crosses off, one after the other, what solutions show to be possible, until CP-SAT says that no
solution is left that would cross off more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.operators.sparse import Sparse
from tellall.algebra.solvers.base import Component, Mask, Walker, moved, row_space
from tellall.algebra.solvers.constraints import Constraints, Reply, Wishes
from tellall.algebra.solvers.exhaustive import Exhaustive
from tellall.attack.prove.certify import every_solution
from tellall.core.work import doing

__all__ = [
    "WALKS",
    "Budget",
    "Ends",
    "Search",
    "Settled",
    "is_loose",
    "list_solutions",
    "settle",
]

WALKS = 32  # at once
_LISTED = 10  # unknowns up to which all solutions are listed
_LIST = Exhaustive(cap=2000, nodes=4000)
_LISTING = 3.0  # effort of that
_STEP, _STRIDE = 3.0, 0.3  # effort of a set of walks, and of each walk per thousand entries, roughly
# The least effort of a question before it is given up, chosen on tables of `fair`; then times _MORE. It grows
# with the cost of a first solution: found on the demonstration's 4-way tables, which need one question.
_FIRST, _ASK, _MORE = 300.0, 40.0, 4
_WORTH = 50  # a solution in a random direction is worth looking for if it crosses off one in so many
_STROLLS = 2  # sets of walks from random starts, before a part is left to CP-SAT alone
_PATIENCE = 0.1  # share of the effort for a first solution where there are fewer rows than unknowns
_RANKED = 5000  # unknowns up to which a rank is computed


@dataclass
class Budget:
    """How much effort is left, in thousandths of CP-SAT's deterministic time."""

    effort: float
    spent: float = 0.0

    def take(self, effort: float) -> None:
        """Spends some effort."""
        self.spent += effort

    @property
    def left(self) -> float:
        """How much effort is left; below zero if the last question took more."""
        return self.effort - self.spent

    def parts(self, number: int) -> Iterator[Budget]:
        """Yields a budget for each of some parts: half of what is left, and for the last one all of it."""
        for each in range(number):
            share = Budget(max(0.0, self.left / (1 if each + 1 == number else 2)))
            yield share
            self.take(share.spent)


@dataclass(frozen=True, eq=False)
class Ends:
    """Which ends of its range settle a count: its ``size`` (everybody has it), and ``zero`` if set."""

    size: Array
    zero: bool | Mask

    def met(self, x: Array) -> Mask:
        """Returns which counts are at such an end."""
        return np.asarray((x == self.size) | ((x == 0) & self.zero))

    def take(self, which: npt.NDArray[Any]) -> Ends:
        """Returns the ends of some of the counts."""
        zero = self.zero if isinstance(self.zero, bool) else self.zero[which]
        return Ends(self.size[which], zero)


@dataclass(frozen=True, eq=False)
class Settled:
    """What the search found out about a part.

    Attributes
    ----------
    lower, upper
        Bounds on every count, for every solution.
    open
        Counts that may be settled, but this was not found out in time.
    empty
        Whether there is no solution.
    solution
        One of them, if all were listed.
    interrupted
        Whether the search was stopped by hand.
    """

    lower: Array
    upper: Array
    open: Mask
    empty: bool = False
    solution: Array | None = None
    interrupted: bool = False


def settle(part: Component, ends: Ends, budget: Budget, *, interruptible: bool = False) -> Settled:
    """Returns which counts are at one end of their range in every solution.

    With ``interruptible``, Ctrl-C ends the search and keeps what is proved.

    Notes
    -----
    With few unknowns, all solutions are listed. Otherwise one solution is found; only counts that are at one
    of their ends in it can be settled. Each further solution shrinks this list of candidates, and so does
    each single step from a solution to another. CP-SAT is asked for a solution that moves any candidate; if
    it gives up, for one that moves a single candidate, one after the other. When no such solution is left,
    the candidates are settled.
    """
    n = part.columns.size
    nobody = np.zeros(n, dtype=bool)
    if not n:  # a row whose counts are all known
        return Settled(part.lower, part.upper, nobody, empty=not part.fits(part.lower))
    if n <= _LISTED:
        budget.take(_LISTING)
        found = list_solutions(part)
        if found is not None:
            return found
    search = _Moves(part, budget, ends)
    try:
        empty = search.run()
    except KeyboardInterrupt:
        if not interruptible:
            raise
        return replace(search.result(), interrupted=True)
    return replace(search.result(), empty=empty)


def list_solutions(part: Component) -> Settled | None:
    """Returns what all solutions have in common; None if there are too many to list."""
    nobody = np.zeros(part.columns.size, dtype=bool)
    if (part.high < part.low).any():
        return Settled(part.lower, part.upper, nobody, empty=True)
    found = every_solution(part, _LIST)
    if found is None:
        return None
    first = found.solutions[0].astype(np.float64) if found.count else None
    return Settled(found.lower, found.upper, nobody, empty=not found.count, solution=first)


def is_loose(part: Component) -> bool:
    """Whether the rows of a part, intervals included, have a rank below its unknowns: expect many solutions.

    False where that is not known, since the part is too large.
    """
    rows, unknowns = part.matrix.shape
    if rows < unknowns:
        return True
    return bool(unknowns <= _RANKED and row_space(Sparse(part.matrix))[0] < unknowns)


@dataclass
class Search(ABC):
    """The search in one part: what is known so far.

    What is still asked has a key each, a whole number; `wishes` says what solution would answer it.
    """

    part: Component
    budget: Budget
    engine: Constraints = field(init=False)
    walker: Walker = field(init=False)
    seen: Array | None = field(init=False, default=None)  # the last solution
    first: float = field(init=False, default=0.0)  # what CP-SAT's first solution cost

    def __post_init__(self) -> None:
        self.engine = Constraints(self.part)
        self.walker = Walker(self.part)

    @abstractmethod
    def keys(self) -> IntArray:
        """Returns the keys of what is still asked, in order."""

    @abstractmethod
    def wishes(self, keys: IntArray) -> Wishes:
        """Returns what solutions would answer these."""

    @abstractmethod
    def direction(self, keys: IntArray) -> Array:
        """Returns, for each unknown, which way it has to go to answer what is asked of it, as +1, −1 or 0."""

    @abstractmethod
    def learn(self, x: Array) -> None:
        """Crosses off what this solution, or a single step from it, answers."""

    @abstractmethod
    def exclude(self, keys: IntArray) -> None:
        """Crosses off what no solution does."""

    @abstractmethod
    def walk(self) -> None:
        """Looks for further solutions by walks from known ones."""

    def run(self) -> bool:
        """Crosses off what can be crossed off within the budget; returns whether there is no solution."""
        if (self.part.low > self.part.high).any():
            return True
        empty = self._first()
        if empty or self.seen is None:
            return empty
        self.walk()
        effort, for_all = max(_ASK, 2 * self.first), max(_ASK, _MORE * self.first)
        self._explore(effort)
        while self.keys().size and self.budget.left > 0:
            if self._ask(self.keys(), for_all):
                continue
            for key in self.keys().tolist():
                if key in self.keys() and self.budget.left > 0:
                    self._ask(np.array([key]), effort)
            effort, for_all = effort * _MORE, for_all * _MORE
        return False

    def _explore(self, effort: float) -> None:
        """Looks for solutions in random directions, while each crosses off a fiftieth of what is left."""
        before = int(self.keys().size)
        while before and self.budget.left > 0:
            if self._find(effort, direction=self._anywhere()).solution is None:
                return
            self.walk()
            left = int(self.keys().size)
            if before - left < max(1, before // _WORTH):
                return
            before = left

    def _first(self) -> bool:
        """Looks for a solution; returns whether there is certainly none.

        Walks find one at once where there are many, which is to be expected with fewer rows than unknowns.
        If neither they nor CP-SAT find one there in a tenth of the effort, they hardly ever do: on `fair`,
        in none of four such parts.
        """
        rows, unknowns = self.part.matrix.shape
        strolls, effort, enough = 0, _FIRST, 0.0
        if rows < unknowns:
            self._stroll()
            strolls += 1
            enough = (1 - _PATIENCE) * self.budget.left
        while self.seen is None and self.budget.left > enough:
            answer = self._find(effort)
            self.first = answer.cost
            if answer.none:
                return True
            if answer.solution is None and strolls < _STROLLS:
                self._stroll()
                strolls += 1
            effort *= _MORE
        return False

    def _stroll(self) -> None:
        """Walks from random starts."""
        width = self.part.upper - self.part.lower + 1
        self.mend(self.part.lower + np.floor(self.walker.rng.random((WALKS, width.size)) * width))

    def mend(self, start: Array, held: Mask | None = None) -> None:
        """Learns from the solutions that walks from these starts end at."""
        if not self.walker.able or not len(start) or self.budget.left <= 0:
            return
        self.budget.take(_STEP + _STRIDE * len(start) * self.part.entries / 1000)
        ends, solved = self.walker.mend(start, held)
        for x in ends[solved]:
            if self.part.fits(x):
                self._take(x)

    def _take(self, x: Array) -> None:
        self.seen = x
        self.learn(x)

    def _ask(self, keys: IntArray, effort: float) -> bool:
        """Asks whether a solution answers any of these; returns whether that was found out."""
        anywhere = self._anywhere() if keys.size > 1 else None
        answer = self._find(effort, self.wishes(keys), anywhere)
        if answer.none:
            self.exclude(keys)
        elif answer.solution is not None:
            self.walk()
        return answer.none or answer.solution is not None

    def _anywhere(self) -> Array:
        """Returns a random direction in which a solution crosses off as much as possible of what is left."""
        weights = self.walker.rng.random(self.part.columns.size)
        return self.direction(self.keys()) * weights

    def _find(self, effort: float, wishes: Wishes | None = None, direction: Array | None = None) -> Reply:
        """Asks for a solution, learns from it, and takes its cost from the budget."""
        doing(f"search for proofs, {max(self.budget.spent, 0):,.0f} of {self.budget.effort:,.0f} steps")
        answer = self.engine.find(min(effort, self.budget.left), wishes, direction)
        self.budget.take(max(answer.cost, 1.0))
        if answer.solution is not None:
            self._take(answer.solution)
        return answer


@final
@dataclass
class _Moves(Search):
    """Which counts are at the same end of their range in every solution; a key is a count that may be."""

    ends: Ends
    candidates: Mask = field(init=False)
    proved: Mask = field(init=False)
    held: Array | None = field(init=False, default=None)  # the first solution

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.part.columns.size
        self.candidates, self.proved = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        self.walking = True

    def result(self) -> Settled:
        """Returns what was found out so far."""
        held = self.part.lower if self.held is None else self.held
        lower = np.where(self.proved, held, self.part.lower)
        upper = np.where(self.proved, held, self.part.upper)
        return Settled(lower, upper, self.candidates & ~self.proved)

    def keys(self) -> IntArray:
        return np.flatnonzero(self.candidates)

    def wishes(self, keys: IntArray) -> Wishes:
        assert self.held is not None
        held, lower, upper = self.held[keys], self.part.lower[keys], self.part.upper[keys]
        rises = held == lower
        return Wishes(keys, np.where(rises, held + 1, lower), np.where(rises, upper, held - 1))

    def direction(self, keys: IntArray) -> Array:
        assert self.held is not None
        away = np.zeros(self.held.size)
        away[keys] = np.where(self.held[keys] == self.part.lower[keys], 1.0, -1.0)
        return away

    def learn(self, x: Array) -> None:
        if self.held is None:
            self.held, self.candidates = x, self.ends.met(x)
        falls, rises = self.part.movable(x)
        self.candidates &= (x == self.held) & ~falls & ~rises

    def exclude(self, keys: IntArray) -> None:
        assert self.held is not None
        self.proved[keys], self.candidates[keys] = True, False
        for key in keys.tolist():
            self.engine.narrow(key, self.held[key], self.held[key])

    def walk(self) -> None:
        """Walks from the last solution, as long as that moves a twentieth of the candidates at a time.

        Once walks move none, none are tried any more.
        """
        before = int(self.candidates.sum())
        while self.walking and self.walker.able and self.candidates.any() and self.budget.left > 0:
            assert self.seen is not None
            assert self.held is not None
            start, left = self.seen, int(self.candidates.sum())
            chosen = np.flatnonzero(self.candidates & (start == self.held))
            if chosen.size > WALKS:
                chosen = np.sort(self.walker.rng.choice(chosen, WALKS, replace=False))
            away = np.where(self.held == self.part.lower, 1.0, -1.0)[chosen]
            self.mend(*moved(start, chosen, away))
            if left - int(self.candidates.sum()) < max(1, left // 20):
                break
        self.walking = self.walking and int(self.candidates.sum()) < before
