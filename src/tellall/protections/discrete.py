"""Whole-numbered noise: the discrete Gaussian, the two-sided geometric, and any finite table of errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, at_least_zero
from tellall.protections.guarantee import REPLACED, Guarantee, on_tables, sensitivity_of
from tellall.protections.protection import Array, Context, Noise, Rng, as_rng

if TYPE_CHECKING:
    from tellall.people.dataset import Public
    from tellall.statistics.statistic import Statistic

__all__ = ["DiscreteGaussian", "Finite", "Geometric", "LatticeNoise"]

_NEAR = 1e-9  # a number this close to a multiple of the unit, relative to it, is one
_WIDE = 10.0  # from here on the sums over whole numbers equal the integrals to every digit


class LatticeNoise(Noise):
    """Noise that has probabilities instead of a density."""

    on_multiples = True

    @abstractmethod
    def logpmf(self, x: npt.ArrayLike) -> Array:
        """The log-probability of x, −∞ for impossible errors."""

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-probability of x: this law has no density."""
        return self.logpmf(x)


@dataclass(frozen=True)
class DiscreteGaussian(LatticeNoise):
    """Noise on the multiples k of ``unit`` with probability ∝ exp(−k²/(2 sigma²)).

    Notes
    -----
    Canonne, Kamath and Steinke's law. Drawn by rejection from a two-sided geometric law of scale
    t = ⌊sigma⌋ + 1, accepted with probability exp(−(|k| − sigma²/t)²/(2 sigma²)): exact up to double
    precision. ``unit`` is 1 for counts; for fractions of n people, 1/n keeps them multiples of 1/n. Values
    that are not multiples of the unit, such as sums of real numbers and means, keep what is left of them, so
    that nothing is promised.

    Examples
    --------
    >>> DiscreteGaussian(2.0).sample(4, 0).tolist()
    [1.0, -1.0, -2.0, -2.0]
    """

    sigma: float
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", at_least_zero("sigma", self.sigma))
        object.__setattr__(self, "unit", above_zero("unit", self.unit))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """The normaliser and the variance, in units."""
        if self.sigma == 0:
            return 1.0, 0.0
        if self.sigma > _WIDE:
            return self.sigma * math.sqrt(2 * math.pi), self.sigma**2
        k = np.arange(-400, 401)
        mass = np.exp(-0.5 * (k / self.sigma) ** 2)
        return float(mass.sum()), float(mass @ k**2 / mass.sum())

    @property
    def std(self) -> float:
        return self.unit * math.sqrt(self._moments[1])

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        out = np.zeros(size)
        if self.sigma == 0:
            return out
        flat = out.reshape(-1)
        t = math.floor(self.sigma) + 1
        todo = np.arange(flat.size)
        while todo.size:
            proposed = _two_sided(t, todo.size, generator)
            with np.errstate(over="ignore"):  # with a tiny sigma, only zero can be accepted
                height = np.exp(-((np.abs(proposed) / self.sigma - self.sigma / t) ** 2) / 2)
            accepted = generator.random(todo.size) < height
            flat[todo[accepted]] = proposed[accepted]
            todo = todo[~accepted]
        return out * self.unit

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        return _on_lattice(values, self.sample(values.shape, rng), self.unit)

    def logpmf(self, x: npt.ArrayLike) -> Array:
        k, on = _lattice(x, self.unit)
        if self.sigma == 0:
            return np.where(on & (k == 0), 0.0, -np.inf)
        return np.where(on, -0.5 * (k / self.sigma) ** 2 - math.log(self._moments[0]), -np.inf)

    def tail(self, distance: float) -> float:
        steps = math.ceil(distance / self.unit)
        if steps <= 0 or not self.sigma:
            return float(steps <= 0)
        # each further step is less likely by this factor, or more
        falls = -math.expm1(-(2 * steps + 1) / (2 * self.sigma**2))
        return min(1.0, 2 * math.exp(-((steps / self.sigma) ** 2) / 2) / (self._moments[0] * falls))

    def scaled(self, factor: float) -> Noise:
        return DiscreteGaussian(self.sigma, self.unit * abs(factor)) if factor else Finite(((0.0, 1.0),))

    shows_number = False

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The guarantee ε = ρ + 2 √(ρ ln(1/δ)), from concentrated privacy with ρ = L2²/(2 sigma²)."""
        known = sensitivity_of(statistic, public)
        if known is None or self.sigma == 0 or not _steps_of_people(self.unit, statistic, public):
            return None
        rho = (known[1] / (self.sigma * self.unit)) ** 2 / 2
        epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        text = f"discrete normal noise{on_tables(statistic, public)}"
        return Guarantee(epsilon, delta, REPLACED, text, rho=rho)


@dataclass(frozen=True)
class Geometric(LatticeNoise):
    """Two-sided geometric noise on the multiples k of ``unit``: probability ∝ exp(−|k|/scale).

    Notes
    -----
    The whole-numbered Laplace law: scale = L1 sensitivity / ε makes counts ε-private. With α = exp(−1/scale),
    P(k) = (1 − α)/(1 + α) α^|k| and the variance is 2α/(1 − α)². On values that are not multiples of the
    unit nothing is promised, as for `DiscreteGaussian`.

    Examples
    --------
    >>> round(Geometric(3.0).std, 3), round(3.0 * 2**0.5, 3)
    (4.223, 4.243)
    """

    scale: float
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", at_least_zero("scale", self.scale))
        object.__setattr__(self, "unit", above_zero("unit", self.unit))

    @property
    def std(self) -> float:
        if self.scale == 0:
            return 0.0
        return self.unit * math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        if self.scale == 0:
            return np.zeros(size)
        return self.unit * _two_sided(self.scale, size, as_rng(rng))

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        return _on_lattice(values, self.sample(values.shape, rng), self.unit)

    def logpmf(self, x: npt.ArrayLike) -> Array:
        k, on = _lattice(x, self.unit)
        if self.scale == 0:
            return np.where(on & (k == 0), 0.0, -np.inf)
        front = math.log(math.tanh(1 / (2 * self.scale)))  # (1 − α)/(1 + α)
        return np.where(on, front - np.abs(k) / self.scale, -np.inf)

    def tail(self, distance: float) -> float:
        steps = math.ceil(distance / self.unit)
        if steps <= 0 or not self.scale:
            return float(steps <= 0)
        return 2 * math.exp(-steps / self.scale) / (1 + math.exp(-1 / self.scale))

    def scaled(self, factor: float) -> Noise:
        return Geometric(self.scale, self.unit * abs(factor)) if factor else Finite(((0.0, 1.0),))

    shows_number = False

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The guarantee ε = L1 sensitivity / scale."""
        known = sensitivity_of(statistic, public)
        if known is None or self.scale == 0 or not _steps_of_people(self.unit, statistic, public):
            return None
        epsilon = known[0] / (self.scale * self.unit)
        return Guarantee(epsilon, 0.0, REPLACED, f"geometric noise{on_tables(statistic, public)}")


@dataclass(frozen=True)
class Finite(LatticeNoise):
    """A table of errors: pairs of an error and its probability."""

    table: tuple[tuple[float, float], ...]

    @property
    def errors(self) -> Array:
        """The errors of the table."""
        return np.array([error for error, _ in self.table])

    @property
    def probabilities(self) -> Array:
        """The probability of each error."""
        return np.array([probability for _, probability in self.table])

    @property
    def std(self) -> float:
        mean = float(self.errors @ self.probabilities)
        return math.sqrt(float((self.errors - mean) ** 2 @ self.probabilities))

    @property
    def bound(self) -> float:
        return float(np.abs(self.errors).max())

    def tail(self, distance: float) -> float:
        return float(self.probabilities[np.abs(self.errors) >= distance].sum())

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        """One interval if the errors are neighbouring multiples of the step, else one for each error."""
        errors = np.sort(self.errors[self.probabilities > 0])
        if step and _lattice(errors, step)[1].all() and (np.diff(errors) <= step * (1 + 1e-9)).all():
            return low - errors[-1], high - errors[0]
        shifts = errors[:, None, None]
        shape = (errors.size * low.shape[0], low.shape[1])
        return (low - shifts).reshape(shape), (high - shifts).reshape(shape)

    def step_after(self, step: float) -> float:
        if not step or _lattice(self.errors, step)[1].all():
            return step
        both = np.append(self.errors, step)
        return float(np.gcd.reduce(both.astype(np.int64))) if (both == np.rint(both)).all() else 0.0

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return self.quantile(as_rng(rng).random(size))

    def quantile(self, uniform: Array) -> Array:
        """The errors at these quantiles, numbers in [0, 1)."""
        steps = np.cumsum(self.probabilities)
        index = np.searchsorted(steps, uniform * steps[-1], side="right")
        return np.asarray(self.errors[np.minimum(index, steps.size - 1)])

    def logpmf(self, x: npt.ArrayLike) -> Array:
        at = np.asarray(x, dtype=float)[..., None]
        near = np.abs(at - self.errors) <= 1e-9 * max(1.0, self.bound)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log((near * self.probabilities).sum(axis=-1)))

    def scaled(self, factor: float) -> Finite:
        return Finite(tuple((error * factor, probability) for error, probability in self.table))


def _steps_of_people(unit: float, statistic: Statistic, public: Public) -> bool:
    """Whether values and noise move in steps of one person; with other steps the noise would show the value.

    What is left of a value after whole steps, such as the cents of a sum, is published as it is.
    """
    return statistic.counts_people and abs(statistic.units(public) * unit - 1) < _NEAR


def _on_lattice(values: Array, noise: Array, unit: float) -> Array:
    """The values plus noise that is a multiple of the unit.

    Multiples of the unit stay exact multiples: a sum of two inexact ones would show both in its last digit.
    """
    k, on = _lattice(values, unit)
    return np.where(on, (k + np.rint(noise / unit)) * unit, values + noise)


def _two_sided(scale: float, size: int | tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draws with P(k) ∝ exp(−|k|/scale): the difference of two geometric draws."""
    chance = -math.expm1(-1 / scale)
    return np.asarray(rng.geometric(chance, size) - rng.geometric(chance, size), dtype=np.float64)


def _lattice(x: npt.ArrayLike, unit: float) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The nearest multiples of the unit, and whether x is one of them."""
    ratio = np.asarray(x, dtype=float) / unit
    k: Array = np.rint(ratio)
    return k, np.abs(ratio - k) <= _NEAR * np.maximum(1.0, np.abs(k))
