"""From verdict to remedy: what to change, what each part adds, who is given away; from the document alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from tellall.audits.advised import (
    Added,
    CulpritPart,
    Culprits,
    ExposedRow,
    GivenAway,
    Remedy,
    TriedChange,
)
from tellall.audits.document import AuditDocument
from tellall.audits.union import Overall
from tellall.audits.verdict import Answer
from tellall.core.amounts import count_of, counted, digits, percent, points
from tellall.report.kit.bars import Bar
from tellall.report.kit.blocks import (
    Badge,
    Beside,
    Block,
    Box,
    Drawn,
    Folded,
    Headed,
    Line,
    Listing,
    Paragraph,
    Preformatted,
)
from tellall.report.kit.html import bar_figure
from tellall.report.release_rows import Unit

__all__ = [
    "culprit_blocks",
    "remedy_blocks",
    "remedy_box",
    "tried_blocks",
    "who_blocks",
]

Count = Callable[[GivenAway | Added], float]
_WITHHELD = "withheld"
_SHOWN = 12
_NO_TIME = "Not tried, for lack of time:"


def remedy_blocks(document: AuditDocument) -> Iterator[Block]:
    """The cheapest change that passes, what it costs, and what else was tried."""
    known = document.remedy
    if known is None:
        return
    yield remedy_box(known)
    if known.toml:
        yield Headed(
            "Lines for the plan",
            (
                Paragraph(
                    "These are all releases of the changed plan. Replace the releases of your plan with them "
                    "and audit again.",
                    soft=True,
                ),
                Preformatted("Lines for the plan", known.toml),
            ),
        )
    yield from tried_blocks(known)


def remedy_box(remedy: Remedy) -> Box:
    """The cheapest change that passes and what it costs, or that none was found."""
    if remedy.change is None:
        return Box(Answer("review", "No change found that passes", remedy.sentence, "Remedy"))
    return Box(Answer("pass", "A change that passes", remedy.sentence, "Remedy"), _cost(remedy.change))


def tried_blocks(remedy: Remedy) -> Iterator[Block]:
    """The changes that were tried, folded away, and those that there was no time for."""
    if remedy.tried:
        table = Listing(
            "Changes tried",
            ("change", "verdict", "error", "withheld", "passes", "why"),
            [_change(one) for one in remedy.tried],
            "The cheapest come first. Error: the average error of a planned value, including withheld and "
            "dropped ones. Withheld: the share of the planned values. Passes: how many fresh draws pass.",
            left=("verdict", "why"),
        )
        yield Folded(f"{count_of(len(remedy.tried), 'change that was', 'changes that were')} tried", (table,))
    if remedy.not_tried:
        listed = "; ".join(one.words for one in remedy.not_tried)
        yield Paragraph(f"{_NO_TIME} {listed}.", soft=True)


def _cost(change: TriedChange) -> list[tuple[str, str]]:
    """What the change costs the reader, and how surely it passes."""
    shown = "nothing is shown" if change.error is None else f"{digits(change.error)} on average"
    return [
        ("error of a planned value, including withheld ones", f"{digits(change.loss)} on average"),
        ("planned values withheld or dropped", _withheld(change)),
        ("error of what is shown", shown),
        ("verified on fresh draws", f"passed in {change.passed:,} of {count_of(change.draws, 'draw')}"),
    ]


def _withheld(change: TriedChange) -> str:
    others = f"; {change.instead:,} of smaller tables instead" if change.instead else ""
    return f"{percent(change.withheld)}{others}"


def _change(change: TriedChange) -> Line:
    return Line(
        change.words,
        (
            Badge(change.verdict) if change.verdict else "not tried",
            digits(change.loss),
            _withheld(change),
            f"{change.passed:,} of {change.draws:,}",
            change.sentence,
        ),
    )


def who_blocks(document: AuditDocument) -> Iterator[Block]:
    """The people who are given away: by the value of their secret, and by one thing that is public."""
    overall, known = document.overall, document.culprits
    if overall is None:
        return
    yield _by_value(document, overall)
    if known is None or not known.learnt:
        return
    yield Paragraph(_which_table(document, known), soft=True)
    if not known.who:
        return
    yield Beside(
        [
            Headed(
                f"By {table.by}",
                (
                    Listing(
                        f"People given away by {table.by}",
                        (table.by, "people", "given away", "share"),
                        [_who(row) for row in table.rows],
                    ),
                ),
            )
            for table in known.who
        ]
    )


def _which_table(document: AuditDocument, known: Culprits) -> str:
    """Why people given away are counted in one table, or in none."""
    if document.areas is not None:
        return (
            "By what is public about them, people given away are counted by area only: counts of another "
            "table could be subtracted from those until they name people."
        )
    if not known.who:
        return (
            "People given away are not counted by what is public about them: every such table would name "
            "single people."
        )
    return (
        "Below are people with a sensitive value who are proved alone or exposed, by what is public about "
        "them. It is one table, the one whose rows differ most, because counts of several could be "
        "subtracted from each other until they name people. Values are merged until no row has 1 to 4 people "
        "given away, or fewer than 5 who are not."
    )


def _by_value(document: AuditDocument, overall: Overall) -> Listing:
    """The people given away by the value of their secret; a number has no values to go by."""
    data, codes = document.data, document.sensitive
    columns = {
        "proved alone": overall.proved_alone,
        "proved as a group": overall.proved_group,
        "exposed": overall.exposed,
    }
    if not data.meaning:
        columns = {"exposed": overall.exposed}
    values = (
        [(meaning, str(code), data.counts[code]) for code, meaning in enumerate(data.meaning)]
        if data.meaning
        else [("any number", next(iter(overall.exposed)), data.people)]
    )
    return Listing(
        f"People by {data.secret}",
        (data.secret, "people", *columns),
        [
            Line(
                meaning,
                (f"{people:,}", *(counted(count[code]) for count in columns.values())),
                "sensitive" if codes is None or code in codes else "",
            )
            for meaning, code, people in values
        ],
        "The most that any set of releases gives away. One person can be both proved and exposed.",
    )


def _who(row: ExposedRow) -> Line:
    """Who is given away among some people; a withheld count is marked as such."""
    known = row.learnt
    learnt = _WITHHELD if known is None else f"{known:,}"
    share = "–" if known is None else percent(known / row.people)
    return Line(_values(row.values), (f"{row.people:,}", learnt, share))


def _values(values: Sequence[str]) -> str:
    return ", ".join(values)


def culprit_blocks(document: AuditDocument) -> Iterator[Block]:
    """What each release, table or column adds to what is given away."""
    known = document.culprits
    if known is None:
        return
    most = "learnt" if known.learnt else "exposed" if known.exposed else "proved"
    count: Count = attrgetter(most)
    people = (
        "people with a sensitive value, proved alone or exposed" if most == "learnt" else f"people {most}"
    )
    parts = sorted(known.parts, key=lambda part: -count(part.adds))
    yield Paragraph(f"“{known.of}” attacked again without each of its parts, by {known.decoder}.")
    chart = bar_figure(
        "What each part adds",
        f"How many fewer there are without this part: {people}. Next to it: with it → without it. "
        "The table has the same numbers.",
        [_part_bar(part, known, count) for part in parts[:_SHOWN]],
        None,
        f"added by this part: {people}",
    )
    if chart is not None:
        unit = Unit.of(document.real).words
        now = Line("with everything", _counts(known), whole=True)
        yield Drawn(chart, titled=False)
        yield Listing(
            "Parts",
            ("part", "proved", "exposed", "sensitive", "advantage"),
            [now, *(Line(f"without {_part_name(part)}", _counts(part)) for part in parts)],
            "People proved, exposed, and with a sensitive value proved alone or exposed; advantage in "
            f"{unit}.",
        )
    if known.not_tried:
        yield Paragraph(f"{_NO_TIME} {', '.join(known.not_tried)}.", soft=True)


def _part_bar(part: CulpritPart, now: GivenAway, count: Count) -> Bar:
    return Bar(_part_name(part), count(part.adds), f"{counted(count(now))} → {counted(count(part))}")


def _part_name(part: CulpritPart) -> str:
    return f"release “{part.name}”" if part.kind == "release" else f"{part.kind} {part.name}"


def _counts(counts: GivenAway) -> list[str]:
    numbers = [counted(people) for people in (counts.proved, counts.exposed, counts.learnt)]
    return [*numbers, points(counts.advantage)]
