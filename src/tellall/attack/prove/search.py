"""The search in one part: which counts are at one end of their range in every solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Component, Mask, Walker, moved
from tellall.algebra.solvers.branching import Answer, Branching
from tellall.algebra.solvers.exhaustive import Exhaustive
from tellall.attack.prove.certify import every_solution, is_empty_for_sure
from tellall.attack.prove.programme import LEAST, Budget, Wish, cost_at_root, find_solution
from tellall.core.work import doing

__all__ = ["Ends", "Settled", "affordable", "list_solutions", "settle"]

_STRIDE = 1.0  # steps of a walk, per thousand entries
_WALKS = 32  # at once
_PIVOT, _ENTRY = 0.03, 5e-6  # steps of a pivot: of any, and for each entry of the tableau
_FEW_NODES = 1  # of the first search for a solution, before walks are tried
_LISTED = 10  # unknowns up to which all solutions are listed
_LIST = Exhaustive(cap=2000, nodes=4000)
_SHARE = 0.2  # of the steps left: the most that one hard call may cost in a part that is begun
_PIVOTS = 2  # of a question at first, for each row
_MORE = 4  # times as many pivots for each question, when too many are left without an answer
_UNANSWERED = 8  # questions


@dataclass(frozen=True, eq=False)
class Ends:
    """Which ends of its range settle a count: at ``zero`` (nobody has it), at its ``size`` (everybody)."""

    size: Array
    zero: bool | Mask

    def met(self, x: Array) -> Mask:
        """Which counts are at such an end."""
        return np.asarray((x == self.size) | ((x == 0) & self.zero))

    def take(self, which: npt.NDArray[Any]) -> Ends:
        """The same for some of the counts."""
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
        Counts that may be settled, and were not found out in time.
    empty
        Whether there is no solution.
    count
        How many solutions there are, where all were listed.
    solution
        One of them, where one was found.
    certified
        Whether what was concluded from there being no (further) solution was checked in whole numbers.
    interrupted
        Whether the search was stopped by hand.
    """

    lower: Array
    upper: Array
    open: Mask
    empty: bool = False
    count: int | None = None
    solution: Array | None = None
    certified: bool = True
    interrupted: bool = False


def _cost_of_pivot(part: Component) -> float:
    m, n = part.matrix.shape
    return _PIVOT + _ENTRY * float(m * n)


def _cost_of_question(part: Component) -> float:
    """The steps of one question with the pivots that each is given at first."""
    return float(_PIVOTS * part.matrix.shape[0]) * _cost_of_pivot(part)


def _asks(part: Component) -> bool:
    """Whether to ask about one count after the other: if a few questions cost no more than one programme."""
    return Branching.takes(part) and _UNANSWERED * _cost_of_question(part) <= cost_at_root(part)


def affordable(part: Component, budget: Budget) -> bool:
    """Whether a part is worth beginning with the steps that are left."""
    first = _cost_of_question(part) if _asks(part) else cost_at_root(part)
    return first <= _SHARE * budget.left


def settle(part: Component, ends: Ends, budget: Budget, *, interruptible: bool = False) -> Settled:
    """Which counts are at one end of their range in every solution.

    With ``interruptible`` Ctrl-C ends the search and keeps what is proved.

    Notes
    -----
    Few unknowns are listed. Else one solution is found, and only a count at one of its ends in it can be
    settled. Each solution shrinks the list, and so does each single step that leads from it to another.
    In a part of few rows we ask of one count after the other whether a solution moves it (`Branching`): what
    is refuted is checked in whole numbers, and narrows the box for the questions that follow. In others
    every further solution must move some count of the list: max Σ moves subject to Σ moves ≥ 1, by HiGHS.
    Where none is left to be found, the whole list is settled at once.
    """
    n = part.columns.size
    if not n:  # a row whose counts are all known
        empty = not part.fits(part.lower)
        return Settled(part.lower, part.upper, np.zeros(0, dtype=bool), empty, int(not empty), part.lower)
    if n <= _LISTED:
        budget.take(LEAST)
        found = list_solutions(part)
        if found is not None:
            return found
    search = (_Questions if _asks(part) else _Programmes)(part, ends, budget)
    try:
        return search.run()
    except KeyboardInterrupt:
        if not interruptible:
            raise
        return search.stopped()


def list_solutions(part: Component) -> Settled | None:
    """What all solutions have in common; None if there are too many to list."""
    nobody = np.zeros(part.columns.size, dtype=bool)
    if (part.high < part.low).any():
        return Settled(part.lower, part.upper, nobody, empty=True, count=0)
    found = every_solution(part, _LIST)
    if found is None:
        return None
    first = found.solutions[0].astype(np.float64) if found.count else None
    return Settled(found.lower, found.upper, nobody, empty=not found.count, count=found.count, solution=first)


@dataclass
class _Search(ABC):
    """The search in one part: what is known so far."""

    part: Component
    ends: Ends
    budget: Budget
    candidates: Mask = field(init=False)
    proved: Mask = field(init=False)
    held: Array = field(init=False)
    walker: Walker = field(init=False)

    def __post_init__(self) -> None:
        n = self.part.columns.size
        self.candidates, self.proved = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        self.held = np.zeros(n)
        self.walker = Walker(self.part)

    def run(self) -> Settled:
        """What was found out until the steps were used up."""
        if (self.part.low > self.part.high).any():
            return self._result(empty=True)
        x, empty, certified = self._first()
        if x is None:
            return self._result(empty=empty, certified=certified)
        self.candidates, self.held = self.ends.met(x), x
        self._learn(x)
        return self._rest()

    def stopped(self) -> Settled:
        """What was found out until somebody stopped the search."""
        return replace(self._result(), interrupted=True)

    @abstractmethod
    def _first(self) -> tuple[Array | None, bool, bool]:
        """A solution, whether it is known that none exists, and whether that was checked."""

    @abstractmethod
    def _rest(self) -> Settled:
        """What the search for further solutions finds out about the candidates."""

    def _strolls(self) -> Array:
        """The solutions that walks from random starts end at."""
        if not self.walker.able or self.budget.left <= 0:
            return np.zeros((0, self.held.size))
        width = self.part.upper - self.part.lower + 1
        return self._mended(self.part.lower + np.floor(self.walker.rng.random((_WALKS, width.size)) * width))

    def _walk(self, x: Array) -> None:
        """Walks to further solutions, from this one, until they move no more candidates."""
        while self.walker.able and self.candidates.any() and self.budget.left > 0:
            chosen = np.flatnonzero(self.candidates & (x == self.held))
            if chosen.size > _WALKS:
                chosen = np.sort(self.walker.rng.choice(chosen, _WALKS, replace=False))
            before = int(self.candidates.sum())
            found = self._mended(*moved(x, chosen, self._moves()[chosen]))
            for each in found:
                self._learn(each)
            if before - int(self.candidates.sum()) < max(1, before // 20) or not len(found):
                return
            x = found[-1]

    def _mended(self, start: Array, held: Mask | None = None) -> Array:
        """The solutions that walks from these starts end at."""
        self.budget.take(LEAST + _STRIDE * start.shape[0] * self.part.entries / 1000)
        ends, solved = self.walker.mend(start, held)
        return np.array([x for x in ends[solved] if self.part.fits(x)])

    def _learn(self, x: Array) -> None:
        """Drops what this solution, or a single step from it, moves."""
        falls, rises = self.part.movable(x)
        self.candidates &= (x == self.held) & ~falls & ~rises

    def _moves(self) -> Array:
        """How each count that may be settled moves away from its end: +1 from zero, −1 from above."""
        return np.where(self.candidates, np.where(self.held == self.part.lower, 1.0, -1.0), 0.0)

    def _result(self, *, empty: bool = False, certified: bool = True) -> Settled:
        lower, upper = (np.where(self.proved, self.held, side) for side in (self.part.lower, self.part.upper))
        left = self.candidates & ~self.proved & (not empty)
        return Settled(lower, upper, left, empty, certified=certified)


@final
@dataclass
class _Questions(_Search):
    """One question after the other: whether a solution moves a count. Refutations are certain."""

    engine: Branching = field(init=False)
    walking: bool = True
    start: Array = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.engine = Branching(self.part)

    def _first(self) -> tuple[Array | None, bool, bool]:
        pivots = 4 * self.engine.m
        while self.budget.left > 0:
            answer = self._answer(pivots)
            if answer.solution is not None or answer.none:
                return answer.solution, answer.none, True
            found = self._strolls()
            if len(found):
                return found[0], False, True
            pivots *= _MORE
        return None, False, True

    def _rest(self) -> Settled:
        self.start, pivots = self.held, _PIVOTS * self.engine.m
        for unknown in np.flatnonzero(self.candidates).tolist():
            self._ask(unknown, pivots)
        last = -1
        while self.candidates.any() and self.budget.left > 0:
            pivots, self.walking = pivots * _MORE, True
            unanswered = 0
            while self.candidates.any() and unanswered < _UNANSWERED and self.budget.left > 0:
                waiting = np.flatnonzero(self.candidates)
                last = int(waiting[np.searchsorted(waiting, last + 1) % waiting.size])
                unanswered += not self._ask(last, pivots)
        return self._result()

    def _ask(self, unknown: int, pivots: int) -> bool:
        """Whether it was found out if a solution moves a count."""
        if not self.candidates[unknown]:
            return True
        at_bottom = bool(self.held[unknown] == self.part.lower[unknown])
        least, most = self.part.lower[unknown], self.part.upper[unknown]
        answer = self._answer(pivots, unknown, least + at_bottom, most - (not at_bottom))
        if answer.none:
            self.engine.least[unknown] = self.engine.most[unknown] = self.held[unknown]
            self.proved[unknown], self.candidates[unknown] = True, False
        elif answer.solution is not None:
            self._learn(answer.solution)
            self.start = answer.solution
        else:
            self._walk_while_it_helps()
        return answer.none or answer.solution is not None

    def _walk_while_it_helps(self) -> None:
        """Walks from the last solution; once that moves nothing, not until questions get more pivots."""
        before = int(self.candidates.sum())
        if self.walking:
            self._walk(self.start)
            self.walking = int(self.candidates.sum()) < before

    def _answer(
        self, pivots: int, unknown: int | None = None, least: float = 0.0, most: float = 0.0
    ) -> Answer:
        """The engine's answer, paid for."""
        doing(f"search for proofs, {max(self.budget.spent, 0):,.0f} of {self.budget.steps:,.0f} steps")
        price, before = _cost_of_pivot(self.part), self.engine.pivots
        answer = self.engine.find(min(pivots, int(self.budget.left / price)), unknown, least, most)
        self.budget.take(price * (1 + self.engine.pivots - before))
        return answer


@final
@dataclass
class _Programmes(_Search):
    """Integer programmes that ask for a solution that moves something, in a part that is large."""

    def _first(self) -> tuple[Array | None, bool, bool]:
        x, over = find_solution(self.part, self.budget, nodes=_FEW_NODES)
        if x is None and not over:
            found = self._strolls()
            x, over = (found[0], False) if len(found) else find_solution(self.part, self.budget)
        return x, over, not over or is_empty_for_sure(self.part)

    def _rest(self) -> Settled:
        self._walk(self.held)
        while self.candidates.any():
            moves = self._moves()
            wish = Wish(-moves, moves[None, :], np.array([moves @ self.held + 1]), np.array([np.inf]))
            x, over = find_solution(self.part, self.budget, wish)
            if over:
                self.proved = self.candidates.copy()
                return self._result(certified=is_empty_for_sure(self.part, wish))
            if x is None or moves @ x < wish.low[0]:
                break
            self._learn(x)
            self._walk(x)
        return self._result()
