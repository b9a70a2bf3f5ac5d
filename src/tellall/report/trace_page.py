"""The page of a tracing: a verdict, figures and numbers; counts and rates, never a person."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

from tellall.audits.verdict import Answer
from tellall.core.amounts import percent
from tellall.core.records import Meaning, same_fields
from tellall.report.kit.blocks import (
    Block,
    Box,
    Bullets,
    Drawn,
    Line,
    Listing,
    Paragraph,
    Section,
    Tile,
    Tiles,
    render_blocks,
)
from tellall.report.kit.html import laid_out
from tellall.report.kit.plot import Figure
from tellall.report.recorded import repeat_blocks
from tellall.report.trace_figures import tracing_figures
from tellall.tracing.exchangeable import Exchangeability
from tellall.tracing.trace_files import Publishable, RiskFound, TracedFiles, TracingFound, Watch
from tellall.tracing.tracing_risk import RATES, Share

__all__ = [
    "TracingPage",
    "page_of",
    "render",
]


@dataclass(frozen=True, kw_only=True)
class TracingPage(TracingFound):
    """What a tracing found, with what its page shows besides."""

    limit: Annotated[Publishable | None, Meaning("null: it cannot be simulated.")] = None
    figures: tuple[Figure, ...]


def page_of(traced: TracedFiles, *, reveal: bool = False, watch: Watch = nullcontext) -> TracingPage:
    """What the page of a tracing shows; with ``reveal``, members and others apart, which tells of people."""
    drawn = tracing_figures(
        traced.tracing,
        truth=traced.truth,
        growth=traced.growth(watch),
        limit=traced.simulated(),
        reveal=reveal,
    )
    return same_fields(TracingPage, traced.found, limit=traced.publishable(), figures=drawn)


def render(found: TracingPage) -> str:
    """The page of a tracing."""
    people = f" over {found.people:,} people" if found.people else ""
    attack = f"{found.attack}, threshold {found.threshold}, δ = {found.delta:g}"
    repeat = repeat_blocks(found, found.command, found.seed, attack=attack)
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("numbers", "In numbers", _number_blocks),
            Section("figures", "Figures", _figure_blocks),
            Section("assumed", "What was assumed about the attacker", _assumed_blocks),
            Section("notes", "Notes", lambda _: [Bullets(found.notes)] if found.notes else []),
            Section("repeat", "How to repeat this", lambda _: repeat),
        ),
        found,
        title=f"{found.verdict.word.capitalize()}: who was in the data of {found.release}",
        heading=f"Who was in the data of {found.release}?",
        subtitle=f"{found.attributes:,} published means{people}; {found.target_people:,} "
        f"targets, {found.reference_people:,} reference people.",
    )


def _answer_blocks(found: TracingPage) -> list[Block]:
    """The verdict, how many are traced, and how many means could be published."""
    verdict = found.verdict
    answer = Answer(verdict.kind, verdict.word.capitalize(), verdict.sentence, "Can people be traced?")
    return [Box(answer, large=True), Tiles([_traced_tile(found), *_limit_tiles(found.limit)])]


def _traced_tile(found: TracingPage) -> Tile:
    risk, rate = found.risk, percent(found.delta)
    question = "Who would be hurt?"
    if risk is None:
        return Tile(
            question,
            f"{found.traced:,} of {found.target_people:,} targets are above the threshold.",
            (f"By chance alone, {rate} of people who were not in the data would be.",),
            "numbers",
        )
    return Tile(
        question,
        f"{risk.traced:,} of {risk.members:,} members are named.",
        (f"{risk.false:,} of {risk.others:,} others are named too; {rate} were allowed.",),
        "numbers",
    )


def _limit_tiles(limit: Publishable | None) -> list[Tile]:
    """What to change: how many means can be published."""
    if limit is None:
        return []
    word = "Publish at most" if limit.reached else "All that were tried:"
    return [Tile("What do I change?", f"{word} {limit.attributes:,} means.", (limit.sentence,), "figures")]


def _number_blocks(found: TracingPage) -> list[Block]:
    risk = found.risk
    rate = found.delta
    lines = [
        Line("targets above the threshold", (f"{found.traced:,} of {found.target_people:,}", "")),
        Line(
            f"targets that can be named at a false-discovery rate of {rate:g}",
            (f"{found.named_at_false_discovery_rate:,}", ""),
        ),
        *([] if risk is None else _risk_lines(risk)),
    ]
    caption = f"Allowed: a false-positive rate of {rate:g} per target."
    return [
        Paragraph(
            "This page shows counts and rates, and nobody's name or score. It informs; a person decides.",
            soft=True,
        ),
        Listing("In numbers", ("what", "value", "95 % interval"), lines, caption),
    ]


def _risk_lines(risk: RiskFound) -> Iterator[Line]:
    """The rates of an attack on people whose membership is known."""
    yield _share(f"members named (of {risk.members:,})", risk.true_positive_rate)
    yield _share(f"others named (of {risk.others:,})", risk.false_positive_rate)
    for rate, power in risk.powers:
        if rate in risk.rates_seen:
            yield _share(f"power at {100 * rate:g} % false positives", power)
        elif rate == RATES[0] or RATES[0] in risk.rates_seen:
            few = f"with {risk.others:,} others a rate of {100 * rate:g} % cannot be seen"
            yield _share(f"members above all others ({few})", power)
    auc, epsilon = risk.auc, risk.epsilon
    yield Line("AUC", (f"{auc.value:.3f}", f"{auc.low:.3f} to {auc.high:.3f}"))
    disproved = risk.epsilon_disproved
    yield Line(
        "ε that differential privacy would need to allow this (δ = 0)",
        (
            "no number" if math.isinf(epsilon.estimate) else f"{epsilon.estimate:.2f}",
            "no number" if math.isinf(disproved) else f"{disproved:.2f} or more",
        ),
    )


def _share(name: str, one: Share) -> Line:
    return Line(name, (percent(one.value), f"{percent(one.low)} to {percent(one.high)}"))


def _figure_blocks(found: TracingPage) -> list[Block]:
    return [Drawn(laid_out(figure)) for figure in found.figures]


def _assumed_blocks(found: TracingPage) -> list[Block]:
    independent = (
        f"Attributes are independent: the threshold “{found.threshold}” promises nothing if they are "
        "correlated, as neighbouring positions of a genome are."
    )
    if found.threshold == "empirical":
        independent = (
            "Targets who were not in the data and the reference people are exchangeable; attributes may be "
            "correlated."
        )
    checked = found.exchangeability
    unknown = (
        "It is not known here which targets were in the data: with --members the page shows how often the "
        "attack is right."
    )
    return [
        Bullets(
            [
                "They have the attributes of each target, the published means, and "
                f"{found.reference_people:,} people of the same population who were not in the data.",
                independent,
                *([] if checked is None else [_population(checked)]),
                *([] if found.risk else [unknown]),
            ]
        )
    ]


def _population(checked: Exchangeability) -> str:
    """Whether reference people, means and targets are of one population, and who says so."""
    sentence = checked.sentence
    return f"{sentence} It was traced all the same." if _overruled(checked) else sentence


def _overruled(checked: Exchangeability) -> bool:
    return checked.anyway and checked.status != "alike"
