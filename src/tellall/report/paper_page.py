"""The page of a paper's rerun, from its document alone."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from tellall.core.records import read
from tellall.experiment.verdict import Answer
from tellall.report.html import fill, laid_out
from tellall.report.paper_words import MEANINGS
from tellall.report.plot import Figure

__all__ = [
    "render",
]

_SILENT = ("not tried", "our own addition")
_HOLD = ("holds", "holds within our range")
_CLASSES = dict.fromkeys(MEANINGS, "review") | dict.fromkeys(_SILENT, "soft")
_CLASSES |= {"holds": "pass", "holds within our range": "pass", "false as worded": "fail"}


def render(document: dict[str, Any]) -> str:
    """The page: a table of claims (what the paper says, ours, verdict), the figures, how to repeat it."""
    used = {one["verdict"] for one in (*document["index"], *document["statements"])}
    return fill(
        "paper.html",
        document=document,
        classes=_CLASSES,
        meanings={word: meaning for word, meaning in MEANINGS.items() if word in used},
        answer=_answer(document),
        figures=[laid_out(read(Figure, plain, what="figure")) for plain in document["figures"]],
        command=_command(document),
    )


def _answer(document: dict[str, Any]) -> Answer:
    """How many of the paper's statements hold; corrections do not count, our own numbers are left out."""
    count = Counter(one["verdict"] for one in document["statements"])
    tried = [word for word in MEANINGS if word not in _SILENT]
    of = sum(count[word] for word in tried)
    hold = sum(count[word] for word in _HOLD)
    kind = "fail" if count["false as worded"] else "pass" if of and hold == of else "review"
    listed = ", ".join(f"{word}: {count[word]:,}" for word in tried if count[word] or word == "holds")
    added = f" {count[_SILENT[1]]:,} more numbers are ours; the paper makes no claim about them."
    within = f", {count[_HOLD[1]]:,} of them within our range" if count[_HOLD[1]] else ""
    numbered = document["index"]
    silent = sum(one["verdict"] == "not tried" for one in numbered)
    named = f" Of {len(numbered):,} numbered objects {silent:,} were not tried." if numbered else ""
    return Answer(
        kind,
        f"{hold:,} of {of:,} statements hold as printed{within}",
        f"{listed}.{added if count[_SILENT[1]] else ''}{named}",
    )


def _command(document: dict[str, Any]) -> str:
    depth = "--quick" if document["quick"] else "--full"
    seed = "" if document["seed"] is None else f" --seed {document['seed']}"
    data = f" --data {shlex.quote(document['data'])}" if document["data"] else ""
    return f"tellall paper {document['paper']} {depth}{data}{seed}"
