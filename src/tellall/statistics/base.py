"""What every statistic can do: be computed from people, and be written as equations about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tellall.data import Dataset, Public
from tellall.errors import invalid
from tellall.linops import Array, IntArray, LinearOperator

__all__ = ["SCALES", "Equations", "Statistic", "check_scale"]

SCALES = ("counts", "fractions")


@dataclass(frozen=True, eq=False)
class Equations:
    """value = constant + operator @ secret, on the count scale, for every published value.

    ``alike`` labels people whose columns of the operator are equal.
    """

    operator: LinearOperator
    constant: Array
    alike: IntArray


class Statistic(ABC):
    """A kind of published statistic.

    Notes
    -----
    Law, checked by :func:`tellall.testing.check_statistic`: on an exact release
    ``equations(public).operator @ secret == values(dataset) − equations(public).constant`` for every row,
    up to the statistic's scale.
    """

    scale: str

    @abstractmethod
    def values(self, dataset: Dataset) -> Array:
        """The statistic computed, as a flat array in the order of its equations."""

    @abstractmethod
    def equations(self, public: Public) -> Equations:
        """What each value says about the secret, on the count scale."""

    @abstractmethod
    def size(self, public: Public) -> int:
        """How many values are published."""

    @abstractmethod
    def describe(self) -> str:
        """The statistic in a few words, for reports."""

    def units(self, public: Public) -> float:
        """What a published value is multiplied with to become a count."""
        return float(public.n) if self.scale == "fractions" else 1.0


def check_scale(scale: str) -> str:
    """The scale, if it is one."""
    if scale not in SCALES:
        raise invalid("scale", "'counts' or 'fractions'", scale)
    return scale
