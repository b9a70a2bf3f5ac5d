"""What a figure shows: axes, series, rules; plain data that JSON can carry and a page can draw.

A figure is made of :class:`Series` over two :class:`Axis`; `drawing` finds the places and
the template draws them as SVG. Nothing here knows what a figure is about, so every paper uses the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Annotated, Literal, get_args

from tellall.core.errors import invalid
from tellall.core.records import UNKNOWN, Record

__all__ = [
    "MOST_SERIES",
    "Axis",
    "Figure",
    "Kind",
    "Rule",
    "Series",
    "number",
    "numbers",
]

Kind = Literal["line", "points", "both", "steps", "histogram"]
Numbers = tuple[Annotated[float, UNKNOWN], ...]  # null in JSON: a gap
MOST_SERIES = 6  # more cannot be told apart
_MOST_ROWS = 40


@dataclass(frozen=True)
class Axis(Record):
    """One axis: its words, its unit, its scale.

    Attributes
    ----------
    label, unit
        What is measured, and in what; the unit may be empty.
    log
        Whether the scale is logarithmic; values at or below zero are then off the chart.
    low, high
        Where the axis begins and ends; by default found from the data.
    categories
        Names for the places 0, 1, 2, … of an axis of categories.
    """

    label: str
    unit: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        for end in (self.low, self.high):
            if end is not None and not (isfinite(end) and (end > 0 or not self.log)):
                raise invalid("axis", "within finite ends, above zero on a log scale", end)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise invalid("axis", "from a low to a higher end", f"{self.low:g} to {self.high:g}")

    @property
    def words(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, init=False)
class Series(Record):
    """One line, row of points or histogram.

    Attributes
    ----------
    label
        Its words in the legend.
    x, y
        The points, any iterable of numbers. A value that is not finite is a gap. A "histogram" has one more
        x, the edges, than y, the heights.
    low, high
        The interval of each y: drawn as a band around a line, as whiskers on points; empty if there is none.
    kind
        "line", "points", "both" (a line with points), "steps" (the value holds until the next), "histogram".
    verdicts
        The verdict on each point, "pass", "review" or "fail", which gives it its colour; empty if there is
        none.
    style
        Its colour and the outline of its points, as a number; by default its place in the figure. Points and
        the line that predicts them share one.
    """

    label: str
    x: Numbers
    y: Numbers
    low: Numbers
    high: Numbers
    kind: Kind
    verdicts: tuple[str, ...]
    style: int | None

    def __init__(
        self,
        label: str,
        x: Iterable[float],
        y: Iterable[float],
        *,
        low: Iterable[float] = (),
        high: Iterable[float] = (),
        kind: Kind = "line",
        verdicts: Iterable[str] = (),
        style: int | None = None,
    ) -> None:
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "verdicts", tuple(verdicts))
        object.__setattr__(self, "style", style)
        for name, values in (("x", x), ("y", y), ("low", low), ("high", high)):
            object.__setattr__(self, name, _floats(values))
        if self.kind not in get_args(Kind):
            raise invalid("kind", f"one of {', '.join(get_args(Kind))}", self.kind)
        wanted = len(self.y) + (self.kind == "histogram")
        if len(self.x) != wanted:
            raise invalid("x", f"{wanted} numbers in '{self.label}'", len(self.x))
        if self.style is not None and not 0 <= self.style < MOST_SERIES:
            raise invalid("style", f"from 0 to {MOST_SERIES - 1}", self.style)
        if len(self.verdicts) not in (0, len(self.y)):
            raise invalid("verdicts", f"as many words as y ({len(self.y)}), or none", len(self.verdicts))
        for name in ("low", "high"):
            if len(getattr(self, name)) not in (0, len(self.y)) or len(self.low) != len(self.high):
                raise invalid(
                    name, f"as many numbers as y ({len(self.y)}), or none", len(getattr(self, name))
                )

    @property
    def has_interval(self) -> bool:
        """Whether every y comes with an interval."""
        return bool(self.low)


@dataclass(frozen=True)
class Rule(Record):
    """A straight line across the chart with its words: a bound, a threshold, a level.

    ``axis`` is the axis on which ``value`` is read: "x" is vertical, "y" is horizontal.
    """

    value: Annotated[float, UNKNOWN]
    label: str
    axis: Literal["x", "y"] = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        if self.axis not in ("x", "y"):
            raise invalid("axis", "'x' or 'y'", self.axis)


@dataclass(frozen=True)
class Figure(Record):
    """A chart with its title, its caption and its numbers.

    Attributes
    ----------
    title
        What one sees, in a line.
    caption
        How to read it, in a sentence or two.
    series
        At most six.

    Examples
    --------
    >>> from tellall.core.records import read
    >>> squares = Series("square", range(3), [0, 1, 4])
    >>> figure = Figure("Squares", "They grow.", Axis("x"), Axis("x²"), [squares])
    >>> figure == read(Figure, figure.as_json(), what="figure")
    True
    """

    title: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "series", tuple(self.series))
        object.__setattr__(self, "rules", tuple(self.rules))
        if not 1 <= len(self.series) <= MOST_SERIES:
            raise invalid("series", f"from one to {MOST_SERIES} in '{self.title}'", len(self.series))


def numbers(figure: Figure, most: int = _MOST_ROWS) -> tuple[list[str], list[list[str]], int]:
    """The figure as a table: its head, its rows, and how many there would be in full.

    Notes
    -----
    One row per x where some series has a point, one column per series, [low, high] behind the value. If there
    are more than `most`, rows in which most series have a point come first; the choice is even.

    Examples
    --------
    >>> series = Series("seen", [1, 2], [0.5, 0.25], low=[0.4, 0.2], high=[0.6, 0.3])
    >>> numbers(Figure("t", "c", Axis("n"), Axis("share"), [series]))
    (['n', 'seen'], [['1', '0.5 [0.4, 0.6]'], ['2', '0.25 [0.2, 0.3]']], 2)
    """
    cells: dict[float, dict[int, str]] = {}
    for column, series in enumerate(figure.series):
        for place, value in enumerate(series.y):
            if isfinite(series.x[place]) and isfinite(value):
                cells.setdefault(series.x[place], {})[column] = _cell(series, place)
    order = sorted(cells)
    fullest = max(map(len, cells.values()), default=0)
    full = [x for x in order if len(cells[x]) == fullest] if len(order) > most else order
    shown = _some(full, most)
    shown = sorted({*shown, *_some([x for x in order if x not in set(full)], most - len(shown))})
    head = [figure.x.words, *(series.label for series in figure.series)]
    body = [[_place(figure.x, x), *(cells[x].get(c, "") for c in range(len(figure.series)))] for x in shown]
    return head, body, len(order)


def number(value: float) -> str:
    """A number in four digits, thousands set apart.

    Examples
    --------
    >>> number(21570.0), number(0.31416), number(2.5e-9), number(-0.0)
    ('21,570', '0.3142', '2.5e-09', '0')
    """
    if value == 0:
        return "0"
    if isfinite(value) and abs(value) < 1e9 and value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _some(values: list[float], most: int) -> list[float]:
    if len(values) <= most:
        return values
    step = (len(values) - 1) / max(1, most - 1)
    return [values[round(place * step)] for place in range(most)]


def _cell(series: Series, place: int) -> str:
    value = number(series.y[place])
    if series.has_interval and series.kind != "histogram":
        value += f" [{number(series.low[place])}, {number(series.high[place])}]"
    return f"{value}, {series.verdicts[place]}" if series.verdicts else value


def _place(axis: Axis, x: float) -> str:
    if axis.categories and x == round(x) and 0 <= x < len(axis.categories):
        return axis.categories[int(x)]
    return number(x)


def _floats(values: Iterable[float | None]) -> tuple[float, ...]:
    return tuple(nan if value is None else float(value) for value in values)
