"""Reads tables of counts from files: one count per line, next to the values of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.checks import one_of
from tellall.core.errors import invalid
from tellall.evidence.count_tables import CountTable
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.grids import TOTALS, as_number, last_digit
from tellall.people.bands import Bands, can_refine, hierarchy, is_band, overlap
from tellall.people.labels import label_text
from tellall.people.readers import read_printed, read_table
from tellall.protections import Rounding
from tellall.protections.protection import Protection, as_protections

__all__ = ["read_count_tables"]

_SHARES = {"percent": 0.01, "percentage": 0.01, "pct": 0.01, "%": 0.01, "rate": 1.0, "share": 1.0}  # units
_NEAR = 1e-9
_COUNTS = ("count", "counts", "n", "number", "people", "population", "value", "freq", "frequency")


@dataclass(frozen=True, eq=False)
class _Listed:
    """The lines of one file."""

    columns: tuple[str, ...]
    lines: list[tuple[str, ...]]
    counts: Array
    areas: list[str]
    units: float | None = None  # of shares; None for counts
    unit: float = 1.0  # of the last digit of shares


def read_count_tables(
    paths: str | Path | Sequence[str | Path],
    protect: Protection | Sequence[Protection] | None = None,
    *,
    count: str | None = None,
    by: str | None = None,
    absent: str = "zero",
    bands: Sequence[Bands] = (),
) -> dict[str, list[CountTable]]:
    """The tables in some files, by area; all under the key "" if there are no areas.

    Parameters
    ----------
    paths
        CSV, TSV, Parquet or spreadsheet files. Each line has a value of every column of the table and the
        count of that cell; a mark such as "*" or "<5", or an empty cell, says that the count is hidden. A
        line with "total" or "all" in place of a value is the total over that column. A file with a column
        "percent" ("pct", "%"), "rate" or "share" in place of counts has shares, rounded to the digits that it
        shows (only CSV and TSV files show zeros at the end of a number). Each is a share of the people with
        the same values of all columns but the last: those who have that value of the last one. The number of
        these people must be in another file.
    protect
        What is known to have been done to the counts, in order; None if they are exact.
    count
        The column of counts or shares; by default the one called count, n, percent, ..., or else the last.
    by
        A column of areas, each with tables of its own.
    absent
        What it means if a file does not show a combination: "zero" (nobody has it) or "unknown". If a rule
        hides cells and the file marks none of them, they may be what it does not show. Bands that
        only other files have ("80+" beside a file that ends with "75-79") are not in a file at all.
    bands
        What labels of columns mean, where they do not say it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "age_sex.csv"
    ...     _ = path.write_text("age,sex,count\\n0-19,f,1\\n0-19,m,*\\n20+,f,2\\n20+,total,5\\n")
    ...     read_count_tables(path)
    {'': [CountTable of age: 2 cells, 1 hidden; exact, CountTable of age × sex: 4 cells, 1 hidden; exact]}
    """
    one_of("absent", absent, ("zero", "unknown"))
    chosen, done = [paths] if isinstance(paths, str | Path) else list(paths), as_protections(protect)
    if not chosen:
        raise invalid("paths", "one file or more", "none")
    if absent == "unknown" and any(protection.hides for protection in done):
        rule = "zero if a rule hides cells, so that a missing line is not taken for a hidden cell"
        raise invalid("absent", rule, absent)
    files = [_read(Path(path), count, by) for path in chosen]
    shown = _values_shown(files, {each.column: each for each in bands})
    areas: dict[str, list[CountTable]] = {area: [] for file in files for area in file.areas}
    for file, labels in zip(files, shown, strict=True):
        for area in dict.fromkeys(file.areas):
            here = [i for i, each in enumerate(file.areas) if each == area]
            areas[area] += _tables(file, here, labels, done, absent)
    return areas


def _values_shown(files: Sequence[_Listed], bands: Mapping[str, Bands]) -> list[dict[str, list[str]]]:
    """The values of each column of each file.

    Files have the values of all files, since one that a file does not list has no people there. Bands, codes
    of different levels, and values told by Bands, if they differ between files, are each file's own; so are
    values of which two files have none in common.
    """
    own = [
        {
            name: [
                text for text in dict.fromkeys(line[at] for line in file.lines) if text.lower() not in TOTALS
            ]
            for at, name in enumerate(file.columns)
        }
        for file in files
    ]
    every: dict[str, list[str]] = {}
    for labels in own:
        for name, texts in labels.items():
            known = every.setdefault(name, [])
            known += [text for text in texts if text not in known]
    for name, texts in every.items():
        if not texts:
            raise invalid("paths", f"tables with values of '{name}'", "totals alone")
    apart = set()
    for name, texts in every.items():
        codings = [labels[name] for labels in own if labels.get(name)]
        banded = name in bands or any(map(is_band, texts)) or hierarchy(codings)
        strangers = any(not set(one) & set(other) for one, other in combinations(codings, 2))
        if overlap(texts) or strangers or (banded and can_refine(name, codings, bands.get(name))):
            apart.add(name)
    return [
        {name: texts if name in apart and texts else every[name] for name, texts in labels.items()}
        for labels in own
    ]


def _read(path: Path, count: str | None, by: str | None) -> _Listed:
    table = read_table(path)
    names = [str(name) for name in (table.keys() if isinstance(table, Mapping) else table.columns)]
    counted = _count_column(path, names, count)
    if by is not None and by not in names:
        raise invalid("by", f"a column of {path.name}", f"'{by}'")
    columns = tuple(name for name in names if name not in (counted, by))
    texts = {name: [label_text(value) for value in _values(table[name])] for name in names}
    units = _SHARES.get(counted.lower())
    counts, first = np.empty(len(texts[counted])), getattr(table, "first", 2)
    for number, text in enumerate(texts[counted]):
        found = as_number(text.removesuffix("%") if units else text)
        if found is None:
            rule = f"{'shares' if units else 'counts'}, or a mark for a hidden one"
            raise invalid(f"'{counted}'", rule, f"something else in line {number + first:,} of {path.name}")
        if units and (found < 0 or found * units > 1 + _NEAR):
            rule = f"shares from 0 to {1 / units:g}"
            raise invalid(f"'{counted}'", rule, f"another number in line {number + first:,} of {path.name}")
        counts[number] = found
    areas = texts[by] if by is not None else [""] * counts.size
    lines = [tuple(texts[name][i] for name in columns) for i in range(counts.size)]
    for number, line in enumerate(lines):
        if "" in line:
            raise invalid(
                "paths", "files with a value in every column", f"line {number + first:,} of {path.name}"
            )
    if units is None:
        return _Listed(columns, lines, counts, areas)
    unit = min(filter(isfinite, map(last_digit, _values(read_printed(path)[counted]))), default=1.0)
    return _Listed(columns, lines, counts, areas, units, unit)


def _values(column: Any) -> list[Any]:
    if isinstance(column, np.ma.MaskedArray):
        gone = np.ma.getmaskarray(column)
        return [None if missing else value for value, missing in zip(column.data, gone, strict=True)]
    return list(column)


def _count_column(path: Path, names: Sequence[str], count: str | None) -> str:
    if count is not None:
        if count not in names:
            raise invalid("count", f"a column of {path.name} ({', '.join(names)})", f"'{count}'")
        return count
    known = [name for name in names if name.lower() in (*_COUNTS, *_SHARES)]
    if len(known) > 1:
        raise invalid("count", "named, since several columns may be meant", ", ".join(known))
    return known[0] if known else names[-1]


def _tables(
    file: _Listed,
    here: Sequence[int],
    labels: Mapping[str, Sequence[str]],
    done: tuple[Protection, ...],
    absent: str,
) -> list[CountTable]:
    """A table for each set of columns for which the file has lines."""
    marked = bool(np.isnan(file.counts).any())
    left_out = any(protection.hides for protection in done) and not marked  # hidden cells may have no line
    fill = 0.0 if absent == "zero" and file.units is None and not left_out else np.nan
    cells: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {}
    for i in here:
        line = dict(zip(file.columns, file.lines[i], strict=True))
        kept = tuple(name for name, text in line.items() if text.lower() not in TOTALS)
        table, cell = cells.setdefault(kept, {}), tuple(line[name] for name in kept)
        if cell in table:
            raise invalid("paths", "files with each cell once", f"{', '.join(cell) or 'a total'} twice")
        table[cell] = float(file.counts[i])
    found = []
    for kept in sorted(cells, key=len):
        columns = {name: labels[name] for name in kept}
        shape = tuple(map(len, columns.values()))
        # a total that a file does not show is not zero
        counts = np.full(prod(shape), fill if len(kept) == len(file.columns) else np.nan)
        for cell, value in cells[kept].items():
            codes = [columns[name].index(text) for name, text in zip(kept, cell, strict=True)]
            counts[int(np.ravel_multi_index(codes, shape)) if codes else 0] = value
        if file.units is not None:
            if kept and kept[-1] == file.columns[-1]:
                rounded, of = Rounding(file.unit), kept[:-1]
                found.append(CountTable(columns, counts, rounded, shares_of=of, units=file.units))
            continue
        complete = len(kept) == len(file.columns) or not np.isnan(counts).any()
        if complete or not any(protection.hides for protection in done):  # else absent cells may be hidden
            summed = [name for name in file.columns if name not in kept]
            found.append(CountTable(columns, counts, done, summed=summed))
    return found
