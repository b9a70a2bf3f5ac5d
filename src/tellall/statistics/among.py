"""Among: any statistic, computed for only some of the people."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import Array, Device, IntArray
from tellall.people.dataset import Dataset, Public
from tellall.statistics.conditions import Condition, Mask, Subset, as_subset, members
from tellall.statistics.statistic import Equations, Statistic, columns_of, labels_among

__all__ = ["Among", "Inside", "Where", "alone", "as_among", "as_where", "people_where", "whom_in_words"]

Where = str | npt.ArrayLike | Subset


class Inside(Statistic):
    """A statistic that wraps another one, which is computed from the `part` of the public columns."""

    statistic: Statistic

    @abstractmethod
    def part(self, public: Public) -> Public:
        """The public columns as the inner statistic takes them."""

    @property
    def scale(self) -> str:  # type: ignore[override]
        """The scale of the inner statistic."""
        return self.statistic.scale

    @property
    def counts_people(self) -> bool:  # type: ignore[override]
        """Whether its values are numbers of people."""
        return self.statistic.counts_people

    @property
    def no_population(self) -> str:
        return self.statistic.no_population

    @property
    def published_too(self) -> str:
        return self.statistic.published_too

    def size(self, public: Public) -> int:
        return self.statistic.size(self.part(public))

    def serves(self, levels: int) -> str:
        return self.statistic.serves(levels)

    def size_for(self, public: Public, levels: int) -> int:
        return self.statistic.size_for(self.part(public), levels)

    def approximate(self, public: Public, std: float) -> str:
        return self.statistic.approximate(self.part(public), std)


@dataclass(frozen=True)
class Among(Inside):
    """A statistic of the people in a subset, as a statistic of everybody.

    Attributes
    ----------
    statistic
        What is computed; its indices of people count within the subset.
    where
        The subset: a condition on public columns, or a mask over everybody.

    Notes
    -----
    Its equations have a column for everybody, zero for people outside the subset, so that releases about
    different people can be solved together. When one person is replaced, at most one leaves the subset and
    one enters it, so the sensitivity is that of the statistic itself.

    Examples
    --------
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_frame({"sex": ["f", "m", "f"], "ill": [0, 1, 1]}, secret="ill")
    >>> as_among(Marginals(1), "sex = 'f'", people.public).values(people).tolist()
    [1.0, 1.0]
    """

    statistic: Statistic
    where: Subset

    @property
    def restricted_to(self) -> Subset:
        return self.where

    @property
    def of_all(self) -> Statistic:
        return self.statistic

    def people(self, public: Public) -> IntArray:
        """Who is in the subset, by index."""
        return np.flatnonzero(members(self.where, public, "where"))

    def part(self, public: Public) -> Public:
        """The public columns of the people in the subset."""
        return public.take(self.people(public))

    def values(self, dataset: Dataset) -> Array:
        return self.statistic.values(dataset.take(self.people(dataset.public)))

    def values_on(self, device: Device, dataset: Dataset) -> Array:
        return self.statistic.values_on(device, dataset.take(self.people(dataset.public)))

    def equations(self, public: Public, values: Array) -> Equations:
        people = self.people(public)
        found = self.statistic.equations(public.take(people), values)
        width = found.operator.shape[1] // people.size * public.n
        columns = columns_of(people, public.n, width)
        operator = BlockDiagonal([found.operator], [columns], width)
        return replace(found, operator=operator, alike=labels_among(found.alike, people, public.n))

    def memory(self, public: Public, *, packed: bool = False) -> int:
        return self.statistic.memory(self.part(public), packed=packed)

    def tables(self, public: Public) -> Sequence[tuple[int, ...]]:
        return self.statistic.tables(public)

    def sensitivity(self, public: Public) -> tuple[float, float] | None:
        return self.statistic.sensitivity(self.part(public))

    def units(self, public: Public) -> float:
        return self.statistic.units(self.part(public))

    @property
    def number_is_fixed(self) -> bool:
        return isinstance(self.where, Mask)  # a new row may satisfy a condition where the old one did not

    def describe(self) -> str:
        return f"{self.statistic.describe()}, {self.whom}"

    @property
    def words(self) -> str | None:
        """The condition in words; a mask has none."""
        return self.where.text if isinstance(self.where, Condition) else None

    @property
    def whom(self) -> str:
        """The people in words; a mask is not spelled out."""
        return whom_in_words(self.where)

    def as_plain(self) -> dict[str, Any]:
        raise invalid("statistic", "of everybody, to be saved as it is", "one of some of the people")

    def columns_used(self, public: Public) -> set[str]:
        where = self.where.columns if isinstance(self.where, Condition) else frozenset[str]()
        return self.statistic.columns_used(public) | (where & set(public.names))

    def comparable(self) -> Among:
        return replace(self, statistic=self.statistic.comparable())

    def settle(self, public: Public, *, secret: bool = True) -> Among:
        return replace(self, statistic=self.statistic.settle(self.part(public), secret=secret))

    def take(self, people: IntArray, public: Public) -> Among:
        """The same statistic of some of the people."""
        inside = members(self.where, public, "where")
        place = np.cumsum(inside) - 1
        inner = self.statistic.take(place[people[inside[people]]], self.part(public))
        where = self.where.take(people) if isinstance(self.where, Mask) else self.where
        return Among(inner, where)


def as_among(statistic: Statistic, where: Where, public: Public) -> Among:
    """The statistic of the people whom a condition in words, or a mask, selects."""
    return Among(statistic.take(people_where(where, public), public), as_where(where))


def people_where(where: Where, public: Public) -> IntArray:
    """The people whom a condition or a mask selects, by index; an error if it selects nobody."""
    chosen = np.flatnonzero(members(as_where(where), public, "where"))
    if not chosen.size:
        raise invalid("where", "true of one person or more", "true of nobody")
    return chosen


def whom_in_words(where: Subset) -> str:
    """Some of the people in words; a mask is not spelled out."""
    return f"where {where.text}" if isinstance(where, Condition) else "of chosen people"


def alone(statistic: Statistic) -> Statistic:
    """The inner statistic, without the subset."""
    return statistic.of_all


def as_where(where: Where) -> Subset:
    """The subset given by a condition in words or by a mask."""
    if not isinstance(where, str | Mask | Condition) and np.ndim(where) == 0:
        raise invalid("where", "a condition such as \"sex = 'f'\", or a mask of one bit per person", where)
    return as_subset(where, "where")
