"""Protection: what a curator does before publishing. Noise: the law of the error that it leaves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import IntArray
from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.dataset import Dataset, Public

if TYPE_CHECKING:
    from tellall.release.equations import Equations
    from tellall.release.protections.guarantee import Guarantee
    from tellall.release.statistics.base import Statistic

__all__ = [
    "Array",
    "CellLayout",
    "Context",
    "Exact",
    "Noise",
    "Protection",
    "Rng",
    "Sum",
    "Unknown",
    "as_rng",
    "check_count",
    "check_counts",
    "needs_people",
    "point_mass",
    "tables_of",
]

Array = npt.NDArray[np.floating[Any]]
Rng = int | np.random.Generator | None

_MOST = 10**12  # people, tables, products: more is a mistake or a trap


class Protection(ABC):
    """What a curator does to people or to values before publishing.

    Extend it, say what the error's ``law`` is, and override ``perturb`` (values) or ``records`` (people);
    everything else has a default.

    Notes
    -----
    What is published holds the prepared protections, which are saved as plain data: the parameters of the
    constructor must be plain data or protections, and nothing in them may depend on the secret.
    """

    filled: ClassVar[tuple[str, ...]] = ()  # parameters that only `prepare` gives: no plan offers them

    @property
    @abstractmethod
    def law(self) -> Noise:
        """The law of the error of a published value, as an attacker may assume it.

        ``Unknown()`` if it cannot be declared: the release is attacked, and nothing is proved.
        """

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
        return True

    @property
    def hides(self) -> bool:
        """Whether some values are not shown."""
        return False

    @property
    def limit(self) -> float | None:
        """The limit under which values are not shown, where all others are."""
        return None

    @property
    def reads_people(self) -> bool:
        """Whether ``perturb`` looks at the people again, which voids what earlier noise promises."""
        return False

    @property
    def changes_people(self) -> bool:
        """Whether it acts on people, before anything is computed."""
        kind = type(self)
        return kind.records is not Protection.records or kind.chosen is not Protection.chosen

    def prepare(self, statistic: Statistic, public: Public) -> Protection:
        """The protection with its numbers filled in from what is public, before anything is published."""
        return self

    def chosen(self, n: int, rng: Rng = None) -> IntArray | None:
        """Which of n people are kept, by index; None for everybody."""
        return None

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people as they are tabulated."""
        return dataset

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values as published, missing (NaN) where hidden; missing ones stay missing.

        Called with the context when people publish; without it a protection that needs more than values
        refuses (`needs_people`).
        """
        if self.changes_people and context is None:
            raise needs_people(self)
        return values

    def as_plain(self) -> dict[str, Any]:
        """Those arguments of the constructor that are not plain data, as plain data that it takes."""
        return {}

    def guarantee(self, statistic: Statistic, public: Public, *, delta: float = 1e-6) -> Guarantee | None:
        """The differential privacy that it promises, at this δ where that is a whole curve."""
        return None


@dataclass(frozen=True, eq=False)
class Context:
    """What a protection of values may look at beside the values.

    Attributes
    ----------
    statistic, public
        What is published, and the public columns of all people.
    levels
        How many values the secret has; zero for real numbers.
    people
        The people whose values these are; None for a protection that does not say ``reads_people``.
    """

    statistic: Statistic
    public: Public
    levels: int
    people: Dataset | None = None

    @cached_property
    def tables(self) -> CellLayout:
        """Where tables lie among the values; empty without tables."""
        return tables_of(self.statistic, self.public, self.levels)


@dataclass(frozen=True)
class CellLayout:
    """Where tables lie among the published values: one after the other, cells in C order, the secret last.

    Attributes
    ----------
    columns
        The public columns of each table, by index; empty where the values are not tables.
    shapes
        The number of values of each column, and of the secret (one where it is not in the tables).
    """

    columns: tuple[tuple[int, ...], ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def alike(self) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.intp], npt.NDArray[Any]]]:
        """For each shape: the tables that have it, and the indices of their cells (tables × cells)."""
        sizes = np.array([prod(shape) for shape in self.shapes], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for table, shape in enumerate(self.shapes):
            by_shape.setdefault(shape, []).append(table)
        for shape, members in by_shape.items():
            chosen = np.array(members, dtype=np.intp)
            yield shape, chosen, starts[chosen, None] + np.arange(prod(shape))


def tables_of(statistic: Statistic, public: Public, levels: int = 2) -> CellLayout:
    """Where the tables of a secret of that many values lie among a statistic's values."""
    columns, sizes = tuple(statistic.tables(public)), public.levels
    shapes = [tuple(sizes[column] for column in each) for each in columns]
    total = sum(map(prod, shapes))
    if not total:
        return CellLayout()
    last = statistic.size_for(public, levels) // total  # one where the secret is not in the tables
    return CellLayout(columns, tuple((*shape, last) for shape in shapes))


def check_count(name: str, value: object) -> None:
    """Refuse a count that a file filled in and that is not a whole number of one or more."""
    if value is not None and not (is_whole(value) and 1 <= value <= _MOST):
        raise invalid(name, "a whole number of one or more, or left out", value)


def check_counts(protection: Protection, statistic: Statistic) -> None:
    """Refuse a protection whose error is known for numbers of people only."""
    if not statistic.counts_people:
        rule = f"one that fits the statistic; {type(protection).__name__} fits counts of people"
        raise invalid("protect", rule, type(statistic).__name__)


def needs_people(protection: Protection) -> InvalidInput:
    """The error for a protection that was handed bare values."""
    return invalid(
        "protect", "protections of values alone", protection, "Apply this one with publish, to people."
    )


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
