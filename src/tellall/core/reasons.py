"""Reasons: why a verdict is no pass, or an answer is not settled, each by a stable code; and remarks.

Codes decide, and sentences only say: no part of tellall reads a sentence back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast

from tellall.core.records import WRITTEN, Meaning, Record

__all__ = ["KINDS", "UNSETTLED", "WORDS", "Kind", "Reason", "Remark", "worst_reason"]

WORDS = ("pass", "review", "fail")  # the words of verdicts, the worst last


@dataclass(frozen=True)
class Kind:
    """One kind of reason: the verdict that it gives, what decided in a few words, and what to look at.

    With "pass" it decides nothing, and is only ever a remark.
    """

    word: Literal["pass", "review", "fail"]
    decided: str
    look_at: str


def _unsettled(look_at: str) -> Kind:
    return Kind("review", "answer not settled", look_at)


_ANSWERS = {  # why an answer is not settled
    "contradictory": _unsettled("Is there a mistake in a value, or more noise than is declared?"),
    "not-converged": _unsettled("More rounds, or a larger proof effort."),
    "unknown-law": _unsettled("What was done to the values; declare the law of their errors."),
    "people-left-out": _unsettled("Attack the release as if the sample were everybody, and compare."),
    "gross-errors": _unsettled("How many values are altogether wrong, and why."),
    "selected-values": _unsettled(
        "Which values are hidden, and whether they were hidden before noise was added."
    ),
    "dependent-errors": _unsettled("How the errors of different values hang together."),
    "noise-not-as-declared": _unsettled("How large the noise really is; declare that."),
    "odd-residuals": _unsettled("Whether the declared law is that of the noise."),
    "nothing-published": _unsettled("Whether any published value says something about the secret."),
    "mostly-hidden": _unsettled("How common the secret is; give the prior if it is known."),
    "spread-unknown": _unsettled("How much people differ; give the prior if it is known."),
    "linearised": _unsettled("Whether the noise is small beside the published values."),
    "failed-rehearsal": _unsettled("How often guesses of each confidence were right."),
    "not-sampled": _unsettled("How often guesses of each confidence were right."),
    "uncalibrated": _unsettled("How often guesses of each confidence were right."),
    "not-settled": _unsettled("What the decoder says about its answer."),
    "not-attacked-everywhere": _unsettled("The areas that could not be attacked, and why."),
    "areas-not-settled": _unsettled("The areas whose answer is not settled, and why."),
}

UNSETTLED = tuple(_ANSWERS)

# Of the reasons about cells with one verdict the first weighs most.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "policy": Kind("fail", "policy", "Which statistic or protection the policy does not allow."),
        "advantage-above-limit": Kind(
            "fail",
            "advantage above the limit",
            "What each part of the release adds, and the cheapest change.",
        ),
        "people-proved": Kind(
            "fail", "people proved", "Which cells prove them: small ones, and differences of tables."
        ),
        "people-exposed": Kind(
            "fail", "people exposed", "Whom it exposes: groups of few people, and people unlike others."
        ),
        "small-cells-alike": Kind(
            "fail",
            "small cells of people all alike",
            "The small cells in which everybody has the same value.",
        ),
        "areas-above-limit": Kind("fail", "areas above the limit", "The areas that come first in the table."),
        "areas-exposed": Kind("fail", "people exposed", "The areas in which single people are given away."),
        "few-contributors": Kind(
            "fail",
            "cells of one or two contributors",
            "Merge these cells with others, or withhold them (PPercent).",
        ),
        "rival": Kind(
            "fail",
            "contributors known too well",
            "Withhold these cells and others from which they follow (PPercent, complementary), or merge "
            "them.",
        ),
        "withheld-in-vain": Kind(
            "fail",
            "cells withheld in vain",
            "Which totals the withheld cells follow from.",
        ),
        "extremes-of-small-cells": Kind(
            "fail",
            "minima and maxima of small cells",
            "Leave out minima and maxima, or merge the cells.",
        ),
        "public-tells-secret": Kind(
            "review",
            "a public column tells the secret",
            "Take the column out of `public`, or accept it (accepted_predictors).",
        ),
        "proofs-contradicted": Kind(
            "review",
            "proofs contradicted",
            "Whether the release is about these people and means what it says.",
        ),
        "limit-inside-interval": Kind(
            "review", "limit inside the interval", "Whether the upper end of the interval can be accepted."
        ),
        **_ANSWERS,
        "people-proved-as-group": Kind(
            "review",
            "people proved as a group",
            "Does it harm these people that all of them are known to have it?",
        ),
        "sure-guesses-unreliable": Kind(
            "review", "sure guesses unreliable", "How often guesses of each confidence were right."
        ),
        "below-baseline": Kind(
            "review",
            "attack below the baseline",
            "Whether the release is about these people, and what an ordinary guess knows beyond it.",
        ),
        "search-not-finished": Kind(
            "review", "search not finished", "Attack these releases with a larger proof effort."
        ),
        "areas-perhaps-above-limit": Kind(
            "review",
            "areas above the limit",
            "Whether the areas that come first are special, or this is luck.",
        ),
        "not-attacked": Kind("review", "not attacked", "What it may give away; nothing is known about it."),
        "areas-not-attacked": Kind(
            "review", "not attacked", "What the areas that were left out may give away."
        ),
        "cells-known-together": Kind(
            "review",
            "contributors known too well",
            "Which cells follow from other tables; withhold further ones.",
        ),
        "medians-of-small-cells": Kind(
            "review", "medians of small cells", "Can anybody tell whose number it is? Merge the cells."
        ),
        "error-not-known": Kind(
            "review",
            "cells judged as if exact",
            "What was done to the values, and how far that hides the largest contributors.",
        ),
        "p-percent-rule": Kind(
            "review",
            "cells that the p % rule withholds",
            "Is there a number that nobody can be below? If so, the plan can say so (cells.lower).",
        ),
        "dominance": Kind(
            "review",
            "dominated cells",
            "Can the others, or everybody, tell from it what the largest contributor has?",
        ),
        "all-the-least": Kind(
            "review",
            "cells where all have the least number",
            "Does it harm these people that all of them are known to have it?",
        ),
        "extremes": Kind(
            "review",
            "minima and maxima",
            "Can anybody tell whose it is? A policy can allow minima and maxima (cells.extremes).",
        ),
        "known-anyway": Kind(
            "pass", "known anyway", "Nothing: a baseline gives their value, with or without the release."
        ),
        "luck-explains-sure-guesses": Kind(
            "pass",
            "luck explains sure guesses",
            "Nothing: guesses as sure would be right as often of other people.",
        ),
    }
)
_PLACES = {code: place for place, code in enumerate(KINDS)}


@dataclass(frozen=True)
class Reason(Record):
    """Why something does not pass: a code that decides and a sentence that says it.

    Two reasons may be the same and say it differently.

    Examples
    --------
    >>> found = Reason("not-attacked", "Not attacked: means.")
    >>> found.word, found.decided
    ('review', 'not attacked')
    """

    code: Annotated[str, Meaning("One of the codes that the documents list.")]
    sentence: str = field(compare=False)
    release: Annotated[str, Meaning("What was published, by name; empty: all of it.")] = ""
    cells: Annotated[int, Meaning("How many published cells it is about; 0: none.", least=0)] = 0
    of: Annotated[int, Meaning("Of how many published cells.", least=0)] = 0

    @property
    def word(
        self,
    ) -> Annotated[Literal["review", "fail"], Meaning("The verdict that it gives."), WRITTEN]:
        """The verdict that it gives: "review" or "fail"."""
        return cast(Literal["review", "fail"], KINDS[self.code].word)

    @property
    def decided(self) -> str:
        """The reason in a few words."""
        return KINDS[self.code].decided

    @property
    def look_at(self) -> Annotated[str, Meaning("What to look at, or to do."), WRITTEN]:
        """What to look at, or to do."""
        return KINDS[self.code].look_at

    @property
    def rank(self) -> tuple[int, int]:
        """How much it weighs: first its verdict, then its place in the list of reasons."""
        return WORDS.index(self.word), -_PLACES[self.code]

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Reason:
        """The reason that `as_json` gave."""
        return cls(**{name: plain[name] for name in ("code", "sentence", "release", "cells", "of")})


@dataclass(frozen=True)
class Remark(Record):
    """What is worth knowing and decides nothing: a code, as reasons have, and a sentence."""

    code: Annotated[str, Meaning("One of the codes that the documents list.")]
    sentence: str = field(compare=False)
    release: Annotated[str, Meaning("What was published, by name; empty: all of it.")] = ""


def worst_reason(reasons: tuple[Reason, ...]) -> Reason | None:
    """The first of those that give the worst verdict; None if there are none."""
    return max(reasons, key=lambda one: WORDS.index(one.word), default=None)
