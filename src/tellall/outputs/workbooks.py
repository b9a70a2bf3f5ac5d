"""Tables on the sheets of a workbook: values only, merged cells, several tables on a sheet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tellall.core.not_done import NotDone
from tellall.core.text import one_line
from tellall.outputs.found import Source
from tellall.outputs.layout import MOST_CELLS, CellArea, Page
from tellall.outputs.output_folder import not_read
from tellall.people.sheet_faults import column_number
from tellall.people.sheets import read_book

__all__ = ["area_of", "column_letters", "read_workbook"]

_RANGE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})(?::([A-Z]{1,3})([1-9]\d{0,6}))?")


def read_workbook(file: Path, name: str) -> Iterator[Page | NotDone]:
    """Yields a page for every sheet with something in it, or why it cannot be read."""
    for sheet in read_book(file, MOST_CELLS):
        if sheet.unread:
            yield not_read(str(Source(name, one_line(sheet.name))), one_line(sheet.unread, 300))
        elif any(value is not None for line in sheet.lines for value in line):
            merged = tuple(area for text in sheet.merged for area in [area_of(text)] if area is not None)
            place = _place_on(name, one_line(sheet.name))
            yield Page(sheet.lines, place, merged, sheet.percent)


def _place_on(file: str, sheet: str) -> Callable[[CellArea], Source]:
    def place(area: CellArea) -> Source:
        first = f"{column_letters(area.left)}{area.top + 1}"
        return Source(file, sheet, f"{first}:{column_letters(area.right)}{area.bottom + 1}")

    return place


def column_letters(index: int) -> str:
    """The letters of a column, counted from zero.

    Examples
    --------
    >>> column_letters(0), column_letters(25), column_letters(26), column_letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def area_of(text: str) -> CellArea | None:
    """The area that a range such as "B3:F12" names; None if it names none.

    Examples
    --------
    >>> area_of("B3:F12")
    CellArea(top=2, left=1, bottom=11, right=5)
    """
    found = _RANGE.fullmatch(text.upper().replace("$", ""))
    if found is None:
        return None
    left, top = column_number(found[1]) - 1, int(found[2]) - 1
    right = column_number(found[3]) - 1 if found[3] else left
    bottom = int(found[4]) - 1 if found[4] else top
    return CellArea(top, left, bottom, right) if top <= bottom and left <= right else None
