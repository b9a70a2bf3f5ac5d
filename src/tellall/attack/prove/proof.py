"""Proof: what is the same in every secret that fits, found by bounds and then by a complete search.

In each part the search asks which counts are at one end of their range in every solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import (
    Branching,
    Component,
    Enclosure,
    Mask,
    Reply,
    Walker,
    WholeSystem,
    moved,
)
from tellall.algebra.solvers.exhaustive import Exhaustive
from tellall.attack.prove.certify import every_solution, is_empty_for_sure, only_solution
from tellall.attack.secret import Code, Secret
from tellall.core.errors import invalid
from tellall.core.work import doing
from tellall.release.equations import Evidence

__all__ = [
    "EFFORT",
    "Budget",
    "Ends",
    "Proof",
    "Settled",
    "Wish",
    "affordable",
    "check_effort",
    "find_solution",
    "list_solutions",
    "prove",
    "settle",
    "with_open",
]

EFFORT = 10_000  # steps, about a millisecond each
_MOST_ENTRIES = 2_000_000  # in a system that is written out to be searched
_MOST_UNKNOWNS = 1000  # in a part that is solved by linear algebra
_ELIMINATION = 3e-6  # steps of that, times the number of unknowns cubed
_STRIDE = 1.0  # steps of a walk, per thousand entries
_WALKS = 32  # at once
_PIVOT, _ENTRY = 0.03, 5e-6  # steps of a pivot: fixed, and for each entry of the tableau
_FEW_NODES = 1  # in the first search for a solution, before walks are tried
_LISTED = 10  # unknowns up to which all solutions are listed
_LIST = Exhaustive(cap=2000, nodes=4000)
_SHARE = 0.2  # of the steps left: a part is begun only if one hard call costs no more
_PIVOTS = 2  # for a question at first, per row
_MORE = 4  # times as many pivots for each question, when too many are left without an answer
_UNANSWERED = 8  # questions
# Steps of one call of the integer solver, about a millisecond each, per thousand entries: if the relaxation
# settles it, what cuts and heuristics at the root take on top, and each further node.
# Measured on tables of 40 to 300 people. The number of steps depends on the problem, never on the clock.
_CALL, _ROOT, _NODE = 20.0, 150.0, 5.0
_LEAST = 3.0  # steps of any call
_GAP = 0.5  # a solution that moves half as many counts as could move is good enough


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
    steps
        How many steps were used.
    interrupted
        Whether the search was stopped by hand; what was proved until then holds.
    uncertified
        How many people are proved, or contradicted, only by the integer solver's word: it works in floating
        point, and no certificate was found that could be checked in whole numbers.
    jointly
        Unknowns of the attacker that were solved for together with the secret: columns by their names, people
        in words; empty if they were summed over.
    note
        What the attacker does not know and what was done about it, in words; empty if nothing is unknown.
    """

    enclosure: Enclosure
    open: Mask
    undecided: int = 0
    steps: int = 0
    interrupted: bool = False
    uncertified: int = 0
    jointly: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        box = self.enclosure
        known = f"{int((box.lower == box.upper).sum()):,} of {box.lower.size:,} counts known"
        said = ["contradictory"] if box.empty else [known, f"{self.undecided:,} people undecided"]
        said += (
            [f"{self.uncertified:,} people by the integer solver's word alone"] if self.uncertified else []
        )
        return f"Proof: {', '.join(said)}; {self.steps:,} steps{', interrupted' if self.interrupted else ''}"

    @classmethod
    def of_bounds(cls, evidence: Evidence) -> Proof:
        """Returns what the bounds alone prove."""
        return cls(evidence.enclosure, np.zeros(len(evidence.groups), dtype=bool))


def check_effort(effort: object) -> int:
    """Returns the number of steps; refuses anything else."""
    if isinstance(effort, bool) or not isinstance(effort, int | np.integer) or effort < 0:
        raise invalid("proof_effort", "a whole number of steps, zero or more", effort)
    return int(effort)


def prove(evidence: Evidence, secret: Secret, effort: int = EFFORT, *, interruptible: bool = True) -> Proof:
    """Returns what the bounds prove, and what a search within this many steps adds.

    Notes
    -----
    Bound propagation comes first (`enclose`). What it leaves open falls into parts that share no person. If
    the equations of a part have only one solution over all numbers, that is the answer (`only_solution`).
    Every other part is searched on its own, the smallest first (`settle`). A part is not begun if it is so
    large that a few calls would use up the steps: its people are undecided. The same evidence gives the same
    proof on every machine with the same version of SciPy. With ``interruptible``, Ctrl-C ends the search and
    keeps what is proved.
    """
    box, nobody = evidence.enclosure, np.zeros(evidence.groups.counts.size, dtype=bool)
    if not isinstance(secret, Code) or box.empty or not (box.lower < box.upper).any():
        return Proof(box, nobody)
    certain = evidence.certain
    if not (np.isfinite(certain.low) | np.isfinite(certain.high)).any() and not certain.gaps:
        return Proof(box, nobody)  # nothing is certain
    entries = float((certain.operator.squared() @ (box.lower < box.upper).astype(np.float64)).sum())
    unknowns = evidence.system.size
    left = np.zeros(unknowns.size, dtype=bool)
    if entries > _MOST_ENTRIES or not effort:
        return with_open(evidence, secret, Proof(box, nobody), box.lower < box.upper)
    lower, upper, budget, stopped = box.lower.copy(), box.upper.copy(), Budget(effort), False
    doubted = np.zeros(unknowns.size, dtype=bool)
    system = WholeSystem.left_open(certain.operator, certain.low, certain.high, certain.gaps, box)
    for part in system.parts():
        place = system.columns[part.columns]
        left[place] = True
        only = only_solution(part) if _may_be_alone(part, budget) else None
        if only is not None:
            lower[place], upper[place], left[place] = only, only, False
        if only is not None or stopped or not affordable(part, budget):
            continue
        ends = Ends(unknowns[place], not secret.exclusive)
        found = settle(part, ends, budget, interruptible=interruptible)
        stopped = found.interrupted
        doubted[place] = not found.certified
        if found.empty:
            doubt = 0 if found.certified else evidence.n
            nothing = Enclosure(box.lower, box.upper, empty=True)
            return Proof(nothing, nobody, steps=round(budget.spent), uncertified=doubt)
        lower[place], upper[place], left[place] = found.lower, found.upper, found.open
    proof = Proof(Enclosure(lower, upper, empty=False), nobody, 0, round(budget.spent), stopped)
    settled = secret.settles((lower == unknowns) & doubted, (upper == 0) & doubted)
    by_word = settled.reshape(evidence.values, -1).any(axis=0)
    proof = replace(proof, uncertified=int(evidence.groups.counts[by_word].sum()))
    return with_open(evidence, secret, proof, left)


def _may_be_alone(part: Component, budget: Budget) -> bool:
    """Whether exact values may determine the whole part and enough steps are left, which are then taken."""
    n = part.columns.size
    steps = _ELIMINATION * n**3
    if n > _MOST_UNKNOWNS or int((part.low == part.high).sum()) < n or budget.left < steps:
        return False
    budget.take(steps)
    return True


def with_open(evidence: Evidence, secret: Code, proof: Proof, left: Mask) -> Proof:
    """Returns the proof with its open groups: those with an unknown in ``left`` that nothing settles."""
    size, values = evidence.system.size, evidence.values
    box = proof.enclosure
    settled = secret.settles(box.lower == size, box.upper == 0).reshape(values, -1).any(axis=0)
    open_ = np.asarray(left.reshape(values, -1).any(axis=0) & ~settled)
    undecided = int(evidence.groups.counts[open_].sum())
    return replace(proof, open=open_, undecided=undecided)


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
    count
        How many solutions there are, if all were listed.
    solution
        One of them, if one was found.
    certified
        Whether every conclusion that no (further) solution exists was checked in whole numbers.
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
    """Returns the steps of one question with its first allowance of pivots."""
    return float(_PIVOTS * part.matrix.shape[0]) * _cost_of_pivot(part)


def _asks(part: Component) -> bool:
    """Whether to ask about one count after another: if a few questions cost no more than one programme."""
    return Branching.takes(part) and _UNANSWERED * _cost_of_question(part) <= _cost_at_root(part)


def affordable(part: Component, budget: Budget) -> bool:
    """Whether a part can be begun with the steps that are left."""
    first = _cost_of_question(part) if _asks(part) else _cost_at_root(part)
    return first <= _SHARE * budget.left


def settle(part: Component, ends: Ends, budget: Budget, *, interruptible: bool = False) -> Settled:
    """Returns which counts are at one end of their range in every solution.

    With ``interruptible``, Ctrl-C ends the search and keeps what is proved.

    Notes
    -----
    With few unknowns, all solutions are listed. Otherwise one solution is found; only counts that are at one
    of their ends in it can be settled. Each further solution shrinks this list of candidates, and so does
    each single step from a solution to another. In a part of few rows, one candidate after another is asked
    whether a solution moves it (`Branching`): a refutation is checked in whole numbers, and narrows the box
    for the next questions. In other parts, every further solution must move some candidate: max Σ moves
    subject to Σ moves ≥ 1, by HiGHS. When no such solution is left, all candidates are settled at once. If
    rounding spoils the questions, programmes answer the rest; the whole part then counts as certified only if
    their answer is.
    """
    n = part.columns.size
    if not n:  # a row whose counts are all known
        empty = not part.fits(part.lower)
        return Settled(part.lower, part.upper, np.zeros(0, dtype=bool), empty, int(not empty), part.lower)
    if n <= _LISTED:
        budget.take(_LEAST)
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
    """Returns what all solutions have in common; None if there are too many to list."""
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
        """Returns what was found out before the steps were used up."""
        if (self.part.low > self.part.high).any():
            return self._result(empty=True)
        x, empty, certified = self._first()
        if x is None:
            return self._result(empty=empty, certified=certified)
        self.candidates, self.held = self.ends.met(x), x
        self._learn(x)
        return self._rest()

    def stopped(self) -> Settled:
        """Returns what was found out before somebody stopped the search."""
        return replace(self._result(), interrupted=True)

    @abstractmethod
    def _first(self) -> tuple[Array | None, bool, bool]:
        """Returns a solution or None, whether it is known that none exists, and whether that was checked."""

    @abstractmethod
    def _rest(self) -> Settled:
        """Returns what the search for further solutions finds out about the candidates."""

    def _strolls(self) -> Array:
        """Returns the solutions that walks from random starts end at."""
        if not self.walker.able or self.budget.left <= 0:
            return np.zeros((0, self.held.size))
        width = self.part.upper - self.part.lower + 1
        return self._mended(self.part.lower + np.floor(self.walker.rng.random((_WALKS, width.size)) * width))

    def _walk(self, x: Array) -> None:
        """Walks from this solution to further ones, until these move hardly any more candidates."""
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
        """Returns the solutions that walks from these starts end at."""
        self.budget.take(_LEAST + _STRIDE * start.shape[0] * self.part.entries / 1000)
        ends, solved = self.walker.mend(start, held)
        return np.array([x for x in ends[solved] if self.part.fits(x)])

    def _learn(self, x: Array) -> None:
        """Drops the candidates that this solution, or a single step from it, moves."""
        falls, rises = self.part.movable(x)
        self.candidates &= (x == self.held) & ~falls & ~rises

    def _moves(self) -> Array:
        """Returns how each candidate moves away from its end: +1 from the lower, −1 from the upper one."""
        return np.where(self.candidates, np.where(self.held == self.part.lower, 1.0, -1.0), 0.0)

    def _result(self, *, empty: bool = False, certified: bool = True) -> Settled:
        lower, upper = (np.where(self.proved, self.held, side) for side in (self.part.lower, self.part.upper))
        left = self.candidates & ~self.proved & (not empty)
        return Settled(lower, upper, left, empty, certified=certified)


@final
@dataclass
class _Questions(_Search):
    """One question after another: whether a solution moves a count. Refutations are certain."""

    engine: Branching = field(init=False)
    walking: bool = True
    start: Array = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.engine = Branching(self.part)

    def _first(self) -> tuple[Array | None, bool, bool]:
        pivots = 4 * self.engine.m
        while self.budget.left > 0:
            before = self.engine.pivots
            answer = self._answer(pivots)
            if answer.solution is not None or answer.none:
                return answer.solution, answer.none, True
            found = self._strolls()
            if len(found):
                return found[0], False, True
            if self.engine.pivots - before < pivots:  # rounding spoilt it: more pivots do not help
                return _Programmes(self.part, self.ends, self.budget)._first()
            pivots *= _MORE
        return None, False, True

    def _rest(self) -> Settled:
        self.start, pivots = self.held, _PIVOTS * self.engine.m
        for unknown in np.flatnonzero(self.candidates).tolist():
            self._ask(unknown, pivots)
        last = -1
        while self.candidates.any() and self.budget.left > 0:
            pivots, self.walking = pivots * _MORE, True
            unanswered, before = 0, self.engine.pivots
            while self.candidates.any() and unanswered < _UNANSWERED and self.budget.left > 0:
                waiting = np.flatnonzero(self.candidates)
                last = int(waiting[np.searchsorted(waiting, last + 1) % waiting.size])
                unanswered += not self._ask(last, pivots)
            if unanswered and self.engine.pivots - before < pivots:
                return self._by_programmes()  # rounding spoilt the questions: more pivots do not help
        return self._result()

    def _by_programmes(self) -> Settled:
        """Returns what integer programmes find out about the candidates that are left."""
        others = _Programmes(self.part, self.ends, self.budget)
        others.candidates, others.proved, others.held = self.candidates, self.proved, self.held
        return others._rest()

    def _ask(self, unknown: int, pivots: int) -> bool:
        """Asks whether a solution moves a count; returns whether there was an answer."""
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
        """Walks from the last solution; once that moves nothing, waits until questions get more pivots."""
        before = int(self.candidates.sum())
        if self.walking:
            self._walk(self.start)
            self.walking = int(self.candidates.sum()) < before

    def _answer(
        self, pivots: int, unknown: int | None = None, least: float = 0.0, most: float = 0.0
    ) -> Reply:
        """Returns the engine's answer, and takes its cost from the budget."""
        doing(f"search for proofs, {max(self.budget.spent, 0):,.0f} of {self.budget.steps:,.0f} steps")
        price, before = _cost_of_pivot(self.part), self.engine.pivots
        answer = self.engine.find(min(pivots, int(self.budget.left / price)), unknown, least, most)
        self.budget.take(price * (1 + self.engine.pivots - before))
        return answer


@final
@dataclass
class _Programmes(_Search):
    """Integer programmes, for large parts: each asks for a solution that moves some candidate."""

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
                self.proved = self.proved | self.candidates
                return self._result(certified=is_empty_for_sure(self.part, wish))
            if x is None or moves @ x < wish.low[0]:
                break
            self._learn(x)
            self._walk(x)
        return self._result()


@dataclass
class Budget:
    """How many steps are left."""

    steps: float
    spent: float = 0.0

    def take(self, steps: float) -> None:
        """Spends this many steps."""
        self.spent += steps

    @property
    def left(self) -> float:
        """How many steps are left; below zero if the last call took more."""
        return self.steps - self.spent


def _cost_at_root(part: Component) -> float:
    """Returns the steps of one call of the integer solver that is hard at the root."""
    return (_CALL + _ROOT) * part.entries / 1000


@dataclass(frozen=True, eq=False)
class Wish:
    """Further conditions on a solution x followed by choices of 0 or 1, and a cost to be made small.

    low ≤ matrix @ (x, choices) ≤ high; ``cost`` has one entry for each count of x and for each choice.
    """

    cost: Array
    matrix: Any = None
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))


def find_solution(
    part: Component, budget: Budget, wish: Wish | None = None, *, nodes: int | None = None
) -> tuple[Array | None, bool]:
    """Returns a solution or None, and whether the solver says that none exists: HiGHS in SciPy.

    The solver stops once the cost is within half of the least possible. An answer spoilt by floating point
    counts as none found.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack, vstack

    n, thousands = part.columns.size, part.entries / 1000
    doing(f"search for proofs, {max(budget.spent, 0):,.0f} of {budget.steps:,.0f} steps")
    least = max(_LEAST, _CALL * thousands)
    if budget.left < least:
        return None, False
    if nodes is None:
        left = budget.left - least - _ROOT * thousands
        nodes = max(1, int(left / max(_NODE * thousands, 0.1)))
    matrix, low, high, upper = _with_pieces(part)
    more, cost = upper.size - n, np.zeros(upper.size)
    lower = np.concatenate([part.lower, np.zeros(more)])
    if wish is not None:
        choices = wish.cost.size - n
        cost = np.concatenate([wish.cost[:n], np.zeros(more), wish.cost[n:]])
        lower = np.concatenate([lower, np.zeros(choices)])
        upper = np.concatenate([upper, np.ones(choices)])
        if wish.matrix is not None:
            given = csr_array(wish.matrix)
            rows = hstack([given[:, :n], csr_array((given.shape[0], more)), given[:, n:]])
            wide = hstack([matrix, csr_array((matrix.shape[0], choices))]) if choices else matrix
            matrix = csr_array(vstack([wide, rows]))
            low, high = np.concatenate([low, wish.low]), np.concatenate([high, wish.high])
    found = milp(
        cost,
        constraints=LinearConstraint(matrix, low, high),
        bounds=Bounds(lower, upper),
        integrality=np.ones(upper.size, dtype=np.int64),
        options={"node_limit": nodes, "mip_rel_gap": _GAP},
    )
    settled = found.status in (0, 2)
    used = found.mip_node_count if found.mip_node_count is not None else (0 if settled else nodes)
    hard = used > 0 or not settled
    budget.take(least + (thousands * (_ROOT + _NODE * used) if hard else 0.0))
    if found.x is None:
        return None, found.status == 2
    x = np.rint(found.x[:n])
    return (x, False) if part.fits(x) else (None, False)


def _with_pieces(part: Component) -> tuple[Any, Array, Array, Array]:
    """Returns matrix, ends and upper bounds, with a choice for each piece of a row that has gaps."""
    from scipy.sparse import block_diag, csr_array, hstack, vstack

    if not part.gaps:
        return part.matrix, part.low, part.high, part.upper
    matrix, low, high, upper = part.matrix, part.low.copy(), part.high.copy(), part.upper
    ends_low, ends_high, once = [], [], []
    for row, counts in part.gaps:
        inside = np.setdiff1d(np.arange(low[row], high[row] + 1), counts)
        breaks = np.flatnonzero(np.diff(inside) > 1)
        first = inside[np.concatenate([[0], breaks + 1])] if inside.size else np.ones(1)
        last = inside[np.concatenate([breaks, [inside.size - 1]])] if inside.size else np.zeros(1)
        ends_low.append(first)
        ends_high.append(last)
        once.append(np.ones((1, first.size)))
    rows = [row for row, _ in part.gaps]
    pieces = sum(each.size for each in ends_low)
    # low_k z_k summed ≤ row ≤ high_k z_k summed, Σ z_k = 1
    chosen = part.matrix[rows]
    below = hstack([chosen, -block_diag([each[None, :] for each in ends_low])])
    above = hstack([chosen, -block_diag([each[None, :] for each in ends_high])])
    single = hstack([csr_array((len(rows), part.columns.size)), block_diag(once)])
    wide = hstack([matrix, csr_array((matrix.shape[0], pieces))])
    k = len(rows)
    return (
        csr_array(vstack([wide, below, above, single])),
        np.concatenate([low, np.zeros(k), np.full(k, -np.inf), np.ones(k)]),
        np.concatenate([high, np.full(k, np.inf), np.zeros(k), np.ones(k)]),
        np.concatenate([upper, np.ones(pieces)]),
    )
