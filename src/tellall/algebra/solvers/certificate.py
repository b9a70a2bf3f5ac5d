"""A certificate that an estimate minimises ‖A s − z‖₂: its dual value, and how far it is from optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, Dense, LinearOperator
from tellall.algebra.solvers.base import check_vector

__all__ = [
    "NormCertificate",
    "norm_certificate",
]

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
    s, z = check_vector("estimate", estimate, columns), check_vector("target", target, rows)
    residual = matrix.matvec(s) - z
    primal = float(np.linalg.norm(residual))
    if primal <= _EXACT * float(np.linalg.norm(z)):
        return NormCertificate(primal, 0.0, 0.0, np.zeros(rows))
    multiplier = -residual / primal
    size = float(np.sqrt(matrix.squared().matvec(np.ones(columns)).sum()))
    slope = float(np.linalg.norm(matrix.rmatvec(multiplier)))
    return NormCertificate(primal, float(z @ multiplier), slope / size if size else 0.0, multiplier)
