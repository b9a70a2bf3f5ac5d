"""Certificates that a system has no solution, or only one, checked in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tellall.algebra.operators.base import Array, Dense
from tellall.algebra.solvers.base import Component
from tellall.algebra.solvers.exhaustive import Enumeration, Exhaustive, WholeProblem

if TYPE_CHECKING:
    from tellall.attack.prove.proof import Wish

__all__ = ["every_solution", "is_empty_for_sure", "only_solution", "refutes"]

_SCALE = 2**16  # weights of rows are whole numbers up to this
_LIST = Exhaustive(cap=1, nodes=2000)
_LISTED = 80  # most unknowns of a part that is searched once more
_MOST_ENTRIES = 200_000
_PRIME = 2**31 - 1


def is_empty_for_sure(part: Component, wish: Wish | None = None) -> bool:
    """Whether a certificate was found that nothing satisfies a part and a wish.

    Notes
    -----
    If even the linear relaxation has no solution, weights y of the rows show it (Farkas): the least value of
    Σ y_i row_i by the ends of the rows is more than its largest value by the bounds on the unknowns. The
    weights come from a linear programme, are rounded to whole numbers, and are then checked in whole numbers
    (`refutes`), so rounding can only lose a certificate. If no weights are found, a small part is searched
    once more by halving boxes. False means that nothing was certified, not that there is a solution.
    """
    whole = _with_wish(part, wish)
    if whole.entries > _MOST_ENTRIES or not _is_whole(whole):
        return False
    if (whole.low > whole.high).any():
        return True
    weights = _weights(whole)
    if weights is not None and refutes(whole, weights):
        return True
    if whole.columns.size > _LISTED:
        return False
    found = every_solution(whole, _LIST)
    return found is not None and not found.count


def _with_wish(part: Component, wish: Wish | None) -> Component:
    """Returns the part with the rows of a wish, and its choices as further unknowns."""
    from scipy.sparse import csr_array, hstack, vstack

    if wish is None or wish.matrix is None:
        return part
    choices = wish.cost.size - part.columns.size
    lower = np.concatenate([part.lower, np.zeros(choices)])
    upper = np.concatenate([part.upper, np.ones(choices)])
    rows = csr_array(wish.matrix)
    least, most = (
        rows.maximum(0) @ one + rows.minimum(0) @ two for one, two in ((lower, upper), (upper, lower))
    )
    wide = hstack([part.matrix, csr_array((part.matrix.shape[0], choices))]) if choices else part.matrix
    return Component(
        csr_array(vstack([wide, rows])),
        np.concatenate([part.low, np.maximum(wish.low, least)]),
        np.concatenate([part.high, np.minimum(wish.high, most)]),
        lower,
        upper,
        part.gaps,
        np.concatenate([part.columns, np.full(choices, -1)]),
        np.concatenate([part.rows, np.full(rows.shape[0], -1)]),
    )


def _is_whole(part: Component) -> bool:
    numbers = (part.matrix.data, part.low, part.high, part.lower, part.upper)
    return all(bool((np.isfinite(each) & (each == np.rint(each))).all()) for each in numbers)


def _weights(part: Component) -> Array | None:
    """Returns weights of the rows that may refute them: the duals of the smallest total miss."""
    from scipy import optimize
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    m, n = part.matrix.shape
    miss = eye_array(m)
    above, below = hstack([part.matrix, -miss]), hstack([-part.matrix, -miss])
    solve: Any = optimize.linprog
    found = solve(
        np.concatenate([np.zeros(n), np.ones(m)]),
        A_ub=csr_array(vstack([above, below])),
        b_ub=np.concatenate([part.high, -part.low]),
        bounds=np.column_stack(
            [np.concatenate([part.lower, np.zeros(m)]), np.concatenate([part.upper, np.full(m, np.inf)])]
        ),
        method="highs",
    )
    if found.status != 0 or found.fun <= 0:
        return None
    duals = found.ineqlin.marginals
    weights: Array = duals[:m] - duals[m:]  # positive where a row is too low
    largest = np.abs(weights).max(initial=0.0)
    return None if not largest else np.rint(weights / largest * _SCALE)


def refutes(part: Component, weights: Array) -> bool:
    """Whether these whole weights of the rows show that nothing satisfies them; uses only whole numbers."""
    y = weights.astype(np.int64)
    data, low, high, lower, upper = (
        each.astype(np.int64) for each in (part.matrix.data, part.low, part.high, part.lower, part.upper)
    )
    matrix = part.matrix.copy()
    matrix.data = data
    together = matrix.T @ y
    least = int(np.where(y > 0, y * low, y * high).sum())
    most = int(np.where(together > 0, together * upper, together * lower).sum())
    return least > most


def only_solution(part: Component) -> Array | None:
    """Returns the counts if exact values of this part determine them by linear algebra alone, else None.

    Notes
    -----
    With E the rows of whole coefficients that have one possible value b, EᵀE is a matrix of whole numbers. It
    is eliminated modulo a prime. If no pivot is missing, its determinant is not a multiple of the prime, so
    it is not zero, and E x = b has at most one solution over all numbers. The candidate comes from floating
    point and is checked in whole numbers. Both checks are exact.
    """
    n = part.columns.size
    exact = np.flatnonzero(part.low == part.high)
    if not n or exact.size < n:
        return None
    matrix = part.matrix[exact]
    if (matrix.data != np.rint(matrix.data)).any():
        return None
    gram = (matrix.T @ matrix).toarray()
    try:
        x = np.rint(np.linalg.solve(gram, matrix.T @ part.low[exact]))
    except np.linalg.LinAlgError:
        return None
    inside = ((x >= part.lower) & (x <= part.upper)).all()
    return x if inside and part.fits(x) and _is_invertible(gram) else None


def _is_invertible(matrix: Array) -> bool:
    """Whether a matrix of whole numbers is invertible modulo a prime, and hence over all numbers."""
    left = np.rint(matrix).astype(np.int64) % _PRIME
    while left.size:
        pivots = np.flatnonzero(left[:, 0])
        if not pivots.size:
            return False
        chosen = left[pivots[0]].copy()
        left[pivots[0]] = left[0]
        inverse = pow(int(chosen[0]), -1, _PRIME)
        factors = left[1:, :1] * inverse % _PRIME
        left = (left[1:, 1:] - factors * chosen[1:]) % _PRIME
    return True


def every_solution(part: Component, options: Exhaustive) -> Enumeration | None:
    """Returns all solutions; None if there are too many to list."""
    middle, half = (part.low + part.high) / 2, (part.high - part.low) / 2
    problem = WholeProblem(Dense(part.matrix.toarray()), half, part.lower, part.upper, part.gaps)
    found = options.prepare(problem).solve(middle)
    return found if found.complete else None
