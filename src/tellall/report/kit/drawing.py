"""Figures as lists of marks: where every line, band, point and word goes, in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite, log10

from tellall.core.amounts import MINUS
from tellall.report.kit.marks import (
    GLYPH,
    LINE,
    WIDTH,
    Chart,
    Mark,
    Scale,
    element,
    log_ticks,
    stroke,
    ticks,
    wrapped,
    written,
    written_lines,
)
from tellall.report.kit.plot import Axis, Figure, Series

__all__ = [
    "draw",
]

_MEANINGS = {"pass": "passes", "review": "for a person to decide", "fail": "fails"}
_LONGEST = 30  # letters of a category
_TINY = 1e-250  # smaller values are off a log scale, like zero
_SAME = 1e-9  # values with a smaller relative difference are drawn as one
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Point = tuple[float, float]


def draw(figure: Figure, width: float = WIDTH) -> Chart:
    """The marks of a figure.

    Notes
    -----
    The template clips at the frame: points beyond an axis with given ends are not drawn, and a line to them
    leaves the frame. O(number of points).
    """
    y_low, y_high = _ends(figure.y, [v for one in figure.series for v in _heights(one)] + _ruled(figure, "y"))
    y_marks = _axis_ticks(figure.y, y_low, y_high)
    longest = max((len(_tick_text(figure.y, mark, y_marks)) for mark in y_marks), default=1)
    left, right = round(18 + GLYPH * longest, 1), width - 20
    x_low, x_high = _ends(figure.x, [v for one in figure.series for v in one.x] + _ruled(figure, "x"))
    x_marks = _axis_ticks(figure.x, x_low, x_high)
    heading, footing = wrapped(figure.y.words, width - 8), wrapped(figure.x.words, width - 8)
    top = 30 + LINE * (len(heading) - 1)
    bottom = top + min(300.0, 0.65 * width)
    x = Scale(x_low, x_high, left, right, figure.x.log)
    y = Scale(y_low, y_high, bottom, top, figure.y.log)
    names = [_short(name) for name in figure.x.categories]
    slanted = any(GLYPH * len(name) > 0.95 * (right - left) / len(names) for name in names)
    foot = bottom + 46 + (0.5 * GLYPH * max(map(len, names)) if slanted else 0)
    x_ticks = [(x(mark), _tick_text(figure.x, mark, x_marks)) for mark in x_marks]
    styles = [at if one.style is None else one.style for at, one in enumerate(figure.series)]
    shapes = [_shape(series, style, x, y) for style, series in zip(styles, figure.series, strict=True)]
    lines, words = _rules(figure, x, y)
    return Chart(
        width,
        foot + LINE * (len(footing) - 1),
        under=(
            *written_lines("soft-word", 4, 16, heading),
            *(
                mark
                for at in y_marks
                for mark in (
                    stroke("grid", left, y(at), right, y(at)),
                    written("y-tick end", left - 8, y(at) + 4, _tick_text(figure.y, at, y_marks)),
                )
            ),
            *_x_axis(x_ticks if slanted else _apart(x_ticks), bottom, slanted),
            stroke("axis", left, bottom, right, bottom),
            stroke("axis", left, top, left, bottom),
            *written_lines("middle soft-word", width / 2, foot - 6, footing),
        ),
        inside=(
            *(mark for areas, _ in shapes for mark in areas),
            *lines,
            *(mark for _, curves in shapes for mark in curves),
        ),
        over=words,
        frame={"x": left - 6, "y": top - 6, "width": right - left + 12, "height": bottom - top + 12},
        key=(
            *((one.label, _sample(one, style)) for style, one in zip(styles, figure.series, strict=True)),
            *_verdict_key(figure),
        ),
    )


def _ends(axis: Axis, values: Iterable[float]) -> tuple[float, float]:
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


def _axis_ticks(axis: Axis, low: float, high: float) -> list[float]:
    if axis.categories:
        return [float(index) for index in range(len(axis.categories))]
    marks = log_ticks(low, high) if axis.log else ticks(low, high)
    slack = 1e-9 * (high - low)
    return [mark for mark in marks if low - slack <= mark <= high + slack]


def _tick_text(axis: Axis, value: float, marks: Sequence[float]) -> str:
    """A tick's words: a category, a power of ten where the axis is wide, else the number."""
    if axis.categories:
        return _short(axis.categories[int(value)])
    wide = axis.log and (min(marks) < 0.00099 or max(marks) > 99_999)
    power = round(log10(value)) if wide else 0
    if wide and abs(value / 10.0**power - 1) < 1e-9:
        return "1" if power == 0 else "10" + str(power).translate(_SUPERSCRIPT)
    text = f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def _x_axis(ticks_there: Sequence[tuple[float, str]], bottom: float, slanted: bool) -> Iterator[Mark]:
    for at, text in ticks_there:
        yield stroke("axis", at, bottom, at, bottom + 4)
        if slanted:
            turned = f"translate({at + 4:g} {bottom + 16:g}) rotate(-30)"
            yield element("text", "x-tick end", text, transform=turned)
        else:
            yield written("x-tick middle", at, bottom + 18, text)


def _apart(ticks_there: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """The ticks whose labels do not overlap."""
    kept: list[tuple[float, str]] = []
    for at, text in ticks_there:
        if not kept or at - kept[-1][0] >= GLYPH * (len(text) + len(kept[-1][1])) / 2 + 4:
            kept.append((at, text))
    return kept


def _heights(series: Series) -> tuple[float, ...]:
    if series.kind == "histogram":
        return (0.0, *series.y)
    return (*series.y, *series.low, *series.high)


def _ruled(figure: Figure, axis: str) -> list[float]:
    return [rule.value for rule in figure.rules if rule.axis == axis]


def _shape(series: Series, style: int, x: Scale, y: Scale) -> tuple[list[Mark], list[Mark]]:
    """The shaded areas of a series, and its curves and points; several of each where values are missing."""
    curve, fill = f"c{style}", f"m{style}"
    if series.kind == "histogram":
        outline = _joined(_histogram(series, x, y))
        return [element("polygon", f"fill {fill}", points=outline)], [
            element("polyline", f"curve {curve}", points=outline)
        ]
    areas: list[Mark] = []
    curves: list[Mark] = []
    for part in _parts(series):
        placed = [(x(series.x[i]), y(series.y[i])) for i in part]
        if series.kind != "points":
            bent = _stepped(placed) if series.kind == "steps" else placed
            curves.append(element("polyline", f"curve {curve}", points=_joined(bent)))
        if series.has_interval:
            upper, lower = ([(x(series.x[i]), y(end[i])) for i in part] for end in (series.high, series.low))
            if series.kind == "points" or len(part) == 1:  # a band needs two points
                for (at, over), (_, under) in zip(upper, lower, strict=True):
                    d = f"M{at:g} {over:g}V{under:g}M{at - 4:g} {over:g}h8M{at - 4:g} {under:g}h8"
                    curves.append(element("path", f"bar-of {curve}", d=d))
            else:
                if series.kind == "steps":
                    upper, lower = _stepped(upper), _stepped(lower)
                areas.append(element("polygon", f"band {fill}", points=_joined([*upper, *reversed(lower)])))
        if series.kind in ("points", "both"):
            kinds = [f"judged {series.verdicts[i]}" if series.verdicts else fill for i in part]
            curves += [
                element("path", kind, d=_outline(style, *point))
                for kind, point in zip(kinds, placed, strict=True)
            ]
    return areas, curves


def _sample(series: Series, style: int) -> tuple[Mark, ...]:
    """What the legend shows of a series, in a box of 48 by 12."""
    curve, fill = f"c{style}", f"m{style}"
    lined = series.kind != "points"
    found = []
    if series.kind == "histogram":
        found.append(element("rect", f"fill {fill}", x=8, y=1, width=32, height=10))
    elif series.has_interval and lined:
        found.append(element("rect", f"band {fill}", x=0, y=1, width=48, height=10))
    if lined:
        found.append(stroke(f"curve {curve}", 0, 6, 48, 6))
    elif series.has_interval:
        found.append(element("path", f"bar-of {curve}", d="M24 0V12"))
    if series.kind in ("points", "both"):
        found.append(element("path", fill, d=_outline(style, 24, 6)))
    return tuple(found)


def _verdict_key(figure: Figure) -> Iterator[tuple[str, tuple[Mark, ...]]]:
    """What the colours of judged points mean."""
    seen = {word for series in figure.series for word in series.verdicts}
    for word, meaning in _MEANINGS.items():
        if word in seen:
            yield meaning, (element("path", f"judged {word}", d=_outline(0, 24, 6)),)


def _parts(series: Series) -> list[list[int]]:
    """The runs of indices without a gap."""
    parts: list[list[int]] = [[]]
    for index, point in enumerate(zip(series.x, series.y, strict=True)):
        if all(map(isfinite, point)):
            parts[-1].append(index)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _stepped(placed: Sequence[Point]) -> list[Point]:
    corners = [(after[0], before[1]) for before, after in pairwise(placed)]
    pairs = [pair for joint in zip(placed, corners, strict=False) for pair in joint]
    return [*pairs, *placed[-1:]]


def _histogram(series: Series, x: Scale, y: Scale) -> list[Point]:
    base = y(y.low) if y.log else y(0.0)
    tops = [y(height) if isfinite(height) else base for height in series.y]
    sides = [(x(edge), top) for edges, top in zip(pairwise(series.x), tops, strict=True) for edge in edges]
    return [(x(series.x[0]), base), *sides, (x(series.x[-1]), base)]


def _outline(style: int, x: float, y: float, size: float = 4.0) -> str:
    """The outline of a point. Each series has its own, for readers who cannot tell the colours apart."""
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


def _rules(figure: Figure, x: Scale, y: Scale) -> tuple[list[Mark], tuple[Mark, ...]]:
    """Lines across the figure with their labels, placed where there is room."""
    lines: list[Mark] = []
    words: list[Mark] = []
    said = 0  # lines of words on upright rules so far
    busy = [
        (x(series.x[i]), y(series.y[i]))
        for series in figure.series
        for i in range(min(len(series.x), len(series.y)))
        if isfinite(series.x[i]) and isfinite(series.y[i])
    ]
    for rule in figure.rules:
        if not isfinite(rule.value):
            continue
        if rule.axis == "x":
            at = x(rule.value)
            lines.append(stroke("rule", at, y.stop, at, y.start))
            rightwards = at + 6 + GLYPH * len(rule.label) < x.stop or x.stop - at > at - x.start
            text = wrapped(rule.label, (x.stop - at if rightwards else at - x.start) - 6)
            begin, anchor = (at + 5, "start") if rightwards else (at - 5, "end")
            wide = GLYPH * max(map(len, text)) * (1 if rightwards else -1)
            span = sorted((begin, begin + wide))
            heights = (y.stop + 12 + LINE * said, y.start - 10 - LINE * (said + len(text) - 1))
            words += written_lines(f"rule-word {anchor}", begin, _emptier(busy, span, heights), text)
            said += len(text)
        else:
            at = y(rule.value)
            lines.append(stroke("rule", x.start, at, x.stop, at))
            height = at - 5 if at > y.stop + LINE else at + 14
            (label,) = wrapped(rule.label, x.stop - x.start, 1)
            begin, anchor = _freer(busy, height, GLYPH * len(label), x)
            words.append(written(f"rule-word {anchor}", begin, height, label))
    return lines, tuple(words)


def _freer(busy: Sequence[Point], height: float, wide: float, x: Scale) -> tuple[float, str]:
    """Where words of this width go along a flat rule: right or, where fewer points are near, left."""
    near = [across for across, down in busy if abs(down - height) < 20]
    right = sum(across > x.stop - wide - 8 for across in near)
    left = sum(across < x.start + wide + 8 for across in near)
    return (x.start + 6, "start") if left < right else (x.stop - 4, "end")


def _emptier(busy: Sequence[Point], span: Sequence[float], heights: tuple[float, float]) -> float:
    """The one of two heights for a label that has fewer points near it."""
    near = [down for across, down in busy if span[0] - 30 <= across <= span[1] + 30]
    crowd = [sum(abs(down - height) < 30 for down in near) for height in heights]
    return heights[1] if crowd[1] < crowd[0] else heights[0]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _joined(placed: Iterable[Point]) -> str:
    return " ".join(f"{across:g},{down:g}" for across, down in placed)
