"""hidden_of_files: how near anybody comes to the withheld values in files of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from tellall.attack.prove.hidden_cells import HiddenCells, hidden_cells
from tellall.attack.prove.proof import EFFORT
from tellall.attack.prove.rows import PublishedCell
from tellall.core.made import Made
from tellall.core.records import ALWAYS, NOT_WRITTEN, Meaning, Record
from tellall.core.work import Progress
from tellall.outputs.cell_files import read_cells
from tellall.outputs.written_cells import AGAIN, IN_VAIN, MORE, SHOWN, WITHHELD, CellStatus
from tellall.people.bands import Bands
from tellall.protections.protection import Protection

__all__ = [
    "HiddenFound",
    "HiddenMore",
    "HiddenPrice",
    "HiddenTable",
    "HiddenValue",
    "hidden_of_files",
    "statuses_of",
]

_EXPLAINED = 40  # values for which it is said what gives them away


@dataclass(frozen=True)
class HiddenTable(Record):
    """A table with withheld values."""

    name: str
    columns: tuple[str, ...]
    variable: Annotated[str, Meaning("What is added up; empty for numbers of people.")]
    cells: Annotated[int, Meaning(least=0)]
    withheld: Annotated[int, Meaning(least=0)]
    in_vain: Annotated[int, Meaning(least=0)]


@dataclass(frozen=True)
class HiddenValue(Record):
    """How near anybody comes to a withheld value."""

    table: str
    cell: Annotated[dict[str, str], Meaning("Its value of each column.")]
    low: Annotated[float | None, Meaning("The least that it can be; null if nothing limits it.")]
    high: Annotated[float | None, Meaning("The largest that it can be; null if nothing limits it.")]
    in_vain: Annotated[bool, Meaning("Whether it is withheld in vain.")]
    open: Annotated[bool, Meaning("Whether the interval may be smaller, since the effort was used up.")]
    reasons: Annotated[tuple[PublishedCell, ...], Meaning("Published values that suffice for this.")] = ()

    @property
    def span(self) -> str:
        """The interval in words."""
        if self.low is not None and self.low == self.high:
            return f"{self.low:,.10g}"
        least = "any" if self.low is None else f"{self.low:,.10g}"
        if self.high is None:
            return "anything" if self.low is None else f"{least} or more"
        return f"at most {self.high:,.10g}" if self.low is None else f"{least} to {self.high:,.10g}"


@dataclass(frozen=True)
class HiddenMore(Record):
    """A cell to withhold besides, so that nothing is withheld in vain."""

    table: str
    cell: Annotated[dict[str, str], Meaning("Its value of each column.")]
    value: Annotated[float, Meaning("What it shows now.")]


@dataclass(frozen=True, kw_only=True)
class HiddenPrice(Record):
    """What withholding more costs, and what is left in vain then."""

    sentence: str
    cells: Annotated[int, Meaning("How many more cells are withheld.", least=0)]
    least: Annotated[float, Meaning("No choice costs less: cells, or the sum of their values.")]
    cheapest: Annotated[bool, Meaning("Whether it is known that nothing costs less.")]
    in_vain: Annotated[int, Meaning("How many values are withheld in vain then.", least=0)]
    shown_again: Annotated[tuple[dict[str, str], ...], Meaning("Cells that protect nothing.")] = ()
    unprotected: Annotated[tuple[dict[str, str], ...], Meaning("Cells that nothing can protect.")] = ()


@dataclass(frozen=True, kw_only=True)
class HiddenFound(Made):
    """How near anybody comes to each withheld value of some tables."""

    document: Annotated[Literal["hidden"], ALWAYS] = "hidden"
    files: tuple[str, ...]
    status: Annotated[str, Meaning("How the search ended.")]
    status_codes: Annotated[tuple[str, ...], Meaning("Why it is not settled, by codes.")]
    settled: Annotated[bool, Meaning("Whether every interval is exact.")]
    contradictory: Annotated[bool, Meaning("Whether no values have all these tables.")]
    hierarchies: Annotated[
        tuple[str, ...], Meaning("Columns whose hierarchy was found from codes or from numbers that add up.")
    ]
    tables: tuple[HiddenTable, ...]
    withheld: Annotated[int, Meaning(least=0)]
    in_vain: Annotated[int, Meaning("How many values are withheld in vain.", least=0)]
    cells: tuple[HiddenValue, ...]
    more: Annotated[tuple[HiddenMore, ...], Meaning("What to withhold besides, if asked for.")] = ()
    price: Annotated[HiddenPrice | None, Meaning("What that costs; null if it was not asked for.")] = None
    found: Annotated[HiddenCells | None, Meaning("The tables themselves."), NOT_WRITTEN] = None
    bands: Annotated[tuple[Bands, ...], Meaning("What codes are made of."), NOT_WRITTEN] = ()
    paths: Annotated[tuple[Path, ...], Meaning("Where the files are."), NOT_WRITTEN] = ()


def hidden_of_files(
    paths: str | Path | Sequence[str | Path],
    protect: Protection | Sequence[Protection] | None = None,
    *,
    value: str | None = None,
    hierarchies: Mapping[str, str | Path] | None = None,
    absent: str = "zero",
    within: float | None = None,
    bands: Sequence[Bands] = (),
    bounds: tuple[float | None, float | None] = (0.0, None),
    proof_effort: int = EFFORT,
    progress: Progress | None = None,
) -> HiddenFound:
    """How near anybody comes to the withheld values in files of tables; nobody's data are needed.

    Parameters
    ----------
    paths, protect, value, hierarchies, absent, within
        As `read_cells` takes them.
    bands, bounds, proof_effort
        As `hidden_cells` takes them.
    """
    read = read_cells(
        paths, value=value, protect=protect, hierarchies=hierarchies, absent=absent, within=within
    )
    told = {each.column: each for each in (*read.bands, *bands)}
    found = hidden_cells(read.tables, bands=tuple(told.values()), bounds=bounds, proof_effort=proof_effort)
    vain, narrow = found.in_vain, found.high - found.low
    first = np.lexsort((np.arange(len(found)), narrow, ~vain))
    explained = set(first[:_EXPLAINED][vain[first[:_EXPLAINED]]].tolist())
    cells = []
    for index in range(len(found)):
        if progress is not None:
            progress(index, len(found))
        cells.append(_value(found, index, bool(vain[index]), explained=index in explained))
    tables = []
    for number, table in enumerate(found.tables):
        own = found.lines[:, 0] == number
        tables.append(
            HiddenTable(
                table.name,
                table.columns,
                table.variable,
                table.values.size,
                int(own.sum()),
                int(vain[own].sum()),
            )
        )
    return HiddenFound(
        files=read.names,
        status=str(found.status),
        status_codes=found.status.why,
        settled=found.status.settled,
        contradictory=found.status.word == "contradictory",
        hierarchies=tuple(name for name in read.found if name not in {each.column for each in bands}),
        tables=tuple(tables),
        withheld=len(found),
        in_vain=int(vain.sum()),
        cells=tuple(cells),
        found=found,
        bands=tuple(told.values()),
        paths=read.paths,
    )


def statuses_of(found: HiddenFound) -> dict[str, list[CellStatus]]:
    """What is known about each line of each table, by the table's name."""
    if found.found is None:
        return {}
    more = {(one.table, tuple(one.cell.items())) for one in found.more}
    again = set() if found.price is None else {tuple(cell.items()) for cell in found.price.shown_again}
    values = {tuple(at): value for at, value in zip(found.found.lines.tolist(), found.cells, strict=True)}
    every = {}
    for number, table in enumerate(found.found.tables):
        own = []
        for line in range(table.values.size):
            cell = tuple(table.cell(line).items())
            value = values.get((number, line))
            if value is None:
                own.append(CellStatus(MORE if (table.name, cell) in more else SHOWN))
                continue
            word = AGAIN if cell in again else IN_VAIN if value.in_vain else WITHHELD
            own.append(CellStatus(word, bool(table.primary[line]), value.low, value.high))
        every[table.name] = own
    return every


def _value(found: HiddenCells, index: int, in_vain: bool, *, explained: bool) -> HiddenValue:
    low, high = float(found.low[index]), float(found.high[index])
    return HiddenValue(
        table=found.tables[found.lines[index, 0]].name,
        cell=found.cells[index],
        low=low if isfinite(low) else None,
        high=high if isfinite(high) else None,
        in_vain=in_vain,
        open=bool(found.open[index]),
        reasons=found.reasons(index) if explained else (),
    )
