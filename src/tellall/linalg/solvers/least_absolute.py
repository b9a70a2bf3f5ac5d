"""Weighted least absolute deviations in a box, with a certified duality gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import LinearOperator, written_out
from tellall.linalg.solvers.pdhg import Saddle, Scaled, Split, Walk, even_out, saddle_point
from tellall.linalg.solvers.solution import Array, Solution, Status, check_vector

if TYPE_CHECKING:
    pass

__all__ = [
    "AbsoluteProblem",
    "LeastAbsolute",
    "PreparedAbsolute",
]

_NOTHING = 1e-3  # of the objective in the middle of the box: an objective below that counts as zero


@dataclass(frozen=True, eq=False)
class AbsoluteProblem:
    """minimise Σ_j w_j max(0, |A x − z|_j − slack_j) over lower_p ≤ x_p ≤ upper_p.

    Everything but the target z. ``slack`` is the half-width of an interval that a rounded value is known to
    come from: inside it a residual costs nothing. Zero slack is plain ℓ1.
    """

    operator: LinearOperator
    weights: Array
    lower: Array
    upper: Array
    slack: Array

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        for name, size in (("weights", m), ("slack", m), ("lower", n), ("upper", n)):
            check_vector(name, getattr(self, name), size)
        for name in ("weights", "slack"):
            if (getattr(self, name) < 0).any():
                raise invalid(name, "zero or more", float(getattr(self, name).min()))
        if (self.upper < self.lower).any():
            raise invalid("upper", "at least lower", "a box without room")

    def objective(self, x: Array, target: Array) -> float:
        """Σ_j w_j max(0, |A x − z|_j − slack_j), in double precision."""
        residual = np.abs(self.operator.matvec(x.astype(np.float64, copy=False)) - target)
        return float(self.weights @ np.maximum(residual - self.slack, 0.0))

    def lower_bound(self, y: Array, target: Array) -> float:
        """A lower bound on the objective in the box, for any y with |y_j| ≤ w_j, in double precision.

        min over the box of ⟨y, A x − z⟩ − Σ_j slack_j |y_j| ≤ min over the box of the objective.
        """
        y = np.clip(y.astype(np.float64, copy=False), -self.weights, self.weights)
        back = self.operator.rmatvec(y)
        least = np.minimum(back * self.lower, back * self.upper).sum()
        return float(least - y @ target - self.slack @ np.abs(y))


@dataclass(frozen=True)
class LeastAbsolute:
    """Options of the least-absolute-deviations solver.

    Parameters
    ----------
    gap
        Certified relative duality gap at which the solver stops.
    exact_limit
        Up to this many matrix entries the linear program goes to HiGHS, which ends at a vertex; above, only
        products with the operator are used.
    iterations
        Most primal-dual steps.
    outliers
        Most directions split off (see `tellall.linalg.solvers.pdhg`); by default a quarter of the unknowns.

    Notes
    -----
    The certificate: the objective is at most (1 + gap) times the optimum of the problem as stated, box and
    slack included, proved by a dual point and computed in double precision whatever the operator's
    precision. If the optimum is below a thousandth of the objective in the middle of the box, the gap is
    relative to that thousandth. The minimiser need not be unique; compare objectives. This is the LP decoding
    of the linear-reconstruction paper (Theorem 2.2), which has neither box nor slack. One step costs two
    products; if single precision stalls, as it does when the noise is tiny, double precision takes over.
    HiGHS ends at an arbitrary vertex of the optimal points, the steps at one near the middle of the box: if
    the optimum is far from unique, the latter is the better guess.
    """

    gap: float = 1e-4
    exact_limit: int = 50_000
    iterations: int = 20_000
    outliers: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.gap < 1:
            raise invalid("gap", "between 0 and 1", self.gap)
        if self.iterations < 1:
            raise invalid("iterations", "one or more", self.iterations)

    def prepare(self, problem: AbsoluteProblem) -> PreparedAbsolute:
        """Prepares the problem, to be solved for many targets."""
        m, n = problem.operator.shape
        small = m * n <= self.exact_limit
        if small:
            return _Exact(problem, self)
        return _FirstOrder(replace(problem, operator=written_out(problem.operator)), self)


class PreparedAbsolute(ABC):
    """A prepared problem; ``solve`` may be called for many targets."""

    def __init__(self, problem: AbsoluteProblem, options: LeastAbsolute) -> None:
        self.problem = problem
        self.options = options

    def solve(self, target: Array) -> Solution:
        """A minimiser, with objective, lower bound and relative gap in its stats."""
        target = check_vector("target", target, self.problem.operator.shape[0]).astype(np.float64, copy=False)
        floor = _NOTHING * self.problem.objective(self._middle, target)
        x, y, stats = self._solve(target, floor)
        if "gap" not in stats:
            stats |= self._certificate(x, y, target, floor)
        status = Status("solved")
        if not stats["gap"] <= self.options.gap:
            left = f"the duality gap is {stats['gap']:.1e} of the objective"
            status = Status("not converged", f"{left}; allow more iterations or a wider gap")
        return Solution(x, status, stats)

    @abstractmethod
    def _solve(self, target: Array, floor: float) -> tuple[Array, Array, dict[str, float]]:
        """x, y and the solver's counts; an objective below ``floor`` counts as zero."""

    def _certificate(self, x: Array, y: Array, target: Array, floor: float) -> dict[str, float]:
        objective = self.problem.objective(x, target)
        bound = max(self.problem.lower_bound(y, target), 0.0)
        scale = max(objective, floor)
        gap = (objective - bound) / scale if scale > 0 else 0.0
        return {"objective": objective, "bound": bound, "gap": max(gap, 0.0)}

    @cached_property
    def _middle(self) -> Array:
        return (self.problem.lower + self.problem.upper) / 2


@final
class _FirstOrder(PreparedAbsolute):
    """Restarted primal-dual steps in the operator's own precision, around the middle of the box."""

    @cached_property
    def system(self) -> Split:
        """The operator, scaled and with its outlying directions split off."""
        problem = self.problem
        dtype = self.problem.operator.dtype
        rows, columns = _scales(problem)
        return even_out(
            Scaled(problem.operator, rows.astype(dtype), columns.astype(dtype)), most=self.options.outliers
        )

    def _solve(self, target: Array, floor: float) -> tuple[Array, Array, dict[str, float]]:
        problem = self.problem
        system = self.system
        rows = system.scaled.rows
        columns = system.scaled.columns
        # in double precision, because the iteration only sees what is left
        shifted = target - problem.operator.matvec(self._middle)
        if not system.norm:
            return self._middle, _idle(problem, shifted), {"iterations": 0.0}
        certificate: dict[str, float] = {}
        put = problem.operator.resident.device.put
        get = problem.operator.resident.device.get

        def unscale(x: Array) -> Array:
            return np.clip(self._middle + columns * x, problem.lower, problem.upper)

        def accept(x: Array, y: Array) -> bool:
            certificate.update(self._certificate(unscale(get(x)), rows * get(y), target, floor))
            return certificate["gap"] <= self.options.gap

        def walk_on(
            system: Split, left: int, start: tuple[Array, Array, float] | None
        ) -> tuple[Array, Array, Walk]:
            begin = start and (put(start[0]), put(start[1]), start[2])
            x, y, walk = saddle_point(
                _saddle(problem, system, shifted),
                gap=self.options.gap,
                floor=floor,
                iterations=left,
                accept=accept,
                start=begin,
            )
            return get(x), get(y), walk

        most = self.options.iterations
        x, y, walk = walk_on(system, most, None)
        stats = {"iterations": float(walk.iterations), "restarts": float(walk.restarts)}
        if not walk.accepted and walk.iterations < most:
            begun = (x.astype(np.float64), y.astype(np.float64), walk.weight)
            x, y, walk = walk_on(system.in_double(), most - walk.iterations, begun)
            stats = {"iterations": stats["iterations"] + walk.iterations, "restarts": float(walk.restarts)}
        stats["outliers"] = float(system.count)
        return unscale(x), rows * y, stats | (certificate if walk.accepted else {})


def _saddle(problem: AbsoluteProblem, system: Split, shifted: Array) -> Saddle:
    """The saddle point problem in the scaled unknowns, in the precision of the scales."""
    rows = system.scaled.rows
    columns = system.scaled.columns
    half: Array = (problem.upper - problem.lower) / 2
    resident = system.resident()
    target, slack, half, ceiling = (
        resident.device.put(each.astype(rows.dtype))
        for each in (rows * shifted, rows * problem.slack, half / columns, problem.weights / rows)
    )
    return Saddle(resident, target=target, slack=slack, half=half, ceiling=ceiling)


def _idle(problem: AbsoluteProblem, residual: Array) -> Array:
    """The dual point of the rows that no unknown can change."""
    return np.where(np.abs(residual) > problem.slack, -np.sign(residual) * problem.weights, 0.0)


def _scales(problem: AbsoluteProblem) -> tuple[Array, Array]:
    """Factors for rows and columns, one over the root of their norms, so that K is balanced."""
    squares = problem.operator.squared()
    dtype = problem.operator.dtype
    m, n = problem.operator.shape
    rows = squares.matvec(np.ones(n, dtype=dtype)).astype(np.float64)
    columns = squares.rmatvec(np.ones(m, dtype=dtype)).astype(np.float64)
    return np.where(rows > 0, rows, 1.0) ** -0.25, np.where(columns > 0, columns, 1.0) ** -0.25


@final
class _Exact(PreparedAbsolute):
    """The dual linear program, by HiGHS: n equations instead of 2 m inequalities."""

    def _solve(self, target: Array, floor: float) -> tuple[Array, Array, dict[str, float]]:
        from scipy.optimize import linprog

        problem = self.problem
        m, n = problem.operator.shape
        half = (problem.upper - problem.lower) / 2
        shifted = target - problem.operator.matvec(self._middle)
        cost = np.concatenate([problem.slack + shifted, problem.slack - shifted, half, half])
        ceiling = np.concatenate([problem.weights, problem.weights, np.full(2 * n, np.inf)])
        if m == 0 or n == 0:
            return self._middle, _idle(problem, shifted), {"iterations": 0.0}
        bounds: Any = np.stack([np.zeros(ceiling.size), ceiling], axis=1)
        answer = linprog(
            cost,
            A_eq=self._equations,
            b_eq=np.zeros(n),
            bounds=bounds,
            method="highs",
        )
        if answer.x is None:  # numerical trouble in HiGHS: first-order steps factorise nothing
            return _FirstOrder(problem, self.options)._solve(target, floor)
        x = np.clip(self._middle + answer.eqlin.marginals, problem.lower, problem.upper)
        return x, answer.x[:m] - answer.x[m : 2 * m], {"iterations": float(answer.nit)}

    @cached_property
    def _equations(self) -> Any:
        """Aᵀ (y⁺ − y⁻) − p + q = 0, where p and q are the multipliers of the two ends of the box."""
        from scipy.sparse import csc_array, eye_array, hstack

        back = csc_array(self.problem.operator.to_sparse().astype(np.float64).T)
        unit = eye_array(back.shape[0])
        return hstack([back, -back, -unit, unit], format="csc")
