"""Which further rows of a system to hide, so that others cannot be worked out: fewest, or cheapest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

import numpy as np

from tellall.core.errors import SolverFailed
from tellall.core.work import Progress, doing
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.solution import Mask

__all__ = ["HiddenRows", "HidingProblem", "Need", "hide_more"]

_SAME = 1e-6  # of what is needed: less is not missing
_MOVED = 1e-7  # of what is needed: a row that moves by less is not moved
_COST = 0.1  # of a linear programme, for a thousand coefficients
_NONE = 1e-9  # of a dual, or of a share: less is nothing
_VIOLATED = 1e-3  # a cut is worth adding if rows hidden in part miss it by so much
_STALLED = 1e-4  # a bound that grows by less, as a share of it, has stopped growing
_ROUNDING = 1e-5  # of bounds, before they are made whole
_NODES = 5_000  # of branch and bound, for one choice of rows
_TOLERANCE = "primal_feasibility_tolerance: 1e-9 dual_feasibility_tolerance: 1e-9"
_QUICK = f"use_preprocessing: false {_TOLERANCE}"
_SURE = f"use_preprocessing: true {_TOLERANCE}"
_SIGNS = {"above": (1.0,), "below": (-1.0,), "apart": (1.0, -1.0)}
_SMALLER = 0.01  # more expensive is the largest row than the smallest, where only the number of rows counts


@dataclass(frozen=True)
class Need:
    """How far solutions have to differ in a row from what is true: above it, below it, or from each other."""

    row: int
    size: float
    side: Literal["above", "below", "apart"]


@dataclass(frozen=True, eq=False)
class HidingProblem:
    """Rows of matrix @ x, of which some are hidden and must not be worked out from the others.

    Attributes
    ----------
    matrix
        Rows × unknowns, a scipy CSR array.
    start
        The true unknowns, or any that have all the same rows.
    lower
        What everybody knows that no unknown is below.
    hidden, free
        Which rows are hidden already, and which others may be.
    cost
        What hiding each row costs.
    needs
        What has to be possible.
    """

    matrix: Any
    start: Array
    lower: Array
    hidden: Mask
    free: Mask
    cost: Array
    needs: tuple[Need, ...]


@dataclass(frozen=True, eq=False)
class HiddenRows:
    """Rows that are hidden, those of the problem among them.

    Attributes
    ----------
    hidden
        Which rows.
    least
        No choice costs less than this.
    failed
        Needs that are not met even if every row that may be hidden is.
    finished
        Whether nothing cheaper exists.
    """

    hidden: Mask
    least: float
    failed: tuple[Need, ...]
    finished: bool


def hide_more(
    problem: HidingProblem, effort: float = 2_000.0, progress: Progress | None = None
) -> HiddenRows:
    """Rows to hide besides, so that every need is met, at the least cost that was found within the effort.

    Notes
    -----
    First one need after the other: the cheapest move of the unknowns that meets it, by a linear programme
    whose price is the cost of every row that moves; rows that move are hidden. Then every row is shown again
    without which all needs are still met, the most expensive first. Then cuts: a need that is not met has a
    certificate, the dual of the programme of who wants to work the row out, and some row of it has to be
    hidden (Fischetti and Salazar, Management Science 2001). The cheapest rows that satisfy all cuts found so
    far, first hidden in part, then whole, are a lower bound, and the best choice once they meet every need.
    Effort counts linear programmes, one of 10,000 coefficients as one.
    """
    search = _Search(problem, effort, progress)
    search.move_by_move()
    failed = tuple(search.failed)
    search.show_again()
    least, finished = search.improve()
    return HiddenRows(search.hidden, min(least, search.paid), failed, finished)


class _Programme:
    """Moves d of the unknowns that keep shown rows as they are: one GLOP model, asked again and again.

    With ``prices``, rows that may be hidden can move too, at a price for each.
    """

    def __init__(self, problem: HidingProblem, *, prices: bool) -> None:
        if "highspy" in sys.modules and "ortools" not in sys.modules:
            raise SolverFailed(
                "OR-tools cannot be loaded beside highspy; use a Python process that has not imported highspy"
            )
        from ortools.linear_solver import pywraplp

        self._problem = problem
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._solver.SetSolverSpecificParametersAsString(_QUICK)
        self._going_on = pywraplp.MPSolverParameters()
        self._anew = pywraplp.MPSolverParameters()
        self._going_on.SetIntegerParam(self._going_on.INCREMENTALITY, self._going_on.INCREMENTALITY_ON)
        self._infinity = self._solver.infinity()
        matrix = problem.matrix.tocsr()
        self.size = matrix.nnz
        self.unknowns = [
            self._solver.NumVar(-self._infinity, self._infinity, "") for _ in range(matrix.shape[1])
        ]
        self.rows = []
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            row = self._solver.Constraint(0.0, 0.0)
            for column, factor in zip(
                matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist(), strict=True
            ):
                row.SetCoefficient(self.unknowns[column], factor)
            self.rows.append(row)
        self.ways: dict[int, tuple[Any, Any]] = {}
        if prices:
            for row in np.flatnonzero(problem.free & ~problem.hidden).tolist():
                self.ways[row] = (
                    self._solver.NumVar(0.0, self._infinity, ""),
                    self._solver.NumVar(0.0, self._infinity, ""),
                )
                for way, sign in zip(self.ways[row], (-1.0, 1.0), strict=True):
                    self.rows[row].SetCoefficient(way, sign)
        self._loose: Mask = np.zeros(len(self.rows), dtype=bool)
        self._bounded: set[int] = set()
        self._scale = 0.0

    def prepare(self, scale: float, hidden: Mask) -> None:
        """Measures moves in this unit, and lets hidden rows move for nothing."""
        if scale != self._scale:
            ends = np.minimum((self._problem.lower - self._problem.start) / scale, 0.0)
            for unknown, end in zip(self.unknowns, ends.tolist(), strict=True):
                unknown.SetLb(end)
            self._scale = scale
        changed = hidden != self._loose
        changed[list(self._bounded)] = True
        self._bounded.clear()
        for row in np.flatnonzero(changed).tolist():
            end = self._infinity if hidden[row] else 0.0
            self.rows[row].SetBounds(-end, end)
        self._loose = hidden.copy()

    def bound(self, row: int, low: float, high: float) -> None:
        """Bounds a row for one question; `prepare` forgets it."""
        self.rows[row].SetBounds(low, high)
        self._bounded.add(row)

    def price(self, costs: dict[int, float]) -> None:
        """The price of moving rows."""
        objective = self._solver.Objective()
        for row, cost in costs.items():
            for way in self.ways[row]:
                objective.SetCoefficient(way, cost)

    def least(self) -> Array | None:
        """The cheapest move within the bounds."""
        self._solver.Objective().SetMinimization()
        return self._solved()

    def farthest(self, row: int, sign: float) -> Array | None:
        """The move that takes a row farthest up, or down with sign −1."""
        objective = self._solver.Objective()
        objective.Clear()
        matrix = self._problem.matrix
        start, stop = matrix.indptr[row : row + 2]
        for column, factor in zip(
            matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist(), strict=True
        ):
            objective.SetCoefficient(self.unknowns[column], sign * factor)
        objective.SetMaximization()
        return self._solved()

    def _solved(self) -> Array | None:
        solver = self._solver
        status = solver.Solve(self._going_on)  # from where the last answer was
        if status not in (solver.OPTIMAL, solver.INFEASIBLE):  # numbers got lost on the way
            solver.SetSolverSpecificParametersAsString(_SURE)
            status = solver.Solve(self._anew)
            solver.SetSolverSpecificParametersAsString(_QUICK)
        if status != solver.OPTIMAL:
            return None
        return np.array([unknown.solution_value() for unknown in self.unknowns])

    def duals(self) -> Array:
        """What each row's bound is worth in the last answer."""
        return np.array([row.dual_value() for row in self.rows])


@dataclass(frozen=True, eq=False)
class _Witness:
    """A move that meets a need: how far each row moves, in the unit of the rows."""

    rows: IntArray
    moves: Array

    def move(self, row: int) -> float:
        """How far one of its rows moves."""
        return float(self.moves[np.searchsorted(self.rows, row)])


@dataclass(eq=False)
class _Search:
    """The search for rows to hide; ``hidden`` are those chosen so far."""

    problem: HidingProblem
    effort: float
    progress: Progress | None
    spent: float = 0.0
    hidden: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.hidden = self.problem.hidden.copy()
        self.attack = _Programme(self.problem, prices=False)
        self.moves = _Programme(self.problem, prices=True)
        self.step = _COST * max(self.attack.size, 1) / 1000
        self.needs = list(self.problem.needs)
        self.failed: list[Need] = []
        self.asked = {need.row for need in self.needs}
        self.witnesses: dict[int, list[_Witness]] = {row: [] for row in self.asked}
        self.cuts = _Cuts()
        entries = abs(self.problem.matrix)
        truth = self.problem.matrix @ self.problem.start
        fall = entries @ np.where(
            np.isfinite(self.problem.lower), self.problem.start - self.problem.lower, np.inf
        )
        # what a row can lose at most: hidden rows are known to be no less than this below the truth
        self.fall = np.where(np.isfinite(fall), np.maximum(fall, 0.0), np.inf)
        self.truth = truth

    @property
    def left(self) -> float:
        return self.effort - self.spent

    # questions

    def _reach(self, row: int, sign: float, size: float, hidden: Mask) -> tuple[float, _Witness, Array]:
        """How far a row can move that way, at most ``size``; with the certificate of that."""
        self.spent += self.step
        self.attack.prepare(size, hidden)
        self.attack.bound(row, -1.0 if sign < 0 else 0.0, 1.0 if sign > 0 else 0.0)
        found = self.attack.farthest(row, sign)
        if found is None:
            raise SolverFailed("a linear programme did not end; use other units, or fewer tables at once")
        reached = sign * float(self._row(row) @ found)
        certificate = self.attack.duals()
        certificate[hidden] = 0.0
        return reached * size, self._witness(found, size), certificate

    def _row(self, row: int) -> Any:
        return self.problem.matrix[[row]].toarray()[0]

    def _witness(self, move: Array, size: float) -> _Witness:
        along = self.problem.matrix @ move
        rows = np.flatnonzero(np.abs(along) > _MOVED)
        return _Witness(rows, along[rows] * size)

    def _keep(self, witness: _Witness) -> None:
        """Keeps a move for all needs that it may meet."""
        for row in self.asked.intersection(witness.rows.tolist()):
            self.witnesses[row].append(witness)

    def _met_by_known(self, need: Need, hidden: Mask) -> bool:
        """Whether moves seen before, all of whose rows are hidden, meet a need."""
        above = below = 0.0
        for witness in reversed(self.witnesses[need.row]):
            if not hidden[witness.rows].all():
                continue
            move = witness.move(need.row)
            above, below = max(above, move), max(below, -move)
            if _enough(need, above, below):
                return True
        return False

    def _meets(self, need: Need, hidden: Mask, *, cut: bool = False) -> bool:
        """Whether a need is met if these rows are hidden; if not and ``cut``, adds what says why not."""
        if self._met_by_known(need, hidden):
            return True
        reached = {1.0: 0.0, -1.0: 0.0}
        certificates = []
        for sign in _SIGNS[need.side]:
            reached[sign], witness, certificate = self._reach(need.row, sign, need.size, hidden)
            certificates.append(certificate)
            self._keep(witness)
            if _enough(need, reached[1.0], reached[-1.0]):
                return True
        if cut:
            self._cut(need, hidden, reached[1.0] + reached[-1.0], certificates)
        return False

    def _cut(self, need: Need, hidden: Mask, reached: float, certificates: Sequence[Array]) -> None:
        """Adds what the duals say: hiding a row moves the end by no more than its dual times its room."""
        worth = np.zeros(hidden.size)
        for dual in certificates:
            worth[dual > _NONE] = np.inf
            down = dual < -_NONE
            worth[down] += -dual[down] * self.fall[down]
        share = np.minimum(worth / (need.size - reached), 1.0)
        share[hidden | ~self.problem.free] = 0.0
        rows = np.flatnonzero(share > _NONE)
        # a little more than it says, so that the last digits exclude nothing
        self.cuts.add(rows, np.minimum(share[rows] + _SAME, 1.0))

    def _cut_partly(self, need: Need, part: Array) -> bool:
        """Adds a cut that rows hidden in part do not satisfy, if one is found."""
        reached = 0.0
        certificates = []
        some = np.flatnonzero(part > _NONE)
        fall = np.minimum(self.fall[some] / need.size, 1.0) * part[some]
        for sign in _SIGNS[need.side]:
            self.spent += self.step
            self.attack.prepare(need.size, self.problem.hidden)
            for row, least, most in zip(some.tolist(), (-fall).tolist(), part[some].tolist(), strict=True):
                self.attack.bound(row, least, most)
            self.attack.bound(need.row, *sorted((0.0, sign)))
            found = self.attack.farthest(need.row, sign)
            if found is None:
                return False
            dual = self.attack.duals()
            dual[self.problem.hidden] = 0.0
            own = dual[some]
            paid = float(np.maximum(own, 0.0) @ part[some] + np.maximum(-own, 0.0) @ fall)
            reached += (sign * float(self._row(need.row) @ found) - paid) * need.size
            certificates.append(dual)
        if reached >= need.size * (1 - _VIOLATED):
            return False
        before = len(self.cuts)
        self._cut(need, self.problem.hidden, max(reached, 0.0), certificates)
        return len(self.cuts) > before and self.cuts.last_is_violated(part)

    # stages

    def move_by_move(self, discount: Array | float = 1.0) -> None:
        """Meets one need after the other, the largest first; ``discount`` multiplies prices."""
        order = sorted(self.needs, key=lambda need: -need.size)
        rank = np.argsort(np.argsort(np.abs(self.truth), kind="stable"), kind="stable") / self.truth.size
        price = self.problem.cost * (discount + _SMALLER * rank)  # of two equal choices, the smaller values
        self.moves.price({row: 0.0 if self.hidden[row] else float(price[row]) for row in self.moves.ways})
        for number, need in enumerate(order):
            doing("looking for what to hide")
            if self.progress is not None:
                self.progress(number, len(order))
            if self._meets(need, self.hidden, cut=True):
                continue
            rows = self._cheapest(need)
            if rows is None:
                self.failed.append(need)
            else:
                self._hide(rows)
        self.needs = [need for need in self.needs if need not in self.failed]

    def _hide(self, rows: IntArray) -> None:
        fresh = rows[~self.hidden[rows]]
        self.hidden[fresh] = True
        self.moves.price(dict.fromkeys(fresh.tolist(), 0.0))

    def _cheapest(self, need: Need) -> IntArray | None:
        """The rows of the cheapest move that meets a need; None if no move meets it."""
        best: tuple[float, _Witness] | None = None
        signs = _SIGNS[need.side]
        for sign in signs:
            self.spent += self.step
            self.moves.prepare(need.size, self.problem.hidden)
            self.moves.bound(need.row, *sorted((sign, sign * 1e9)))
            found = self.moves.least()
            if found is None:
                continue
            witness = self._witness(found, need.size)
            fresh = witness.rows[~self.hidden[witness.rows]]
            cost = float(self.problem.cost[fresh].sum())
            if best is None or cost < best[0]:
                best = cost, witness
        if best is not None:
            self._keep(best[1])
            return best[1].rows
        # no move in one direction is enough: as far as possible in both
        every = self.problem.hidden | self.problem.free
        found_both = [self._reach(need.row, sign, need.size, every) for sign in signs]
        if len(signs) == 1 or sum(each[0] for each in found_both) < need.size * (1 - _SAME):
            return None
        return np.unique(np.concatenate([each[1].rows for each in found_both]))

    def show_again(self) -> None:
        """Shows rows again without which every need is still met, the most expensive first."""
        more = np.flatnonzero(self.hidden & ~self.problem.hidden)
        for row in more[np.argsort(-self.problem.cost[more], kind="stable")].tolist():
            if self.left <= 0:
                return
            doing("looking for what need not be hidden")
            fewer = self.hidden.copy()
            fewer[row] = False
            if all(self._meets(need, fewer, cut=True) for need in self.needs):
                self.hidden = fewer

    def improve(self) -> tuple[float, bool]:
        """Looks for cheaper rows; returns a bound that no choice is below, and whether the best was found."""
        problem = self.problem
        whole = bool((problem.cost == np.rint(problem.cost)).all())

        def rounded(bound: float) -> float:
            return ceil(bound - _ROUNDING) if whole else bound

        least = 0.0
        last = -1.0
        while self.left > 0 and least < self.paid - _SAME:
            doing("looking for a bound on what has to be hidden")
            part, bound, _ = self._master(whole=False)
            if part is None:
                break
            least = max(least, rounded(bound))
            cut = sum(self._cut_partly(need, part) for need in self.needs)
            if not cut or bound < last * (1 + _STALLED):
                self._guided(part)
                break
            last = bound
        while self.left > 0 and least < self.paid - _SAME:
            doing("looking for fewer to hide")
            part, bound, complete = self._master(whole=True)
            if part is None:
                break
            least = max(least, rounded(bound))
            chosen = problem.hidden | (part > 0.5)
            before = len(self.cuts)
            missed = [need for need in self.needs if not self._meets(need, chosen, cut=True)]
            if not missed:
                self._take(chosen)
                return least, complete or least >= self.paid - _SAME
            if len(self.cuts) == before:
                break  # numbers too close to tell
        return least, least >= self.paid - _SAME

    def _take(self, hidden: Mask) -> None:
        if float(self.problem.cost[hidden & ~self.problem.hidden].sum()) < self.paid:
            self.hidden = hidden

    def _guided(self, part: Array) -> None:
        """Chooses once more, rows at a lower price of which a bound hides a part."""
        before = self.hidden
        self.hidden = self.problem.hidden.copy()
        self.move_by_move(1 - part)
        self.show_again()
        found = self.hidden
        self.hidden = before
        self._take(found)

    @property
    def paid(self) -> float:
        """What the rows chosen so far cost."""
        return float(self.problem.cost[self.hidden & ~self.problem.hidden].sum())

    def _master(self, *, whole: bool) -> tuple[Array | None, float, bool]:
        """The cheapest rows that satisfy all cuts, a bound on their cost, and whether they are the cheapest.

        Rows are hidden or not if ``whole``, otherwise in part.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows, matrix = self.cuts.matrix()
        if not rows.size:
            return np.zeros(self.hidden.size), 0.0, True
        found = milp(
            self.problem.cost[rows],
            constraints=LinearConstraint(matrix, 1.0, np.inf),
            bounds=Bounds(0.0, 1.0),
            integrality=np.full(rows.size, int(whole)),
            options={"node_limit": _NODES, "mip_rel_gap": 0.0},
        )
        self.spent += _COST * matrix.nnz / 1000 * (10 + (found.mip_node_count or 0 if whole else 0))
        if found.x is None:
            return None, 0.0, False
        part = np.zeros(self.hidden.size)
        part[rows] = np.clip(found.x, 0.0, 1.0)
        bound = found.mip_dual_bound if whole and found.mip_dual_bound is not None else found.fun
        return part, float(bound), found.status == 0


class _Cuts:
    """What the rows that are hidden have to satisfy: shares of them add up to one or more."""

    def __init__(self) -> None:
        self._found: dict[bytes, tuple[IntArray, Array]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, rows: IntArray, shares: Array) -> None:
        """Adds a cut, unless it is there already."""
        self._found.setdefault(rows.tobytes() + np.round(shares, 6).tobytes(), (rows, shares))

    def last_is_violated(self, part: Array) -> bool:
        """Whether rows hidden in part do not satisfy the last cut."""
        rows, shares = next(reversed(self._found.values()))
        return float(shares @ part[rows]) < 1 - _VIOLATED

    def matrix(self) -> tuple[IntArray, Any]:
        """The rows that are in cuts, and cuts × these."""
        from scipy.sparse import csr_array

        if not self._found:
            return np.zeros(0, dtype=np.intp), csr_array((0, 0))
        sizes = [rows.size for rows, _ in self._found.values()]
        every = np.concatenate([rows for rows, _ in self._found.values()])
        shares = np.concatenate([shares for _, shares in self._found.values()])
        rows, at = np.unique(every, return_inverse=True)
        cut = np.repeat(np.arange(len(sizes)), sizes)
        return rows, csr_array((shares, (cut, at)), shape=(len(sizes), rows.size))


def _enough(need: Need, above: float, below: float) -> bool:
    reached = {"above": above, "below": below, "apart": above + below}[need.side]
    return reached >= need.size * (1 - _SAME)
