"""Noise laws: one definition for the curator who adds it, the attacker who weighs it, and the tests.

A law knows its standard deviation, its bound, how to draw it and, where it has one, its log-density.
``perturb`` is what the curator does to published values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.errors import invalid

__all__ = ["Array", "Exact", "Gaussian", "Laplace", "Noise", "Rng", "Rounding", "Sum", "as_rng"]

Array = npt.NDArray[np.floating[Any]]
Rng = int | np.random.Generator | None


def as_rng(rng: Rng) -> np.random.Generator:
    """A generator from a seed, a generator or None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise invalid("rng", "a seed of zero or more, a numpy Generator or None", rng)
    return np.random.default_rng(int(rng))


class Noise(ABC):
    """The law of the error of one published value."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation."""

    @property
    def bound(self) -> float:
        """The largest absolute error, infinite where there is none."""
        return math.inf

    @property
    def half_width(self) -> float:
        """Half the width of the interval that rounding leaves; zero where nothing is rounded."""
        return 0.0

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        """Independent draws."""

    @abstractmethod
    def scaled(self, factor: float) -> Noise:
        """The law of ``factor`` times this error, for another unit of measurement."""

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        """The values as published; missing ones stay missing."""
        return values + self.sample(values.shape, rng)


@dataclass(frozen=True)
class Exact(Noise):
    """No noise at all."""

    @property
    def std(self) -> float:
        return 0.0

    @property
    def bound(self) -> float:
        return 0.0

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return np.zeros(size)

    def scaled(self, factor: float) -> Exact:
        return self


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
        object.__setattr__(self, "_std", _positive("std", std, zero=True))

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
            return _point_mass(x)
        ratio = np.asarray(x, dtype=float) / self.std
        return -0.5 * ratio**2 - math.log(self.std * math.sqrt(2 * math.pi))

    def scaled(self, factor: float) -> Gaussian:
        return Gaussian(self.std * abs(factor))


@dataclass(frozen=True)
class Laplace(Noise):
    """Two-sided exponential noise; ``scale`` is not the standard deviation, which is √2 times it (E-CT-2)."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive("scale", self.scale, zero=True))

    @property
    def std(self) -> float:
        return math.sqrt(2.0) * self.scale

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return as_rng(rng).laplace(0.0, self.scale, size)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x."""
        if self.scale == 0:
            return _point_mass(x)
        out: Array = -np.abs(np.asarray(x, dtype=float)) / self.scale - math.log(2 * self.scale)
        return out

    def scaled(self, factor: float) -> Laplace:
        return Laplace(self.scale * abs(factor))


@dataclass(frozen=True)
class Rounding(Noise):
    """Rounding to the nearest multiple of ``base``, halves to even.

    Notes
    -----
    The attacker models the error as uniform on [−base/2, base/2], standard deviation base/√12; the error
    itself is a function of the value, never more than base/2.
    """

    base: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", _positive("base", self.base, zero=False))

    @property
    def std(self) -> float:
        return self.base / math.sqrt(12.0)

    @property
    def bound(self) -> float:
        return self.base / 2

    @property
    def half_width(self) -> float:
        return self.base / 2

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return as_rng(rng).uniform(-self.base / 2, self.base / 2, size)

    def logpdf(self, x: npt.ArrayLike) -> Array:
        """The log-density at x under the uniform model."""
        inside = np.abs(np.asarray(x, dtype=float)) <= self.base / 2
        return np.where(inside, -math.log(self.base), -np.inf)

    def scaled(self, factor: float) -> Rounding:
        return Rounding(self.base * abs(factor))

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        return np.round(values / self.base) * self.base


@dataclass(frozen=True)
class Sum(Noise):
    """Independent errors added up: what several protections in a row leave behind."""

    parts: tuple[Noise, ...]

    @property
    def std(self) -> float:
        return math.hypot(*(part.std for part in self.parts))

    @property
    def bound(self) -> float:
        return math.fsum(part.bound for part in self.parts)

    @property
    def half_width(self) -> float:
        return math.fsum(part.half_width for part in self.parts)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        return sum((part.sample(size, generator) for part in self.parts), start=np.zeros(size))

    def scaled(self, factor: float) -> Sum:
        return Sum(tuple(part.scaled(factor) for part in self.parts))

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        generator = as_rng(rng)
        for part in self.parts:
            values = part.perturb(values, generator)
        return values


def _positive(name: str, value: float, *, zero: bool) -> float:
    rule = "a finite number, zero or more" if zero else "a finite number above zero"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise invalid(name, rule, value)
    number = float(value)
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise invalid(name, rule, value)
    return number


def _point_mass(x: npt.ArrayLike) -> Array:
    return np.where(np.asarray(x, dtype=float) == 0, np.inf, -np.inf)
