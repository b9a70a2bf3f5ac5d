"""The geometry of an operator: its extreme singular values, with what is certain about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.solvers.minimum_norm import Ritz, bidiagonalise, missed_share
from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import invalid
from tellall.release.protections.law import Rng, as_rng

__all__ = [
    "SingularValues",
    "singular_values",
]

_DENSE = 1_000_000  # entries up to which the matrix is written down
GRAM_LIMIT = 10_000  # columns up to which the Gram matrix is factorised


@dataclass(frozen=True, eq=False)
class SingularValues:
    """The extreme singular values of an m × n operator, each in an interval.

    Attributes
    ----------
    largest, least
        Estimates of max and min of ‖A x‖ over unit vectors x; least is zero for m < n.
    largest_interval, least_interval
        Where the true values lie.
    least_vector
        A unit vector x whose ‖A x‖ is the least found.
    method
        "dense", "gram" or "lanczos".
    certainty
        What is claimed of the intervals, in words.
    residuals
        Lanczos only: some singular value lies within this distance of `largest`, and some of `least`.
    steps
        Products with A and Aᵀ that were spent on it (none where the matrix was formed).
    """

    largest: float
    least: float
    largest_interval: tuple[float, float]
    least_interval: tuple[float, float]
    least_vector: Array
    method: str
    certainty: str
    residuals: tuple[float, float] | None = None
    steps: int = 0

    @property
    def largest_error(self) -> float:
        """How far `largest` can be off."""
        return max(self.largest_interval[1] - self.largest, self.largest - self.largest_interval[0])

    @property
    def least_error(self) -> float:
        """How far `least` can be off."""
        return max(self.least_interval[1] - self.least, self.least - self.least_interval[0])

    def __repr__(self) -> str:
        low, high = self.least_interval
        return (
            f"SingularValues: {self.least:.6g} (in [{low:.6g}, {high:.6g}]) to {self.largest:.6g}, "
            f"by {self.method}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The numbers for JSON."""
        return {
            "largest": self.largest,
            "least": self.least,
            "largest_interval": list(self.largest_interval),
            "least_interval": list(self.least_interval),
            "method": self.method,
            "certainty": self.certainty,
            "residuals": None if self.residuals is None else list(self.residuals),
            "steps": self.steps,
        }


def singular_values(
    operator: LinearOperator,
    *,
    method: str = "auto",
    steps: int = 80,
    tolerance: float = 0.02,
    failure: float = 1e-6,
    rng: Rng = 0,
) -> SingularValues:
    """The largest and the least singular value of an operator, with error bounds.

    Parameters
    ----------
    operator
        Any operator; its rows may be far too many to write down.
    method
        "dense" (SVD), "gram" (Gram matrix and Cholesky) or "lanczos" (products only); "auto" takes the first
        whose memory is small: a million entries, 10,000 columns.
    steps, tolerance
        Lanczos: the most steps, and the relative half-width of the interval around the least value at which
        to stop earlier.
    failure
        Lanczos: the probability, over the random start, that an interval is wrong.
    rng
        Seed of that start.

    Notes
    -----
    dense: O(m n²), errors of m n rounding units. gram: inverse iteration finds the least eigenvalue of AᵀA,
    then the Cholesky factorisation of AᵀA − μ I is tried: where it exists λ_min > μ, but for rounding,
    which is allowed for; the largest likewise. O(n³), errors of n rounding units of ‖A‖² in λ, so about √
    that in a least singular value near zero. lanczos: two products a step. Its values are restrictions of A
    to a subspace: σ_max ≥ largest and σ_min ≤ least always; the other ends hold with probability 1 −
    failure over the start (Kuczyński and Woźniakowski 1992), because no product with a vector can prove
    that nothing lies below. The residuals say that some singular value, not necessarily the extreme one, is
    that near.

    Examples
    --------
    >>> from tellall.algebra.operators.dense import Dense
    >>> found = singular_values(Dense([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    >>> round(found.largest, 12), round(found.least, 12), found.method
    (3.0, 2.0, 'dense')
    """
    if not isinstance(operator, LinearOperator):
        raise invalid("operator", "a LinearOperator such as evidence.operator", type(operator).__name__)
    m, n = operator.shape
    if m == 0 or n == 0:
        raise invalid("operator", "with one row and one column or more", operator.shape)
    whole("steps", steps, least=2)
    share("failure", failure, zero=False, one=False)
    above_zero("tolerance", tolerance, finite=False)
    if method == "auto":
        method = "dense" if m * n <= _DENSE else "gram" if n <= GRAM_LIMIT else "lanczos"
    if method == "dense":
        found = _dense(operator)
    elif method == "gram":
        found = _gram(operator, as_rng(rng))
    elif method == "lanczos":
        found = _lanczos(operator, steps, tolerance, failure, as_rng(rng))
    else:
        raise invalid("method", "'auto', 'dense', 'gram' or 'lanczos'", method)
    return found


def _dense(operator: LinearOperator) -> SingularValues:
    m, n = operator.shape
    matrix = np.asarray(operator.to_dense(), dtype=np.float64)
    _, values, right = np.linalg.svd(matrix, full_matrices=m < n)
    largest, least = float(values[0]), float(values[-1]) if m >= n else 0.0
    off = max(m, n) * np.finfo(np.float64).eps * largest
    return SingularValues(
        largest,
        least,
        (largest - off, largest + off),
        (max(0.0, least - off), least + off) if m >= n else (0.0, 0.0),
        right[-1],
        "dense",
        "both values up to rounding",
    )


def _gram(operator: LinearOperator, rng: np.random.Generator) -> SingularValues:
    m, n = operator.shape
    gram = np.asarray(operator.gram(), dtype=np.float64)
    # a Cholesky factorisation that succeeds is wrong by at most about n rounding units of the diagonal
    rounding = 8 * n * float(np.finfo(np.float64).eps) * float(gram.diagonal().max())
    top = _largest_eigenvalue(gram, rng)
    bottom, vector = _least_eigenpair(gram, rng, shift=rounding)
    above = _least_proved(gram, top, rounding, sign=-1.0)
    below = _least_proved(gram, bottom, rounding, sign=1.0)
    if m < n:
        bottom = below = 0.0
    root_top, root_bottom = math.sqrt(top), math.sqrt(max(bottom, 0.0))
    return SingularValues(
        root_top,
        root_bottom,
        (math.sqrt(max(top - rounding, 0.0)), math.sqrt(above)),
        (math.sqrt(max(below, 0.0)), math.sqrt(max(bottom + rounding, 0.0)) if m >= n else 0.0),
        vector,
        "gram",
        "both values proved by Cholesky factorisations, up to rounding",
    )


def _largest_eigenvalue(gram: Array, rng: np.random.Generator) -> float:
    """A Rayleigh quotient near the largest eigenvalue."""
    from scipy.sparse.linalg import eigsh

    n = gram.shape[0]
    if n <= 2:
        return float(np.linalg.eigvalsh(gram)[-1])
    values, _ = eigsh(np.asarray(gram, dtype=np.float64), k=1, which="LA", v0=_start(n, rng), tol=1e-8)
    return float(values[-1])


def _least_eigenpair(gram: Array, rng: np.random.Generator, *, shift: float) -> tuple[float, Array]:
    """A Rayleigh quotient near the least eigenvalue, and its vector: Lanczos on the inverse."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse.linalg import LinearOperator as ScipyOperator
    from scipy.sparse.linalg import eigsh

    n = gram.shape[0]
    if n <= 2:
        values, vectors = np.linalg.eigh(gram)
        return max(0.0, float(values[0])), vectors[:, 0]
    lifted = gram + shift * np.eye(n)  # positive definite also where A has no full rank
    factor = cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
    inverse = ScipyOperator(
        (n, n), matvec=lambda v: cho_solve(factor, v, check_finite=False), dtype=np.dtype(np.float64)
    )
    _, vectors = eigsh(inverse, k=1, which="LA", v0=_start(n, rng), tol=1e-8)
    vector = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return max(0.0, float(vector @ (gram @ vector))), vector


def _start(n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return rng.normal(size=n)


def _least_proved(gram: Array, value: float, rounding: float, *, sign: float) -> float:
    """A bound beyond an extreme eigenvalue that a Cholesky factorisation proves.

    sign = 1: μ just below `value` with AᵀA − μI positive definite; sign = −1: μ above with μI − AᵀA so.
    """
    from scipy.linalg import lapack

    n = gram.shape[0]
    for slack in (1e-7, 1e-5, 1e-3, 0.1, 1.0, 4.0):
        proved = max(0.0, value * (1 - slack)) if sign > 0 else value * (1 + slack) + rounding
        if proved == 0.0:
            return 0.0
        _, info = lapack.dpotrf(sign * (gram - proved * np.eye(n)), lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return max(0.0, proved - rounding) if sign > 0 else proved + rounding
    return 0.0 if sign > 0 else float(np.trace(gram)) + rounding


def _lanczos(
    operator: LinearOperator, steps: int, tolerance: float, failure: float, rng: np.random.Generator
) -> SingularValues:
    m, n = operator.shape
    wide = m < n

    def outer(ritz: Ritz) -> tuple[float, float]:
        """The ends that hold with probability 1 − failure: above the largest, below the least."""
        share = 0.0 if ritz.complete else missed_share(n, ritz.steps, failure / 2)
        if share >= 1:
            return math.inf, 0.0
        top = ritz.largest**2 / (1 - share)  # λ_max − θ ≤ share · λ_max, as λ_min ≥ 0
        bottom = (ritz.least**2 - share * top) / (1 - share)
        return math.sqrt(top), math.sqrt(max(bottom, 0.0))

    ritz = bidiagonalise(
        operator, steps, rng, settled=lambda ritz: ritz.least - outer(ritz)[1] <= tolerance * ritz.least
    )
    above, below = outer(ritz)
    least = 0.0 if wide else ritz.least
    rounding = math.sqrt(m + n) * float(np.finfo(operator.dtype).eps) * ritz.largest
    certainty = (
        "the inner ends are lengths ‖A x‖ that were seen; the outer ends hold with probability "
        f"{1 - failure:.7g} over the random start; all up to rounding"
    )
    return SingularValues(
        ritz.largest,
        least,
        (ritz.largest - rounding, above + rounding),
        (0.0, 0.0) if wide else (max(0.0, below - rounding), least + rounding),
        ritz.least_vector,
        "lanczos",
        certainty,
        (ritz.largest_residual, ritz.least_residual),
        ritz.steps,
    )
