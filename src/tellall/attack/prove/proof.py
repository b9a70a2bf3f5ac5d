"""Proof: what is the same in every secret that fits, found by bounds and then by a complete search.

In each part the search asks which counts are at one end of their range in every solution. It crosses off, one
after the other, what solutions show to be possible, until CP-SAT says that no solution is left that would
cross off more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.attack.secret import Code, Secret
from tellall.core.work import doing
from tellall.evidence.bounds import Certain
from tellall.evidence.evidence import Evidence
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.constraints import Constraints, Reply, Wishes
from tellall.linalg.solvers.exhaustive import Exhaustive, every_solution
from tellall.linalg.solvers.solution import (
    Component,
    Enclosure,
    Mask,
    Walker,
    WholeSystem,
    moved,
    only_solution,
    row_space,
)

__all__ = [
    "EFFORT",
    "WALKS",
    "Budget",
    "Ends",
    "Proof",
    "Search",
    "Searched",
    "Settled",
    "is_loose",
    "list_solutions",
    "prove",
    "search_parts",
    "settle",
    "with_open",
]

EFFORT = 10_000  # thousandths of CP-SAT's deterministic time
_MOST_ENTRIES = 2_000_000  # in a system that is written out to be searched
_MOST_UNKNOWNS = 1000  # in a part that is solved by linear algebra
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


@dataclass(frozen=True, eq=False)
class Proof:
    """What holds in every secret that fits what was published.

    Attributes
    ----------
    enclosure
        Bounds on the count of every group of people alike; ``empty`` if no secret fits.
    open
        Which groups the search left open when its steps were used up.
    undecided
        How many people are in those groups.
    loose
        How many of these are in parts whose equations have a rank below their unknowns. Many solutions are
        to be expected there, and to find out what they share may take any effort. Without any effort, all.
    steps
        How much effort was used.
    interrupted
        Whether the search was stopped by hand; what was proved until then holds.
    jointly
        Unknowns of the attacker that were solved for together with the secret: columns by their names, people
        in words; empty if they were summed over.
    note
        What the attacker does not know and what was done about it, in words; empty if nothing is unknown.
    """

    enclosure: Enclosure
    open: Mask
    undecided: int = 0
    loose: int = 0
    steps: int = 0
    interrupted: bool = False
    jointly: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        box = self.enclosure
        known = f"{int((box.lower == box.upper).sum()):,} of {box.lower.size:,} counts known"
        said = ["contradictory"] if box.empty else [known, f"{self.undecided:,} people undecided"]
        said += [f"{self.loose:,} of them where few values are published"] if self.loose else []
        return f"Proof: {', '.join(said)}; {self.steps:,} steps{', interrupted' if self.interrupted else ''}"

    @classmethod
    def of_bounds(cls, evidence: Evidence) -> Proof:
        """Returns what the bounds alone prove."""
        return cls(evidence.enclosure, np.zeros(len(evidence.groups), dtype=bool))


def prove(evidence: Evidence, secret: Secret, effort: int = EFFORT, *, interruptible: bool = True) -> Proof:
    """Returns what the bounds prove, and what a search within this many steps adds.

    Notes
    -----
    Bound propagation comes first (`enclose`). What it leaves open falls into parts that share no person, and
    each is searched on its own (`search_parts`). The same evidence gives the same proof with the same version
    of OR-tools on the same platform, and anywhere if the search came to its end. With ``interruptible``,
    Ctrl-C ends the search and keeps what is proved.
    """
    box, nobody = evidence.enclosure, np.zeros(evidence.groups.counts.size, dtype=bool)
    if not isinstance(secret, Code) or not evidence.leaves_open:
        return Proof(box, nobody)
    certain = evidence.certain
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    unknowns = evidence.system.size
    if entries > _MOST_ENTRIES or not effort:
        open_ = box.lower < box.upper
        loose = open_ & (not effort or bool(certain.low.size < open_.sum()))
        return with_open(evidence, secret, Proof(box, nobody), open_, loose)
    ends = Ends(unknowns, not secret.exclusive)
    found = search_parts(certain, box, ends, Budget(effort), interruptible=interruptible)
    proof = Proof(found.box, nobody, steps=found.steps, interrupted=found.stopped)
    return proof if found.box.empty else with_open(evidence, secret, proof, found.left, found.loose)


@dataclass(frozen=True, eq=False)
class Searched:
    """The box after a search, what is left open, what of that is in loose parts, and the effort used."""

    box: Enclosure
    left: Mask
    loose: Mask
    steps: int = 0
    stopped: bool = False


def search_parts(
    certain: Certain, box: Enclosure, ends: Ends, budget: Budget, *, interruptible: bool
) -> Searched:
    """Returns the box after a search in each part, the smallest first.

    Notes
    -----
    If the equations of a part have only one solution over all numbers, that is the answer (`only_solution`).
    Every other part is searched (`settle`). A part gets half of the effort that is left, the last one all.
    """
    lower, upper, stopped = box.lower.copy(), box.upper.copy(), False
    left, loose = np.zeros(lower.size, dtype=bool), np.zeros(lower.size, dtype=bool)
    if box.empty:
        return Searched(box, left, loose)
    system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
    parts = system.parts()
    for part, share in zip(parts, budget.parts(len(parts)), strict=True):
        place = system.columns[part.columns]
        only = only_solution(part) if _may_be_alone(part) else None
        if only is not None:
            lower[place], upper[place] = only, only
            continue
        left[place] = True
        if stopped:
            continue
        found = settle(part, ends.take(place), share, interruptible=interruptible)
        stopped = found.interrupted
        if found.empty:
            nothing = Enclosure(box.lower, box.upper, empty=True)
            return Searched(nothing, left & False, left & False, round(budget.spent + share.spent))
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
        loose[place] = found.open & (bool(found.open.any()) and is_loose(part))
    return Searched(Enclosure(lower, upper, empty=False), left, loose, round(budget.spent), stopped)


def _may_be_alone(part: Component) -> bool:
    """Whether exact values may determine the whole part."""
    n = part.columns.size
    return n <= _MOST_UNKNOWNS and int((part.low == part.high).sum()) >= n


def with_open(evidence: Evidence, secret: Code, proof: Proof, left: Mask, loose: Mask) -> Proof:
    """Returns the proof with its open groups: those with an unknown in ``left`` that nothing settles.

    A group counts as loose if all that is left open of it is in loose parts.
    """
    size, values = evidence.system.size, evidence.values
    box, counts = proof.enclosure, evidence.groups.counts
    settled = secret.settles(box.lower == size, box.upper == 0).reshape(values, -1).any(axis=0)
    open_ = np.asarray(left.reshape(values, -1).any(axis=0) & ~settled)
    tight = np.asarray((left & ~loose).reshape(values, -1).any(axis=0))
    return replace(
        proof,
        open=open_,
        undecided=int(counts[open_].sum()),
        loose=int(counts[open_ & ~tight].sum()),
    )


# The search in one part of what bounds leave open.


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
