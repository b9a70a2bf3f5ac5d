"""Every whole-numbered solution of A x ≈ z in a box: counted, listed, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb, prod
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid
from tellall.linops import IntArray, LinearOperator
from tellall.solve.base import Array, Status
from tellall.solve.whole_search import Found, rows_within, search

__all__ = [
    "Enumeration",
    "Exhaustive",
    "PreparedExhaustive",
    "WholeProblem",
    "WholeRange",
    "whole_range",
]

_SLACK = 1e-6  # floating-point room beside a bound
_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, eq=False)
class WholeProblem:
    """find every whole-numbered x with lower ≤ x ≤ upper and |A x − z|_j ≤ bound_j.

    Everything but the target z. A row with an infinite bound says nothing.
    """

    operator: LinearOperator
    bound: Array
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        if self.bound.shape != (m,) or not (self.bound >= 0).all():
            raise invalid("bound", f"{m} numbers, zero or more", f"shape {self.bound.shape}")
        for name in ("lower", "upper"):
            value: Array = getattr(self, name)
            if value.shape != (n,) or not (np.isfinite(value) & (value == np.floor(value))).all():
                raise invalid(name, f"{n} whole numbers", f"shape {value.shape}")
        if (self.lower < 0).any():
            raise invalid("lower", "zero or more", float(self.lower.min()))
        if (self.upper < self.lower).any():
            raise invalid("upper", "at least lower", "a box without room")
        if m * n > _MOST_ENTRIES:
            advice = "use another decoder; this one looks at every solution"
            raise invalid("operator", f"of at most {_MOST_ENTRIES} entries", f"{m} × {n}", advice)


@final
@dataclass(frozen=True, eq=False)
class Enumeration:
    """The solutions found, and what they prove.

    Attributes
    ----------
    solutions
        One row per solution found, in lexicographic order.
    status
        "solved" when every solution was found; "contradictory" when there is none; "not converged" when the
        search stopped at the cap or the limit of nodes, and then nothing is claimed about what was not seen.
    complete
        Whether ``solutions`` are all there are.
    secrets
        Σ over the solutions of Π_p C(size_p, x_p): how many ways to say which people of each group have
        the secret. Where the list is not complete, a lower bound, like ``count``.
    fixed
        For each unknown whether it is proved to be the same in all solutions.
    lower, upper
        For each unknown, bounds proved for all solutions; attained where the list is complete.
    value
        The mean of the solutions found, each counted as often as it has ways; the middle of the bounds
        where none was found.
    """

    solutions: IntArray
    status: Status
    complete: bool
    secrets: int
    fixed: npt.NDArray[np.bool_]
    lower: Array
    upper: Array
    value: Array
    stats: dict[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many solutions were found."""
        return len(self.solutions)


@dataclass(frozen=True)
class Exhaustive:
    """Options of the exhaustive solver.

    Parameters
    ----------
    cap
        Most solutions listed; the search stops at one more.
    nodes
        Most partial solutions looked at.

    Notes
    -----
    Branch and bound: bounds are propagated through every row, then the box of the unknown in the tightest
    rows is halved; many boxes at a time, depth first. A box is given up only when some row cannot be met in
    it, so nothing is lost. Beside the rows, the ball that holds all solutions is propagated (see
    `tellall.solve.whole_search.rows_within`), which settles random ±1 matrices of 100 unknowns in a few
    hundred boxes where the rows alone take 10⁵ for 32. Exponential in the worst case: about 0.1 ms a box at
    60 unknowns, so that the default limit is some ten seconds.

    Examples
    --------
    >>> from tellall.linops import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> three = WholeProblem(sums, np.zeros(2), np.zeros(3), np.ones(3))
    >>> Exhaustive().prepare(three).solve(np.array([1.0, 1.0])).solutions.tolist()
    [[0, 1, 0], [1, 0, 1]]
    """

    cap: int = 10_000
    nodes: int = 100_000

    def __post_init__(self) -> None:
        for name in ("cap", "nodes"):
            if getattr(self, name) < 1:
                raise invalid(name, "one or more", getattr(self, name))

    def prepare(self, problem: WholeProblem) -> PreparedExhaustive:
        """The problem made ready to be solved for many targets."""
        return PreparedExhaustive(problem, self)


@final
class PreparedExhaustive:
    """A problem written out, with the further rows that follow from it."""

    def __init__(self, problem: WholeProblem, options: Exhaustive) -> None:
        self.problem = problem
        self.options = options
        said = np.isfinite(problem.bound)
        self._said = said
        self._matrix = problem.operator.to_dense().astype(np.float64)[said]

    def solve(self, target: Array, *, sizes: Array | None = None) -> Enumeration:
        """Every solution, up to the cap; ``sizes`` of the groups are the upper bounds if not given."""
        problem, options = self.problem, self.options
        if target.shape != problem.bound.shape or not np.isfinite(target).all():
            raise invalid("target", f"{problem.bound.size} finite numbers", f"shape {target.shape}")
        sizes = problem.upper if sizes is None else sizes
        if sizes.shape != problem.upper.shape or (sizes < problem.upper).any():
            raise invalid("sizes", "one per unknown, at least its upper bound", f"shape {sizes.shape}")
        said = self._said
        rows = rows_within(self._matrix, target[said], problem.bound[said] + _SLACK)
        found = search(rows, problem.lower, problem.upper, cap=options.cap, nodes=options.nodes)
        return _report(found, options, sizes)


def _report(found: Found, options: Exhaustive, sizes: Array) -> Enumeration:
    """What the solutions found say."""
    listed = found.solutions[: options.cap]
    listed = listed[np.lexsort(listed.T[::-1])] if listed.size else listed
    ways = _ways(listed, sizes)
    lower, upper = found.box
    status = Status("solved")
    if found.complete and ways:
        lower, upper = listed.min(axis=0), listed.max(axis=0)
    elif found.complete:
        status = Status("contradictory", "no whole numbers keep every bound; one of the bounds must be wrong")
    elif found.solutions.shape[0] > options.cap:
        status = Status("not converged", f"there are more than {options.cap} solutions; raise cap for more")
    else:
        status = Status("not converged", f"{found.nodes} boxes were not enough; raise nodes")
    secrets = sum(ways)
    share = np.array([way / secrets for way in ways])
    return Enumeration(
        solutions=listed.astype(np.min_scalar_type(int(listed.max(initial=0)))),
        status=status,
        complete=found.complete,
        secrets=secrets,
        fixed=(lower == upper) & (status.word != "contradictory"),
        lower=lower,
        upper=upper,
        value=share @ listed if ways else (lower + upper) / 2,
        stats={"nodes": float(found.nodes), "count": float(len(ways))},
    )


def _ways(solutions: Array, sizes: Array) -> list[int]:
    """Π_p C(size_p, x_p) of each solution; exact, because it soon passes any float."""
    several = np.flatnonzero(sizes > 1)
    groups = [int(size) for size in sizes[several]]
    return [
        prod(comb(size, int(x)) for size, x in zip(groups, row, strict=True)) if groups else 1
        for row in solutions[:, several]
    ]


@dataclass(frozen=True)
class WholeRange:
    """Whole numbers between which one unknown lies in every solution, and whether both are attained."""

    lower: int
    upper: int
    status: Status


def whole_range(problem: WholeProblem, target: Array, unknown: int, *, nodes: int = 10_000) -> WholeRange:
    """The least and the most that one unknown can be in any solution.

    Equal ends prove the unknown, also where the solutions are far too many to list.

    Notes
    -----
    Two mixed-integer programs by HiGHS (its feasibility tolerance, 1e-7 of a row, is the floating-point
    room). Where ``nodes`` branches do not settle one, the end is the proved bound, and the status says so.

    Examples
    --------
    >>> from tellall.linops import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> three = WholeProblem(sums, np.zeros(2), np.zeros(3), np.ones(3))
    >>> whole_range(three, np.array([1.0, 1.0]), 0)
    WholeRange(lower=0, upper=1, status=Status(word='solved', advice=''))
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = problem.upper.size
    if not 0 <= unknown < n:
        raise invalid("unknown", f"a number from 0 to {n - 1}", unknown)
    said = np.isfinite(problem.bound)
    room = problem.bound[said] + _SLACK
    matrix = problem.operator.to_sparse().astype(np.float64)[said]
    rows = LinearConstraint(matrix, target[said] - room, target[said] + room)
    ends, settled = [], True
    for sign in (1.0, -1.0):
        cost = np.zeros(n)
        cost[unknown] = sign
        answer = milp(
            cost,
            constraints=rows if said.any() else None,
            bounds=Bounds(problem.lower, problem.upper),
            integrality=np.ones(n, dtype=np.int64),
            options={"node_limit": nodes},
        )
        if answer.status == 2:
            advice = "no whole numbers keep every bound; one of the bounds must be wrong"
            return WholeRange(
                int(problem.lower[unknown]), int(problem.upper[unknown]), Status("contradictory", advice)
            )
        proved = answer.mip_dual_bound
        outer = problem.lower[unknown] if sign > 0 else -problem.upper[unknown]
        known = outer if proved is None or not np.isfinite(proved) else max(outer, np.ceil(proved - _SLACK))
        ends.append(int(sign * known))
        settled &= answer.status == 0
    status = Status("solved") if settled else Status("not converged", "the bounds may be wide; raise nodes")
    return WholeRange(ends[0], ends[1], status)
