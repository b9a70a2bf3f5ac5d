"""DuckDB: connections that read the files they are given and nothing else; names and texts in SQL."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "connect",
    "literal",
    "pattern_of",
    "quoted",
]


def connect(**settings: Any) -> Any:
    """A connection without network, temporary files or output on the terminal; no query can change that.

    Connections with the same settings share one database, which takes 20 ms to make and holds nothing.
    """
    return _database(os.getpid(), tuple(sorted(settings.items()))).cursor()


@cache
def _database(process: int, settings: tuple[tuple[str, Any], ...]) -> Any:
    """One database for each process, since a forked one lacks the threads of the database it inherits."""
    import duckdb

    fixed = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "temp_directory": "",
    }
    database = duckdb.connect(":memory:", config=fixed | dict(settings))
    database.execute("SET enable_progress_bar = false")
    database.execute("SET lock_configuration = true")
    return database


def quoted(name: str) -> str:
    """A column's name in SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a literal in SQL."""
    return "'" + text.replace("'", "''") + "'"


def pattern_of(path: str | Path) -> str:
    """The pattern that matches this file alone: DuckDB reads \\*, ? and [ in a file's name as wildcards."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(path))
