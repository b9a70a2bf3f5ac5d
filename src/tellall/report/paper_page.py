"""The page of a paper's rerun, from its document alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tellall.experiment.verdict import Answer
from tellall.report.html import fill, laid_out
from tellall.report.plot import Figure

__all__ = [
    "render",
]

_CLASSES = {"holds": "pass", "corrected": "review", "does not hold": "fail", "no promise": "soft"}


def render(document: dict[str, Any]) -> str:
    """The page: a table of statements (the paper's, ours, verdict), the figures, how to repeat it."""
    return fill(
        "paper.html",
        document=document,
        classes=_CLASSES,
        answer=_answer(document),
        figures=[laid_out(Figure.from_json(plain)) for plain in document["figures"]],
        command=_command(document),
    )


def _answer(document: dict[str, Any]) -> Answer:
    """How many of the paper's statements hold; those that promise nothing are not counted."""
    count = Counter(one["verdict"] for one in document["statements"])
    holds, corrected, fails, silent = (count[word] for word in _CLASSES)
    kind = "fail" if fails else "pass" if holds and not corrected else "review"
    beside = f" Beside them are {silent:,} numbers of which the paper promises nothing." if silent else ""
    return Answer(
        kind,
        f"{holds + corrected:,} of {holds + corrected + fails:,} statements hold",
        f"{holds:,} hold as printed, {corrected:,} with a correction, {fails:,} do not hold.{beside}",
    )


def _command(document: dict[str, Any]) -> str:
    depth = "--quick" if document["quick"] else "--full"
    seed = "" if document["seed"] is None else f" --seed {document['seed']}"
    return f"tellall paper {document['paper']} {depth}{seed}"
