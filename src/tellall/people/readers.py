"""Reading people from files: CSV, TSV and Parquet by DuckDB, Stata and SAS by pandas if installed.

Errors name the file, the line and the column, never a value in it.
"""

from __future__ import annotations

import csv
import re
import weakref
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellall.core import duck
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said_safely
from tellall.people.columns import Bins
from tellall.people.dataset import Dataset

__all__ = [
    "DELIMITED",
    "ParquetColumns",
    "check_table",
    "read",
    "read_table",
]

DELIMITED = {".csv": None, ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_MANY = "Many Parquet files are counted by tellall publish and by ta.scan; elsewhere, give one of them."
_PANDAS = {".dta": "read_stata", ".sas7bdat": "read_sas"}


def read(
    path: str | Path,
    secret: str | None = None,
    public: Iterable[str] | None = None,
    bins: Bins | Mapping[str, Bins] | None = None,
    *,
    kind: str | None = None,
) -> Dataset:
    """A dataset from a file, one person a row; see :meth:`Dataset.from_frame` for the other arguments."""
    return Dataset.from_frame(read_table(path), secret=secret, public=public, bins=bins, kind=kind)


def read_table(path: str | Path) -> Any:
    """The columns of a file by name. Nothing is downloaded and no other file is touched."""
    file, ending = check_table(path)
    if ending in _PANDAS:
        return _read_with_pandas(file, _PANDAS[ending])
    if ending in _PARQUET:
        columns = ParquetColumns(file)
        return columns.read(columns.names)
    return _read_delimited(file, DELIMITED[ending])


def check_table(path: str | Path) -> tuple[Path, str]:
    """The path of a file of people and its ending, if it is one file of a known kind."""
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    file = Path(path)
    ending = file.suffix.lower()
    known = (*DELIMITED, *_PARQUET, *_PANDAS)
    if file.is_dir() or ("*" in file.name and not file.exists()):
        raise invalid("path", "one file", file, _MANY)
    if ending not in known:
        raise invalid("path", f"a file ending in {', '.join(known)}", file)
    if not file.is_file():
        raise invalid("path", "a file that exists", file)
    if file.stat().st_size == 0:
        raise invalid("path", "a file with people in it, not an empty one", file)
    return file, ending


class ParquetColumns:
    """The columns of a Parquet file, read some at a time, so that the whole table need not fit in memory.

    Attributes
    ----------
    names
        The columns of the file, in order.
    people
        How many rows it has.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if not self._path.is_file():
            raise invalid("path", "a file that exists", self._path)
        self._connection = duck.connect()
        weakref.finalize(self, self._connection.close)
        described = self._fetch("SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?))")
        self.names: tuple[str, ...] = tuple(map(str, described["column_name"]))
        self.people = int(self._fetch("SELECT count(*) AS people FROM read_parquet(?)")["people"][0])

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """Some columns by name."""
        return self._fetch(f"SELECT {', '.join(map(duck.quoted, names))} FROM read_parquet(?)")

    def _fetch(self, query: str) -> dict[str, Any]:
        import duckdb

        try:
            table = self._connection.execute(query, [duck.pattern_of(self._path)]).fetchnumpy()
            return dict(table)
        except duckdb.Error as error:
            raise _unreadable(self._path, f"DuckDB met: {said_safely(error)}.") from None


def _read_delimited(file: Path, delimiter: str | None) -> dict[str, Any]:
    """The columns of a CSV or TSV file; every line is a person: no line is a comment and none is skipped."""
    import duckdb

    options = "header = true, sample_size = -1, skip = 0, comment = ''"
    options += f", delim = '{delimiter}'" if delimiter else ""
    try:
        with duck.connect() as connection:
            query = f"SELECT * FROM read_csv(?, {options})"
            table = dict(connection.execute(query, [duck.pattern_of(file)]).fetchnumpy())
    except duckdb.Error as error:
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        otherwise = f"Line {line[1]} cannot be read." if line else "It has no rows that match its header."
        raise _unreadable(file, _first_fault(file, delimiter) or otherwise) from None
    # where lines have too many or too few values, DuckDB takes each line for one value
    if len(table) == 1 and (fault := _first_fault(file, delimiter)):
        raise _unreadable(file, fault)
    return table


def _first_fault(file: Path, delimiter: str | None) -> str:
    """Which line is not text, or has more or fewer values than the header; empty if all lines are sound."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"Line {number:,} is not text in UTF-8."
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter or max(",;\t|", key=text.readline().count))
            text.seek(0)
            width = len(next(rows, []))
            for row in rows:
                if row and len(row) != width:
                    return f"Line {rows.line_num:,} has {len(row):,} values, the header has {width:,}."
    except csv.Error:  # a value too long for this reader
        return f"Line {rows.line_num:,} cannot be read."
    return ""


def _read_with_pandas(file: Path, reader: str) -> Any:
    if find_spec("pandas") is None:
        raise InvalidInput(f"Reading {file.suffix} files needs pandas. Install it with: pip install pandas")
    import pandas

    try:
        return getattr(pandas, reader)(file)
    except Exception as error:  # a foreign format can break its reader in any way
        raise _unreadable(file, f"pandas met: {said_safely(error)}.") from None


def _unreadable(file: Path, why: str) -> InvalidInput:
    return invalid("path", f"a readable {file.suffix.lstrip('.')} file", file, why)
