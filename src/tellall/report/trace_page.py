"""The page of a tracing and its data: a verdict, figures and numbers; counts and rates, never a person."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tellall.attack.trace.risk import RATES, TracingRisk
from tellall.attack.trace.trace import Tracing
from tellall.attack.trace.verdict import TracingVerdict
from tellall.core.amounts import percent
from tellall.experiment.verdict import Answer
from tellall.report.blocks import (
    Block,
    Box,
    Bullets,
    Drawn,
    Line,
    Listing,
    Paragraph,
    Section,
    Terms,
    Tile,
    Tiles,
    render_blocks,
)
from tellall.report.html import laid_out
from tellall.report.plot import Figure
from tellall.report.recorded import versions_of

__all__ = [
    "render",
    "summarise_risk",
    "summarise_tracing",
]


def summarise_tracing(
    tracing: Tracing, verdict: TracingVerdict, risk: TracingRisk | None, seed: int
) -> dict[str, Any]:
    """Returns the counts and rates of a tracing as plain data; it names no person."""
    return {
        "verdict": {"word": verdict.word, "sentence": verdict.sentence},
        "seed": seed,
        "attack": tracing.attack,
        "threshold": tracing.rule,
        "delta": tracing.delta,
        "attributes": tracing.attributes,
        "reference_people": tracing.reference_people,
        "target_people": int(tracing.scores.size),
        "missing_calls": dict(zip(("targets", "reference"), tracing.missing_calls, strict=True)),
        "targets_without_calls": tracing.without_calls,
        "reference_people_lacking_calls": tracing.reference_lacking,
        "exchangeability": None if tracing.exchangeability is None else asdict(tracing.exchangeability),
        "traced": tracing.traced,
        "named_at_false_discovery_rate": int(tracing.discoveries().sum()),
        "risk": None if risk is None else summarise_risk(risk, seed),
    }


def _finite(number: float) -> float | None:
    """Returns the number, or None for infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


def summarise_risk(risk: TracingRisk, seed: int) -> dict[str, Any]:
    """Returns the risk of a tracing as plain data.

    Scores are left out: whoever knows a person's score could read from the curve at that score whether that
    person is a member.
    """
    disproved = risk.epsilon()
    return {
        "members": risk.members,
        "others": risk.others,
        "traced": risk.traced,
        "false": risk.false,
        "true_positive_rate": asdict(risk.true_positive_rate),
        "false_positive_rate": asdict(risk.false_positive_rate),
        "auc": asdict(risk.auc),
        "power_at_0.01": asdict(risk.power(0.01, rng=seed)),
        "power_at_0.001": asdict(risk.power(0.001, rng=seed)),
        "rates_seen": [rate for rate in RATES if risk.seen(rate)],
        "epsilon_disproved": _finite(disproved.lower),
        "epsilon": {
            "estimate": _finite(disproved.estimate),
            "lower": _finite(disproved.lower),
            "delta": disproved.delta,
            "confidence": disproved.confidence,
        },
        "roc": {name: curve.tolist() for name, curve in risk.roc().items() if name != "threshold"},
    }


def render(document: dict[str, Any]) -> str:
    """Returns the page of a tracing's document."""
    people = f" over {document['people']:,} people" if document["people"] else ""
    return render_blocks(
        (
            Section("answer", "", _answer_blocks),
            Section("numbers", "In numbers", _number_blocks),
            Section("figures", "Figures", _figure_blocks),
            Section("assumed", "What was assumed about the attacker", _assumed_blocks),
            Section("notes", "Notes", lambda known: [Bullets(known["notes"])] if known["notes"] else []),
            Section("repeat", "How to repeat this", _repeat_blocks),
        ),
        document,
        title=f"{document['verdict']['word'].capitalize()}: who was in the data of {document['release']}",
        heading=f"Who was in the data of {document['release']}?",
        subtitle=f"{document['attributes']:,} published means{people}; {document['target_people']:,} "
        f"targets, {document['reference_people']:,} reference people.",
    )


def _answer_blocks(document: dict[str, Any]) -> list[Block]:
    """The verdict, how many are traced, and how many means could be published."""
    verdict = TracingVerdict(**document["verdict"])
    answer = Answer(verdict.kind, verdict.word.capitalize(), verdict.sentence, "Can people be traced?")
    return [Box(answer, large=True), Tiles([_traced_tile(document), *_limit_tiles(document.get("limit"))])]


def _traced_tile(document: dict[str, Any]) -> Tile:
    risk, rate = document["risk"], percent(document["delta"])
    question = "Who would be hurt?"
    if risk is None:
        return Tile(
            question,
            f"{document['traced']:,} of {document['target_people']:,} targets are above the threshold.",
            (f"By chance alone, {rate} of people who were not in the data would be.",),
            "numbers",
        )
    return Tile(
        question,
        f"{risk['traced']:,} of {risk['members']:,} members are named.",
        (f"{risk['false']:,} of {risk['others']:,} others are named too; {rate} were allowed.",),
        "numbers",
    )


def _limit_tiles(limit: dict[str, Any] | None) -> list[Tile]:
    """What to change: how many means can be published."""
    if limit is None:
        return []
    word = "Publish at most" if limit["reached"] else "All that were tried:"
    return [
        Tile("What do I change?", f"{word} {limit['attributes']:,} means.", (limit["sentence"],), "figures")
    ]


def _number_blocks(document: dict[str, Any]) -> list[Block]:
    risk = document["risk"]
    rate = document["delta"]
    lines = [
        Line("targets above the threshold", (f"{document['traced']:,} of {document['target_people']:,}", "")),
        Line(
            f"targets that can be named at a false-discovery rate of {rate:g}",
            (f"{document['named_at_false_discovery_rate']:,}", ""),
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


def _risk_lines(risk: dict[str, Any]) -> Iterator[Line]:
    """The rates of an attack on people whose membership is known."""
    yield _share(f"members named (of {risk['members']:,})", risk["true_positive_rate"])
    yield _share(f"others named (of {risk['others']:,})", risk["false_positive_rate"])
    seen = [rate for rate in RATES if rate in risk["rates_seen"]]
    for rate in RATES:
        power = risk[f"power_at_{rate:g}"]
        if rate in seen:
            yield _share(f"power at {100 * rate:g} % false positives", power)
        elif rate == RATES[0] or RATES[0] in seen:
            few = f"with {risk['others']:,} others a rate of {100 * rate:g} % cannot be seen"
            yield _share(f"members above all others ({few})", power)
    auc, epsilon = risk["auc"], risk["epsilon"]
    yield Line("AUC", (f"{auc['value']:.3f}", f"{auc['low']:.3f} to {auc['high']:.3f}"))
    disproved = risk["epsilon_disproved"]
    yield Line(
        "ε that differential privacy would need to allow this (δ = 0)",
        (
            "no number" if epsilon["estimate"] is None else f"{epsilon['estimate']:.2f}",
            "no number" if disproved is None else f"{disproved:.2f} or more",
        ),
    )


def _share(name: str, one: dict[str, float]) -> Line:
    return Line(name, (percent(one["value"]), f"{percent(one['low'])} to {percent(one['high'])}"))


def _figure_blocks(document: dict[str, Any]) -> list[Block]:
    return [Drawn(laid_out(Figure.from_json(plain))) for plain in document["figures"]]


def _assumed_blocks(document: dict[str, Any]) -> list[Block]:
    independent = (
        f"Attributes are independent: the threshold “{document['threshold']}” promises nothing if they are "
        "correlated, as neighbouring positions of a genome are."
    )
    if document["threshold"] == "empirical":
        independent = (
            "Targets who were not in the data and the reference people are exchangeable; attributes may be "
            "correlated."
        )
    checked = document.get("exchangeability")
    unknown = (
        "It is not known here which targets were in the data: with --members the page shows how often the "
        "attack is right."
    )
    return [
        Bullets(
            [
                "They have the attributes of each target, the published means, and "
                f"{document['reference_people']:,} people of the same population who were not in the data.",
                independent,
                *([] if checked is None else [_population(checked)]),
                *([] if document["risk"] else [unknown]),
            ]
        )
    ]


def _population(checked: dict[str, Any]) -> str:
    """Whether reference people, means and targets are of one population, and who says so."""
    sentence = str(checked["sentence"])
    return f"{sentence} It was traced all the same." if _overruled(checked) else sentence


def _overruled(checked: dict[str, Any]) -> bool:
    return bool(checked["anyway"]) and checked["status"] != "alike"


def _repeat_blocks(document: dict[str, Any]) -> list[Block]:
    attack = f"{document['attack']}, threshold {document['threshold']}, δ = {document['delta']:g}"
    pairs = [
        ("command", document["command"]),
        ("attack", attack),
        ("seed", f"{document['seed']}"),
        ("versions", versions_of(document["tellall"], document["versions"])),
    ]
    return [Terms(pairs, code=("command",))]
