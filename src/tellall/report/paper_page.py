"""The page of a paper's rerun, from its document alone."""

from __future__ import annotations

from typing import Any

from tellall.report.html import fill, laid_out
from tellall.report.plot import Figure

__all__ = ["render"]

_CLASSES = {"holds": "pass", "does not hold": "fail", "corrected": "review", "no promise": "soft"}


def render(document: dict[str, Any]) -> str:
    """The page: a table of statements (the paper's, ours, verdict), the figures, how to repeat it."""
    counts = {word: sum(one["verdict"] == word for one in document["statements"]) for word in _CLASSES}
    return fill(
        "paper.html",
        document=document,
        classes=_CLASSES,
        counts={word: count for word, count in counts.items() if count},
        figures=[laid_out(Figure.from_json(plain)) for plain in document["figures"]],
        command=_command(document),
    )


def _command(document: dict[str, Any]) -> str:
    depth = "--quick" if document["quick"] else "--full"
    seed = "" if document["seed"] is None else f" --seed {document['seed']}"
    return f"tellall paper {document['paper']} {depth}{seed}"
