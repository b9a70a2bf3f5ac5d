"""Told: secrets that an attacker knows already, as equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tellall.algebra.operators.sparse import Sparse
from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.release.equations import Facts, ReleaseEquations, Rows
from tellall.release.protections.protection import Exact

__all__ = ["tell"]

_KNOWN_TO = 1e-7  # a number, of its own size


def tell(secrets: Mapping[int, Any], n: int, levels: int) -> ReleaseEquations:
    """The equations of secrets that the attacker knows already.

    Notes
    -----
    Bits and categories have one row for each value v: Σ s_iv over the people known to have v equals their
    number (zero for bits and v = 0). That fixes all of them and keeps people alike in one group. Real numbers
    have one row per person.
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
    rows = Rows.exact(target)
    if not levels:  # a known number has almost no spread, whatever its unit
        tiny = _KNOWN_TO * (np.abs(target) + float(np.abs(target).mean())) + 1e-300
        rows = replace(rows, spread=tiny, rest=tiny)
    return ReleaseEquations(
        Sparse(matrix), np.arange(target.size), rows, Exact(), alike, Facts(target.copy(), target.copy())
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
