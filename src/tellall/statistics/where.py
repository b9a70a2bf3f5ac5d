"""Where: which of the people a statistic is about, as a condition in words or a mask."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.dataset import Public
from tellall.statistics.conditions import Subset, as_subset
from tellall.statistics.statistic import Statistic

__all__ = ["Where", "as_where", "describe", "people_where", "whom_in_words"]

Where = str | npt.ArrayLike | Subset


def as_where(where: Where) -> Subset:
    """The subset given by a condition in words or by a mask."""
    if not isinstance(where, str | Subset) and np.ndim(where) == 0:
        raise invalid("where", "a condition such as \"sex = 'f'\", or a mask of one bit per person", where)
    return as_subset(where, "where")


def people_where(where: Where | None, public: Public) -> IntArray:
    """The people whom a condition or a mask selects, by index; an error if it selects nobody.

    None selects everybody.
    """
    if where is None:
        return np.arange(public.n)
    chosen = np.flatnonzero(as_where(where).members(public, "where"))
    if not chosen.size:
        raise invalid("where", "true of one person or more", "true of nobody")
    return chosen


def whom_in_words(where: Subset) -> str:
    """Some of the people in words; a mask is not spelled out."""
    return "of chosen people" if where.words is None else f"where {where.words}"


def describe(statistic: Statistic, where: Subset | None) -> str:
    """A statistic of some of the people in a few words."""
    words = statistic.describe()
    return words if where is None else f"{words}, {whom_in_words(where)}"
