"""Survival curves as lifelines, R and Stata print them, recognised by computing them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellall.core.amounts import count_of
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.curves import survival_columns
from tellall.outputs.found import FoundTable, Source
from tellall.outputs.layout import CellArea, Page
from tellall.people.dataset import Dataset
from tellall.people.printed_numbers import Shown
from tellall.protections.rounding import Rounding
from tellall.release.release import Release
from tellall.statistics.survival import SurvivalCurve

__all__ = ["RecognisedCurve", "recognise_curve", "survival_pages"]

_HEADER = re.compile(r"\s*time\s+n\.risk\s+n\.event\s+survival\b.*", re.IGNORECASE)
_ROW = re.compile(r"\s*[\d.]+(?:\s+(?:[\d.eE+-]+|NA|NaN))+\s*")
_ENOUGH = 10.0  # bits above what was tried
_ROUNDING = 1e-9
_DIGIT = 1e-6


def survival_pages(lines: Sequence[str], name: str, start: int = 0) -> Iterator[tuple[range, Page]]:
    """Yields the lines and the page of each curve that R's summary of a survfit prints in a text.

    ``start`` is how many lines of the file stand above.
    """
    for at, line in enumerate(lines):
        if _HEADER.fullmatch(line) is None:
            continue
        last = at
        while last + 1 < len(lines) and _ROW.fullmatch(lines[last + 1]):
            last += 1
        if last > at:
            source = Source(name, range=f"lines {at + 1 + start:,} to {last + 1 + start:,}")
            rows = [line.split()[:4], *(row.split()[:4] for row in lines[at + 1 : last + 1])]
            above = lines[at - 1].strip() if at else ""
            page = Page(rows, _at(source), title=(above,) if above else (), whole=True)
            yield range(at, last + 1), page


def _at(source: Source) -> Callable[[CellArea], Source]:
    return lambda _: source


@dataclass(frozen=True, eq=False)
class RecognisedCurve:
    """What a printed survival curve is found to be.

    Attributes
    ----------
    table
        The table as printed.
    sentence
        The curve in words.
    time, event
        The columns of follow-up times and of events.
    agrees
        How many values the people reproduce, of how many.
    about_secret
        Whether the event is the secret; None if no curve agrees.
    reason
        Why it takes no part; empty if it does.
    bits
        How sure it is, above what was tried.
    """

    table: FoundTable
    sentence: str
    time: str = ""
    event: str = ""
    agrees: tuple[int, int] = (0, 0)
    about_secret: bool | None = None
    reason: str = ""
    bits: float = 0.0

    def release(self, people: Dataset) -> Release:
        """The curve as an outsider knows it, exact to its last digit."""
        times, shown = _points(self.table) or (np.zeros(0), [])
        step = max((one.step or 0.0 for one in shown), default=0.0)
        noise = None if step <= _ROUNDING else Rounding(step)
        values = np.array([one.number for one in shown], dtype=np.float64)
        statistic = SurvivalCurve(self.time, grid=times.tolist())
        return Release.from_values(statistic, values, public=people.public, noise=noise, levels=2)


def recognise_curve(table: FoundTable, people: Dataset) -> RecognisedCurve | None:
    """The survival curve of everybody that a table shows; None if it is no table of a survival curve.

    Every column of numbers is tried as the follow-up time, and every column of 0 and 1 as the event. A curve
    is accepted if all its values agree within their digits, if that tells more than chance, and if no other
    pair of columns agrees.
    """
    points = _points(table)
    if points is None:
        return None
    times, shown = points
    agreeing, nearest, tried = _curves(table, people, times, shown)
    if not agreeing:
        return replace(nearest, reason="no follow-up time and event of these people give this curve")
    best = max(agreeing, key=lambda found: found.bits)
    bits = best.bits - float(np.log2(1 + tried))
    about = any(found.event == people.secret_name for found in agreeing)
    best = replace(best, bits=bits, about_secret=about)
    if len(agreeing) > 1:
        other = next(found for found in agreeing if (found.time, found.event) != (best.time, best.event))
        return replace(best, about_secret=about or None, reason=f"as well it may be the {other.sentence}")
    if bits < _ENOUGH:
        return replace(best, about_secret=about or None, reason="its few digits agree, which may be chance")
    if people.secret_name == best.time:
        return replace(best, about_secret=True, reason="the secret is its follow-up time: not checked")
    return best if about else replace(best, reason="it says nothing about the secret")


def _curves(
    table: FoundTable, people: Dataset, times: Array, shown: Sequence[Shown]
) -> tuple[list[RecognisedCurve], RecognisedCurve, int]:
    """The curves of these people that agree, the nearest of the others, and how many were tried."""
    printed = np.array([one.number for one in shown], dtype=np.float64)
    room = np.array([(one.step or 0.0) * (0.5 + _DIGIT) + _ROUNDING for one in shown])
    agreeing: list[RecognisedCurve] = []
    nearest, tried = RecognisedCurve(table, "a survival curve"), 0
    for time, at in _times(people):
        if not np.isin(times[printed < 1], at).any():
            continue
        for event, happened in _events(people):
            if event == time:
                continue
            tried += 1
            curve, spread = _kaplan_meier(at, happened, times)
            same = int((np.abs(curve - printed) <= room).sum())
            bits = float(np.log2(np.maximum(2.5 * spread / np.maximum(room, 1e-9), 1.0)).clip(0, 20).sum())
            words = f"survival curve of {event} over {time}, {count_of(people.n, 'person', 'people')}"
            found = RecognisedCurve(table, words, time, event, (same, len(shown)), bits=bits)
            if same == len(shown):
                agreeing.append(found)
            elif same > nearest.agrees[0]:
                nearest = found
    return agreeing, nearest, tried


def _points(table: FoundTable) -> tuple[Array, list[Shown]] | None:
    """The times of a curve in ascending order, and what is printed for each."""
    lines = [line for line in table.cells if any(not cell.blank for cell in line)]
    columns = survival_columns([[cell.text for cell in line] for line in lines])
    if columns is None:
        return None
    rows = [(line[columns[0]], line[columns[1]]) for line in lines[1:]]
    if len(rows) < 2 or any(time.number is None or value.number is None for time, value in rows):
        return None
    rows.sort(key=lambda row: row[0].number or 0.0)
    times = np.array([time.number for time, _ in rows], dtype=np.float64)
    return (times, [value for _, value in rows]) if (np.diff(times) > 0).all() else None


def _times(people: Dataset) -> Iterator[tuple[str, Array]]:
    public = people.public
    for index, column in enumerate(public.columns):
        numbers = public.numbers[index] if public.numbers else None
        if numbers is not None and not np.isnan(numbers).any():
            yield column.name, np.asarray(numbers, dtype=np.float64)


def _events(people: Dataset) -> Iterator[tuple[str, Array]]:
    """Yields the columns of two values that an event may be, as 0 and 1: the secret first."""
    if people.secret is not None and len(people.meaning) == 2:
        yield people.secret_name, np.asarray(people.secret, dtype=np.float64)
    for index, column in enumerate(people.public.columns):
        if len(column.labels) == 2 and not column.gaps:
            yield column.name, np.asarray(people.public.codes[index], dtype=np.float64)


def _kaplan_meier(at: Array, happened: Array, times: Array) -> tuple[Array, Array]:
    """The curve at some times, and about how far it varies there."""
    distinct, place = np.unique(at, return_inverse=True)
    events = np.bincount(place, weights=happened, minlength=distinct.size)
    risk = at.size - np.concatenate([[0], np.cumsum(np.bincount(place, minlength=distinct.size))[:-1]])
    curve = np.cumprod(1 - events / risk)
    where = np.searchsorted(distinct, times, side="right")
    shown = np.concatenate([[1.0], curve])[where]
    return shown, np.sqrt(shown * (1 - shown) / at.size)
