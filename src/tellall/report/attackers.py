"""Who attacks, and releases about different people: parts of an audit's page, from its document alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tellall.audits.differences import Difference
from tellall.audits.document import AuditDocument
from tellall.audits.verdict import Word, area_name
from tellall.core.amounts import count_of, counted, points, some_of
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
    """The pairs of releases about different people, in words; pairs that differ by as many in one sentence.

    Only pairs are put together in which one release counts everybody whom the other counts.
    """
    names = {row.releases[0]: row.name for row in document.findings if len(row.releases) == 1}
    alike: dict[object, list[Difference]] = {}
    for place, one in enumerate(document.differences):
        fewer = one.releases[1] if one.only_second == 0 else one.releases[0]
        plain = not (one.only_first and one.only_second) and not one.proved and fewer in names
        key = (fewer, one.only_first + one.only_second, one.proved) if plain else place
        alike.setdefault(key, []).append(one)
    return [_of_alike(group, names) for group in alike.values()]


def _of_alike(group: Sequence[Difference], names: Mapping[int, str]) -> str:
    """The sentence of a pair, or one of several in which the same release leaves out as many people."""
    first = group[0]
    if len(group) == 1:
        return first.sentence
    fewer = first.releases[1] if first.only_second == 0 else first.releases[0]
    count = first.only_first + first.only_second
    others = [f"“{names.get(other, '')}”" for one in group for other in one.releases if other != fewer]
    told = (
        f"“{names[fewer]}” leaves out {count_of(count, 'person', 'people')} whom {some_of(others, 3)} count."
    )
    return told if first.proved is None else f"{told} Together they prove nobody else."


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
