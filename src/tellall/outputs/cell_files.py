"""Files of cells as offices keep them: a line for each cell, its status, subtotals among the lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core import files
from tellall.core.checks import above_zero, one_of
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.linalg.solvers.solution import Mask
from tellall.outputs.argus_files import is_jj, read_argus, read_jj
from tellall.outputs.coded_files import is_json_stat, is_sdmx, read_json_stat, sdmx_cells
from tellall.outputs.found_hierarchies import find_hierarchy
from tellall.outputs.grids import as_number
from tellall.outputs.listed import COUNTS, ListedCells, is_total
from tellall.people.bands import Bands
from tellall.people.hierarchies import is_level_table, read_hierarchy, refine_codes
from tellall.people.labels import label_text
from tellall.people.readers import ENDINGS, read_printed
from tellall.protections.protection import Protection
from tellall.release.release import Release

__all__ = ["CellFiles", "metadata_of", "read_cells"]

_PEOPLE = ("freq", "frequency", "count", "counts", "n", "number", "people", "persons", "population")
_FLAGS = ("primary", "suppressed", "secondary", "hidden", "withheld")
_STATUS = ("status", "sdcstatus", "sdc_status", "conf_status", "confstatus", "confidentiality", "flag")
_TRUE, _FALSE = ("true", "t", "1", "1.0", "yes", "y"), ("false", "f", "0", "0.0", "no", "n", "")
# sdcTable, tau-Argus and SDMX: unsafe by a rule, withheld to protect others, published
_RULE = ("u", "p", "c", "n", "primary", "unsafe", "confidential", "suppressed", "hidden", "withheld")
_OTHERS = ("x", "m", "d", "secondary", "complementary")
_SHOWN = ("s", "z", "f", "v", "a", "e", "", "safe", "free", "published", "shown", "nan", "na")
_CONF_NAMES = ("conf_status", "confstatus")
_CONF = (tuple("acegmnoprt"), ("d", "s"), ("f", ""))  # the code list of SDMX has other meanings
_MOST_LINES = 1_000_000


@dataclass(frozen=True, eq=False)
class CellFiles:
    """What files of cells hold.

    Attributes
    ----------
    tables
        The tables and releases, in the order of the files.
    bands
        What the codes of their columns are made of, from files of hierarchies or found.
    found
        The columns whose hierarchy nobody gave: it was found from codes, or from numbers that add up.
    paths
        The files that were read.
    """

    tables: tuple[ListedCells | Release, ...]
    bands: tuple[Bands, ...]
    found: tuple[str, ...]
    paths: tuple[Path, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(path.name for path in self.paths)


def read_cells(
    paths: str | Path | Sequence[str | Path],
    *,
    value: str | None = None,
    protect: Protection | Sequence[Protection] | None = None,
    hierarchies: Mapping[str, str | Path] | None = None,
    absent: str = "zero",
    within: float | None = None,
) -> CellFiles:
    """The tables in files of cells, with what their codes are made of.

    Parameters
    ----------
    paths
        Files, or folders of them: tables (CSV, TSV, Parquet, spreadsheets), hierarchies (``.hrc`` of
        tau-Argus, or CSV with levels and codes), and releases that tellall saved (``.json``). A table has
        a line for each cell: a code of every column, a number, and what says whether it is withheld: columns
        ``suppressed`` and ``primary``, or ``status``, or a mark such as "x" in place of the number.
    value
        The column of numbers; by default ``freq``, ``count``, ..., or else the last column of numbers.
        Numbers in a column of another name than these are amounts, if ``value`` names it or any is broken.
    protect
        What is known to have been done to the numbers besides.
    hierarchies
        Files of hierarchies by column, if their codes do not tell which column they are of.
    absent
        What it means if a combination of codes that are made of no others has no line: "zero", or "unknown".
    within
        How near is too near, in percent of a withheld value, where nothing in the file says it. It needs the
        withheld numbers.

    Notes
    -----
    Numbers on lines that are withheld are what the publisher knows: no outsider's interval uses them.
    """
    one_of("absent", absent, ("zero", "unknown"))
    if within is not None:
        above_zero("within", within)
    chosen, described = _with_metadata(_files([paths] if isinstance(paths, str | Path) else list(paths)))
    given: dict[Path, Mapping[str, tuple[str, ...]]] = {}
    told: dict[str, Mapping[str, tuple[str, ...]]] = {
        name: read_hierarchy(path) for name, path in (hierarchies or {}).items()
    }
    used: set[Path] = set()
    tables: list[ListedCells | Release] = []
    for path in chosen:
        if path in described:
            argus = read_argus(path, described[path], value)
            tables.append(argus.table)
            told = {**argus.hierarchies, **told}
            used.update(argus.files)
        elif is_jj(path):
            tables.append(read_jj(path))
        elif path.suffix.lower() == ".json":
            tables.append(_of_json(path, value, told))
        elif path.suffix.lower() == ".hrc" or _is_hierarchy(path):
            given[path] = read_hierarchy(path)
        elif path.suffix.lower() != ".rda":
            tables.append(_read(path, value, protect))
    made_of = [parts for path, parts in given.items() if path not in used]
    if not tables:
        raise invalid("paths", "one table or more", "none")
    listed = [table for table in tables if isinstance(table, ListedCells)]
    bands, found = _bands(listed, made_of, told)
    if absent == "zero":
        full = iter([_completed(table, bands) for table in listed])
        tables = [next(full) if isinstance(table, ListedCells) else table for table in tables]
    if within is not None:
        tables = [one.near_within(within) if isinstance(one, ListedCells) else one for one in tables]
    return CellFiles(tuple(tables), tuple(bands), tuple(found), tuple(chosen))


def _files(paths: Sequence[str | Path]) -> list[Path]:
    endings = (*ENDINGS, ".hrc", ".json", ".tab", ".rda", ".jj")
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.name.lower().endswith(endings))
        else:
            found.append(path)
    if not found:
        raise invalid("paths", "one file or more", "none")
    return found


def metadata_of(paths: Sequence[Path]) -> dict[Path, Path]:
    """The .rda of tau-Argus of each table that has one."""
    return _with_metadata(paths)[1]


def _with_metadata(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, Path]]:
    """The files, and the .rda of tau-Argus of each table that has one: of the same name, or the only one."""
    described: dict[Path, Path] = {}
    found = list(paths)
    metadata = [path for path in paths if path.suffix.lower() == ".rda"]
    tables = [path for path in paths if path.suffix.lower() == ".tab"]
    for rda in metadata:
        beside = [rda.with_suffix(ending) for ending in (".tab", ".txt", ".csv", ".dat")]
        named = [path for path in beside if path in paths] or [path for path in beside if path.is_file()]
        own = named or [path for path in tables if not path.with_suffix(".rda").is_file()]
        if not named and len(own) != 1:
            raise invalid(
                "paths", f"the table that {rda.name} describes, with the same name", "none, or several"
            )
        described[own[0]] = rda
        if own[0] not in found:
            found.append(own[0])
    for table in tables:
        if table not in described and table.with_suffix(".rda").is_file():
            described[table] = table.with_suffix(".rda")
    return found, described


def _of_json(
    path: Path, value: str | None, told: dict[str, Mapping[str, tuple[str, ...]]]
) -> ListedCells | Release:
    """A table of JSON-stat, or a release that tellall saved."""
    if not is_json_stat(files.read_json(path, what="table")):
        return Release.load(path)
    found = read_json_stat(path, amounts=None if value is None else value.lower() not in _PEOPLE)
    for name, parts in found.hierarchies.items():
        told.setdefault(name, parts)
    return found.table


def _is_hierarchy(path: Path) -> bool:
    if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        return is_level_table(lines.readline(4096).rstrip("\n"))


def _read(path: Path, value: str | None, protect: Protection | Sequence[Protection] | None) -> ListedCells:
    """A table with a line for each cell."""
    read = read_printed(path)
    names = [str(name) for name in (read.keys() if isinstance(read, Mapping) else read.columns)]
    texts = {name: [label_text(each) for each in _values(read[name])] for name in names}
    if not texts[names[0]]:
        raise invalid("paths", "tables with a line for each cell", f"no line in {path.name}")
    first = getattr(read, "first", 2)
    if is_sdmx(names):
        return sdmx_cells(path, texts, first, amounts=None if value is None else value.lower() not in _PEOPLE)
    flags = {name: name.lower() for name in names if name.lower() in (*_FLAGS, *_STATUS)}
    rest = [name for name in names if name not in flags]
    number = _number_column(path, rest, texts, value)
    numbers = _numbers(path, texts[number], number, first)
    others = [name for name in rest if name != number and not (name.lower() in _PEOPLE and value is not None)]
    rule, protecting = _statuses(path, texts, flags, first)
    withheld = rule | protecting | np.isnan(numbers)
    told = bool(flags)
    broken = bool((np.nan_to_num(numbers) % 1 != 0).any())
    amounts = number.lower() not in _PEOPLE and (value is not None or broken)
    return ListedCells(
        {name: texts[name] for name in others},
        numbers,
        withheld,
        variable=number if amounts else COUNTS,
        protect=protect,
        name=path.name,
        secret=numbers if told else None,
        primary=rule if told and rule.any() else None,
    )


def _values(column: Any) -> list[Any]:
    if isinstance(column, np.ma.MaskedArray):
        gone = np.ma.getmaskarray(column)
        return [None if missing else value for value, missing in zip(column.data, gone, strict=True)]
    return list(column)


def _number_column(
    path: Path, names: Sequence[str], texts: Mapping[str, Sequence[str]], value: str | None
) -> str:
    if value is not None:
        if value not in names:
            raise invalid("value", f"a column of {path.name} ({', '.join(names)})", f"'{value}'")
        return value
    known = [name for name in names if name.lower() in _PEOPLE]
    if len(known) > 1:
        raise invalid("value", "named, since several columns may be meant", ", ".join(known))
    if known:
        return known[0]
    for name in reversed(names):
        read = [as_number(text) for text in texts[name]]
        if all(each is not None for each in read) and any(each == each for each in read):
            return name
    raise invalid("paths", "tables with a column of numbers", path.name, "Name it (--value).")


def _numbers(path: Path, texts: Sequence[str], name: str, first: int) -> Array:
    found = np.empty(len(texts))
    for line, text in enumerate(texts):
        number = as_number(text)
        if number is None:
            rule = "numbers, or a mark for one that is withheld"
            raise invalid(f"'{name}'", rule, f"something else in line {line + first:,} of {path.name}")
        found[line] = number
    return found


def _statuses(
    path: Path, texts: Mapping[str, Sequence[str]], flags: Mapping[str, str], first: int
) -> tuple[Mask, Mask]:
    """Which lines a rule withholds, and which are withheld to protect these."""
    size = len(next(iter(texts.values())))
    rule, other = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    for name, word in flags.items():
        by_rule, by_others, shown = _CONF if word in _CONF_NAMES else (_RULE, _OTHERS, _SHOWN)
        for line, text in enumerate(texts[name]):
            said = text.strip().lower()
            truth = said in _TRUE or (said not in _FALSE and None)
            if word in _FLAGS and truth is not None:
                (rule if word == "primary" else other)[line] |= truth
            elif word in _STATUS and said in (*by_rule, *by_others):
                (rule if said in by_rule else other)[line] = True
            elif word in _FLAGS or said not in shown:
                expected = "true or false" if word in _FLAGS else "a status such as u, x or s"
                raise invalid(
                    f"'{name}'", expected, f"something else in line {line + first:,} of {path.name}"
                )
    if not rule.any():  # nothing says which a rule withholds
        rule = other.copy()
    return rule, other


def _bands(
    tables: Sequence[ListedCells],
    made_of: Sequence[Mapping[str, tuple[str, ...]]],
    told: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> tuple[list[Bands], list[str]]:
    """What the codes of columns are made of, and the columns for which that had to be found."""
    bands, found = [], []
    unused = list(made_of)
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        codings = [table.coding(name) for table in tables if name in table.columns]
        if name in told:
            bands.append(Bands(name, told[name]))
            continue
        fitting = [each for each in made_of if refine_codes(name, codings, Bands(name, each)) is not None]
        if fitting:
            bands.append(Bands(name, fitting[0]))
            unused = [each for each in unused if each is not fitting[0]]
            continue
        own = find_hierarchy(name, tables)
        if own and (refine_codes(name, codings, Bands(name, own)) is not None):
            bands.append(Bands(name, own))
            found.append(name)
    if unused:
        codes = ", ".join(list(unused[0])[:3])
        advice = "Name the column (--hierarchy COLUMN=FILE), and see that every code of it is there."
        raise invalid("hierarchy", "one whose codes are those of a column", f"one of {codes}, ...", advice)
    return bands, found


def _completed(table: ListedCells, bands: Sequence[Bands]) -> ListedCells:
    """The table with zeros for combinations, of codes that are made of no others, that have no line."""
    told = {each.column: {label for label, _ in each.mapping} for each in bands}
    leaves = [
        [at for at, label in enumerate(labels) if not is_total(label) and label not in told.get(name, ())]
        for name, labels in zip(table.columns, table.labels, strict=True)
    ]
    size = prod(map(len, leaves))
    if size > _MOST_LINES or not table.columns:
        return table
    there = set(map(tuple, table.codes.tolist()))
    missing = [codes for codes in product(*leaves) if codes not in there]
    if not missing:
        return table
    more = np.array(missing)
    columns = {
        name: [labels[at] for at in [*table.codes[:, k].tolist(), *more[:, k].tolist()]]
        for k, (name, labels) in enumerate(zip(table.columns, table.labels, strict=True))
    }
    none, zero = np.zeros(len(more), dtype=bool), np.zeros(len(more))
    return ListedCells(
        columns,
        np.concatenate([table.values, zero]),
        np.concatenate([table.withheld, none]),
        variable=table.variable,
        protect=table.protections,
        name=table.name,
        secret=None if table.secret is None else np.concatenate([table.secret, zero]),
        primary=np.concatenate([table.primary, none]),
        margin=np.concatenate([table.margin, zero + np.nan]),
        fixed=np.concatenate([table.fixed, none]),
        sums=table.sums,
    )
