"""Files of attributes: people as rows of a table, and published means as a table of names and means."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.errors import invalid
from tellall.core.text import said_safely
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked
from tellall.people.attributes.wide_csv import MISSING_WORDS, NotPlain, delimiter_of, read_header, read_wide
from tellall.people.readers import DELIMITED, ParquetColumns, check_table, how_read, read_table

__all__ = [
    "PeopleFile",
    "read_mean_table",
]

_WHO = "id"  # the column that names the people
_LARGEST = 2**30


@dataclass(frozen=True, eq=False)
class PeopleFile:
    """A table of people whose column names are known and whose values have yet to be chosen.

    Only the first line of a CSV file, and only the schema of a Parquet file, has been read.
    """

    option: str
    path: Path
    names: tuple[str, ...]
    table: ParquetColumns | Mapping[str, Any] | None
    assumed: str = ""

    @classmethod
    def open(cls, option: str, path: Path) -> PeopleFile:
        """Opens a file; the option names it in messages."""
        ending = check_table(path)[1]
        with suppress(NotPlain):
            if ending in DELIMITED:
                names, delimiter = read_header(path)
                return cls(option, path, names, None, how_read(path, len(names), delimiter))
        if ending in (".parquet", ".pq"):
            columns = ParquetColumns(path)
            return cls(option, path, columns.names, columns)
        table = read_table(path)
        return cls(option, path, tuple(table), table, getattr(table, "assumed", ""))

    def choose(self, columns: tuple[str, ...]) -> tuple[Chunked, tuple[str, ...]]:
        """Returns the people over these columns, and their names: the column `id`, or "row 1", "row 2" ..."""
        who = _WHO if _WHO in self.names else None
        table: Any = self.table
        if table is None:
            try:
                wide = read_wide(self.option, self.path, columns, who)
                return wide, wide.who or _by_row(wide.shape[0])
            except NotPlain:
                table = read_table(self.path)
        if isinstance(table, ParquetColumns):
            people, ids = table.people, table.read([_WHO])[_WHO] if who else ()
        else:
            people, ids = len(table[next(iter(table))]) if len(table) else 0, table[_WHO] if who else ()
        chosen = _TablePeople(self.option, people, columns, table)
        return chosen, tuple(map(str, ids)) if who else _by_row(people)


@dataclass(frozen=True, eq=False)
class _TablePeople:
    """People × chosen columns; those of a Parquet file are read when a chunk asks for them."""

    option: str
    people: int
    columns: tuple[str, ...]
    table: ParquetColumns | Mapping[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.people, len(self.columns)

    def chunk(self, start: int, stop: int) -> Array:
        names = self.columns[start:stop]
        table = self.table.read(names) if isinstance(self.table, ParquetColumns) else self.table
        return np.stack([_numbers(self.option, name, table[name]) for name in names], axis=1)


def _by_row(people: int) -> tuple[str, ...]:
    return tuple(f"row {row + 1}" for row in range(people))


def _numbers(option: str, name: str, column: Any) -> Array:
    """A column as floats, NaN where masked, null or one of the words for a missing value."""
    values = np.ma.asarray(column)
    if values.dtype.kind in "OUS":
        words = [None if v is None else str(v).strip() for v in values.tolist()]
        missing = [word is None or word.lower() in MISSING_WORDS for word in words]
        values = np.ma.asarray([np.nan if gone else word for gone, word in zip(missing, words, strict=True)])
    try:
        return np.ma.filled(values.astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid(option, f"numbers in column '{name}'", "text") from None


def read_mean_table(option: str, path: Path) -> tuple[list[str], Array]:
    """Reads names and means from a table of two columns: CSV or TSV, plain or gzipped, or Parquet."""
    if path.name.lower().removesuffix(".gz").endswith(tuple(DELIMITED)):
        rows = _rows(option, path)
    else:
        table = read_table(path)
        columns = [np.ma.asarray(table[name]).tolist() for name in table]
        cells = ([("" if v is None else str(v)) for v in row] for row in zip(*columns, strict=True))
        rows = [list(map(str, table)), *cells]
    if len(rows) < 2:
        raise invalid(option, "a table with means in it", f"{path}, which has none")
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            raise invalid(option, "a table of two columns, name and mean", f"{len(row)} in line {number:,}")
    names = [row[0] for row in rows[1:]]
    if len(set(names)) < len(names):
        raise invalid(option, "each name once", "a name twice")
    return names, np.array([_mean(option, rows[0][1], row[1]) for row in rows[1:]])


def _rows(option: str, path: Path) -> list[list[str]]:
    """The cells of a delimited file, plain or gzipped, without its empty lines."""
    if not path.is_file():
        raise invalid(option, "a file that exists", str(path))
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise invalid(option, "a gzip file that is whole and sound", path) from None
    if len(raw) > _LARGEST:
        raise invalid(option, f"a table of at most {_LARGEST // 2**20} MB", str(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise invalid(option, "text in UTF-8", str(path), f"Line {line:,} is not.") from None
    delimiter = delimiter_of(path, text.partition("\n")[0])
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [[cell.strip() for cell in row] for row in rows if row]
    except csv.Error as error:
        raise invalid(
            option, "a readable table", str(path), f"The reader failed with {said_safely(error)}."
        ) from None


def _mean(option: str, column: str, text: str) -> float:
    if text.lower() in MISSING_WORDS:
        return np.nan
    try:
        return float(text)
    except ValueError:
        raise invalid(option, f"numbers in column '{column}'", "text") from None
