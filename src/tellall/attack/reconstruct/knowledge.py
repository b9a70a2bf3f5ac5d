"""What an attacker knows beforehand: the rate of the secret, or between what numbers it lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.core.errors import invalid

__all__ = [
    "check_bounds",
    "check_prior",
]


def check_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """The least and the largest value of a real secret, as numbers."""
    if bounds is None:
        return None
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        raise invalid("bounds", "two numbers, the least and the largest value", bounds) from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise invalid("bounds", "two finite numbers, the first below the second", bounds)
    return low, high


def check_prior(prior: float | Sequence[float], values: int) -> Array:
    """The rate of a bit, or of each value of a category."""
    rule = (
        "a rate strictly between 0 and 1"
        if values == 1
        else f"{values} rates between 0 and 1, summing to one"
    )
    try:
        rates = np.atleast_1d(np.asarray(prior, dtype=np.float64))
    except (TypeError, ValueError):
        raise invalid("prior", rule, prior) from None
    fits = rates.shape == (values,) and bool(((rates > 0) & (rates < 1)).all())
    if isinstance(prior, bool) or not fits or (values > 1 and abs(rates.sum() - 1) > 1e-6):
        raise invalid("prior", rule, prior)
    return rates
