"""Protections of a fraction: of the people, or of the values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tellall.data import Public
from tellall.noise.base import above_zero, share
from tellall.protections.base import Published, check_count, check_counts

__all__ = ["OfAFraction"]


@dataclass(frozen=True)
class OfAFraction:
    """What happens to a fraction, of counts of so many people; each kind says what.

    Attributes
    ----------
    people, unit
        Filled in when it is published: how many people, and what one person is worth in a published value.
    """

    filled: ClassVar[tuple[str, ...]] = ("people", "unit")
    none_allowed: ClassVar[bool] = True  # whether the fraction may be zero

    fraction: float
    people: int | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", share("fraction", self.fraction, zero=self.none_allowed))
        check_count("people", self.people)
        above_zero("unit", self.unit)

    def prepare(self, statistic: Published, public: Public) -> Self:
        """The same, knowing how many people there are."""
        check_counts(self, statistic)
        return replace(self, people=public.n, unit=1 / statistic.units(public))
