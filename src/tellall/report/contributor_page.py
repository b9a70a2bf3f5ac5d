"""The page that shows the agencies' rules beside the attack, from its document alone."""

from __future__ import annotations

from typing import Any

from tellall.experiment.verdict import Answer
from tellall.report.html import fill

__all__ = ["render"]

_LISTED = 200


def render(document: dict[str, Any]) -> str:
    """The page: a sentence, and a row for each cell, those that the rule misses first."""
    limit = document["p"]
    cells = [{**cell, "missed": _missed(cell, limit)} for cell in document["cells"]]
    cells.sort(key=lambda cell: (not cell["missed"], cell["second"] is None, cell["second"] or 0.0))
    missed = sum(cell["missed"] for cell in cells)
    kind = "fail" if missed else "pass"
    word = "The rule misses cells" if missed else "The rule holds here"
    return fill(
        "contributors.html",
        document=document,
        answer=Answer(kind, word, document["sentence"]),
        cells=cells[:_LISTED],
        left=max(0, len(cells) - _LISTED),
    )


def _missed(cell: dict[str, Any], limit: float) -> bool:
    """Whether the p % rule passes a cell that the releases together break."""
    return not cell["p_percent"] and cell["second"] is not None and cell["second"] < limit - 1e-6
