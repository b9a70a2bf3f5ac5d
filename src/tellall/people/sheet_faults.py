"""What a sheet holds that a plain reading of its cells would lose or change without a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO
from xml.etree import ElementTree

__all__ = ["SheetFaults", "column_number", "faults_of"]

_CELL = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")


@dataclass(frozen=True)
class SheetFaults:
    """Faults of a sheet.

    Attributes
    ----------
    unread
        Why some of its cells cannot be read, in a sentence; empty if all can.
    merged
        The cells merged into one, as in ``A2:A5``; only the first of them holds the value.
    hidden
        How many of its lines are hidden.
    """

    unread: str = ""
    merged: tuple[str, ...] = ()
    hidden: int = 0


def faults_of(source: IO[bytes]) -> SheetFaults:
    """The faults of a sheet, from its XML, which is read once and not kept.

    Notes
    -----
    A reader of sheets takes lines and cells in the order of their numbers: one whose number does not grow
    would be left out or take the place of another. A formula that was never computed has no value to read.
    """
    unread = ""
    merged = []
    hidden = 0
    line = 0
    for _, element in ElementTree.iterparse(source):
        tag = element.tag.rpartition("}")[2]
        if tag == "mergeCell":
            merged.append(element.get("ref", ""))
        if tag == "row":
            said = element.get("r", str(line + 1))
            before, line = line, int(float(said))
            if line <= before:
                unread = unread or f"Line {line:,} comes after line {before:,}."
            unread = unread or _unread_cell(element, line)
            hidden += element.get("hidden") in ("1", "true")
        if tag in ("row", "mergeCell"):
            element.clear()
    return SheetFaults(unread, tuple(merged), hidden)


def _unread_cell(row: ElementTree.Element, line: int) -> str:
    """Why a cell of a line cannot be read, in a sentence; empty if all can."""
    column = 0
    for cell in row:
        parts = {part.tag.rpartition("}")[2]: part for part in cell}
        where = cell.get("r")
        before, column = column, column + 1
        if where is not None:
            place = _CELL.fullmatch(where.upper())
            if place is None or int(place[2]) != line:
                return f"Line {line:,} holds a cell of another line."
            column = column_number(place[1])
        if column <= before:
            return f"Line {line:,} holds a cell twice, or out of order."
        value = parts.get("v")
        nothing = value is None or (not value.text and cell.get("t") != "str")
        if "f" in parts and nothing and "is" not in parts:
            return f"Line {line:,} holds a formula without a value. Open it in a spreadsheet and save it."
    return ""


def column_number(letters: str) -> int:
    """The number of a column.

    Examples
    --------
    >>> column_number("A"), column_number("Z"), column_number("AA"), column_number("XFD")
    (1, 26, 27, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
