"""The page of an audit, from its document alone: a list of sections in the order in which a steward reads.

One more section is one function that makes blocks of the document, and one line in SECTIONS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tellall.audits.document import AuditDocument, PeopleCounted
from tellall.audits.findings import FindingDocument
from tellall.audits.measures.chance_intervals import Luck
from tellall.audits.outcome import Foreseen, Outcome, Promised
from tellall.core.amounts import counted, level, percent, points, with_interval
from tellall.privacy.bounds.decoding import Recovery
from tellall.report.area_blocks import audited_area_blocks
from tellall.report.attackers import attacker_blocks
from tellall.report.causes import culprit_blocks, remedy_blocks, who_blocks
from tellall.report.first_screen import answer_blocks, release_blocks
from tellall.report.found_outputs import output_blocks
from tellall.report.glossary import legend
from tellall.report.kit.blocks import (
    Badge,
    Block,
    Bullets,
    Drawn,
    Folded,
    Line,
    Listing,
    Paragraph,
    Section,
    Terms,
    render_blocks,
)
from tellall.report.kit.html import laid_out
from tellall.report.kit.plot import MOST_SERIES, Axis, Figure, Series
from tellall.report.recorded import plan_blocks, record_blocks
from tellall.report.release_rows import Unit, advantage_chart, people_chart, shares
from tellall.report.reliability_chart import trust_blocks, unsettled
from tellall.report.worked_example import worked_blocks

__all__ = [
    "SECTIONS",
    "render",
]

Plain = dict[str, Any]
_SURE = (
    "How many people are guessed right with at least this confidence and at least three times the odds of "
    "every baseline, unless luck explains it."
)
_SURE_NUMBERS = (
    "For how many people the interval of this confidence holds the number and is at most a third as wide as "
    "any baseline's, unless luck explains it."
)


def render(document: AuditDocument, decision: Plain | None = None) -> str:
    """The page of an audit; ``document`` is the content of ``audit.json``, ``decision`` what was decided."""
    data = document.data
    return render_blocks(
        SECTIONS,
        document,
        title=f"{document.verdict.word.capitalize()}: what {data.name} would give away",
        heading=f"What publishing statistics of {data.name} would give away",
        subtitle=f"{data.people:,} people. Secret: {data.secret} ({_values(data)}).",
        decision=decision,
    )


def _values(data: PeopleCounted) -> str:
    """The values of the secret, with how many have each."""
    meaning = data.meaning
    if not meaning:
        return "a number"
    return ", ".join(f"{count:,} × {name}" for count, name in zip(data.counts, meaning, strict=True))


def _judged(document: AuditDocument) -> list[tuple[FindingDocument, Outcome]]:
    """What was found about each release and set of them, steps left out."""
    return [(row, row.summary) for row in document.judged if row.summary is not None]


def chart_blocks(document: AuditDocument) -> Iterator[Block]:
    """The numbers of the first screen drawn, and what its words mean."""
    rows, unit = _judged(document), Unit.of(document.real)
    advantage = advantage_chart(
        "Advantage of each release",
        f"How much better an outsider guesses with the release than without it, in {unit.words}. Thin "
        "lines are 95 % intervals. The table has the same numbers.",
        {row.name: row for row, _ in rows},
        document.limit,
    )
    yield from [
        Drawn(one) for one in (people_chart([row for row, _ in rows], document), advantage) if one is not None
    ]
    yield Folded("What the words mean", (Terms(list(_legend(document).items())),))


def confidence_blocks(document: AuditDocument) -> Iterator[Block]:
    """How many people are exposed at each confidence."""
    if rows := _judged(document):
        yield Drawn(laid_out(_curves(rows)), titled=False)


def bought_blocks(document: AuditDocument) -> Iterator[Block]:
    """What each protection of the plan bought."""
    steps, real = _steps(document), document.real
    chart = advantage_chart(
        "Advantage after each protection",
        "The same statistics without protection, then with more and more of their protections: advantage "
        f"in {Unit.of(real).words}. The table has the same numbers.",
        {f"{step.found.statistic}: {step.found.protection}": step.row for step in steps},
        document.limit,
    )
    if chart is None:
        return
    yield Drawn(chart, titled=False)
    yield Listing(
        "Protections",
        (
            "release",
            "protected by",
            "verdict",
            "off by" if real else "right",
            "advantage [95 %]",
            "bought",
            "exposed",
        ),
        [
            Line(
                step.name,
                (
                    step.found.protection,
                    Badge(step.row.verdict.word),
                    level(step.found.accuracy, real),
                    with_interval(*shares(step.found)),
                    "–" if step.bought is None else points(step.bought),
                    counted(step.found.exposed_people),
                ),
            )
            for step in steps
        ],
        f"Bought: {legend('bought')['bought']}.",
        left=("protected by", "verdict"),
    )


def assumed_blocks(document: AuditDocument) -> list[Block]:
    """What the attacker is assumed to know, and what is published besides the values."""
    return [
        Bullets(document.assumed),
        Folded("What is published besides the values", (Bullets(document.published_too),)),
    ]


def unchecked_blocks(document: AuditDocument) -> list[Block]:
    """What was planned and could not be attacked, and what no audit tests."""
    return [Bullets(document.not_tested)]


def note_blocks(document: AuditDocument) -> list[Block]:
    """Technical notes, folded away release by release."""
    return [Folded(f"“{one[0].name}”", tuple(_notes(*one))) for one in _judged(document)]


SECTIONS = (
    Section("answer", "", answer_blocks),
    Section("verdicts", "", release_blocks),
    Section("remedy", "What to change, and what it costs", remedy_blocks),
    Section("who", "Who is exposed", who_blocks),
    Section("outputs", "The outputs", output_blocks),
    Section("culprits", "What gives them away", culprit_blocks),
    Section("areas", "Area by area", audited_area_blocks),
    Section("attackers", "Who attacks", attacker_blocks, folded=True),
    Section("releases", "What each release gives away", chart_blocks, folded=True),
    Section("protections", "What each protection bought", bought_blocks, folded=True),
    Section("works", "How the attack works", worked_blocks, folded=True),
    Section("reliability", "How far to trust this", trust_blocks, folded=True),
    Section("people", "People exposed, by confidence", confidence_blocks, folded=True),
    Section("assumed", "What was assumed about the attacker", assumed_blocks, folded=True),
    Section("unchecked", "What was not checked", unchecked_blocks, folded=True),
    Section("notes", "Technical notes", note_blocks, folded=True),
    Section("plan", "The plan", plan_blocks, folded=True),
    Section("record", "For the record", record_blocks, folded=True),
)


def _notes(row: FindingDocument, found: Outcome) -> Iterator[Block]:
    """What else is known about an attack: its baselines, whom it names, and what was foreseen."""
    yield Paragraph(row.verdict.sentence)
    yield Listing(
        f"Baselines of {row.name}",
        ("guess without the release", "off by" if found.real else "right"),
        [
            Line(name, (level(value, found.real),), "the strongest" if name == found.baseline else "")
            for name, value in found.baselines.items()
        ],
    )
    named = f"named with confidence 0.95: {counted(found.named_right)} right of {counted(found.named)}"
    tried = [f"{one.decoder} {points(shares(found, one)[0])}" for one in row.decoders]
    several = [f"decoders tried, with their advantage: {', '.join(tried)}"] if len(tried) > 1 else []
    yield Bullets([*([] if found.real else [named]), *_beside(found), *several])


def _legend(document: AuditDocument) -> dict[str, str]:
    """The meaning of the tables' columns, with the names of the baselines and of the secret's value."""
    data, real = document.data, document.real
    baselines = dict.fromkeys(name for _, found in _judged(document) for name in found.baselines)
    words = legend("right", "baseline", "advantage", "proved", "exposed", "sensitive", "named")
    words |= legend("foreseen", "promised")
    secret, meaning = data.secret, data.meaning
    value = f"{secret} = {meaning[1]}" if len(meaning) == 2 else f"a certain {secret}"
    words["named"] = words["named"].replace("{value}", value)
    if real:
        del words["named"], words["foreseen"]
        words |= {
            "right": f"mean absolute error of the attack's numbers, in the unit of {secret}",
            "baseline": "the same without the person's own record",
            "exposed": "the 95 % interval holds the number, a third as wide as any baseline's, beyond luck",
            "advantage": "how much smaller that is than the strongest baseline's, in % of the latter, "
            "without in-sample fit: any model is nearer to the people it was fitted to",
        }
    words["baseline"] += f"; the strongest of {', '.join(baselines)}"
    shown = {"right": "off by" if real else "right"}
    return {shown.get(word, word): said for word, said in words.items()}


def _curves(rows: Sequence[tuple[FindingDocument, Outcome]]) -> Figure:
    """People exposed at each confidence, a line for each of the releases that expose most."""
    ranked = sorted(rows, key=lambda one: -one[1].exposed_people)
    most = {id(row) for row, _ in ranked[:MOST_SERIES]}
    drawn = [(row.name, found) for row, found in rows if id(row) in most]
    levels = [f"{confidence:g}" for confidence, _ in drawn[0][1].curve]
    counts = [[count for _, count in found.curve] for _, found in drawn]
    some = f" Drawn: the {len(drawn)} releases that expose most." if len(drawn) < len(rows) else ""
    return Figure(
        "People exposed by confidence",
        f"{_SURE_NUMBERS if drawn[0][1].real else _SURE} A line can rise, because baselines differ.{some}",
        Axis("confidence", categories=tuple(levels)),
        Axis("people exposed", low=0.0, high=None if max(map(max, counts)) >= 5 else 5.0),
        tuple(
            Series(name, range(len(levels)), several, kind="both")
            for (name, _), several in zip(drawn, counts, strict=True)
        ),
    )


@dataclass(frozen=True)
class Step:
    """A release with its first protections: its name, what was found, and what the last protection bought."""

    name: str
    row: FindingDocument
    found: Outcome
    bought: float | None


def _steps(document: AuditDocument) -> list[Step]:
    """Each protected release with none, one, two, ... of its protections, in this order.

    ``bought`` is how much advantage a step removed, compared with the step before; None for the first.
    """
    steps: list[Step] = []
    rows = [(row, row.summary) for row in document.findings if row.summary is not None]
    for row, _ in rows:
        if row.role != "alone" or not row.protect[0]:
            continue
        wanted = [(row.protect[0][:kept],) for kept in range(len(row.protect[0]) + 1)]
        found = [
            next((r for r in rows if (r[0].statistic, r[0].protect) == (row.statistic, protect)), None)
            for protect in wanted
        ]
        known = [one for one in found if one is not None]
        if len(known) > 1:
            gains = [shares(one)[0] for _, one in known]
            bought = [before - after for before, after in pairwise(gains)]
            steps += [Step(row.name, *one, less) for one, less in zip(known, [None, *bought], strict=True)]
    return steps


def _beside(found: Outcome) -> list[str]:
    """Lines below an attack's numbers: its status, what was foreseen, recovered, promised and skipped."""
    decoder = [f"decoded by {found.decoder}"] if found.decoder else []
    short = "; ".join([*_promised(found.promised), *decoder])
    return [
        *filter(None, [unsettled(found.status, found.status_codes)]),
        *_sure(found.luck),
        *_foreseen(found.foreseen, found.accuracy),
        *_recovered(found.recovery),
        *([short] if short else []),
        *(f"no equation from {reason}" for reason in found.skipped),
    ]


def _sure(luck: Luck) -> list[str]:
    said = []
    if luck.sure:
        said.append(
            f"sure of {luck.sure:,.0f} people: {luck.right:,.0f} right, {luck.expected:,.0f} expected by luck"
        )
    if luck.moved > luck.sure:
        said.append(
            f"trebles the odds of {luck.moved:,.0f} people: {luck.moved_right:,.0f} right, "
            f"{luck.moved_expected:,.0f} expected by luck"
        )
    return said


def _foreseen(known: Foreseen | None, accuracy: float) -> list[str]:
    if known is None:
        return []
    limit = known.limit
    best = ""
    if limit is not None and round(100 * limit, 1) < 100:
        best = f", at most {percent(limit)} for any attack on secrets drawn at random"
    without = f" (leaving out {', '.join(known.ignored)})" if known.ignored else ""
    return [
        f"foreseen before any attack: {known.equations:,} equations about {known.people:,} people, "
        f"at most {known.rank_cap:,} unknowns solvable, predicted {percent(known.accuracy)}{best}"
        f"{without}; found {percent(accuracy)}"
    ]


def _recovered(several: Sequence[Recovery]) -> list[str]:
    """Definition 1 of the linear-reconstruction paper: at most α n people wrong, except in a share β."""
    if not several:
        return []
    draws = several[0].draws
    if draws == 1:
        within = [one.alpha for one in several if not one.beta]
        most = f"at most {100 * min(within):g} %" if within else f"more than {100 * several[-1].alpha:g} %"
        return [f"wrong about {most} of the people"]
    often = "; ".join(
        f"α = {one.alpha:g}: β = {one.beta:.2g} [{one.low:.2f}, {one.high:.2f}]" for one in several
    )
    return [f"wrong about more than a share α of the people in a share β of {draws} draws: {often}"]


def _promised(known: Promised | None) -> list[str]:
    if known is None:
        return []
    if known.epsilon is None:
        return ["promised: nothing"]
    delta = f", δ = {known.delta:g}" if known.delta else ""
    pair = f"ε = {known.epsilon:.4g}{delta} for {known.relation} ({known.text})"
    return [f"promised: {known.risk}; {pair}" if known.risk else f"promised: {pair}"]
