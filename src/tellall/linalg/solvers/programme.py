"""Linear programmes about one system, with one objective after the other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from tellall.linalg.operators.linear_operator import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Programme", "programme_of"]

_TOLERANCE = 1e-9


class Programme(Protocol):
    """low ≤ matrix @ x ≤ high with x from lower to upper."""

    def largest(self, direction: Array) -> tuple[float, Array | None]:
        """The largest direction @ x and where it is reached.

        −∞ if there is no solution, ∞ if it has no end, NaN if the solver gave up.
        """


def programme_of(matrix: csr_array, low: Array, high: Array, lower: Array, upper: Array) -> Programme:
    """The programme of a system: GLOP of OR-tools, which goes on from one objective to the next.

    OR-tools and the package highspy cannot be in one process. Where that is loaded, SciPy solves each anew.
    """
    apart = "highspy" in sys.modules and "ortools" not in sys.modules
    return (_Anew if apart else _Glop)(matrix.tocsr(), low, high, lower, upper)


@final
class _Glop:
    def __init__(self, matrix: csr_array, low: Array, high: Array, lower: Array, upper: Array) -> None:
        from ortools.linear_solver import pywraplp

        self._library = pywraplp
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        told = f"use_preprocessing: false primal_feasibility_tolerance: {_TOLERANCE}"
        self._solver.SetSolverSpecificParametersAsString(told)
        self._parameters = pywraplp.MPSolverParameters()
        self._parameters.SetIntegerParam(self._parameters.INCREMENTALITY, self._parameters.INCREMENTALITY_ON)
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        self._unknowns = [self._solver.NumVar(least, most, "") for least, most in ends]
        for row, (start, stop) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
            constraint = self._solver.Constraint(float(low[row]), float(high[row]))
            entries = zip(matrix.indices[start:stop], matrix.data[start:stop], strict=True)
            for column, factor in entries:
                constraint.SetCoefficient(self._unknowns[column], float(factor))
        self._asked: Array = np.zeros(lower.size)

    def largest(self, direction: Array) -> tuple[float, Array | None]:
        objective = self._solver.Objective()
        for at in np.flatnonzero(direction != self._asked):
            objective.SetCoefficient(self._unknowns[at], float(direction[at]))
        objective.SetMaximization()
        self._asked = direction.copy()
        status = self._solver.Solve(self._parameters)
        solver = self._solver
        if status == solver.OPTIMAL:
            x = np.array([unknown.solution_value() for unknown in self._unknowns])
            return float(direction @ x), x
        if status == solver.INFEASIBLE:
            return -np.inf, None
        return (np.inf if status == solver.UNBOUNDED else np.nan), None


@final
class _Anew:
    def __init__(self, matrix: csr_array, low: Array, high: Array, lower: Array, upper: Array) -> None:
        self._system = matrix, low, high
        self._bounds = lower, upper

    def largest(self, direction: Array) -> tuple[float, Array | None]:
        from scipy.optimize import Bounds, LinearConstraint, milp

        found = milp(-direction, constraints=LinearConstraint(*self._system), bounds=Bounds(*self._bounds))
        if found.status == 0:
            return float(direction @ found.x), np.asarray(found.x)
        return {2: -np.inf, 3: np.inf}.get(found.status, np.nan), None
