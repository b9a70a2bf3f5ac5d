"""Outputs that exist already, each with what it was found to be: for the terminal and the page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tellall.audits.document import AuditDocument
from tellall.core.amounts import count_of
from tellall.core.reasons import WORDS
from tellall.core.text import one_line
from tellall.outputs.output_folder import RecognisedOutput
from tellall.report.kit.blocks import Badge, Block, Bullets, Folded, Line, Listing
from tellall.report.release_rows import ReleaseRow

__all__ = ["agreement", "output_blocks", "output_lines", "output_table", "state_of", "words_of"]

_AGREES = (
    "Each was recognised by computing it again from the people. That numbers agree does not prove that they "
    "were made so."
)
_SIGNS = {"read": "+", "apart": "-", "open": "?"}


def output_lines(records: Sequence[RecognisedOutput]) -> Iterator[str]:
    """Yields what every output was found to be, and at last how many take part."""
    for one in records:
        agreeing = f" ({agreement(one)} cells agree)" if one.agrees[1] and one.read else ""
        yield f"{_SIGNS[state_of(one)]} {one.source}: {words_of(one)}{agreeing}"
        for each in one.meanings if len(one.meanings) > 1 else ():
            where = f" ({'; '.join(each.differs[:2])})" if each.differs else ""
            yield f"    {each.number}: {each.sentence}{where}"
        if one.meanings:
            yield f"    To confirm: --confirm {shlex.quote(f'{one.source}={one.meanings[0].number}')}"
    states = [state_of(one) for one in records]
    said = f"{count_of(states.count('read'), 'output')} of {len(records):,} recognised and about the secret"
    if states.count("apart"):
        said += f", {states.count('apart'):,} not about it"
    if states.count("open"):
        said += f", {states.count('open'):,} not checked"
    yield f"{said}."


def output_table(document: AuditDocument, rows: Sequence[ReleaseRow]) -> Iterator[Block]:
    """The outputs in a table: the verdict on each, what decided, and what it is; nothing without outputs."""
    if not document.outputs:
        return
    computed = any(
        one.agrees[1] for one in document.outputs
    )  # what ACRO recorded is read, not computed again
    lines = [
        Line(one.id, (*_verdict_on(one, rows), words_of(one), *([agreement(one)] if computed else [])))
        for one in document.outputs
    ]
    empty = ("", "") if computed else ("",)
    lines += [Line(row.name, (Badge(row.word), row.decided, *empty), whole=True) for row in rows if row.whole]
    yield Listing(
        "Outputs as they were found",
        ("output", "verdict", "what decided", "what it is", *(["cells that agree"] if computed else [])),
        lines,
        _AGREES if computed else "",
        left=("verdict", "what decided", "what it is"),
    )


def _verdict_on(one: RecognisedOutput, rows: Sequence[ReleaseRow]) -> tuple[Badge | str, str]:
    """The worst verdict on what was made of an output, and what decided; a dash if it takes no part."""
    own = [row for row in rows if not row.together and f"{row.name},".startswith(f"{one.id},")]
    if not own:
        return "–", "takes no part" if one.about_secret is False else "not attacked"
    worst = max(own, key=lambda row: WORDS.index(row.word))
    return Badge(worst.word), worst.decided


def output_blocks(document: AuditDocument) -> Iterator[Block]:
    """What outputs may be that are not checked."""
    unclear = [one for one in document.outputs if one.meanings]
    if unclear:
        said = [f"{one.source}: {each.number}. {each.sentence}" for one in unclear for each in one.meanings]
        yield Folded("What outputs that are not checked may be", (Bullets(said),))


def state_of(one: RecognisedOutput) -> str:
    """Whether an output takes part, says nothing about the secret, or is open."""
    if one.read:
        return "read"
    return "apart" if one.about_secret is False else "open"


def words_of(one: RecognisedOutput) -> str:
    """What an output is, or why that is not known."""
    if one.read:
        beside = f"; not checked: {one_line(one.beside, 300)}" if one.beside else ""
        return f"{one_line(one.sentence, 400)}{beside}"
    reason = one.reason or "not checked"
    if one.about_secret is False:
        return f"{one_line(one.sentence, 400)}; {reason}" if one.sentence else reason
    return f"not checked: {one_line(reason, 400)}"


def agreement(one: RecognisedOutput) -> str:
    """How many of its cells agree, of how many."""
    agreeing, shown = one.agrees
    return f"{agreeing:,} of {shown:,}" if shown else "–"
