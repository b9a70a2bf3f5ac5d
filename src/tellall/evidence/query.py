"""Query: a statistic and the people whose it is, before anything is done to its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellall.evidence.usable import unknown_condition
from tellall.evidence.view import fit_columns, restrict
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.dataset import Public
from tellall.people.shape import Shape
from tellall.release import catalogue
from tellall.release.release import Release
from tellall.statistics.conditions import Subset
from tellall.statistics.statistic import Equations, Statistic, columns_of, labels_among
from tellall.statistics.where import describe

__all__ = ["Asked", "Query", "as_query", "query_of", "seen_by"]


@dataclass(frozen=True)
class Query:
    """A statistic, the people whose it is, and the columns it was computed from.

    Attributes
    ----------
    statistic
        What is computed; its indices of people count among those people.
    where
        Whose it is: a condition on public columns, or a mask over everybody. None: everybody's.
    shape
        The columns that it was computed from, if a view of the people has other ones. None: those of the
        people.

    Notes
    -----
    Its equations have a column for everybody, zero for people whom it is not about, so that releases about
    different people can be solved together.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> from tellall.statistics.conditions import parse_condition
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_frame({"sex": ["f", "m", "f"], "ill": [0, 1, 1]}, secret="ill")
    >>> women = Query(Marginals(1), parse_condition("sex = 'f'"))
    >>> women.people(people.public).tolist()
    [0, 2]
    >>> women.equations(people.public, np.array([1.0, 1.0])).operator.to_dense().tolist()
    [[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
    """

    statistic: Statistic
    where: Subset | None = None
    shape: Shape | None = None

    def people(self, public: Public) -> IntArray:
        """The people whom it is about, by index."""
        if self.where is None:
            return np.arange(public.n)
        return np.flatnonzero(self.where.members(public, "where"))

    def part(self, public: Public) -> Public:
        """The public columns of these people, as it was computed from them."""
        some = public if self.where is None else public.take(self.people(public))
        return some if self.shape is None else fit_columns(self.shape, some)[0]

    def size(self, public: Public) -> int:
        """How many values it has."""
        return self.statistic.size(self.part(public))

    def size_for(self, public: Public, levels: int) -> int:
        """How many values it publishes about a secret with this number of values."""
        return self.statistic.size_for(self.part(public), levels)

    def memory(self, public: Public, *, packed: bool = False) -> int:
        """The memory of its equations in bytes."""
        return self.statistic.memory(self.part(public), packed=packed)

    def equations(self, public: Public, values: Array) -> Equations:
        """What its values say about the secrets of everybody."""
        found = self.statistic.equations(self.part(public), values)
        if self.where is None:
            return found
        people = self.people(public)
        width = found.operator.shape[1] // people.size * public.n
        columns = columns_of(people, public.n, width)
        operator = BlockDiagonal([found.operator], [columns], width)
        return replace(found, operator=operator, alike=labels_among(found.alike, people, public.n))

    def comparable(self) -> Query:
        """The same in a form where a person's column does not depend on the other people."""
        return replace(self, statistic=self.statistic.comparable())

    def take(self, people: IntArray, public: Public) -> Query:
        """The same of some of the people."""
        where = self.where
        chosen = people
        if where is not None:
            inside = where.members(public, "where")
            place = np.cumsum(inside) - 1
            chosen = place[people[inside[people]]]
        statistic = self.statistic.take(chosen, self.part(public))
        shape = None if self.shape is None else replace(self.shape, people=chosen.size)
        return Query(statistic, where and where.take(people), shape)

    def columns_used(self, public: Public) -> set[str]:
        """The public columns that occur in it or say whom it is about."""
        columns = public if self.shape is None else fit_columns(self.shape, public)[0]
        about = frozenset[str]() if self.where is None else self.where.columns
        return (self.statistic.columns_used(columns) | about) & set(public.names)

    def describe(self) -> str:
        """What it is and whose, in a few words."""
        return describe(self.statistic, self.where)

    def identity(self) -> list[Any]:
        """What tells it from any other; plain data for a hash. An error for classes from outside tellall."""
        return [catalogue.to_plain(self.statistic), self.where and self.where.key]


Asked = Statistic | Query  # a statistic alone is everybody's


def as_query(asked: Asked) -> Query:
    """The query of a statistic, which is everybody's if nothing else is said."""
    return asked if isinstance(asked, Query) else Query(asked)


def query_of(release: Release) -> Query:
    """What a release says before anything was done to it, and of whom."""
    return Query(release.statistic, release.where)


def seen_by(release: Release, view: Public) -> Query | None:
    """What a view of the people lets one use of a release; None if nothing."""
    if unknown_condition(release, view):
        return None
    shape = release.shape
    if shape is None or (shape.names, shape.levels, shape.cuts) == _columns_of(view):
        return query_of(release)
    usable = restrict(release, view).statistic
    return None if usable is None else Query(usable, release.where, shape)


def _columns_of(view: Public) -> tuple[Any, ...]:
    shape = view.shape
    return shape.names, shape.levels, shape.cuts
