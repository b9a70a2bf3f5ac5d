"""The first screen of an audit's page: may this be published, what to change, who would be hurt."""

from __future__ import annotations

from collections.abc import Sequence

from tellall.audits.changes import price
from tellall.audits.document import AuditDocument
from tellall.audits.measures.counts import add_counts
from tellall.audits.union import Overall
from tellall.audits.verdict import Answer
from tellall.core.amounts import count_of, counted
from tellall.report.found_outputs import output_table
from tellall.report.kit.blocks import Badge, Block, Box, Folded, Line, Listing, Terms, Tile, Tiles
from tellall.report.release_rows import ReleaseRow, advantage_words, counted_heads, release_rows

__all__ = ["answer_blocks", "change_tile", "hurt_tile", "release_blocks", "verdict_answer", "why_blocks"]

_FEW_ROWS = 8  # in a table, beyond which sets of releases are folded away
_MAY = {
    "pass": "Pass: within the limits",
    "review": "Review: a person decides",
    "fail": "Fail: not as planned",
}


def answer_blocks(document: AuditDocument) -> list[Block]:
    """The verdict, why and what to look at, what to change, who would be hurt."""
    tiles = Tiles((change_tile(document), hurt_tile(document)))
    return [Box(verdict_answer(document), large=True), *why_blocks(document), tiles]


def why_blocks(document: AuditDocument) -> list[Block]:
    """Each reason in a few words, and what to look at; nothing where it passes."""
    why = {one.decided: one.look_at for one in document.verdict.reasons}
    return [Terms([(f"{word[:1].upper()}{word[1:]}", look) for word, look in why.items()])] if why else []


def verdict_answer(document: AuditDocument) -> Answer:
    """The verdict on everything together."""
    verdict = document.verdict
    return Answer(verdict.word, _MAY[verdict.word], verdict.sentence, "May this be published?")


def change_tile(document: AuditDocument) -> Tile:
    """What to change in a few words."""
    known, question = document.remedy, "What do I change?"
    if known is None:
        if document.verdict.word == "pass":
            return Tile(question, "Nothing.", ("It passes as it is planned.",))
        if document.overall is None:
            return Tile(question, "Nobody knows.", ("Nothing could be attacked.",))
        return Tile(question, "Nobody looked for a change.", ("tellall audit does, unless --no-remedy.",))
    if known.change is None:
        tried = count_of(len(known.tried), "change was", "changes were")
        return Tile(question, "No change was found that passes.", (f"{tried} tried.",), "remedy")
    change = known.change
    words = f"{change.words[0].upper()}{change.words[1:]}."
    lost = price(change.withheld, change.instead, change.error)
    draws = change.draws
    passed = (
        "The changed plan passes when audited again."
        if draws == 1
        else f"It passed in {change.passed:,} of {draws:,} fresh draws."
    )
    lines = [f"The price: {lost}.", passed]
    if len(document.attackers) > 1:
        lines.append(f"Checked only against “{document.attackers[0].name}”.")
    return Tile(question, words, tuple(lines), "remedy")


def hurt_tile(document: AuditDocument) -> Tile:
    """How many people would be given away, in a few words."""
    question, known = "Who would be hurt?", document.overall
    if known is None:
        return Tile(question, "Nobody knows.", ("Nothing could be attacked.",))
    data, people = document.data, document.data.people
    learnt, others = known.sensitive.learnt, _others(known, document.sensitive)
    whose = _sensitive_value(document)
    answer = (
        f"{counted(learnt)} of {people:,} people: an outsider learns {whose}."
        if learnt
        else "Nobody was found."
    )
    lines = [f"{counted(others)} more are found to have another value."] if others else []
    if group := add_counts(known.proved_group.values()):
        people_in = count_of(group, "person is", "people are")
        lines.append(f"{people_in} in a published cell whose people all have the same {data.secret}.")
    if most := _most_hurt(document):
        lines.append(most)
    return Tile(question, answer, lines, "who")


def _others(known: Overall, codes: tuple[str, ...] | None) -> float:
    """People proved alone or exposed who have no sensitive value: the larger of the two counts."""
    if codes is None:
        return 0
    return max(
        add_counts(count for code, count in people.items() if code not in codes)
        for people in (known.proved_alone, known.exposed)
    )


def _sensitive_value(document: AuditDocument) -> str:
    codes, data = document.sensitive, document.data
    if codes is None or not data.meaning:
        return f"their {data.secret}"
    values = " or ".join(data.meaning[int(code)] for code in codes)
    return f"{data.secret} = {values}"


def _most_hurt(document: AuditDocument) -> str:
    """The group with the largest share of people given away, as far as that may be shown."""
    tables = () if document.culprits is None else document.culprits.who
    rows = [(table.by, row) for table in tables for row in table.rows if row.learnt]
    if not rows:
        return ""
    by, row = max(rows, key=lambda one: (one[1].learnt or 0) / one[1].people)
    return f"Most often by {by} = {', '.join(row.values)}: {row.learnt:,} of {row.people:,}."


def release_blocks(document: AuditDocument) -> list[Block]:
    """The verdict on each release and on all of them, with the numbers that decide it.

    Of outputs that exist there is first a line each: what it is, and what decided. Of many releases those
    that were attacked together are folded away.
    """
    rows = release_rows(document)
    if not rows:
        return list(output_table(document, rows))
    if document.outputs:
        return [
            *output_table(document, rows),
            Folded("The numbers of every attack", (_numbers(document, rows),)),
        ]
    together = [row for row in rows if row.together]
    if len(rows) <= _FEW_ROWS or not together:
        return [_numbers(document, rows)]
    alone = [row for row in rows if not row.together]
    summary = f"{count_of(len(together), 'set')} of releases, attacked together"
    return [_numbers(document, alone), Folded(summary, (_numbers(document, together),))]


def _numbers(document: AuditDocument, rows: Sequence[ReleaseRow]) -> Listing:
    """The numbers that decide, a line for each release or set of releases."""
    real = document.real
    head = ["release", "verdict", "off by" if real else "right", "baseline", "advantage [95 %]"]
    lines = [
        Line(
            row.name,
            (
                Badge(row.word),
                row.right,
                row.baseline,
                row.advantage,
                *row.counted(real),
                row.decided,
            ),
            whole=row.whole,
        )
        for row in rows
    ]
    caption = f"Of {document.data.people:,} people. {advantage_words(document)}"
    left = ("verdict", "what decided")
    return Listing("Releases", (*head, *counted_heads(real), "what decided"), lines, caption, left)
