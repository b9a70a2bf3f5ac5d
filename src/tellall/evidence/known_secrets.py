"""Known secrets: secrets that an attacker knows already, as equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.evidence.bounds import Bounds
from tellall.evidence.evidence import Evidence, ReleaseEquations, Rows
from tellall.linalg.operators.sparse import Sparse
from tellall.protections.protection import Exact
from tellall.statistics.numbers import NumberRange

__all__ = ["size_known_numbers", "tell"]

_KNOWN_TO = 1e-7  # a number, of its own size and that of the others
_FINER = 0.1  # than the most exact published value
_LEAST = 1e-12


def tell(secrets: Mapping[int, Any], n: int, levels: int) -> ReleaseEquations:
    """The equations of secrets that the attacker knows already.

    Notes
    -----
    Bits and categories have one row for each value v: Σ s_iv over the people known to have v equals their
    number (zero for bits and v = 0). That fixes all of them and keeps people alike in one group. Real numbers
    have one row per person; see `size_known_numbers` for its spread.
    """
    people = np.array([_row(row, n) for row in secrets], dtype=np.intp)
    values = np.array([_value(value, levels) for value in secrets.values()])
    width = n * (levels if levels > 2 else 1)
    alike = np.zeros(n, dtype=np.intp)
    if not levels:
        matrix = np.zeros((people.size, width))
        matrix[np.arange(people.size), people] = 1.0
        target = values.astype(np.float64)
        alike[people] = 1 + np.arange(people.size)
    else:
        matrix = np.zeros((levels, width))
        block = values if levels > 2 else np.zeros_like(values)
        matrix[values, block * n + people] = 1.0
        held = np.bincount(values, minlength=levels).astype(np.float64)
        target = held if levels > 2 else np.array([0.0, held[1]])
        alike[people] = 1 + values
    numbers = None
    if not levels:
        low = np.full(n, -np.inf)
        high = np.full(n, np.inf)
        low[people] = high[people] = target
        numbers = NumberRange(low, high)
    bounds = Bounds(target.copy(), target.copy())
    rows = (np.arange(target.size), Rows.exact(target))
    return ReleaseEquations(Sparse(matrix), *rows, Exact(), alike, bounds, numbers=numbers)


def size_known_numbers(evidence: Evidence) -> Evidence:
    """The evidence with real numbers that are known, its last part, almost without spread in their unit.

    Notes
    -----
    The unit shows in the published values z = A s: √(Σ z²/Σ a²) is about the root mean square of the numbers,
    or larger. The known numbers alone do not show it: all of them may be zero. Nor need they be much more
    exact than the published values: far more exact equations would hide how much people differ.
    """
    *published, told = evidence.parts
    rows = Rows.concat([part.shown.rows for part in published])
    operators = [part.shown.operator for part in published]
    squares = np.concatenate([each.squared() @ np.ones(each.shape[1]) for each in operators])
    said = squares > 0
    unit = float(np.sqrt((rows.target[said] ** 2).sum() / squares[said].sum())) if said.any() else 0.0
    finest = float((rows.spread[said] / np.sqrt(squares[said])).min(initial=np.inf))
    tiny = _KNOWN_TO * (np.abs(told.rows.target) + unit)
    if np.isfinite(finest):
        tiny = np.maximum(tiny, _FINER * finest)
    tiny = np.where(tiny > 0, tiny, _LEAST)  # if all is zero, any number is
    return replace(
        evidence, parts=(*published, replace(told, rows=replace(told.rows, spread=tiny, rest=tiny)))
    )


def _row(row: Any, n: int) -> int:
    if not is_whole(row) or not 0 <= row < n:
        raise invalid("known_secrets", f"rows from 0 to {n - 1}", row)
    return int(row)


def _value(value: Any, levels: int) -> float | int:
    if levels:
        if not is_whole(value) or not 0 <= value < levels:
            raise invalid("known_secrets", f"values from 0 to {levels - 1}, by row", value)
        return int(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise invalid("known_secrets", "finite numbers, by row", value)
    return number
