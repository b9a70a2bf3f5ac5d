"""Grids: printed tables as laid out on paper, with labelled rows and columns, before they are interpreted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.columns import is_missing
from tellall.people.labels import label_text

__all__ = ["TOTALS", "Grid", "as_number", "grid_of_frame", "grid_of_rows", "last_digit"]

TOTALS = ("all", "total", "totals", "sum", "margin", "grand total", "(all)", "overall")
_HIDDEN = ("", "x", "xx", "*", "**", "c", "[c]", "(c)", "s", "[x]", ":", ".", "..", "...", "-", "–", "—")
_LARGEST = 1_000_000  # cells

Line = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """A printed table.

    Attributes
    ----------
    names
        The variables of the rows and then of the columns; None if a header gives no name.
    rows, columns
        For each row or column, its label of each variable.
    values
        Rows × columns, NaN if nothing is shown.
    """

    names: tuple[str | None, ...]
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    values: Array

    @property
    def down(self) -> int:
        """How many of the variables label the rows."""
        return len(self.rows[0]) if self.rows else 0

    def labels(self, variable: int) -> list[str]:
        """The labels of one variable, each once, in the order of the table."""
        lines, at = (self.rows, variable) if variable < self.down else (self.columns, variable - self.down)
        return list(dict.fromkeys(line[at] for line in lines))

    def renamed(self, variable: int, words: Mapping[str, str]) -> Grid:
        """The same with other words for the labels of one variable."""
        down = self.down

        def told(line: Line, at: int) -> Line:
            return tuple(words.get(label, label) if k == at else label for k, label in enumerate(line))

        if variable < down:
            return replace(self, rows=tuple(told(line, variable) for line in self.rows))
        return replace(self, columns=tuple(told(line, variable - down) for line in self.columns))

    def summed(self, variable: int, words: Mapping[str, str]) -> Grid:
        """The same with other words for labels of one variable, cells with equal labels added up."""
        grid = self.renamed(variable, words)
        (rows, row), (columns, column) = _places(grid.rows), _places(grid.columns)
        values = np.zeros((len(rows), len(columns)))
        np.add.at(values, np.ix_(row, column), grid.values)
        return Grid(grid.names, tuple(rows), tuple(columns), values)

    def without(self, variable: int) -> Grid:
        """The same without one variable, which should have a single label."""
        names = self.names[:variable] + self.names[variable + 1 :]
        if variable < self.down:
            return replace(self, names=names, rows=tuple(_drop(line, variable) for line in self.rows))
        at = variable - self.down
        return replace(self, names=names, columns=tuple(_drop(line, at) for line in self.columns))

    def only(self, variable: int, label: str) -> Grid:
        """The rows or columns with one label of a variable, without that variable."""
        inside = variable < self.down
        at = variable if inside else variable - self.down
        every = (list(range(len(self.rows))), list(range(len(self.columns))))
        lines = [k for k, line in enumerate(self.rows if inside else self.columns) if line[at] == label]
        return self.take(*((lines, every[1]) if inside else (every[0], lines))).without(variable)

    def named(self, variable: int, name: str) -> Grid:
        """The same with a name for a variable."""
        return replace(self, names=(*self.names[:variable], name, *self.names[variable + 1 :]))

    def without_totals(self) -> Grid:
        """The same without rows and columns of totals."""
        rows, columns = (
            [k for k, line in enumerate(lines) if not any(label.lower() in TOTALS for label in line)]
            for lines in (self.rows, self.columns)
        )
        return self.take(rows, columns)

    def take(self, rows: Sequence[int], columns: Sequence[int]) -> Grid:
        """Some of the rows and columns, by index."""
        return Grid(
            self.names,
            tuple(self.rows[i] for i in rows),
            tuple(self.columns[j] for j in columns),
            self.values[np.ix_(list(rows), list(columns))],
        )


def _places(lines: Sequence[Line]) -> tuple[list[Line], list[int]]:
    """The different lines, and for each line its place among them."""
    different = list(dict.fromkeys(lines))
    return different, [different.index(line) for line in lines]


def _drop(line: Line, at: int) -> Line:
    return line[:at] + line[at + 1 :]


def grid_of_frame(frame: Any) -> Grid:
    """The grid of a pandas crosstab, pivot table, or series of counts."""
    index = getattr(frame, "index", None)
    if index is None or not hasattr(index, "names") or isinstance(frame, Mapping):
        raise invalid("frame", "a pandas crosstab or pivot table", type(frame).__name__)
    columns = getattr(frame, "columns", None)
    names = [*index.names, *(columns.names if columns is not None else ())]
    rows = tuple(map(_line, index))
    across = ((),) if columns is None else tuple(map(_line, columns))
    if not rows or not across or len(rows) * len(across) > _LARGEST:
        size = f"{len(rows)} × {len(across)} cells"
        raise invalid("frame", f"a table of 1 to {_LARGEST:,} cells", size)
    try:
        values = np.asarray(frame.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid("frame", "a table of numbers, missing where hidden", "text in its cells") from None
    if np.isinf(values).any():
        raise invalid("frame", "a table of finite numbers", "an infinite one")
    said = tuple(None if name is None else str(name) for name in names)
    return Grid(said, rows, across, values.reshape(len(rows), len(across)))


def _line(label: Any) -> Line:
    return tuple(map(label_text, label)) if isinstance(label, tuple) else (label_text(label),)


def as_number(text: str) -> float | None:
    """The number in a cell, NaN if it is hidden, None if the cell holds anything else.

    Examples
    --------
    >>> as_number("1,234"), as_number("12.5 %"), as_number("<10"), as_number("north")
    (1234.0, 12.5, nan, None)
    """
    plain = _without_marks(text)
    if plain.lower() in _HIDDEN or plain.lower() == "nan" or re.fullmatch(r"[<≤]\s*\d+", plain):
        return float("nan")
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", plain) is None:
        return None
    number = float(plain)
    return number if np.isfinite(number) else None


def _without_marks(text: str) -> str:
    """The text of a number without a percent sign and without commas that mark thousands."""
    plain = text.strip().removesuffix("%").strip()
    return plain.replace(",", "") if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", plain) else plain


def last_digit(value: Any) -> float:
    """One unit of the last digit of a printed number; NaN if it is none.

    A number that is not text no longer shows how it was printed. Zeros at its end do not count then, so that
    the unit is not finer than it was.

    Examples
    --------
    >>> last_digit("12.0"), last_digit("4.44e+04"), last_digit("0.00000"), last_digit("12.50 %")
    (0.1, 100.0, 1e-05, 0.01)
    >>> last_digit(12.0), last_digit(44400.0), last_digit(0.25)
    (1.0, 100.0, 0.01)
    """
    try:
        if isinstance(value, str):
            number = Decimal(_without_marks(value))
        elif isinstance(value, Decimal):
            number = value
        else:
            number = Decimal(str(value)).normalize()  # a zero becomes 0, with a unit of 1
    except InvalidOperation:
        return float("nan")
    exponent = number.as_tuple().exponent
    return float(f"1e{exponent}") if isinstance(exponent, int) else float("nan")


def grid_of_rows(lines: Sequence[Sequence[Any]], variables: Sequence[str], where: str) -> Grid:
    """The grid of a table in a file, as pandas writes it or as people type it into a spreadsheet.

    Parameters
    ----------
    lines
        The cells of each line, as text or as numbers.
    variables
        The names that variables may have: columns of people.
    where
        The file's name in errors; errors name its lines and columns, never their contents.

    Notes
    -----
    With one header line, the first headers are names of variables, with their labels below; the other headers
    are labels of a variable without a name. With several header lines, each begins with the name of its
    variable, and the last one holds only the names of the rows' variables.
    """
    cells = [[_cell(value) for value in line] for line in lines]
    cells = [line for line in cells if any(line)]
    width = max((len(line) for line in cells), default=0)
    if len(cells) < 2 or width < 2 or len(cells) * width > _LARGEST:
        raise invalid("table", "a line of headers and lines of numbers under it", where)
    cells = [[*line, *[""] * (width - len(line))] for line in cells]
    last = _names_line(cells)
    header = _of_one_line(cells[0], variables) if last is None else _of_lines(cells[: last + 1])
    first, down = header.lines, header.down
    if first >= len(cells) or down >= width:
        raise invalid("table", "a line of headers and lines of numbers under it", where)
    values = np.empty((len(cells) - first, width - down))
    for i, line in enumerate(cells[first:]):
        for j, text in enumerate(line[down:]):
            number = as_number(text)
            if number is None:
                place = f"other text in line {first + i + 1:,}, column {down + j + 1:,} of {where}"
                raise invalid("table", "numbers under its headers, or a mark for a hidden one", place)
            values[i, j] = number
    return Grid(header.names, tuple(tuple(line[:down]) for line in cells[first:]), header.columns, values)


@dataclass(frozen=True)
class _Header:
    """The header lines of a table: how many, how many columns hold labels, and what they say."""

    lines: int
    down: int
    names: tuple[str | None, ...]
    columns: tuple[Line, ...]


def _of_one_line(heads: Sequence[str], variables: Sequence[str]) -> _Header:
    """A header of one line: names of variables, then labels of one without a name."""
    known = {name.lower() for name in variables}
    down = next((j for j, text in enumerate(heads) if j and text.lower() not in known), len(heads))
    down = min(down, len(heads) - 1)  # a single column of counts has a header too
    names = tuple(name or None for name in heads[:down])
    return _Header(1, down, (*names, None), tuple((text,) for text in heads[down:]))


def _of_lines(heads: Sequence[Sequence[str]]) -> _Header:
    """A header of several lines, the last of which names the variables of the rows."""
    *above, last = heads
    down = next(j for j in range(len(last), 0, -1) if last[j - 1])
    over = [next((text for text in line[:down][::-1] if text), None) for line in above]
    columns = tuple(zip(*(line[down:] for line in above), strict=True))
    return _Header(len(heads), down, (*(name or None for name in last[:down]), *over), columns)


def _names_line(cells: Sequence[Sequence[str]]) -> int | None:
    """The line after the headers that names the rows' variables; None without one."""
    for number, line in enumerate(cells[1:6], start=1):
        filled = [bool(text) for text in line]
        count = filled.index(False) if False in filled else len(filled)
        if 0 < count < len(line) and not any(filled[count:]) and as_number(line[0]) is None:
            above = cells[number - 1]
            if all(above[count:]) and sum(bool(text) for text in above[:count]) <= 1:
                return number
    return None


def _cell(value: Any) -> str:
    return "" if is_missing(value) else label_text(value)
