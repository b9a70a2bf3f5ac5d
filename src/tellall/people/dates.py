"""Dates as numbers: days since 1970-01-01, and what such a number is called."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["cut_before", "date_cut_labels", "date_text", "day_number", "day_of_cut", "roundest_date"]

Array = npt.NDArray[np.floating[Any]]

_DAY = 86400  # seconds
_YEARS, _MONTHS = (50, 20, 10, 5, 2, 1), (6, 3, 1)  # the steps of round dates, the roundest first
_HOUR = 1 / 24


def date_text(days: float) -> str:
    """The date of a number of days since 1970-01-01, with the time if it is not midnight.

    Examples
    --------
    >>> date_text(-8500.0), date_text(0.5), date_text(cut_before(-8500.0))
    ('1946-09-24', '1970-01-01 12:00:00', '1946-09-24')
    """
    text = str(np.datetime64(round(float(days) * _DAY), "s"))
    return text.removesuffix("T00:00:00").replace("T", " ")


def day_number(value: object) -> float | None:
    """The days since 1970-01-01 of a date, or of a text such as 1950-01-31; None if it is neither.

    Examples
    --------
    >>> day_number("1946-09-24"), day_number(date(1970, 1, 2)), day_number("north"), day_number(3)
    (-8500.0, 1.0, None, None)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, date):
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float(np.datetime64(value, "s").astype(np.int64)) / _DAY


def cut_before(day: float) -> float:
    """The cut point that has all that is before a moment below it, and the moment itself above."""
    return float(np.nextafter(day, -np.inf))


def day_of_cut(cut: object) -> Any:
    """A cut point given as a number of days, before the second that it is in; anything else as it is."""
    return cut_before(round(cut * _DAY) / _DAY) if isinstance(cut, int | float) else cut


def date_cut_labels(cuts: Iterable[float]) -> tuple[str, ...]:
    """The text of the categories of dates between cut points.

    Examples
    --------
    >>> date_cut_labels([cut_before(day_number(text)) for text in ("1950-01-01", "1960-01-01")])
    ('before 1950-01-01', '1950-01-01 to before 1960-01-01', 'from 1960-01-01')
    """
    edges = [date_text(cut) for cut in cuts]
    if not edges:
        return ("all",)
    between = (f"{low} to before {high}" for low, high in pairwise(edges))
    return (f"before {edges[0]}", *between, f"from {edges[-1]}")


def roundest_date(near: Array, ideal: float) -> float | None:
    """The cut before the roundest date between the first and the last of these moments.

    A date is round if it begins a year (the best are multiples of 50, 20, 10, 5 and 2), then a half year, a
    quarter, a month, then any day, hour or second. None if there is none.
    """
    low, high = float(near[0]), float(near[-1])
    for moments in _rounder(low, high):
        inside = moments[(moments > low) & (moments <= high)]
        if inside.size:
            return cut_before(float(inside[np.argmin(np.abs(inside - ideal))]))
    return None


def _rounder(low: float, high: float) -> Iterable[Array]:
    """Yields dates from somewhat before `low` to somewhat after `high`, the round ones first."""
    first, last = (np.datetime64(round(end * _DAY), "s") for end in (low, high))
    for unit, steps, offset in (("Y", _YEARS, 1970), ("M", _MONTHS, 0)):
        begin, end = (int(moment.astype(f"datetime64[{unit}]").astype(np.int64)) for moment in (first, last))
        for step in steps:
            start = -(-(begin + offset) // step) * step - offset
            units = np.arange(start, end + 2, step).astype(f"datetime64[{unit}]")
            yield units.astype("datetime64[s]").astype(np.int64) / _DAY
    yield np.arange(np.floor(low), np.ceil(high) + 1)
    yield np.arange(np.floor(low / _HOUR), np.ceil(high / _HOUR) + 1) / 24
    yield np.arange(round(low * _DAY), round(high * _DAY) + 1) / _DAY
