"""Noise laws: one definition for the curator who adds it, the attacker who weighs it, and the tests."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.release.protections.protection import Context, Protection

if TYPE_CHECKING:
    from tellall.release.equations import Equations

__all__ = ["Array", "Exact", "Noise", "Rng", "Sum", "Unknown", "as_rng", "point_mass"]

Array = npt.NDArray[np.floating[Any]]
Rng = int | np.random.Generator | None


def as_rng(rng: Rng) -> np.random.Generator:
    """A generator from a seed, a generator or None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_whole(rng) or rng < 0:
        raise invalid("rng", "a seed of zero or more, a numpy Generator or None", rng)
    return np.random.default_rng(int(rng))


class Noise(Protection):
    """Independent noise on every published value, which is its own law."""

    @property
    def law(self) -> Noise:
        return self

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation."""

    @property
    def bound(self) -> float:
        """The largest absolute error, infinite without one."""
        return math.inf

    @property
    def half_width(self) -> float:
        """Half the width of the interval that rounding leaves; zero where nothing is rounded."""
        return 0.0

    @property
    def ordinary(self) -> Noise:
        """The law without its gross errors, those that hit some values and leave the others alone."""
        return self

    @property
    def known(self) -> bool:
        """Whether this is what is known of the error, and not that nothing is."""
        return True

    @property
    def assumed(self) -> Noise:
        """The law that an attack assumes: without what is unknown of it."""
        return self

    @property
    def varies(self) -> bool:
        """Whether the spread depends on the value, so that ``spread`` says more than ``std``."""
        return False

    @property
    def random(self) -> bool:
        return self.std > 0

    def spread(self, values: Array, equations: Equations) -> Array:
        """The standard deviation of the error of each published value.

        Where the spread varies, ``std`` is the largest that it can be.
        """
        return np.full(values.shape, self.std)

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        """Independent draws."""

    @abstractmethod
    def scaled(self, factor: float) -> Noise:
        """The law of ``factor`` times this error, for another unit of measurement."""

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
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


@dataclass(frozen=True)
class Unknown(Noise):
    """An error of which nothing is known: what was done to the values was not declared.

    Notes
    -----
    The values are attacked as if they had no error, which is the best that an attacker can do. Nothing
    follows for sure: there is no bound, nobody is proved, and the attack does not end as "solved".
    """

    @property
    def std(self) -> float:
        return math.inf

    @property
    def known(self) -> bool:
        return False

    @property
    def assumed(self) -> Noise:
        return Exact()

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        raise invalid("protect", "a protection that can be carried out", self, "Use it with from_values.")

    def scaled(self, factor: float) -> Unknown:
        return self


@dataclass(frozen=True)
class Sum(Noise):
    """Independent errors added up: what several protections in a row leave behind."""

    parts: tuple[Noise, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not all(isinstance(part, Noise) for part in self.parts):
            raise invalid("parts", "noise laws", self.parts)

    @property
    def std(self) -> float:
        return math.hypot(*(part.std for part in self.parts))

    @property
    def bound(self) -> float:
        return math.fsum(part.bound for part in self.parts)

    @property
    def half_width(self) -> float:
        return math.fsum(part.half_width for part in self.parts)

    @property
    def ordinary(self) -> Sum:
        return Sum(tuple(part.ordinary for part in self.parts))

    @property
    def known(self) -> bool:
        return all(part.known for part in self.parts)

    @property
    def assumed(self) -> Sum:
        return Sum(tuple(part.assumed for part in self.parts))

    @property
    def varies(self) -> bool:
        return any(part.varies for part in self.parts)

    @property
    def random(self) -> bool:
        return any(part.random for part in self.parts)

    def spread(self, values: Array, equations: Equations) -> Array:
        squares = [part.spread(values, equations) ** 2 for part in self.parts]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        return sum((part.sample(size, generator) for part in self.parts), start=np.zeros(size))

    def scaled(self, factor: float) -> Sum:
        return Sum(tuple(part.scaled(factor) for part in self.parts))

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        generator = as_rng(rng)
        for part in self.parts:
            values = part.perturb(values, generator, context)
        return values


def point_mass(x: npt.ArrayLike) -> Array:
    """The log-density of no noise at all."""
    return np.where(np.asarray(x, dtype=float) == 0, np.inf, -np.inf)
