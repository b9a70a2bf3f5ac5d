"""The geometry of the page's charts: where marks, lines and words go. The template draws them as SVG.

Nothing here writes markup, so that every word passes through the template's escaping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

__all__ = ["Bars", "Curves", "bars", "curves", "short", "ticks"]

WIDTH = 720.0
_LABEL_WIDTH = 300.0
_ROW = 34.0
_LONGEST_LABEL = 40
SERIES = 6  # more curves than this cannot be told apart


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart: its words, its bar and its interval."""

    label: str
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
    zero: float
    limit: float
    ticks: tuple[Tick, ...]
    rows: tuple[Bar, ...]


@dataclass(frozen=True)
class Curve:
    """One line of a chart, with its marks."""

    label: str
    style: int
    points: str
    marks: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Curves:
    """Lines over confidence."""

    width: float
    height: float
    left: float
    bottom: float
    right: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Curve, ...]


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


def short(text: str, limit: int = _LONGEST_LABEL) -> str:
    """The text, cut where it is too long for a chart."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def bars(rows: Sequence[tuple[str, float, tuple[float, float]]], *, limit: float) -> Bars:
    """Bars of advantage: (label, value, interval) each, in shares; the axis is in points."""
    lowest = min([0.0, *(interval[0] for _, _, interval in rows)])
    highest = max([limit * 1.2, 0.01, *(interval[1] for _, _, interval in rows)])
    marks = ticks(100 * lowest, 100 * highest)
    left, right = _LABEL_WIDTH, WIDTH - 70
    scale = (right - left) / (marks[-1] - marks[0])

    def x(share: float) -> float:
        return round(left + (100 * share - marks[0]) * scale, 1)

    return Bars(
        width=WIDTH,
        height=_ROW * len(rows) + 46,
        zero=x(0),
        limit=x(limit),
        ticks=tuple(Tick(x(mark / 100), f"{mark:g}") for mark in marks),
        rows=tuple(
            Bar(
                label=short(label),
                y=_ROW * place + 10,
                x=min(x(0), x(value)),
                width=round(abs(x(value) - x(0)), 1),
                low=x(low),
                high=x(high),
                text=f"{100 * value:+.1f}",
                above=low > limit,
            )
            for place, (label, value, (low, high)) in enumerate(rows)
        ),
    )


def curves(series: Sequence[tuple[str, Sequence[tuple[float, int]]]]) -> Curves:
    """People exposed at each confidence, one line per release; confidences are evenly spread."""
    shown = series[:SERIES]
    levels = [level for level, _ in shown[0][1]] if shown else []
    most = max([1, *(count for _, points in shown for _, count in points)])
    marks = ticks(0, most)
    left, right, top, bottom = 64.0, WIDTH - 24, 14.0, 286.0

    def x(place: int) -> float:
        return round(left + (right - left) * place / max(1, len(levels) - 1), 1)

    def y(count: float) -> float:
        return round(bottom - (bottom - top) * count / marks[-1], 1)

    lines = []
    for style, (label, points) in enumerate(shown):
        places = tuple((x(place), y(count)) for place, (_, count) in enumerate(points))
        text = " ".join(f"{across:g},{down:g}" for across, down in places)
        lines.append(Curve(short(label, 60), style, text, places))
    return Curves(
        width=WIDTH,
        height=bottom + 44,
        left=left,
        bottom=bottom,
        right=right,
        x_ticks=tuple(Tick(x(place), f"{level:g}") for place, level in enumerate(levels)),
        y_ticks=tuple(Tick(y(mark), f"{mark:,g}") for mark in marks if mark == round(mark)),
        lines=tuple(lines),
    )
