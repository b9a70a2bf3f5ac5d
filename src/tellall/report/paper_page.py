"""The page of a paper's rerun, from its document alone."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from tellall.audits.verdict import Answer
from tellall.core.records import read
from tellall.report.kit.html import fill, laid_out
from tellall.report.kit.plot import Figure
from tellall.report.paper_words import GRAVEST, MEANINGS

__all__ = [
    "render",
]

_SILENT = ("not tried (other data)", "not tried", "our own addition")
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
    """How many objects hold as printed: numbered ones, and claims of the text that have no number.

    An object counts once, with its gravest verdict, however many cases of it were tried. Corrections do not
    count as holding; our own numbers are left out.
    """
    words = [one["verdict"] for one in document["index"]]
    words += _unnumbered(document)
    count = Counter(words)
    tried = [word for word in MEANINGS if word not in _SILENT]
    of = sum(count[word] for word in tried)
    hold = sum(count[word] for word in _HOLD)
    kind = "fail" if count["false as worded"] else "pass" if of and hold == of else "review"
    listed = ", ".join(f"{word}: {count[word]:,}" for word in tried if count[word] or word == "holds")
    sentences = [f"{listed}."]
    if document["stand_in"]:
        sentences.append(
            f"The paper's data were not given and {document['stand_in']} stand in: "
            f"{count[_SILENT[0]]:,} of its objects are about its own data and were not tried."
        )
    added = sum(one["verdict"] == "our own addition" for one in document["statements"])
    if added:
        sentences.append(f"{added:,} more numbers are ours; the paper makes no claim about them.")
    if document["index"]:
        sentences.append(
            f"Of {len(document['index']):,} numbered objects {count['not tried']:,} were not tried; "
            f"{len(words) - len(document['index']):,} claims of its text have no number."
        )
    within = f", {count[_HOLD[1]]:,} of them within our range" if count[_HOLD[1]] else ""
    return Answer(
        kind, f"{hold:,} of {of:,} objects that were tried hold as printed{within}", " ".join(sentences)
    )


def _unnumbered(document: dict[str, Any]) -> list[str]:
    """The gravest verdict of each claim of the paper that no object of the index is about."""
    listed = {place for one in document["index"] for place in one["statements"]}
    order = {word: place for place, word in enumerate(GRAVEST)}
    gravest: dict[str, str] = {}
    for place, one in enumerate(document["statements"], 1):
        word, claim = one["verdict"], one["claim"] or str(place)
        if place in listed or word in ("not tried", "our own addition"):
            continue
        gravest[claim] = min(word, gravest.get(claim, word), key=lambda some: order[some])
    return list(gravest.values())


def _command(document: dict[str, Any]) -> str:
    depth = "--quick" if document["quick"] else "--full"
    seed = "" if document["seed"] is None else f" --seed {document['seed']}"
    data = f" --data {shlex.quote(document['data'])}" if document["data"] else ""
    about = f" --about {shlex.quote(document['asked'])}" if document["asked"] else ""
    return f"tellall paper {document['paper']} {depth}{data}{about}{seed}"
