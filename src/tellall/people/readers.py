"""Reading people from files: text and Parquet by DuckDB, statistical files by pyreadstat, Excel by openpyxl.

Errors name the file, the line and the column, never a value in it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tellall.core import duck
from tellall.core.amounts import count_of
from tellall.core.errors import InvalidInput, invalid
from tellall.core.memory import check_columns_fit
from tellall.core.text import one_line, said_safely
from tellall.linalg.operators.linear_operator import HOST
from tellall.people.columns import LARGEST_EXACT, Bins
from tellall.people.dataset import Dataset
from tellall.people.headings import LOOKED_AT, header_index, skipped_words
from tellall.people.labelled import LABELLED, read_labelled
from tellall.people.sheets import SHEETS, Sheet, encoding_of, in_utf8, read_sheet

__all__ = [
    "DELIMITED",
    "ENDINGS",
    "ParquetColumns",
    "PeopleTable",
    "check_table",
    "column_names",
    "how_read",
    "read",
    "read_printed",
    "read_table",
]

DELIMITED = {".csv": None, ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_MANY = "Only tellall publish and ta.scan count many Parquet files; elsewhere, give a single file."
_CATALOG = ".sas7bcat"
_PACKED = {f"{ending}.gz": delimiter for ending, delimiter in DELIMITED.items()}
ENDINGS = (*DELIMITED, *_PACKED, *_PARQUET, *LABELLED, *SHEETS)


def read(
    path: str | Path,
    secret: str | None = None,
    public: Iterable[str] | None = None,
    bins: Bins | Mapping[str, Bins] | None = None,
    *,
    kind: str | None = None,
    drop_gaps: bool = False,
) -> Dataset:
    """A dataset from a file, one person per row; see :meth:`Dataset.from_frame` for the other arguments."""
    table = read_table(path)
    return Dataset.from_frame(table, secret=secret, public=public, bins=bins, kind=kind, drop_gaps=drop_gaps)


def read_table(path: str | Path) -> Any:
    """The columns of a file by name. Nothing is downloaded and no other file is touched."""
    return _read(path, printed=False)


def column_names(table: Any) -> list[str]:
    """The names of the columns of a table that was read."""
    return [str(name) for name in (table if isinstance(table, dict) else table.columns)]


def read_printed(path: str | Path) -> Any:
    """The columns of a file by name; the cells of CSV and TSV files as text, with all the digits they show.

    Decimal commas become points. Cells of other files are the numbers that the files hold.
    """
    return _read(path, printed=True)


def _read(path: str | Path, *, printed: bool) -> Any:
    file, ending = check_table(path)
    if ending in LABELLED:
        found, said = read_labelled(file)
        table = PeopleTable(found)
        table.assumed = said
        return table
    if ending in SHEETS:
        return _read_sheet(file)
    if ending in _PARQUET:
        columns = ParquetColumns(file)
        table = PeopleTable(columns.read(columns.names))
        table.assumed = columns.assumed
        return table
    return _read_text(file, {**DELIMITED, **_PACKED}[ending], printed=printed)


def check_table(path: str | Path) -> tuple[Path, str]:
    """The path and ending of a file of people; refuses anything but a single file of a known kind."""
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    file = Path(path)
    ending = file.suffix.lower()
    if ending == ".gz":
        ending = "".join(file.suffixes[-2:]).lower()
    if file.is_dir() or ("*" in file.name and not file.exists()):
        raise invalid("path", "one file", file, _MANY)
    if ending == _CATALOG:
        advice = "A catalog holds only labels; the values are in the .sas7bdat file next to it."
        raise invalid("path", "a file of people", file, advice)
    if ending not in ENDINGS:
        raise invalid("path", f"a file ending in {', '.join(ENDINGS)}", file)
    if not file.is_file():
        raise invalid("path", "a file that exists", file)
    if file.stat().st_size == 0:
        raise invalid("path", "a file with people in it, not an empty one", file)
    return file, ending


_LONGEST_TEXT = 2**20  # bytes of one value; in a CSV file a line has at most twice as many
_OBJECT = 64  # bytes of a text in memory, besides its characters
_WIDEST = 4  # bytes of a character in memory, where one of its text is rare
_PIECES = "1GiB"  # what DuckDB may unpack at once to count


class ParquetColumns:
    """The columns of a Parquet file, read a few at a time, so that the whole table need not fit in memory.

    Attributes
    ----------
    names
        The columns of single values, in order.
    people
        How many rows the file has.
    assumed
        Which columns were left out, since they hold lists, in a sentence; empty if none.

    Notes
    -----
    A file of a few hundred bytes may repeat a text a million times, or a number 10¹². So the rows and the
    lengths of all texts are counted before any is read; DuckDB does that where they are stored once.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if not self._path.is_file():
            raise invalid("path", "a file that exists", self._path)
        described = self._fetch(
            "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?))"
        )
        kinds = zip(map(str, described["column_name"]), map(str, described["column_type"]), strict=True)
        self._kinds = dict(kinds)
        self.names: tuple[str, ...] = tuple(name for name, kind in self._kinds.items() if duck.is_plain(kind))
        self.people = int(self._fetch("SELECT count(*) AS people FROM read_parquet(?)")["people"][0])
        lists = [name for name, kind in self._kinds.items() if not duck.is_plain(kind)]
        some = ", ".join(f"'{one_line(name)}'" for name in lists[:3])
        more = f" and {len(lists) - 3:,} more" if len(lists) > 3 else ""
        self.assumed = f"{some}{more} left out: not of single values." if lists else ""

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """Some columns by name; refuses columns that would not fit in memory, however small the file."""
        chosen = tuple(names)
        needed = 8 * self.people * len(chosen)
        self._check_fit(chosen, needed)
        texts = [name for name in chosen if duck.is_text(self._kinds[name])]
        others = [name for name in chosen if not duck.is_number(self._kinds[name])]
        needed += _OBJECT * self.people * len(others) + _WIDEST * self._bytes_of(texts)
        self._check_fit(chosen, needed)
        return self._fetch(f"SELECT {', '.join(map(duck.quoted, chosen))} FROM read_parquet(?)")

    def _check_fit(self, chosen: tuple[str, ...], needed: int) -> None:
        check_columns_fit(
            self._path,
            rows=self.people,
            columns=len(chosen),
            needed=needed,
            free=HOST.free_memory,
            what="path",
        )

    def _bytes_of(self, texts: Sequence[str]) -> int:
        """The bytes of all texts in some columns; refuses a text that is no value of a table."""
        if not texts:
            return 0
        lengths = [duck.length_of(name, self._kinds[name]) for name in texts]
        asked = ", ".join(f"sum({length}) AS s{j}, max({length}) AS m{j}" for j, length in enumerate(lengths))
        found = self._fetch(f"SELECT {asked} FROM read_parquet(?)", memory_limit=_PIECES)
        longest = [int(np.ma.filled(found[f"m{j}"], 0)[0]) for j in range(len(texts))]
        for name, most in zip(texts, longest, strict=True):
            if most > _LONGEST_TEXT:
                rule = f"a file whose texts have at most {_LONGEST_TEXT:,} bytes"
                raise invalid("path", rule, f"{most:,} in column '{one_line(name)}' of {self._path}")
        return sum(int(np.ma.filled(found[f"s{j}"], 0)[0]) for j in range(len(texts)))

    def _fetch(self, query: str, **settings: str) -> dict[str, Any]:
        import duckdb

        try:
            with duck.connect(**settings) as connection:
                return dict(connection.execute(query, [duck.pattern_of(self._path)]).fetchnumpy())
        except duckdb.OutOfMemoryException:
            why = "A part of it that is packed needs more than is allowed to be unpacked at once."
            raise invalid("path", "a file that fits into memory", self._path, why) from None
        except duckdb.Error as error:
            duck.refuse_lack_of_room(error)
            raise _unreadable(self._path, f"DuckDB failed with {said_safely(error)}.") from None


# Delimited text: the header decides the dialect, which is reported; errors name the line that breaks it.

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_TYPES = ["BIGINT", "DOUBLE", "TIME", "DATE", "TIMESTAMP", "VARCHAR"]  # "yes" and "no" stay words
_TEXT = ["VARCHAR"]
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d*,)?\d+([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
_PLAIN = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*")
_ODD = re.compile(rb"0[xXbBoO][0-9a-fA-F]|\d_\d")
_MOST_COLUMNS = 50_000  # of a text: what reads it takes the square of them
_FIRST_YEAR = np.datetime64("1000-01-01")  # an earlier one was printed with fewer than four digits
_PIECE = 2**24


class PeopleTable(dict[str, Any]):
    """The columns of a file by name.

    Attributes
    ----------
    assumed
        How the file was read, in sentences.
    first
        The line of the file with the first row.
    """

    assumed: str = ""
    first: int = 2


@dataclass(frozen=True)
class _Heading:
    """What the header of a text says.

    Attributes
    ----------
    delimiter, names
        What separates the columns, and what they are called.
    line
        The line of the file that it is in; lines above are titles.
    """

    delimiter: str
    names: list[str]
    line: int = 1

    def rows(self, text: TextIO) -> Any:
        """A reader of the lines from the header on."""
        for _ in range(self.line - 1):
            text.readline()
        return csv.reader(text, delimiter=self.delimiter, strict=True)


def _read_text(file: Path, delimiter: str | None, *, printed: bool) -> PeopleTable:
    """The columns of a CSV or TSV file, gzipped or not, in any encoding that `encoding_of` finds."""
    packed = file.suffix.lower() == ".gz"
    encoding = encoding_of(file)
    if encoding == "UTF-8" and not packed:
        return _read_delimited(file, delimiter, printed=printed)
    with in_utf8(file, encoding) as plain:
        try:
            table = _read_delimited(plain, delimiter, printed=printed)
        except InvalidInput as error:
            why = str(error).partition(f"{plain}. ")[2]
            raise _unreadable(file, why or "Its lines do not match its header.") from None
    table.assumed = table.assumed.replace("text in UTF-8", f"text in {encoding}", 1)
    table.assumed = table.assumed.replace(one_line(plain.name), one_line(file.name), 1)
    return table


def _read_sheet(file: Path) -> PeopleTable:
    """The columns of the first sheet of a workbook, named in its first line; values only, never formulas."""
    sheet = read_sheet(file)
    filled = {
        number: line
        for number, line in enumerate(sheet.lines, start=1)
        if any(value is not None for value in line)
    }
    above = header_index([_names_in(line) for line in sheet.lines[:LOOKED_AT]])
    first = above + 1 if above else min(filled, default=1)
    names = _names_in(sheet.lines[first - 1]) if filled else []
    lines = {number: line for number, line in filled.items() if number > first}
    _check_names(file, names, first)
    for number, line in lines.items():
        if any(value is not None for value in line[len(names) :]):
            raise _unreadable(file, f"Line {number:,} has more values than the header, {len(names):,}.")
    _refuse_parts(file, sheet, names, first)
    _refuse_notes(file, lines, len(names))
    wide = [[*line, *[None] * (len(names) - len(line))] for line in lines.values()]
    columns = [_cells([row[j] for row in wide]) for j in range(len(names))]
    notes = _without_marks(names, columns)
    table = PeopleTable(zip(names, columns, strict=True))
    table.first = min(lines, default=2)
    notes += _leave_out_row_names(file, table, first)
    name = f"'{one_line(sheet.name)}'"
    beside = f"; {count_of(len(sheet.others), 'other sheet')} not read" if sheet.others else ""
    hidden = f" {count_of(sheet.hidden, 'hidden line')} read as well." if sheet.hidden else ""
    table.assumed = (
        f"{one_line(file.name)} was read as a spreadsheet: the first sheet, {name}{beside}; "
        f"{count_of(len(names), 'column')} named in line {first:,}, values and not formulas."
        f"{skipped_words(first)}{hidden}"
    )
    table.assumed = " ".join([table.assumed, *notes])
    return table


def _refuse_notes(file: Path, lines: Mapping[int, list[object]], width: int) -> None:
    """Refuses a single value below the people and an empty line: a note there would pass for a person."""
    last = max(lines, default=0)
    alone = sum(value is not None for value in lines.get(last, ())) == 1
    if width > 2 and alone and last - 1 not in lines and len(lines) > 1:
        raise _unreadable(file, f"Line {last:,} holds a single value below an empty line. Remove such notes.")


def _names_in(line: list[object]) -> list[str]:
    """The names of columns in a line of a sheet."""
    names = ["" if name is None else str(name).strip() for name in line]
    while names and not names[-1]:
        names.pop()
    return names


def _refuse_parts(file: Path, sheet: Sheet, names: list[str], header: int) -> None:
    """Refuses sheets that show some of the people or of their values in another place."""
    lasts = {cells: max(map(int, re.findall(r"\d+", cells)), default=header) for cells in sheet.merged}
    merged = [cells for cells, last in lasts.items() if last >= header]
    if merged:
        advice = f"Cells {one_line(merged[0])} are merged into one. Unmerge them, and fill each."
        raise _unreadable(file, advice)
    for other, first in sheet.others.items():
        if _names_in(first) == names:
            why = f"The sheets '{one_line(sheet.name)}' and '{one_line(other)}' have the same columns."
            raise _unreadable(file, f"{why} Put everybody on one sheet, and remove the other.")


def _cells(values: list[object]) -> Any:
    """A column of a sheet as an array of objects; empty cells are None."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _read_delimited(file: Path, delimiter: str | None, *, printed: bool) -> PeopleTable:
    """The columns of a CSV or TSV file; every line is a person: no line is a comment and none is skipped."""
    _refuse_zero_bytes(file)
    heading = _header(file, delimiter)
    found, names = heading.delimiter, heading.names
    columns = _delimited_columns(file, heading, _TEXT if printed else _TYPES)
    if len(columns) != len(names):
        raise _unreadable(file, _first_fault(file, heading) or "Its lines do not match its header.")
    commas = [j for j, column in enumerate(columns) if _has_decimal_commas(column)]
    unclear = [j for j in commas if found == "," or _may_have_thousands(columns[j])]
    notes = []
    if commas == unclear:  # no column of the file shows what a comma means
        commas = []
        notes += [_stays_text(names[j], "1,234 in it may mean 1234 or 1.234") for j in unclear]
    if printed:
        for j in commas:
            columns[j] = _with_points(columns[j])
    else:
        other = _delimited_columns(file, heading, _TYPES, decimal=",") if commas else []
        columns = [_truth(other[j] if j in commas else column) for j, column in enumerate(columns)]
        notes += [*_keep_text(file, heading, columns), *_without_marks(names, columns)]
    table = PeopleTable(zip(names, columns, strict=True))
    table.first = heading.line + 1
    notes += _leave_out_row_names(file, table, heading.line)
    table.assumed = " ".join([how_read(file, len(names), found, len(commas), heading.line), *notes])
    return table


def how_read(file: Path, columns: int, delimiter: str, commas: int = 0, header: int = 1) -> str:
    """How the text of a file was read, in a sentence; ``commas`` columns have decimal commas."""
    where = f" (commas in {count_of(commas, 'column')})" if commas else ""
    return (
        f"{one_line(file.name)} was read as text in UTF-8: {count_of(columns, 'column')} named in line "
        f"{header:,}, separated by {_DELIMITERS[delimiter]}, decimal points{where}, double quotes."
        f"{skipped_words(header)}"
    )


def _leave_out_row_names(file: Path, table: PeopleTable, header: int) -> list[str]:
    """Leaves out a first column without a name that holds row numbers or names, as R and pandas write them.

    It is refused unless every line has another value; a sentence says that it was left out.
    """
    if "" not in table:
        return []
    values = np.ma.asarray(table.pop("")).compressed()
    rows = max((len(column) for column in table.values()), default=0)
    if len({str(value) for value in values if value is not None}) < max(rows, 1):
        raise _unreadable(file, f"Column 1 has no name in line {header:,}.")
    return ["Its first column has no name and another value in every line: row names, which are left out."]


_MARKS = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "-", ".", "?", "#null!", "#num!", "#value!"))


def _without_marks(names: Sequence[str], columns: list[Any]) -> list[str]:
    """Makes numbers of columns that hold numbers and one mark for a missing one, and says so in sentences."""
    notes = []
    for j, column in enumerate(columns):
        if column.dtype.kind != "O":
            continue
        absent = np.ma.getmaskarray(column)
        known = {value for value in np.ma.getdata(column)[~absent] if value is not None}
        marks = {value for value in known if isinstance(value, str) and value.strip().lower() in _MARKS}
        rest = known - marks
        if not marks or not rest or not all(map(_is_plain_number, rest)):
            continue
        cells = np.ma.getdata(column)
        gone = [no or value is None or value in marks for value, no in zip(cells, absent, strict=True)]
        numbers = [0.0 if no else float(value) for value, no in zip(cells, gone, strict=True)]
        columns[j] = np.ma.array(np.array(numbers), mask=gone)
        shown = " and ".join(f"“{mark.strip()}”" for mark in sorted(marks))
        notes.append(f"In column '{one_line(names[j])}' {shown} means missing.")
    return notes


def _is_plain_number(value: object) -> bool:
    """Whether a cell holds a number that a double holds, as a number or as text."""
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None and abs(float(value)) < LARGEST_EXACT
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return False
    return abs(float(value)) < LARGEST_EXACT


def _stays_text(name: str, why: str) -> str:
    return f"Column '{one_line(name)}' stays text, since {why}."


def _keep_text(file: Path, heading: _Heading, columns: list[Any]) -> list[str]:
    """Puts back the text of columns that would not be read truly, and says in sentences what was done."""
    names = heading.names
    notes = []
    orders = set()
    back = []
    for j, column in enumerate(columns):
        if column.dtype.kind == "M":
            orders.add(order := _date_order(file, heading, j, column))
            if not order:
                back.append(j)
                notes.append(_stays_text(names[j], "not all its years have four digits"))
    notes += [f"Dates were read with the {order} first." for order in ("day", "month") if order in orders]
    large = [j for j, column in enumerate(columns) if _exceeds_doubles(column)]
    odd = (
        [j for j, column in enumerate(columns) if column.dtype.kind in "iuf"]
        if _has_odd_numbers(file)
        else []
    )
    texts = _delimited_columns(file, heading, _TEXT) if back or large or odd else []
    for j in odd:
        if any(_ODD.search(text.encode()) for text in np.ma.asarray(texts[j]).compressed() if text):
            back.append(j)
            notes.append(_stays_text(names[j], "some of its numbers are written as 0x10"))
    for j in large:
        if any(map(_loses_digits, np.ma.asarray(texts[j]).compressed())):
            back.append(j)
            notes.append(_stays_text(names[j], "its whole numbers are too large for a double"))
    for j in back:
        columns[j] = texts[j]
    return notes


def _date_order(file: Path, heading: _Heading, index: int, column: Any) -> str:
    """Which part comes first in the dates of a column: year, day or month; empty if a year is shortened.

    All its dates were read in one format, so the first one in which the day is not the month tells it.
    """
    dates = np.ma.asarray(column).compressed()
    if not dates.size or dates.min() < _FIRST_YEAR:
        return ""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = heading.rows(text)
            next(rows)
            shown = (row[index] for row in rows if len(row) > index and row[index].strip())
            for printed, moment in zip(shown, dates, strict=False):
                parts = re.findall(r"\d+", printed)
                if not any(len(part) == 4 for part in parts[:3]):
                    return ""
                if len(parts[0]) == 4:
                    return "year"
                date = moment.astype("datetime64[D]").item()
                if date.day != date.month:
                    return "day" if int(parts[0]) == date.day else "month"
    except csv.Error:
        return ""
    return "day"  # or the month: they are equal in all of them


def _has_odd_numbers(file: Path) -> bool:
    """Whether a text holds something that only programmers take for a number."""
    with file.open("rb") as raw:
        return any(_ODD.search(line) for line in raw)


def _exceeds_doubles(column: Any) -> bool:
    """Whether a column read as doubles has numbers so large that doubles do not hold every whole one."""
    if column.dtype.kind != "f":
        return False
    return bool((np.abs(np.ma.asarray(column).compressed()) >= LARGEST_EXACT).any())


def _loses_digits(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d+\s*", text) is not None and Decimal(text) != float(text)


def _refuse_zero_bytes(file: Path) -> None:
    """Refuses files that are not text."""
    with file.open("rb") as raw:
        before = 0
        for piece in iter(lambda: raw.read(_PIECE), b""):
            if (at := piece.find(b"\0")) >= 0:
                line = before + piece.count(b"\n", 0, at) + 1
                raise _unreadable(file, f"Line {line:,} holds a zero byte, so the file is not text.")
            before += piece.count(b"\n")


def _header(file: Path, delimiter: str | None) -> _Heading:
    """What the header says: the line that names the most columns, with whatever delimiter."""
    headings = [_heading(file, mark) for mark in ([delimiter] if delimiter else _DELIMITERS)]
    found = max(headings, key=lambda one: len(one.names))  # ties go to the first delimiter
    if not found.names:
        raise _unreadable(file, _first_fault(file, found) or "Line 1 cannot be read.")
    _check_names(file, found.names, found.line)
    return found


def _check_names(file: Path, names: list[str], line: int) -> None:
    """Refuses a header that does not name every column, each once; the first may have row names below it."""
    if not names:
        raise _unreadable(file, f"Line {line:,} is empty.")
    if len(names) > _MOST_COLUMNS:
        rule = f"a table of at most {_MOST_COLUMNS:,} columns"
        advice = "Keep the columns that are published or that somebody may know."
        raise invalid("path", rule, f"{len(names):,} in {one_line(file.name)}", advice)
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not name and (number > 1 or len(names) < 3):
            raise _unreadable(file, f"Column {number:,} has no name in line {line:,}.")
        if (first := seen.setdefault(name, number)) < number:
            raise _unreadable(file, f"Columns {first:,} and {number:,} have the same name in line {line:,}.")
    if any(map(_is_number, names)) and not _is_counted(names):  # a line of values is not a header
        raise _unreadable(file, f"Line {line:,} holds numbers, where the columns must be named.")


def _heading(file: Path, delimiter: str) -> _Heading:
    """The header for this delimiter; without names if it cannot be read with it."""
    lines: list[list[str]] = []
    begins = [1]
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            for row in islice(rows, LOOKED_AT):
                lines.append(row)
                begins.append(rows.line_num + 1)
    except (UnicodeDecodeError, csv.Error):
        lines = lines[:1]  # a later line says what is wrong
    if not lines:
        return _Heading(delimiter, [])
    found = header_index(lines)
    if begins[found] > found + 1:  # a title in quotes over several lines
        found = 0
    return _Heading(delimiter, [name.strip() for name in lines[found]], begins[found])


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?", text) is not None


def _is_counted(names: list[str]) -> bool:
    """Whether the names number the columns, from zero or from one."""
    names = names[1:] if not names[0] else names
    return any(names == [str(start + index) for index in range(len(names))] for start in (0, 1))


def _delimited_columns(file: Path, heading: _Heading, types: list[str], *, decimal: str = ".") -> list[Any]:
    import duckdb

    options = f"header = true, sample_size = -1, skip = {heading.line - 1}, comment = '', quote = '\"'"
    options += f", escape = '\"', strict_mode = true, delim = '{heading.delimiter}'"
    options += f", decimal_separator = '{decimal}'"
    options += f", auto_type_candidates = {types!r}"
    try:
        with duck.connect() as connection:
            query = f"SELECT * FROM read_csv(?, {options})"
            found = connection.execute(query, [duck.pattern_of(file)]).fetchnumpy()
            if heading.line > 1 and heading.names[-1] != list(found)[-1].strip():
                raise _unreadable(
                    file, f"Remove what is above line {heading.line:,}, which names the columns."
                )
            return list(found.values())
    except duckdb.Error as error:
        duck.refuse_lack_of_room(error)
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        otherwise = (
            f"Line {int(line[1]):,} cannot be read." if line else "It has no rows that match its header."
        )
        raise _unreadable(file, _first_fault(file, heading) or otherwise) from None


def _truth(column: Any) -> Any:
    """Turns a column of the words true and false into booleans; returns any other column unchanged."""
    if column.dtype.kind != "O":
        return column
    absent = np.ma.getmaskarray(column)
    known = np.ma.getdata(column)[~absent]
    if not known.size or not all(str(word).lower() in ("true", "false") for word in known):
        return column
    truth = np.zeros(column.size, dtype=bool)
    truth[~absent] = [str(word).lower() == "true" for word in known]
    return np.ma.array(truth, mask=absent)


def _has_decimal_commas(column: Any) -> bool:
    """Whether a column of text holds only numbers, some of them with decimal commas."""
    if column.dtype.kind != "O":
        return False
    known = (value for value in np.ma.asarray(column).compressed() if value is not None)
    commas = False
    for value in known:
        if not isinstance(value, str) or _DECIMAL_COMMA.fullmatch(value) is None:
            return False
        commas = commas or "," in value
    return commas


def _may_have_thousands(column: Any) -> bool:
    """Whether every comma in a column of numbers stands where it may mark thousands, as in 1,234."""
    known = np.ma.asarray(column).compressed()
    return all(_THOUSANDS.fullmatch(value) for value in known if value is not None and "," in value)


def _with_points(column: Any) -> Any:
    """A column of text with points in place of decimal commas."""
    absent = np.ma.getmaskarray(column)
    pairs = zip(np.ma.getdata(column), absent, strict=True)
    texts = [value if gone or value is None else value.replace(",", ".") for value, gone in pairs]
    return np.ma.array(_cells(texts), mask=absent)


def _first_fault(file: Path, heading: _Heading) -> str:
    """A sentence on the first line that is not text or does not match the header; empty if all lines do."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"Line {number:,} is not text in UTF-8."
    begin = heading.line
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = heading.rows(text)
            width = len(next(rows, []))
            if not width:
                return f"Line {begin:,} is empty."
            begin = heading.line + rows.line_num
            for row in rows:
                if row and len(row) != width:
                    return f"Line {begin:,} has {len(row):,} values, the header has {width:,}."
                begin = heading.line + rows.line_num
    except csv.Error as error:
        if "limit" in str(error):  # a value too long for this reader
            return f"Line {begin:,} cannot be read."
        return f"Line {begin:,} has a quote that is not closed, or text after a closed one."
    return ""


def _unreadable(file: Path, why: str) -> InvalidInput:
    return invalid("path", f"a readable {file.suffix.lstrip('.')} file", file, why)
