"""The page of a tracing and its data: a verdict, figures and numbers; counts and rates, never a person."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from tellall.attack.trace.risk import RATES, TracingRisk
from tellall.attack.trace.trace import Tracing
from tellall.attack.trace.verdict import TracingVerdict
from tellall.experiment.verdict import Answer
from tellall.report.html import fill, laid_out
from tellall.report.plot import Figure

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
    verdict = TracingVerdict(**document["verdict"])
    return fill(
        "trace.html",
        document=document,
        answer=Answer(verdict.kind, verdict.word.capitalize(), verdict.sentence),
        figures=[laid_out(Figure.from_json(plain)) for plain in document["figures"]],
    )
