"""The page that compares the agencies' rules with the attack, from its document alone."""

from __future__ import annotations

from typing import Any

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

Plain = dict[str, Any]
_LISTED = 200


def render(document: Plain) -> str:
    """The page: a sentence, and a row for each cell, those that the rule misses first."""
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("cells", "Cell by cell", _cell_blocks),
            Section("assumed", "What was assumed", _assumed_blocks),
            Section("repeat", "How to repeat this", _repeat_blocks),
        ),
        document,
        title=f"{_answer(document).word}: largest contributors",
        heading="What do sums give away about their largest contributors?",
        subtitle=(
            f"{len(document['cells']):,} cells; the {document['p']:g} % rule and dominance ({document['n']}, "
            f"{100 * document['share']:g} %) compared with the attack."
        ),
    )


def _answer(document: Plain) -> Answer:
    missed = any(_missed(cell, document["p"]) for cell in document["cells"])
    word = "The rule misses cells" if missed else "The rule holds here"
    return Answer("fail" if missed else "pass", word, document["sentence"])


def _answer_blocks(document: Plain) -> list[Block]:
    said = "This page shows cells and percentages, and nobody's number. It informs; a person decides."
    return [Box(_answer(document), large=True), Paragraph(said, soft=True)]


def _cell_blocks(document: Plain) -> list[Block]:
    cells = sorted(document["cells"], key=lambda cell: _order(cell, document["p"]))
    table = Listing(
        "Cells",
        (
            "cell",
            "people",
            "dominance",
            "p %",
            "rest beyond the two largest",
            "by an outsider",
            "by the second largest",
        ),
        [_line(cell, document["p"]) for cell in cells[:_LISTED]],
        "How far the largest possible value of the largest contributor lies above the true one, given "
        "everything that is published, in % of it.",
        left=("dominance", "p %"),
    )
    left = len(cells) - _LISTED
    return [table, *([Paragraph(f"{left:,} more cells are not listed.", soft=True)] if left > 0 else [])]


def _line(cell: Plain, limit: float) -> Line:
    return Line(
        cell["cell"],
        (
            f"{cell['contributors']:,}",
            "withhold" if cell["dominance"] else "show",
            "withhold" if cell["p_percent"] else "show",
            *(_percent(cell[name]) for name in ("gap", "outsider", "second")),
        ),
        "missed by the rule" if _missed(cell, limit) else "",
    )


def _percent(value: float | None) -> str:
    return "not limited" if value is None else percent(value / 100)


def _order(cell: Plain, limit: float) -> tuple[bool, bool, float]:
    return not _missed(cell, limit), cell["second"] is None, cell["second"] or 0.0


def _missed(cell: Plain, limit: float) -> bool:
    """Whether the p % rule passes a cell that the releases together break."""
    return not cell["p_percent"] and cell["second"] is not None and cell["second"] < limit - 1e-6


def _assumed_blocks(document: Plain) -> list[Block]:
    return [
        Bullets(
            [
                "Everybody knows which people are in which cell, and that no number is negative.",
                "The second largest contributor of a cell knows their own number as well. From one exact sum "
                "alone they know the largest to within the rest beyond the two largest, which is what the "
                "p % rule looks at.",
                "Values whose errors have no bound, such as noise, limit nothing here; the audit says what "
                "can be learned from them.",
            ]
        )
    ]


def _repeat_blocks(document: Plain) -> list[Block]:
    asked = f"p={document['p']:g}, n={document['n']}, share={document['share']:g}"
    call = f"ta.compare_rules(people, releases, {asked})"
    made = versions_of(document["tellall"], document["versions"])
    return [Terms([("call", call), ("versions", made)], code=("call",))]
