"""Tables in Markdown, whose cells are separated by bars, and tables in HTML inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tellall.outputs.delimited import LARGEST_TEXT
from tellall.outputs.html_tables import pages_of_html
from tellall.outputs.layout import CellArea, Page, is_note, place_in_lines
from tellall.people.sheets import read_text_of

__all__ = ["bar_tables", "read_markdown"]

_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:[|+]\s*:?-+:?\s*)*[|+]?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1|(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])")
_NEAR = 2  # lines above a table in which its title stands


def read_markdown(file: Path, name: str) -> Iterator[Page]:
    """Yields a page for every table of a Markdown file."""
    text = read_text_of(file, LARGEST_TEXT)
    lines = text.splitlines()
    for first, last in bar_tables(lines):
        yield page_of_bars(lines, first, last, name)
    if "<table" in text.lower():
        yield from pages_of_html(text, name)


def bar_tables(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The first and last line of each table whose second line is a rule with bars."""
    found = []
    at = 1
    while at < len(lines):
        if "|" in lines[at] and _RULE.fullmatch(lines[at]) and "|" in lines[at - 1]:
            last = at
            while last + 1 < len(lines) and "|" in lines[last + 1] and lines[last + 1].strip():
                last += 1
            found.append((at - 1, last))
            at = last
        at += 1
    return found


def page_of_bars(lines: Sequence[str], first: int, last: int, name: str) -> Page:
    """The page of a table in some lines."""
    inside = [k for k in range(first, last + 1) if not _RULE.fullmatch(lines[k])]
    cells = [_cells(lines[k]) for k in inside]
    above = [lines[k] for k in range(max(first - _NEAR, 0), first) if lines[k].strip()]
    below = [line for line in lines[last + 1 : last + 1 + _NEAR] if line.strip()]
    words = _plain(above[-1].lstrip("#: ")) if above and "|" not in above[-1] else ""
    title = (words,) if words and not is_note(words) else ()
    notes = (_plain(below[0]),) if below and is_note(_plain(below[0])) else ()
    place = place_in_lines(name, [k + 1 for k in range(len(lines))])
    whole = CellArea(first, 0, last, 0)
    return Page(cells, lambda _: place(whole), title=title, notes=notes, heads=1, whole=True)


def _cells(line: str) -> list[str]:
    cells = [_plain(cell.replace("\\|", "|")) for cell in _BAR.split(line.strip())]
    start = 1 if line.strip().startswith("|") else 0
    end = -1 if _BAR.split(line.strip())[-1] == "" else None
    return cells[start:end]


def _plain(text: str) -> str:
    """Text without marks for bold and slanted letters."""
    bare = _STRONG.sub(lambda found: found[2] or found[3], text.strip())
    return bare.replace("`", "").replace("&nbsp;", " ").replace("<br>", " ").strip()
