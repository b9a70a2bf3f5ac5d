"""What the terminal says about tables on their own: counts, no row."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from tellall.attack.prove.row_files import AreaFound, RowsFound
from tellall.attack.prove.rows import PublishedCell
from tellall.core.text import TERMINAL, one_line
from tellall.report.terminal import aligned

__all__ = ["rows_text"]

_SHOWN = 20  # areas


def rows_text(found: RowsFound) -> str:
    """What was found in words and a table, at most 80 columns wide."""
    columns = " × ".join(f"{column.name} ({column.values})" for column in found.columns)
    tables = ", ".join(" × ".join(table.columns) or "total" for table in found.tables)
    lines = _wrapped(f"{columns}: {found.domain:,} possible rows. Tables: {tables}.")
    if found.by is None:
        return "\n".join([*lines, *_one_area(found.areas[0])])
    lines += ["", *_table(found.areas[:_SHOWN])]
    if len(found.areas) > _SHOWN:
        lines.append(f"… and {len(found.areas) - _SHOWN:,} more areas; --json or -o has all of them.")
    gaps = found.missing
    allowed = f" People may have no value of {_listed(gaps)}; this is allowed for." if gaps else ""
    left = f"; {found.unsettled:,} of {len(found.areas):,} areas are not settled" if found.unsettled else ""
    whom = f"{found.certain_people:,} of {found.people:,} people"
    return "\n".join([*lines, "", *_wrapped(f"{whom} have a row that is certain{left}.{allowed}")])


def _wrapped(line: str, indent: str = "") -> list[str]:
    return textwrap.wrap(line, TERMINAL, subsequent_indent=indent)


def _one_area(area: AreaFound) -> list[str]:
    if area.contradicts:
        cells = [line for cell in area.contradiction for line in _wrapped(_cell(cell), "    ")]
        return [f"The tables contradict each other: {area.status_advice}.", *cells]
    people = "" if area.people is None else f" of {area.people:,}"
    said = [
        f"{area.possible:,} rows can occur. {area.certain:,} are in every solution: "
        f"{area.certain_people:,}{people} people."
    ]
    if not area.settled:
        said.append(f"The search was {area.status}.")
    elif area.solutions:
        said.append(f"The solution is {area.solutions}.")
    if area.missing:
        said.append(f"People may have no value of {_listed(area.missing)}; this is allowed for.")
    return [line for sentence in said for line in _wrapped(sentence)]


def _cell(cell: PublishedCell) -> str:
    """A cell that contradicts others, and the counts that it allows."""
    where = ", ".join(f"{name} = {value}" for name, value in cell.cell.items()) or "all"
    top = "any" if math.isinf(cell.high) else f"{cell.high:g}"
    span = f"{cell.low:g}" if cell.low == cell.high else f"{cell.low:g} to {top}"
    if cell.low > cell.high:
        span = "no count would be shown like this"
    return f"  {cell.table}: {where}: {span}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _table(areas: Sequence[AreaFound]) -> list[str]:
    head = ["area", "people", "can occur", "certain", "people", "solutions"]
    body = [
        [
            one_line(area.name, 24),
            "–" if area.people is None else f"{area.people:,}",
            f"{area.possible:,}",
            f"{area.certain:,}",
            f"{area.certain_people:,}",
            "one" if area.unique else "several" if area.settled else area.status_word[:14],
        ]
        for area in areas
    ]
    return aligned(head, body)
