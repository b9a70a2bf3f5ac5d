"""Finds the tables on a page of cells: parts, titles, notes, and labels that stand for several cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tellall.core.errors import InvalidInput
from tellall.outputs.found import FoundTable, Recorded, Source
from tellall.people.columns import is_missing
from tellall.people.printed_numbers import BLANK, Shown, decimal_sign, shown_of

__all__ = [
    "MOST_CELLS",
    "CellArea",
    "Page",
    "TooLarge",
    "is_note",
    "numbered_place",
    "place_in_lines",
    "tables_on",
]

MOST_CELLS = 200_000  # of a table; more are rows of people
_MOST_HEADS = 8  # header lines
_SURE_ZEROS = 4  # at the ends of a column's numbers, in all: fewer may be chance
_LONG = 40  # letters: a text of this length is no label
_NOTE = re.compile(
    r"(?:note|notes|source|sources|remark|footnote|legend|key|quelle|anm|anmerkung|hinweis|nota|fuente)\b"
    r"|[*†‡§¹²³#]|\(?[a-z0-9]\)|\[\w{1,4}\]|[*cxs.:-]{1,3}\s*[=:]|\d\s+[A-Z]",
    re.IGNORECASE,
)


class TooLarge(InvalidInput):
    """A table with so many cells that it can only be rows of people."""


@dataclass(frozen=True)
class CellArea:
    """A rectangle of cells, its ends included, counted from zero."""

    top: int
    left: int
    bottom: int
    right: int


def _no_place(area: CellArea) -> Source:
    return Source("memory")


def place_in_lines(file: str, numbers: Sequence[int]) -> Callable[[CellArea], Source]:
    """Names places in a text by the numbers of their lines."""

    def place(area: CellArea) -> Source:
        return Source(file, range=f"lines {numbers[area.top]:,} to {numbers[area.bottom]:,}")

    return place


def numbered_place(file: str, number: int) -> Callable[[CellArea], Source]:
    """Names a table of a document by its number."""
    return lambda _: Source(file, range=f"table {number:,}")


def is_note(text: str) -> bool:
    """Whether a text reads like a note under a table.

    Examples
    --------
    >>> is_note("Source: our own"), is_note("* fewer than 5"), is_note("Women")
    (True, True, False)
    """
    return _NOTE.match(text) is not None


@dataclass(frozen=True, eq=False)
class Page:
    """Cells in lines: a sheet, a text cut into columns, or one table of a document.

    Attributes
    ----------
    lines
        The cells, as text or as a spreadsheet holds them; None if empty.
    place
        Names the place of an area of it.
    merged
        Areas of cells merged into one; the first cell holds what they show.
    percent
        Numbers that are shown as percentages, although the cells hold shares.
    title, notes
        What is printed above and below.
    heads, sides
        How many header lines and label columns there are, if known.
    whole
        Whether all of it is one table, whatever lines and columns are empty.
    recorded
        What the program that made it says.
    """

    lines: Sequence[Sequence[Any]]
    place: Callable[[CellArea], Source] = _no_place
    merged: tuple[CellArea, ...] = ()
    percent: frozenset[tuple[int, int]] = frozenset()
    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    heads: int | None = None
    sides: int | None = None
    whole: bool = False
    recorded: Recorded | None = None


def tables_on(page: Page) -> list[FoundTable]:
    """The tables on a page, from top to bottom and from left to right."""
    cells = _Cells(page)
    if not cells.height:
        return []
    if page.whole:
        found = [_framed(_Part(_narrowed(cells, CellArea(0, 0, cells.height - 1, cells.width - 1))), cells)]
    else:
        found = _with_texts(_parts(cells), cells)
    tables = [_table(part, cells) for part in found if cells.is_table(part.area)]
    if len(tables) == 1:
        only = tables[0]
        return [replace(only, title=(*page.title, *only.title), notes=(*only.notes, *page.notes))]
    return [replace(each, title=(*page.title, *each.title)) for each in tables]


class _Cells:
    """The cells of a page as a rectangle, with what each shows."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.height = len(page.lines)
        self.width = max((len(line) for line in page.lines), default=0)
        self.covered: dict[tuple[int, int], tuple[int, int]] = {}
        for area in page.merged:
            self._cover(area)

    def _cover(self, area: CellArea) -> None:
        bottom, right = min(area.bottom, self.height - 1), min(area.right, self.width - 1)
        if (bottom - area.top + 1) * (right - area.left + 1) > MOST_CELLS:
            return
        for row in range(area.top, bottom + 1):
            for column in range(area.left, right + 1):
                self.covered[row, column] = (area.top, area.left)

    def value(self, row: int, column: int) -> Any:
        """What a cell holds, or the first of those that it is merged with."""
        row, column = self.covered.get((row, column), (row, column))
        line = self.page.lines[row]
        return line[column] if column < len(line) else None

    def filled(self, row: int, column: int) -> bool:
        """Whether anything is shown in a cell of its own."""
        if self.covered.get((row, column), (row, column)) != (row, column):
            return False
        value = self.value(row, column)
        return not is_missing(value) and (not isinstance(value, str) or bool(value.strip()))

    def shown(self, row: int, column: int) -> bool:
        """Whether anything is shown there, perhaps by a cell that it is merged with."""
        first = self.covered.get((row, column), (row, column))
        return self.filled(*first)

    def text(self, row: int, column: int) -> str:
        return shown_of(self.value(row, column)).text

    def is_number(self, row: int, column: int) -> bool:
        """Whether a cell of its own holds a number, several, or a mark in place of one."""
        return self.filled(row, column) and shown_of(self.value(row, column)).numeric

    def count(self, row: int, left: int, right: int) -> int:
        """How many cells of a line are filled, up to two."""
        found = 0
        for column in range(left, right + 1):
            found += self.filled(row, column)
            if found == 2:
                break
        return found

    def is_table(self, area: CellArea) -> bool:
        """Whether there are two lines and columns with a number below and right of the first."""
        if area.bottom == area.top or area.right == area.left:
            return False
        return any(
            self._has_number(row, column)
            for row in range(area.top + 1, area.bottom + 1)
            for column in range(area.left + 1, area.right + 1)
        )

    def _has_number(self, row: int, column: int) -> bool:
        if not self.filled(row, column):
            return False
        cell = shown_of(self.value(row, column))
        comma = shown_of(cell.text, ",") if cell.number is None else cell
        return any(each.number is not None or bool(each.parts) for each in (cell, comma))


@dataclass
class _Part:
    """A part of a page: a table, with the texts found around it."""

    area: CellArea
    title: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# Parts: lines between empty lines, cut at empty columns.


def _parts(cells: _Cells) -> list[_Part]:
    """The parts of a page, in order; texts that stand alone are parts of one column."""
    runs = _runs([any(cells.shown(row, j) for j in range(cells.width)) for row in range(cells.height)])
    areas: list[CellArea] = []
    for top, bottom in runs:
        areas += _across(cells, top, bottom)
    return [_Part(area) for area in _joined(areas, cells)]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """The first and last index of each run of true values."""
    found, start = [], None
    for at, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = at
        if not flag and start is not None:
            found.append((start, at - 1))
            start = None
    return found


def _across(cells: _Cells, top: int, bottom: int) -> list[CellArea]:
    """The parts of some lines side by side: empty columns separate tables that have labels of their own.

    Lines with a single cell, titles and notes, count for nothing here.
    """
    rows = [row for row in range(top, bottom + 1) if cells.count(row, 0, cells.width - 1) > 1]
    if not rows:
        return [_narrowed(cells, CellArea(top, 0, bottom, cells.width - 1))]
    columns = _runs([any(cells.shown(row, j) for row in rows) for j in range(cells.width)])
    groups = [columns[0]]
    for left, right in columns[1:]:
        if _stands_alone(cells, rows, left, right) and _stands_alone(cells, rows, *groups[-1]):
            groups.append((left, right))
        else:
            groups[-1] = (groups[-1][0], right)
    if len(groups) == 1:
        return [_narrowed(cells, CellArea(top, 0, bottom, cells.width - 1))]
    ends = [0, *(left for left, _ in groups[1:]), cells.width]
    return [_narrowed(cells, CellArea(top, ends[k], bottom, ends[k + 1] - 1)) for k in range(len(groups))]


def _stands_alone(cells: _Cells, rows: Sequence[int], left: int, right: int) -> bool:
    """Whether some columns are a table of their own: labels in the first, a number right of it."""
    if right == left:
        return False
    below = [row for row in rows[1:] if cells.filled(row, left)]
    labels = sum(not cells.is_number(row, left) for row in below)
    numbers = any(cells.is_number(row, j) for row in rows[1:] for j in range(left + 1, right + 1))
    return numbers and bool(below) and 2 * labels >= len(below)


def _narrowed(cells: _Cells, area: CellArea) -> CellArea:
    """The area without empty lines and columns at its edges."""
    rows = [r for r in range(area.top, area.bottom + 1) if cells.count(r, area.left, area.right)]
    if not rows:
        return area
    columns = [
        j
        for j in range(area.left, area.right + 1)
        if any(cells.shown(row, j) for row in range(rows[0], rows[-1] + 1))
    ]
    return CellArea(rows[0], columns[0], rows[-1], columns[-1])


def _joined(areas: Sequence[CellArea], cells: _Cells) -> list[CellArea]:
    """The areas, header lines joined to what follows one empty line: pandas leaves one below some headers."""
    found: list[CellArea] = []
    for area in areas:
        before = found[-1] if found else None
        if before is not None and area.top - before.bottom == 2 and _heads_only(before, area, cells):
            left, right = min(before.left, area.left), max(before.right, area.right)
            found[-1] = CellArea(before.top, left, area.bottom, right)
        else:
            found.append(area)
    return found


def _heads_only(above: CellArea, below: CellArea, cells: _Cells) -> bool:
    """Whether an area holds header lines of the one below it: two or more, with values as wide."""
    heads = above.bottom - above.top + 1
    if (
        not 2 <= heads <= _MOST_HEADS
        or above.right != below.right
        or below.left not in (above.left, above.left - 1)
    ):
        return False
    names = not cells.is_number(above.bottom, above.left) and not cells.is_number(above.top, above.left)
    merged = any((above.top, j) in cells.covered for j in range(above.left, above.right + 1))
    repeated = (
        len({cells.text(above.top, j) for j in range(above.left, above.right + 1)}) < above.right - above.left
    )
    numbers = all(cells.is_number(below.top, j) for j in range(below.left + 1, below.right + 1))
    labels = not any(cells.is_number(row, above.left) for row in range(above.top, above.bottom + 1))
    return names and labels and numbers and (merged or repeated)


# Titles and notes: lines with a single cell around a table.


def _with_texts(parts: Sequence[_Part], cells: _Cells) -> list[_Part]:
    """The tables among the parts, with titles and notes taken off them and from around them."""
    found: list[_Part] = []
    waiting: list[str] = []
    for part in parts:
        texts = _only_texts(part.area, cells)
        if texts is not None:
            noted = bool(found) and is_note(texts[0])
            (found[-1].notes if noted else waiting).extend(texts)
            continue
        found.append(_framed(part, cells))
        found[-1].title[:0] = waiting
        waiting = []
    if waiting and found:
        found[-1].notes.extend(waiting)
    return found


def _only_texts(area: CellArea, cells: _Cells) -> list[str] | None:
    """The lines of an area with one cell in each and no table; None if there is more."""
    texts = []
    for row in range(area.top, area.bottom + 1):
        shown = [cells.text(row, j) for j in range(area.left, area.right + 1) if cells.filled(row, j)]
        if len(shown) > 1:
            return None
        texts += shown
    return texts


def _framed(part: _Part, cells: _Cells) -> _Part:
    """The part without titles in its first lines and notes in its last."""
    area = part.area
    title: list[str] = []
    notes: list[str] = []
    top, bottom = area.top, area.bottom
    while top < bottom and _is_title(cells, area, top):
        title.append(_line_text(cells, area, top))
        top += 1
    while bottom > top + 1 and _is_note(cells, area, bottom):
        notes.insert(0, _line_text(cells, area, bottom))
        bottom -= 1
    kept = _narrowed(cells, CellArea(top, area.left, bottom, area.right))
    return _Part(kept, [*part.title, *title], [*notes, *part.notes])


def _line_text(cells: _Cells, area: CellArea, row: int) -> str:
    return next(cells.text(row, j) for j in range(area.left, area.right + 1) if cells.filled(row, j))


def _is_title(cells: _Cells, area: CellArea, row: int) -> bool:
    """Whether a line above a table is a title: a single text at its left, over all of it, or long."""
    if cells.count(row, area.left, area.right) != 1:
        return False
    at = next(j for j in range(area.left, area.right + 1) if cells.filled(row, j))
    if cells.is_number(row, at):
        return False
    return at == area.left or len(cells.text(row, at)) > _LONG


def _is_note(cells: _Cells, area: CellArea, row: int) -> bool:
    """Whether a line below a table is a note: a single text that is long or begins like one."""
    if cells.count(row, area.left, area.right) != 1:
        return False
    at = next(j for j in range(area.left, area.right + 1) if cells.filled(row, j))
    text = cells.text(row, at)
    if at > area.left and len(text) <= _LONG:
        return False
    return not cells.is_number(row, at) and (len(text) > _LONG or is_note(text))


# A table: its numbers read with one decimal sign, its labels repeated where they stand for several.


def _table(part: _Part, cells: _Cells) -> FoundTable:
    """The table of a part; refuses one with too many cells."""
    area, page = part.area, cells.page
    inside = range(area.left, area.right + 1)
    rows = [row for row in range(area.top, area.bottom + 1) if any(cells.shown(row, j) for j in inside)]
    columns = [j for j in inside if any(cells.shown(row, j) for row in rows)]
    if len(rows) * len(columns) > MOST_CELLS:
        size = f"{len(rows):,} lines of {len(columns):,} columns"
        raise TooLarge(
            f"{size}, more than the {MOST_CELLS:,} cells of a table: rows of people are not read as one"
        )
    texts = [cells.value(row, j) for row in rows for j in columns]
    sign, sure = decimal_sign(text for text in texts if isinstance(text, str))
    lines = [[_cell(cells, row, j, sign) for j in columns] for row in rows]
    heads = None if page.heads is None else sum(row < page.heads for row in rows)
    sides = None if page.sides is None else sum(column < page.sides for column in columns)
    _spread(lines, heads, sides)
    _coarsen(lines)
    return FoundTable(
        page.place(area),
        tuple(map(tuple, lines)),
        tuple(part.title),
        tuple(part.notes),
        heads,
        sides,
        sign,
        sure,
        page.recorded,
    )


def _coarsen(lines: list[list[Shown]]) -> None:
    """Widens the steps of columns whose numbers all end in zeros behind the decimal sign.

    Programs fill numbers up to six decimals that were rounded to one before: 30.400000 is exact to .1.
    """
    for column in range(len(lines[0])):
        places = [(row, _ending_zeros(line[column])) for row, line in enumerate(lines)]
        decimals = [(row, zeros) for row, zeros in places if zeros is not None]
        zeros = min((zeros for _, zeros in decimals), default=0)
        if zeros < 2 or zeros * len(decimals) < _SURE_ZEROS:
            continue
        for row, _ in decimals:
            cell = lines[row][column]
            assert cell.step is not None
            lines[row][column] = replace(cell, step=float(f"{cell.step * 10.0**zeros:.3g}"))


def _ending_zeros(cell: Shown) -> int | None:
    """How many zeros end the decimals of a number; None if it has none."""
    if (
        cell.number is None
        or cell.parts
        or cell.step is None
        or not 0 < cell.step < 1
        or "e" in cell.text.lower()
    ):
        return None
    places = round(-math.log10(cell.step))
    digits = "".join(letter for letter in cell.text if letter.isdigit())
    decimals = digits[-places:]
    return places - len(decimals.rstrip("0"))


def _cell(cells: _Cells, row: int, column: int, sign: str) -> Shown:
    first = cells.covered.get((row, column), (row, column))
    shown = shown_of(cells.value(row, column), sign)
    if first in cells.page.percent and shown.number is not None and shown.step is not None:
        number, step = 100 * shown.number, 100 * shown.step
        text = f"{float(f'{number:.15g}'):.15g}%"
        shown = Shown(text, float(f"{number:.15g}"), float(f"{step:.3g}"), percent=True)
    return shown if first == (row, column) or shown is BLANK else shown.as_continued()


def _spread(lines: list[list[Shown]], heads: int | None, sides: int | None) -> None:
    """Repeats labels over the empty cells that they stand for, as far as the layout says so."""
    if len(lines) < 2 or len(lines[0]) < 2:
        return
    first = _first_of_body(lines) if heads is None else heads
    labels = _label_columns(lines, first) if sides is None else sides
    _spread_down(lines, first, labels)
    _spread_right(lines, first, max(labels, 1))


def _first_of_body(lines: Sequence[Sequence[Shown]]) -> int:
    """The first line with numbers in most of its filled cells right of the first."""
    for at, line in enumerate(lines[: _MOST_HEADS + 1]):
        rest = [cell for cell in line[1:] if not cell.blank and not cell.continued]
        if rest and 2 * sum(cell.numeric for cell in rest) > len(rest) and (at or _has_label(line)):
            return at
    return 1


def _has_label(line: Sequence[Shown]) -> bool:
    return not line[0].blank and not line[0].numeric


def _label_columns(lines: Sequence[Sequence[Shown]], first: int) -> int:
    """How many columns at the left hold texts below the header lines."""
    width = len(lines[0])
    for column in range(width - 1):
        filled = [line[column] for line in lines[first:] if not line[column].blank]
        if filled and 2 * sum(cell.numeric for cell in filled) > len(filled):
            return column
    return width - 1


def _spread_down(lines: list[list[Shown]], first: int, labels: int) -> None:
    """Fills empty labels from the line above: in the first column, in others where those before repeat."""
    for row in range(first + 1, len(lines)):
        line, above = lines[row], lines[row - 1]
        for column in range(max(labels - 1, 1)):
            if not line[column].blank:
                if line[column].continued:
                    continue
                break
            before = column == 0 or line[column - 1].continued
            after = any(not cell.blank for cell in line[column + 1 :])
            if not before or not after or above[column].blank or (column and line[column + 1].blank):
                break
            line[column] = above[column].as_continued()


def _spread_right(lines: list[list[Shown]], first: int, left: int) -> None:
    """Fills empty headers from the left where a line below has a label for both."""
    for row in range(min(first, len(lines)) - 1):
        line, below = lines[row], lines[row + 1]
        for column in range(left + 1, len(line)):
            before = line[column - 1]
            if (
                line[column].blank
                and not before.blank
                and not below[column].blank
                and not below[column - 1].blank
            ):
                line[column] = before.as_continued()
