"""Checks of arguments: each returns the plain number, or raises the error that names the rule."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid

__all__ = [
    "above_zero",
    "are_bits",
    "at_least_zero",
    "is_number",
    "is_whole",
    "one_of",
    "share",
    "whole",
]


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of Python or NumPy; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is one real number of Python or NumPy; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def are_bits(values: npt.NDArray[np.generic]) -> bool:
    """Whether all values of an array are 0 or 1, or True or False; text and objects never are.

    Examples
    --------
    >>> are_bits(np.array([0.0, 1.0])), are_bits(np.array([0, 2])), are_bits(np.array(["0", "1"]))
    (True, False, False)
    """
    return values.dtype.kind in "biuf" and bool(((values == 0) | (values == 1)).all())


def whole(name: str, value: object, least: int = 1, most: int | None = None, *, also: str = "") -> int:
    """A whole number from `least` to `most`; ``also`` is appended to the rule that an error states.

    Examples
    --------
    >>> whole("draws", 3)
    3
    >>> whole("ways", 7, most=5, also=", the secret counted")
    Traceback (most recent call last):
    tellall.core.errors.InvalidInput: ways must be a whole number from 1 to 5, the secret counted; got 7.
    """
    if is_whole(value) and least <= value and (most is None or value <= most):
        return int(value)
    rule = f"a whole number of {least} or more" if most is None else f"a whole number from {least} to {most}"
    raise invalid(name, rule + also, value)


def at_least_zero(name: str, value: object, *, finite: bool = True) -> float:
    """A number of zero or more, infinite only with ``finite=False``."""
    number = _real(value)
    if number >= 0 and (math.isfinite(number) or not finite):
        return number
    raise invalid(name, "a finite number, zero or more" if finite else "zero or more", value)


def above_zero(name: str, value: object, *, finite: bool = True) -> float:
    """A number above zero, infinite only with ``finite=False``."""
    number = _real(value)
    if number > 0 and (math.isfinite(number) or not finite):
        return number
    raise invalid(name, "a finite number above zero" if finite else "above zero", value)


def share(name: str, value: object, *, zero: bool = True, one: bool = True) -> float:
    """A number from 0 to 1; ``zero`` and ``one`` say whether the ends are allowed."""
    number = _real(value)
    if 0 <= number <= 1 and (zero or number > 0) and (one or number < 1):
        return number
    rules = {
        (True, True): "a share from 0 to 1",
        (False, True): "a share above 0 and at most 1",
        (True, False): "a share from 0 to below 1",
        (False, False): "a share strictly between 0 and 1",
    }
    raise invalid(name, rules[zero, one], value)


def one_of(name: str, value: object, allowed: Collection[str]) -> str:
    """The value, which must be one of the allowed words.

    Examples
    --------
    >>> one_of("coding", "bits", ("bits", "signs"))
    'bits'
    """
    if isinstance(value, str) and value in allowed:
        return value
    raise invalid(name, f"one of {', '.join(allowed)}", value)


def _real(value: object) -> float:
    """The value as a float; NaN, which no rule allows, if it is not a number."""
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number too large for a float
        return math.inf if value > 0 else -math.inf
