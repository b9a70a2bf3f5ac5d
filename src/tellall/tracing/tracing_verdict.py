"""The verdict on a tracing: a word, a sentence and the exit code."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellall.core.exits import DONE, UNSETTLED
from tellall.core.records import Record
from tellall.tracing.trace import Tracing
from tellall.tracing.tracing_risk import TracingRisk

__all__ = [
    "TracingVerdict",
    "chance_of_so_many",
    "judge_tracing",
]

_KINDS = {"traced": "fail", "partly traced": "review", "not traced": "pass", "inconclusive": "review"}
_NO_PROOF = "The failure of this attack does not prove that every attack would fail."
_KNOWN = "Whoever holds a person's attributes and the published means can tell that they took part."
_MISREAD = (
    "Nobody is traced, but more than a third of the informative sites look as if the published frequencies "
    "were the other allele's. With the right alleles people may be traced: check which allele they count."
)
_RARE = 0.01  # a rarer count of targets above the threshold is not put down to chance


@dataclass(frozen=True)
class TracingVerdict(Record):
    """What a tracing says, in a word and in a sentence.

    ``word`` is "traced", "partly traced", "not traced" or "inconclusive".
    """

    word: str
    sentence: str

    @property
    def kind(self) -> str:
        """How good or bad the verdict is: "pass", "review" or "fail"."""
        return _KINDS[self.word]

    @property
    def exit_code(self) -> int:
        """3 for an inconclusive tracing, otherwise 0."""
        return UNSETTLED if self.word == "inconclusive" else DONE

    def __str__(self) -> str:
        return f"{self.word.capitalize()}. {self.sentence}"


def judge_tracing(
    tracing: Tracing, risk: TracingRisk | None = None, *, doubtful: bool = False
) -> TracingVerdict:
    """Returns the verdict on a tracing; `doubtful` says that alleles may be misread.

    Notes
    -----
    Membership known: "traced" if the 95 % interval of the share of members named lies above that of the
    others named; "partly traced" if only the scores tell them apart (the interval of the AUC lies above 1/2).

    Membership unknown: "traced" if Benjamini and Hochberg's rule names somebody; "partly traced" if more
    targets pass the threshold than chance would allow, at 1 %. Under the empirical threshold that number is
    beta-binomial, not binomial, since targets share the reference people: it counts how many of T targets,
    exchangeable with R reference people, score above the k-th largest reference score. The other thresholds
    only bound each target's own chance, which leaves Markov's inequality.

    "Inconclusive" if the reference people are too few to name anybody or lack too many calls. Also if
    somebody is named, membership is unknown, and the reference people are of another population than the
    means or the targets, or nobody has checked that nor answers for it: outsiders are then named as well.
    Also if nobody is traced and either half of the targets or more are reference people, or the reading of
    alleles is doubtful: with the wrong alleles nobody would be traced, while a tracing that succeeds is no
    accident. Targets without a call are not counted among those not named.

    Examples
    --------
    >>> scores = np.arange(4.0)
    >>> tracing = Tracing(scores, 9.0, np.ones(4), scores > 9, "single", "paper", 0.05, 10, 1)
    >>> judge_tracing(tracing).word
    'not traced'
    """
    pool = tracing.reference_people
    lack = tracing.reference_lacking
    same = tracing.copies
    nameable = tracing.delta * (pool + 1)
    if tracing.rule == "empirical" and nameable < 1:
        are = "person is" if pool == 1 else "people are"
        return TracingVerdict(
            "inconclusive", f"{pool} reference {are} too few to name anybody at a rate of {tracing.delta:g}."
        )
    if lack and nameable < 1 + lack and not tracing.traced:
        return TracingVerdict(
            "inconclusive",
            f"{lack} of {pool} reference people lack nearly all calls, so nobody "
            f"can be named at a rate of {tracing.delta:g}; leave them out of the reference.",
        )
    word, sentence = _unknown(tracing) if risk is None else _known(risk)
    if word == "not traced" and doubtful:
        word, sentence = "inconclusive", _MISREAD
    elif word == "not traced" and 2 * same >= tracing.scores.size:
        word = "inconclusive"
        sentence = (
            f"{same:,} of {tracing.scores.size:,} targets are also reference people, or have a twin there, "
            "so they could not be traced even if they were in the data; leave them out of the reference."
        )
    alike = tracing.exchangeability
    if alike is not None and alike.doubtful:
        if risk is None and word in ("traced", "partly traced"):
            word, sentence = "inconclusive", f"{_above(tracing)} {alike.sentence}"
        elif alike.status == "different" and not doubtful:
            sentence += f" {alike.sentence}"
    if tracing.without_calls:
        have = "target has" if tracing.without_calls == 1 else "targets have"
        sentence += f" {tracing.without_calls:,} {have} no calls at all; the attack says nothing about them."
    return TracingVerdict(word, sentence)


def _known(risk: TracingRisk) -> tuple[str, str]:
    members, others = risk.true_positive_rate, risk.false_positive_rate
    counts = (
        f"Of {risk.members:,} people who were in the data {risk.traced:,} are named "
        f"({100 * members.value:.0f} in 100), and {risk.false:,} of {risk.others:,} who were not."
    )
    if members.low > others.high:
        return "traced", f"{counts} {_KNOWN}"
    if risk.auc.low > 0.5:
        return "partly traced", (
            f"{counts} Even so, members score higher: a member scores above another person "
            f"{100 * risk.auc.value:.0f} times in 100."
        )
    return "not traced", f"{counts} {_NO_PROOF}"


def _unknown(tracing: Tracing) -> tuple[str, str]:
    people, named = tracing.scores.size - tracing.without_calls, int(tracing.discoveries().sum())
    if named:
        return "traced", (
            f"{named:,} of {people:,} targets can be named as having been in the data, with at most "
            f"{100 * tracing.delta:g} in 100 of the names wrong on average. {_KNOWN}"
        )
    if not tracing.traced:
        return "not traced", f"None of the {people:,} targets scores above the threshold. {_NO_PROOF}"
    passed = f"{_above(tracing)} No one person can be named."
    if chance_of_so_many(tracing) < _RARE:
        return "partly traced", passed
    return "not traced", f"{passed} {_NO_PROOF}"


def _above(tracing: Tracing) -> str:
    people = tracing.scores.size - tracing.without_calls
    return (
        f"{tracing.traced:,} of {people:,} targets score above the threshold; about "
        f"{tracing.delta * people:.3g} would if nobody had been in the data."
    )


def chance_of_so_many(tracing: Tracing) -> float:
    """Returns the probability that this many targets pass the threshold if nobody was in the data."""
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
