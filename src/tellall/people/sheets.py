"""Cells of small files, line by line: CSV in any of the usual encodings, packed or not, and spreadsheets.

Only values are read from a spreadsheet: a formula counts as the value it last showed. Sizes are limited.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellall.core.errors import InvalidInput, invalid
from tellall.core.locks import clear_leftovers, held_open
from tellall.core.text import said_safely
from tellall.linalg.operators.linear_operator import HOST
from tellall.people.sheet_faults import faults_of

__all__ = [
    "SHEETS",
    "TEXTS",
    "Sheet",
    "check_packed",
    "decoded",
    "encoding_of",
    "in_utf8",
    "read_book",
    "read_cells",
    "read_sheet",
    "read_text_of",
]

TEXTS = (".csv", ".tsv", ".tab", ".txt")
SHEETS = (".xlsx", ".xlsm")
_LARGEST = 64 * 2**20  # bytes, unpacked
_LARGEST_SHEETS = 512 * 2**20
_MOST_CELLS = 5_000_000
_MOST_LINES = 2**20  # of a sheet, as Excel has it
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _unpacked(file: Path, largest: int = _LARGEST, *, what: str = "file") -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz; refuses more than `largest` bytes."""
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
    except (OSError, EOFError, zlib.error) as error:
        raise invalid(what, "a readable .gz file", file, _why_packed(error)) from None
    if len(whole) > largest:
        raise invalid(what, f"{size}, unpacked", file)
    return whole


_PIECE = 2**20
_LARGEST_PEOPLE = 2**33  # bytes of a file of people, unpacked
_MOST_TIMES = 200  # its packed size; tables of people shrink to a fifth or a twentieth
_COPIES = 3  # of the text in memory: the text, its columns, and what is made of them
_PYTHON_NAMES = {"UTF-8": "utf-8-sig", "Windows-1252": "cp1252", "UTF-16": "utf-16", "UTF-32": "utf-32"}


def _pieces(file: Path) -> Iterator[bytes]:
    """Yields the bytes of a text file, unpacked; refuses a file that unpacks to more than the limit."""
    if file.suffix.lower() != ".gz":
        with file.open("rb") as raw:
            yield from iter(lambda: raw.read(_PIECE), b"")
        return
    most, seen = _most_unpacked(file.stat().st_size, _LARGEST_PEOPLE), 0
    with gzip.open(file) as packed:
        for piece in iter(lambda: packed.read(_PIECE), b""):
            seen += len(piece)
            if seen > most:
                raise invalid("path", _unpacked_rule(most), file, "If you trust the file, unpack it first.")
            yield piece


def _most_unpacked(packed: int, largest: int) -> int:
    """The most bytes a file of this size may unpack to; limited by its size, `largest` and memory.

    Examples
    --------
    >>> _most_unpacked(1000, 2**33) == _LARGEST, _most_unpacked(2**40, 2**20) == 2**20
    (True, True)
    """
    return min(largest, max(_LARGEST, _MOST_TIMES * packed), HOST.free_memory // _COPIES)


def _unpacked_rule(most: int) -> str:
    return (
        f"a file of at most {max(most // 2**20, 1):,} MB, unpacked (limited by {_MOST_TIMES} times its size "
        "and by memory)"
    )


def encoding_of(file: Path) -> str:
    """The encoding of a text, packed or not: what its first bytes say, else UTF-8, else Windows-1252."""
    try:
        reader = codecs.getincrementaldecoder("utf-8")()
        for number, piece in enumerate(_pieces(file)):
            for mark, encoding in () if number else _MARKS[1:]:
                if piece.startswith(mark):
                    return encoding.upper()
            reader.decode(piece)
        reader.decode(b"", final=True)
    except UnicodeDecodeError:
        _refuse_mixed(file)
        return "Windows-1252"
    except (EOFError, OSError, zlib.error) as error:
        raise _unread(file, error) from None
    return "UTF-8"


def _refuse_mixed(file: Path) -> None:
    """Refuses a text that is UTF-8 in one line and something else in another: one of them would be misread.

    Letters of Windows-1252 hardly ever happen to be UTF-8, such as "Ã©" for "é".
    """
    seen: dict[bool, int] = {}
    number, rest = 0, b""
    try:
        for piece in _pieces(file):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                number += 1
                if not line.isascii():
                    seen.setdefault(_is_utf8(line), number)
        if not rest.isascii():
            seen.setdefault(_is_utf8(rest), number + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise _unread(file, error) from None
    if len(seen) == 2:
        why = f"Line {seen[True]:,} is in UTF-8 and line {seen[False]:,} is not. Save all of it in UTF-8."
        raise invalid("path", "a file in one encoding", file, why)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unread(file: Path, error: Exception) -> Exception:
    """The error for a file that cannot be read to its end; what the system says stays as it is."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return invalid("path", "a readable file", file, _why_packed(error))


def _why_packed(error: Exception) -> str:
    """Why a packed file cannot be read, in a sentence."""
    if isinstance(error, EOFError):
        return "It ends too early: some of it is missing. Copy or download it again."
    if isinstance(error, gzip.BadGzipFile):
        return "It is not packed by gzip, or more follows what is."
    if isinstance(error, zlib.error):
        return "It is damaged: what is packed in it cannot be unpacked. Copy or download it again."
    return f"It is damaged: unpacking failed with {said_safely(error)}."


@contextmanager
def _nameless() -> Iterator[Path]:
    """A file for people's data that disappears with the process, however the process ends.

    On Linux it lives in memory and in no folder. Elsewhere it is a named temporary file, held open while this
    process lives; files that killed processes left behind are removed first.
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
    """An unpacked copy of a text file in UTF-8 that only its owner can read; removed afterwards."""
    with _nameless() as plain:
        reader = codecs.getincrementaldecoder(_PYTHON_NAMES[encoding])()
        line, piece = 1, b""
        try:
            with plain.open("wb") as copy:
                for piece in _pieces(file):
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
            raise _unread(file, error) from None
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


def read_text_of(file: Path, largest: int = _LARGEST) -> str:
    """The text of a file in any of the usual encodings, packed or not, of at most `largest` bytes."""
    try:
        text, _ = decoded(_unpacked(file, largest, what="table"))
    except UnicodeDecodeError as error:
        raise invalid("table", "text", file, f"Byte {error.start} is not.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise invalid("table", "text", file, f"Line {line:,} holds a zero byte.")
    return text


def read_cells(path: str | Path, *, sheet: str | None = None) -> list[list[Any]]:
    """The cells of each line of a CSV file (also .csv.gz) or of a sheet, by default the first shown."""
    file = Path(path)
    ending = Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()
    if ending in SHEETS and file.suffix.lower() != ".gz":
        return read_sheet(file, sheet).lines
    if ending not in TEXTS:
        raise invalid("table", f"a file ending in {', '.join((*TEXTS, *SHEETS))}", file)
    text = read_text_of(file)
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
    """Turns decimal commas into points, for files whose values are separated by semicolons."""

    def plain(text: str) -> str:
        head, comma, tail = text.strip().partition(",")
        whole = comma and tail.rstrip("% ").isdigit() and head.lstrip("+-").isdigit()
        return f"{head}.{tail}" if whole else text

    return [[plain(text) for text in line] for line in lines]


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook, whole.

    Attributes
    ----------
    name
        What it is called.
    lines
        The cells of each line, up to the last one that is filled.
    merged
        The cells merged into one, as in ``A2:A5``; only the first of them holds the value.
    hidden
        How many of its lines are hidden; they are read as well.
    others
        The other sheets with something in them, each with its first line that is not empty.
    percent
        The line and column, from 0, of each number that is shown as a percentage; the cell holds a share.
    unread
        Why it was not read, in a sentence; empty if it was.
    """

    name: str
    lines: list[list[Any]]
    merged: tuple[str, ...]
    hidden: int
    others: Mapping[str, list[Any]]
    percent: frozenset[tuple[int, int]] = frozenset()
    unread: str = ""


def read_sheet(file: Path, name: str | None = None) -> Sheet:
    """A sheet of a workbook; by default the first that is not hidden.

    How large a sheet says that it is counts for nothing: programs that add lines leave the old size behind.
    """
    with _opened(file) as book:
        pages = {page.title: page for page in book.worksheets}
        if name is not None and name not in pages:
            raise invalid("sheet", f"a sheet of {file.name}", name)
        shown = [title for title, page in pages.items() if page.sheet_state == "visible"]
        chosen = name or (shown or list(pages))[0]
        with pages[chosen]._get_source() as source:
            faults = faults_of(source)
        if faults.unread:
            raise invalid("table", "a spreadsheet whose cells can all be read", file, faults.unread)
        lines = list(_lines_of(pages[chosen], file))
        firsts = {title: _first_line(page, file) for title, page in pages.items() if title != chosen}
        others = {title: line for title, line in firsts.items() if line}
        return Sheet(chosen, lines, faults.merged, faults.hidden, others)


def read_book(file: Path, most: int = _MOST_CELLS) -> Iterator[Sheet]:
    """Yields every sheet of a workbook, hidden ones too, of at most `most` cells each.

    A sheet that cannot be read, or is larger, has no lines and says why.
    """
    with _opened(file) as book:
        for page in book.worksheets:
            with page._get_source() as source:
                faults = faults_of(source)
            try:
                if faults.unread:
                    raise InvalidInput(faults.unread)
                lines, percent = _with_formats(page, most)
            except InvalidInput as error:
                yield Sheet(page.title, [], (), 0, {}, unread=str(error))
                continue
            yield Sheet(page.title, lines, faults.merged, faults.hidden, {}, percent)


def _with_formats(page: Any, most: int) -> tuple[list[list[Any]], frozenset[tuple[int, int]]]:
    """The cells of each line of a page, and where numbers are shown as percentages."""
    page.reset_dimensions()
    lines: list[list[Any]] = []
    percent = set()
    cells = filled = 0
    for row in page.iter_rows():
        cells += len(row)
        filled += sum(cell.value is not None for cell in row)
        if filled > most or cells > _MOST_CELLS or len(lines) >= _MOST_LINES:
            raise InvalidInput(f"It has more than {most:,} cells.")
        lines.append([cell.value for cell in row])
        for column, cell in enumerate(row):
            if isinstance(cell.value, int | float) and "%" in str(cell.number_format):
                percent.add((len(lines) - 1, column))
    return lines, frozenset(percent)


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """A workbook, open; its faults are told as errors about the table."""
    if find_spec("openpyxl") is None:
        raise InvalidInput(
            "Reading .xlsx files needs openpyxl. Install it with: pip install 'tellall[excel]'"
        )
    if not file.is_file():
        raise invalid("table", "a file that exists", file)
    import openpyxl

    check_packed(file, "worksheets/")
    try:
        with file.open("rb") as raw:
            book = openpyxl.load_workbook(raw, read_only=True, data_only=True, keep_links=False)
            yield book
    except (InvalidInput, MemoryError, GeneratorExit):
        raise
    except Exception as error:  # a foreign format can break its reader in any way
        why = f"It is damaged, or no workbook: openpyxl failed with {said_safely(error)}."
        raise invalid("table", "a readable spreadsheet", file, why) from None


def _lines_of(page: Any, file: Path) -> Iterator[list[Any]]:
    """Yields the cells of each line of a page, however large the page says that it is."""
    page.reset_dimensions()
    cells = 0
    for number, row in enumerate(page.iter_rows(values_only=True), start=1):
        cells += len(row)
        if cells > _MOST_CELLS or number > _MOST_LINES:
            rule = f"a sheet of at most {_MOST_CELLS:,} cells in {_MOST_LINES:,} lines"
            raise invalid("table", rule, file)
        yield list(row)


def _first_line(page: object, file: Path) -> list[Any]:
    """The first line of a page with a value in it; empty if there is none."""
    return next((line for line in _lines_of(page, file) if any(value is not None for value in line)), [])


def check_packed(file: Path, apart: str, what: str = "spreadsheet", whole: str = "workbook") -> None:
    """Refuses a packed folder that unpacks to more than the limit; parts named `apart` may be large."""
    try:
        with zipfile.ZipFile(file) as parts:
            sizes = [(part.filename, part.file_size) for part in parts.infolist()]
    except (zipfile.BadZipFile, OSError):
        why = f"It is no whole {whole}: it was cut off, damaged, or is another kind of file."
        raise invalid("table", f"a readable {what}", file, why) from None
    most = _most_unpacked(file.stat().st_size, _LARGEST_SHEETS)
    if sum(size for _, size in sizes) > most:
        raise invalid("table", _unpacked_rule(most), file)
    if any(size > _LARGEST for name, size in sizes if apart not in name):
        raise invalid("table", f"a {what} with at most {_LARGEST >> 20} MB of different texts", file)
