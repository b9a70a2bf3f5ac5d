"""Continuous noise added to a value: normal, Laplace, and normal cut off at a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tellall.core.checks import at_least_zero
from tellall.core.errors import invalid
from tellall.protections.guarantee import REPLACED, Guarantee, on_tables, sensitivity_of
from tellall.protections.protection import Array, Noise, Rng, as_rng, point_mass

if TYPE_CHECKING:
    from tellall.people.dataset import Public
    from tellall.statistics.statistic import Statistic

__all__ = ["Gaussian", "Laplace", "TruncatedNormal"]


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(Noise):
    """Normal noise of mean zero.

    Examples
    --------
    >>> Gaussian(2.0).std
    2.0
    """

    _std: float

    def __init__(self, std: float) -> None:
        object.__setattr__(self, "_std", at_least_zero("std", std))

    def __repr__(self) -> str:
        return f"Gaussian(std={self._std!r})"

    @property
    def std(self) -> float:
        return self._std

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return as_rng(rng).normal(0.0, self.std, size)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x."""
        if self.std == 0:
            return point_mass(x)
        ratio = np.asarray(x, dtype=float) / self.std
        return -0.5 * ratio**2 - math.log(self.std * math.sqrt(2 * math.pi))

    def tail(self, distance: float) -> float:
        return math.erfc(distance / (self.std * math.sqrt(2))) if self.std else float(distance <= 0)

    @property
    def mean_size(self) -> float:
        return self.std * math.sqrt(2 / math.pi)

    def exceeded(self, share: float) -> tuple[float, float]:
        from scipy.special import ndtri

        return share, -self.std * float(ndtri(share / 2))

    def scaled(self, factor: float) -> Gaussian:
        return Gaussian(self.std * abs(factor))

    shows_number = False

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The guarantee of the analytic Gaussian mechanism at the L2 sensitivity (E-CT-1)."""
        from tellall.protections.profile import gaussian_epsilon

        known = sensitivity_of(statistic, public)
        if known is None or self.std == 0:
            return None
        epsilon = gaussian_epsilon(delta, known[1], self.std)
        text = f"normal noise{on_tables(statistic, public)}"
        return Guarantee(epsilon, delta, REPLACED, text, mu=known[1] / self.std)


@dataclass(frozen=True)
class Laplace(Noise):
    """Two-sided exponential noise; the standard deviation is √2 times ``scale`` (E-CT-2)."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", at_least_zero("scale", self.scale))

    @property
    def std(self) -> float:
        return math.sqrt(2.0) * self.scale

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return as_rng(rng).laplace(0.0, self.scale, size)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x."""
        if self.scale == 0:
            return point_mass(x)
        out: Array = -np.abs(np.asarray(x, dtype=float)) / self.scale - math.log(2 * self.scale)
        return out

    def tail(self, distance: float) -> float:
        return math.exp(-max(distance, 0.0) / self.scale) if self.scale else float(distance <= 0)

    @property
    def mean_size(self) -> float:
        return self.scale

    def exceeded(self, share: float) -> tuple[float, float]:
        return share, self.scale * math.log(1 / share)

    def scaled(self, factor: float) -> Laplace:
        return Laplace(self.scale * abs(factor))

    shows_number = False

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The guarantee ε = L1 sensitivity / scale."""
        known = sensitivity_of(statistic, public)
        if known is None or self.scale == 0:
            return None
        text = f"Laplace noise{on_tables(statistic, public)}"
        return Guarantee(known[0] / self.scale, 0.0, REPLACED, text)


@dataclass(frozen=True)
class TruncatedNormal(Noise):
    """Normal noise of this scale, given that it stays within the bound.

    Parameters
    ----------
    scale
        The standard deviation of the normal before it is cut, in the units of what is published.
    bound
        The largest absolute error.
    bound_in
        "units": the bound is in the units of what is published; "scales": in multiples of the scale.

    Notes
    -----
    With a = bound/scale, density φ(x/scale)/(scale (2Φ(a) − 1)) on [−bound, bound] and variance
    scale² (1 − 2a φ(a)/(2Φ(a) − 1)), which is bound²/3 for small a: a normal cut at ±0.05 scales, as in
    regression-noise, has a standard deviation 34.6 times smaller than its scale.

    Examples
    --------
    >>> round(1 / TruncatedNormal(1.0, 0.05).std, 1)
    34.6
    """

    scale: float
    _bound: float

    def __init__(self, scale: float, bound: float, bound_in: str = "units") -> None:
        if bound_in not in ("units", "scales"):
            raise invalid("bound_in", "'units' or 'scales'", bound_in)
        width = at_least_zero("scale", scale)
        most = at_least_zero("bound", bound)
        object.__setattr__(self, "scale", width)
        object.__setattr__(self, "_bound", (most if bound_in == "units" else most * width) if width else 0.0)

    def __repr__(self) -> str:
        return f"TruncatedNormal(scale={self.scale!r}, bound={self.bound!r})"

    @property
    def bound(self) -> float:
        return self._bound

    @property
    def bound_in(self) -> str:
        """The unit of ``bound``, which is always converted to that of the published values."""
        return "units"

    @property
    def std(self) -> float:
        if self.bound == 0:
            return 0.0
        a = self.bound / self.scale
        if a > 40:  # nothing is cut off
            return self.scale
        if a < 1e-3:  # a series: the next term is of order a⁴, and the closed form has lost half its digits
            return self.bound * math.sqrt((1 - 2 * a**2 / 15) / 3)
        return self.scale * math.sqrt(1 - 2 * a * _density(a) / math.erf(a / math.sqrt(2)))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        from scipy.special import ndtr, ndtri

        uniform = as_rng(rng).random(size)
        if self.bound == 0:
            return np.zeros(size)
        low = ndtr(-self.bound / self.scale)
        return np.clip(self.scale * ndtri(low + uniform * (1 - 2 * low)), -self.bound, self.bound)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x."""
        if self.bound == 0:
            return point_mass(x)
        ratio = np.asarray(x, dtype=float) / self.scale
        mass = math.erf(self.bound / self.scale / math.sqrt(2))
        inside = -0.5 * ratio**2 - math.log(self.scale * math.sqrt(2 * math.pi) * mass)
        return np.where(np.abs(ratio) * self.scale <= self.bound, inside, -np.inf)

    def tail(self, distance: float) -> float:
        if distance > self.bound or not self.scale:
            return float(distance <= 0)
        unit = self.scale * math.sqrt(2)
        return min(1.0, math.erfc(distance / unit) / math.erf(self.bound / unit))

    def scaled(self, factor: float) -> TruncatedNormal:
        return TruncatedNormal(self.scale * abs(factor), self.bound * abs(factor))


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
