"""Files: written whole or not at all, read with a limit, numbers beside their document in Parquet."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core import duck
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said

__all__ = [
    "LARGEST_JSON",
    "dump",
    "fits_inside",
    "read_json",
    "read_text",
    "read_values",
    "write_json",
    "write_table",
    "write_text",
    "write_values",
]

LARGEST_JSON = 64 * 2**20


def dump(document: Any) -> str:
    """The document as JSON text, the same text for the same document."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> Path:
    """Writes a text and returns the path; a reader sees the old file or the new one, never a part.

    Writes to a pipe or /dev/stdout directly; only regular files are replaced.
    """
    regular = path.is_file() or not path.exists()
    with _naming(path), _replacing(path) if regular else nullcontext(path) as target:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def write_json(path: Path, document: Any) -> Path:
    """Writes a document as JSON and returns the path."""
    return write_text(path, dump(document))


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside a file; the file written under it takes the file's place if nothing failed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the system name the file that was asked for: they may name none, or a temporary one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def read_text(path: Path, *, what: str, largest: int) -> str:
    """The text of a file in UTF-8 of at most `largest` bytes; errors call it `what`."""
    if not path.is_file():
        raise invalid(what, "a file that exists", path)
    size = path.stat().st_size
    if size > largest:
        raise invalid(what, f"a file of at most {largest // 2**20} MB", f"{size / 2**20:.1f} MB in {path}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(what, "text in UTF-8", path, f"Byte {error.start} is not.") from None


def read_json(path: Path, *, what: str) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path, what=what, largest=LARGEST_JSON)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(what, "whole JSON", path, f"The reader said: {said(error, 120)}.") from None
    if not isinstance(document, dict):
        raise invalid(what, "a JSON object", f"{type(document).__name__} in {path}")
    return document


def write_values(path: Path, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Writes values as Parquet and returns what a document says about them: file, count, SHA-256."""
    with _parquet(path) as (connection, partial):
        connection.register("published", {"value": values})
        connection.execute(f"COPY (SELECT value FROM published) TO {partial} (FORMAT parquet)")
    return {"parquet": path.name, "count": int(values.size), "sha256": _sha256(path)}


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Writes a table as Parquet and returns the path; None is missing."""
    declared = ", ".join(f"{duck.quoted(name)} {_sql_type(values)}" for name, values in columns.items())
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    with _parquet(path) as (connection, partial):
        connection.execute(f"CREATE TABLE rows ({declared})")
        if rows:
            connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)
        connection.execute(f"COPY rows TO {partial} (FORMAT parquet)")
    return path


@contextmanager
def _parquet(path: Path) -> Iterator[tuple[Any, str]]:
    """A connection and the quoted temporary name under which it writes the file."""
    import duckdb

    try:
        with _replacing(path) as partial, duck.connect() as connection:
            yield connection, duck.literal(str(partial))
    except duckdb.Error as error:
        raise invalid("path", "a file that can be written", path, f"DuckDB said: {said(error)}") from None


def _sql_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "VARCHAR" if str in kinds else "DOUBLE"


def read_values(path: Path, *, count: int, sha256: str) -> npt.NDArray[np.float64]:
    """The values in a Parquet file, if they are as many as its document says and have its SHA-256."""
    import duckdb

    if path.is_symlink() or not path.is_file():
        raise invalid("values", "in a plain file beside the release", path)
    if _sha256(path) != sha256:
        raise invalid("values", "the file that was saved with the release", f"another {path.name}")
    try:
        with duck.connect() as connection:
            query = "SELECT value FROM read_parquet(?)"
            read = connection.execute(query, [duck.pattern_of(path)]).fetchnumpy()["value"]
    except duckdb.Error as error:
        raise invalid("values", "readable Parquet", path, f"DuckDB said: {said(error)}") from None
    try:
        values = np.ma.filled(np.ma.asarray(read, dtype=np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid("values", "numbers", f"other things in {path.name}") from None
    if values.size != count:
        raise invalid("values", f"{count} numbers", f"{values.size} in {path.name}")
    return values


def fits_inside(folder: Path, name: str, *, what: str, advice: str = "") -> Path:
    """The path of a relative name inside a folder; a name that leads elsewhere is refused."""
    given = Path(name)
    if given.is_absolute() or given.drive or "\0" in name:
        raise invalid(what, "a path relative to the file that names it", name, advice)
    path = folder / given
    if not path.resolve().is_relative_to(folder.resolve()):
        raise invalid(what, "a file in the folder of the file that names it, or below", name, advice)
    return path


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
