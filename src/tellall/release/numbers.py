"""What published values say of real numbers beyond linear equations: limits, and the mean and spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array, IntArray

__all__ = ["NumberFacts", "NumberRange", "ToldSpread", "narrowest"]


@dataclass(frozen=True, eq=False)
class ToldSpread:
    """How much people differ, as a published fit tells it.

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
    """What a statistic's values say of people's numbers beside its equations."""

    @abstractmethod
    def limits(self, error: float) -> tuple[Array, Array]:
        """The least and the largest number of each person if no published value is off by more than this."""

    def moments(self, std: float) -> ToldSpread | None:
        """How much people differ, where values with errors of this spread tell it well."""
        return None

    def of_bits(self) -> Array | None:
        """The target of each row that is an equation for exact values about bits alone; NaN for others."""
        return None


@dataclass(frozen=True, eq=False)
class NumberRange:
    """What is certain of each person's number, and what is known of all of them.

    Attributes
    ----------
    low, high
        The least and the largest number of each person; infinite where nothing limits it.
    moments
        How much people differ; None where it is not told.
    """

    low: Array
    high: Array
    moments: ToldSpread | None = None

    @classmethod
    def of(cls, facts: NumberFacts, error: float, std: float) -> NumberRange:
        """What the facts say of values with these errors; an unbounded error limits nobody."""
        low, high = facts.limits(error if np.isfinite(error) else 0.0)
        if not np.isfinite(error):
            low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
        return cls(low, high, facts.moments(std))

    def among(self, people: IntArray, n: int) -> NumberRange:
        """The same where these are some of n people, by index."""
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        low[people], high[people] = self.low, self.high
        return NumberRange(low, high, self.moments if people.size == n else None)


def narrowest(ranges: Iterable[NumberRange | None], n: int) -> NumberRange:
    """What several say together about n people."""
    low, high, moments = np.full(n, -np.inf), np.full(n, np.inf), None
    for each in ranges:
        if each is not None:
            low, high = np.maximum(low, each.low), np.minimum(high, each.high)
            moments = moments or each.moments
    return NumberRange(low, high, moments)
