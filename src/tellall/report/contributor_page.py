"""The page that compares the agencies' rules with the attack."""

from __future__ import annotations

from math import isfinite

from tellall.audits.measures.contributors import CellRisk, ContributorTable
from tellall.audits.verdict import Answer
from tellall.core.amounts import percent
from tellall.report.kit.blocks import (
    Block,
    Box,
    Bullets,
    Line,
    Listing,
    Paragraph,
    Section,
    Terms,
    render_blocks,
)
from tellall.report.recorded import versions_of

__all__ = ["render"]

_LISTED = 200


def render(table: ContributorTable) -> str:
    """The page: a sentence, and a row for each cell, those that the rule misses first."""
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("cells", "Cell by cell", _cell_blocks),
            Section("assumed", "What was assumed", _assumed_blocks),
            Section("repeat", "How to repeat this", _repeat_blocks),
        ),
        table,
        title=f"{_answer(table).word}: largest contributors",
        heading="What do sums give away about their largest contributors?",
        subtitle=(
            f"{len(table.cells):,} cells; the {table.p:g} % rule and dominance ({table.n}, "
            f"{100 * table.share:g} %) compared with the attack."
        ),
    )


def _answer(table: ContributorTable) -> Answer:
    word = "The rule misses cells" if table.broken else "The rule holds here"
    if table.vain and not table.broken:
        word = "Cells are withheld in vain"
    return Answer("fail" if table.broken or table.vain else "pass", word, table.sentence)


def _answer_blocks(table: ContributorTable) -> list[Block]:
    said = "This page shows cells and percentages, and nobody's number. It informs; a person decides."
    return [Box(_answer(table), large=True), Paragraph(said, soft=True)]


def _cell_blocks(table: ContributorTable) -> list[Block]:
    cells = sorted(table.cells, key=lambda cell: _order(cell, table.p))
    listing = Listing(
        "Cells",
        (
            "cell",
            "people",
            "dominance",
            "p %",
            "rest beyond the two largest",
            "by an outsider",
            "by the second largest",
            "by the second and third",
            "withheld: known to be",
        ),
        [_line(cell, table.p) for cell in cells[:_LISTED]],
        "How far the largest possible value of the largest contributor lies above the true one, given "
        "everything that is published, in % of it. Of a withheld cell, what anybody knows of its value.",
        left=("dominance", "p %"),
    )
    left = len(cells) - _LISTED
    return [listing, *([Paragraph(f"{left:,} more cells are not listed.", soft=True)] if left > 0 else [])]


def _line(cell: CellRisk, limit: float) -> Line:
    return Line(
        cell.cell,
        (
            f"{cell.contributors:,}",
            "withhold" if cell.dominance else "show",
            "withhold" if cell.p_percent else "show",
            *map(_percent, (cell.gap, cell.outsider, cell.second, cell.pair)),
            cell.span,
        ),
        "missed by the rule" if cell.missed(limit) else "withheld in vain" if cell.in_vain else "",
    )


def _percent(value: float) -> str:
    return percent(value / 100) if isfinite(value) else "not limited"


def _order(cell: CellRisk, limit: float) -> tuple[bool, float]:
    return not (cell.missed(limit) or cell.in_vain), cell.second


def _assumed_blocks(table: ContributorTable) -> list[Block]:
    return [
        Bullets(
            [
                "Everybody knows which people are in which cell, and that no number is negative.",
                "The second largest contributor of a cell knows their own number as well. From one exact sum "
                "alone they know the largest to within the rest beyond the two largest, which is what the "
                "p % rule looks at.",
                "The second and third largest together tell each other their numbers, and nobody else's.",
                "Values whose errors have no bound, such as noise, limit nothing here; the audit says what "
                "can be learned from them.",
            ]
        )
    ]


def _repeat_blocks(table: ContributorTable) -> list[Block]:
    asked = f"p={table.p:g}, n={table.n}, share={table.share:g}"
    call = f"ta.compare_rules(people, releases, {asked})"
    made = versions_of(table.tellall, table.versions)
    return [Terms([("call", call), ("versions", made)], code=("call",))]
