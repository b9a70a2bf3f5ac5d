"""Gaussian least squares: the exact coefficients plus normal noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import above_zero, at_least_zero, share
from tellall.core.errors import invalid
from tellall.privacy.least_squares.interface import PrivateLeastSquares, Sampler, Seed
from tellall.privacy.record_influence import RecordInfluence, influence
from tellall.protections.profile import Floats, PrivacyProfile, gaussian_delta, gaussian_std

__all__ = [
    "GaussianLeastSquares",
]


@dataclass(frozen=True, kw_only=True)
class GaussianLeastSquares(PrivateLeastSquares):
    """Least squares with independent normal noise on each coefficient.

    Parameters
    ----------
    std : float, optional
        Standard deviation of the noise.
    epsilon, delta : float, optional
        Given instead of `std`: the least noise that is (ε, δ)-private on the data at hand, one row zeroed.

    Notes
    -----
    The noise is calibrated to the sensitivity *of this data set* (private-ols, Prop. 1), not of all data
    sets, which is infinite; the size of the noise itself then depends on the data.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = [[1, 0], [1, 1], [1, 2], [1, 4]], [1, 3, 2, 5]
    >>> profile = GaussianLeastSquares(std=1.0).profile(x, y)
    >>> profile.worst_record, float(profile.delta(0.5).round(6))
    (1, 0.066668)
    >>> round(GaussianLeastSquares(epsilon=0.5, delta=1e-3).noise(x, y), 4)
    2.5146
    """

    std: float | None = None
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        seen = f"std {self.std}, epsilon {self.epsilon}, delta {self.delta}"
        if (self.std is None) == (self.epsilon is None and self.delta is None):
            raise invalid("std", "given, or else epsilon and delta", seen)
        if self.std is not None:
            above_zero("std", self.std, finite=False)
        elif self.epsilon is None or self.delta is None:
            raise invalid("epsilon, delta", "given together", seen)
        else:
            at_least_zero("epsilon", self.epsilon), share("delta", self.delta, zero=False, one=False)

    @property
    def name(self) -> str:
        if self.std is not None:
            return f"Gaussian noise, std {self.std:.3g}"
        return f"Gaussian noise for ({self.epsilon:g}, {self.delta:g})"

    def noise(self, features: ArrayLike, response: ArrayLike) -> float:
        """The standard deviation of the noise on this data."""
        return self._std(influence(features, response))

    def fit(self, features: ArrayLike, response: ArrayLike, rng: Seed = None) -> Floats:
        """The released coefficients: exact ones (QR) plus noise. O(n p²)."""
        return np.asarray(self.sampler(features, response)(1, rng)[0])

    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box."""
        fit = influence(features, response)
        std = self._std(fit)

        def sample(size: int, rng: Seed = None) -> Floats:
            draws = np.random.default_rng(rng).standard_normal((size, len(fit.coefficients)))
            return fit.coefficients + std * draws

        return sample

    def profile(self, features: ArrayLike, response: ArrayLike, method: str = "exact") -> PrivacyProfile:
        """The privacy profile of `fit` on this data: δ(ε) of the most sensitive record, one row zeroed."""
        if method not in ("exact", "asymptotic"):
            raise invalid("method", "'exact' or 'asymptotic' (the same here)", method)
        fit = influence(features, response)
        std, worst = self._std(fit), int(np.argmax(fit.sensitivity))
        most = float(fit.sensitivity[worst])
        return PrivacyProfile(
            curve=lambda eps: gaussian_delta(eps, most, std),
            mechanism=f"least squares with Gaussian noise of standard deviation {std:.4g}",
            method=method,
            worst_record=worst,
            pure_epsilon=0.0 if most == 0.0 else float("inf"),
            leverage=float(fit.leverage[worst]),
            residual_share=float(fit.residual_share[worst]),
        )

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data: p·std²."""
        fit = influence(features, response)
        return len(fit.coefficients) * self._std(fit) ** 2

    def _std(self, fit: RecordInfluence) -> float:
        if self.std is not None:
            return float(self.std)
        assert self.epsilon is not None  # given if std is not
        assert self.delta is not None
        moved = fit.sensitivity
        most = float(moved.max())
        if not np.isfinite(most):
            raise invalid(
                "features",
                "such that no record alone decides a coefficient",
                f"leverage 1 in row {int(np.argmax(moved))}",
                "No noise hides that record (δ = 1); drop the column it decides.",
            )
        if fit.perfect or most == 0.0:
            raise invalid(
                "response",
                "not fitted exactly by the features",
                f"residuals of norm {fit.residual_norm:.3g}",
                "Zeroing any row changes nothing, so there is nothing to calibrate to; give std instead.",
            )
        return gaussian_std(self.epsilon, self.delta, sensitivity=most)
