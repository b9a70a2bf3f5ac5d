"""How an attack works, drawn: cells become equations, equations become one invented person's secret.

The three people are invented and always the same, so that nothing of a person of the data can be seen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from tellall.report.blocks import Block, Drawn, Paragraph
from tellall.report.marks import LINE, SLIM, WIDTH, Chart, Mark, element, stroke, written

__all__ = ["CELLS", "PEOPLE", "Cell", "consistent", "draw_example", "worked_blocks"]

Cell = tuple[str, tuple[int, ...], int]
PEOPLE = (("Ada", "woman, north"), ("Bea", "woman, south"), ("Cai", "man, south"))
_ILL = (1, 0, 1)
_GROUPS = (("women", (0, 1)), ("south", (1, 2)), ("everybody", (0, 1, 2)))
CELLS: tuple[Cell, ...] = tuple((name, who, sum(_ILL[i] for i in who)) for name, who in _GROUPS)
_HIDDEN = ("men", "north")
_TITLE = "Three published counts, one secret"
_COUNTED = ", ".join(f"{name} {count}" for name, _, count in CELLS)
_CAPTION = (
    f"Ada, Bea and Cai are invented. Published is how many are ill: {_COUNTED}. Counts of one person are "
    "hidden, as a rule of small cells asks. The other counts are equations about who is ill, and they have "
    "one solution: two people are ill, one of them is a woman, so the only man is ill."
)
_ROW, _PAD, _GAP = 24.0, 12.0, 40.0


def consistent() -> list[tuple[int, ...]]:
    """Every way in which the three can be ill that agrees with the published counts.

    Examples
    --------
    >>> consistent()
    [(1, 0, 1)]
    """
    ways = product((0, 1), repeat=len(PEOPLE))
    return [ill for ill in ways if all(sum(ill[i] for i in who) == count for _, who, count in CELLS)]


def worked_blocks(document: dict[str, Any]) -> Iterator[Block]:
    """The drawn example, and how large the same thing was in this audit."""
    figure = {"title": _TITLE, "caption": _CAPTION, "charts": (draw_example(WIDTH), draw_example(SLIM))}
    yield Drawn(figure, titled=False)
    found = next((one for one in document["findings"] if one["name"] == document["worst"]), None)
    known = None if found is None else found["summary"].get("foreseen")
    if known is not None:
        yield Paragraph(
            f"The attack on “{document['worst']}” did the same with {known['equations']:,} equations about "
            f"{known['people']:,} people. Noise makes equations uncertain; many uncertain equations together "
            "can still leave one answer that is far more likely than the others."
        )


def draw_example(width: float) -> Chart:
    """Three panels: the published counts, the equations, the secret; under one another if it is narrow."""
    (ill,) = consistent()
    narrow = width < WIDTH
    wide = width - 2 if narrow else (width - 2 * _GAP - 2) / 3
    panels = (
        ("1  What is published", _published()),
        ("2  What that says", _equations()),
        ("3  What follows", _solved(ill)),
    )
    height = _PAD + LINE + _PAD + _ROW * max(len(rows) for _, rows in panels)
    marks: list[Mark] = []
    for index, (title, rows) in enumerate(panels):
        left = 1.0 if narrow else 1 + index * (wide + _GAP)
        top = 1 + index * (height + _GAP) if narrow else 1.0
        marks += _panel(left, top, wide, height, title, rows)
        if index:
            marks.append(
                _arrow(left + wide / 2, top - _GAP, down=True)
                if narrow
                else _arrow(left - _GAP, top + height / 2)
            )
    return Chart(width, 3 * height + 2 * _GAP + 2 if narrow else height + 2, tuple(marks))


def _published() -> list[tuple[str, str, str]]:
    shown = [(f"ill, {name}", f"{count}", "") for name, _, count in CELLS]
    return [*shown, *((f"ill, {name}", "hidden", "soft-word") for name in _HIDDEN)]


def _equations() -> list[tuple[str, str, str]]:
    return [(" + ".join(PEOPLE[i][0] for i in who), f"= {count}", "") for _, who, count in CELLS]


def _solved(ill: Sequence[int]) -> list[tuple[str, str, str]]:
    words = ("not ill", "ill")
    return [(f"{name} ({what})", words[ill[i]], "strong") for i, (name, what) in enumerate(PEOPLE)]


def _panel(
    left: float, top: float, wide: float, height: float, title: str, rows: Sequence[tuple[str, str, str]]
) -> Iterator[Mark]:
    yield element("rect", "panel", x=left, y=top, width=wide, height=height, rx=8)
    yield written("strong", left + _PAD, top + _PAD + LINE - 4, title)
    for index, (words, value, kind) in enumerate(rows):
        at = top + _PAD + LINE + _ROW * (index + 1) - 4
        yield stroke("grid", left + _PAD, at - 17, left + wide - _PAD, at - 17)
        yield written(kind if kind == "soft-word" else "", left + _PAD, at, words)
        yield written(f"end {kind}".strip(), left + wide - _PAD, at, value)


def _arrow(x: float, y: float, down: bool = False) -> Mark:
    if down:
        return element("path", "arrow", d=f"M{x - 1:g} {y + 6:g}h2v{_GAP - 22:g}h6l-7 10l-7 -10h6z")
    return element("path", "arrow", d=f"M{x + 6:g} {y - 1:g}v2h{_GAP - 22:g}v6l10 -7l-10 -7v6z")
