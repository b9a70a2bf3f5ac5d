"""What differential privacy promises: δ(ε) in closed form or by one-dimensional quadrature."""

from __future__ import annotations

from tellall.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_std, linear_loss_expectation
from tellall.privacy.profile import PrivacyProfile
from tellall.privacy.projection import padding, projection_delta, projection_leverage, square_loss_expectation

__all__ = [
    "PrivacyProfile",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_std",
    "linear_loss_expectation",
    "padding",
    "projection_delta",
    "projection_leverage",
    "square_loss_expectation",
]
