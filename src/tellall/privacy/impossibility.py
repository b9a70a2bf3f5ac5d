"""Why a profile is relative to its data: least squares has no bound on what one record can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import above_zero
from tellall.privacy.record_influence import influence
from tellall.protections.profile import Floats, as_epsilons, as_fractions, as_numbers

__all__ = [
    "RELATIVE_NOTE",
    "UnboundedNeighbour",
    "least_error",
    "unbounded_neighbour",
]

RELATIVE_NOTE = (
    "These promises are relative to this data set and to neighbours with one row zeroed. Least squares has "
    "unbounded sensitivity, so no useful release of it is private for every data set."
)


@dataclass(frozen=True)
class UnboundedNeighbour:
    """One more record that moves a coefficient of a fit by more than was asked for."""

    row: Floats  # the features of the added record, (1, 0, …, 0)
    response: float
    coefficients: Floats  # the fit without it
    neighbour_coefficients: Floats  # the fit with it
    moved: float  # the largest change of a coefficient

    def __str__(self) -> str:
        return (
            f"One record with features (1, 0, …, 0) and response {self.response:.6g} moves a coefficient by "
            f"{self.moved:.6g}. {RELATIVE_NOTE}"
        )


def unbounded_neighbour(features: ArrayLike, response: ArrayLike, shift: float = 1.0) -> UnboundedNeighbour:
    """Returns a record whose presence moves a least-squares coefficient by more than `shift`, for any data.

    Notes
    -----
    private-ols, proof of Lemma 7 (E-PO-7): replace a zero row, which has no effect, by v = (1, 0, …, 0) with
    response c. The fit moves by (BᵀB)⁻¹v (c − vᵀx)/(1 + vᵀ(BᵀB)⁻¹v), unbounded in c; c is chosen for twice
    `shift` in the first coefficient. With `least_error`: no private least squares has a small mean
    squared error on all data (Cor. 1 says it of a variance, E-PO-6).

    Examples
    --------
    >>> found = unbounded_neighbour([[1, 0], [1, 1], [1, 2], [1, 4]], [1, 3, 2, 5], 1000.0)
    >>> found.moved > 1000.0
    True
    """
    wanted = above_zero("shift", shift)
    fit = influence(features, response)
    table = np.asarray(features, dtype=np.float64).reshape(len(fit.residual), -1)
    row = np.eye(table.shape[1])[0]
    upper = np.asarray(np.linalg.qr(table, mode="r"), dtype=np.float64)
    inward = np.linalg.solve(upper, np.linalg.solve(upper.T, row))
    step = inward * 2.0 * wanted / inward[0]
    value = float(fit.coefficients[0] + 2.0 * wanted * (1.0 + inward[0]) / inward[0])
    moved = float(np.abs(step).max())
    return UnboundedNeighbour(row, value, fit.coefficients, fit.coefficients + step, moved)


def least_error(epsilon: ArrayLike, delta: ArrayLike, shift: ArrayLike) -> Floats:
    """Returns the mean squared error that a private answer must have on one of two neighbours `shift` apart.

    Notes
    -----
    For (ε, δ)-private answers, (1 − t) shift²/4 with t = (e^ε − 1 + 2δ)/(e^ε + 1), a bound on the total
    variation of the two answers: private-ols, Lemma 6, with a constant of ours.

    Examples
    --------
    >>> float(least_error(1.0, 1e-5, 10.0).round(4))
    13.4469
    """
    eps, slack = as_epsilons(epsilon), as_fractions("delta", delta)
    apart = as_numbers("shift", shift, rule="zero or more and finite", least=0.0)
    # (e^ε − 1)/(e^ε + 1) = tanh(ε/2), and 1/(e^ε + 1) without overflow.
    total = np.minimum(1.0, np.tanh(eps / 2.0) + 2.0 * slack * np.exp(-np.logaddexp(eps, 0.0)))
    return np.asarray((1.0 - total) * apart**2 / 4.0)[()]
