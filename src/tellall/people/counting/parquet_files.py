"""The Parquet files that a path means, and the portions they are read in."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tellall.core.errors import invalid

__all__ = [
    "ENDINGS",
    "files_of",
    "portions",
    "stamps_of",
]

ENDINGS = (".parquet", ".pq", ".parq")


def files_of(source: str | Path) -> tuple[tuple[str, ...], str]:
    """The files that a path means (a file, a pattern, a folder), and the folder that was searched."""
    text, path = str(source), Path(source)
    if path.is_file():
        if path.suffix.lower() not in ENDINGS:
            raise invalid(
                "source", "a Parquet file, a pattern or a folder", text, "Read others with ta.read."
            )
        return (text,), ""
    if path.is_dir():
        found = (file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
        folder = path
    else:
        found = (Path(file) for file in glob.iglob(text, recursive=True))
        folder = Path(*_before_marks(path))
    files = sorted(
        str(file)
        for file in found
        if file.is_file() and not any(p.startswith((".", "_")) for p in file.relative_to(folder).parts)
    )
    if not files:
        raise invalid("source", "Parquet files that exist", text)
    return tuple(files), str(folder)


def stamps_of(files: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """What changes when a file is written again: size, time and inode."""
    found = (os.stat(file) for file in files)
    return tuple((status.st_size, status.st_mtime_ns, status.st_ino) for status in found)


def _before_marks(pattern: Path) -> list[str]:
    """The parts of a pattern before the first part with a wildcard."""
    parts: list[str] = []
    for part in pattern.parts:
        if any(mark in part for mark in "*?["):
            break
        parts.append(part)
    return parts


def portions(
    files: Sequence[str], sizes: Sequence[int], most: int
) -> Iterator[tuple[list[str], int | None, int]]:
    """Yields files, the first row to read (None: small files, read whole) and the number of rows."""
    waiting: list[str] = []
    rows = 0
    for file, size in zip(files, sizes, strict=True):
        if waiting and (rows + size > most or len(waiting) == 500):
            yield waiting, None, rows
            waiting, rows = [], 0
        if size > most:
            for begin in range(0, size, most):
                yield [file], begin, min(most, size - begin)
        elif size:
            waiting, rows = [*waiting, file], rows + size
    if waiting:
        yield waiting, None, rows
