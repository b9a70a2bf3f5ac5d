"""What a curator does to published values: noise, rounding, suppression, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from tellall.errors import invalid
from tellall.noise import Array, Exact, Noise, Rng, Sum, as_rng

__all__ = ["Protection", "Suppression", "apply", "as_protections", "noise_of"]


@runtime_checkable
class Protection(Protocol):
    """Anything that turns values into what is published."""

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        """The values as published, missing where nothing is."""
        ...


@dataclass(frozen=True)
class Suppression:
    """Values under ``below`` are not published, zeros included.

    Notes
    -----
    The attacker knows the public counts, so one shown cell of a yes/no pair gives the other: a pair is lost
    only where both are under the limit.
    """

    below: float

    def __post_init__(self) -> None:
        value = self.below
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not np.isfinite(value)
        ):
            raise invalid("below", "a finite number, zero or more", value)
        if value < 0:
            raise invalid("below", "a finite number, zero or more", value)

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        return np.where(values < self.below, np.nan, values)


def as_protections(protect: Protection | Sequence[Protection] | None) -> tuple[Protection, ...]:
    """The protections in the order in which they apply."""
    if protect is None:
        return ()
    if not isinstance(protect, Protection | Iterable):
        raise invalid("protect", "a protection such as Gaussian(2.0), or a list of them", protect)
    chosen = (protect,) if isinstance(protect, Protection) else tuple(protect)
    for protection in chosen:
        if not isinstance(protection, Protection) or isinstance(protection, type):
            raise invalid("protect", "a protection such as Gaussian(2.0), or a list of them", protection)
    return chosen


def apply(protections: Sequence[Protection], values: Array, rng: Rng = None) -> Array:
    """The values after each protection in turn."""
    generator = as_rng(rng)
    for protection in protections:
        values = protection.perturb(values, generator)
    return values


def noise_of(protections: Sequence[Protection]) -> Noise:
    """The law of the error that the protections leave in a published value."""
    laws = tuple(protection for protection in protections if isinstance(protection, Noise))
    if not laws:
        return Exact()
    return laws[0] if len(laws) == 1 else Sum(laws)
