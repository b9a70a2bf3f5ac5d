"""Crosstabs made elsewhere: the labels of a printed table are matched to columns and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import one_of
from tellall.core.errors import InvalidInput, invalid
from tellall.evidence.undo import possible_counts
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.grids import TOTALS, Grid, grid_of_frame
from tellall.outputs.printed import Codes, PrintedTable, TableContext, Variable, codes_of, understand
from tellall.people.bands import Bands
from tellall.people.dataset import Dataset, Public
from tellall.people.matching import merged_labels
from tellall.protections.protection import Protection, as_protections
from tellall.release.release import Release
from tellall.statistics.cell_counts import TOTAL, CellCounts
from tellall.statistics.cell_means import CellMeans
from tellall.statistics.extremes import Extremes
from tellall.statistics.marginals import Marginals, Tables
from tellall.statistics.statistic import Statistic
from tellall.statistics.sums import Sums
from tellall.statistics.where import Where

__all__ = ["amounts_of_grid", "explained", "from_crosstab", "release_of_grid"]

_SAME = 1e-6  # how far a count may be off if it was written as a share
_NORMALIZED = ("index", "columns", "all")


def from_crosstab(
    frame: Any,
    public: Public | Dataset | npt.ArrayLike,
    protect: Protection | Sequence[Protection] | None = None,
    absent: str = "zero",
    *,
    secret: str | None = None,
    meaning: Sequence[Any] | None = None,
    normalize: str | None = None,
    where: Where | None = None,
    bands: Bands | Sequence[Bands] = (),
    may_include: bool = False,
) -> Release:
    """The release of a pandas crosstab or pivot table of counts, matched by labels and never by position.

    Parameters
    ----------
    frame
        The table, with names of columns on its axes: ``pd.crosstab``, ``pivot_table(aggfunc="count")``,
        ``groupby(...).size()``. An axis without a name is matched by its labels.
    public
        The people. One axis may be a column that they do not have: that is the secret.
    protect
        What was done to the counts, as for `publish`; by default nothing.
    absent
        What it means if the table does not show a combination of labels: "zero" (nobody has it) or
        "unknown". A missing value in a cell that is shown was always hidden.
    secret
        The name of the secret; by default that of the dataset, or the one axis that is not a public column.
    meaning
        All values of the secret, in the order of their codes. By default those of the dataset, or those that
        the table shows: in numerical order if all are numbers, otherwise as text.
    normalize
        "index", "columns" or "all" if the table shows shares; by default inferred from its numbers.
    where
        Which of these people the table is about: a condition such as ``"age < 40"``, or a mask.
    bands
        What labels of columns mean, where ranges such as "20-29" or "80 and over" do not say it.
    may_include
        Whether ``public`` holds people who may not be in the table, and nobody knows who: a register beside a
        survey, or beside a table that leaves out people with gaps. The table is then of counts, and
        `reconstruct` needs ``may_include`` too.

    Notes
    -----
    Bands need not be those of the people, as long as everybody is inside or outside: people may have ages, or
    bands of which the table's are made. Exact counts by finer bands than the people's are added up. Bands of
    a table may overlap ("0-17" beside "15-24", or "all adults" beside its parts, explained by ``bands``).
    If cells are hidden, totals are equations of their own, unless they are just the sums of the cells shown.
    Shares without further protection become the counts they came from. A table of other people is refused if
    its totals reveal that.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"sex": ["f", "m", "m"], "ill": [1, 0, 1]})
    >>> people = Dataset.from_frame(table, secret="ill")
    >>> from_crosstab(pd.crosstab(table.ill, table.sex), people)
    Release of 1 chosen 2-way table: 4 values; exact
    """
    given = TableContext.of(public, secret, meaning)
    known = replace(given, may_include=may_include).among(where)
    grid, told = grid_of_frame(frame), [bands] if isinstance(bands, Bands) else list(bands)
    for each in told:
        if each.column not in grid.names:
            raise invalid("bands", "about columns of the table", f"'{each.column}'")
    grid = explained(grid, told)
    release = release_of_grid(grid, known, protect, absent=absent, normalize=normalize)
    return release if where is None else release.about(where)


def explained(grid: Grid, bands: Sequence[Bands]) -> Grid:
    """The grid with labels that are made of ranges or values, as Bands say."""
    for told in bands:
        if told.column in grid.names:
            at = grid.names.index(told.column)
            grid = grid.renamed(at, {label: told.explained(label) for label in grid.labels(at)})
    return grid


def release_of_grid(
    grid: Grid,
    known: TableContext,
    protect: Protection | Sequence[Protection] | None = None,
    *,
    absent: str = "zero",
    normalize: str | None = None,
) -> Release:
    """The release of a printed table; see `from_crosstab`."""
    one_of("absent", absent, ("zero", "unknown"))
    if normalize not in (None, *_NORMALIZED):
        raise invalid("normalize", "'index', 'columns', 'all' or left out", normalize)
    if known.meaning == ():
        raise invalid("secret", "bits or categories, to be tabulated", "real numbers", "Cut it.")
    done = as_protections(protect)
    if not done:
        grid = _in_their_bands(grid, known.public, absent)
    table, grid, variables = understand(grid, known)
    blurred = any(not part.hides for part in done)
    shares = _shares(grid, variables, normalize, blurred=blurred)
    if shares is not None and table.overlaps:
        raise invalid("frame", "a table of counts, where categories overlap", "a table of shares")
    if known.may_include:
        if shares is not None:
            raise invalid(
                "may_include", "left out for shares, since nobody knows of whom", "a table of shares"
            )
        return _some_of_them(table, protect, absent, blurred=blurred)
    if shares is not None and blurred:
        return _changed_shares(table, grid, variables, shares, protect, absent)
    if shares is not None:
        table = _as_counts(table, grid, variables, shares)
    if not blurred:
        _check_people(table, absent)
    return _release(table, protect, absent, blurred=blurred)


def _in_their_bands(grid: Grid, public: Public, absent: str) -> Grid:
    """The grid of exact counts with labels added up that cut the bands which people are in."""
    shown = grid.values[~np.isnan(grid.values)]
    for at, name in enumerate(grid.names):
        labels = [label for label in grid.labels(at) if label.lower() not in TOTALS]
        if name in public.names and np.array_equal(shown, np.rint(shown)):
            place, complete = public.names.index(name), absent == "zero"
            words = merged_labels(public, place, labels, complete=complete)
            grid = grid.summed(at, words) if words else grid
    return grid


def amounts_of_grid(
    grid: Grid,
    known: TableContext,
    kind: str,
    protect: Protection | Sequence[Protection] | None = None,
    *,
    counts: Grid | None = None,
    levels: int = 0,
) -> Release:
    """The release of a table of sums, means, minima or maxima ("sum", "mean", "min", "max") of a real secret.

    Its totals are left out. ``counts`` has the same labels and the number of people behind each sum or mean.
    With two ``levels`` the secret is 0 or 1, and sums and means of it count people.
    """
    shown = [
        understand(one.without_totals(), known)[0] for one in ((grid,) if counts is None else (grid, counts))
    ]
    table = shown[0]
    if table.meaning or not table.columns or not _aligned(table):
        raise invalid("table", f"{kind}s under the categories of public columns", "others")
    names = [table.public.names[index] for index in table.columns]
    parts = [_filled(one, "unknown") for one in shown]
    statistic: Statistic
    if kind in ("min", "max"):
        statistic, other = Extremes(len(names) + 1, [names]), np.full(parts[0].size, np.nan)
        parts = [parts[0], other] if kind == "min" else [other, parts[0]]
    else:
        statistic = (Sums if kind == "sum" else CellMeans)(len(names) + 1, [names], counts=counts is not None)
    values = np.concatenate(parts)
    return Release.from_values(statistic, values, public=table.public, protect=protect, levels=levels)


# Shares: counts divided by the number of people in the row, in the column, or in all.


def _body(grid: Grid, variables: Sequence[Variable]) -> tuple[list[int], list[int]]:
    """The rows and columns that are not totals."""
    down = grid.down
    rows = [i for i, row in enumerate(grid.rows) if TOTAL not in codes_of(row, variables[:down])]
    columns = [j for j, line in enumerate(grid.columns) if TOTAL not in codes_of(line, variables[down:])]
    return rows, columns


def _shares(
    grid: Grid, variables: Sequence[Variable], normalize: str | None, *, blurred: bool
) -> tuple[str, float] | None:
    """What the values are shares of, and what they add up to (1, or 100 for percentages); None for counts."""
    body = grid.take(*_body(grid, variables)).values
    shown = body[~np.isnan(body)]
    whole = bool(np.all(np.abs(shown - np.rint(shown)) < 1e-9))
    if normalize is None and (whole or (blurred and shown.max(initial=0) > 1)):
        return None
    room = 0.02 * max(body.shape) if blurred else _SAME
    for kind in _NORMALIZED if normalize is None else (normalize,):
        axis = {"index": 1, "columns": 0, "all": None}[kind]
        sums = np.atleast_1d(body.sum(axis=axis))
        for total in (1.0, 100.0):
            if np.all(np.isnan(sums) | (np.abs(sums - total) < room * total)) and (
                normalize is not None or not np.isnan(sums).all()
            ):
                return kind, total
    rule = "a table of whole counts, or of shares that add up to 1 (or 100) by row, by column or in all"
    advice = "Rounded shares need protect=Rounding(...); if cells are hidden, give normalize=."
    raise invalid("frame", rule, "other numbers", advice)


def _as_counts(
    table: PrintedTable, grid: Grid, variables: Sequence[Variable], shares: tuple[str, float]
) -> PrintedTable:
    """The counts that shares came from: each share times the number of people it is a share of."""
    kind, total = shares
    people = table.people()
    kept = _kept(table, grid, variables, kind)
    sizes: dict[Codes, float] = {}
    if table.meaning and len(table.columns) in kept:
        sizes = _unknown_sizes(table, kept, people, total)
    else:
        for cell, many in people.items():
            base = tuple(cell[at] if at in kept else TOTAL for at in range(len(cell)))
            sizes[base] = sizes.get(base, 0) + many
    counts: dict[Codes, float] = {}
    for cell, value in table.values.items():
        if TOTAL in cell:
            continue  # the share in a total adds nothing to the cells
        base = tuple(code if at in kept else TOTAL for at, code in enumerate(cell))
        size = sizes.get(base if len(table.columns) in kept else base[: len(table.columns)], 0)
        count = value / total * size
        if not np.isnan(count) and abs(count - round(count)) > _SAME * max(size, 1):
            advice = "Rounded shares need protect=Rounding(...)."
            raise invalid("frame", "shares of these people, to full precision", "others", advice)
        counts[cell] = count if np.isnan(count) else float(round(count))
    return PrintedTable(table.public, table.columns, table.labels, table.meaning, counts)


def _kept(table: PrintedTable, grid: Grid, variables: Sequence[Variable], kind: str) -> set[int]:
    """The variables within whose categories shares add up, by their place in a cell."""
    if kind == "all":
        return set()
    inside = range(grid.down) if kind == "index" else range(grid.down, len(variables))
    places = {index: place for place, index in enumerate(table.columns)}
    found = (variables[at].index for at in inside)
    return {len(table.columns) if index is None else places[index] for index in found}


def _unknown_sizes(
    table: PrintedTable, kept: set[int], people: dict[Codes, int], total: float
) -> dict[Codes, float]:
    """How many people have each value of the secret, if the shares are of those people.

    The number of people in each combination of public categories is known. It is the sum over values of
    share × size, which gives one equation per combination, and there is one unknown size per value.
    """
    groups: dict[Codes, list[Codes]] = {}
    for cell in people:
        groups.setdefault(tuple(c if at in kept else TOTAL for at, c in enumerate(cell)), []).append(cell)
    values = range(len(table.meaning))
    sizes: dict[Codes, float] = {}
    for base, cells in groups.items():
        share = np.array([[table.values.get((*cell, v), np.nan) / total for v in values] for cell in cells])
        if np.isnan(share).any() or np.linalg.matrix_rank(share) < len(table.meaning):
            advice = "Give a table of counts, or shares by the other axis."
            raise invalid("frame", "shares of known numbers of people", "shares of unknown ones", advice)
        found = np.linalg.lstsq(share, np.array([people[cell] for cell in cells], dtype=float), rcond=None)[0]
        sizes.update({(*base, value): float(np.rint(found[value])) for value in values})
    return sizes


def _changed_shares(
    table: PrintedTable,
    grid: Grid,
    variables: Sequence[Variable],
    shares: tuple[str, float],
    protect: Any,
    absent: str,
) -> Release:
    """The release of shares that were changed, as fractions of all people or as rates in public cells."""
    kind, total = shares
    kept = _kept(table, grid, variables, kind)
    scale = {frozenset(): "fractions", frozenset(range(len(table.columns))): "rates"}.get(frozenset(kept))
    if scale is None or total != 1 or not table.meaning or not _aligned(table):
        advice = (
            "Give counts, or shares (no percentages) of all people or of those with equal public columns."
        )
        raise invalid("protect", "left out for these shares", kind, advice)
    values = _filled(table, "unknown" if scale == "rates" else absent)  # an empty cell has no rate
    levels = len(table.meaning)
    return Release.from_values(
        _marginals(table, scale), values, public=table.public, protect=protect, levels=levels
    )


# From cells to a release.


def _check_people(table: PrintedTable, absent: str, *, some: bool = False) -> None:
    """Raises an error if a table without noise cannot be about these people, or about ``some`` of them."""
    if any(value < 0 for value in table.values.values()):
        raise invalid("frame", "a table of numbers of people", "numbers below zero")
    if absent == "zero" and not some and (gone := _dropped(table)):
        raise invalid("frame", "a table of all these people", gone, "Say absent='unknown'.")
    for cell, count in table.people().items():
        shown = [
            table.values.get((*cell, v) if table.meaning else cell) for v in range(len(table.meaning) or 1)
        ]
        if all(value is None for value in shown):
            if absent == "zero" and not some:
                place = f"none for the {count} with {_named(table, cell)}"
                raise invalid("frame", "a table of all these people", place, "Say absent='unknown'.")
            continue
        least = sum(value for value in shown if value is not None and not np.isnan(value))
        open_ended = some or any(
            np.isnan(value) if value is not None else absent != "zero" for value in shown
        )
        if least > count or (not open_ended and least < count):
            got = f"{least:g} of the {count} with {_named(table, cell)}"
            advice = (
                "Was it rounded? Say so with protect. "
                "Is it about only some of them? Say so with where=, or may_include=True if it is not known."
            )
            raise invalid("frame", "a table of these people", got, advice)


def _some_of_them(table: PrintedTable, protect: Any, absent: str, *, blurred: bool) -> Release:
    """The release of a table that may leave people out: it is about as many as it counts at least."""
    if not blurred:
        _check_people(table, absent, some=True)
    release = _release(table, protect, absent, blurred=blurred)
    totals = np.array([value for cell, value in table.values.items() if set(cell) == {TOTAL}])
    counted = [possible_counts(cells, release.protections, 1.0).low.sum() for cells in _apart(table)]
    totalled = possible_counts(totals, release.protections, 1.0).low
    least = max(*map(float, counted), float(totalled.max(initial=0.0)))
    assert release.shape is not None
    people = max(1, min(release.shape.people, round(least)))
    return replace(release, shape=replace(release.shape, people=people))


def _apart(table: PrintedTable) -> Iterator[Array]:
    """Yields cells that nobody shares: all of them, or parts of them where categories overlap."""
    used = [[set(layer.tolist()) for layer in layers] for layers in table.layers]
    for chosen in product(*used):
        inside = [
            value
            for cell, value in table.values.items()
            if TOTAL not in cell
            and (not table.overlaps or all(code in codes for code, codes in zip(cell, chosen, strict=False)))
        ]
        yield np.array(inside, dtype=np.float64)


def _dropped(table: PrintedTable) -> str:
    """The error text if some people's values have no label in the table; missing values do not count."""
    for index, layers in zip(table.columns, table.layers, strict=True):
        column = table.public.columns[index]
        missing = np.asarray(table.public.codes[index]) == column.levels - 1 if column.gaps else np.False_
        if outside := int(((layers < 0).all(axis=0) & ~missing).sum()):
            return f"no label for the {column.name} of {outside} of them"
    return ""


def _named(table: PrintedTable, cell: Codes) -> str:
    words = (
        f"{table.public.names[index]} {labels[code]}"
        for index, labels, code in zip(table.columns, table.labels, cell, strict=True)
    )
    return ", ".join(words) or "everybody"


def _release(table: PrintedTable, protect: Any, absent: str, *, blurred: bool) -> Release:
    if not table.meaning:
        return _public_table(table, protect, absent)
    levels = len(table.meaning)
    totals = [cell for cell in table.values if TOTAL in cell[:-1] and cell[-1] != TOTAL]
    aligned = _aligned(table)
    sums = not table.overlaps and not blurred and _say_nothing(table, totals)
    if totals and (_dropped(table) or sums):
        totals = []
    if aligned and not totals:
        values = _filled(table, absent)
        return Release.from_values(
            _marginals(table, "counts"), values, public=table.public, protect=protect, levels=levels
        )
    cells = _every_cell(table)
    names = [table.public.names[index] for index in table.columns]
    chosen = [*cells, *sorted(totals)]
    statistic = CellCounts(names, table.labels, chosen, levels)
    fill = 0.0 if absent == "zero" else np.nan
    values = np.array([table.values.get(cell, fill) for cell in chosen])
    return Release.from_values(statistic, values, public=table.public, protect=protect, levels=levels)


def _every_cell(table: PrintedTable) -> list[Codes]:
    return list(product(*(range(len(labels)) for labels in table.labels), range(len(table.meaning))))


def _say_nothing(table: PrintedTable, totals: Sequence[Codes]) -> bool:
    """Whether the totals are just sums of the shown cells, so that they say nothing about hidden ones."""
    cells = {cell: value for cell, value in table.values.items() if TOTAL not in cell}
    if not any(map(np.isnan, cells.values())):
        return True
    for total in totals:
        parts = [
            value
            for cell, value in cells.items()
            if all(want in (TOTAL, code) for want, code in zip(total, cell, strict=True))
        ]
        value = table.values[total]
        if not np.isnan(value) and value != np.nansum(parts):
            return False
    return True


def _aligned(table: PrintedTable) -> bool:
    """Whether the table's categories are those of the public columns."""
    return all(
        set(labels) <= set(table.public.columns[index].labels)
        for index, labels in zip(table.columns, table.labels, strict=True)
    )


def _marginals(table: PrintedTable, scale: str) -> Marginals:
    names = [table.public.names[index] for index in table.columns]
    return Marginals(len(names) + 1, [names], scale=scale)


def _filled(table: PrintedTable, absent: str) -> Array:
    """All cells in the categories of the public columns, in C order."""
    shape = [table.public.levels[index] for index in table.columns]
    out = np.full((*shape, len(table.meaning) or 1), 0.0 if absent == "zero" else np.nan)
    for axis, index in enumerate(table.columns):
        column = table.public.columns[index]
        if column.gaps and column.labels[-1] not in table.labels[axis]:
            out[(slice(None),) * axis + (column.levels - 1,)] = np.nan  # the table drops these people
    for cell, value in table.values.items():
        if TOTAL not in cell:
            places = [
                table.public.columns[index].labels.index(labels[code])
                for index, labels, code in zip(table.columns, table.labels, cell, strict=False)
            ]
            out[(*places, cell[-1] if table.meaning else 0)] = value
    return out.ravel()


def _public_table(table: PrintedTable, protect: Any, absent: str) -> Release:
    if not table.columns or not _aligned(table):
        raise _says_nothing()
    names = [table.public.names[index] for index in table.columns]
    statistic = Tables(len(names), [names])
    return Release.from_values(statistic, _filled(table, absent), public=table.public, protect=protect)


def _says_nothing() -> InvalidInput:
    return invalid("frame", "a table with the secret on one of its axes", "public columns alone")
