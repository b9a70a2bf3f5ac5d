"""Who attacks, and releases about different people: parts of an audit's page, from its document alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tellall.audits.document import AuditDocument
from tellall.audits.verdict import Word, area_name
from tellall.core.amounts import counted, points
from tellall.report.kit.blocks import Badge, Block, Bullets, Folded, Headed, Line, Listing, Paragraph
from tellall.report.release_rows import Unit

__all__ = ["attacker_blocks", "attacker_lines", "attackers_view", "differences_view", "rules_view"]


@dataclass(frozen=True)
class AttackerRow:
    """One attacker in words: what a table shows, and what stands beside it."""

    name: str
    word: Word
    cells: tuple[str, ...]
    beside: tuple[str, ...]


def attacker_blocks(document: AuditDocument) -> Iterator[Block]:
    """The attackers, the worst first, and releases about different people; nothing if there are neither."""
    if told := rules_view(document):
        yield Headed("What the agencies' rules say", (Bullets(told),))
    if document.differences:
        yield Headed("Releases about different people", (Bullets(differences_view(document)),))
    attackers = attackers_view(document)
    if not attackers:
        return
    if len(attackers) > 1:
        yield Paragraph("The worst first. Everything else on this page is about the first of them.")
    yield Listing(
        "Attackers",
        ("attacker", "verdict", "advantage", "proved", "exposed", "sensitive"),
        [Line(one.name, (Badge(one.word), *one.cells)) for one in attackers],
        "The most that any of their attacks achieves.",
        left=("verdict",),
    )
    for one in attackers:
        yield Folded(f"What {one.name} knows, and what decided", (Bullets(one.beside),))


def attackers_view(document: AuditDocument) -> list[AttackerRow]:
    """The attackers, the worst first; empty if there is only one, who knows everything."""
    unit = Unit.of(document.real)
    return [
        AttackerRow(
            area_name(one.name) if one.name else "the attacker",
            one.verdict.word,
            (
                "–" if one.advantage_share is None else f"{points(one.advantage_share)}{unit.after}",
                *(counted(people) for people in (one.proved, one.exposed, one.sensitive)),
            ),
            (
                f"{one.knows[0].upper()}{one.knows[1:]}.",
                one.verdict.sentence,
                *(f"cannot use {why}" for why in one.not_usable),
                *one.unknown,
            ),
        )
        for one in document.attackers
    ]


def rules_view(document: AuditDocument) -> list[str]:
    """What the agencies' rules say about cells of numbers, and what to look at."""
    compared = [document.rules.sentence] if document.rules else []
    return [*compared, *(f"{one.sentence} {one.look_at}" for one in document.cells)]


def differences_view(document: AuditDocument) -> list[str]:
    """The pairs of releases about different people, in words."""
    return [one.sentence for one in document.differences]


def attacker_lines(document: AuditDocument) -> list[str]:
    """Attackers, differences and the agencies' rules in lines for a terminal."""
    attackers = [
        f"{row.name}: {row.word}, advantage {row.cells[0]}, {row.cells[1]} proved, "
        f"{row.cells[2]} exposed. {row.beside[0]}"
        for row in attackers_view(document)
    ]
    several = len(attackers) > 1
    told = ["Attackers, the worst first; the numbers above are the worst one's:"] if several else []
    compared = [document.rules.sentence] if document.rules else []
    rules = [*compared, *(f"“{one.release}”: {one.look_at}" for one in document.cells)]
    lines = [*rules, *differences_view(document), *told]
    return [*lines, *(f"  {line}" if several else line for line in attackers)]
