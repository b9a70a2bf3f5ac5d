"""The geometry of an operator: its extreme singular values, with intervals that hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import invalid
from tellall.core.records import NOT_WRITTEN, Record
from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.linalg.solvers.singular_values import Ritz, bidiagonalise, missed_share
from tellall.protections.protection import Rng, as_rng

__all__ = [
    "SingularValues",
    "singular_values",
]

_DENSE = 1_000_000  # entries up to which the matrix is written down
GRAM_LIMIT = 10_000  # columns up to which the Gram matrix is factorised


@dataclass(frozen=True, eq=False)
class SingularValues(Record):
    """The largest and the least singular value of an m × n operator, each in an interval."""

    largest: float  # the maximum of ‖A x‖ over unit vectors x, estimated
    least: float  # the minimum; zero for m < n
    largest_interval: tuple[float, float]  # where the true values lie
    least_interval: tuple[float, float]
    least_vector: Annotated[Array, NOT_WRITTEN]  # a unit vector x whose ‖A x‖ is the least found
    method: str  # "dense", "gram" or "lanczos"
    certainty: str  # what is claimed about the intervals, in words
    residuals: tuple[float, float] | None = None  # Lanczos: how near `largest`, `least` a singular value lies
    steps: int = 0  # products with A and Aᵀ; zero if the matrix was formed

    @property
    def least_error(self) -> float:
        """How far `least` can be off."""
        return max(abs(end - self.least) for end in self.least_interval)

    def __repr__(self) -> str:
        low, high = self.least_interval
        least, largest = f"{self.least:.6g} (in [{low:.6g}, {high:.6g}])", f"{self.largest:.6g}"
        return f"SingularValues: {least} to {largest}, by {self.method}"


def singular_values(
    operator: LinearOperator,
    *,
    method: str = "auto",
    steps: int = 80,
    tolerance: float = 0.02,
    failure: float = 1e-6,
    rng: Rng = 0,
) -> SingularValues:
    """Returns the largest and the least singular value of an operator, with error bounds.

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
    failure, rng
        Lanczos: the probability, over the random start, that an interval is wrong, and the start's seed.

    Notes
    -----
    dense: O(m n²), errors of m n rounding units. gram: inverse iteration finds the least eigenvalue of AᵀA,
    then the Cholesky factorisation of AᵀA − μ I is tried: if it exists, λ_min > μ, up to rounding, which is
    allowed for; the largest likewise. O(n³), errors of n rounding units of ‖A‖² in λ, so about √ that in a
    least singular value near zero. lanczos: two products per step. Its values are restrictions of A to a
    subspace: σ_max ≥ largest and σ_min ≤ least always; the other ends hold with probability 1 − failure over
    the start (Kuczyński and Woźniakowski 1992), because no product with a vector can prove that nothing lies
    below. The residuals say that some singular value, not necessarily the extreme one, is that near.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
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
    return found if m >= n else replace(found, least=0.0, least_interval=(0.0, 0.0))


def _dense(operator: LinearOperator) -> SingularValues:
    m, n = operator.shape
    matrix = np.asarray(operator.to_dense(), dtype=np.float64)
    _, values, right = np.linalg.svd(matrix, full_matrices=m < n)
    largest, least = float(values[0]), float(values[-1])
    off = max(m, n) * np.finfo(np.float64).eps * largest
    top, bottom = (largest - off, largest + off), (max(0.0, least - off), least + off)
    return SingularValues(largest, least, top, bottom, right[-1], "dense", "both values up to rounding")


def _gram(operator: LinearOperator, rng: np.random.Generator) -> SingularValues:
    gram = operator.gram()
    # a Cholesky factorisation that succeeds is wrong by at most about n rounding units of the diagonal
    rounding = 8 * gram.shape[0] * float(np.finfo(np.float64).eps) * float(gram.diagonal().max())
    top, bottom, vector = _extreme_eigenvalues(gram, rng, shift=rounding)
    above = _proved_bound(gram, top, rounding, sign=-1.0)
    below = _proved_bound(gram, bottom, rounding, sign=1.0)
    return SingularValues(
        math.sqrt(top),
        math.sqrt(bottom),
        (math.sqrt(max(top - rounding, 0.0)), math.sqrt(above)),
        (math.sqrt(below), math.sqrt(bottom + rounding)),
        vector,
        "gram",
        "both values proved by Cholesky factorisations, up to rounding",
    )


def _extreme_eigenvalues(
    gram: Array, rng: np.random.Generator, *, shift: float
) -> tuple[float, float, Array]:
    """Returns Rayleigh quotients near the largest and the least eigenvalue, and the vector of the least.

    The least comes from Lanczos on the inverse of AᵀA + shift·I, which is positive definite at any rank.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse.linalg import LinearOperator as ScipyOperator
    from scipy.sparse.linalg import eigsh

    n = gram.shape[0]
    if n <= 2:
        values, vectors = np.linalg.eigh(gram)
        return float(values[-1]), max(0.0, float(values[0])), vectors[:, 0]
    if shift == 0.0:  # all zeros, of which Lanczos makes nothing
        return 0.0, 0.0, np.eye(1, n)[0]
    symmetric: npt.NDArray[np.float64] = gram.astype(np.float64, copy=False)
    starts: npt.NDArray[np.float64] = rng.normal(size=(2, n))
    top = eigsh(symmetric, k=1, which="LA", v0=starts[0], tol=1e-8)[0][-1]
    factor = cho_factor(gram + shift * np.eye(n), lower=True, overwrite_a=True, check_finite=False)
    inverse = ScipyOperator(
        (n, n), matvec=lambda v: cho_solve(factor, v, check_finite=False), dtype=np.dtype(np.float64)
    )
    _, vectors = eigsh(inverse, k=1, which="LA", v0=starts[1], tol=1e-8)
    vector = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return float(top), max(0.0, float(vector @ (gram @ vector))), vector


def _proved_bound(gram: Array, value: float, rounding: float, *, sign: float) -> float:
    """Returns a bound beyond an extreme eigenvalue that a Cholesky factorisation proves.

    sign = 1: μ just below `value` with AᵀA − μI positive definite; sign = −1: μ above, with μI − AᵀA.
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

    def outer(ritz: Ritz) -> tuple[float, float]:
        """Returns the ends that hold with probability 1 − failure: above the largest, below the least."""
        missed = 0.0 if ritz.complete else missed_share(n, ritz.steps, failure / 2)
        if missed >= 1:
            return math.inf, 0.0
        top = ritz.largest**2 / (1 - missed)  # λ_max − θ ≤ missed · λ_max, as λ_min ≥ 0
        bottom = (ritz.least**2 - missed * top) / (1 - missed)
        return math.sqrt(top), math.sqrt(max(bottom, 0.0))

    ritz = bidiagonalise(
        operator, steps, rng, settled=lambda ritz: ritz.least - outer(ritz)[1] <= tolerance * ritz.least
    )
    above, below = outer(ritz)
    rounding = math.sqrt(m + n) * float(np.finfo(operator.dtype).eps) * ritz.largest
    return SingularValues(
        ritz.largest,
        ritz.least,
        (ritz.largest - rounding, above + rounding),
        (max(0.0, below - rounding), ritz.least + rounding),
        ritz.least_vector,
        "lanczos",
        "the inner ends are lengths ‖A x‖ that were seen; the outer ends hold with probability "
        f"{1 - failure:.7g} over the random start; all up to rounding",
        (ritz.largest_residual, ritz.least_residual),
        ritz.steps,
    )
