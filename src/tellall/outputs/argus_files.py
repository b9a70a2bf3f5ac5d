"""Files of tau-Argus: tables (.tab) with what their columns are (.rda), and linear systems of cells (JJ)."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

import numpy as np

from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.outputs.listed import COUNTS, KnownSum, ListedCells
from tellall.people.hierarchies import read_hierarchy

__all__ = [
    "ArgusColumn",
    "ArgusMetadata",
    "ArgusTable",
    "argus_lines",
    "is_jj",
    "read_argus",
    "read_jj",
    "read_rda",
]

_LARGEST = 2**27
_PLACES = ("RECODEABLE", "RECODABLE")
_ROLES = {"FREQUENCY": "frequency", "MAXSCORE": "score", "STATUS": "status"}
_NUMERIC = {
    "": "response",
    "SHADOW": "shadow",
    "COST": "cost",
    "COSTVAR": "cost",
    "LOWERPL": "lower",
    "UPPERPL": "upper",
}
_IGNORED = ("DECIMALS", "DISTANCE", "CODELIST", "TRUNCABLE")
_SECONDARY, _EMPTY = ("M", "X", "D"), ("E", "Z")
_TOTAL = "Total"


@dataclass
class ArgusColumn:
    """A column as an .rda file describes it."""

    name: str
    missing: tuple[str, ...] = ()
    role: str = ""
    total: str = _TOTAL
    hierarchical: bool = False
    lead: str = "@"
    hierarchy_file: str = ""
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class ArgusMetadata:
    """An .rda file: the separator, the letters of statuses, and the columns in order."""

    separator: str
    safe: str
    unsafe: str
    protect: str
    columns: tuple[ArgusColumn, ...]


@dataclass(frozen=True, eq=False)
class ArgusTable:
    """A table of tau-Argus, and what the codes of its columns are made of."""

    table: ListedCells
    hierarchies: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def _text_of(path: Path, what: str) -> str:
    """The text of a file; tau-Argus writes Windows-1252."""
    try:
        return files.read_text(path, what=what, largest=_LARGEST)
    except InvalidInput:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise
        return path.read_bytes().decode("cp1252", errors="replace")


def read_rda(path: Path) -> ArgusMetadata:
    """What an .rda file says about a table of tau-Argus."""
    start = path.read_bytes()[:6] if path.is_file() else b""
    if start[:2] == b"\x1f\x8b" or start[:3] in (b"RDX", b"BZh", b"RDA") or start[:6] == b"\xfd7zXZ\x00":
        raise invalid("paths", "an .rda of tau-Argus, which is text", f"R data ({path.name})")
    marks = {"SEPARATOR": ",", "SAFE": "S", "UNSAFE": "U", "PROTECT": "P"}
    columns: list[ArgusColumn] = []
    for number, line in enumerate(_text_of(path, "metadata").splitlines(), start=1):
        if not line.strip():
            continue
        words = _words(line, number, path)
        if not words[0].startswith("<"):
            columns.append(ArgusColumn(words[0], tuple(word.strip() for word in words[1:])))
            continue
        key = words[0].strip("<>").upper()
        if key in marks:
            if len(words) < 2 or not words[1]:
                raise _bad(path, number, f"a value after <{key}>")
            marks[key] = words[1]
        elif not columns:
            raise _bad(path, number, f"the name of a column before <{key}>")
        else:
            _describe(columns[-1], key, words[1:], path, number)
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise invalid("metadata", f"each column once in {path.name}", ", ".join(names))
    if not any(column.role == "place" for column in columns):
        raise invalid("metadata", "one that says which columns hold codes (<RECODEABLE>)", path.name)
    return ArgusMetadata(marks["SEPARATOR"], marks["SAFE"], marks["UNSAFE"], marks["PROTECT"], tuple(columns))


def _bad(path: Path, number: int, expected: str) -> InvalidInput:
    return invalid("metadata", expected, f"line {number:,} of {path.name}")


def _words(line: str, number: int, path: Path) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.commenters, reader.escape, reader.quotes = True, "", "", '"'
    try:
        return list(reader)
    except ValueError:
        raise _bad(path, number, "quotation marks in pairs") from None


def _describe(column: ArgusColumn, key: str, words: Sequence[str], path: Path, number: int) -> None:
    """Adds a line of an .rda file to the column that it is about."""
    if key in _PLACES:
        column.role = "place"
    elif key in _ROLES:
        column.role = _ROLES[key]
    elif key == "NUMERIC":
        kind = words[0].strip("<>").upper() if words else ""
        if kind not in _NUMERIC:
            raise _bad(path, number, "<NUMERIC> alone, or before <SHADOW>, <COST>, <LOWERPL> or <UPPERPL>")
        column.role = _NUMERIC[kind]
    elif key == "TOTCODE" and words:
        column.total = words[0].strip()
    elif key == "HIERARCHICAL":
        column.hierarchical = True
    elif key == "HIERLEADSTRING" and words:
        column.lead = words[0]
    elif key == "HIERCODELIST" and words:
        column.hierarchy_file = words[0]
    elif key == "HIERLEVELS" and words and all(word.isdecimal() for word in words):
        column.levels = tuple(map(int, words))
    elif key not in _IGNORED:
        raise _bad(path, number, "a line that tables of tau-Argus have")


def read_argus(path: Path, described: Path, value: str | None = None) -> ArgusTable:
    """A table of tau-Argus: a .tab file, with what its .rda file says.

    Parameters
    ----------
    value
        The numeric column to read; by default the response, or else the number of contributors.
    """
    told = read_rda(described)
    lines = argus_lines(path, told)
    texts = {column.name: [line[at].strip() for line in lines] for at, column in enumerate(told.columns)}
    places = [column for column in told.columns if column.role == "place"]
    number = _value_column(told, value, path)
    numbers = _numbers(texts[number.name], number.name, path, told.separator)
    codes = {
        column.name: [_TOTAL if code in (column.total, "") else code for code in texts[column.name]]
        for column in places
    }
    margin = np.full(numbers.size, np.nan)
    for column in told.columns:
        if column.role in ("lower", "upper"):
            margin = np.fmax(margin, _numbers(texts[column.name], column.name, path, told.separator))
    rule, other, fixed = _statuses(texts, told, path)
    found = ListedCells(
        codes,
        numbers,
        rule | other,
        variable=COUNTS if number.role == "frequency" or number.name.lower() in _COUNTED else number.name,
        name=path.name,
        secret=numbers,
        primary=rule,
        margin=np.where(rule & (margin > 0), margin, np.nan),
        fixed=fixed,
    )
    made_of = {column.name: _parts_of(column, found, described) for column in places}
    used = tuple(_beside(described, column) for column in places if column.hierarchy_file)
    return ArgusTable(found, {name: parts for name, parts in made_of.items() if parts}, used)


_COUNTED = ("freq", "frequency", "count", "counts", "n")


def argus_lines(path: Path, told: ArgusMetadata) -> list[list[str]]:
    """The fields of each line of a table."""
    text = _text_of(path, "table")
    if len(told.separator) != 1:
        raise invalid("metadata", "a separator of one character", told.separator)
    found = []
    for number, line in enumerate(csv.reader(io.StringIO(text), delimiter=told.separator), start=1):
        if not "".join(line).strip():
            continue
        if len(line) != len(told.columns):
            rule = f"lines of {len(told.columns)} fields, as the .rda says"
            raise invalid("table", rule, f"{len(line)} in line {number:,} of {path.name}")
        found.append(line)
    if not found:
        raise invalid("table", "one line or more", f"none in {path.name}")
    return found


def _value_column(told: ArgusMetadata, value: str | None, path: Path) -> ArgusColumn:
    numeric = {column.name: column for column in told.columns if column.role in ("response", "frequency")}
    if value is not None:
        if value not in numeric:
            raise invalid("value", f"a numeric column of {path.name} ({', '.join(numeric)})", value)
        return numeric[value]
    for role in ("response", "frequency"):
        own = [column for column in numeric.values() if column.role == role]
        if len(own) > 1:
            raise invalid("value", "named, since several columns may be meant", ", ".join(numeric))
        if own:
            return own[0]
    raise invalid("metadata", "a column with <NUMERIC> or <FREQUENCY>", path.name)


def _numbers(texts: Sequence[str], name: str, path: Path, separator: str) -> np.ndarray:
    """Numbers with a point, or with a comma where that separates no fields."""
    found = np.empty(len(texts))
    for line, text in enumerate(texts):
        plain = text.replace(",", ".") if separator != "," and "." not in text else text
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", plain) is None:
            raise invalid(f"'{name}'", "numbers", f"something else in line {line + 1:,} of {path.name}")
        found[line] = float(plain)
    return found


def _statuses(
    texts: Mapping[str, Sequence[str]], told: ArgusMetadata, path: Path
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which lines a rule withholds, which are withheld to protect these, and which have to be shown."""
    columns = [column.name for column in told.columns if column.role == "status"]
    if len(columns) != 1:
        raise invalid("metadata", "one column with <STATUS>", f"{len(columns)} of {path.name}")
    own = [text.upper() for text in texts[columns[0]]]
    safe, unsafe, protect = (mark.upper() for mark in (told.safe, told.unsafe, told.protect))
    known = {safe, unsafe, protect, *_SECONDARY, *_EMPTY}
    for line, status in enumerate(own):
        if status not in known:
            expected = f"a status: {', '.join(sorted(known))}"
            raise invalid(f"'{columns[0]}'", expected, f"something else in line {line + 1:,} of {path.name}")
    statuses = np.array(own)
    rule = statuses == unsafe
    other = np.isin(statuses, [each for each in _SECONDARY if each not in (safe, unsafe, protect)])
    fixed = (statuses == protect) | np.isin(statuses, [each for each in _EMPTY if each not in (safe, unsafe)])
    return rule, other, fixed


def _parts_of(column: ArgusColumn, table: ListedCells, described: Path) -> dict[str, tuple[str, ...]]:
    """What the codes of a column are made of; codes of missing values stand for themselves."""
    labels = table.coding(column.name).labels
    if column.levels:
        return _by_length(column, labels)
    if not column.hierarchical and not column.hierarchy_file:
        return {}
    file = _beside(described, column)
    if not column.hierarchy_file or not file.is_file():
        rule = f"the hierarchy of '{column.name}' beside {described.name}"
        raise invalid("paths", rule, column.hierarchy_file or "no <HIERCODELIST>")
    found = read_hierarchy(file, column.lead)
    listed = (line.strip() for line in _text_of(file, "hierarchy").splitlines())
    known = {line.lstrip(column.lead).strip() for line in listed}
    for label in labels:
        if label not in found and (label in known or label in column.missing):
            found.setdefault(label, (label,))
        elif label not in known:
            raise invalid(
                "hierarchy", f"one with every code of '{column.name}'", f"'{label}' is not in {file.name}"
            )
    return found


def _beside(described: Path, column: ArgusColumn) -> Path:
    """The file of a hierarchy; whatever folder the .rda names, it is looked for beside it."""
    return described.parent / Path(column.hierarchy_file.replace("\\", "/")).name


def _by_length(column: ArgusColumn, labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parts by the number of characters of each level (<HIERLEVELS>)."""
    ends = np.cumsum(column.levels).tolist()
    found: dict[str, list[str]] = {}
    for label in labels:
        if len(label) not in ends:
            rule = f"codes of '{column.name}' with {', '.join(map(str, ends))} characters"
            raise invalid("table", rule, f"'{label}'")
        if (level := ends.index(len(label))) > 0:
            above = label[: ends[level - 1]]
            if above in labels:
                found.setdefault(above, []).append(label)
    return {code: tuple(parts) for code, parts in found.items()}


_TERM = re.compile(r"\s*(\d+)\s*\(\s*([+-]?\d+(?:\.\d+)?)\s*\)")


def is_jj(path: Path) -> bool:
    """Whether a file is a linear system of cells as tau-Argus and sdcTable write it."""
    if path.suffix.lower() == ".jj":
        return True
    if path.suffix.lower() not in (".txt", ".dat", "") or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as lines:
        head = [lines.readline(200).strip() for _ in range(3)]
    return head[0] == "0" and head[1].isdecimal() and len(head[2].split()) == 9


def read_jj(path: Path) -> ListedCells:
    """A linear system of cells: each with its value, status and bounds, and the sums that hold among them.

    Notes
    -----
    The first line is 0, then the number of cells, and for each its number, value, cost, status (s, u, m or
    z), what everybody knows to bound it, and its lower, upper and sliding protection level. Then the number
    of sums, and for each its total, the number of terms, a colon and the terms: cell (1) or cell (-1).
    """
    lines = [line.strip() for line in _text_of(path, "table").splitlines() if line.strip()]
    if len(lines) < 2 or lines[0] != "0" or not lines[1].isdecimal():
        raise invalid("table", "a JJ file: 0, the number of cells, the cells, ...", path.name)
    size = int(lines[1])
    if len(lines) < size + 3 or not lines[size + 2].split()[0].isdecimal():
        raise invalid("table", f"{size:,} cells and the number of sums", f"{path.name}, which ends before")
    cells = np.empty((size, 8))
    statuses = []
    for at, line in enumerate(lines[2 : size + 2]):
        words = line.split()
        numbers = [_float(word) for place, word in enumerate(words) if place != 3]
        if len(words) != 9 or None in numbers or words[3] not in ("s", "u", "m", "z") or words[0] != str(at):
            rule = "a number, value, cost, status (s, u, m, z), two bounds and three protection levels"
            raise invalid("table", rule, f"line {at + 3:,} of {path.name}")
        cells[at] = numbers
        statuses.append(words[3])
    sums = []
    many = int(lines[size + 2].split()[0])
    if len(lines) != size + 3 + many:
        raise invalid("table", f"{many:,} sums", f"{len(lines) - size - 3:,} in {path.name}")
    for at, line in enumerate(lines[size + 3 :]):
        sums.append(_sum_of(line, size, f"line {size + 4 + at:,} of {path.name}"))
    status = np.array(statuses)
    values, low, high = cells[:, 1], cells[:, 3], cells[:, 4]
    lower, upper, sliding = cells[:, 5:].T
    if (sliding > lower + upper).any():
        raise invalid("table", "without sliding protection levels above the others", path.name)
    margin = np.maximum(lower, upper)
    return ListedCells(
        {"cell": [str(at) for at in range(size)]},
        values,
        np.isin(status, ["u", "m"]),
        variable="value",
        name=path.name,
        secret=values,
        primary=status == "u",
        margin=np.where((status == "u") & (margin > 0), margin, np.nan),
        low=low,
        high=high,
        fixed=status == "z",
        sums=sums,
    )


def _float(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _sum_of(line: str, size: int, where: str) -> KnownSum:
    head, colon, rest = line.partition(":")
    words = head.split()
    terms = _TERM.findall(rest)
    whole = not _TERM.sub("", rest).strip()
    total = _float(words[0]) if len(words) == 2 else None
    factors = [float(factor) for _, factor in terms]
    if not (colon and whole and total is not None and words[1] == str(len(terms))):
        raise invalid("table", "sums such as '0 3 : 0 (-1) 1 (1) 2 (1)'", where)
    if any(abs(factor) != 1 for factor in factors):
        raise invalid("table", "sums with factors of 1 and -1", where)
    if any(int(cell) >= size for cell, _ in terms):
        raise invalid("table", f"sums of cells 0 to {size - 1}", where)
    plus = tuple(int(cell) for (cell, _), factor in zip(terms, factors, strict=True) if factor > 0)
    minus = tuple(int(cell) for (cell, _), factor in zip(terms, factors, strict=True) if factor < 0)
    return KnownSum(plus, minus, total)
