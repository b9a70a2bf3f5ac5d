"""The page of `hidden`: the tables themselves, withheld cells shaded by how near anybody comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import numpy as np

from tellall.attack.prove.hidden_files import HiddenFound, HiddenValue
from tellall.audits.verdict import Answer
from tellall.core.amounts import count_of
from tellall.outputs.listed import ListedCells
from tellall.report.hidden_text import cell_name, hidden_answer, more_answer, said_of
from tellall.report.kit.blocks import (
    Block,
    Box,
    Bullets,
    Headed,
    Line,
    Listing,
    Paragraph,
    Section,
    Shade,
    render_blocks,
)
from tellall.report.recorded import repeat_blocks

__all__ = ["render_hidden"]

_LISTED = 200
_ACROSS = 40
_DOWN = 400
_NEAR = 0.5  # of the largest possible value: an interval that is narrower is near


def render_hidden(found: HiddenFound, command: str) -> str:
    """The page: how near anybody comes to each withheld value; ``command`` repeats it."""
    tables = count_of(len(found.tables), "table")
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("vain", "Withheld in vain", _vain_blocks),
            Section("more", "What else to withhold", _more_blocks),
            Section("tables", "The tables", _table_blocks),
            Section("read", "How to read this", _reading_blocks),
            Section("repeat", "How to repeat this", lambda _: repeat_blocks(found, command)),
        ),
        found,
        title="Withheld cells",
        heading="Were these cells worth withholding?",
        subtitle=f"{tables}, {count_of(found.withheld, 'withheld value')}. Read from the tables alone.",
    )


def _answer_blocks(found: HiddenFound) -> list[Block]:
    if found.contradictory:
        return [Box(Answer("review", "The tables contradict each other", hidden_answer(found)), large=True)]
    kind = "fail" if found.in_vain else "pass" if found.settled else "review"
    word = f"{found.in_vain:,} of {found.withheld:,} in vain" if found.in_vain else "None in vain"
    return [Box(Answer(kind, word, hidden_answer(found)), large=True)]


def _vain_blocks(found: HiddenFound) -> Iterator[Block]:
    vain = [value for value in found.cells if value.in_vain]
    if not vain:
        return
    yield Listing(
        "Withheld in vain",
        ("cell", "table", "can be", "because of"),
        [
            Line(said_of(value), (value.table, value.span, _because(value)))
            for value in sorted(vain, key=lambda value: not value.reasons)[:_LISTED]
        ],
        "What anybody can work out of what is published. The values named suffice for it.",
        left=("table", "because of"),
    )
    if len(vain) > _LISTED:
        yield Paragraph(f"{len(vain) - _LISTED:,} more are in the document.", soft=True)


def _more_blocks(found: HiddenFound) -> Iterator[Block]:
    if found.price is None:
        return
    yield Paragraph(more_answer(found))
    if found.more:
        yield Listing(
            "What else to withhold",
            ("cell", "table", "shows now"),
            [Line(cell_name(one.cell), (one.table, f"{one.value:,.10g}")) for one in found.more[:_LISTED]],
            "With these withheld too, no cell is withheld in vain, as far as these tables go.",
            left=("table",),
        )
    if len(found.more) > _LISTED:
        yield Paragraph(f"{len(found.more) - _LISTED:,} more are in the document.", soft=True)


def _because(value: HiddenValue) -> str:
    parts = [f"{', '.join(cell.cell.values()) or 'total'} = {cell.low:,.10g}" for cell in value.reasons]
    return "; ".join(parts) or "–"


def _table_blocks(found: HiddenFound) -> Iterator[Block]:
    """Each table laid out by its first and its last column."""
    if found.found is None:
        return
    hidden = found.found
    for number, table in enumerate(hidden.tables):
        own = np.flatnonzero(hidden.lines[:, 0] == number)
        known = {int(hidden.lines[index, 1]): found.cells[index] for index in own.tolist()}
        more = {tuple(one.cell.values()) for one in found.more if one.table == table.name}
        made = _laid_out(table, known, more)
        yield made if len(hidden.tables) == 1 else Headed(table.name, [made])


def _laid_out(
    table: ListedCells, known: Mapping[int, HiddenValue], more: AbstractSet[tuple[str, ...]]
) -> Block:
    if len(table.columns) < 2 or len(table.labels[-1]) > _ACROSS:
        lines = [
            Line(", ".join(table.cell(line).values()) or "total", (_shown(table, line, known, more),))
            for line in range(min(table.values.size, _DOWN))
        ]
        return Listing(table.name, (" × ".join(table.columns) or "table", "value"), lines)
    across = table.labels[-1]
    cells: dict[tuple[str, ...], dict[str, int]] = {}
    for line in range(table.values.size):
        *down, last = table.cell(line).values()
        cells.setdefault(tuple(down), {})[last] = line
    lines = [
        Line(
            ", ".join(down), [_shown(table, own[word], known, more) if word in own else "" for word in across]
        )
        for down, own in list(cells.items())[:_DOWN]
    ]
    left_out = len(cells) - len(lines)
    caption = f"{table.columns[-1]} across. " + (
        f"{left_out:,} more rows are left out." if left_out > 0 else ""
    )
    return Listing(table.name, (" × ".join(table.columns[:-1]), *across), lines, caption)


def _shown(
    table: ListedCells, line: int, known: Mapping[int, HiddenValue], more: AbstractSet[tuple[str, ...]]
) -> str | Shade:
    """A number as it is published, or a withheld cell: how near anybody comes, in words and as a shade."""
    value = known.get(line)
    if value is None:
        shown = float(table.values[line])
        text = "–" if np.isnan(shown) else f"{shown:,.10g}"
        return Shade(f"+ {text}", "near") if more and tuple(table.cell(line).values()) in more else text
    if value.in_vain:
        return Shade(f"✗ {value.span}", "fail")
    if value.low is None or value.high is None:
        return Shade(value.span, "far")
    near = value.high - value.low < _NEAR * max(abs(value.low), abs(value.high))
    return Shade(value.span, "near" if near else "far")


def _reading_blocks(found: HiddenFound) -> list[Block]:
    guessed = (
        f"The hierarchy of {' and '.join(found.hierarchies)} was found from codes that start with others, "
    )
    guessed += "or from numbers that add up. A file of the hierarchy in its place makes that sure."
    return [
        Bullets(
            [
                "A cell with an interval is withheld; anybody who has these tables knows that its value lies "
                "there, and nothing more can be concluded from them. Intervals of numbers of people are "
                "exact over whole numbers, those of amounts by linear programmes.",
                "✗ and the darkest shade: withheld in vain. Lighter: the interval is narrower than half of "
                "the largest possible value. Lightest: wider.",
                *(["+ and a shade: shown now, and to be withheld too."] if found.more else []),
                "Amounts are taken to be zero or more, unless the command says otherwise.",
                *([guessed] if found.hierarchies else []),
                "Only these tables were used. Another table about the same can make every interval smaller.",
            ]
        )
    ]
