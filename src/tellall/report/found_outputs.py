"""Outputs that exist already, each with what it was found to be: for the terminal and the page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tellall.audits.document import AuditDocument
from tellall.core.amounts import count_of
from tellall.core.text import one_line
from tellall.outputs.output_folder import RecognisedOutput
from tellall.report.kit.blocks import Block, Bullets, Folded, Line, Listing

__all__ = ["agreement", "output_blocks", "output_lines", "state_of", "words_of"]

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


def output_blocks(document: AuditDocument) -> Iterator[Block]:
    """The outputs in a table, and each as it was printed; nothing if there are none."""
    if not document.outputs:
        return
    yield Listing(
        "Outputs as they were found",
        ("output", "what its numbers agree with", "cells that agree"),
        [Line(str(one.source), (words_of(one), agreement(one))) for one in document.outputs],
        "Each was recognised by computing it again from the people. That numbers agree does not prove that "
        "they were made so.",
        left=("what its numbers agree with",),
    )
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
