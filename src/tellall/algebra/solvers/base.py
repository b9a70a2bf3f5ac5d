"""What solvers share: a solution, a status that says how far to trust it, what equations settle for sure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.core.errors import invalid

__all__ = [
    "SETTLED",
    "Array",
    "Enclosure",
    "Solution",
    "Status",
    "check_vector",
    "enclose",
    "row_space",
]

SETTLED = ("solved", "trusted")  # the words that come without advice


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


def check_vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as an array of floats, where they are that many finite numbers; otherwise an error."""
    vector = np.asarray(values)
    if vector.shape != (size,) or vector.dtype.kind not in "fiub" or not np.isfinite(vector).all():
        raise invalid(name, f"{size} finite numbers", f"shape {vector.shape}")
    return vector if vector.dtype.kind == "f" else vector.astype(np.float64)


# What equations settle for sure: the unknowns they determine, and bounds on whole-numbered solutions.

_MOST_ENTRIES = 20_000_000
_SLACK = 1e-6  # floating-point room before a bound is rounded to a whole number


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Every whole-numbered solution lies in [lower, upper]; ``empty`` says that no solution exists."""

    lower: Array
    upper: Array
    empty: bool


def enclose(
    operator: LinearOperator,
    low: Array,
    high: Array,
    *,
    upper: Array,
    lower: Array | None = None,
    rounds: int = 50,
) -> Enclosure:
    """Bounds on every whole-numbered x with lower ≤ x ≤ upper (0 where not given) and low ≤ A x ≤ high.

    Notes
    -----
    Bound propagation: in row j, x_p can be at most what the row allows less the least that the others must
    take, and at least what is left when the others take all they can; repeated until nothing moves.
    O(rounds × entries). Rows without a finite end say nothing. The enclosure is valid, not always tight:
    it stays [0, upper] where no row is tight enough to start from, or above 20 million entries.

    Examples
    --------
    >>> from tellall.algebra.operators.base import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> box = enclose(sums, np.array([2.0, 1.0]), np.array([2.0, 1.0]), upper=np.ones(3))
    >>> box.lower.tolist(), box.upper.tolist()
    ([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    least_of = np.zeros(upper.size) if lower is None else lower.astype(np.float64)
    lower, upper = least_of, upper.astype(np.float64)
    if (low > high + _SLACK).any():
        return Enclosure(lower, upper, empty=True)
    rows = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    if not rows.size or (not lower.any() and not _worth_propagating(operator, low, high, upper)):
        return Enclosure(lower, upper, empty=False)
    matrix = operator.to_sparse()[rows]
    low_row, high_row = low[rows], high[rows]
    entries = matrix.tocsc()
    entries.sum_duplicates()
    entries.eliminate_zeros()
    used = np.flatnonzero(np.diff(entries.indptr))  # unknowns that occur in some row
    starts = entries.indptr[used]
    row, weight = entries.indices, entries.data
    column = np.repeat(np.arange(upper.size), np.diff(entries.indptr))
    positive = weight > 0
    for _ in range(rounds):
        least, most = _activity(matrix, lower, upper)
        if (least > high_row + _SLACK).any() or (most < low_row - _SLACK).any():
            return Enclosure(lower, upper, empty=True)
        others_least = least[row] - weight * np.where(positive, lower[column], upper[column])
        others_most = most[row] - weight * np.where(positive, upper[column], lower[column])
        roof = (high_row[row] - others_least) / weight
        floor = (low_row[row] - others_most) / weight
        new_upper, new_lower = upper.copy(), lower.copy()
        capped = np.minimum.reduceat(np.where(positive, roof, floor), starts)
        raised = np.maximum.reduceat(np.where(positive, floor, roof), starts)
        new_upper[used] = np.minimum(upper[used], np.floor(capped + _SLACK))
        new_lower[used] = np.maximum(lower[used], np.ceil(raised - _SLACK) + 0.0)  # never −0
        if (new_lower > new_upper).any():
            return Enclosure(lower, upper, empty=True)
        settled = np.array_equal(new_upper, upper) and np.array_equal(new_lower, lower)
        lower, upper = new_lower, new_upper
        if settled:
            break
    return Enclosure(lower, upper, empty=False)


def _worth_propagating(operator: LinearOperator, low: Array, high: Array, upper: Array) -> bool:
    """Whether some row is so near an extreme that it bounds one of its unknowns by itself."""
    squares = operator.squared()
    reach, total = operator @ upper, squares @ upper
    if float(total.sum()) > _MOST_ENTRIES * float(upper.mean()):
        return False
    largest = np.sqrt(squares @ upper**2)  # at least any |a_jp| upper_p of the row
    one_sign = np.abs(reach) == total  # otherwise its extremes are not known from its sum
    room = np.minimum(high - np.minimum(reach, 0), np.maximum(reach, 0) - low)
    said = np.isfinite(low) | np.isfinite(high)
    return bool((said & (~one_sign | (room < largest))).any())


def _activity(matrix: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The least and the most that each row can come to."""
    plus, minus = matrix.maximum(0), matrix.minimum(0)
    return plus @ lower + minus @ upper, plus @ upper + minus @ lower


def row_space(operator: LinearOperator) -> tuple[int, npt.NDArray[np.bool_]]:
    """The rank of A, and for each unknown whether its unit vector lies in the row space of A.

    Notes
    -----
    Pivoted Cholesky of the Gram matrix, scaled to unit diagonal: with U11, U12 its first `rank` rows, the
    null space is spanned by [−U11⁻¹ U12; I], and an unknown is determined exactly where every null vector
    vanishes. O(n · rank²) time after the Gram matrix.

    Examples
    --------
    >>> from tellall.algebra.operators.base import Dense
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
