"""Which files a path means, and in which portions they are read."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.people.counting.coding import Coding, Values

__all__ = [
    "ENDINGS",
    "MOST_VALUES",
    "Engine",
    "Progress",
    "changed",
    "files_of",
    "portions",
    "stamps_of",
]

# What a store of people must be able to do for its tables to be counted.

Progress = Callable[[int, int], object]
MOST_VALUES = 1_000_000  # of one column; beyond, it is a name or a measurement and no group


class Engine(ABC):
    """A table of people somewhere: on disk, on a cluster.

    Notes
    -----
    Law, tested: whatever the engine, the same people give the same numbers.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the people are, in a few words."""

    @property
    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Each column's kind: "whole", "real", "date", "text"; anything else cannot be counted."""

    @property
    @abstractmethod
    def people(self) -> int:
        """How many rows."""

    @abstractmethod
    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """Roughly how many distinct values each of these columns has; small columns may be left out."""

    @abstractmethod
    def values(self, name: str) -> Values:
        """The distinct values of a column, missing ones among them."""

    def ends(self, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """The least and greatest value of whole numbers, and how many are missing, where that is cheap."""
        return {}

    @abstractmethod
    def gaps(self, name: str) -> tuple[int, int]:
        """How many values of a column of numbers are missing, and how many infinite."""

    @abstractmethod
    def count(
        self, codings: Sequence[Coding], sets: Sequence[tuple[int, ...]], progress: Progress | None
    ) -> npt.NDArray[np.int64]:
        """The cells of tables over the coded columns, one table after the other, in C order."""

    @abstractmethod
    def digests(self, codings: Sequence[Coding], progress: Progress | None) -> tuple[int, ...] | None:
        """The sums that make the imprint of these columns; None where reading every row is out of reach."""

    @abstractmethod
    def rows(
        self, codings: Sequence[Coding], having: Sequence[tuple[Coding, int]], equal: Mapping[str, Any]
    ) -> tuple[list[npt.NDArray[np.integer[Any]]], list[npt.NDArray[np.floating[Any]] | None]]:
        """The codes and numbers of the people who have these codes and whose columns equal these values."""


def changed(what: str) -> InvalidInput:
    """The refusal to count people who are not those that were scanned."""
    return invalid("source", "the same as when it was scanned", f"other values in {what}", "Scan it again.")


ENDINGS = (".parquet", ".pq", ".parq")


def files_of(source: str | Path) -> tuple[tuple[str, ...], str]:
    """The files that a path means (a file, a pattern, a folder), and the folder they were looked for in."""
    text, place = str(source), Path(source)
    if place.is_file():
        if place.suffix.lower() not in ENDINGS:
            raise invalid(
                "source", "a Parquet file, a pattern or a folder", text, "Read others with ta.read."
            )
        return (text,), ""
    if place.is_dir():
        found = (file for file in place.rglob("*") if file.suffix.lower() in ENDINGS)
        folder = place
    else:
        found = (Path(file) for file in glob.iglob(text, recursive=True))
        folder = Path(*_before_marks(place))
    files = sorted(
        str(file)
        for file in found
        if file.is_file() and not any(p.startswith((".", "_")) for p in file.relative_to(folder).parts)
    )
    if not files:
        raise invalid("source", "Parquet files that exist", text)
    return tuple(files), str(folder)


def stamps_of(files: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """What changes when a file is written again: its size, its time and its place on the disk."""
    found = (os.stat(file) for file in files)
    return tuple((status.st_size, status.st_mtime_ns, status.st_ino) for status in found)


def _before_marks(place: Path) -> list[str]:
    """The parts of a pattern before the first that has a mark in it."""
    parts: list[str] = []
    for part in place.parts:
        if any(mark in part for mark in "*?["):
            break
        parts.append(part)
    return parts


def portions(
    files: Sequence[str], sizes: Sequence[int], most: int
) -> Iterator[tuple[list[str], int | None, int]]:
    """Files and the first row and number of rows to read of them; None where small files are read whole."""
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
