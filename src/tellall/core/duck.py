"""DuckDB: connections that read the files they are given and nothing else; names and texts in SQL."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = [
    "connect",
    "is_number",
    "is_plain",
    "is_text",
    "length_of",
    "literal",
    "pattern_of",
    "quoted",
    "refuse_lack_of_room",
]

_WHOLE = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"]
_NUMBERS = {"BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", *_WHOLE, *(f"U{kind}" for kind in _WHOLE)}
_TEXTS = {"VARCHAR", "BLOB"}
_OTHERS = {"DATE", "TIME", "INTERVAL", "UUID", "ENUM", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}
_OTHERS |= {"TIME WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIME_NS", "NULL"}

# databases that nobody uses now, by process and settings: a forked process lacks the threads of its parent's
_idle: dict[tuple[Any, ...], list[Any]] = {}


@contextmanager
def connect(**settings: Any) -> Iterator[Any]:
    """A connection without network, temporary files or output on the terminal; no query can change that.

    A database takes 20 ms to make and holds nothing of its own, so it is used again, by one connection at a
    time: each has the whole memory limit to itself.
    """
    idle = _idle.setdefault((os.getpid(), *sorted(settings.items())), [])
    try:
        database = idle.pop()
    except IndexError:
        database = _database(settings)
    try:
        with database.cursor() as connection:
            yield connection
    finally:
        idle.append(database)


def refuse_lack_of_room(error: Exception) -> None:
    """Raises what Python raises where DuckDB lacked memory or disk, so that no file is blamed for it."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        raise MemoryError from None
    if isinstance(error, duckdb.IOException) and os.strerror(errno.ENOSPC) in str(error):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None


def _database(settings: dict[str, Any]) -> Any:
    import duckdb

    fixed = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "temp_directory": "",
    }
    database = duckdb.connect(":memory:", config=fixed | settings)
    database.execute("SET enable_progress_bar = false")
    database.execute("SET lock_configuration = true")
    return database


def is_number(kind: str) -> bool:
    """Whether a type of DuckDB is one of numbers.

    Examples
    --------
    >>> [is_number(kind) for kind in ("DOUBLE", "DECIMAL(10,2)", "UBIGINT", "VARCHAR", "DOUBLE[]")]
    [True, True, True, False, False]
    """
    return _plainly(kind) in _NUMBERS


def is_text(kind: str) -> bool:
    """Whether a type of DuckDB is one of texts, of any length."""
    return _plainly(kind) in _TEXTS


def length_of(name: str, kind: str) -> str:
    """The bytes of a column of texts in SQL; known without copying a text."""
    return f"{'strlen' if kind == 'VARCHAR' else 'octet_length'}({quoted(name)})"


def is_plain(kind: str) -> bool:
    """Whether a type of DuckDB is one of single values, not of lists or of parts.

    Examples
    --------
    >>> [is_plain(kind) for kind in ("DATE", "VARCHAR", "VARCHAR[]", "STRUCT(a INTEGER)", "MAP(DATE, DATE)")]
    [True, True, False, False, False]
    """
    return _plainly(kind) in _NUMBERS | _TEXTS | _OTHERS


def _plainly(kind: str) -> str:
    """A type without its parameters, as in DECIMAL(10,2); of a list it stays a list."""
    return kind if kind.endswith("]") else kind.partition("(")[0]


def quoted(name: str) -> str:
    """A column's name in SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a literal in SQL."""
    return "'" + text.replace("'", "''") + "'"


def pattern_of(path: str | Path) -> str:
    """The pattern that matches this file alone: DuckDB reads \\*, ? and [ in a file's name as wildcards."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(path))
