"""Layout: which of the published values belong to one table, and how they lie in it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import is_whole
from tellall.core.errors import invalid

if TYPE_CHECKING:
    from tellall.release.equations import Equations

__all__ = [
    "Array",
    "Exact",
    "Layout",
    "Noise",
    "Rng",
    "Sum",
    "as_rng",
    "point_mass",
]

# Noise laws: one definition for the curator who adds it, the attacker who weighs it, and the tests.

Array = npt.NDArray[np.floating[Any]]
Rng = int | np.random.Generator | None


def as_rng(rng: Rng) -> np.random.Generator:
    """A generator from a seed, a generator or None."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_whole(rng) or rng < 0:
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

    @property
    def ordinary(self) -> Noise:
        """The law without its gross errors, those that hit some values and leave the others alone."""
        return self

    @property
    def varies(self) -> bool:
        """Whether the spread depends on the value, so that ``spread`` says more than ``std``."""
        return False

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
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

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        generator = as_rng(rng)
        for part in self.parts:
            values = part.perturb(values, generator)
        return values


def point_mass(x: npt.ArrayLike) -> Array:
    """The log-density of no noise at all."""
    return np.where(np.asarray(x, dtype=float) == 0, np.inf, -np.inf)


@dataclass(frozen=True)
class Layout:
    """Where tables lie among the published values: one after the other, cells in C order, the secret last.

    Attributes
    ----------
    columns
        The public columns of each table, by place; empty where the values are no tables.
    shapes
        The number of values of each column, and of the secret (one where it is not in the tables).
    """

    columns: tuple[tuple[int, ...], ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def alike(self) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.intp], npt.NDArray[Any]]]:
        """For each shape: the tables that have it, and the places of their cells (tables × cells)."""
        sizes = np.array([prod(shape) for shape in self.shapes], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for table, shape in enumerate(self.shapes):
            by_shape.setdefault(shape, []).append(table)
        for shape, members in by_shape.items():
            chosen = np.array(members, dtype=np.intp)
            yield shape, chosen, starts[chosen, None] + np.arange(prod(shape))
