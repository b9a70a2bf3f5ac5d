"""Axes: where they begin and end, their ticks and the words on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from tellall.core.amounts import MINUS
from tellall.report.figures import GLYPH, short, ticks
from tellall.report.plot import Axis

__all__ = [
    "LONGEST",
    "Scale",
    "axis_ticks",
    "crowded",
    "ends",
    "log_ticks",
    "tick_text",
]

LONGEST = 30  # letters of a category
_FAR = 4000.0  # pixels: beyond this a line has left the chart, and browsers need no more
_TINY = 1e-250  # what is smaller is off a log scale, as zero is
_SAME = 1e-9  # values that differ by less, relatively, are drawn as one
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """From values to pixels, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value; zero and below are far off on a log scale."""
        if self.log:
            span = log10(self.high) - log10(self.low)
            share = -_FAR if value <= 0 else (log10(value) - log10(self.low)) / span
        else:
            share = (value - self.low) / (self.high - self.low)
        pixel = self.start + share * (self.stop - self.start)
        return round(min(max(pixel, -_FAR), _FAR), 1)


def log_ticks(low: float, high: float, count: int = 7) -> list[float]:
    """Powers of ten in an interval, with 2 and 5 between them where there are few.

    Examples
    --------
    >>> log_ticks(0.5, LONGEST)
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    >>> log_ticks(1e-12, 1.0)
    [1e-12, 1e-10, 1e-08, 1e-06, 0.0001, 0.01, 1.0]
    """
    first, last = floor(log10(low) + 1e-9), floor(log10(high) + 1e-9)
    decades = last - first + 1
    factors = (1, 2, 5) if decades <= 2 or log10(high) - log10(low) < 2 else (1,)
    step = max(1, ceil(decades / count))
    marks = [float(f"{factor}e{k}") for k in range(last, first - 1, -step) for factor in factors]
    return sorted(mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9))


def ends(axis: Axis, values: Iterable[float]) -> tuple[float, float]:
    """Where an axis begins and ends."""
    if axis.categories:
        return -0.5, len(axis.categories) - 0.5
    seen = [value for value in values if isfinite(value) and (value > _TINY or not axis.log)]
    least, most = (min(seen), max(seen)) if seen else (1.0, 10.0)
    low, high = least if axis.low is None else axis.low, most if axis.high is None else axis.high
    if axis.log:
        if high <= low * (1 + _SAME):
            low, high = low / 2, low * 2
        pad = 10 ** (0.03 * (log10(high) - log10(low)))
        return low / (pad if axis.low is None else 1), high * (pad if axis.high is None else 1)
    if high - low <= _SAME * max(abs(low), abs(high), 1e-200):  # one value: give it room
        room = 0.5 * abs(low) or 0.5
        low, high = low - room, low + room
    marks = ticks(low, high)
    return marks[0] if axis.low is None else low, marks[-1] if axis.high is None else high


def axis_ticks(axis: Axis, low: float, high: float) -> list[float]:
    if axis.categories:
        return [float(place) for place in range(len(axis.categories))]
    marks = log_ticks(low, high) if axis.log else ticks(low, high)
    slack = 1e-9 * (high - low)
    return [mark for mark in marks if low - slack <= mark <= high + slack]


def tick_text(axis: Axis, value: float, marks: Sequence[float]) -> str:
    """A tick's words: a category, a power of ten where the axis is wide, else the number."""
    if axis.categories:
        return short(axis.categories[int(value)], LONGEST)
    wide = axis.log and (min(marks) < 0.00099 or max(marks) > 99_999)
    power = round(log10(value)) if wide else 0
    if wide and abs(value / 10.0**power - 1) < 1e-9:
        return "1" if power == 0 else "10" + str(power).translate(_SUPERSCRIPT)
    text = f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def crowded(categories: Sequence[str], width: float) -> bool:
    return any(GLYPH * len(short(name, LONGEST)) > 0.95 * width / len(categories) for name in categories)
