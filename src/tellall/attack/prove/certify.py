"""Systems of whole numbers with few solutions: the only one by linear algebra, or all of them listed."""

from __future__ import annotations

import numpy as np

from tellall.algebra.operators.base import Array, Dense
from tellall.algebra.solvers.base import Component
from tellall.algebra.solvers.exhaustive import Enumeration, Exhaustive, WholeProblem

__all__ = ["every_solution", "only_solution"]

_PRIME = 2**31 - 1


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
