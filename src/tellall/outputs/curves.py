"""Survival curves made elsewhere: fitted by lifelines (not imported), or printed with a line per time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.grids import as_number
from tellall.outputs.printed import TableContext
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.labels import label_text
from tellall.protections.protection import Protection, as_protections, noise_of
from tellall.release.release import Release
from tellall.statistics.survival import SurvivalCurve
from tellall.statistics.where import Where, people_where

__all__ = ["curve_of_lines", "from_curve", "survival_columns"]

_NEAR = 1e-9
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
    """The release of a survival curve over a public column; ``value`` is its header if that is unusual."""
    return _release(_points(lines, value), people.public, time, protect)


def _points(lines: Sequence[Sequence[Any]], value: str = "") -> Array:
    """The times of a curve and its values, in order of time."""
    filled = [line for line in lines if any(map(label_text, line))]
    found = survival_columns(filled, value)
    if found is None:
        raise invalid("table", "a column of times and one of a survival curve", "others")
    rows = [[as_number(label_text(cell)) for cell in (line[j] for j in found)] for line in filled[1:]]
    if not rows or any(None in row or row[0] != row[0] for row in rows):
        raise invalid("table", "lines of a time and a number, or a mark for a hidden one", "others")
    return np.array(sorted(rows), dtype=np.float64)


def _release(
    points: Array,
    public: Public,
    time: str,
    protect: Protection | Sequence[Protection] | None,
    where: Where | None = None,
) -> Release:
    """The release of a curve of these points: times and values."""
    times, values = points.T
    error = noise_of(as_protections(protect))
    room = _NEAR + (min(error.bound, 1.0) if error.known else 1.0)  # errors may lead out of the range
    if np.nanmin(values, initial=0.0) < -room or np.nanmax(values, initial=0.0) > 1 + room:
        raise invalid("table", "a survival curve from 0 to 1", "other values", "Divide percentages by 100.")
    statistic = SurvivalCurve(time, grid=times.tolist())
    return Release.from_values(statistic, values, public=public, protect=protect, levels=2, where=where)


def from_curve(
    curve: Any,
    public: Public | Dataset | npt.ArrayLike,
    time: str,
    protect: Protection | Sequence[Protection] | None = None,
    *,
    where: Where | None = None,
) -> Release:
    """The release of a survival curve that lifelines fitted, or of a frame of times and survival.

    Parameters
    ----------
    curve
        A fitted ``KaplanMeierFitter`` (its ``survival_function_`` and ``event_table`` are read), or a frame
        whose index or column of times has the name that lifelines, R or Stata give it.
    public
        The people; the secret is whether the event was seen.
    time
        The public column of follow-up times.
    protect
        What was done to the curve, as for `publish`; by default nothing.
    where
        Which of the people it is about.

    Notes
    -----
    Columns are found by their names, never by position. A fit with weights or late entry is refused: its
    curve is not the product that `SurvivalCurve` takes apart.
    """
    view = as_public(public)
    frame = getattr(curve, "survival_function_", curve)
    if not hasattr(frame, "columns") or not hasattr(frame, "index"):
        rule = "a fitted KaplanMeierFitter, or a frame of times and survival"
        raise invalid("curve", rule, type(curve).__name__, "Fit it first.")
    if frame is not curve:
        counted = view.n if where is None else people_where(where, view).size
        _check_fitter(curve, counted)
        if len(frame.columns) != 1:
            raise invalid("curve", "a fit with one curve", f"{len(frame.columns)} columns")
        lines = [["time", "survival"], *zip(frame.index, frame.iloc[:, 0], strict=True)]
    else:
        indexed = str(frame.index.name).lower() in _TIMES
        whole = frame.reset_index() if indexed else frame
        lines = [list(whole.columns), *whole.itertuples(index=False, name=None)]
    return _release(_points(lines), view, time, protect, where)


def _check_fitter(fitter: Any, people: int) -> None:
    """Raises an error unless this is a plain lifelines fit of these people."""
    weights = getattr(fitter, "weights", None)
    if weights is not None and np.any(np.asarray(weights, dtype=np.float64) != 1):
        raise invalid("curve", "a fit without weights", "one with weights")
    table = getattr(fitter, "event_table", None)
    if table is None:
        raise invalid("curve", "a fit of Kaplan and Meier, with its event_table", type(fitter).__name__)
    entered = np.asarray(table["entrance"], dtype=np.float64)
    if np.any(entered[1:] != 0):
        raise invalid("curve", "a fit of people who are seen from the start", "one with late entry")
    if int(entered[0]) != people:
        advice = "Say with where= which of them it is about."
        raise invalid("public", "the people of the curve", f"{people:,}, not {int(entered[0]):,}", advice)


def survival_columns(lines: Sequence[Sequence[Any]], value: str = "") -> tuple[int, int] | None:
    """Which columns hold the times and the survival curve; None if there is no curve.

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
