"""The whole-numbered point of least cost, proved so: a price for each row and each unknown, by CP-SAT."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, final

import numpy as np

from tellall.core.checks import above_zero
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.linalg.solvers.constraints import open_child, run
from tellall.linalg.solvers.solution import Solution, Status, check_vector

__all__ = [
    "Nearest",
    "NearestProblem",
    "PreparedNearest",
]

_MOST_ENTRIES = 2_000_000
_MOST_STEPS = 20_000  # whole numbers that rows and unknowns can be, together
_LARGEST = 2.0**50  # what all prices may add up to in CP-SAT
_FINEST = 2.0**20  # whole numbers that stand for a price of 1
_ROUNDING = 1e-6
_STEPS = 100  # from the start towards a cheaper one


@dataclass(frozen=True, eq=False)
class NearestProblem:
    """Minimise Σ_j ½ (max(|A x − z|_j − slack_j, 0)/spread_j)² + Σ_p price_p(x_p), |A x − z|_j ≤ bound_j.

    Everything but the target z. A has whole entries, x is whole and lies between ``lower`` and ``upper``;
    ``prices`` has for each unknown a convex row of numbers, from its lower to its upper bound.
    """

    operator: LinearOperator
    spread: Array
    slack: Array
    bound: Array
    lower: Array
    upper: Array
    prices: tuple[Array, ...]

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        if m * n > _MOST_ENTRIES:
            advice = "use another decoder; this one proves that no other secret is nearer"
            raise invalid("operator", f"of at most {_MOST_ENTRIES:,} entries", f"{m} × {n}", advice)
        for name in ("spread", "slack", "bound"):
            value: Array = getattr(self, name)
            if value.shape != (m,) or not (value >= 0).all():
                raise invalid(name, f"{m} numbers, zero or more", f"shape {value.shape}")
        for name in ("lower", "upper"):
            check_vector(name, getattr(self, name), n)
        wide = (self.upper - self.lower + 1).astype(int).tolist()
        if [len(one) for one in self.prices] != wide:
            raise invalid("prices", "a price for each whole number of each unknown", "other lengths")


@dataclass(frozen=True)
class Nearest:
    """Options of the solver.

    Parameters
    ----------
    effort
        CP-SAT's deterministic time, in seconds or so.

    Notes
    -----
    The image of each row is a whole number, so that its price is a table, convex like a parabola. CP-SAT gets
    it as the straight lines through neighbouring points, with slopes in whole multiples of 2⁻²⁰ or what fits:
    nothing is rounded in the search. What it proves best is best to within the rounding of the slopes
    (``within`` in the statistics, mostly below 10⁻³; a secret is e^within times likelier at most). A start is
    rounded from the box; no row and no unknown need be looked at where it alone costs more. Exponential in
    the worst case: about a second for 30 people and 60 noisy counts of random sets.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    >>> free, one = np.full(3, np.inf), np.ones(3)
    >>> problem = NearestProblem(sums, one, 0 * one, free, 0 * one, one, (np.zeros(2),) * 3)
    >>> Nearest().prepare(problem).solve(np.array([1.2, 1.9, 0.7])).value
    array([0., 1., 1.])
    """

    effort: float = 5.0

    def __post_init__(self) -> None:
        above_zero("effort", self.effort)

    def prepare(self, problem: NearestProblem) -> PreparedNearest:
        """Prepares the problem, to be solved for many targets."""
        return PreparedNearest(problem, self)


@final
class PreparedNearest:
    """A problem whose matrix is written out."""

    def __init__(self, problem: NearestProblem, options: Nearest) -> None:
        self.problem = problem
        self.options = options
        matrix = problem.operator.to_dense().astype(np.float64)
        self.matrix = np.rint(matrix)
        if (np.abs(self.matrix - matrix) > 1e-9).any():
            advice = "use another decoder for coefficients of regressions and the like"
            raise invalid("operator", "of whole entries, as of counts", "other numbers", advice)

    def solve(self, target: Array, *, start: Array | None = None) -> Solution:
        """The nearest point; "not converged" if it is not proved to be so within the effort."""
        problem = self.problem
        target = check_vector("target", target, problem.spread.size)
        middle = (problem.lower + problem.upper) / 2 if start is None else start
        first = self._descended(np.clip(np.rint(middle), problem.lower, problem.upper), target)
        tables = self._tables(target, self.cost(first, target))
        if isinstance(tables, str):
            word = "contradictory" if tables == "none" else "not converged"
            return Solution(first, Status(word, _SAID[tables]))
        task = _Task(self.matrix, problem.lower, problem.upper, *tables, first, self.options.effort)
        answer = _answer(task)
        if answer is None:
            return Solution(first, Status("not converged", _SAID["time"]))
        value, proved, empty = answer
        if empty:
            return Solution(first, Status("contradictory", _SAID["none"]))
        stats = {"cost": self.cost(value, target), "within": task.within}
        return Solution(value, Status("solved") if proved else Status("not converged", _SAID["time"]), stats)

    def cost(self, x: Array, target: Array) -> float:
        """What a whole-numbered point costs; infinite beyond a bound."""
        problem = self.problem
        off = np.abs(self.matrix @ x - target)
        if (off > problem.bound + _ROUNDING).any():
            return np.inf
        place = (x - problem.lower).astype(int)
        own = sum(float(one[at]) for one, at in zip(problem.prices, place, strict=True))
        return float((self._missed(off) ** 2).sum() / 2) + own

    def _missed(self, off: Array) -> Array:
        beyond = np.maximum(off - self.problem.slack, 0.0)
        return np.asarray(beyond / np.maximum(self.problem.spread, 1e-12))

    def _descended(self, x: Array, target: Array) -> Array:
        """The point after single steps that make it cheaper, bounds aside; it is only a start."""
        problem = self.problem
        padded = [np.concatenate([[np.inf], one, [np.inf]]) for one in problem.prices]
        for _ in range(_STEPS):
            residual = self.matrix @ x - target
            at = (x - problem.lower).astype(int) + 1
            here = float((self._missed(np.abs(residual)) ** 2).sum() / 2)
            best = 1e-9
            move = (0, 0.0)
            for step in (-1, 1):
                off = self._missed(np.abs(residual[:, None] + step * self.matrix).T) ** 2
                own = [one[i + step] - one[i] for one, i in zip(padded, at, strict=True)]
                saved = here - off.sum(axis=1) / 2 - np.array(own)
                if saved.max() > best:
                    best = float(saved.max())
                    move = (int(saved.argmax()), float(step))
            if not move[1]:
                break
            x = x.copy()
            x[move[0]] += move[1]
        return x

    def _tables(self, target: Array, most: float) -> tuple[list[_Table], list[_Table]] | str:
        """For each row and each unknown: the whole numbers it may be, and their prices less the least.

        ``most`` is what the start costs: nothing that costs more by itself is needed.
        """
        problem = self.problem
        least = sum(float(one.min()) for one in problem.prices)
        room = most - least + 1.0
        plus = np.maximum(self.matrix, 0)
        minus = np.minimum(self.matrix, 0)
        low = plus @ problem.lower + minus @ problem.upper
        high = plus @ problem.upper + minus @ problem.lower
        reach = np.minimum(problem.bound, problem.slack + problem.spread * np.sqrt(2 * room))
        reach = np.where(np.isfinite(reach), reach, np.inf)
        low = np.maximum(low, np.ceil(target - reach - _ROUNDING))
        high = np.minimum(high, np.floor(target + reach + _ROUNDING))
        if (low > high).any():
            return "none"
        if float((high - low + 1).sum()) + sum(map(len, problem.prices)) > _MOST_STEPS:
            return "large"
        rows = []
        for j, (first, last) in enumerate(zip(low.astype(int), high.astype(int), strict=True)):
            at = np.arange(first, last + 1)
            beyond = np.maximum(np.abs(at - target[j]) - problem.slack[j], 0.0)
            rows.append((int(first), (beyond / max(float(problem.spread[j]), 1e-12)) ** 2 / 2))
        own = [(int(low), one - one.min()) for low, one in zip(problem.lower, problem.prices, strict=True)]
        return rows, own


_SAID = {
    "none": "no whole numbers keep every bound; one of the bounds must be wrong",
    "large": "too many whole numbers are possible to prove which are nearest; use another decoder",
    "time": "the nearest secret found is not proved to be the nearest; use another decoder, or fewer people",
}
_Table = tuple[int, Array]  # the first whole number, and the prices from it on


@final
class _Task:
    """What CP-SAT is asked, in whole numbers."""

    def __init__(
        self,
        matrix: Array,
        lower: Array,
        upper: Array,
        rows: list[_Table],
        own: list[_Table],
        start: Array,
        effort: float,
    ) -> None:
        self.matrix = matrix
        self.lower = lower
        self.upper = upper
        self.start = start
        self.effort = effort
        total = sum(float(np.ptp(price)) for _, price in (*rows, *own))
        self.scale = min(_FINEST, _LARGEST / max(total, 1.0))
        self.rows = [self._whole(*one) for one in rows]
        self.own = [self._whole(*one) for one in own]
        steps = sum(len(prices) - 1 for _, prices in (*rows, *own))
        self.within = steps / self.scale

    def _whole(self, first: int, price: Array) -> tuple[int, Array]:
        """A table in whole numbers that stays convex: its slopes are rounded."""
        slopes = np.rint(np.diff(price) * self.scale)
        begins = np.rint(price[0] * self.scale)
        return first, np.concatenate([[begins], begins + np.cumsum(slopes)]).astype(np.int64)


def _answer(task: _Task) -> tuple[Array, bool, bool] | None:
    """The best point, whether it is proved best, and whether there is none; None if none was found.

    CP-SAT and highspy cannot be in one process: see `Constraints`.
    """
    if "highspy" not in sys.modules or "ortools" in sys.modules:
        return _optimum(task)
    pipe, child = open_child("tellall.linalg.solvers.nearest")
    try:
        pipe.send(task)
        found: tuple[Array, bool, bool] | None = pipe.recv()
        return found
    finally:
        pipe.close()
        child.wait()


def serve(number: int) -> None:
    """Answers one question that comes through a pipe."""
    pipe = Connection(number)
    pipe.send(_optimum(pipe.recv()))


def _optimum(task: _Task) -> tuple[Array, bool, bool] | None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    ends = zip(task.lower.astype(int).tolist(), task.upper.astype(int).tolist(), strict=True)
    unknowns = [model.new_int_var(low, high, "") for low, high in ends]
    goal: list[Any] = []
    for unknown, table in zip(unknowns, task.own, strict=True):
        _pay(model, unknown, table, goal)
    for weights, (first, prices) in zip(task.matrix, task.rows, strict=True):
        columns = np.flatnonzero(weights)
        chosen = [unknowns[column] for column in columns.tolist()]
        image = model.new_int_var(first, first + len(prices) - 1, "")
        total = cp_model.LinearExpr.weighted_sum(chosen, weights[columns].astype(np.int64).tolist())
        model.add(total == image)
        _pay(model, image, (first, prices), goal)
    model.minimize(cp_model.LinearExpr.sum(goal) if goal else 0)
    for unknown, value in zip(unknowns, task.start.astype(int).tolist(), strict=True):
        model.add_hint(unknown, value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.linearization_level = 2  # seven times as fast on 30 people and 60 counts
    solver.parameters.max_deterministic_time = task.effort
    solver.parameters.catch_sigint_signal = False
    status = run(solver, model)
    if status == cp_model.INFEASIBLE:
        return task.start, False, True
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    value = np.array([solver.value(unknown) for unknown in unknowns], dtype=np.float64)
    return value, status == cp_model.OPTIMAL, False


def _pay(model: Any, unknown: Any, table: tuple[int, Array], goal: list[Any]) -> None:
    """Adds a convex price to the goal: a number at or above the lines through neighbouring points."""
    first, prices = table
    slopes = np.diff(prices).tolist()
    if not slopes:
        return
    if len(set(slopes)) == 1:
        goal.append(slopes[0] * unknown)
        return
    price = model.new_int_var(int(prices.min()), int(prices.max()), "")
    for at, slope in enumerate(slopes):
        if not at or slope != slopes[at - 1]:
            model.add(price >= int(prices[at]) + slope * (unknown - (first + at)))
    goal.append(price)
