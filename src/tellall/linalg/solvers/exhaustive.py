"""Every whole-numbered solution of A x ≈ z in a box: counted, listed, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb, prod
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Dense, IntArray, LinearOperator
from tellall.linalg.solvers.solution import Array, Component, Status

__all__ = [
    "Enumeration",
    "Exhaustive",
    "PreparedExhaustive",
    "WholeProblem",
    "every_solution",
]

_ROUND = 1e-7  # a bound this far past a whole number is that number
_NUMBERS = 1 << 19  # matrix entries times boxes, in one batch
_SMALLEST_SCALE = 1e-3  # of a row in the ball: exact rows count a thousandfold, not infinitely
_ROUNDS = 4  # of propagation before a box is halved

Gaps = tuple[tuple[int, IntArray], ...]  # by row: values that it does not take


@dataclass(frozen=True, eq=False)
class _Ball:
    """low ≤ A x ≤ high, together with ‖R x − q‖² ≤ budget, which follows from it (see `_rows_within`)."""

    matrix: Array
    low: Array
    high: Array
    triangle: Array
    center: Array
    budget: float
    gaps: Gaps = ()


def _rows_within(matrix: Array, target: Array, bound: Array, gaps: Gaps = ()) -> _Ball:
    """The rows of |A x − z| ≤ bound, and the ball that holds all their solutions.

    Notes
    -----
    With W = diag(1 / scale), scale_j ≥ bound_j, every solution has ‖W (A x − z)‖² ≤ Σ (bound_j / scale_j)².
    By W A = Q R the left side is ‖R x − Qᵀ W z‖² + ‖(1 − Q Qᵀ) W z‖², whose second term is known and is
    subtracted from the budget of the first. The rows of R hold fewer and fewer unknowns, so that a few wrong
    ones use up the budget even if no single row of A rules them out (sphere decoding).
    """
    from scipy.linalg import qr

    scale = np.maximum(bound, _SMALLEST_SCALE)
    total = float(((bound / scale) ** 2).sum())
    m, n = matrix.shape
    if not m or not n:
        return _Ball(matrix, target - bound, target + bound, np.zeros((0, n)), np.zeros(0), np.inf, gaps)
    orthogonal, triangle, order = qr(matrix / scale[:, None], mode="economic", pivoting=True)
    rank = int((np.abs(triangle.diagonal()) > 1e-9 * max(abs(triangle[0, 0]), 1e-30)).sum())
    orthogonal = orthogonal[:, :rank]
    unordered = np.zeros((rank, n))
    unordered[:, order] = triangle[:rank]
    scaled = target / scale
    center = orthogonal.T @ scaled
    rest = float(((scaled - orthogonal @ center) ** 2).sum())
    room = total - rest + _ROUND * (1 + rest)
    return _Ball(matrix, target - bound, target + bound, unordered, center, room, gaps)


@dataclass(frozen=True, eq=False)
class _Found:
    """Solutions, whether they are all, how many boxes were examined, and a box that holds every solution."""

    solutions: Array
    complete: bool
    nodes: int
    box: tuple[Array, Array]


def _search(rows: _Ball, lower: Array, upper: Array, *, cap: int, nodes: int) -> _Found:
    """All whole-numbered x in the box that satisfy the rows; stops past ``cap`` solutions or ``nodes``."""
    network = _Network(rows)
    root = network.propagate(lower[None, :].astype(float), upper[None, :].astype(float), rounds=100)
    if not root[0].shape[0]:
        return _Found(np.zeros((0, lower.size)), True, 1, (lower, upper))
    box = (root[0][0], root[1][0])
    stack = [root]
    found = []
    count = 0
    looked = 1
    width = max(1, _NUMBERS // max(1, network.sizes.size))
    while stack:
        low, high = stack.pop()
        if low.shape[0] > width:
            stack.append((low[width:], high[width:]))
            low, high = low[:width], high[:width]
        single = (low == high).all(axis=1)
        whole = low[single]
        whole = whole[network.kept(whole)]
        found.append(whole)
        count += whole.shape[0]
        if count > cap or looked > nodes:
            break
        low, high = low[~single], high[~single]
        if low.shape[0]:
            low, high = network.propagate(*network.halve(low, high), rounds=_ROUNDS)
            looked += 2 * int((~single).sum())
            if low.shape[0]:
                stack.append((low, high))
    else:
        return _Found(np.concatenate(found), True, looked, box)
    return _Found(np.concatenate(found), False, looked, box)


class _Network:
    """The rows and the ball, ready for propagation in many boxes at once."""

    def __init__(self, rows: _Ball) -> None:
        self.rows = rows
        A = np.concatenate([rows.matrix, rows.triangle])
        self.plus = np.maximum(A, 0).T.copy()
        self.minus = np.minimum(A, 0).T.copy()
        self.sizes = np.abs(A)
        inverse = np.divide(1.0, self.sizes, out=np.zeros_like(A), where=A != 0)
        # a row lets an unknown with a positive entry move by room / entry, and does not limit the others
        self.rise = np.where(A > 0, inverse, 0.0), np.where(A > 0, 0.0, np.inf)
        self.fall = np.where(A < 0, inverse, 0.0), np.where(A < 0, 0.0, np.inf)

    def kept(self, x: Array) -> npt.NDArray[np.bool_]:
        """Which whole-numbered points satisfy every row."""
        image = x @ self.rows.matrix.T
        kept = np.asarray(((image >= self.rows.low) & (image <= self.rows.high)).all(axis=1))
        for row, values in self.rows.gaps:
            kept &= ~np.isin(np.rint(image[:, row]), values)
        return kept

    def propagate(self, low: Array, high: Array, rounds: int) -> tuple[Array, Array]:
        """The boxes shrunk by what the rows imply, without those that violate a row."""
        for _ in range(rounds):
            above, below, span = self.room(low, high)
            alive = (above >= 0).all(axis=1) & (below >= 0).all(axis=1)
            low, high, above, below, span = (part[alive] for part in (low, high, above, below, span))
            if not low.shape[0]:
                break
            up = high - low
            down = high - low
            span = np.minimum(span, (self.sizes * up.max(axis=0)).max(axis=1, initial=0.0))
            for room, forth, back in ((above, up, down), (below, down, up)):
                box, row = np.nonzero(room < span)  # only rows this tight can shrink anything
                if box.size:
                    _tighten(forth, box, room[box, row], row, self.rise)
                    _tighten(back, box, room[box, row], row, self.fall)
            new_low = high - down
            new_high = low + up
            alive = (new_low <= new_high).all(axis=1)
            settled = np.array_equal(new_low, low) and np.array_equal(new_high, high)
            low = new_low[alive]
            high = new_high[alive]
            if settled:
                break
        return low, high

    def room(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """How far each row may rise from its least value and fall from its greatest, and their distance.

        Room below zero means that a row cannot be satisfied.
        """
        least = low @ self.plus + high @ self.minus
        most = high @ self.plus + low @ self.minus
        rows = self.rows
        m = self.rows.low.size
        q = rows.center
        spent = np.maximum(np.maximum(least[:, m:] - q, q - most[:, m:]), 0) ** 2
        left = rows.budget - spent.sum(axis=1, keepdims=True)
        reach = np.sqrt(np.maximum(left + spent, 0))
        above = np.concatenate([rows.high - least[:, :m], q + reach - least[:, m:]], axis=1)
        below = np.concatenate([most[:, :m] - rows.low, most[:, m:] - q + reach], axis=1)
        above[left[:, 0] < 0] = -1
        return above, below, most - least

    def halve(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Both halves of every box, cut at the unknown in the tightest rows."""
        above, below, _ = self.room(low, high)
        tight = (1 / (1 + np.maximum(np.minimum(above, below), 0))) @ self.sizes
        chosen = np.where(high > low, tight, -1.0).argmax(axis=1)
        at = np.arange(low.shape[0])
        middle = np.floor((low[at, chosen] + high[at, chosen]) / 2)
        first = high.copy()
        second = low.copy()
        first[at, chosen] = middle
        second[at, chosen] = middle + 1
        return np.concatenate([low, second]), np.concatenate([first, high])


def _tighten(moves: Array, box: IntArray, room: Array, row: IntArray, share: tuple[Array, Array]) -> None:
    """Reduces, in place, how far the unknowns of each box can move to what its rows allow."""
    limit = room[:, None] * share[0][row] + share[1][row]
    starts = np.flatnonzero(np.diff(box, prepend=-1))
    least = np.floor(np.minimum.reduceat(limit, starts, axis=0) + _ROUND)
    moves[box[starts]] = np.minimum(moves[box[starts]], least)


_SLACK = 1e-6  # floating-point room of a bound
_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True, eq=False)
class WholeProblem:
    """find every whole-numbered x with lower ≤ x ≤ upper and |A x − z|_j ≤ bound_j.

    Everything but the target z. A row with an infinite bound says nothing. ``gaps`` lists, by row, whole
    numbers that (A x)_j cannot be.
    """

    operator: LinearOperator
    bound: Array
    lower: Array
    upper: Array
    gaps: Gaps = ()

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
        "solved": every solution was found. "contradictory": no solution exists. "not converged": the search
        stopped at the cap or the limit of nodes; nothing is claimed about what was not seen.
    complete
        Whether ``solutions`` are all there are.
    secrets
        Σ over the solutions of Π_p C(size_p, x_p): in how many ways the people who have the secret can be
        chosen from each group. If the list is not complete, a lower bound, like ``count``.
    fixed
        For each unknown whether it is proved to be the same in all solutions.
    lower, upper
        For each unknown, bounds proved for all solutions; attained if the list is complete.
    value
        The mean of the solutions found, each weighted by its number of ways; the middle of the bounds if
        none was found.
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
        Most partial solutions examined.

    Notes
    -----
    Branch and bound: bounds are propagated through every row, then the box of the unknown in the tightest
    rows is halved; many boxes at a time, depth first. A box is given up only if some row cannot be satisfied
    in it, so nothing is lost. Besides the rows, the ball that holds all solutions is propagated (see
    `_rows_within`), which settles random ±1 matrices of 100 unknowns in a few hundred boxes; the rows alone
    take 10⁵ for 32. Exponential in the worst case: about 0.1 ms per box at 60 unknowns, so that the default
    limit is some ten seconds.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
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
        """Prepares the problem, to be solved for many targets."""
        return PreparedExhaustive(problem, self)


@final
class PreparedExhaustive:
    """A problem whose rows with finite bounds are written out."""

    def __init__(self, problem: WholeProblem, options: Exhaustive) -> None:
        self.problem = problem
        self.options = options
        said = np.isfinite(problem.bound)
        self._said = said
        self._matrix = problem.operator.to_dense().astype(np.float64)[said]

    def solve(self, target: Array, *, sizes: Array | None = None) -> Enumeration:
        """Every solution, up to the cap; the groups' ``sizes`` are the upper bounds by default."""
        problem = self.problem
        options = self.options
        if target.shape != problem.bound.shape or not np.isfinite(target).all():
            raise invalid("target", f"{problem.bound.size} finite numbers", f"shape {target.shape}")
        sizes = problem.upper if sizes is None else sizes
        if sizes.shape != problem.upper.shape or (sizes < problem.upper).any():
            raise invalid("sizes", "one per unknown, at least its upper bound", f"shape {sizes.shape}")
        said = self._said
        place = np.cumsum(said) - 1
        gaps = tuple((int(place[row]), values) for row, values in problem.gaps if said[row])
        rows = _rows_within(self._matrix, target[said], problem.bound[said] + _SLACK, gaps)
        found = _search(rows, problem.lower, problem.upper, cap=options.cap, nodes=options.nodes)
        return _report(found, options, sizes)


def _report(found: _Found, options: Exhaustive, sizes: Array) -> Enumeration:
    """What the solutions found prove."""
    listed = found.solutions[: options.cap]
    listed = listed[np.lexsort(listed.T[::-1])] if listed.size else listed
    ways = _ways(listed, sizes)
    lower, upper = found.box
    status = Status("solved")
    if found.complete and ways:
        lower = listed.min(axis=0)
        upper = listed.max(axis=0)
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
    """Π_p C(size_p, x_p) of each solution; exact, because it soon exceeds any float."""
    several = np.flatnonzero(sizes > 1)
    groups = [int(size) for size in sizes[several]]
    return [
        prod(comb(size, int(x)) for size, x in zip(groups, row, strict=True)) if groups else 1
        for row in solutions[:, several]
    ]


def every_solution(part: Component, options: Exhaustive) -> Enumeration | None:
    """Returns all solutions; None if there are too many to list."""
    middle = (part.low + part.high) / 2
    half = (part.high - part.low) / 2
    problem = WholeProblem(Dense(part.matrix.toarray()), half, part.lower, part.upper, part.gaps)
    found = options.prepare(problem).solve(middle)
    return found if found.complete else None
