"""Blocks: what a section of a page is made of, as plain data; one template shows every kind of them.

A page is a list of sections, a section a list of blocks. Nothing here writes markup, so every word is
escaped. On a telephone the rows of a listing become cards, each cell under the word of its column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from tellall.audits.verdict import Answer
from tellall.report.kit.html import fill

__all__ = [
    "Badge",
    "Beside",
    "Block",
    "Box",
    "Bullets",
    "Drawn",
    "Folded",
    "Headed",
    "Line",
    "Listing",
    "Paragraph",
    "Pictures",
    "Preformatted",
    "Section",
    "Shade",
    "Signature",
    "Terms",
    "Tile",
    "Tiles",
    "render_blocks",
    "sections_of",
]

Plain = dict[str, Any]
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Paragraph:
    """Sentences; soft ones are written in a lighter colour."""

    text: str
    soft: bool = False
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Bullets:
    """Sentences under one another."""

    lines: Sequence[str]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Terms:
    """Words with what they mean or what they are; code: the values are written as code."""

    pairs: Sequence[tuple[str, str]]
    code: Sequence[str] = ()
    kind: ClassVar[str] = "terms"


@dataclass(frozen=True)
class Box:
    """An answer in the colour of its kind, with some numbers below it."""

    answer: Answer
    pairs: Sequence[tuple[str, str]] = ()
    large: bool = False
    kind: ClassVar[str] = "box"


@dataclass(frozen=True)
class Badge:
    """A verdict in a cell: "pass", "review" or "fail"."""

    word: str


@dataclass(frozen=True)
class Shade:
    """A cell of words on a shade: "fail", "near" or "far"."""

    text: str
    shade: str


@dataclass(frozen=True)
class Line:
    """A row of a listing: its name, its cells, a note under the name.

    ``whole``: the row sums up the others.
    """

    name: str
    cells: Sequence[str | Badge | Shade]
    note: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Listing:
    """A table. ``label`` says what it is to those who hear the page; ``left`` has the columns of words."""

    label: str
    head: Sequence[str]
    lines: Sequence[Line]
    caption: str = ""
    left: Sequence[str] = ()
    kind: ClassVar[str] = "listing"


@dataclass(frozen=True)
class Drawn:
    """A chart as `laid_out` or `bar_figure` gives it; with its numbers folded away, if it has them."""

    figure: Plain
    titled: bool = True
    kind: ClassVar[str] = "drawn"


@dataclass(frozen=True)
class Pictures:
    """Small charts side by side, each with its numbers folded away."""

    figures: Sequence[tuple[Plain, Listing]]
    kind: ClassVar[str] = "pictures"


@dataclass(frozen=True)
class Preformatted:
    """Text as it is written in a file."""

    label: str
    text: str
    kind: ClassVar[str] = "preformatted"


@dataclass(frozen=True)
class Headed:
    """Some blocks under a heading of their own."""

    heading: str
    blocks: Sequence[Block]
    kind: ClassVar[str] = "headed"


@dataclass(frozen=True)
class Beside:
    """Blocks side by side, where there is room."""

    blocks: Sequence[Block]
    kind: ClassVar[str] = "beside"


@dataclass(frozen=True)
class Folded:
    """Some blocks that are shown once their summary is clicked on."""

    summary: str
    blocks: Sequence[Block]
    kind: ClassVar[str] = "folded"


@dataclass(frozen=True)
class Tile:
    """A question with its short answer; ``to`` is the section that says more."""

    question: str
    answer: str
    lines: Sequence[str] = ()
    to: str = ""


@dataclass(frozen=True)
class Tiles:
    """Questions side by side."""

    tiles: Sequence[Tile]
    kind: ClassVar[str] = "tiles"


@dataclass(frozen=True)
class Signature:
    """Empty lines to be filled in by hand."""

    lines: Sequence[str]
    kind: ClassVar[str] = "signature"


Block = (
    Paragraph
    | Bullets
    | Terms
    | Box
    | Listing
    | Drawn
    | Pictures
    | Preformatted
    | Headed
    | Beside
    | Folded
    | Tiles
    | Signature
)


@dataclass(frozen=True)
class Section(Generic[_Found]):
    """A part of a page: its place in links, its heading, and the function that makes its blocks.

    A section without blocks is not shown. One without a title has no heading and is not in the contents. One
    that is folded shows what it has once its heading is clicked on.
    """

    id: str
    title: str
    blocks: Callable[[_Found], Iterable[Block]]
    folded: bool = False


def sections_of(sections: Sequence[Section[_Found]], found: _Found) -> list[Plain]:
    """The sections of a result that have something to show, as the template needs them."""
    made = [(one, list(one.blocks(found))) for one in sections]
    return [
        {"id": one.id, "title": one.title, "blocks": blocks, "folded": one.folded}
        for one, blocks in made
        if blocks
    ]


def render_blocks(
    sections: Sequence[Section[_Found]],
    found: _Found,
    *,
    title: str,
    heading: str,
    subtitle: str,
    decision: Plain | None = None,
) -> str:
    """A page that is a list of sections, with a decision on top if there is one."""
    return fill(
        "page.html",
        document=found,
        sections=sections_of(sections, found),
        title=title,
        heading=heading,
        subtitle=subtitle,
        decision=decision,
    )
