"""Where everything in a figure goes: pixels for lines, bands, points, bars, ticks and words.

Nothing here writes markup, so that every word passes through the template's escaping.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from tellall.report.axes import LONGEST, Scale, axis_ticks, crowded, ends, tick_text
from tellall.report.figures import GLYPH, LINE, WIDTH, Tick, lines, short
from tellall.report.plot import Figure, Series

__all__ = [
    "Drawing",
    "Line",
    "Shape",
    "draw",
]

_TOP, _RIGHT, _FOOT = 30.0, 20.0, 46.0
_DEEP, _STEEP = 300.0, 0.65  # the frame's height, and the most of its width that it may be

Point = tuple[float, float]


@dataclass(frozen=True)
class Shape:
    """One series, placed: lines and bands may be in several parts where values are missing."""

    label: str
    style: int
    lines: tuple[str, ...] = ()
    bands: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    whiskers: tuple[tuple[float, float, float], ...] = ()
    filled: bool = False
    key_mark: str = ""


@dataclass(frozen=True)
class Line:
    """A rule, placed, with its words, line by line."""

    x1: float
    y1: float
    x2: float
    y2: float
    text: tuple[Tick, ...]
    text_x: float
    anchor: str


@dataclass(frozen=True)
class Drawing:
    """A whole figure, placed."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_label: tuple[Tick, ...]
    y_label: tuple[Tick, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    shapes: tuple[Shape, ...]
    rules: tuple[Line, ...]
    slanted: bool


def draw(figure: Figure, width: float = WIDTH) -> Drawing:
    """The places of a figure's parts.

    Notes
    -----
    The template clips at the frame: what is beyond an axis with given ends is not drawn, and a line to it
    leaves the frame. O(number of points).
    """
    y_low, y_high = ends(figure.y, [v for one in figure.series for v in _heights(one)] + _ruled(figure, "y"))
    y_marks = axis_ticks(figure.y, y_low, y_high)
    longest = max((len(tick_text(figure.y, mark, y_marks)) for mark in y_marks), default=1)
    left, right = 18 + GLYPH * longest, width - _RIGHT
    x_low, x_high = ends(figure.x, [v for one in figure.series for v in one.x] + _ruled(figure, "x"))
    x_marks = axis_ticks(figure.x, x_low, x_high)
    over, under = lines(figure.y.words, width - 8), lines(figure.x.words, width - 8)
    top = _TOP + LINE * (len(over) - 1)
    bottom = top + min(_DEEP, _STEEP * width)
    x = Scale(x_low, x_high, left, right, figure.x.log)
    y = Scale(y_low, y_high, bottom, top, figure.y.log)
    slanted = crowded(figure.x.categories, right - left)
    longest_name = max((len(short(name, LONGEST)) for name in figure.x.categories), default=0)
    foot = bottom + _FOOT + (0.5 * GLYPH * longest_name if slanted else 0)
    x_ticks = [Tick(x(mark), tick_text(figure.x, mark, x_marks)) for mark in x_marks]
    return Drawing(
        width=width,
        height=foot + LINE * (len(under) - 1),
        left=round(left, 1),
        right=right,
        top=top,
        bottom=bottom,
        x_label=_stacked(under, foot - 6),
        y_label=_stacked(over, 16.0),
        x_ticks=tuple(x_ticks if slanted else _apart(x_ticks)),
        y_ticks=tuple(Tick(y(mark), tick_text(figure.y, mark, y_marks)) for mark in y_marks),
        shapes=tuple(_shape(one, style, x, y) for style, one in enumerate(figure.series)),
        rules=_rules(figure, x, y),
        slanted=slanted,
    )


def _stacked(words: Sequence[str], down: float) -> tuple[Tick, ...]:
    """Lines of words one under another, the first at this height."""
    return tuple(Tick(down + LINE * place, line) for place, line in enumerate(words))


def _apart(ticks: Sequence[Tick]) -> list[Tick]:
    """The ticks whose words do not run into those before them."""
    kept: list[Tick] = []
    for tick in ticks:
        wide = GLYPH * (len(tick.text) + len(kept[-1].text)) / 2 if kept else 0.0
        if not kept or tick.at - kept[-1].at >= wide + 4:
            kept.append(tick)
    return kept


def _heights(series: Series) -> tuple[float, ...]:
    if series.kind == "histogram":
        return (0.0, *series.y)
    return (*series.y, *series.low, *series.high)


def _ruled(figure: Figure, axis: str) -> list[float]:
    return [rule.value for rule in figure.rules if rule.axis == axis]


def _shape(series: Series, style: int, x: Scale, y: Scale) -> Shape:
    if series.kind == "histogram":
        return Shape(series.label, style, lines=(_histogram(series, x, y),), filled=True)
    parts = _parts(series)
    points = [[(x(series.x[place]), y(series.y[place])) for place in part] for part in parts]
    lined, pointed = series.kind != "points", series.kind in ("points", "both")
    joined = [_stepped(part) if series.kind == "steps" else part for part in points]
    bands: tuple[str, ...] = ()
    whiskers: tuple[tuple[float, float, float], ...] = ()
    if series.has_interval and lined:
        bands = tuple(_band(series, part, x, y) for part in parts)
    elif series.has_interval:
        places = [place for part in parts for place in part]
        whiskers = tuple((x(series.x[p]), y(series.high[p]), y(series.low[p])) for p in places)
    return Shape(
        series.label,
        style,
        lines=tuple(_polyline(part) for part in joined) if lined else (),
        bands=bands,
        marks=tuple(_mark(style, *point) for part in points for point in part) if pointed else (),
        whiskers=whiskers,
        key_mark=_mark(style, 24, 6) if pointed else "",
    )


def _parts(series: Series) -> list[list[int]]:
    """The runs of places without a gap."""
    parts: list[list[int]] = [[]]
    for place, (across, up) in enumerate(zip(series.x, series.y, strict=True)):
        if isfinite(across) and isfinite(up):
            parts[-1].append(place)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _polyline(points: Iterable[Point]) -> str:
    return " ".join(f"{across:g},{down:g}" for across, down in points)


def _stepped(points: Sequence[Point]) -> list[Point]:
    corners = [(after[0], before[1]) for before, after in pairwise(points)]
    pairs = [pair for joint in zip(points, corners, strict=False) for pair in joint]
    return [*pairs, *points[-1:]]


def _band(series: Series, part: Sequence[int], x: Scale, y: Scale) -> str:
    over = [(x(series.x[place]), y(series.high[place])) for place in part]
    under = [(x(series.x[place]), y(series.low[place])) for place in part]
    if series.kind == "steps":
        over, under = _stepped(over), _stepped(under)
    return _polyline([*over, *reversed(under)])


def _histogram(series: Series, x: Scale, y: Scale) -> str:
    base = y(0.0) if not y.log else y(y.low)
    points: list[Point] = [(x(series.x[0]), base)]
    for place, height in enumerate(series.y):
        top = y(height) if isfinite(height) else base
        points += [(x(series.x[place]), top), (x(series.x[place + 1]), top)]
    return _polyline([*points, (x(series.x[-1]), base)])


def _mark(style: int, x: float, y: float, size: float = 4.0) -> str:
    """The outline of a point: each series has its own, for those who cannot tell the colours."""
    a, b = size, 1.2 * size
    outlines = (
        f"M{x - a:g} {y:g}a{a:g} {a:g} 0 1 0 {2 * a:g} 0a{a:g} {a:g} 0 1 0 {-2 * a:g} 0z",
        f"M{x - a:g} {y - a:g}h{2 * a:g}v{2 * a:g}h{-2 * a:g}z",
        f"M{x:g} {y - b:g}l{b:g} {2 * a:g}h{-2 * b:g}z",
        f"M{x:g} {y - b:g}l{b:g} {b:g}l{-b:g} {b:g}l{-b:g} {-b:g}z",
        f"M{x:g} {y + b:g}l{b:g} {-2 * a:g}h{-2 * b:g}z",
        f"M{x - a:g} {y - a / 3:g}h{2 * a:g}v{2 * a / 3:g}h{-2 * a:g}z",
    )
    return outlines[style % len(outlines)]


def _rules(figure: Figure, x: Scale, y: Scale) -> tuple[Line, ...]:
    """Rules with their words; those of upright ones one under another, at the emptier end."""
    placed: list[Line] = []
    said = 0  # lines of words on upright rules so far
    points = [
        (x(across), y(up))
        for one in figure.series
        for across, up in zip(one.x, one.y, strict=False)
        if isfinite(across) and isfinite(up)
    ]
    for rule in figure.rules:
        if not isfinite(rule.value):
            continue
        if rule.axis == "x":
            at = x(rule.value)
            rightwards = at + 6 + GLYPH * len(rule.label) < x.stop or x.stop - at > at - x.start
            words = lines(rule.label, (x.stop - at if rightwards else at - x.start) - 6)
            wide = GLYPH * max(map(len, words))
            text_x, anchor = (at + 5, "start") if rightwards else (at - 5, "end")
            span = (text_x, text_x + wide) if rightwards else (text_x - wide, text_x)
            first = _emptier(
                points, span, (y.stop + 12 + LINE * said, y.start - 10 - LINE * (said + len(words) - 1))
            )
            placed.append(Line(at, y.stop, at, y.start, _stacked(words, first), text_x, anchor))
            said += len(words)
        else:
            at = y(rule.value)
            over = at - 5 if at > y.stop + LINE else at + 14
            (label,) = lines(rule.label, x.stop - x.start, 1)
            text_x, anchor = _freer(points, over, GLYPH * len(label), x)
            placed.append(Line(x.start, at, x.stop, at, _stacked([label], over), text_x, anchor))
    return tuple(placed)


def _freer(points: Sequence[Point], height: float, wide: float, x: Scale) -> tuple[float, str]:
    """Where words of this width go along a flat rule: right or, where fewer points are near, left."""
    near = [across for across, down in points if abs(down - height) < 20]
    right = sum(across > x.stop - wide - 8 for across in near)
    left = sum(across < x.start + wide + 8 for across in near)
    return (x.start + 6, "start") if left < right else (x.stop - 4, "end")


def _emptier(points: Sequence[Point], span: tuple[float, float], heights: tuple[float, float]) -> float:
    """Of two heights for words over this span, the one with fewer points near them."""
    near = [down for across, down in points if span[0] - 30 <= across <= span[1] + 30]
    crowd = [sum(abs(down - place) < 30 for down in near) for place in heights]
    return heights[1] if crowd[1] < crowd[0] else heights[0]
