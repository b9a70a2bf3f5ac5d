"""Marks: single SVG elements as plain data, scales and ticks; what every chart is made of.

Nothing here writes markup. A template turns each mark into one SVG element, so every word is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from textwrap import wrap
from typing import Any

__all__ = [
    "GLYPH",
    "LINE",
    "SLIM",
    "WIDTH",
    "Chart",
    "Mark",
    "Scale",
    "element",
    "log_ticks",
    "stroke",
    "ticks",
    "wrapped",
    "written",
    "written_lines",
]

WIDTH, SLIM = 720.0, 360.0  # for a desk and for a phone; letters have the same size on both
GLYPH, LINE = 6.6, 15.0  # the average width of a letter, the height of a line
_FAR = 4000.0  # pixels: a line that goes beyond has left the chart


@dataclass(frozen=True)
class Mark:
    """One SVG element: its tag, its attributes and its words."""

    tag: str
    at: dict[str, Any]
    text: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart in three layers, and its legend.

    Attributes
    ----------
    under, inside, over
        The marks, drawn in this order; those inside are clipped at the frame.
    frame
        The clipping rectangle; empty where nothing is clipped.
    key
        For each series its label and a sample of its marks.
    """

    width: float
    height: float
    under: tuple[Mark, ...]
    inside: tuple[Mark, ...] = ()
    over: tuple[Mark, ...] = ()
    frame: dict[str, float] | None = None
    key: tuple[tuple[str, tuple[Mark, ...]], ...] = ()


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels, evenly or by their logarithm."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value; on a log scale zero and below are far off."""
        if self.log:
            span = log10(self.high) - log10(self.low)
            share = -_FAR if value <= 0 else (log10(value) - log10(self.low)) / span
        else:
            share = (value - self.low) / (self.high - self.low)
        pixel = self.start + share * (self.stop - self.start)
        return round(min(max(pixel, -_FAR), _FAR), 1)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that span an interval.

    Examples
    --------
    >>> ticks(0, 0.23)
    [0.0, 0.05, 0.1, 0.15, 0.2, 0.25]
    """
    if high <= low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [float(f"{step * k:.12g}") for k in range(floor(low / step + 1e-9), ceil(high / step - 1e-9) + 1)]


def log_ticks(low: float, high: float, count: int = 7) -> list[float]:
    """Powers of ten in an interval, with 2 and 5 between them where there are few.

    Examples
    --------
    >>> log_ticks(0.5, 30)
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


def wrapped(text: str, width: float, most: int = 9) -> list[str]:
    """The text in lines of this width, cut where it would need more than the most of them.

    Examples
    --------
    >>> wrapped("every 3-way table", 80), wrapped("every 3-way table", 80, most=1)
    (['every 3-way', 'table'], ['every 3-way…'])
    """
    found = wrap(text, max(1, int(width / GLYPH))) or [""]
    return found if len(found) <= most else [*found[: most - 1], f"{found[most - 1]}…"]


def element(tag: str, kind: str, text: str = "", **at: Any) -> Mark:
    rounded = {name: round(value, 1) if isinstance(value, float) else value for name, value in at.items()}
    return Mark(tag, {"class": kind, **rounded}, text)


def stroke(kind: str, x1: float, y1: float, x2: float, y2: float) -> Mark:
    return element("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def written(kind: str, x: float, y: float, text: str) -> Mark:
    return element("text", kind, text, x=x, y=y)


def written_lines(kind: str, x: float, y: float, text: Sequence[str]) -> list[Mark]:
    """Lines of words one under another, the first at this height."""
    return [written(kind, x, y + LINE * index, line) for index, line in enumerate(text)]
