"""Wide CSV tables of small whole numbers, such as bits and genotypes: a byte for each value."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid

__all__ = [
    "MISSING",
    "MISSING_WORDS",
    "NotPlain",
    "WideTable",
    "delimiter_of",
    "read_header",
    "read_wide",
]

MISSING = -128  # no call
MISSING_WORDS = ("", ".", "na", "#na", "nan")  # in small letters
_PIECE = 2 * 2**20
_LONGEST_HEADER = 256 * 2**20
_QUOTE = ord('"')
_LINE = ord("\n")
_RETURN = ord("\r")

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.intp]


class NotPlain(Exception):
    """The table is not lines of whole numbers that fit a byte: another reader must read it."""


@dataclass(frozen=True, eq=False)
class WideTable:
    """People × columns as bytes, :data:`MISSING` where a value is missing, and the people's names."""

    values: npt.NDArray[np.int8]
    who: tuple[str, ...] | None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    def chunk(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns the columns from start to stop (not included), with NaN where a value is missing."""
        chunk = self.values[:, start:stop]
        missing = chunk == MISSING
        return np.where(missing, np.float32(np.nan), chunk) if missing.any() else chunk


def read_header(path: Path) -> tuple[tuple[str, ...], str]:
    """Reads the names of a file's columns, and what separates them, from its first line.

    Raises
    ------
    NotPlain
        If the first line is not text in UTF-8, does not end with a line feed, or a name has a line break.
    """
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
        delimiter = delimiter_of(path, text)
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise NotPlain from None
    return tuple(name.strip() for name in names), delimiter


def read_wide(option: str, path: Path, columns: Sequence[str], who: str | None) -> WideTable:
    """Reads some columns of a delimited file, and the names of its people from the column `who`.

    Raises
    ------
    NotPlain
        If a number is not a whole number from −127 to 127, or a name of a person is not text in UTF-8.

    Notes
    -----
    Two passes: one counts the lines, one reads. Memory: a byte for each value kept, and about thirty for each
    byte of a piece of 2 MB.
    """
    header, delimiter = read_header(path)
    position = {name: number for number, name in enumerate(header)}
    if len(position) < len(header):
        twice = next(name for number, name in enumerate(header) if position[name] != number)
        raise invalid(option, "a table with each column once", f"'{twice}' twice")
    chosen = np.array([position[name] for name in columns], dtype=np.intp)
    with path.open("rb") as file:
        lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE), b"")) + 1
    values = np.empty((lines, chosen.size), dtype=np.int8)
    names: list[str] = []
    people = 0
    with path.open("rb") as file:
        file.readline(_LONGEST_HEADER)
        for piece in _pieces(file):
            starts, ends = _fields(piece, ord(delimiter), len(header), option, people)
            rows = slice(people, people + starts.shape[0])
            values[rows] = _numbers(piece, starts[:, chosen], ends[:, chosen], option, columns)
            if who is not None:
                text = piece.tobytes()
                spans = zip(starts[:, position[who]], ends[:, position[who]], strict=True)
                try:
                    names += [text[a:b].decode("utf-8").strip().strip('"') for a, b in spans]
                except UnicodeDecodeError:
                    raise NotPlain from None
            people = rows.stop
    return WideTable(values[:people], None if who is None else tuple(names))


def delimiter_of(path: Path, header: str) -> str:
    """Returns a tab if the file's name says so, otherwise the commonest candidate in the header."""
    tabbed = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    return "\t" if tabbed else max(",;\t|", key=header.count)


def _pieces(file: BinaryIO) -> Iterator[Bytes]:
    """Yields the rest of a file in pieces that end at a line break outside quotes."""
    rest = b""
    while text := file.read(_PIECE):
        text = rest + text
        cut = text.rfind(b"\n") + 1
        while cut and text.count(b'"', 0, cut) % 2:
            cut = text.rfind(b"\n", 0, cut - 1) + 1
        rest = text[cut:]
        if cut:
            yield np.frombuffer(text, dtype=np.uint8, count=cut)
    if rest.strip():
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


def _fields(piece: Bytes, delimiter: int, width: int, option: str, before: int) -> tuple[Index, Index]:
    """Returns where each value of each line starts and ends; blank lines are skipped."""
    breaks = (piece == delimiter) | (piece == _LINE)
    if (piece == _QUOTE).any():
        breaks &= (np.cumsum(piece == _QUOTE) % 2) == 0
    ends = np.flatnonzero(breaks)
    if not breaks[-1]:  # a piece ends with a line unless a quote stays open
        raise invalid(option, "a table whose quotes are closed", f"one left open after row {before:,}")
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = piece[ends] == _LINE
    ends = ends - (last & (ends > starts) & (piece[np.maximum(ends - 1, 0)] == _RETURN))
    after = np.flatnonzero(last) + 1
    counts = np.diff(after, prepend=0)
    blank = (
        (counts == 1) & (ends[after - 1] == starts[after - 1]) if width > 1 else np.zeros(counts.size, bool)
    )
    wrong = np.flatnonzero((counts != width) & ~blank)
    if wrong.size:
        row, seen = before + int((~blank[: wrong[0]]).sum()) + 1, int(counts[wrong[0]])
        raise invalid(option, f"a table with {width:,} values in every row", f"{seen:,} in row {row:,}")
    if blank.any():
        keep = np.repeat(~blank, counts)
        starts, ends = starts[keep], ends[keep]
    return starts.reshape(-1, width), ends.reshape(-1, width)


def _numbers(
    piece: Bytes, starts: Index, ends: Index, option: str, names: Sequence[str]
) -> npt.NDArray[np.int8]:
    """Parses the values between starts and ends: digits at once, longer words once per spelling."""
    first, lengths = np.ascontiguousarray(starts).ravel(), np.ascontiguousarray(ends - starts).ravel()
    digits = piece[np.minimum(first, piece.size - 1)] - np.uint8(ord("0"))
    plain = (lengths == 1) & (digits <= 9)
    values = np.where(plain, digits, 0).astype(np.int8)
    odd = np.flatnonzero(~plain)
    for length in np.unique(lengths[odd]):
        some = odd[lengths[odd] == length]
        if length == 0:
            values[some] = MISSING
            continue
        letters = np.ascontiguousarray(piece[first[some][:, None] + np.arange(length)])
        words, index = np.unique(letters.view(f"S{length}").ravel(), return_inverse=True)
        read = [_number(bytes(word)) for word in words]
        if None in read:
            where = int(some[np.flatnonzero(index == read.index(None))[0]])
            raise invalid(option, f"numbers in column '{names[where % len(names)]}'", "text")
        values[some] = np.array(read, dtype=np.int8)[index]
    return values.reshape(starts.shape)


def _number(word: bytes) -> int | None:
    """Parses a whole number; returns MISSING for an empty cell and None for text."""
    text = word.decode("utf-8", "replace").strip().strip('"').strip()
    if text.lower() in MISSING_WORDS:
        return MISSING
    try:
        number = float(text)
    except ValueError:
        return None
    if np.isnan(number):
        return MISSING
    if number != np.floor(number) or abs(number) > 127:
        raise NotPlain
    return int(number)
