"""The page of a paper's rerun."""

from __future__ import annotations

import shlex
from collections import Counter

from tellall.audits.verdict import Answer
from tellall.report.kit.html import fill, laid_out
from tellall.report.paper import PaperRerun
from tellall.report.paper_words import GRAVEST, MEANINGS

__all__ = [
    "render",
]

_SILENT = ("not tried (other data)", "not tried", "our own addition")
_HOLD = ("holds", "holds within our range")
_CLASSES = dict.fromkeys(MEANINGS, "review") | dict.fromkeys(_SILENT, "soft")
_CLASSES |= {"holds": "pass", "holds within our range": "pass", "false as worded": "fail"}


def render(rerun: PaperRerun) -> str:
    """The page: a table of claims (what the paper says, ours, verdict), the figures, how to repeat it."""
    used = {*(one.verdict for one in rerun.index), *(one.verdict for one in rerun.statements)}
    return fill(
        "paper.html",
        document=rerun,
        classes=_CLASSES,
        meanings={word: meaning for word, meaning in MEANINGS.items() if word in used},
        answer=_answer(rerun),
        figures=[laid_out(figure) for figure in rerun.figures],
        command=_command(rerun),
    )


def _answer(rerun: PaperRerun) -> Answer:
    """How many objects hold as printed: numbered ones, and claims of the text that have no number.

    An object counts once, with its gravest verdict, however many cases of it were tried. Corrections do not
    count as holding; our own numbers are left out.
    """
    words: list[str] = [*(one.verdict for one in rerun.index), *_unnumbered(rerun)]
    count = Counter(words)
    tried = [word for word in MEANINGS if word not in _SILENT]
    of = sum(count[word] for word in tried)
    hold = sum(count[word] for word in _HOLD)
    kind = "fail" if count["false as worded"] else "pass" if of and hold == of else "review"
    listed = ", ".join(f"{word}: {count[word]:,}" for word in tried if count[word] or word == "holds")
    sentences = [f"{listed}."]
    if rerun.stand_in:
        sentences.append(
            f"The paper's data were not given and {rerun.stand_in} stand in: "
            f"{count[_SILENT[0]]:,} of its objects are about its own data and were not tried."
        )
    added = sum(one.verdict == "our own addition" for one in rerun.statements)
    if added:
        sentences.append(f"{added:,} more numbers are ours; the paper makes no claim about them.")
    if rerun.index:
        sentences.append(
            f"Of {len(rerun.index):,} numbered objects {count['not tried']:,} were not tried; "
            f"{len(words) - len(rerun.index):,} claims of its text have no number."
        )
    within = f", {count[_HOLD[1]]:,} of them within our range" if count[_HOLD[1]] else ""
    return Answer(
        kind, f"{hold:,} of {of:,} objects that were tried hold as printed{within}", " ".join(sentences)
    )


def _unnumbered(rerun: PaperRerun) -> list[str]:
    """The gravest verdict of each claim of the paper that no object of the index is about."""
    listed = {place for one in rerun.index for place in one.statements}
    order = {word: place for place, word in enumerate(GRAVEST)}
    gravest: dict[str, str] = {}
    for place, one in enumerate(rerun.statements, 1):
        word, claim = one.verdict, one.claim or str(place)
        if place in listed or word in ("not tried", "our own addition"):
            continue
        gravest[claim] = min(word, gravest.get(claim, word), key=lambda some: order[some])
    return list(gravest.values())


def _command(rerun: PaperRerun) -> str:
    depth = "--quick" if rerun.quick else "--full"
    seed = "" if rerun.seed is None else f" --seed {rerun.seed}"
    data = f" --data {shlex.quote(rerun.data)}" if rerun.data else ""
    about = f" --about {shlex.quote(rerun.asked)}" if rerun.asked else ""
    return f"tellall paper {rerun.name} {depth}{data}{about}{seed}"
