"""Residuals: what the standard errors of linear fits say about the people they were fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import InvalidInput
from tellall.linalg.operators.linear_operator import Array
from tellall.statistics.numbers import NumberFacts, ToldSpread

__all__ = ["LinearFit", "Residuals", "residual_spread", "spread_of_errors"]

_ROOM = 1e-9  # of floating point, as a share of a number
_KNOWN_TO = 0.05  # largest relative error of a variance that still counts as known
_RANK = 1e-10
_WHOLE = 1e-5


def _basis(x: Array) -> Array:
    """An orthonormal basis of the columns."""
    left, singular, _ = np.linalg.svd(x, full_matrices=False)
    kept = singular > _RANK * singular[0] if singular.size else singular > 0
    return np.asarray(left[:, kept])


def residual_spread(x: Array, answers: Array, theta: Array) -> float:
    """The residual spread σ̂ = √(RSS/(n − rank)) of a linear fit; NaN if n = rank.

    se_j = σ̂ √[(XᵀX)⁻¹]_jj, so all standard errors of one fit are known multiples of this one number.
    """
    room = x.shape[0] - _basis(x).shape[1]
    return float(np.sqrt(np.sum((answers - x @ theta) ** 2) / room)) if room > 0 else float("nan")


def spread_of_errors(x: Array, errors: Array, within: Array) -> tuple[float, float]:
    """The residual spread σ̂ worked out from printed standard errors, and how far off it may be.

    se_j = σ̂ √[(XᵀX)⁻¹]_jj, so each standard error, off by at most ``within``, gives a range of σ̂. If the
    ranges have nothing in common, the errors are robust or of a fit to other people, and are refused.

    Examples
    --------
    >>> spread_of_errors(np.ones((4, 1)), np.array([0.5]), np.array([0.125]))  # se = σ̂/√4
    (1.0, 0.25)
    """
    inverse = np.linalg.pinv(x.T @ x)
    if _basis(x).shape[1] < x.shape[1] or x.shape[1] >= x.shape[0]:
        raise InvalidInput("standard errors of columns that depend on one another say nothing")
    share = np.sqrt(np.diag(inverse))
    low = float(np.max((errors - within) / share))
    high = float(np.min((errors + within) / share))
    if not low <= high + _ROOM * (1 + abs(high)):
        raise InvalidInput(
            "standard errors that are not the usual ones of this fit: robust, or of a fit to other people"
        )
    return (low + high) / 2, max(high - low, 0.0) / 2


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A published least-squares fit: the matrix (a row per person), coefficients and residual spread."""

    x: Array
    theta: Array
    spread: float

    @property
    def shown(self) -> bool:
        """Whether all of it is published."""
        return bool(np.isfinite(self.theta).all() and np.isfinite(self.spread))


@dataclass(frozen=True, eq=False)
class Residuals(NumberFacts):
    """What linear coefficients together with their standard errors say about people.

    Notes
    -----
    RSS = (n − k) σ̂² and the normal equations Xᵀ(y − Xθ) = 0 give one quadratic equation,
    Σ y² = RSS + ‖Xθ‖². What follows from it:

    - Everybody's number has limits. r = y − Xθ is orthogonal to the columns of X. With the projection
      M = 1 − X(XᵀX)⁻¹Xᵀ, which is symmetric and has M² = M, it follows that r = M r and r_i = ⟨M e_i, r⟩. By
      Cauchy and Schwarz |r_i| ≤ ‖M e_i‖ ‖r‖ = √M_ii √RSS = √((1 − h_i) RSS), where h_i is the leverage. It is
      attained by r = √RSS M e_i/‖M e_i‖, so no better limit follows from this fit alone. Coefficients that
      are off by at most b move the centre by at most b Σ_j |x_ij|, and a σ̂ that is off by at most b changes
      the radius by at most √((n − k)(1 − h_i)) b.
    - With an intercept, the spread over people is known: mean(Xθ) is the mean, and the variance is
      RSS/n + var(Xθ). A regression without standard errors does not show how far people are from its line.
    - A σ̂ that was worked out from printed standard errors is off by at most `within`.
    - For bits, Σ s² = Σ s, so the quadratic equation becomes linear: it gives the number of people with the
      secret. With an intercept the coefficients give that number already.
    """

    fits: Sequence[LinearFit]
    intercept: bool
    within: float = 0.0

    def limits(self, error: float) -> tuple[Array, Array]:
        n = self.fits[0].x.shape[0]
        low = np.full(n, -np.inf)
        high = np.full(n, np.inf)
        for fit in self.fits:
            if fit.shown:
                basis = _basis(fit.x)
                left = np.maximum(1 - (basis**2).sum(axis=1), 0.0)
                centre = fit.x @ fit.theta
                radius = np.sqrt(left * (n - basis.shape[1])) * (abs(fit.spread) + max(error, self.within))
                room = radius + error * np.abs(fit.x).sum(axis=1)
                room += _ROOM * (float(np.abs(centre).max()) + radius)
                low, high = np.maximum(low, centre - room), np.minimum(high, centre + room)
        return low, high

    def moments(self, std: float) -> ToldSpread | None:
        if not self.intercept:
            return None
        for fit in self.fits:
            if fit.shown:
                n = fit.x.shape[0]
                line = _basis(fit.x)
                centre = fit.x @ fit.theta
                centred = fit.x - fit.x.mean(axis=0)
                share = max(n - line.shape[1], 0) / n
                rest = share * fit.spread**2
                variance = rest + float(centre.var())
                error = max(std, self.within)
                doubt = share * (2 * abs(fit.spread) * error + error**2)  # of the rest
                slope = 2 * np.linalg.norm(centred.T @ (centre - centre.mean())) / n
                off = doubt + std * slope + float((centred**2).sum()) / n * std**2
                least = (_ROOM * float(np.abs(centre).max())) ** 2  # rounding of people all on the line
                if rest > least and doubt <= _KNOWN_TO * rest and off <= _KNOWN_TO * variance:
                    return ToldSpread(
                        float(centre.mean()), float(np.sqrt(variance)), float(np.sqrt(rest)), line
                    )
        return None

    def of_bits(self) -> Array:
        """NaN for each coefficient, then for each fit the number of people with the secret.

        That number is NaN if it is not whole, since such values are not about bits.
        """
        coefficients = sum(fit.theta.size for fit in self.fits)
        people = []
        for fit in self.fits:
            n = fit.x.shape[0]
            rank = _basis(fit.x).shape[1]
            total = (n - rank) * fit.spread**2 + float(np.sum((fit.x @ fit.theta) ** 2))
            whole = fit.shown and not self.within and abs(total - np.rint(total)) < _WHOLE
            people.append(np.rint(total) if whole else np.nan)
        return np.concatenate([np.full(coefficients, np.nan), people])
