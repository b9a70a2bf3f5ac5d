"""Whole-numbered solutions by constraint programming: OR-tools' CP-SAT, imported with the first question."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from threading import Thread
from typing import Any, Protocol, final
from weakref import finalize

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.solution import Component

__all__ = ["Constraints", "Reply", "Wishes", "open_child", "run"]

_SCALE = 2.0**30  # whole numbers that stand for a coefficient of 1 in rows whose coefficients are not whole
_MOST = 2.0**60  # what a row may add up to in CP-SAT
_THOUSANDTHS = 1000.0  # of CP-SAT's deterministic time
_WEIGHT = 1000  # weights of a direction are whole numbers up to this
_NEAR_BEST = 0.5  # a solution half as far in a direction as possible is far enough


@final
@dataclass(frozen=True, eq=False)
class Wishes:
    """Intervals of unknowns; a solution is asked for that is inside at least one of them."""

    unknown: IntArray
    least: Array
    most: Array

    def __len__(self) -> int:
        return self.unknown.size

    def take(self, which: npt.NDArray[Any]) -> Wishes:
        """Returns some of the wishes."""
        return Wishes(self.unknown[which], self.least[which], self.most[which])

    def met(self, x: Array) -> npt.NDArray[np.bool_]:
        """Returns which wishes a solution meets."""
        value = x[self.unknown]
        return np.asarray((value >= self.least) & (value <= self.most))


@final
@dataclass(frozen=True, eq=False)
class Reply:
    """A solution, or that there is ``none``; neither if the question was given up. With what it cost."""

    solution: Array | None = None
    none: bool = False
    cost: float = 0.0


class _Engine(Protocol):
    def narrow(self, unknown: int, least: float, most: float) -> None: ...

    def find(self, effort: float, wishes: Wishes | None, direction: Array | None) -> Reply: ...


@final
class Constraints:
    """Answers questions about the whole-numbered solutions of a part.

    Notes
    -----
    CP-SAT computes in whole numbers, so that it never takes rounding for a proof. A row whose coefficients
    are not whole is multiplied by 2³⁰ and rounded, and its ends are moved outward by all that rounding can
    change. Effort is counted in thousandths of CP-SAT's deterministic time. With one worker and a fixed seed,
    the same questions get the same answers from the same version of OR-tools on the same platform.

    CP-SAT and the package highspy cannot be in one process. Where that is loaded, a child process answers.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> whole, rows = np.arange(3), np.arange(1)
    >>> ends = np.array([2.0]), np.array([2.0]), np.zeros(3), np.array([1.0, 1.0, 0.0])
    >>> part = Component(csr_array(np.ones((1, 3))), *ends, (), whole, rows)
    >>> engine = Constraints(part)
    >>> engine.find(1000).solution
    array([1., 1., 0.])
    >>> engine.find(1000, Wishes(np.array([0]), np.array([0.0]), np.array([0.0]))).none
    True
    """

    def __init__(self, part: Component) -> None:
        self.part = part
        self._engine: _Engine | None = None

    def narrow(self, unknown: int, least: float, most: float) -> None:
        """Bounds an unknown in all further questions."""
        self._loaded().narrow(unknown, least, most)

    def find(self, effort: float, wishes: Wishes | None = None, direction: Array | None = None) -> Reply:
        """Looks for a solution that meets at least one wish, as far as possible in a direction.

        What CP-SAT returns is checked once more; a solution that does not fit counts as given up.
        """
        answer = self._loaded().find(effort, wishes, direction)
        if answer.solution is not None and not self._fits(answer.solution, wishes):
            return Reply(cost=answer.cost)
        return answer

    def _fits(self, x: Array, wishes: Wishes | None) -> bool:
        inside = bool((x >= self.part.lower).all() and (x <= self.part.upper).all())
        return inside and self.part.fits(x) and (wishes is None or bool(wishes.met(x).any()))

    def _loaded(self) -> _Engine:
        if self._engine is None:
            apart = "highspy" in sys.modules and "ortools" not in sys.modules
            self._engine = _Remote(self.part) if apart else _Programme(self.part)
        return self._engine


@final
class _Programme:
    """The part as a model of CP-SAT."""

    def __init__(self, part: Component) -> None:
        from ortools.sat.python import cp_model

        self._library = cp_model
        self._model = cp_model.CpModel()
        least, most = (np.rint(side).astype(np.int64).tolist() for side in (part.lower, part.upper))
        self._unknowns = [self._model.new_int_var(*ends, "") for ends in zip(least, most, strict=True)]
        self._able = True
        matrix = part.matrix.tocsr()
        gaps = dict(part.gaps)
        reach = np.maximum(np.abs(part.lower), np.abs(part.upper))
        for row, (start, stop) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
            columns = matrix.indices[start:stop]
            self._add(columns, matrix.data[start:stop], part.low[row], part.high[row], reach, gaps.get(row))

    def _add(
        self,
        columns: IntArray,
        weights: Array,
        low: float,
        high: float,
        reach: Array,
        gaps: IntArray | None,
    ) -> None:
        """Adds a row; what is too large for CP-SAT ends in no answers."""
        whole = np.rint(weights)
        room = 0.0
        if (whole != weights).any():
            gaps = None  # in another unit; without its gaps a row only says less
            scaled = weights * _SCALE
            whole = np.rint(scaled)
            room = float(np.abs(whole - scaled) @ reach[columns])
            low, high = low * _SCALE, high * _SCALE
        most = float(np.abs(whole) @ reach[columns])
        low, high = max(np.ceil(low - room), -most), min(np.floor(high + room), most)
        self._able &= most < _MOST
        if not self._able:
            return
        chosen = [self._unknowns[column] for column in columns.tolist()]
        total = self._library.LinearExpr.weighted_sum(chosen, whole.astype(np.int64).tolist())
        if gaps is None:
            self._model.add_linear_constraint(total, int(low), int(high))
            return
        domain = self._library.Domain.from_values(gaps.tolist()).complement()
        domain = domain.intersection_with(self._library.Domain(int(low), int(high)))
        self._model.add_linear_expression_in_domain(total, domain)

    def narrow(self, unknown: int, least: float, most: float) -> None:
        domain = self._model.proto.variables[unknown].domain
        domain[0] = int(least)
        domain[1] = int(most)

    def find(self, effort: float, wishes: Wishes | None, direction: Array | None) -> Reply:
        if not self._able:
            return Reply()
        library = self._library
        model = self._model
        if wishes is not None or direction is not None:
            model = model.clone()
        unknowns = [model.get_int_var_from_proto_index(number) for number in range(len(self._unknowns))]
        if wishes is not None:
            self._ask_for(model, unknowns, wishes)
        if direction is not None:
            weights = np.rint(direction / np.abs(direction).max(initial=1e-300) * _WEIGHT)
            goal = library.LinearExpr.weighted_sum(unknowns, weights.astype(np.int64).tolist())
            model.maximize(goal)
        solver = library.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = max(effort, 1.0) / _THOUSANDTHS
        solver.parameters.relative_gap_limit = _NEAR_BEST
        solver.parameters.catch_sigint_signal = False
        status = run(solver, model)
        cost = float(solver.response_proto.deterministic_time) * _THOUSANDTHS
        if status == library.INFEASIBLE:
            return Reply(none=True, cost=cost)
        if status not in (library.OPTIMAL, library.FEASIBLE):
            return Reply(cost=cost)
        return Reply(
            np.array(list(solver.response_proto.solution)[: len(unknowns)], dtype=np.float64), cost=cost
        )

    def _ask_for(self, model: Any, unknowns: list[Any], wishes: Wishes) -> None:
        """Adds that at least one wish is met."""
        if len(wishes) == 1:
            model.add_linear_constraint(
                unknowns[wishes.unknown[0]], int(wishes.least[0]), int(wishes.most[0])
            )
            return
        met = []
        ends = zip(wishes.unknown.tolist(), wishes.least.tolist(), wishes.most.tolist(), strict=True)
        for unknown, least, most in ends:
            chosen = model.new_bool_var("")
            model.add_linear_constraint(unknowns[unknown], int(least), int(most)).only_enforce_if(chosen)
            met.append(chosen)
        model.add_bool_or(met)


def run(solver: Any, model: Any) -> Any:
    """Returns how the solver ended; an interruption stops it first.

    It works in a thread of its own, since Python handles signals only between its own instructions.
    """
    ended: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            ended.append(solver.solve(model))
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        solver.stop_search()
        thread.join()
        raise
    if failed:
        raise failed[0]
    return ended[0]


@final
class _Remote:
    """The part in a child process without highspy, which ends with this object."""

    def __init__(self, part: Component) -> None:
        self._pipe, child = open_child("tellall.linalg.solvers.constraints")
        finalize(self, _end, self._pipe, child)
        matrix = part.matrix.tocsr()
        self._pipe.send((matrix, part.low, part.high, part.lower, part.upper, part.gaps))

    def narrow(self, unknown: int, least: float, most: float) -> None:
        self._pipe.send((unknown, least, most))

    def find(self, effort: float, wishes: Wishes | None, direction: Array | None) -> Reply:
        self._pipe.send((effort, wishes, direction, None))
        answer: Reply = self._pipe.recv()
        return answer


def open_child(module: str) -> tuple[Connection, subprocess.Popen[bytes]]:
    """Starts a child process without highspy that runs a module's `serve`; returns our end of its pipe."""
    ours, theirs = Pipe()
    code = f"from {module} import serve; serve(int(__import__('sys').argv[1]))"
    number = theirs.fileno()
    child = subprocess.Popen([sys.executable, "-c", code, str(number)], pass_fds=(number,))
    theirs.close()
    return ours, child


def _end(pipe: Connection, child: subprocess.Popen[bytes]) -> None:
    pipe.close()
    child.wait()


def serve(number: int) -> None:
    """Answers questions that come through a pipe, until it is closed: the child of `_Remote`."""
    pipe = Connection(number)
    matrix, low, high, lower, upper, gaps = pipe.recv()
    columns = np.arange(matrix.shape[1])
    rows = np.arange(matrix.shape[0])
    programme = _Programme(Component(matrix, low, high, lower, upper, gaps, columns, rows))
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        if len(question) == 3:
            programme.narrow(*question)
        else:
            pipe.send(programme.find(*question[:3]))
