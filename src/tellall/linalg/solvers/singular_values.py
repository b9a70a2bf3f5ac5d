"""Singular values and eigenvalues of a matrix known by its products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.linear_operator import Array, LinearOperator

__all__ = [
    "Ritz",
    "bidiagonalise",
    "largest_eigenvalue",
    "leading_directions",
    "missed_share",
]

_LOST = 1e-10  # of the largest eigenvalue: smaller ones are lost in a product of the matrix with itself


def leading_directions(product: Callable[[Array], Array], n: int, rank: int) -> tuple[Array, Array]:
    """Approximate leading eigenvectors and eigenvalues (descending) of a positive semidefinite matrix.

    Two matrices as large as the answer are held at once. Directions whose eigenvalue is lost in rounding
    are left out.
    """
    from scipy.linalg import cholesky, eigh, qr, solve_triangular

    start = np.random.default_rng(0).normal(size=(min(rank, n), n)).T
    test = qr(start, mode="economic", overwrite_a=True)[0]
    del start
    image = np.empty_like(test, order="F")
    for column, direction in zip(image.T, test.T, strict=True):
        column[:] = product(direction)
    shift = 1e-6 * float(np.linalg.norm(image))  # keeps the small matrix positive definite
    for column, direction in zip(image.T, test.T, strict=True):
        column += shift * direction
    inner = test.T @ image
    del test
    root = cholesky((inner + inner.T) / 2)
    half = solve_triangular(root, image.T @ image, trans="T")
    values, mix = eigh(solve_triangular(root, half.T, trans="T"))  # of (image root⁻¹)ᵀ (image root⁻¹)
    found = np.flatnonzero(values > _LOST * values[-1])[::-1]
    vectors = image @ (solve_triangular(root, mix[:, found]) / np.sqrt(values[found]))
    return vectors, np.maximum(values[found] - shift, 0.0)


def largest_eigenvalue(product: Callable[[Array], Array], start: Array, *, steps: int = 12) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, from below and usually within 1 %.

    Lanczos steps from a random ``start``, one product each, with every vector orthogonalised twice.
    """
    vector = start
    basis = list[Array]()
    along = list[float]()
    across = list[float]()
    length = float(np.linalg.norm(vector))
    while length > 1e-30 and len(basis) < min(steps, start.size):
        basis.append(vector / length)
        vector = product(basis[-1])
        along.append(float(vector @ basis[-1]))
        for _ in range(2):
            for earlier in basis:
                vector = vector - (vector @ earlier) * earlier
        length = float(np.linalg.norm(vector))
        across.append(length)
        if length <= 1e-6 * along[0]:
            break
    if not along:
        return 0.0
    beside = across[: len(along) - 1]
    small = np.diag(along) + np.diag(beside, 1) + np.diag(beside, -1)
    return max(float(np.linalg.eigvalsh(small)[-1]), 0.0)


@dataclass(frozen=True, eq=False)
class Ritz:
    """What a Krylov space says about the extreme singular values.

    Attributes
    ----------
    largest, least
        The extreme singular values of the operator restricted to the space: σ_max ≥ largest, σ_min ≤ least.
    largest_residual, least_residual
        Some singular value lies within this distance of each.
    least_vector
        The unit vector x of the space with ‖A x‖ = least.
    steps
        The dimension of the space.
    complete
        Whether it is invariant, so that nothing more can be found from this start.
    """

    largest: float
    least: float
    largest_residual: float
    least_residual: float
    least_vector: Array
    steps: int
    complete: bool


def bidiagonalise(
    operator: LinearOperator,
    steps: int,
    rng: np.random.Generator,
    *,
    settled: Callable[[Ritz], bool] = lambda ritz: False,
    every: int = 4,
) -> Ritz:
    """The Ritz values of A after at most `steps` steps from a random start.

    Notes
    -----
    A V = U B and Aᵀ U = V Bᵀ + β v eᵀ with B upper bidiagonal; only the right vectors are orthogonalised
    again, twice, which suffices (Simon and Zha 2000). Two products per step, `steps` × n numbers of memory.
    """
    m, n = operator.shape
    most = min(steps, n, m)
    basis = np.empty((most, n), dtype=operator.dtype)
    diagonal = np.zeros(most)
    above = np.zeros(most)
    start: Array = rng.normal(size=n)
    right = (start / np.linalg.norm(start)).astype(operator.dtype)
    left = np.zeros(m, dtype=operator.dtype)
    beta = 0.0
    tiny = 10 * float(np.finfo(operator.dtype).eps)
    for step in range(most):
        basis[step] = right
        left = operator.matvec(right) - operator.dtype.type(beta) * left
        alpha = float(np.linalg.norm(left))
        diagonal[step] = alpha
        left = left / operator.dtype.type(alpha) if alpha > 0 else left
        right = operator.rmatvec(left) - operator.dtype.type(alpha) * right
        for _ in range(2):
            right = right - basis[: step + 1].T @ (basis[: step + 1] @ right)
        beta = float(np.linalg.norm(right))
        above[step] = beta
        size = max(float(diagonal.max()), float(above.max()))
        done = beta <= tiny * size or alpha <= tiny * size
        if done or step + 1 == most or (step + 1) % every == 0:
            ritz = _ritz(basis, diagonal, above, step + 1, complete=done)
            if done or step + 1 == most or settled(ritz):
                return ritz
        right = right / operator.dtype.type(beta)
    raise AssertionError("a space of no dimension")  # most ≥ 1


def _ritz(basis: Array, diagonal: Array, above: Array, steps: int, *, complete: bool) -> Ritz:
    """The extremes of the bidiagonal matrix and the residuals β |last entry of the left vector|."""
    square = np.diag(diagonal[:steps]) + np.diag(above[: steps - 1], 1)
    left, values, right = np.linalg.svd(square)
    off = above[steps - 1] * np.abs(left[-1])
    vector = np.asarray(right[-1] @ basis[:steps], dtype=np.float64)
    return Ritz(
        largest=float(values[0]),
        least=float(values[-1]),
        largest_residual=float(off[0]),
        least_residual=float(off[-1]),
        least_vector=vector / np.linalg.norm(vector),
        steps=steps,
        complete=complete,
    )


def missed_share(n: int, steps: int, failure: float) -> float:
    """The share of λ_max − λ_min of AᵀA by which an extreme Ritz value is off, but for a chance `failure`.

    Notes
    -----
    Let c be the start's component along the leading eigenvector. The Ritz value misses by more than a share e
    only if |c| cosh((2 steps − 1) atanh √e) < 1: take the polynomial p with p(λ) √(1 − e − λ) the odd
    Chebyshev polynomial T_(2 steps − 1) on the rest of the spectrum. From a start uniform on the sphere
    P(|c| < a) ≤ a √(2n/π), and so √e = tanh(arcosh(√(2n/π)/failure)/(2 steps − 1)). This is Kuczyński and
    Woźniakowski's (1992) √n exp(−(2 steps − 1) √e) with its constant. Lanczos does not see shifts or signs,
    so the same holds at the lower end. All this is for exact arithmetic.

    Examples
    --------
    >>> round(missed_share(100_000, 40, 1e-3), 4)
    0.0271
    """
    rare = max(1.0, np.sqrt(2 * n / np.pi) / failure)
    return float(np.tanh(np.arccosh(rare) / (2 * steps - 1)) ** 2)
