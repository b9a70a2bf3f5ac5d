"""The geometry of bar charts, and what all charts share: sizes, ticks, words cut to fit.

Nothing here writes markup, so that every word passes through the template's escaping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from textwrap import wrap

from tellall.core.amounts import points, signed

__all__ = [
    "GLYPH",
    "SLIM",
    "WIDTH",
    "Bars",
    "Tick",
    "bars",
    "lines",
    "short",
    "ticks",
]

WIDTH, SLIM = 720.0, 360.0  # on a desk, on a telephone: words are as large on both
GLYPH = 6.6  # width of a letter, on average, at the size of the labels
LINE = 15.0
_BAR, _GAP, _FOOT = 16.0, 14.0, 40.0
_LEFT, _RIGHT = 16.0, 56.0
_LABEL_LINES = 2


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart: its words, line by line, its bar under them and its interval."""

    label: tuple[Tick, ...]
    y: float
    x: float
    width: float
    low: float
    high: float
    text: str
    above: bool


@dataclass(frozen=True)
class Bars:
    """Horizontal bars around zero with intervals and a line at the limit."""

    width: float
    height: float
    foot: float
    thick: float
    zero: float
    limit: float
    ticks: tuple[Tick, ...]
    rows: tuple[Bar, ...]


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


def short(text: str, limit: int) -> str:
    """The text, cut where it is too long for a chart."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def lines(text: str, width: float, most: int = 9) -> list[str]:
    """The text in lines of this width, cut where it would need more of them.

    Examples
    --------
    >>> lines("every 3-way table", 80), lines("every 3-way table", 80, most=1)
    (['every 3-way', 'table'], ['every 3-way…'])
    """
    found = wrap(text, max(1, int(width / GLYPH))) or [""]
    return found if len(found) <= most else [*found[: most - 1], f"{found[most - 1]}…"]


def bars(
    rows: Sequence[tuple[str, float, tuple[float, float]]], *, limit: float, width: float = WIDTH
) -> Bars:
    """Bars of advantage: (label, value, interval) each, in shares; the axis is in points."""
    lowest = min([0.0, *(interval[0] for _, _, interval in rows)])
    highest = max([limit * 1.2, 0.01, *(interval[1] for _, _, interval in rows)])
    marks = ticks(100 * lowest, 100 * highest)
    x_scale = (width - _LEFT - _RIGHT) / (marks[-1] - marks[0])

    def x(share: float) -> float:
        return round(_LEFT + (100 * share - marks[0]) * x_scale, 1)

    placed, down = [], 0.0
    for label, value, (low, high) in rows:
        words = lines(label, width - _LEFT, _LABEL_LINES)
        over = tuple(Tick(down + LINE * (place + 1) - 3, line) for place, line in enumerate(words))
        bar = Bar(
            label=over,
            y=down + LINE * len(words) + 2,
            x=min(x(0), x(value)),
            width=round(abs(x(value) - x(0)), 1),
            low=x(low),
            high=x(high),
            text=points(value),
            above=low > limit,
        )
        placed.append(bar)
        down = bar.y + _BAR + _GAP
    return Bars(
        width=width,
        height=down + _FOOT,
        foot=down,
        thick=_BAR,
        zero=x(0),
        limit=x(limit),
        ticks=tuple(Tick(x(mark / 100), signed(mark, "")) for mark in marks),
        rows=tuple(placed),
    )
