"""What published values say about real numbers beyond linear equations: limits, mean and spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.linear_operator import Array, IntArray

__all__ = [
    "NumberFacts",
    "NumberRange",
    "NumberTable",
    "NumberTables",
    "ToldSpread",
    "narrowest",
    "power_of_two",
]


def power_of_two(size: float) -> float:
    """The power of two nearest to a size, as a unit: dividing by it changes no digit; zero for zero.

    Examples
    --------
    >>> power_of_two(1e-3) == 2**-10, power_of_two(5e9) == 2**32, power_of_two(0.0)
    (True, True, 0.0)
    """
    return float(2.0 ** np.rint(np.log2(size))) if size else 0.0


@dataclass(frozen=True, eq=False)
class NumberTable:
    """Who contributes to which cells of a table of sums or means: pairs of a cell and a person.

    ``size`` is how many cells there are, and ``words`` gives the name of each.
    """

    cell: IntArray
    person: IntArray
    size: int
    words: Callable[[int], str]


@dataclass(frozen=True, eq=False)
class NumberTables:
    """Tables of sums or means, in the order of their published values.

    Attributes
    ----------
    weights
        The weight of each person.
    factors
        What turns the sums of cells into their published numbers, given the people or weights of each.
    counts
        Whether as many counts of people follow.
    """

    tables: Sequence[NumberTable]
    weights: Array
    factors: Callable[[Array], Array]
    counts: bool = False


@dataclass(frozen=True, eq=False)
class ToldSpread:
    """How much people differ, according to a published fit.

    Attributes
    ----------
    mean, spread
        The mean and the standard deviation over people.
    rest
        The root mean square of people's distances from the fit's line.
    line
        An orthonormal basis of the columns of the fit, a row per person.
    """

    mean: float
    spread: float
    rest: float
    line: Array


class NumberFacts(ABC):
    """What a statistic's values say about people's numbers in addition to its equations."""

    @abstractmethod
    def limits(self, error: float) -> tuple[Array, Array]:
        """The least and the largest number of each person if no published value is off by more than this."""

    def moments(self, std: float) -> ToldSpread | None:
        """How much people differ; None if errors of this spread leave that unclear."""
        return None

    def of_bits(self) -> Array | None:
        """The target of each row that is an equation only if values are exact and about bits; else NaN."""
        return None


@dataclass(frozen=True, eq=False)
class NumberRange:
    """What is certain about each person's number, and what is known about all of them together.

    Attributes
    ----------
    low, high
        The least and the largest number of each person; infinite if nothing limits it.
    moments
        How much people differ; None if unknown.
    """

    low: Array
    high: Array
    moments: ToldSpread | None = None

    @classmethod
    def of(cls, facts: NumberFacts, error: float, std: float) -> NumberRange:
        """What the facts say if values have these errors; with an unbounded error there are no limits."""
        low, high = facts.limits(error if np.isfinite(error) else 0.0)
        if not np.isfinite(error):
            low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
        return cls(low, high, facts.moments(std))

    def times(self, factor: float) -> NumberRange:
        """The same about numbers that are ``factor`` times as large."""
        told = self.moments
        if told is not None:
            told = ToldSpread(factor * told.mean, factor * told.spread, factor * told.rest, told.line)
        return NumberRange(factor * self.low, factor * self.high, told)

    def among(self, people: IntArray, n: int) -> NumberRange:
        """The same for n people of whom these are some, by index."""
        low = np.full(n, -np.inf)
        high = np.full(n, np.inf)
        low[people] = self.low
        high[people] = self.high
        return NumberRange(low, high, self.moments if people.size == n else None)


def narrowest(ranges: Iterable[NumberRange | None], n: int) -> NumberRange:
    """What several ranges say together about n people."""
    low = np.full(n, -np.inf)
    high = np.full(n, np.inf)
    moments = None
    for each in ranges:
        if each is not None:
            low, high = np.maximum(low, each.low), np.minimum(high, each.high)
            moments = moments or each.moments
    return NumberRange(low, high, moments)
