"""What least squares promises before anyone has scored it: how many bits rounding can get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.operators.dense import Dense
from tellall.core.errors import invalid

__all__ = [
    "MinimumNorm",
    "NormCertificate",
    "PreparedMinimumNorm",
    "Ritz",
    "bidiagonalise",
    "hamming_certificate",
    "hamming_from_image",
    "missed_share",
    "norm_certificate",
]

# Golub–Kahan–Lanczos: the extreme singular values of an operator from some of its products.


@dataclass(frozen=True, eq=False)
class Ritz:
    """What a Krylov space says of the extreme singular values.

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
        Whether it is invariant, so that nothing more can be learnt from this start.
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
    again, twice, which suffices (Simon and Zha 2000). Two products a step, `steps` × n numbers of memory.
    """
    m, n = operator.shape
    most = min(steps, n, m)
    basis = np.empty((most, n), dtype=operator.dtype)
    diagonal, above = np.zeros(most), np.zeros(most)
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
    """The share of λ_max − λ_min of AᵀA by which an extreme Ritz value misses, but for `failure`.

    Notes
    -----
    Let c be the start's component along the leading eigenvector. The Ritz value misses by more than a share e
    only if |c| cosh((2 steps − 1) atanh √e) < 1: take the polynomial p with p(λ) √(1 − e − λ) the odd
    Chebyshev polynomial T_(2 steps − 1) on the rest of the spectrum. From a start uniform on the sphere
    P(|c| < a) ≤ a √(2n/π), and so √e = tanh(arcosh(√(2n/π)/failure)/(2 steps − 1)). This is Kuczyński and
    Woźniakowski's (1992) √n exp(−(2 steps − 1) √e) with its constant. Lanczos does not see shifts or signs,
    so the same holds at the lower end. Exact arithmetic.

    Examples
    --------
    >>> round(missed_share(100_000, 40, 1e-3), 4)
    0.0271
    """
    rare = max(1.0, np.sqrt(2 * n / np.pi) / failure)
    return float(np.tanh(np.arccosh(rare) / (2 * steps - 1)) ** 2)


# Minimum-norm least squares for many targets: one singular value decomposition, then products.


@dataclass(frozen=True)
class MinimumNorm:
    """Options of minimum-norm least squares, what numpy's ``lstsq`` computes.

    Parameters
    ----------
    rank_tolerance
        Singular values below this share of the largest count as zero; where not given, the larger dimension
        times the rounding unit, as numpy has it.
    """

    rank_tolerance: float | None = None

    def prepare(self, operator: LinearOperator) -> PreparedMinimumNorm:
        """The decomposition A = U diag(s) Vᵀ, cut at the rank: O(m n min(m, n)), the matrix formed."""
        share = self.rank_tolerance
        if share is None:
            share = max(operator.shape) * float(np.finfo(np.float64).eps)
        if not 0 <= share < 1:
            raise invalid("rank_tolerance", "a share from 0 to below 1", share)
        matrix = np.asarray(operator.to_dense(), dtype=np.float64)
        left, singular, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int((singular > share * singular.max(initial=0.0)).sum())
        return PreparedMinimumNorm(left[:, :rank], singular[:rank], right[:rank])


@dataclass(frozen=True, eq=False)
class PreparedMinimumNorm:
    """A decomposition, cut at the rank."""

    left: Array
    singular: Array
    right: Array

    @property
    def rank(self) -> int:
        """How many singular values are not zero."""
        return self.singular.size

    def solve(self, targets: Array) -> Array:
        """The least-squares solution of least norm, for one target or for each column of many.

        Notes
        -----
        V diag(1/s) Uᵀ z: O((m + n) rank) a target, all of them in two products of matrices.

        Examples
        --------
        >>> from tellall.algebra.operators.dense import Dense
        >>> ready = MinimumNorm().prepare(Dense([[1.0, 1.0, 0.0]]))
        >>> ready.solve(np.array([[2.0, 4.0]])).T.round(12).tolist()
        [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
        """
        if targets.ndim not in (1, 2) or targets.shape[0] != self.left.shape[0]:
            raise invalid("targets", f"{self.left.shape[0]} numbers, or columns of them", targets.shape)
        inside = (self.left.T @ targets).T / self.singular
        out: Array = self.right.T @ inside.T
        return out


# Whether an estimate minimises ‖A s − z‖₂: its dual value and what is left of the optimality conditions.

_EXACT = 1e-12  # a residual this much smaller than the target is roundoff: it has no direction


@dataclass(frozen=True, eq=False)
class NormCertificate:
    """How far an estimate is from the least ‖A s − z‖₂.

    Attributes
    ----------
    primal
        ‖A s − z‖₂ at the estimate.
    dual
        zᵀν at ν = −(A s − z)/‖A s − z‖, the normalised residual; 0 where the equations hold exactly.
    infeasibility
        ‖Aᵀν‖ / ‖A‖_F, zero at a minimum: no change of s shrinks the residual.
    multiplier
        ν, of length 1 (or 0, where the equations hold exactly).

    Notes
    -----
    max zᵀν over ‖ν‖ ≤ 1, Aᵀν = 0 is the dual problem (regression-noise, Eq. 3), and its optimality
    conditions (Eqs. 4–6) are y = A s − z, Aᵀν = 0 and y/‖y‖ + ν = 0. The first and the last hold here by
    the choice of y and ν; what an estimate can fail is the second. For any other s′,
    ‖A s′ − z‖ ≥ dual − ‖Aᵀν‖ ‖s′‖: where Aᵀν = 0, nothing lies below the dual value.
    """

    primal: float
    dual: float
    infeasibility: float
    multiplier: Array

    @property
    def gap(self) -> float:
        """Primal less dual value: zero at a minimum."""
        return self.primal - self.dual

    def optimal(self, tolerance: float = 1e-8) -> bool:
        """Whether the optimality conditions hold to within the tolerance, relative to ‖A‖."""
        return self.infeasibility <= tolerance


def norm_certificate(
    operator: LinearOperator | npt.ArrayLike, estimate: npt.ArrayLike, target: npt.ArrayLike
) -> NormCertificate:
    """The certificate of one estimate of s in A s ≈ z, whatever decoder it comes from.

    Notes
    -----
    A residual below 1e-12 of ‖z‖ counts as none: zero cannot be improved, and roundoff points nowhere.
    One product with A, one with Aᵀ, and ‖A‖_F from the squared operator.

    Examples
    --------
    >>> found = norm_certificate([[1.0], [1.0]], [2.0], [1.0, 3.0])
    >>> round(found.primal, 6), round(found.dual, 6), found.optimal()
    (1.414214, 1.414214, True)
    >>> norm_certificate([[1.0], [1.0]], [1.0], [1.0, 3.0]).optimal()
    False
    """
    matrix = operator if isinstance(operator, LinearOperator) else Dense(operator)
    rows, columns = matrix.shape
    s = _vector("estimate", estimate, columns)
    z = _vector("target", target, rows)
    residual = matrix.matvec(s) - z
    primal = float(np.linalg.norm(residual))
    if primal <= _EXACT * float(np.linalg.norm(z)):
        return NormCertificate(primal, 0.0, 0.0, np.zeros(rows))
    multiplier = -residual / primal
    size = float(np.sqrt(matrix.squared().matvec(np.ones(columns)).sum()))
    slope = float(np.linalg.norm(matrix.rmatvec(multiplier)))
    return NormCertificate(primal, float(z @ multiplier), slope / size if size else 0.0, multiplier)


def _vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise invalid(name, f"{size} finite numbers", f"shape {vector.shape}")
    return vector


def hamming_certificate(
    n: int,
    least_singular_value: float,
    *,
    error_norm: float | None = None,
    bound: float | None = None,
    m: int = 0,
) -> int:
    """The most bits that least squares, rounded at 1/2, can get wrong.

    Parameters
    ----------
    n
        The number of unknown bits, which caps the answer.
    least_singular_value
        σ of the operator; zero where it has not full column rank.
    error_norm
        ‖e‖₂ of the errors in the target.
    bound, m
        Instead of the norm: the largest error β = ‖e‖∞, and the number of rows.

    Notes
    -----
    A bit is wrong only where the estimate is off by 1/2 or more, so d_H ≤ 4‖x − s‖² = 4‖A⁺e‖² ≤ 4‖e‖²/σ²
    ≤ 4 m β²/σ² (linear-reconstruction, Theorem 2.1, with its constant), rounded down, at most n. No errors
    give 0 where σ > 0; σ = 0 gives n, never 0/0.

    Examples
    --------
    >>> hamming_certificate(100, 2.0, bound=0.9, m=5)
    4
    >>> hamming_certificate(100, 0.0, error_norm=0.0)
    100
    """
    if least_singular_value < 0 or not math.isfinite(least_singular_value):
        raise invalid("least_singular_value", "zero or more and finite", least_singular_value)
    if (error_norm is None) == (bound is None):
        raise invalid("error_norm", "given, or else bound and m, not both", (error_norm, bound))
    if error_norm is None:
        assert bound is not None
        if not bound >= 0 or m < 0:
            raise invalid("bound", "zero or more, on zero rows or more", (bound, m))
        error_norm = bound * math.sqrt(m)
    elif not error_norm >= 0:
        raise invalid("error_norm", "zero or more", error_norm)
    if least_singular_value == 0:
        return n
    return hamming_from_image(n, error_norm / least_singular_value)


def hamming_from_image(n: int, image_norm: float) -> int:
    """The same from ‖A⁺e‖₂, the tightest of the three: ⌊4‖A⁺e‖²⌋, at most n.

    Examples
    --------
    >>> hamming_from_image(2, 0.6)
    1
    """
    if not image_norm >= 0:
        raise invalid("image_norm", "zero or more", image_norm)
    wrong = 4 * image_norm**2
    return n if wrong >= n else math.floor(wrong * (1 + 1e-12))  # a whole number must not fall below itself
