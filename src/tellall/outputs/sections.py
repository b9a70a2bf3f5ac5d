"""Tables of several columns one below the other, as first tables of papers are: each part by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tellall.outputs.found import FoundTable
from tellall.outputs.statistic_words import printed_of
from tellall.outputs.variables import TableVariable, plain_text
from tellall.people.printed_numbers import Shown

__all__ = ["parts_of"]


def parts_of(table: FoundTable, variables: Sequence[TableVariable]) -> list[FoundTable]:
    """The parts of a table under lines that name a column and hold no number; the table itself if none does.

    Every part has the table's header lines, and the name of its column over its labels.
    """
    names = {variable.plain for variable in variables}
    heads = [at for at, line in enumerate(table.cells) if _names_a_part(line, names, variables)]
    first = next((at for at, line in enumerate(table.cells) if any(c.numeric for c in line[1:])), 0)
    heads = [at for at in heads if at >= min(first, 1)]
    if not heads or heads[0] == 0 or len(heads) + len(table.cells[: heads[0]]) >= len(table.cells):
        return [table]
    header = table.cells[: heads[0]]
    if any(cell.number is not None for line in header for cell in line[1:]):
        return [table]
    found = []
    for place, at in enumerate(heads):
        end = heads[place + 1] if place + 1 < len(heads) else len(table.cells)
        body = [line for line in table.cells[at + 1 : end] if any(cell.numeric for cell in line[1:])]
        if not body:
            continue
        name = table.cells[at][0].as_continued()
        top = [(replace(name, continued=False), *line[1:]) for line in header]
        # a single part is the table, as pandas writes it with the index's name on a line of its own
        said = table.source.range if len(heads) == 1 else f"{table.source.range}, {name.text}".strip(", ")
        source = replace(table.source, range=said)
        found.append(replace(table, cells=(*top, *body), source=source, heads=len(header), sides=1))
    return found or [table]


def _names_a_part(line: Sequence[Shown], names: set[str], variables: Sequence[TableVariable]) -> bool:
    """Whether a line has the name of a column and nothing else, perhaps with what is printed below."""
    if line[0].blank or any(not cell.blank for cell in line[1:]):
        return False
    if plain_text(line[0].text) in names:
        return True
    said = printed_of(line[0].text, variables)
    return said is not None and said.target is not None
