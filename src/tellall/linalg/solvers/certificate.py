"""Certificates: whether an estimate minimises ‖A s − z‖₂; how many wrong rows ℓ1 decoding survives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import percent
from tellall.linalg.operators.linear_operator import Array, Dense, LinearOperator
from tellall.linalg.solvers.solution import check_vector

__all__ = [
    "NormCertificate",
    "Survival",
    "norm_certificate",
    "survival",
]

_RANK = 1e-9  # of the largest singular value: smaller ones count as zero
_ROUNDING = 1e-9  # relative room for sums of floating-point numbers
_EXACT = 1e-12  # a residual this much smaller than the target is roundoff: it has no direction


@dataclass(frozen=True, eq=False)
class NormCertificate:
    """How far an estimate is from the least ‖A s − z‖₂.

    Attributes
    ----------
    primal
        ‖A s − z‖₂ at the estimate.
    dual
        zᵀν at ν = −(A s − z)/‖A s − z‖, the normalised residual; 0 if the equations hold exactly.
    infeasibility
        ‖Aᵀν‖ / ‖A‖_F, zero at a minimum: no change of s shrinks the residual.
    multiplier
        ν, of length 1 (or 0, if the equations hold exactly).

    Notes
    -----
    max zᵀν over ‖ν‖ ≤ 1, Aᵀν = 0 is the dual problem (regression-noise, Eq. 3), and its optimality
    conditions (Eqs. 4–6) are y = A s − z, Aᵀν = 0 and y/‖y‖ + ν = 0. The first and the last hold here by
    the choice of y and ν; an estimate can only fail the second. For any other s′,
    ‖A s′ − z‖ ≥ dual − ‖Aᵀν‖ ‖s′‖: if Aᵀν = 0, nothing lies below the dual value.
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
    s = check_vector("estimate", estimate, columns)
    z = check_vector("target", target, rows)
    residual = matrix.matvec(s) - z
    primal = float(np.linalg.norm(residual))
    if primal <= _EXACT * float(np.linalg.norm(z)):
        return NormCertificate(primal, 0.0, 0.0, np.zeros(rows))
    multiplier = -residual / primal
    size = float(np.sqrt(matrix.squared().matvec(np.ones(columns)).sum()))
    slope = float(np.linalg.norm(matrix.rmatvec(multiplier)))
    return NormCertificate(primal, float(z @ multiplier), slope / size if size else 0.0, multiplier)


@dataclass(frozen=True)
class Survival:
    """How many wrong equations ℓ1 decoding survives, whichever they are and however wrong.

    Attributes
    ----------
    equations
        How many there are.
    certified
        This many may be wrong, and the minimiser is still the truth if the others are exact.
    limit
        If one more than this many, well chosen, are wrong, another solution fits at least as well.
    """

    equations: int
    certified: int
    limit: int

    @property
    def share(self) -> float:
        """The certified share of the equations."""
        return self.certified / max(self.equations, 1)

    def __str__(self) -> str:
        return (
            f"any {self.certified} of {self.equations} equations may be wrong ({percent(self.share)}, "
            f"certified); no decoder of this kind survives more than {self.limit}"
        )


def survival(operator: LinearOperator | npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Survival:
    """How many wrong rows the minimiser of Σ w_j |a_j x − z_j| survives.

    Notes
    -----
    Let S be the wrong rows. The truth is the only minimiser if Σ_S |a_j h| < ½ Σ |a_j h| (weighted) for every
    direction h ≠ 0. With H the projection onto the range of A (the hat matrix), A h = H A h, so that rows S
    hold at most the share max_j Σ_{i ∈ S} |H_ij| of the sum. The certified number is the most rows whose
    entries, the largest of each column of H, add up to less than ½. That is a lower bound, often far below
    what is survived in fact; it is zero if A does not have full rank, or if one row outweighs all others. The
    limit comes from two kinds of directions: one unknown moved, or the two nearest unknowns exchanged. Once
    the rows with half of the sum are wrong, the other solution fits as well. O(rows² · unknowns) time.

    Examples
    --------
    >>> survival(np.ones((9, 1)))  # nine readings of one number: four may be wrong
    Survival(equations=9, certified=4, limit=4)
    """
    matrix = operator.to_dense() if isinstance(operator, LinearOperator) else np.asarray(operator)
    scale = np.ones(matrix.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    scaled = matrix.astype(np.float64) * scale[:, None]
    rows = scaled.shape[0]
    moved = np.abs(scaled).T
    limit = min((_below_half(move, move.sum()) for move in (*moved, *_exchanged(scaled))), default=rows)
    left, size, _ = np.linalg.svd(scaled, full_matrices=False)
    if not size.size or size[-1] <= _RANK * size[0]:
        return Survival(rows, 0, limit)
    hat = np.abs(left @ left.T)
    return Survival(rows, min(limit, *(_below_half(column, 1.0) for column in hat)), limit)


def _below_half(parts: Array, whole: float) -> int:
    """How many of the largest parts add up to less than half of the whole."""
    sums = np.cumsum(np.sort(parts)[::-1])
    return int(np.searchsorted(sums, whole / 2 * (1 - _ROUNDING), side="left"))


def _exchanged(matrix: Array) -> list[Array]:
    """How much exchanging two unknowns moves every row, for the two that differ least."""
    from scipy.spatial.distance import pdist, squareform

    if matrix.shape[1] < 2:
        return []
    apart = squareform(pdist(matrix.T, "cityblock"))
    apart[np.diag_indices_from(apart)] = np.inf
    one, other = np.unravel_index(int(apart.argmin()), apart.shape)
    return [np.abs(matrix[:, one] - matrix[:, other])]
