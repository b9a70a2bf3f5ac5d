"""Tables in HTML: cells over several lines and columns, captions, footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellall.core.errors import invalid
from tellall.core.text import said_safely
from tellall.outputs.delimited import LARGEST_TEXT
from tellall.outputs.layout import MOST_CELLS, CellArea, Page, TooLarge, is_note, numbered_place
from tellall.people.sheets import read_text_of

__all__ = ["page_of_spans", "pages_of_html", "read_html"]

_DEEPEST = 200  # elements within each other
_WIDEST = 2000  # columns that a cell may span
_TITLES = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "figcaption"}
_LONGEST = 300  # letters of a title
_DIGIT = re.compile(r"[\d.,%)]\s*$")


def read_html(file: Path, name: str) -> Iterator[Page]:
    """Yields a page for every table of an HTML file that holds no other table; scripts are never run."""
    yield from pages_of_html(read_text_of(file, LARGEST_TEXT), name)


def pages_of_html(text: str, name: str) -> Iterator[Page]:
    """Yields a page for every table in a text of HTML."""
    import lxml.etree
    import lxml.html

    if not text.strip():
        return
    parser = lxml.html.HTMLParser(
        encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", errors="replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError) as error:
        why = f"lxml failed with {said_safely(error)}."
        raise invalid("table", "readable HTML", name, why) from None
    number = 0
    for table in tree.iter("table"):
        if next(table.iterdescendants("table"), None) is None:
            number += 1
            yield _page(table, name, number)


def _page(table: Any, name: str, number: int) -> Page:
    rows: list[list[tuple[str, int, int]]] = []
    title: list[str] = []
    heads = 0
    for line in table.iter("tr", "caption"):
        if line.tag == "caption":
            title.append(_text(line))
            continue
        cells = [cell for cell in line if cell.tag in ("td", "th")]
        above = line.getparent().tag == "thead" or (bool(cells) and all(cell.tag == "th" for cell in cells))
        if above and heads == len(rows):
            heads += 1
        rows.append([(_text(cell), _span(cell, "rowspan"), _span(cell, "colspan")) for cell in cells])
    if not title:
        title = _before(table)
    return page_of_spans(
        rows,
        place=numbered_place(name, number),
        title=tuple(filter(None, title)),
        notes=tuple(_after(table)),
        heads=heads or None,
    )


def page_of_spans(rows: list[list[tuple[str, int, int]]], **about: Any) -> Page:
    """A page of lines of cells, each with its text, how many lines it covers and how many columns."""
    lines: list[list[str | None]] = [[] for _ in rows]
    merged: list[CellArea] = []
    taken: set[tuple[int, int]] = set()
    filled = 0
    for row, cells in enumerate(rows):
        column = 0
        for text, down, across in cells:
            while (row, column) in taken:
                column += 1
            bottom = min(row + max(down, 1), len(rows)) - 1
            right = column + max(across, 1) - 1
            filled += (bottom - row + 1) * (right - column + 1)
            if filled > MOST_CELLS:
                raise TooLarge(f"more than {MOST_CELLS:,} cells: rows of people are not read as a table")
            lines[row] += [None] * (column - len(lines[row]))
            lines[row].append(text)
            if bottom > row or right > column:
                merged.append(CellArea(row, column, bottom, right))
                taken |= {(i, j) for i in range(row, bottom + 1) for j in range(column, right + 1)}
            column = right + 1
        lines[row] += [None] * (column - len(lines[row]))
    return Page(lines, merged=tuple(merged), whole=True, **about)


def _span(cell: Any, key: str) -> int:
    text = str(cell.get(key, "1")).strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    if number == 0:
        return _WIDEST if key == "rowspan" else 1
    return min(number, _WIDEST)


def _text(element: Any) -> str:
    """The text of an element on one line; raised marks behind a number are put in square brackets."""
    pieces: list[str] = []
    _gather(element, pieces, 0)
    return " ".join("".join(pieces).split())


def _gather(element: Any, pieces: list[str], depth: int) -> None:
    if depth > _DEEPEST or element.tag in ("script", "style"):
        return
    raised = element.tag == "sup" and bool(pieces) and _DIGIT.search(pieces[-1]) is not None
    start = len(pieces)
    pieces.append(element.text or "")
    for child in element:
        if child.tag in ("br", "p", "div", "li"):
            pieces.append(" ")
        _gather(child, pieces, depth + 1)
        pieces.append(child.tail or "")
    if raised:
        inside = "".join(pieces[start:]).strip()
        pieces[start:] = [f"[{inside}]" if inside.isalnum() else inside]


def _before(table: Any) -> list[str]:
    """The heading or the short text directly before a table."""
    element = table
    for _ in range(3):  # tables are often wrapped
        previous = element.getprevious()
        if previous is not None:
            if previous.tag in _TITLES and next(previous.iter("table"), None) is None:
                text = _text(previous)
                return [text] if 0 < len(text) <= _LONGEST else []
            return []
        element = element.getparent()
        if element is None or element.tag not in ("div", "figure", "section"):
            return []
    return []


def _after(table: Any) -> list[str]:
    """The texts directly after a table that read like notes."""
    following = table.getnext()
    if following is None or following.tag not in ("p", "small", "figcaption"):
        return []
    text = _text(following)
    return [text] if is_note(text) and len(text) <= _LONGEST else []
