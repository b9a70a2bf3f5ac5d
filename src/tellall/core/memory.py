"""Memory: how much is free, and how much of it the contents of a packed file may take."""

from __future__ import annotations

import sys
from pathlib import Path

from tellall.core.amounts import count_of
from tellall.core.errors import InvalidInput, invalid

__all__ = ["check_columns_fit", "free_on_host", "most_unpacked", "too_large"]

_LEAST = 2**29  # bytes that every machine can spare
_MOST_TIMES = 200  # a packed file; tables of people shrink to a fifth or a twentieth
_COPIES = 3  # of columns in memory: as read, as codes, and what is made of them


def free_on_host() -> int:
    """Free bytes, including caches; the largest possible number if the system does not say."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return 1024 * int(found["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return sys.maxsize


def most_unpacked(packed: int, free: int) -> int:
    """The most bytes that the columns of a packed file of this size may take in memory.

    Examples
    --------
    >>> most_unpacked(1000, 2**40) == 2**29, most_unpacked(2**30, 2**40) == 200 * 2**30, most_unpacked(9, 300)
    (True, True, 100)
    """
    return min(max(_LEAST, _MOST_TIMES * packed), free // _COPIES)


def check_columns_fit(path: Path, *, rows: int, columns: int, needed: int, free: int, what: str) -> None:
    """Refuses columns of a packed file that would take more memory than a file of its size should."""
    most = most_unpacked(path.stat().st_size, free)
    if needed > most:
        why = f"{_MOST_TIMES} times its size or {_LEAST >> 20} MB, and a third of the free memory"
        raise too_large(
            path,
            f"{rows:,} rows of {count_of(columns, 'column')}",
            f"They need {max(needed >> 20, 1):,} MB; the limit is {most >> 20:,} MB ({why}).",
            what,
        )


def too_large(path: Path, held: str, why: str, what: str) -> InvalidInput:
    """The error for a file whose contents take too much memory."""
    return invalid(what, "a file that fits into memory", f"{held} in {path}", why)
