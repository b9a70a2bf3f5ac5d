"""Probes: the diagonal of an inverse from products with random signs, each entry helped by all the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import LinearOperator

__all__ = [
    "SETTLED",
    "Array",
    "Solution",
    "Status",
    "count_probes",
    "largest_eigenvalue",
    "leading_directions",
    "row_space",
    "shrunk_variances",
]

# What every solver takes and gives: a problem, and a solution that says how far to trust it.

SETTLED = ("solved", "trusted")  # the words that come without advice

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Status:
    """How a solve ended, in one word, with advice where it did not end well.

    ``word`` is "solved", "trusted" (solved, and the confidences passed their checks), "not converged",
    "contradictory" or "uncalibrated" (guesses stand, confidences may be off).
    """

    word: str
    advice: str = ""

    @property
    def settled(self) -> bool:
        """Whether there is nothing to advise."""
        return self.word in SETTLED

    def __str__(self) -> str:
        return f"{self.word}: {self.advice}" if self.advice else self.word


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser with its status and what the solver counted on the way."""

    value: Array
    status: Status
    stats: dict[str, float] = field(default_factory=dict)


# The largest eigenvalues of a matrix known by its products.


def leading_directions(product: Callable[[Array], Array], n: int, rank: int) -> tuple[Array, Array]:
    """Approximate leading eigenvectors and eigenvalues (falling) of a positive semidefinite matrix."""
    from scipy.linalg import cholesky, qr, solve_triangular, svd

    test = qr(np.random.default_rng(0).normal(size=(n, min(rank, n))), mode="economic")[0]
    image = np.stack([product(column) for column in test.T], axis=1)
    shift = 1e-6 * float(np.linalg.norm(image))  # keeps the small matrix positive definite
    image = image + shift * test
    inner = test.T @ image
    root = cholesky((inner + inner.T) / 2)
    half = solve_triangular(root, image.T, trans="T").T
    vectors, singular, _ = svd(half, full_matrices=False)
    return vectors, np.maximum(singular**2 - shift, 0.0)


def largest_eigenvalue(product: Callable[[Array], Array], n: int, iterations: int = 30) -> float:
    """An upper estimate of the largest eigenvalue, by power iteration with a margin of 5 %."""
    vector: Array = np.random.default_rng(0).normal(size=n)
    size = 1.0
    for _ in range(iterations):
        vector = vector / np.linalg.norm(vector)
        vector = product(vector)
        size = float(np.linalg.norm(vector))
    return 1.05 * size


# Which unknowns a linear system determines, whatever the right-hand side.


def row_space(operator: LinearOperator) -> tuple[int, npt.NDArray[np.bool_]]:
    """The rank of A, and for each unknown whether its unit vector lies in the row space of A.

    Notes
    -----
    Pivoted Cholesky of the Gram matrix, scaled to unit diagonal: with U11, U12 its first `rank` rows, the
    null space is spanned by [−U11⁻¹ U12; I], and an unknown is determined exactly where every null vector
    vanishes. O(n · rank²) time after the Gram matrix.

    Examples
    --------
    >>> from tellall.algebra.operators.dense import Dense
    >>> rank, determined = row_space(Dense([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> rank, determined.tolist()
    (2, [True, False, False])
    """
    from scipy.linalg import lapack, solve_triangular

    gram = operator.gram().copy()
    n = gram.shape[0]
    norms = np.sqrt(gram.diagonal())
    safe = np.where(norms > 0, norms, 1.0)
    gram /= safe[:, None] * safe
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=n * 1e-13, lower=0)
    determined = np.zeros(n, dtype=bool)
    lead = pivots[:rank] - 1
    if rank == n:
        determined[:] = True
    elif rank:
        null = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
        determined[lead] = np.abs(null).max(axis=1) < 1e-7
    return int(rank), determined


_ALL_PROBES = 2**20  # unknowns up to which all probes are affordable
_FEWEST = 4


def count_probes(probes: int, unknowns: int) -> int:
    """How many probes so many unknowns get: fewer where each takes long, four of those asked for at least.

    Examples
    --------
    >>> [count_probes(64, n) for n in (20_000, 1_000_000, 10_000_000, 10**9)]
    [64, 64, 6, 4]
    """
    return max(min(_FEWEST, probes), min(probes, probes * _ALL_PROBES // max(unknowns, 1)))


def shrunk_variances(total: Array, squares: Array, count: int, diagonal: Array, ridge: Array) -> Array:
    """The diagonal of H⁻¹ from sums over probes v of v ∘ H⁻¹v and of its squares.

    ``diagonal`` is that of H = Aᵀ W A + diag(ridge).

    Notes
    -----
    Hutchinson: the mean of v ∘ H⁻¹v over independent signs is the diagonal of H⁻¹, entry p with the variance
    Σ_{q≠p} (H⁻¹)_pq² / count. In units of 1/H_pp the entries of people alike are alike, so each is drawn
    towards the mean of all, the further the more of the spread between them is that variance (the estimator
    of James and Stein, with the variance estimated from the probes); where the entries differ by more than
    the probes' noise, little. 1/H_pp ≤ (H⁻¹)_pp ≤ 1/ridge_p always hold and are kept.
    """
    least, most = 1 / diagonal, 1 / ridge
    ratio = total / count * diagonal
    if count > 1 and ratio.size:
        noise = np.maximum(squares / count - (total / count) ** 2, 0.0) * diagonal**2 / (count - 1)
        usual, between = float(noise.mean()), float(ratio.var())
        kept = max(between - usual, 0.0) / between if between > 0 else 1.0
        ratio = ratio.mean() + kept * (ratio - ratio.mean())
    return np.clip(ratio * least, least, most)
