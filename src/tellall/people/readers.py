"""Reading people from files: CSV, TSV and Parquet by DuckDB, Stata and SAS by pandas, Excel by openpyxl.

Errors name the file, the line and the column, never a value in it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tellall.algebra.operators.base import HOST
from tellall.core import duck
from tellall.core.amounts import count_of
from tellall.core.errors import InvalidInput, invalid
from tellall.core.memory import check_columns_fit
from tellall.core.text import one_line, said_safely
from tellall.people.columns import LARGEST_EXACT, Bins
from tellall.people.dataset import Dataset
from tellall.people.sheets import SHEETS, Sheet, encoding_of, in_utf8, read_sheet

__all__ = [
    "DELIMITED",
    "ENDINGS",
    "ParquetColumns",
    "PeopleTable",
    "check_table",
    "how_read",
    "read",
    "read_printed",
    "read_table",
]

DELIMITED = {".csv": None, ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_MANY = "Only tellall publish and ta.scan count many Parquet files; elsewhere, give a single file."
_PANDAS = {".dta": ("read_stata", {}), ".sas7bdat": ("read_sas", {"encoding": "infer"})}
_CATALOG = ".sas7bcat"
_PACKED = {f"{ending}.gz": delimiter for ending, delimiter in DELIMITED.items()}
ENDINGS = (*DELIMITED, *_PACKED, *_PARQUET, *_PANDAS, *SHEETS)


def read(
    path: str | Path,
    secret: str | None = None,
    public: Iterable[str] | None = None,
    bins: Bins | Mapping[str, Bins] | None = None,
    *,
    kind: str | None = None,
) -> Dataset:
    """A dataset from a file, one person per row; see :meth:`Dataset.from_frame` for the other arguments."""
    return Dataset.from_frame(read_table(path), secret=secret, public=public, bins=bins, kind=kind)


def read_table(path: str | Path) -> Any:
    """The columns of a file by name. Nothing is downloaded and no other file is touched."""
    return _read(path, printed=False)


def read_printed(path: str | Path) -> Any:
    """The columns of a file by name; the cells of CSV and TSV files as text, with all the digits they show.

    Decimal commas become points. Cells of other files are the numbers that the files hold.
    """
    return _read(path, printed=True)


def _read(path: str | Path, *, printed: bool) -> Any:
    file, ending = check_table(path)
    if ending in _PANDAS:
        return _read_with_pandas(file, *_PANDAS[ending])
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
            raise _unreadable(self._path, f"DuckDB failed with {said_safely(error)}.") from None


# Delimited text: the header decides the dialect, which is reported; errors name the line that breaks it.

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_TYPES = ["BIGINT", "DOUBLE", "TIME", "DATE", "TIMESTAMP", "VARCHAR"]  # "yes" and "no" stay words
_TEXT = ["VARCHAR"]
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d*,)?\d+([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
_FIRST_YEAR = np.datetime64("1000-01-01")  # an earlier one was printed with fewer than four digits
_PIECE = 2**24


class PeopleTable(dict[str, Any]):
    """The columns of a file by name; ``assumed`` says in a sentence how its text was read."""

    assumed: str = ""


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
    header, *lines = filled.values() if filled else [[]]
    names = _names_in(header)
    _check_names(file, names)
    for number, line in list(filled.items())[1:]:
        if any(value is not None for value in line[len(names) :]):
            raise _unreadable(file, f"Line {number:,} has more values than the header, {len(names):,}.")
    _refuse_parts(file, sheet, names)
    wide = [[*line, *[None] * (len(names) - len(line))] for line in lines]
    table = PeopleTable({name: _cells([row[j] for row in wide]) for j, name in enumerate(names)})
    name = f"'{one_line(sheet.name)}'"
    beside = f"; {count_of(len(sheet.others), 'other sheet')} not read" if sheet.others else ""
    hidden = f" {count_of(sheet.hidden, 'hidden line')} read as well." if sheet.hidden else ""
    columns = count_of(len(names), "column")
    table.assumed = (
        f"{one_line(file.name)} was read as a spreadsheet: the first sheet, {name}{beside}; "
        f"{columns} named in line {min(filled):,}, values and not formulas.{hidden}"
    )
    return table


def _names_in(line: list[Any]) -> list[str]:
    """The names of columns in a line of a sheet."""
    names = ["" if name is None else str(name).strip() for name in line]
    while names and not names[-1]:
        names.pop()
    return names


def _refuse_parts(file: Path, sheet: Sheet, names: list[str]) -> None:
    """Refuses sheets that show some of the people or of their values in another place."""
    if sheet.merged:
        advice = f"Cells {one_line(sheet.merged[0])} are merged into one. Unmerge them, and fill each."
        raise _unreadable(file, advice)
    for other, first in sheet.others.items():
        if _names_in(first) == names:
            why = f"The sheets '{one_line(sheet.name)}' and '{one_line(other)}' have the same columns."
            raise _unreadable(file, f"{why} Put everybody on one sheet, and remove the other.")


def _cells(values: list[Any]) -> Any:
    """A column of a sheet as an array of objects; empty cells are None."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _read_delimited(file: Path, delimiter: str | None, *, printed: bool) -> PeopleTable:
    """The columns of a CSV or TSV file; every line is a person: no line is a comment and none is skipped."""
    _refuse_zero_bytes(file)
    found, names = _header(file, delimiter)
    columns = _delimited_columns(file, found, _TEXT if printed else _TYPES)
    if len(columns) != len(names):
        raise _unreadable(file, _first_fault(file, found) or "Its lines do not match its header.")
    commas = [j for j, column in enumerate(columns) if found != "," and _has_decimal_commas(column)]
    unclear = [j for j in commas if _may_have_thousands(columns[j])]
    notes = []
    if commas == unclear:  # no column of the file shows what a comma means
        commas = []
        notes += [_stays_text(names[j], "1,234 in it may mean 1234 or 1.234") for j in unclear]
    if printed:
        for j in commas:
            columns[j] = _with_points(columns[j])
    else:
        other = _delimited_columns(file, found, _TYPES, decimal=",") if commas else []
        columns = [_truth(other[j] if j in commas else column) for j, column in enumerate(columns)]
        notes += _keep_text(file, found, names, columns)
    table = PeopleTable(zip(names, columns, strict=True))
    table.assumed = " ".join([how_read(file, len(names), found, len(commas)), *notes])
    return table


def how_read(file: Path, columns: int, delimiter: str, commas: int = 0) -> str:
    """How the text of a file was read, in a sentence; ``commas`` columns have decimal commas."""
    where = f" (commas in {count_of(commas, 'column')})" if commas else ""
    return (
        f"{one_line(file.name)} was read as text in UTF-8: {count_of(columns, 'column')} named in line 1, "
        f"separated by {_DELIMITERS[delimiter]}, decimal points{where}, double quotes."
    )


def _stays_text(name: str, why: str) -> str:
    return f"Column '{one_line(name)}' stays text, since {why}."


def _keep_text(file: Path, delimiter: str, names: list[str], columns: list[Any]) -> list[str]:
    """Puts back the text of columns that would not be read truly, and says in sentences what was done."""
    notes, orders, back = [], set(), []
    for j, column in enumerate(columns):
        if column.dtype.kind == "M":
            orders.add(order := _date_order(file, delimiter, j, column))
            if not order:
                back.append(j)
                notes.append(_stays_text(names[j], "not all its years have four digits"))
    notes += [f"Dates were read with the {order} first." for order in ("day", "month") if order in orders]
    large = [j for j, column in enumerate(columns) if _exceeds_doubles(column)]
    texts = _delimited_columns(file, delimiter, _TEXT) if back or large else []
    for j in large:
        if any(map(_loses_digits, np.ma.asarray(texts[j]).compressed())):
            back.append(j)
            notes.append(_stays_text(names[j], "its whole numbers are too large for a double"))
    for j in back:
        columns[j] = texts[j]
    return notes


def _date_order(file: Path, delimiter: str, index: int, column: Any) -> str:
    """Which part comes first in the dates of a column: year, day or month; empty if a year is shortened.

    All its dates were read in one format, so the first one in which the day is not the month tells it.
    """
    dates = np.ma.asarray(column).compressed()
    if not dates.size or dates.min() < _FIRST_YEAR:
        return ""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
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


def _header(file: Path, delimiter: str | None) -> tuple[str, list[str]]:
    """The delimiter and the names of the columns, from the first line."""
    headers = {mark: _first_row(file, mark) for mark in ([delimiter] if delimiter else _DELIMITERS)}
    found = max(headers, key=lambda mark: len(headers[mark]))  # ties go to the first delimiter
    names = [name.strip() for name in headers[found]]
    if not names:
        raise _unreadable(file, _first_fault(file, found) or "Line 1 cannot be read.")
    _check_names(file, names)
    return found, names


def _check_names(file: Path, names: list[str]) -> None:
    """Refuses a first line that does not name every column, each once."""
    if not names:
        raise _unreadable(file, "Line 1 is empty.")
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not name:
            raise _unreadable(file, f"Column {number:,} has no name in line 1.")
        if (first := seen.setdefault(name, number)) < number:
            raise _unreadable(file, f"Columns {first:,} and {number:,} have the same name in line 1.")
    if any(map(_is_number, names)) and not _is_counted(names):  # a line of values is not a header
        raise _unreadable(file, "Line 1 holds numbers, where the columns must be named.")


def _first_row(file: Path, delimiter: str) -> list[str]:
    """The values of the first line; empty if it cannot be read with that delimiter."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            return next(csv.reader(text, delimiter=delimiter, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return []


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?", text) is not None


def _is_counted(names: list[str]) -> bool:
    """Whether the names number the columns, from zero or from one."""
    return any(names == [str(start + index) for index in range(len(names))] for start in (0, 1))


def _delimited_columns(file: Path, delimiter: str, types: list[str], *, decimal: str = ".") -> list[Any]:
    import duckdb

    options = "header = true, sample_size = -1, skip = 0, comment = '', quote = '\"', escape = '\"'"
    options += f", strict_mode = true, delim = '{delimiter}', decimal_separator = '{decimal}'"
    options += f", auto_type_candidates = {types!r}"
    try:
        with duck.connect() as connection:
            query = f"SELECT * FROM read_csv(?, {options})"
            return list(connection.execute(query, [duck.pattern_of(file)]).fetchnumpy().values())
    except duckdb.Error as error:
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        otherwise = (
            f"Line {int(line[1]):,} cannot be read." if line else "It has no rows that match its header."
        )
        raise _unreadable(file, _first_fault(file, delimiter) or otherwise) from None


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


def _first_fault(file: Path, delimiter: str) -> str:
    """A sentence on the first line that is not text or does not match the header; empty if all lines do."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"Line {number:,} is not text in UTF-8."
    begin = 1
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            width = len(next(rows, []))
            if not width:
                return "Line 1 is empty."
            begin = rows.line_num + 1
            for row in rows:
                if row and len(row) != width:
                    return f"Line {begin:,} has {len(row):,} values, the header has {width:,}."
                begin = rows.line_num + 1
    except csv.Error as error:
        if "limit" in str(error):  # a value too long for this reader
            return f"Line {begin:,} cannot be read."
        return f"Line {begin:,} has a quote that is not closed, or text after a closed one."
    return ""


def _read_with_pandas(file: Path, reader: str, options: dict[str, Any]) -> PeopleTable:
    if find_spec("pandas") is None:
        raise InvalidInput(f"Reading {file.suffix} files needs pandas. Install it with: pip install pandas")
    import pandas

    try:
        frame = getattr(pandas, reader)(file, **options)
    except Exception as error:  # a foreign format can break its reader in any way
        raise _unreadable(file, f"pandas failed with {said_safely(error)}.") from None
    table = PeopleTable({str(name): frame[name] for name in frame.columns})
    name = one_line(file.name)
    if file.suffix.lower() == ".dta":
        table.assumed = f"{name} was read with the labels of its values, where it has them."
    else:
        table.assumed = f"{name} was read with the codes of its values: labels in a SAS catalog are not read."
    return table


def _unreadable(file: Path, why: str) -> InvalidInput:
    return invalid("path", f"a readable {file.suffix.lstrip('.')} file", file, why)
