"""Tables in texts whose cells are separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from tellall.core.errors import invalid
from tellall.outputs.layout import MOST_CELLS, Page, TooLarge, place_in_lines
from tellall.people.labels import label_number
from tellall.people.sheets import read_text_of

__all__ = ["LARGEST_TEXT", "delimiter_of", "page_of_text", "read_delimited"]

LARGEST_TEXT = 16 * 2**20  # bytes of a text with outputs
_DELIMITERS = "\t;|,"
_LOOKED_AT = 200  # lines
_CELLS_A_LINE = 20_000


def read_delimited(file: Path, name: str) -> Iterator[Page]:
    """Yields the page of a CSV or TSV file; ``name`` is what the file is called in sources."""
    text = read_text_of(file, LARGEST_TEXT)
    ending = Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()
    delimiter = "\t" if ending in (".tsv", ".tab") else delimiter_of(text)
    yield page_of_text(text, delimiter or ",", name)


def delimiter_of(text: str) -> str:
    """The sign that most lines in a row have, as often in each; empty if there is none.

    Examples
    --------
    >>> delimiter_of("Ill, by sex\\n\\nsex;no;yes\\nf;1,5;2\\nm;3;4"), delimiter_of("no cells")
    (';', '')
    """
    lines = text.splitlines()[:_LOOKED_AT]
    named = next((line[4:5] for line in lines[:1] if line.lower().startswith("sep=")), "")
    if named and named in _DELIMITERS:
        return named
    longest = {sign: _longest_run(lines, sign) for sign in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda sign: longest[sign])  # of two as good, the rarer sign comes first
    return best if longest[best] > 1 else ""


def _longest_run(lines: list[str], sign: str) -> int:
    """How many lines in a row have a sign, and as often as each other."""
    longest = run = before = 0
    for line in lines:
        count = _outside_quotes(line, sign)
        run = run + 1 if count and count == before else int(count > 0)
        longest, before = max(longest, run), count
    return longest


def _outside_quotes(line: str, sign: str) -> int:
    return sum(piece.count(sign) for piece in line.split('"')[::2])


def page_of_text(text: str, delimiter: str, name: str) -> Page:
    """The cells of a text; refuses one with more cells than a table has."""
    lines: list[list[str]] = []
    numbers: list[int] = []
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    cells = 0
    try:
        for row in rows:
            if rows.line_num == 1 and row and row[0].lower().startswith("sep="):
                continue
            lines.append(row)
            numbers.append(rows.line_num)
            cells += sum(bool(cell) for cell in row)
            if cells > MOST_CELLS or len(row) > _CELLS_A_LINE:
                raise TooLarge(f"more than {MOST_CELLS:,} cells: rows of people are not read as a table")
    except csv.Error:
        raise invalid("table", "readable CSV", name, f"Line {rows.line_num:,} cannot be read.") from None
    return Page(_without_line_numbers(_with_corner(lines)), place_in_lines(name, numbers))


def _with_corner(lines: list[list[str]]) -> list[list[str]]:
    """The lines with an empty first header where R left it out: one header less than cells in each line."""
    filled = [line for line in lines if any(cell.strip() for cell in line)]
    if len(filled) < 2 or not filled[0][0].strip():
        return lines
    head, width = filled[0], len(filled[1])
    if width < 2 or len(head) != width - 1 or any(len(line) != width for line in filled[1:]):
        return lines
    return [["", *line] if line is head else line for line in lines]


def _without_line_numbers(lines: list[list[str]]) -> list[list[str]]:
    """The lines without a first column that numbers them, as R and pandas write it beside a list."""
    filled = [line for line in lines if any(cell.strip() for cell in line)]
    if len(filled) < 3 or any(len(line) < 3 for line in filled) or filled[0][0].strip():
        return lines
    body = filled[1:]
    for first in (0, 1):
        if [line[0] for line in body] == [str(first + k) for k in range(len(body))]:
            labelled = sum(label_number(line[1]) is None for line in body)
            return [line[1:] for line in lines] if 2 * labelled > len(body) else lines
    return lines
