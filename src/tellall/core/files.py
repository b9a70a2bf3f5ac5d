"""Files: written whole or not at all, read with a limit, numbers beside their document in Parquet."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid

__all__ = [
    "dump",
    "fits_inside",
    "quarantined",
    "read_json",
    "read_text",
    "read_values",
    "write_json",
    "write_table",
    "write_text",
    "write_values",
]

LARGEST_JSON = 64 * 2**20
SETTINGS: dict[str, Any] = {  # no network, no other file
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}


def dump(document: Any) -> str:
    """The document as JSON text, the same text for the same document."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> Path:
    """The path, after the text is in it: written under a temporary name, then renamed.

    What is no file, a pipe or /dev/stdout say, is written to and never replaced.
    """
    plain = path.is_file() or not path.exists()
    partial = quarantined(path) if plain else path
    try:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        if plain:
            partial.replace(path)
    except BaseException as error:
        if plain:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk does not say whose, others name what nobody asked for
            error.filename = str(path)
        raise
    return path


def write_json(path: Path, document: Any) -> Path:
    """The path, after the document is in it."""
    return write_text(path, dump(document))


def quarantined(path: Path) -> Path:
    """The temporary name beside a file under which this process writes it."""
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def read_text(path: Path, *, what: str, largest: int) -> str:
    """The text of a file, or one sentence about why it has none."""
    if not path.is_file():
        raise invalid(what, "a file that exists", str(path))
    size = path.stat().st_size
    if size > largest:
        raise invalid(what, f"a file of at most {largest // 2**20} MB", f"{size / 2**20:.1f} MB in {path}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(what, "text in UTF-8", str(path), f"Byte {error.start} is not.") from None


def read_json(path: Path, *, what: str) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path, what=what, largest=LARGEST_JSON)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(what, "whole JSON", str(path), f"The reader said: {str(error)[:120]}.") from None
    if not isinstance(document, dict):
        raise invalid(what, "a JSON object", f"{type(document).__name__} in {path}")
    return document


def write_values(path: Path, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """What a document says of values that lie beside it in Parquet: file, count, SHA-256."""
    import duckdb

    partial = quarantined(path)
    table = {"value": values}
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.register("published", table)
            target = str(partial).replace("'", "''")
            connection.execute(f"COPY (SELECT value FROM published) TO '{target}' (FORMAT parquet)")
        digest = _sha256(partial)
        partial.replace(path)
    except duckdb.Error as error:
        raise invalid("path", "a place that can be written", str(path), str(error).splitlines()[0]) from None
    finally:
        partial.unlink(missing_ok=True)
    return {"parquet": path.name, "count": int(values.size), "sha256": digest}


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """The path, after the table is in it as Parquet; what is None is missing."""
    import duckdb

    partial = quarantined(path)
    kinds = {name: _sql_type(values) for name, values in columns.items()}
    declared = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            connection.execute(f"CREATE TABLE rows ({declared})")
            if rows:
                connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(kinds))})", rows)
            target = str(partial).replace("'", "''")
            connection.execute(f"COPY rows TO '{target}' (FORMAT parquet)")
        partial.replace(path)
    except duckdb.Error as error:
        raise invalid("path", "a place that can be written", str(path), str(error).splitlines()[0]) from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def _sql_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "VARCHAR" if str in kinds else "DOUBLE"


def read_values(path: Path, *, count: int, sha256: str) -> npt.NDArray[np.float64]:
    """The values that a document says lie in this Parquet file, if they are those."""
    import duckdb

    if path.is_symlink() or not path.is_file():
        raise invalid("values", "in a plain file beside the release", str(path))
    if _sha256(path) != sha256:
        raise invalid("values", "the file that was saved with the release", f"another {path.name}")
    try:
        with duckdb.connect(":memory:", config=SETTINGS) as connection:
            name = "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(path))
            read = connection.execute("SELECT value FROM read_parquet(?)", [name]).fetchnumpy()["value"]
    except duckdb.Error as error:
        raise invalid("values", "readable Parquet", str(path), str(error).splitlines()[0][:120]) from None
    try:
        values = np.ma.filled(np.ma.asarray(read, dtype=np.float64), np.nan)
    except (TypeError, ValueError):
        raise invalid("values", "numbers", f"other things in {path.name}") from None
    if values.size != count:
        raise invalid("values", f"{count} numbers", f"{values.size} in {path.name}")
    return values


def fits_inside(folder: Path, name: str, *, what: str, advice: str = "") -> Path:
    """The place of a relative name inside a folder; anything that leads elsewhere is refused."""
    given = Path(name)
    if given.is_absolute() or given.drive or "\0" in name:
        raise invalid(what, "a path relative to the file that names it", name, advice)
    place = folder / given
    if not place.resolve().is_relative_to(folder.resolve()):
        raise invalid(what, "a file in the folder of the file that names it, or below", name, advice)
    return place


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
