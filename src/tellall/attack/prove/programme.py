"""Integer programmes: a solution of a part, or that there is none, by HiGHS in SciPy within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Component
from tellall.core.work import doing

__all__ = ["LEAST", "Budget", "Wish", "cost_at_root", "find_solution"]

# Steps of one call of the integer solver, about a millisecond each, per thousand entries: where the
# relaxation settles it, what cuts and heuristics at the root take beyond that, and each further node.
# Measured on tables of 40 to 300 people. The number of steps depends on the problem, never on the clock.
_CALL, _ROOT, _NODE = 20.0, 150.0, 5.0
LEAST = 3.0  # steps of any call
_GAP = 0.5  # a solution that moves half as many counts as could move is as good as the best


@dataclass
class Budget:
    """How many steps are left."""

    steps: float
    spent: float = 0.0

    def take(self, steps: float) -> None:
        """Spends them."""
        self.spent += steps

    @property
    def left(self) -> float:
        """What is left, below zero where the last call took more."""
        return self.steps - self.spent


def cost_at_root(part: Component) -> float:
    """The steps of one call that is hard at the root."""
    return (_CALL + _ROOT) * part.entries / 1000


@dataclass(frozen=True, eq=False)
class Wish:
    """What a solution x, with choices of 0 or 1 after it, must have too, and a cost that is to be small.

    low ≤ matrix @ (x, choices) ≤ high; there are as many choices as ``cost`` is longer than x.
    """

    cost: Array
    matrix: Any = None
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))


def find_solution(
    part: Component, budget: Budget, wish: Wish | None = None, *, nodes: int | None = None
) -> tuple[Array | None, bool]:
    """A solution, or whether it is certain that none exists: by branch and bound (HiGHS in SciPy).

    The cost is brought to within half of the least possible, not below. An answer that floating point
    spoilt counts as none found.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack, vstack

    n, thousands = part.columns.size, part.entries / 1000
    doing(f"search for proofs, {max(budget.spent, 0):,.0f} of {budget.steps:,.0f} steps")
    least = max(LEAST, _CALL * thousands)
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
    """Matrix, ends and upper bounds, with a choice for each piece of a row that has gaps."""
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
