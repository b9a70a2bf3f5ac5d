"""How far a matrix is from spreading every image evenly: an upper bound on its Euclidean-section constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.errors import invalid
from tellall.linops import LinearOperator
from tellall.solve.base import Array

__all__ = ["SectionBound", "section_upper_bound"]

_SMOOTHING = (1.0, 1e-3)  # of the root mean square image, from the first step to the last
_TIES = 1e-12
_STIR = 1e-2  # a column of ±1 is itself a point where the descent stands still


@dataclass(frozen=True, eq=False)
class SectionBound:
    """No α above this one makes A an α-Euclidean section: the witness breaks it."""

    alpha: float
    witness: Array
    stats: dict[str, float]


def section_upper_bound(
    operator: LinearOperator,
    rng: np.random.Generator,
    *,
    starts: int = 9,
    steps: int = 20,
    iterations: int = 8,
) -> SectionBound:
    """The least ‖A x‖₁ / (√m ‖A x‖₂) that a search finds, with its x: an upper bound on the constant of A.

    Parameters
    ----------
    starts, steps, iterations
        Points to start from, descent steps from each, and conjugate gradient iterations in each step.

    Notes
    -----
    A is an α-Euclidean section if ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x (linear-reconstruction, Definition 2);
    the largest such α cannot be computed efficiently, but every x bounds it from above, in double precision
    here. The search starts from random x, from rows of A and from single unknowns, and goes down by
    reweighted least squares: with u = A x and w_j = (u_j² + ε²)^(−1/2), x ← (Aᵀ diag(w) A)⁻¹ Aᵀ u, ε falling;
    O(starts · steps · iterations) products. Random Gaussian images have √(2/π) ≈ 0.80; products of 0/1
    attributes lie far lower (E-LR-1), and there LP decoding has no guarantee against gross errors.

    Examples
    --------
    >>> from tellall.linops import Dense
    >>> found = section_upper_bound(Dense(np.eye(16)), np.random.default_rng(0))
    >>> round(found.alpha, 2)  # one unknown alone: 1 / √16
    0.25
    """
    m, n = operator.shape
    if not m or not n:
        raise invalid("operator", "of one row and one column or more", f"{m} × {n}")
    best, products = np.inf, 0
    witness: Array = np.zeros(n)
    for start in _starts(operator, rng, starts):
        for x in _descent(operator, start, steps, iterations):
            products += 2 * iterations
            ratio = _ratio(operator, x)
            if ratio < best:
                best, witness = ratio, x
    if not np.isfinite(best):
        raise invalid("operator", "other than zero", "A x = 0 for every x tried")
    return SectionBound(best, witness, {"starts": float(starts), "products": float(products)})


def _ratio(operator: LinearOperator, x: Array) -> float:
    """‖A x‖₁ / (√m ‖A x‖₂), infinite where A x = 0; in double precision."""
    image = np.abs(operator.matvec(x.astype(np.float64)))
    largest = float(image.max())
    if largest <= _TIES * float(np.abs(x).max()):
        return float("inf")
    image = image / largest
    return float(image.sum() / np.sqrt(image.size * (image @ image)))


def _starts(operator: LinearOperator, rng: np.random.Generator, count: int) -> list[Array]:
    """Random combinations, rows and single unknowns, in turn."""
    m, n = operator.shape
    out: list[Array] = []
    for i in range(count):
        start: Array = rng.normal(size=n)
        if i % 3 == 0:
            row = np.zeros(m, dtype=operator.dtype)
            row[rng.integers(m)] = 1
            start = _STIR * start + operator.rmatvec(row)
        elif i % 3 == 1:
            start = _STIR * start
            start[rng.integers(n)] += 1
        out.append(start)
    return out


def _descent(operator: LinearOperator, x: Array, steps: int, iterations: int) -> list[Array]:
    """The points that reweighted least squares passes on its way down from x."""
    dtype = operator.dtype
    passed = [x]
    for smoothing in np.geomspace(*_SMOOTHING, steps):
        image = operator.matvec(x.astype(dtype)).astype(np.float64)
        size = float(np.sqrt(np.mean(image**2)))
        if not size > 0:
            break
        x, image = x / size, image / size
        weights = 1 / np.sqrt(image**2 + smoothing**2)
        x = _weighted_solve(operator, weights, image, x, iterations)
        passed.append(x)
    return passed


def _weighted_solve(
    operator: LinearOperator, weights: Array, image: Array, x: Array, iterations: int
) -> Array:
    """(Aᵀ diag(w) A)⁻¹ Aᵀ u by conjugate gradients from the best multiple of x, whose image is u."""
    dtype = operator.dtype
    x = x * float(image @ image) / float(weights @ image**2)
    weighted = image - weights * image * float(image @ image) / float(weights @ image**2)
    residual = operator.rmatvec(weighted.astype(dtype)).astype(np.float64)
    direction, size = residual, float(residual @ residual)
    for _ in range(iterations):
        if size <= 0:
            break
        moved = operator.matvec(direction.astype(dtype)).astype(np.float64)
        curvature = float(weights @ moved**2)
        if curvature <= 0:
            break
        step = size / curvature
        x = x + step * direction
        residual = residual - step * operator.rmatvec((weights * moved).astype(dtype))
        size, previous = float(residual @ residual), size
        direction = residual + (size / previous) * direction
    return x
