"""Reads folders of tables in CSV or Excel files, described by a small TOML file next to them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tellall.core import files
from tellall.core.errors import InvalidInput, TellallError, invalid
from tellall.core.not_done import NotDone
from tellall.core.records import VERSION, Meaning, Record, read
from tellall.core.text import one_line, said
from tellall.outputs.coefficients import read_coefficients, says_all
from tellall.outputs.crosstab import amounts_of_grid, explained, release_of_grid
from tellall.outputs.curves import curve_of_lines
from tellall.outputs.grids import TOTALS, Grid, grid_of_rows
from tellall.outputs.output_folder import Output, OutputFolder, errors_not_read, not_read
from tellall.outputs.printed import TableContext, sort_values
from tellall.people.bands import Bands, ColumnCoding
from tellall.people.labels import label_text
from tellall.people.sheets import read_cells
from tellall.protections.protection import Protection
from tellall.release import catalogue
from tellall.release.release import Release

__all__ = ["DESCRIPTION", "coefficient_columns", "described_secret", "is_described", "read_described"]

DESCRIPTION = "tables.toml"
_LARGEST = 2**20
_AMOUNTS = {"means": "mean", "sums": "sum", "minima": "min", "maxima": "max"}
_ERRORS = ("std.error", "std. error", "std err", "std. err.", "standard error", "stderr", "se", "bse")
_UNREAD = (
    "not read, although they show how far people are from the line. If they are the usual ones and not "
    "robust, set standard_errors = true in tables.toml to have them attacked"
)
_QUANTILES = "no attack uses quantiles. Publish counts by range to have them checked"
_ESTIMATES = ("coef", "coef.", "coefficient", "coefficients", "coeff", "estimate", "value", "b", "beta")


@dataclass(frozen=True, kw_only=True)
class DescribedTable(Record):
    """A table in a file of the folder."""

    file: Annotated[str, Meaning("A CSV or Excel file in the folder or below.", longest=1000)]
    name: Annotated[str, Meaning("What pages call it; the file's name by default.", longest=1000)] = ""
    sheet: Annotated[str, Meaning("The sheet of an Excel file; the first by default.", longest=1000)] = ""
    kind: Annotated[
        Literal["counts", "coefficients", "means", "sums", "minima", "maxima", "quantiles", "survival"],
        Meaning("What the numbers are."),
    ] = "counts"
    value: Annotated[
        str,
        Meaning("For means, sums, extremes, survival: the header over them, if several.", longest=1000),
    ] = ""
    count: Annotated[
        str, Meaning("For means and sums: the header over the numbers of people.", longest=1000)
    ] = ""
    time: Annotated[str, Meaning("For survival: the column of follow-up times.", longest=1000)] = ""
    across: Annotated[str, Meaning("The column whose values head the table's columns.", longest=1000)] = ""
    where: Annotated[str, Meaning("The people it is about: a condition on columns.", longest=10_000)] = ""
    normalize: Literal["", "index", "columns", "all"] = ""
    absent: Literal["zero", "unknown"] = "zero"
    loss: Annotated[str, Meaning("For coefficients: linear, logistic, poisson, probit.", longest=1000)] = (
        "linear"
    )
    standard_errors: Annotated[
        bool, Meaning("For coefficients: whether the printed standard errors are the usual ones.")
    ] = False
    protect: Annotated[
        list[dict[str, Any]] | dict[str, Any], Meaning("What was done to the numbers, in order.")
    ] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Description(Record):
    """What the tables in a folder are."""

    schema_version: Literal[2] = VERSION
    secret: Annotated[str, Meaning("The column that must stay secret.", longest=1000)] = ""
    may_include: Annotated[
        bool, Meaning("Whether tables leave out some of the people, and nobody knows whom.")
    ] = False
    bands: Annotated[
        dict[str, ColumnCoding], Meaning("What labels mean, by column, where they do not say it.")
    ] = field(default_factory=dict)
    tables: Annotated[tuple[DescribedTable, ...], Meaning(shortest=1, longest=1000)]


def is_described(folder: Path) -> bool:
    """Whether a folder has a description of its tables."""
    return (folder / DESCRIPTION).is_file()


def described_secret(folder: Path) -> str | None:
    """The secret that the description of a folder names; None if it names none."""
    return _description(folder / DESCRIPTION).secret or None


def read_described(
    folder: Path,
    public: Any,
    *,
    secret: str | None = None,
    may_include: bool = False,
    bands: Sequence[Bands] = (),
) -> OutputFolder:
    """The tables of a folder as releases about these people, read as its ``tables.toml`` says.

    ``bands`` says what labels of columns mean of which the file says nothing in ``[bands]``, and
    ``may_include`` that tables leave out some of the people, if the file does not.
    """
    document = _description(folder / DESCRIPTION)
    some = may_include or document.may_include
    given = replace(TableContext.of(public, secret or document.secret or None), may_include=some)
    if given.secret is None:
        raise invalid("secret", f"named in {DESCRIPTION}", "nothing")
    told = (
        *Bands.told(document.bands),
        *(each for each in bands if each.column not in document.bands),
    )
    for each in told:
        given.public.position(each.column, "bands")
    known = _with_meaning(given, folder, document.tables)
    outputs: list[Output] = []
    skipped: list[NotDone] = []
    for entry in document.tables:
        name = one_line(entry.name or entry.file, 80)
        try:
            path = files.fits_inside(folder, entry.file, what="file")
            release = _read(path, entry, known, told)
            outputs.append(Output(name, release, files=(path,)))
            if entry.kind == "coefficients" and not says_all(release) and _errors_at(path, entry) is not None:
                skipped.append(errors_not_read(name, _UNREAD))
        except TellallError as error:
            skipped.append(not_read(name, one_line(str(error), 300)))
    assert known.secret is not None
    meaning = known.meaning or ()
    return OutputFolder(tuple(outputs), tuple(skipped), known.secret, meaning, DESCRIPTION, some)


def _description(path: Path) -> Description:
    text = files.read_text(path, what="tables", largest=_LARGEST)
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise invalid("tables", "a TOML file", str(path), f"The reader said: {said(error, 120)}.") from None
    return read(Description, given, what=DESCRIPTION)


def _with_meaning(given: TableContext, folder: Path, tables: Sequence[DescribedTable]) -> TableContext:
    """The context with the secret's values: those of the people, or else all that the tables show."""
    if given.meaning is not None:
        return given
    shown: set[str] = set()
    for entry in tables:
        if entry.kind == "counts":
            try:
                grid = _grid(files.fits_inside(folder, entry.file, what="file"), entry, given)
            except TellallError:
                continue  # reported when the table is read
            for at, name in enumerate(grid.names):
                if name == given.secret:
                    shown |= {label for label in grid.labels(at) if label.lower() not in TOTALS}
    if any(entry.kind in _AMOUNTS for entry in tables):
        return replace(given, meaning=())  # a secret with means or sums is a real number
    meaning = sort_values(sorted(shown)) if len(shown) > 1 else ("0", "1")
    return replace(given, meaning=meaning)


def _grid(path: Path, entry: DescribedTable, known: TableContext) -> Grid:
    """The table in a file; the axis across its columns gets the name from the description."""
    names = [*known.public.names, *([known.secret] if known.secret else [])]
    grid = grid_of_rows(read_cells(path, sheet=entry.sheet or None), names, path.name)
    across = entry.across
    if across:
        unnamed = [at for at, name in enumerate(grid.names) if name is None and len(grid.labels(at)) > 1]
        if len(unnamed) != 1:
            raise invalid("across", "left out, since the columns of the table have names", across)
        grid = grid.named(unnamed[0], across)
    return grid


def _read(path: Path, entry: DescribedTable, known: TableContext, told: Sequence[Bands]) -> Release:
    listed = entry.protect if isinstance(entry.protect, list) else [entry.protect]
    protect: list[Protection] = [catalogue.build("protection", plain) for plain in listed]
    people = known.among(entry.where or None)
    if entry.kind == "coefficients":
        release = _coefficients(path, entry, people, protect)
    elif entry.kind == "survival":
        release = _survival(path, entry, people, protect)
    elif entry.kind == "quantiles":
        raise InvalidInput(_QUANTILES)
    elif entry.kind in _AMOUNTS:
        release = _amounts(_grid(path, entry, people), entry, people, protect)
    else:
        grid = explained(_grid(path, entry, people), told)
        release = release_of_grid(
            grid,
            people,
            protect,
            absent=entry.absent,
            normalize=entry.normalize or None,
        )
    return release.about(entry.where) if entry.where else release


def _amounts(
    grid: Grid, entry: DescribedTable, people: TableContext, protect: Sequence[Protection]
) -> Release:
    """The release of means, sums or extremes, from the cells of a table or from a column of a list."""
    if entry.count and entry.kind not in ("means", "sums"):
        raise invalid(
            "count", "left out of minima and maxima", entry.count, "Describe it as a table of counts."
        )
    across = len(grid.names) - 1
    if entry.value or entry.count or grid.names[across] is None:
        heads = grid.labels(across)
        chosen = {"value": entry.value or (heads[0] if len(heads) == 1 else ""), "count": entry.count}
        for key, head in chosen.items():
            if head not in heads and (head or key == "value"):
                raise invalid(key, f"one of the headers {', '.join(heads)[:200]}", head or "nothing")
        counts = grid.only(across, entry.count) if entry.count else None
        grid = grid.only(across, chosen["value"])
    else:
        counts = None
    return amounts_of_grid(grid, people, _AMOUNTS[entry.kind], protect, counts=counts)


def _survival(
    path: Path, entry: DescribedTable, people: TableContext, protect: Sequence[Protection]
) -> Release:
    if not entry.time:
        raise invalid("time", "the public column of follow-up times", "nothing")
    lines = read_cells(path, sheet=entry.sheet or None)
    return curve_of_lines(lines, people, entry.time, protect, value=entry.value)


def _errors_at(path: Path, entry: DescribedTable) -> int | None:
    """The column of standard errors in a printed model; None if it has none."""
    lines = (list(map(label_text, line)) for line in read_cells(path, sheet=entry.sheet or None))
    heads = next(filter(any, lines), [])
    return next((j for j, head in enumerate(heads) if head.lower().replace("_", " ") in _ERRORS), None)


def _coefficients(
    path: Path, entry: DescribedTable, people: TableContext, protect: Sequence[Protection]
) -> Release:
    lines = [line for line in read_cells(path, sheet=entry.sheet or None) if any(map(label_text, line))]
    found = coefficient_columns(lines)
    if found is None:
        raise InvalidInput("it has no columns of terms and coefficients")
    term, value = found
    rows = [line for line in lines[1:] if len(line) > max(found)]
    table = {
        "block": ["1"] * len(rows),
        "term": [label_text(line[term]) for line in rows],
        "value": [line[value] for line in rows],
    }
    if entry.standard_errors:
        column = _errors_at(path, entry)
        if column is None or any(len(line) <= column for line in rows):
            raise invalid("standard_errors", "given for models that print them", "true")
        table["std_error"] = [line[column] for line in rows]
    levels = 2 if people.meaning is None else len(people.meaning)
    return read_coefficients(table, people.public, entry.loss, protect=protect, levels=levels)


def coefficient_columns(lines: Sequence[Sequence[Any]]) -> tuple[int, int] | None:
    """Which columns of a printed model hold the terms and the coefficients; None if it is not a model.

    Examples
    --------
    >>> coefficient_columns([["term", "estimate", "std.error"], ["age", "0.1", "0.02"]])
    (0, 1)
    """
    if not lines:
        return None
    heads = [label_text(cell).lower() for cell in lines[0]]
    value = next((j for j, head in enumerate(heads) if head in _ESTIMATES), None)
    if value is None:
        return None
    term = heads.index("term") if "term" in heads else 0
    return None if term == value else (term, value)
