"""Bars with their verdicts: a word, a sign and a colour each, the limit across them, numbers next to them.

One bar that is much longer than the others does not stretch the axis: it ends in an arrow at the edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import quantiles

from tellall.core.amounts import MINUS
from tellall.report.kit.marks import (
    GLYPH,
    LINE,
    WIDTH,
    Chart,
    Mark,
    Scale,
    element,
    stroke,
    ticks,
    wrapped,
    written,
    written_lines,
)

__all__ = [
    "SIGNS",
    "Bar",
    "LimitLine",
    "bars",
    "is_cut",
]

SIGNS = {"pass": "\N{CHECK MARK}", "review": "?", "fail": "\N{MULTIPLICATION X}"}
_THICK = 14.0
_GAP = 16.0
_FOOT = 40.0
_SIDE = 16.0
_SIGN = 16.0
_FAR_ABOVE, _FAR_BELOW = 3.0, 1.0  # an axis is at most this many times as long as most bars need


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes
    ----------
    text
        Its numbers, printed next to the label.
    kind
        The word of its verdict, "pass", "review" or "fail"; empty if it has none.
    interval
        Drawn as a thin line with ends.
    """

    label: str
    value: float
    text: str
    kind: str = ""
    interval: tuple[float, float] | None = None

    @property
    def most(self) -> float:
        """How far to the right it goes."""
        return max(self.value, *(self.interval or (0.0,)))

    @property
    def least(self) -> float:
        """How far to the left it goes."""
        return min(self.value, *(self.interval or (0.0,)))


@dataclass(frozen=True)
class LimitLine:
    """Where a limit is drawn, and its words; the axis is at least ``room`` long."""

    value: float
    label: str
    room: float = 0.0


def bars(rows: Sequence[Bar], limit: LimitLine | None, axis: str, *, width: float = WIDTH) -> Chart:
    """Horizontal bars one under another, with the words of the axis below them."""
    low, high = _ends(rows, limit)
    marks = [at for at in ticks(low, high) if low <= at <= high] or [0.0]
    scale = Scale(low, high, _SIDE, width - _SIDE)
    drawn: list[Mark] = []
    down = 0.0
    for row in rows:
        above, down = _headed(row, down, width)
        drawn += [*above, *_bar(row, scale, down)]
        if limit is not None:
            edge = scale(limit.value)
            drawn.append(stroke("limit", edge, down - 2, edge, down + _THICK + 2))
        down += _THICK + _GAP
    foot = down - _GAP + 6
    under = [one for at in marks for one in _tick(scale(at), foot, f"{at:,.6g}".replace("-", MINUS))]
    under.append(stroke("axis", scale(0.0), 4, scale(0.0), foot))
    last = foot + 16
    if limit is not None:
        edge = scale(limit.value)
        drawn.append(stroke("limit", edge, foot - 3, edge, foot + 5))
        last += LINE
        half = GLYPH * len(limit.label) / 2
        at = min(max(edge, half), width - half)
        under.append(written("middle limit-word", at, last, limit.label))
    below = written_lines("middle soft-word", width / 2, last + LINE + 4, wrapped(axis, width - 8))
    height = last + LINE * (len(below) + 1) - 2
    return Chart(width, height, (*under, *drawn, *below))


def is_cut(rows: Sequence[Bar], limit: LimitLine | None) -> bool:
    """Whether some bar goes beyond the axis."""
    low, high = _ends(rows, limit)
    return any(row.least < low or row.most > high for row in rows)


def _ends(rows: Sequence[Bar], limit: LimitLine | None) -> tuple[float, float]:
    """Where the axis begins and ends: one bar alone cannot stretch it far beyond the others."""
    allowed, room = (0.0, 0.0) if limit is None else (limit.value, limit.room)
    high = max(room, 1.25 * allowed, _usual([row.most for row in rows], allowed, _FAR_ABOVE))
    return -_usual([-row.least for row in rows], allowed, _FAR_BELOW), high or 1.0


def _usual(lengths: Sequence[float], allowed: float, times: float) -> float:
    """The longest bar, or less: a multiple of what three quarters of them, or the limit, need.

    Examples
    --------
    >>> _usual([1.0, 2.0, 3.0], 0.0, 5.0), _usual([1.0, 1.0, 1.0, 1.0, 80.0], 0.0, 5.0)
    (3.0, 5.0)
    """
    kept = [max(0.0, length) for length in lengths]
    usual = max(allowed, quantiles(kept, n=4, method="inclusive")[2] if len(kept) > 1 else kept[0])
    return min(max(kept), times * usual) if usual else max(kept)


def _headed(row: Bar, down: float, width: float) -> tuple[list[Mark], float]:
    """The sign, the label and the numbers over a bar, and where the bar begins."""
    sign = SIGNS.get(row.kind, "")
    begin = _SIDE + (_SIGN if sign else 0.0)
    named = wrapped(row.label, width - _SIDE - begin - GLYPH * len(row.text) - 12, 2)
    height = down + LINE - 2
    found = [written(f"over-word sign {row.kind}", _SIDE, height, sign)] if sign else []
    found += written_lines("over-word", begin, height, named)
    found.append(written("over-word end strong", width - _SIDE, height, row.text))
    return found, down + LINE * len(named) + 3


def _bar(row: Bar, scale: Scale, top: float) -> Iterator[Mark]:
    """The bar itself, its interval, and arrows where it goes beyond the axis."""
    zero, at = scale(0.0), _inside(scale, row.value)
    middle = top + _THICK / 2
    yield element(
        "rect", f"bar {row.kind}".strip(), x=min(zero, at), y=top, width=abs(at - zero), height=_THICK
    )
    if row.interval is not None:
        ends = [_inside(scale, end) for end in row.interval]
        caps = "".join(
            f"M{x:g} {top + 2:g}v{_THICK - 4:g}"
            for x, end in zip(ends, row.interval, strict=True)
            if scale.low <= end <= scale.high
        )
        yield element("path", "whisker", d=f"M{ends[0]:g} {middle:g}H{ends[1]:g}{caps}")
    if row.most > scale.high:
        yield element("path", "arrow", d=f"M{scale.stop:g} {middle - 6:g}l9 6l-9 6z")
    if row.least < scale.low:
        yield element("path", "arrow", d=f"M{scale.start:g} {middle - 6:g}l-9 6l9 6z")


def _inside(scale: Scale, value: float) -> float:
    return scale(min(max(value, scale.low), scale.high))


def _tick(at: float, foot: float, text: str) -> Iterator[Mark]:
    yield stroke("grid", at, 4, at, foot)
    yield written("middle", at, foot + 16, text)
