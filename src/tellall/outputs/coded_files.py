"""Tables as statistical offices exchange them: SDMX-CSV and JSON-stat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core import files
from tellall.core.errors import invalid
from tellall.outputs.grids import as_number
from tellall.outputs.listed import COUNTS, ListedCells, is_total
from tellall.people.hierarchies import children_of

__all__ = ["CodedTable", "is_json_stat", "is_sdmx", "read_json_stat", "sdmx_cells"]

_VALUE = "OBS_VALUE"
_STARTS = ("DATAFLOW", "STRUCTURE")
_NO_CODES = ("DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY")
_TOTALS = ("_T", "TOTAL", "TOT")
_FREE, _SECONDARY = ("", "F"), ("D", "S")
_PRIMARY = ("A", "C", "E", "G", "M", "N", "O", "P", "R", "T")
_SUPPRESSED, _NEVER_THERE = ("Q",), ("M", "L", "N", "K", "H", "O")
_ACTIONS = ("", "I", "A", "R", "M")
_MOST = 1_000_000
_TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table, and what the codes of its columns are made of, as far as its file says."""

    table: ListedCells
    hierarchies: dict[str, dict[str, tuple[str, ...]]]


def is_sdmx(names: Sequence[str]) -> bool:
    """Whether the columns of a table are those of SDMX-CSV.

    Examples
    --------
    >>> is_sdmx(["DATAFLOW", "GEO", "OBS_VALUE"]), is_sdmx(["geo", "value"])
    (True, False)
    """
    plain = [_id_of(name) for name in names]
    return bool(plain) and plain[0] in _STARTS and _VALUE in plain


def _id_of(text: str) -> str:
    """The code of a code with its name, "A: Annual"."""
    return text.partition(":")[0].strip()


def sdmx_cells(
    path: Path, texts: Mapping[str, Sequence[str]], first: int, *, amounts: bool | None = None
) -> ListedCells:
    """A table of SDMX-CSV: dimensions come before OBS_VALUE, attributes after it.

    Notes
    -----
    ``CONF_STATUS`` says what is withheld: F is free, D and S are withheld to protect others, other codes of
    the list by a rule. ``OBS_STATUS`` Q is suppressed; without a number, other codes mean that there is none.
    Dimensions with a single code are left out. The codes _T, TOTAL and TOT, and T of SEX, are totals.
    """
    names = list(texts)
    plain = {name: _id_of(name) for name in names}
    labelled = any(":" in name for name in names)
    at = [plain[name] for name in names].index(_VALUE)
    dimensions = [name for name in names[:at] if plain[name] not in _NO_CODES]
    attributes = {plain[name]: texts[name] for name in names[at + 1 :]}
    for line, action in enumerate(next((texts[name] for name in names if plain[name] == "ACTION"), ())):
        if action.upper() not in _ACTIONS:
            raise invalid("ACTION", "I, A, R or M", f"something else in line {line + first:,} of {path.name}")
    numbers = np.empty(len(texts[names[at]]))
    for line, text in enumerate(texts[names[at]]):
        number = as_number(text)
        if number is None:
            raise invalid(_VALUE, "numbers", f"something else in line {line + first:,} of {path.name}")
        numbers[line] = number
    rule, other = np.zeros(numbers.size, dtype=bool), np.zeros(numbers.size, dtype=bool)
    for line, text in enumerate(attributes.get("CONF_STATUS", ())):
        code = _id_of(text).upper()
        if code not in (*_FREE, *_SECONDARY, *_PRIMARY):
            expected = "a code of CL_CONF_STATUS, such as F, C, N, D or S"
            raise invalid("CONF_STATUS", expected, f"something else in line {line + first:,} of {path.name}")
        rule[line], other[line] = code in _PRIMARY, code in _SECONDARY
    gone = np.isnan(numbers)
    statuses = [_id_of(text).upper() for text in attributes.get("OBS_STATUS", [""] * numbers.size)]
    rule |= np.array([status in _SUPPRESSED for status in statuses]) & ~other
    absent = gone & ~rule & ~other & np.array([status in _NEVER_THERE for status in statuses])
    rule |= gone & ~other & ~absent
    columns = {}
    for name in dimensions:
        codes = [_id_of(text) if labelled else text for text in texts[name]]
        if len(set(codes)) > 1:
            columns[plain[name]] = [_TOTAL if _is_total(plain[name], code) else code for code in codes]
    broken = bool((np.nan_to_num(numbers) % 1 != 0).any())
    return ListedCells(
        columns,
        numbers,
        rule | other,
        variable="OBS_VALUE" if (broken if amounts is None else amounts) else COUNTS,
        name=path.name,
        secret=numbers,
        primary=rule if rule.any() else None,
    )


def _is_total(column: str, code: str) -> bool:
    return code.upper() in _TOTALS or is_total(code) or (column.upper() == "SEX" and code.upper() == "T")


def is_json_stat(document: Mapping[str, Any]) -> bool:
    """Whether an object in JSON is a table of JSON-stat.

    Examples
    --------
    >>> is_json_stat({"version": "2.0", "class": "dataset"}), is_json_stat({"document": "release"})
    (True, False)
    """
    inner = document.get("dataset")
    return document.get("class") == "dataset" or (isinstance(inner, dict) and "dimension" in inner)


def read_json_stat(path: Path, *, amounts: bool | None = None) -> CodedTable:
    """A table of JSON-stat: every combination of the categories has a value, in order.

    Notes
    -----
    A value of null is withheld; so is one with status "c" (by a rule) or "x" (to protect others). Other
    statuses say nothing about that. Categories with children are made of them.
    """
    document = files.read_json(path, what="table")
    inner = document.get("dataset")
    data = inner if isinstance(inner, dict) and "dimension" in inner else document
    dimension = data.get("dimension")
    if not isinstance(dimension, dict):
        raise _wrong(path, "'dimension'")
    ids: Any = data.get("id", dimension.get("id"))
    sizes: Any = data.get("size", dimension.get("size"))
    if not (_are(ids, str) and _are(sizes, int) and len(ids) == len(sizes) and len(set(ids)) == len(ids)):
        raise _wrong(path, "'id' and 'size', lists of the same length")
    cells = prod(sizes)
    if not 0 < cells <= _MOST:
        raise invalid("table", f"one with 1 to {_MOST:,} cells", f"{cells:,} in {path.name}")
    codes, hierarchies = {}, {}
    for name, size in zip(ids, sizes, strict=True):
        codes[name], parts = _categories(dimension.get(name), name, size, path)
        if parts:
            hierarchies[name] = parts
    values = _values(data.get("value"), cells, path)
    statuses = _statuses(data.get("status"), cells, path)
    places = np.unravel_index(np.arange(cells), tuple(sizes))
    columns = {
        name: [codes[name][at] for at in own.tolist()]
        for name, size, own in zip(ids, sizes, places, strict=True)
        if size > 1
    }
    other = np.array([status == "x" for status in statuses])
    rule = (np.isnan(values) & ~other) | np.array([status == "c" for status in statuses])
    broken = bool((np.nan_to_num(values) % 1 != 0).any())
    table = ListedCells(
        columns,
        values,
        rule | other,
        variable="value" if (broken if amounts is None else amounts) else COUNTS,
        name=path.name,
        secret=values,
        primary=rule if rule.any() else None,
    )
    return CodedTable(table, {name: parts for name, parts in hierarchies.items() if name in columns})


def _wrong(path: Path, what: str) -> Exception:
    return invalid("table", f"JSON-stat with {what}", path.name)


def _are(given: Any, kind: type) -> bool:
    return isinstance(given, list) and all(
        isinstance(each, kind) and not isinstance(each, bool) for each in given
    )


def _categories(given: Any, name: str, size: int, path: Path) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """The codes of a dimension in order, those of totals as "Total", and what codes are made of."""
    category = given.get("category") if isinstance(given, dict) else None
    if not isinstance(category, dict):
        raise _wrong(path, f"categories of '{name}'")
    index: Any = category.get("index")
    labels: Any = category.get("label", {})
    if isinstance(index, dict) and all(isinstance(at, int) for at in index.values()):
        codes = sorted(index, key=index.__getitem__)
    elif _are(index, str):
        codes = list(index)
    elif index is None and isinstance(labels, dict) and len(labels) == 1:
        codes = list(labels)
    else:
        raise _wrong(path, f"an index of the categories of '{name}'")
    if len(codes) != size or len(set(codes)) < size:
        raise _wrong(path, f"{size} categories of '{name}', as 'size' says")
    said = labels if isinstance(labels, dict) else {}
    totals = {code for code in codes if _is_total(name, code) or is_total(str(said.get(code, "")))}
    children = category.get("child", {})
    if not isinstance(children, dict) or not all(_are(each, str) for each in children.values()):
        raise _wrong(path, f"lists of the children of categories of '{name}'")
    unknown = [code for code, parts in children.items() for code in (code, *parts) if code not in codes]
    if unknown:
        raise _wrong(path, f"children of '{name}' that are categories")
    parts = {code: tuple(each) for code, each in children.items() if code not in totals and each}
    _without_circles(parts)
    if parts:  # codes that are part of nothing are made of themselves
        known = {*parts, *(part for each in parts.values() for part in each)}
        parts |= {code: (code,) for code in codes if code not in known and code not in totals}
    return [_TOTAL if code in totals else code for code in codes], parts


def _without_circles(parts: Mapping[str, tuple[str, ...]]) -> None:
    """Refuses codes that are part of two others, which no level of a hierarchy has."""
    listed = [part for each in parts.values() for part in each]
    children_of((1, part) for part in listed)


def _values(given: Any, cells: int, path: Path) -> np.ndarray:
    found = np.full(cells, np.nan)
    if isinstance(given, dict):
        pairs = list(given.items())
    elif isinstance(given, list) and len(given) == cells:
        pairs = list(enumerate(given))
    else:
        raise _wrong(path, f"'value': {cells:,} numbers, or an object of them")
    for key, value in pairs:
        place = int(key) if isinstance(key, int) or key.isdecimal() else cells
        number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if place >= cells or not (number or value is None):
            raise _wrong(path, "numbers or null in 'value'")
        found[place] = np.nan if value is None else float(value)
    return found


def _statuses(given: Any, cells: int, path: Path) -> list[str]:
    if given is None or isinstance(given, str):
        return [given or ""] * cells
    if isinstance(given, list) and len(given) in (1, cells):
        return [str(each or "").lower() for each in (given * cells if len(given) == 1 else given)]
    if isinstance(given, dict):
        found = [""] * cells
        for key, status in given.items():
            if not str(key).isdecimal() or int(key) >= cells:
                raise _wrong(path, "'status' of its cells")
            found[int(key)] = str(status or "").lower()
        return found
    raise _wrong(path, "'status' as a text, a list or an object")
