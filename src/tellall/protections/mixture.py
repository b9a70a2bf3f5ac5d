"""Corruption: most values are exact, some get a gross error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.checks import at_least_zero, share
from tellall.protections.additive import Gaussian
from tellall.protections.protection import Array, Exact, Noise, Rng, as_rng

__all__ = ["Corruption"]


@dataclass(frozen=True)
class Corruption(Noise):
    """A random ``fraction`` of the values gets independent normal noise of standard deviation ``size``.

    Notes
    -----
    Each value is hit independently with that probability, so the law is the mixture
    (1 − fraction) · (no error) + fraction · N(0, size²), of standard deviation size √fraction. Its density is
    fraction times the normal one away from zero and infinite at zero, where most errors are. Robust decoders
    differ from least squares here (linear-reconstruction, Theorem 2.2; see E-LR-8 for what is promised).
    """

    fraction: float
    size: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", share("fraction", self.fraction))
        object.__setattr__(self, "size", at_least_zero("size", self.size))

    @property
    def std(self) -> float:
        return self.size * math.sqrt(self.fraction)

    @property
    def bound(self) -> float:
        return math.inf if self.std else 0.0

    @property
    def ordinary(self) -> Noise:
        return Exact()

    @property
    def gross_share(self) -> float:
        return self.fraction if self.std else 0.0

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        hit = generator.random(size) < self.fraction
        return np.where(hit, generator.normal(0.0, self.size, size), 0.0)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x; infinite at zero, which has a probability of its own."""
        away = np.asarray(x, dtype=float)
        if self.std == 0:
            return np.where(away == 0, np.inf, -np.inf)
        gross = math.log(self.fraction) + Gaussian(self.size).logpdf(away)
        return gross if self.fraction == 1 else np.where(away == 0, np.inf, gross)

    @property
    def mean_size(self) -> float:
        return self.fraction * Gaussian(self.size).mean_size

    def exceeded(self, share: float) -> tuple[float, float]:
        if self.fraction <= share:
            return self.fraction, 0.0  # so few are hit that each may be off by any amount
        return share, Gaussian(self.size).exceeded(share / self.fraction)[1]

    def scaled(self, factor: float) -> Corruption:
        return Corruption(self.fraction, self.size * abs(factor))
