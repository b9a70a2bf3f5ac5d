"""How an attack works, drawn: cells become equations, equations become one invented person's secret.

The three people are invented and always the same, so nothing about a person in the data can be seen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tellall.audits.document import AuditDocument
from tellall.report.kit.blocks import Block, Drawn, Paragraph
from tellall.report.kit.marks import LINE, SLIM, WIDTH, Chart, Mark, element, stroke, written

__all__ = ["COUNTS", "GROUPS", "PEOPLE", "SUMS", "Example", "draw_example", "worked_blocks"]

PEOPLE = (("Ada", "woman, north"), ("Bea", "woman, south"), ("Cai", "man, south"))
GROUPS = (("women", (0, 1)), ("south", (1, 2)), ("everybody", (0, 1, 2)))
_HIDDEN = ("men", "north")
_ROW = 24.0
_PAD = 12.0
_GAP = 40.0


@dataclass(frozen=True)
class Example:
    """What is published about the three, and how it is told."""

    word: str
    title: str
    caption: str
    secrets: tuple[int, ...]
    bits: bool = True

    @property
    def cells(self) -> tuple[int, ...]:
        """The published number of each group."""
        return tuple(sum(self.secrets[i] for i in who) for _, who in GROUPS)

    def solution(self) -> tuple[int, ...]:
        """The secrets, worked out from the published numbers alone.

        Examples
        --------
        >>> COUNTS.solution(), SUMS.solution()
        ((1, 0, 1), (21, 34, 52))
        """
        among = np.array([[float(i in who) for i in range(len(PEOPLE))] for _, who in GROUPS])
        found = np.linalg.solve(among, np.array(self.cells, dtype=float))
        return tuple(round(float(one)) for one in found)

    def told(self, secret: int) -> str:
        """A secret in words."""
        return ("not ill", "ill")[secret] if self.bits else f"{secret}"

    def published(self) -> str:
        """The published numbers in words."""
        return ", ".join(f"{name} {cell}" for (name, _), cell in zip(GROUPS, self.cells, strict=True))


COUNTS = Example(
    "ill",
    "Three published counts, one secret",
    "Ada, Bea and Cai are invented. How many are ill is published: {}. Counts of one person are hidden, as a "
    "rule for small cells demands. The other counts are equations about who is ill, and they have one "
    "solution: two people are ill, one of them is a woman, so the only man is ill.",
    (1, 0, 1),
)
SUMS = Example(
    "income",
    "Three published sums, one income",
    "Ada, Bea and Cai are invented. Sums of incomes are published: {}. Sums of one person are hidden, as a "
    "rule for small cells demands. The other sums are equations about incomes, and they have one solution: "
    "together they earn 107, the women 55 of it, so the only man earns 52.",
    (21, 34, 52),
    bits=False,
)


def worked_blocks(document: AuditDocument) -> Iterator[Block]:
    """The drawn example, and how large the same thing was in this audit."""
    example = SUMS if document.real else COUNTS
    charts = (draw_example(example, WIDTH), draw_example(example, SLIM))
    caption = example.caption.format(example.published())
    yield Drawn({"title": example.title, "caption": caption, "charts": charts}, titled=False)
    found = next((one for one in document.findings if one.name == document.worst), None)
    known = None if found is None or found.summary is None else found.summary.foreseen
    if known is not None:
        yield Paragraph(
            f"The attack on “{document.worst}” did the same with {known.equations:,} equations about "
            f"{known.people:,} people. Noise makes equations uncertain; many uncertain equations together "
            "can still leave one answer that is far more likely than the others."
        )


def draw_example(example: Example, width: float) -> Chart:
    """Three panels: the published numbers, the equations, the secret; under one another if it is narrow."""
    narrow = width < WIDTH
    wide = width - 2 if narrow else (width - 2 * _GAP - 2) / 3
    panels = (
        ("1  What is published", _published(example)),
        ("2  What that says", _equations(example)),
        ("3  What follows", _solved(example)),
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


def _published(example: Example) -> list[tuple[str, str, str]]:
    shown = [
        (f"{example.word}, {name}", f"{cell}", "")
        for (name, _), cell in zip(GROUPS, example.cells, strict=True)
    ]
    return [*shown, *((f"{example.word}, {name}", "hidden", "soft-word") for name in _HIDDEN)]


def _equations(example: Example) -> list[tuple[str, str, str]]:
    return [
        (" + ".join(PEOPLE[i][0] for i in who), f"= {cell}", "")
        for (_, who), cell in zip(GROUPS, example.cells, strict=True)
    ]


def _solved(example: Example) -> list[tuple[str, str, str]]:
    solution = zip(PEOPLE, example.solution(), strict=True)
    return [(f"{name} ({what})", example.told(secret), "strong") for (name, what), secret in solution]


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
