"""Conditions on people in a store, translated to codes by which a store can count."""

from __future__ import annotations

from math import prod

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.codes import Column
from tellall.people.counting.coding import Coding, StoredSubset
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Public
from tellall.statistics.conditions import Condition, Subset, column_of

__all__ = ["people_of_store"]

_MOST_COMBINATIONS = 10_000_000  # of values that a condition distinguishes


def people_of_store(subset: Subset, people: Stored) -> Stored:
    """The people of a store who satisfy a condition; a mask is refused, since a store has no order.

    Notes
    -----
    Each column in the condition is coded finely enough for its comparisons: numbers are cut at the values
    they are compared with and just below, text is coded by its values. The condition is then either true or
    false for each combination of codes.
    """
    if not isinstance(subset, Condition):
        advice = "People in a store have no order. Load them to use a mask."
        raise invalid("where", 'a condition such as "age < 40", for people in a store', "a mask", advice)
    names = sorted(subset.columns)
    at = [column_of(name, people.public) for name in names]
    codings = tuple(
        _finer(people.codings[place], subset.values_of(name)) for place, name in zip(at, names, strict=True)
    )
    shape = tuple(coding.column.levels for coding in codings)
    if prod(shape) > _MOST_COMBINATIONS:
        rule = f"about columns with at most {_MOST_COMBINATIONS:,} combinations of values"
        raise invalid("where", rule, f"{prod(shape):,}", "Use fewer columns, or load the people.")
    codes = np.indices(shape).reshape(len(shape), -1)
    numbers = tuple(_number(coding, row) for coding, row in zip(codings, codes, strict=True))
    every = Public(tuple(coding.column for coding in codings), codes, numbers)
    found = people.only(StoredSubset(codings, subset.mask(every).reshape(shape)))
    if not found.n:
        raise invalid("where", "true of one person or more", "true of nobody")
    return found


def _finer(coding: Coding, values: frozenset[float | str]) -> Coding:
    """A coding of a column that tells these numbers from all others; the coding of text is unchanged."""
    if coding.above is None:
        return coding
    compared = np.array([value for value in values if not isinstance(value, str)], dtype=np.float64)
    ends = np.unique(np.concatenate([compared, np.nextafter(compared, -np.inf)]))
    points = tuple(float(end) for end in ends[np.isfinite(ends)])
    gaps = coding.column.gaps
    labels = tuple(map(str, range(len(points) + 1 + gaps)))
    return Coding(Column(coding.name, labels, gaps=gaps), above=points)


def _number(coding: Coding, codes: IntArray) -> Array | None:
    """A number that people with each code can have, NaN for missing ones; None for text."""
    if coding.above is None:
        return None
    missing = [np.nan] if coding.column.gaps else []
    return np.asarray(np.array([*coding.above, np.inf, *missing])[codes])
