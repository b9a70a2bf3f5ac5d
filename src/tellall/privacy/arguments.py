"""The rules that arguments of the privacy curves obey, checked once and in the same words."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.errors import invalid

__all__ = [
    "Direction",
    "Floats",
    "as_counts",
    "as_direction",
    "as_epsilons",
    "as_fractions",
    "as_numbers",
    "as_one",
    "as_probability",
    "checked_epsilon",
    "one_count",
]

_MOST_ROWS = 10**9

Floats = NDArray[np.float64]
Direction = Literal["larger", "forward", "backward"]


def as_direction(direction: str) -> Direction:
    """The direction of a privacy curve: data to neighbour, neighbour to data, or the larger of the two."""
    for known in get_args(Direction):
        if direction == known:
            return known  # type: ignore[no-any-return]
    raise invalid("direction", "'larger', 'forward' (data to neighbour) or 'backward'", direction)


def as_numbers(
    name: str, value: ArrayLike, *, rule: str = "finite numbers", least: float = -np.inf, above: bool = False
) -> Floats:
    """The argument as float64, none of it NaN or below `least` (or not above it, with ``above=True``)."""
    try:
        if np.iscomplexobj(value):  # its imaginary part would be lost
            raise TypeError
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, rule, value) from None
    wrong = np.isnan(numbers) | ((numbers <= least) if above else (numbers < least))
    if wrong.any():
        raise invalid(name, rule, float(numbers[wrong][0]))
    return numbers


def as_epsilons(value: ArrayLike) -> Floats:
    """The ε as float64, zero or more and finite."""
    numbers = as_numbers("epsilon", value, rule="zero or more", least=0.0)
    if np.isinf(numbers).any():
        raise invalid("epsilon", "a finite number, zero or more", float("inf"))
    return numbers


def as_fractions(name: str, value: ArrayLike) -> Floats:
    """The argument as float64 between 0 and 1, both included."""
    numbers = as_numbers(name, value, rule="between 0 and 1", least=0.0)
    if (numbers > 1.0).any():
        raise invalid(name, "between 0 and 1", float(numbers[numbers > 1.0][0]))
    return numbers


def as_counts(name: str, value: ArrayLike, *, least: int = 1) -> Floats:
    """The argument as whole numbers (held as float64), at least `least`."""
    rule = f"a whole number, {least} or more"
    numbers = as_numbers(name, value, rule=rule, least=float(least))
    wrong = (numbers != np.floor(numbers)) | np.isinf(numbers)
    if wrong.any():
        raise invalid(name, rule, float(numbers[wrong][0]))
    return numbers


def as_one(name: str, numbers: Floats) -> float:
    """The argument, checked already, if it is one number and no array."""
    if numbers.ndim:
        raise invalid(name, "one number", f"an array of shape {numbers.shape}")
    return float(numbers)


def one_count(name: str, value: ArrayLike) -> int:
    """One whole number of 1 or more, that an array can have so many rows."""
    count = as_one(name, as_counts(name, value))
    if count > _MOST_ROWS:
        raise invalid(name, f"at most {_MOST_ROWS:,}", value)
    return int(count)


def as_probability(name: str, value: float) -> float:
    """One number strictly between 0 and 1."""
    rule = "strictly between 0 and 1"
    number = as_one(name, as_numbers(name, value, rule=rule))
    if not 0.0 < number < 1.0:
        raise invalid(name, rule, value)
    return number


def checked_epsilon(value: float, *, positive: bool = False) -> float:
    """One ε: zero or more (above zero with ``positive=True``)."""
    number = as_one("epsilon", as_epsilons(value))
    if positive and number == 0.0:
        raise invalid("epsilon", "above zero", value)
    return number
