"""Reading people from files: CSV, TSV and Parquet by DuckDB, Stata and SAS by pandas if installed."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellall.core.errors import InvalidInput, invalid
from tellall.core.files import SETTINGS
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
    place, ending = check_table(path)
    if ending in _PANDAS:
        return _read_with_pandas(place, _PANDAS[ending])
    return _read_with_duckdb(place, ending)


def check_table(path: str | Path) -> tuple[Path, str]:
    """The place of a file of people and its ending; refused where it is none."""
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    place = Path(path)
    ending = place.suffix.lower()
    known = (*DELIMITED, *_PARQUET, *_PANDAS)
    if place.is_dir() or ("*" in place.name and not place.exists()):
        raise invalid("path", "one file", str(path), _MANY)
    if ending not in known:
        raise invalid("path", f"a file ending in {', '.join(known)}", str(path))
    if not place.is_file():
        raise invalid("path", "a file that exists", str(path))
    if place.stat().st_size == 0:
        raise invalid("path", "a file with people in it, not an empty one", str(path))
    return place, ending


class ParquetColumns:
    """The columns of a Parquet file, read some at a time: people × columns that never stand whole in memory.

    Attributes
    ----------
    names
        The columns of the file, in order.
    people
        How many rows it has.
    """

    def __init__(self, path: str | Path) -> None:
        import duckdb

        self._place = Path(path)
        if not self._place.is_file():
            raise invalid("path", "a file that exists", str(path))
        self._connection = duckdb.connect(":memory:", config=SETTINGS)
        weakref.finalize(self, self._connection.close)
        _settle(self._connection)
        described = self._fetch("SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?))")
        self.names: tuple[str, ...] = tuple(map(str, described["column_name"]))
        self.people = int(self._fetch("SELECT count(*) AS people FROM read_parquet(?)")["people"][0])

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """Some columns by name."""
        chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return self._fetch(f"SELECT {chosen} FROM read_parquet(?)")

    def _fetch(self, query: str) -> dict[str, Any]:
        import duckdb

        try:
            table: dict[str, Any] = self._connection.execute(query, [_literal(self._place)]).fetchnumpy()
            return table
        except duckdb.Error as error:
            raise _unreadable(self._place, error) from None


def _read_with_duckdb(place: Path, ending: str) -> dict[str, Any]:
    import duckdb

    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            _settle(connection)
            if ending in _PARQUET:
                query = "SELECT * FROM read_parquet(?)"
            else:
                delimiter = DELIMITED[ending]
                # every line is a person: no line is a comment and none is skipped
                options = "header = true, sample_size = -1, skip = 0, comment = ''"
                options += f", delim = '{delimiter}'" if delimiter else ""
                query = f"SELECT * FROM read_csv(?, {options})"
            # glob characters in the name are part of the name
            table: dict[str, Any] = connection.execute(query, [_literal(place)]).fetchnumpy()
            return table
    except duckdb.Error as error:
        raise _unreadable(place, error) from None


def _settle(connection: Any) -> None:
    """Settings that no query may change: among them, that nothing is drawn on the terminal."""
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET lock_configuration = true")


def _read_with_pandas(place: Path, reader: str) -> Any:
    if find_spec("pandas") is None:
        raise InvalidInput(f"Reading {place.suffix} files needs pandas. Install it with: pip install pandas")
    import pandas

    try:
        return getattr(pandas, reader)(place)
    except Exception as error:  # a foreign format can break its reader in any way
        raise _unreadable(place, error) from None


def _literal(place: Path) -> str:
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(place))


def _unreadable(place: Path, error: Exception) -> InvalidInput:
    said = " ".join(str(error).split())
    return invalid(
        "path", f"a readable {place.suffix.lstrip('.')} file", str(place), f"The reader said: {said[:160]}"
    )
