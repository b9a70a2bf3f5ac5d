"""The page of a tracing: a verdict in plain words, figures, numbers; counts and rates, never a person."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from tellall.attack.trace.risk import RATES, TracingRisk
from tellall.attack.trace.trace import Tracing
from tellall.experiment.verdict import Answer, Verdict
from tellall.report.html import fill, laid_out
from tellall.report.plot import Figure

__all__ = [
    "judge_tracing",
    "render",
    "risk_summary",
]

_CLASSES = {"traced": "fail", "partly traced": "review", "not traced": "pass", "inconclusive": "review"}
_NO_PROOF = "That this attack fails does not prove that every attack would."
_KNOWN = "Whoever holds a person's attributes and the published means can tell that they took part."
_MISREAD = (
    "Nobody is traced, but more than a third of the sites that tell look as if the published frequencies "
    "were the other allele's: with the alleles right people may be traced. Check which allele they count."
)
_RARE = 0.01  # a count above chance that is rarer than this is no accident


def judge_tracing(tracing: Tracing, risk: TracingRisk | None = None, *, doubtful: bool = False) -> Verdict:
    """What the tracing says, in a word and a sentence.

    Notes
    -----
    Membership known: "traced" where the 95 % interval of the members named lies above that of the others
    named; "partly traced" where only the scores tell them apart (the interval of the AUC lies above 1/2).
    Not known: "traced" where Benjamini and Hochberg's rule names somebody; "partly traced" where more pass
    the threshold than chance would let, at 1 %. Targets share the reference people, so their number is
    beta-binomial, not binomial, for the empirical threshold: of T targets exchangeable with R reference
    people, those above the k-th largest reference score. The other thresholds promise each target's chance
    alone, and Markov's inequality is what is left.
    "Inconclusive" where the reference people are too few to name anybody, or lack too many calls, where
    nobody is traced while half of the targets or more stand among the reference people, and where nobody is
    traced with alleles whose reading is doubtful: thresholds hold for any means, so that to be
    traced is no accident, but with the wrong alleles nobody would be. Targets who have no call are not
    counted among those not named.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.arange(4.0)
    >>> tracing = Tracing(scores, 9.0, np.ones(4), scores > 9, "single", "paper", 0.05, 10, 1)
    >>> judge_tracing(tracing).word
    'not traced'
    """
    if tracing.rule == "empirical" and tracing.delta * (tracing.reference_people + 1) < 1:
        return Verdict(
            "inconclusive",
            f"{tracing.reference_people} reference {_are(tracing.reference_people)} too few to name anybody "
            f"at a rate of {tracing.delta:g}.",
        )
    lack = tracing.reference_lacking
    if lack and tracing.delta * (tracing.reference_people + 1) < 1 + lack and not tracing.traced:
        return Verdict(
            "inconclusive",
            f"{lack} of {tracing.reference_people} reference people lack nearly all calls, so that nobody "
            f"can be named at a rate of {tracing.delta:g}; leave them out of the reference.",
        )
    found = _unknown(tracing) if risk is None else _known(risk)
    if doubtful and found.word == "not traced":
        found = Verdict("inconclusive", _MISREAD)
    same = tracing.copies
    if found.word == "not traced" and 2 * same >= tracing.scores.size:
        found = Verdict(
            "inconclusive",
            f"{same:,} of {tracing.scores.size:,} targets also stand among the reference people, or have a "
            "twin there, so that they could not be traced if they were in the data; leave them out of the "
            "reference.",
        )
    if not tracing.without_calls:
        return found
    have = "target has" if tracing.without_calls == 1 else "targets have"
    more = f"{tracing.without_calls:,} {have} no call at all, and nothing is said of them."
    return Verdict(found.word, f"{found.sentence} {more}")


def _are(people: int) -> str:
    return "person is" if people == 1 else "people are"


def _known(risk: TracingRisk) -> Verdict:
    members, others = risk.true_positive_rate, risk.false_positive_rate
    told = (
        f"Of {risk.members:,} people who were in the data {risk.traced:,} are named "
        f"({100 * members.value:.0f} in 100), and {risk.false:,} of {risk.others:,} who were not."
    )
    if members.low > others.high:
        return Verdict("traced", f"{told} {_KNOWN}")
    if risk.auc.low > 0.5:
        return Verdict(
            "partly traced",
            f"{told} The scores of members are the higher all the same: a member scores above another person "
            f"{100 * risk.auc.value:.0f} times in 100.",
        )
    return Verdict("not traced", f"{told} {_NO_PROOF}")


def _unknown(tracing: Tracing) -> Verdict:
    people, named = tracing.scores.size - tracing.without_calls, int(tracing.discoveries().sum())
    chance = tracing.delta * people
    if named:
        return Verdict(
            "traced",
            f"{named:,} of {people:,} targets can be named as having been in the data, with at most "
            f"{100 * tracing.delta:g} in 100 of the names wrong on average. {_KNOWN}",
        )
    if not tracing.traced:
        return Verdict(
            "not traced", f"None of the {people:,} targets scores above the threshold. {_NO_PROOF}"
        )
    passed = (
        f"{tracing.traced:,} of {people:,} targets score above the threshold, where about {chance:.3g} would "
        "if nobody had been in the data; nobody can be named singly."
    )
    if _chance_of_so_many(tracing) < _RARE:
        return Verdict("partly traced", passed)
    return Verdict("not traced", f"{passed} {_NO_PROOF}")


def _chance_of_so_many(tracing: Tracing) -> float:
    """How likely so many targets pass the threshold if nobody was in the data."""
    people, pool = tracing.scores.size, tracing.reference_people
    if tracing.rule != "empirical":
        return min(1.0, tracing.delta * people / tracing.traced)
    from scipy.special import betaln

    rank = math.floor(tracing.delta * (pool + 1) + 1e-9)
    count = np.arange(tracing.traced, people + 1)
    others = people - count
    chance = betaln(count + rank, others + pool + 1 - rank) - betaln(rank, pool + 1 - rank)
    choices = -betaln(count + 1, others + 1) - math.log(people + 1)
    return float(np.exp(chance + choices).sum())


def _finite(number: float) -> float | None:
    """The number, None for an infinite one."""
    return number if math.isfinite(number) else None


def risk_summary(risk: TracingRisk, seed: int) -> dict[str, Any]:
    """A tracing's risk as plain data.

    Scores are left out: who knows a person's score could read from the curve at that score whether they are
    a member.
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
    """The page of a tracing's document."""
    word = document["verdict"]["word"]
    return fill(
        "trace.html",
        document=document,
        answer=Answer(_CLASSES[word], word.capitalize(), document["verdict"]["sentence"]),
        figures=[laid_out(Figure.from_json(plain)) for plain in document["figures"]],
    )
