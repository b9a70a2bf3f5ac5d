"""An upper bound on the Euclidean-section constant of a matrix: how evenly it spreads every image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellall.core.amounts import percent
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import LinearOperator
from tellall.linalg.solvers.singular_values import bidiagonalise
from tellall.linalg.solvers.solution import Array

__all__ = [
    "SectionBound",
    "section_upper_bound",
]

_FACTORISED = 2e9  # rows × columns² up to which a step factorises a weighted Gram matrix
_SMOOTHING = (1.0, 1e-3)  # of the root mean square image, from the first smoothed step to the last
_TIES = 1e-12
_STIR = 1e-2  # of noise, since the descent stands still at a column of ±1
_GAIN = 1e-6  # a step that gains less, relative, is the last


@dataclass(frozen=True, eq=False)
class SectionBound:
    """An upper bound on the Euclidean-section constant α, with the vector that proves it.

    Attributes
    ----------
    alpha
        ‖A x‖₁/(√m ‖A x‖₂) at the witness: no α-section has a larger α.
    witness
        x.
    half_mass
        The share of the rows that hold half of ‖A x‖₁; near 1/2 · α if the mass is spread.
    stats
        How many products with A and Aᵀ were spent.
    """

    alpha: float
    witness: Array
    half_mass: float
    stats: dict[str, float] = field(default_factory=dict)

    @property
    def gamma(self) -> float:
        """α²/4: with this share of wrong values or more, LP decoding has no guarantee."""
        return self.alpha**2 / 4

    def __repr__(self) -> str:
        return (
            f"SectionBound: α ≤ {self.alpha:.4f}; no guarantee from {percent(self.gamma, 2)} wrong values on"
        )

    def as_json(self) -> dict[str, Any]:
        """The numbers for JSON, without the witness."""
        return {"alpha": self.alpha, "half_mass": self.half_mass, "gamma": self.gamma}


def section_upper_bound(
    operator: LinearOperator,
    rng: np.random.Generator,
    *,
    starts: int = 4,
    steps: int = 20,
    iterations: int = 8,
) -> SectionBound:
    """The least ‖A x‖₁ / (√m ‖A x‖₂) that a search finds, with its x: an upper bound on the constant of A.

    Parameters
    ----------
    starts, steps, iterations
        Random points of each kind to start from, descent steps from each, and conjugate gradient iterations
        in a step that is not factorised.

    Notes
    -----
    A is an α-Euclidean section if ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x (linear-reconstruction, Definition 2);
    the largest such α cannot be computed efficiently, but every x bounds it from above, in double precision
    here. The search starts from the all-ones vector, one unknown, the least singular vector, random vectors,
    the rows of A nearest to those, and rows and single unknowns with a little noise. Two ways down, from
    u = A x:

    - x ← (Aᵀ diag(1/|u|) A)⁻¹ Aᵀ u by factorisation, while m n² ≤ 2·10⁹: never up, since the l1 norm is
      majorised by a quadratic and the l2 norm replaced by its tangent;
    - the same with weights (u² + ε²)^(−1/2), ε falling, by conjugate gradients, at any size; the first way
      continues where it ends.

    O(starts · steps · (m n² or iterations products)). Random Gaussian images have √(2/π) ≈ 0.80; products
    of 0/1 attributes lie far lower (E-LR-1), and there LP decoding has no guarantee against gross errors.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> found = section_upper_bound(Dense(np.eye(16)), np.random.default_rng(0))
    >>> round(found.alpha, 2)  # one unknown alone: 1 / √16
    0.25
    """
    m, n = operator.shape
    if not m or not n:
        raise invalid("operator", "of one row and one column or more", f"{m} × {n}")
    search = _Search(operator, steps, iterations)
    for start in _plain_starts(operator, rng, starts):
        search.fall(start)
        search.glide(start)
    for start in _stirred_starts(operator, rng, starts):
        search.glide(start)
    if not np.isfinite(search.best):
        raise invalid("operator", "other than zero", "A x = 0 for every x tried")
    mass = np.cumsum(np.sort(np.abs(search.image(search.witness)))[::-1])
    rows = int(np.searchsorted(mass, mass[-1] / 2)) + 1
    return SectionBound(search.best, search.witness, rows / m, {"products": float(search.products)})


def _plain_starts(operator: LinearOperator, rng: np.random.Generator, count: int) -> Iterator[Array]:
    """Starting vectors whose images may lie in few rows: ones, unit, least singular, random, rows of A."""
    m, n = operator.shape
    yield np.ones(n)
    yield np.eye(1, n)[0]
    if m * n**2 <= _FACTORISED:
        gram = operator.gram()
        yield np.linalg.eigh(gram)[1][:, 0]
    else:
        yield bidiagonalise(operator, 20, rng).least_vector
    for _ in range(count):
        vector: Array = rng.normal(size=n)
        yield vector
        # the row of A nearest to a random direction: rows of A make few entries of A x stand out
        yield _row(operator, int(np.argmax(np.abs(operator @ vector))))


def _stirred_starts(operator: LinearOperator, rng: np.random.Generator, count: int) -> Iterator[Array]:
    m, n = operator.shape
    for _ in range(count):
        yield _STIR * rng.normal(size=n) + _row(operator, int(rng.integers(m)))
        single: Array = _STIR * rng.normal(size=n)
        single[rng.integers(n)] += 1
        yield single


def _row(operator: LinearOperator, index: int) -> Array:
    unit = np.zeros(operator.shape[0], dtype=operator.dtype)
    unit[index] = 1
    return np.asarray(operator.rmatvec(unit), dtype=np.float64)


class _Search:
    """The least ratio so far, its vector, and two descent methods."""

    def __init__(self, operator: LinearOperator, steps: int, iterations: int) -> None:
        self.operator = operator
        self.steps = steps
        self.iterations = iterations
        self.best = float("inf")
        self.products = 0
        self.witness: Array = np.zeros(operator.shape[1])

    def image(self, x: Array) -> Array:
        self.products += 1
        return np.asarray(self.operator.matvec(x.astype(np.float64)), dtype=np.float64)

    def see(self, x: Array, image: Array) -> float:
        """The ratio at x, infinite if A x = 0; remembers the least."""
        size = np.abs(image)
        largest = float(size.max())
        if largest <= _TIES * float(np.abs(x).max()):
            return float("inf")
        size = size / largest
        ratio = float(size.sum() / np.sqrt(size.size * (size @ size)))
        if ratio < self.best:
            self.best = ratio
            self.witness = x / float(np.linalg.norm(x))
        return ratio

    def fall(self, x: Array) -> None:
        """Descends by factorised steps, if affordable, while they improve the ratio."""
        from scipy.linalg import lapack

        image = self.image(x)
        value = self.see(x, image)
        m, n = self.operator.shape
        if not np.isfinite(value) or m * n**2 > _FACTORISED:
            return
        for _ in range(self.steps):
            weights = 1 / np.maximum(np.abs(image), 1e-8 * float(np.abs(image).max()))
            hessian = self.operator.gram(weights)
            hessian[np.diag_indices(n)] += 1e-10 * hessian.diagonal().max()
            _, x, info = lapack.dposv(hessian, self._back(image))
            norm = float(np.linalg.norm(x))
            if info != 0 or not 0 < norm < np.inf:
                return
            x = x / norm
            image = self.image(x)
            before = value
            value = self.see(x, image)
            if not value < before * (1 - _GAIN):
                return

    def glide(self, x: Array) -> None:
        """Descends by smoothed steps of a few conjugate gradient iterations, then by factorised steps."""
        image = self.image(x)
        self.see(x, image)
        for smoothing in np.geomspace(*_SMOOTHING, self.steps):
            size = float(np.sqrt(np.mean(image**2)))
            if not size > 0:
                return
            x, image = x / size, image / size
            x = self._solve(1 / np.sqrt(image**2 + smoothing**2), image, x)
            image = self.image(x)
            self.see(x, image)
        self.fall(x)

    def _solve(self, weights: Array, image: Array, x: Array) -> Array:
        """(Aᵀ diag(w) A)⁻¹ Aᵀ u by conjugate gradients from the best multiple of x, whose image is u."""
        multiple = float(image @ image) / float(weights @ image**2)
        x = x * multiple
        residual = self._back(image - weights * image * multiple)
        direction = residual
        size = float(residual @ residual)
        for _ in range(self.iterations):
            if size <= 0:
                break
            moved = self.image(direction)
            curvature = float(weights @ moved**2)
            if curvature <= 0:
                break
            step = size / curvature
            x = x + step * direction
            residual = residual - step * self._back(weights * moved)
            size, previous = float(residual @ residual), size
            direction = residual + (size / previous) * direction
        return x

    def _back(self, image: Array) -> Array:
        self.products += 1
        return np.asarray(self.operator.rmatvec(image), dtype=np.float64)
