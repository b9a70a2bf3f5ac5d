"""Headings: the line of a table that names its columns, and titles above it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

__all__ = ["LOOKED_AT", "header_index", "skipped_words"]

LOOKED_AT = 60  # lines in which the header is looked for
_MOST_TITLES = 20  # lines above it
_REMARK = "#"
_DELIMITER = "sep="  # how a spreadsheet names the delimiter, in a line of its own


def header_index(lines: Sequence[Sequence[str]]) -> int:
    """The index of the line that names the columns: the first, unless those above it are titles.

    Notes
    -----
    A title is a line with a single cell filled, an empty one or a remark, above a line that names as many
    columns as the table below it has. Of two columns the title is above an empty line or begins with "#",
    since a header that names one of two columns looks the same. What is in doubt is the header, so that no
    person is taken for a heading.

    Examples
    --------
    >>> table = [["age", "sex", "ill"], ["31", "f", "0"], ["45", "m", "1"]]
    >>> header_index(table), header_index([["Patients of 2019"], [], *table])
    (0, 2)
    >>> header_index([["age", "ill"], ["", "31", "0"]])
    0
    """
    width = _width(lines[1:])
    if width < 2:
        return 0
    found = next((k for k, line in enumerate(lines) if _names(line) and len(_trimmed(line)) == width), 0)
    above = [_trimmed(line) for line in lines[:found]]
    if not any(above) or not all(map(_is_title, above)) or found > _MOST_TITLES:
        return 0
    sure = width > 2 or any(not line or _is_mark(line[0]) for line in above)
    return found if sure else 0


def skipped_words(header: int) -> str:
    """A sentence on the lines above the header, which is in this line; empty if there are none."""
    if header == 1:
        return ""
    above = "Line 1 above it was" if header == 2 else f"Lines 1 to {header - 1:,} above it were"
    return f" {above} taken for a title and skipped."


def _width(lines: Sequence[Sequence[str]]) -> int:
    """How many cells most lines have; the larger number if two are as common."""
    widths = [len(_trimmed(line)) for line in lines if any(text.strip() for text in line)]
    return max(widths, key=lambda width: (widths.count(width), width), default=0)


def _trimmed(line: Sequence[str]) -> list[str]:
    """The cells of a line without the empty ones at its end."""
    return list(dropwhile(lambda text: not text.strip(), reversed(line)))[::-1]


def _names(line: Sequence[str]) -> bool:
    """Whether every cell but perhaps the first, over row names, is filled, and more than one."""
    cells = _trimmed(line)
    return len(cells) > 1 and all(text.strip() for text in cells[1:])


def _is_title(cells: Sequence[str]) -> bool:
    return sum(bool(text.strip()) for text in cells) <= 1 or _is_mark(cells[0])


def _is_mark(text: str) -> bool:
    return text.startswith(_REMARK) or text.lower().startswith(_DELIMITER)
