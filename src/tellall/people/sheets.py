"""Cells of small files, line by line: CSV in any of the usual encodings, packed or not, and spreadsheets.

Only values are read from a spreadsheet: a formula counts as what it last showed. Sizes are limited.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import secrets
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from tellall.core.claims import clear_leftovers, held_open
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said_safely

__all__ = ["SHEETS", "TEXTS", "decoded", "encoding_of", "in_utf8", "read_cells"]

TEXTS = (".csv", ".tsv", ".tab", ".txt")
SHEETS = (".xlsx", ".xlsm")
_LARGEST = 64 * 2**20  # bytes, unpacked
_MOST_CELLS = 5_000_000
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _unpacked(file: Path, largest: int = _LARGEST, *, what: str = "file") -> bytes:
    """The bytes of a file, unpacked where its name ends in .gz; at most so many."""
    if not file.is_file():
        raise invalid(what, "a file that exists", file)
    size = f"a file of at most {largest // 2**20} MB"
    if file.stat().st_size > largest:
        raise invalid(what, size, file)
    if file.suffix.lower() != ".gz":
        return file.read_bytes()
    try:
        with gzip.open(file) as packed:
            whole = packed.read(largest + 1)
    except (OSError, EOFError) as error:
        raise invalid(what, "a readable .gz file", file, f"The reader met: {said_safely(error)}.") from None
    if len(whole) > largest:
        raise invalid(what, f"{size}, unpacked", file)
    return whole


_PIECE = 2**24
_LARGEST_PEOPLE = 2**33  # bytes of a file of people, unpacked
_PYTHON_NAMES = {"UTF-8": "utf-8-sig", "Windows-1252": "cp1252", "UTF-16": "utf-16", "UTF-32": "utf-32"}


def _opened(file: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(file)) if file.suffix.lower() == ".gz" else file.open("rb")


def encoding_of(file: Path) -> str:
    """The encoding of a text, packed or not: what its first bytes say, else UTF-8, else Windows-1252."""
    try:
        with _opened(file) as raw:
            start = raw.read(4)
            for mark, encoding in _MARKS[1:]:
                if start.startswith(mark):
                    return encoding.upper()
            reader, piece = codecs.getincrementaldecoder("utf-8")(), start
            while piece:
                reader.decode(piece)
                piece = raw.read(_PIECE)
            reader.decode(b"", final=True)
    except UnicodeDecodeError:
        return "Windows-1252"
    except (EOFError, OSError, zlib.error) as error:
        raise invalid("path", "a readable file", file, f"The reader met: {said_safely(error)}.") from None
    return "UTF-8"


@contextmanager
def _nameless() -> Iterator[Path]:
    """A file for people's data that ends with the process, however that ends.

    On Linux it is in memory and in no folder. Elsewhere it has a name among temporary files, is held as long
    as this process lives, and what a killed process left there is removed first.
    """
    if hasattr(os, "memfd_create"):
        handle: int | None = os.memfd_create("tellall", os.MFD_CLOEXEC)
        path, named = Path(f"/proc/self/fd/{handle}"), False
    else:
        folder = Path(tempfile.gettempdir())
        clear_leftovers(folder, ".tellall-*.csv")
        path, named = folder / f".tellall-{secrets.token_hex(16)}.csv", True
        handle = held_open(path, os.O_CREAT | os.O_EXCL)
    try:
        yield path
    finally:
        if named:
            path.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def in_utf8(file: Path, encoding: str) -> Iterator[Path]:
    """A copy of a text in UTF-8, unpacked, for its owner alone and gone afterwards."""
    with _nameless() as plain:
        reader = codecs.getincrementaldecoder(_PYTHON_NAMES[encoding])()
        size, line, piece = 0, 1, b""
        try:
            with _opened(file) as raw, plain.open("wb") as copy:
                for piece in iter(lambda: raw.read(_PIECE), b""):
                    size += len(piece)
                    if size > _LARGEST_PEOPLE:
                        raise invalid(
                            "path", f"a file of at most {_LARGEST_PEOPLE // 2**30} GB, unpacked", file
                        )
                    text = reader.decode(piece)
                    line += text.count("\n")
                    copy.write(text.encode("utf-8"))
                copy.write(reader.decode(b"", final=True).encode("utf-8"))
        except UnicodeError as error:
            words = encoding if encoding != "Windows-1252" else "UTF-8 or Windows-1252"
            line += piece.count(b"\n", 0, getattr(error, "start", 0)) if len(piece) else 0
            why = f"Line {line:,} is not text in {words}."
            raise invalid("path", f"a readable {file.suffix.lstrip('.')} file", file, why) from None
        except (EOFError, OSError, zlib.error) as error:
            raise invalid("path", "a readable file", file, f"The reader met: {said_safely(error)}.") from None
        yield plain


def decoded(raw: bytes) -> tuple[str, str]:
    """The text and the name of its encoding: what its first bytes say, else UTF-8, else Windows-1252.

    Examples
    --------
    >>> decoded("café".encode("cp1252")), decoded(b"plain")[1]
    (('café', 'Windows-1252'), 'UTF-8')
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding), encoding.removesuffix("-sig").upper()
    try:
        return raw.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "Windows-1252"


def read_cells(path: str | Path, *, sheet: str | None = None) -> list[list[Any]]:
    """The cells of each line of a CSV file (also .csv.gz) or of a sheet, the first where none is named."""
    file = Path(path)
    ending = Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()
    if ending in SHEETS and file.suffix.lower() != ".gz":
        return _read_sheet(file, sheet)
    if ending not in TEXTS:
        raise invalid("table", f"a file ending in {', '.join((*TEXTS, *SHEETS))}", file)
    try:
        text, _ = decoded(_unpacked(file, what="table"))
    except UnicodeDecodeError as error:
        raise invalid("table", "text", file, f"Byte {error.start} is not.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise invalid("table", "text", file, f"Line {line:,} holds a zero byte.")
    first = text.splitlines()[0] if text.strip() else ""
    delimiter = "\t" if ending in (".tsv", ".tab") else max(",;\t|", key=first.count)
    lines: list[list[Any]] = []
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    cells = 0
    try:
        for row in rows:
            lines.append(list(row))
            cells += len(row)
            if cells > _MOST_CELLS:
                raise invalid("table", f"a table of at most {_MOST_CELLS:,} cells", file)
    except csv.Error:
        raise invalid("table", "readable CSV", file, f"Line {rows.line_num:,} cannot be read.") from None
    return _with_points(lines) if delimiter == ";" else lines


def _with_points(lines: list[list[Any]]) -> list[list[Any]]:
    """Decimal commas as points: semicolons between values mean that commas are in numbers."""

    def plain(text: str) -> str:
        head, comma, tail = text.strip().partition(",")
        whole = comma and tail.rstrip("% ").isdigit() and head.lstrip("+-").isdigit()
        return f"{head}.{tail}" if whole else text

    return [[plain(text) for text in line] for line in lines]


def _read_sheet(file: Path, sheet: str | None) -> list[list[Any]]:
    if find_spec("openpyxl") is None:
        raise InvalidInput(
            "Reading .xlsx files needs openpyxl. Install it with: pip install 'tellall[excel]'"
        )
    if not file.is_file():
        raise invalid("table", "a file that exists", file)
    import openpyxl

    _refuse_large(file)
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            names = book.sheetnames
            if sheet is not None and sheet not in names:
                raise invalid("sheet", f"a sheet of {file.name}", sheet)
            page = book[sheet or names[0]]
            lines: list[list[Any]] = []
            cells = 0
            for row in page.iter_rows(values_only=True):
                lines.append(list(row))
                cells += len(row)
                if cells > _MOST_CELLS:
                    raise invalid("table", f"a sheet of at most {_MOST_CELLS:,} cells", file)
            return lines
        finally:
            book.close()
    except InvalidInput:
        raise
    except Exception as error:  # a foreign format can break its reader in any way
        raise invalid(
            "table", "a readable spreadsheet", file, f"openpyxl met: {said_safely(error)}."
        ) from None


def _refuse_large(file: Path) -> None:
    """Refuses a spreadsheet, which is a packed folder, that is larger unpacked than any table."""
    try:
        with zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
    except (zipfile.BadZipFile, OSError):
        raise invalid("table", "a readable spreadsheet", file) from None
    if size > 8 * _LARGEST:
        raise invalid("table", f"a spreadsheet of at most {8 * _LARGEST // 2**20} MB, unpacked", file)
