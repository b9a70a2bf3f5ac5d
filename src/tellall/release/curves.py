"""Survival curves that were printed: a line for each time, as lifelines, R, Stata and ACRO export them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.people.labels import label_text
from tellall.release.grids import as_number
from tellall.release.printed import TableContext
from tellall.release.protections.protection import Protection
from tellall.release.release import Release
from tellall.release.statistics.survival import SurvivalCurve

__all__ = ["curve_of_lines", "survival_columns"]

_TIMES = ("time", "timeline", "t", "_t")
_CURVES = ("km_estimate", "surv prob", "survival", "surv", "survivor", "survivor function", "s(t)", "_s")


def curve_of_lines(
    lines: Sequence[Sequence[Any]],
    people: TableContext,
    time: str,
    protect: Sequence[Protection],
    *,
    value: str = "",
) -> Release:
    """The release of a survival curve over a public column; ``value`` is its header where that is unusual."""
    filled = [line for line in lines if any(map(label_text, line))]
    found = survival_columns(filled, value)
    if found is None:
        raise invalid("table", "a column of times and one of a survival curve", "others")
    rows = [[as_number(label_text(cell)) for cell in (line[j] for j in found)] for line in filled[1:]]
    if not rows or any(None in row or row[0] != row[0] for row in rows):
        raise invalid("table", "lines of a time and a number, or a mark for a hidden one", "others")
    times, values = np.array(sorted(rows), dtype=np.float64).T
    statistic = SurvivalCurve(time, grid=times.tolist())
    return Release.from_values(statistic, values, public=people.public, protect=protect, levels=2)


def survival_columns(lines: Sequence[Sequence[Any]], value: str = "") -> tuple[int, int] | None:
    """Which columns hold the times and the survival curve; None where it is no curve.

    Examples
    --------
    >>> survival_columns([["timeline", "KM_estimate"], ["0", "1.0"]])
    (0, 1)
    """
    heads = [label_text(cell).lower() for cell in lines[0]] if lines else []
    times = [j for j, head in enumerate(heads) if head in _TIMES]
    curves = [j for j, head in enumerate(heads) if head in ((value.lower(),) if value else _CURVES)]
    if not times or not curves or any(len(line) <= max(times[0], curves[0]) for line in lines):
        return None
    return times[0], curves[0]
