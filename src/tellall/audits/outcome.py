"""Outcome: what an attack achieved on a set of releases, averaged over draws; no single person is in it.

Every part of an outcome is declared once, in `Outcome`: what it is, in which unit, and how those of several
draws, and of several areas, become one. What tables count is declared once too, in `Counted`. Means over
draws, sums over areas, JSON, its schema and the columns of tables follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, partial
from statistics import fmean
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from tellall.attack.reconstruct.attack import Reconstruction
from tellall.audits.measures.chance_intervals import CHANCE, Luck
from tellall.audits.measures.counts import Counts, People, add_counts, mean_count, mean_counts, sum_counts
from tellall.audits.measures.hits import Hits, Total
from tellall.audits.measures.proofs import Proofs
from tellall.audits.measures.reliability import Bin, add_bins, count_bins, mean_bins, merge_bins
from tellall.audits.measures.risk import LEVELS, Risk
from tellall.audits.measures.utility import ReaderLoss
from tellall.core.amounts import count_of, percent
from tellall.core.not_done import NotDone
from tellall.core.reasons import Reason
from tellall.core.records import (
    NOT_WRITTEN,
    UNKNOWN,
    WRITTEN,
    Meaning,
    Record,
    WrittenAs,
    plain,
    read,
    written_of,
)
from tellall.linalg.solvers.solution import Status
from tellall.privacy.bounds.decoding import Recovery, recovery

__all__ = [
    "ALPHAS",
    "CURVE",
    "CountColumn",
    "Counted",
    "CountedInAreas",
    "Foreseen",
    "Outcome",
    "Promised",
    "Told",
    "add_up",
    "columns",
    "counts_of",
]

CURVE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)  # confidences at which people are counted
ALPHAS = (0.01, 0.05, 0.1, 0.25)  # shares of the people that an attack may have wrong

_Value = TypeVar("_Value")
_Mark = TypeVar("_Mark")


@dataclass(frozen=True)
class _Draw:
    """One draw of what is published: the attack on it, and its risk."""

    attack: Reconstruction
    risk: Risk

    @property
    def named(self) -> tuple[int, int]:
        """How many are named, and how many rightly: with the second of two values, or any of several."""
        levels = self.risk.secret.levels
        if not levels:
            sure = self.risk.sure()
            return int(sure.sum()), int((sure & self.risk.right).sum())
        said = [self.risk.named(value=value) for value in (range(levels) if levels > 2 else (1,))]
        return sum(one for one, _ in said), sum(right for _, right in said)

    @property
    def exposed(self) -> dict[str, dict[str, int]]:
        """How many are exposed, by confidence and by value."""
        risk = self.risk
        return {f"{level:g}": risk._by_value(risk.exposed_people(level)) for level in LEVELS}

    @property
    def curve(self) -> tuple[tuple[float, int], ...]:
        """How many are exposed at each confidence."""
        return tuple((level, self.risk.exposed_at(level)) for level in CURVE)

    @property
    def bins(self) -> tuple[Bin, ...]:
        """How many guesses of each confidence were right; none for a real secret."""
        return count_bins(self.risk._confidence, self.risk.right) if self.risk.secret.levels else ()

    @property
    def holders(self) -> int:
        """How many have the secret; zero if it is not a bit."""
        return int((self.risk._truth == 1).sum()) if self.risk.secret.levels == 2 else 0

    @property
    def found(self) -> float:
        """The share of those who are guessed to have the secret; NaN if it is not a bit."""
        return self.risk.found() if self.risk.secret.levels == 2 else math.nan


@dataclass(frozen=True)
class _Drawn:
    """How a part is measured in one draw, and how those of several draws, or areas, become one.

    `add_up` says the latter itself where ``areas`` is None.
    """

    draw: Callable[[_Draw], Any]
    draws: Callable[[Sequence[Any]], Any]
    areas: Callable[[Sequence[Any]], Any] | None


@dataclass(frozen=True)
class _Given:
    """A part that is known without an attack, and how those of several areas become one."""

    areas: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class _OfAll:
    """A part of `Total`, which is made of all draws and areas at once."""


def _first(values: Sequence[_Value]) -> _Value:
    return values[0]


def _none(_: Sequence[object]) -> None:
    """Not known of several areas together."""


def _nothing(_: Sequence[object]) -> tuple[object, ...]:
    return ()


def _longest(values: Sequence[tuple[NotDone, ...]]) -> tuple[NotDone, ...]:
    return max(values, key=len)


def _sentences(skipped: Sequence[NotDone]) -> list[str]:
    return list(map(str, skipped))


def _unused(sentences: Sequence[str]) -> tuple[NotDone, ...]:
    """What documents say of values that gave no equation; they have no codes."""
    return tuple(NotDone("", sentence, "use") for sentence in sentences)


def _listed(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _wrong(values: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(one for one in values if one is not None)


def _by_level(
    merge: Callable[[Sequence[object]], Counts], values: Sequence[Mapping[str, object]]
) -> dict[str, Counts]:
    return {level: merge([one[level] for one in values]) for level in values[0]}


def _by_point(
    merge: Callable[[Sequence[object]], float], values: Sequence[tuple[tuple[float, float], ...]]
) -> tuple[tuple[float, float], ...]:
    return tuple((same[0][0], merge([count for _, count in same])) for same in zip(*values, strict=True))


def _worst_status(values: Sequence[Status]) -> Status:
    """The first that is not settled, with the codes of all; a plan has nothing to give."""
    troubled = [one for one in values if not one.settled]
    return replace((troubled or values)[0], why=_codes(troubled), ask="")


@dataclass(frozen=True)
class Foreseen(Record):
    """What a release's equations and noise lead one to expect before it is attacked."""

    equations: Annotated[int, Meaning("Published values that say something about the secret.", least=0)]
    people: Annotated[int, Meaning("How many people there are.", unit="people", least=0)]
    groups: Annotated[int, Meaning("How many groups of people the release tells apart.", least=0)]
    rank_cap: Annotated[
        int, Meaning("No more unknowns than this can be solved for, whatever the people.", least=0)
    ]
    rank: Annotated[int | None, Meaning("The rank with these people; null: not computed.")]
    accuracy: Annotated[float, Meaning("Predicted for least squares with the prior.")]
    limit: Annotated[
        float | None, Meaning("No decoder beats it on average over secrets drawn at random; null: not known.")
    ]
    rate: Annotated[float, Meaning("The rate of the secret behind these numbers.")]
    ignored: Annotated[tuple[str, ...], Meaning("Protections that these numbers leave out.")] = ()


@dataclass(frozen=True)
class Promised(Record):
    """The differential privacy that the protections declare."""

    epsilon: Annotated[float | None, Meaning("null: nothing is promised.", least=0)] = None
    delta: Annotated[float | None, Meaning(least=0)] = None
    relation: Annotated[str, Meaning("Which data sets are neighbours.")] = ""
    text: Annotated[str, Meaning("How it is reached.")] = ""
    advantage: Annotated[
        float | None,
        Meaning(
            "By how much any guess about one person can be right more often than without that person's row.",
            least=0,
            most=1,
        ),
    ] = None
    tpr: Annotated[
        float | None,
        Meaning(
            "The share of people in the data whom any attack can name, at 1 % of the others.", least=0, most=1
        ),
    ] = None

    @property
    def risk(self) -> str:
        """What an attacker could gain at most, in a sentence; empty if nothing is promised."""
        if self.advantage is None or self.tpr is None:
            return ""
        return (
            f"at most {percent(self.advantage)} more right about anybody than without that person's row; "
            f"naming 1 % of outsiders, at most {percent(self.tpr)} of those inside"
        )


def _foreseen_of_areas(known: Sequence[Foreseen | None]) -> Foreseen | None:
    parts = [one for one in known if one is not None]
    if len(parts) < len(known):
        return None
    people = sum(one.people for one in parts)

    def mean(part: Callable[[Foreseen], float]) -> float:
        return math.fsum(one.people * part(one) for one in parts) / people

    limits = [one.limit for one in parts if one.limit is not None]
    ranks = [one.rank for one in parts if one.rank is not None]
    return Foreseen(
        equations=sum(one.equations for one in parts),
        people=people,
        groups=sum(one.groups for one in parts),
        rank_cap=sum(one.rank_cap for one in parts),
        rank=sum(ranks) if len(ranks) == len(parts) else None,
        accuracy=mean(lambda one: one.accuracy),
        limit=mean(lambda one: one.limit or 0.0) if len(limits) == len(parts) else None,
        rate=mean(lambda one: one.rate),
        ignored=tuple(dict.fromkeys(name for one in parts for name in one.ignored)),
    )


def _promised_of_areas(known: Sequence[Promised | None]) -> Promised | None:
    """The weakest promise of any area, for a row that changes within its area."""
    parts = [one for one in known if one is not None]
    if not parts or any(one.epsilon is None for one in parts):
        return Promised() if parts else None
    weakest = max(parts, key=lambda one: (one.epsilon or 0.0, one.delta or 0.0))
    return replace(
        weakest,
        relation=f"{weakest.relation} within its area",
        advantage=_largest([one.advantage for one in parts]),
        tpr=_largest([one.tpr for one in parts]),
    )


def _largest(known: Sequence[float | None]) -> float | None:
    """The largest of these numbers; None if one of them is not known."""
    told = [one for one in known if one is not None]
    return max(told) if len(told) == len(known) else None


def _sum_luck(parts: Sequence[Luck]) -> Luck:
    """The sure guesses of all areas; luck explains them all only where it explains each area's."""
    added = {
        part.name: sum(getattr(one, part.name) for one in parts)
        for part in fields(Luck)
        if part.name != "chance"
    }
    return Luck(chance=min(one.chance for one in parts), **added)


def _loss_of_areas(known: Sequence[ReaderLoss | None]) -> ReaderLoss | None:
    return ReaderLoss.mean([one for one in known if one is not None])


@dataclass(frozen=True, kw_only=True)
class Outcome(Record):
    """What one decoder achieved on a set of releases: the record that verdicts, tables and pages read.

    Counts of people are means over draws, not rounded.
    """

    statistic: Annotated[str, Meaning("What was published, in words."), _Given(_first)]
    protection: Annotated[str, Meaning("What was done to it, in words."), _Given(_first)]
    people: Annotated[int, Meaning("How many people there are."), _OfAll()]
    draws: Annotated[int, Meaning("Draws of the noise; one if nothing is random.", least=1), _Given(max)]
    asked: Annotated[str, Meaning("The decoder that was asked for."), _Given(_first)] = "auto"
    decoder: Annotated[
        str,
        Meaning("The decoder that the attack used; those that “auto” chose."),
        _Drawn(lambda draw: draw.attack.decoder, _listed, _listed),
    ] = ""
    real: Annotated[
        bool,
        Meaning("The secret is a real number: accuracies are mean absolute errors, in its own unit."),
        _Drawn(lambda draw: not draw.risk.secret.levels, _first, _first),
    ] = False
    accuracy: Annotated[float, Meaning("The share of people guessed right."), _OfAll()]
    accuracy_interval: Annotated[
        tuple[float, float], Meaning("Its 95 % interval over people and draws."), _OfAll()
    ]
    baselines: Annotated[dict[str, float], Meaning("The share that each baseline guesses right."), _OfAll()]
    baseline: Annotated[str, Meaning("The strongest of them."), _OfAll()]
    advantage: Annotated[float, Meaning("Accuracy beyond the strongest baseline."), _OfAll()]
    interval: Annotated[
        tuple[float, float],
        Meaning("Of the advantage; its lower end is corrected for the attacks tried on the same releases."),
        _OfAll(),
    ]
    found: Annotated[
        float,
        Meaning("The share of those with the secret who are guessed to have it; null if it is not a bit."),
        UNKNOWN,
        _Drawn(lambda draw: draw.found, fmean, None),
    ]
    holders: Annotated[
        int,
        Meaning("How many people have the secret; zero if it is not a bit."),
        _Drawn(lambda draw: draw.holders, _first, sum),
    ] = 0
    named: Annotated[
        People,
        Meaning("How many are said with confidence 0.95 to have the secret (of several values, any)."),
        _Drawn(lambda draw: draw.named[0], mean_count, add_counts),
    ]
    named_right: Annotated[
        People, Meaning("How many of these do."), _Drawn(lambda draw: draw.named[1], mean_count, add_counts)
    ]
    proved_alone: Annotated[
        Counts,
        Meaning("The same in every solution, by more than one cell that shows all alike; by value."),
        _Drawn(lambda draw: draw.risk.proved_alone_by_value, mean_counts, sum_counts),
    ]
    proved_group: Annotated[
        Counts,
        Meaning("Proved by one cell of people who are all alike; by value."),
        _Drawn(lambda draw: draw.risk.proved_group_by_value, mean_counts, sum_counts),
    ]
    proved_few: Annotated[
        Counts,
        Meaning("Of those proved as a group, those in cells of too few people who are not known anyway."),
        _Drawn(lambda draw: draw.risk.proved_few_by_value, mean_counts, sum_counts),
    ] = field(default_factory=dict)
    learnt: Annotated[
        Counts,
        Meaning(
            "Proved alone or in a cell of too few, or exposed, by value: whose own record is given away."
        ),
        _Drawn(lambda draw: draw.risk.learnt_by_value, mean_counts, sum_counts),
    ]
    known_anyway: Annotated[
        Counts,
        Meaning("Proved alone or surely guessed to have what a baseline gave with 0.95 or more; by value."),
        _Drawn(lambda draw: draw.risk.known_by_value, mean_counts, sum_counts),
    ] = field(default_factory=dict)
    exposed: Annotated[
        dict[str, Counts],
        Meaning("People exposed, by confidence and by value."),
        _Drawn(lambda draw: draw.exposed, partial(_by_level, mean_counts), partial(_by_level, sum_counts)),
    ]
    luck: Annotated[
        Luck,
        Meaning("Sure guesses, right ones, and how many luck makes right, in the draw with most sure ones."),
        _Drawn(lambda draw: draw.risk.luck, lambda each: max(each, key=lambda one: one.sure), _sum_luck),
    ]
    contradicted: Annotated[
        bool,
        Meaning("A proof contradicts the truth: the release is about other people, and proves nothing."),
        _Drawn(lambda draw: draw.risk.contradicted, any, any),
    ] = False
    status: Annotated[
        Status,
        Meaning("How the decoder ended; of several draws the worst."),
        WrittenAs(str, str, Status),
        _Drawn(lambda draw: draw.attack.status, _worst_status, None),
    ]
    curve: Annotated[
        tuple[tuple[float, People], ...],
        Meaning("People exposed at each confidence."),
        _Drawn(lambda draw: draw.curve, partial(_by_point, mean_count), partial(_by_point, add_counts)),
    ] = ()
    skipped: Annotated[
        tuple[NotDone, ...],
        Meaning("Published values that gave no equation, and why."),
        WrittenAs(_sentences, tuple[str, ...], _unused),
        _Drawn(lambda draw: draw.attack.evidence.skipped, _longest, _longest),
    ] = ()
    wrong: Annotated[
        tuple[int, ...],
        Meaning("People guessed wrong in each draw; none for a real secret."),
        _Drawn(lambda draw: draw.risk.hamming if draw.risk.secret.levels else None, _wrong, _nothing),
    ] = ()
    loss: Annotated[
        ReaderLoss | None, Meaning("What the reader of the release loses."), _Given(_loss_of_areas)
    ] = None
    foreseen: Annotated[
        Foreseen | None,
        Meaning("What could be expected before the attack, if known."),
        _Given(_foreseen_of_areas),
    ] = None
    promised: Annotated[
        Promised | None,
        Meaning("What the protections declare; null: nobody asked."),
        _Given(_promised_of_areas),
    ] = None
    reliability: Annotated[
        tuple[Bin, ...],
        Meaning("How often guesses of each confidence were right; each of ten guesses or more."),
        WrittenAs(merge_bins),
        _Drawn(lambda draw: draw.bins, mean_bins, add_bins),
    ] = ()
    undecided: Annotated[
        People,
        Meaning("People for whom the search for proofs used up its effort before it could tell."),
        _Drawn(lambda draw: draw.attack.undecided, mean_count, add_counts),
    ] = 0
    loose: Annotated[
        People,
        Meaning("How many of these are where fewer values are published than there are unknowns."),
        _Drawn(lambda draw: draw.attack.loose, mean_count, add_counts),
    ] = 0
    beyond_fit: Annotated[
        tuple[float, float, float] | None,
        Meaning("Of a real secret: the advantage over a fit with everybody in it, and its interval."),
        _OfAll(),
    ] = None
    survives: Annotated[
        float | None,
        Meaning(
            "The share of equations that may be wrong without misleading ℓ1 decoding, certified.",
            least=0,
            most=1,
        ),
        _Given(_none),
    ] = None
    possible: Annotated[
        int | None,
        Meaning("How many secrets satisfy everything certain, in the first draw; null: many.", least=0),
        _Given(_none),
    ] = None
    clash: Annotated[
        tuple[str, ...],
        Meaning("Published values of the first draw that cannot all be true."),
        _Given(_nothing),
    ] = ()
    jointly: Annotated[
        tuple[str, ...],
        Meaning("What is unknown to the attacker, solved for together with the secret."),
        _Drawn(lambda draw: draw.attack.proof.jointly, _first, _nothing),
    ] = ()
    unknown: Annotated[
        str,
        Meaning("What the attacker does not know, and whether it was solved for or summed over."),
        _Drawn(lambda draw: draw.attack.proof.note, _first, lambda _: ""),
    ] = ""
    # what audits add up and join, and what findings say
    hits: Annotated[Hits | None, NOT_WRITTEN] = None
    proofs: Annotated[Proofs | None, NOT_WRITTEN] = field(default=None, compare=False)
    cells: Annotated[tuple[Reason, ...], NOT_WRITTEN, _Given(_nothing)] = ()

    def __post_init__(self, *written: Any) -> None:
        """Documents have the codes of the status apart from its text."""
        if codes := written_of(Outcome, written).get("status_codes"):
            said = str(self.status)
            word = f"not settled: {said}" if self.status.settled else said  # codes decide, and words only say
            object.__setattr__(self, "status", Status(word, why=codes))

    @property
    def status_codes(self) -> Annotated[tuple[str, ...], Meaning("Why the answer is not settled."), WRITTEN]:
        """The codes of everything that is wrong; none: it is settled."""
        return self.status.why

    @property
    def attack(self) -> Annotated[str, Meaning("The decoder, and the prior if it was informed."), WRITTEN]:
        """The decoder, and the prior that it started from if that was not one rate for everybody."""
        prior = self.asked.partition(", ")[2]
        return f"{self.decoder}, {prior}" if prior else self.decoder

    @property
    def proved(self) -> Annotated[People, Meaning("Proved, alone or as a group."), WRITTEN]:
        """How many people are proved, alone or as a group."""
        return add_counts([*self.proved_alone.values(), *self.proved_group.values()])

    @property
    def exposed_people(self) -> float:
        """How many people are exposed at confidence 0.95, whatever their secret."""
        return add_counts(self.exposed[f"{LEVELS[0]:g}"].values())

    @property
    def settled(self) -> bool:
        """Whether the decoder's answer can be relied on.

        Intervals of a real secret that may be off do not matter if no guess is sure.
        """
        idle = self.real and self.status.word == "uncalibrated" and not self.luck.sure
        return (self.status.settled or idle) and not self.contradicted

    @property
    def recovery(
        self,
    ) -> Annotated[tuple[Recovery, ...], Meaning("(alpha, beta) over the draws, for some alphas."), WRITTEN]:
        """(α, β): how often more than a share α of the people were guessed wrong, over the draws."""
        return tuple(recovery(self.wrong, self.people, alpha) for alpha in ALPHAS) if self.wrong else ()

    @property
    def beyond_public(self) -> float | None:
        """The upper end of the advantage over the better of majority and public columns; None: not known.

        Below zero an ordinary guess, without any release, is surely better than the attack.
        """
        return None if self.hits is None else self.hits.most_beyond(("majority", "public"))

    def fitted_as_well(self, limit: float) -> bool:
        """Whether an ordinary model, fitted to everybody, gains as much, or this gains surely less beyond it.

        Then what is gained is that a model is nearer to the people it was fitted to, which gives away no
        single person. False where that is not known.
        """
        beyond = None if self.hits is None else self.hits.beyond_fit
        return beyond is not None and (beyond[0] <= 0 or beyond[1] <= limit)

    @property
    def advantage_share(self) -> float:
        """The advantage as a share of people or of a real secret's error, in-sample fit left out."""
        if self.in_sample:
            return self.share_gained[0]
        return self.advantage / (self.baselines[self.baseline] or math.inf) if self.real else self.advantage

    @property
    def judged(self) -> tuple[float, float, float]:
        """The advantage and its interval as verdicts judge them: for real secrets without in-sample fit."""
        return self.beyond_fit or (self.advantage, *self.interval)

    @property
    def share_gained(self) -> tuple[float, float, float]:
        """The judged advantage and its interval as shares of people, or of a real secret's error."""
        usual = 1.0 if self.beyond_fit is None else self.baselines[self.baseline] or math.inf
        point, low, high = (each / usual for each in self.judged)
        return point, low, high

    @property
    def in_sample(
        self,
    ) -> Annotated[float, Meaning("The part of a real secret's advantage that is in-sample fit."), WRITTEN]:
        """The part of a real secret's advantage that in-sample fit explains."""
        beyond = self.advantage if self.beyond_fit is None else self.beyond_fit[0]
        return max(0.0, min(self.advantage, self.advantage - beyond))

    def without_proofs(self) -> Outcome:
        """The same outcome where a proof contradicts the truth, so that none counts."""
        nobody: Counts = dict.fromkeys(self.proved_alone, 0)
        return replace(
            self,
            proved_alone=nobody,
            proved_group=nobody,
            proved_few=nobody,
            learnt=self.exposed[f"{LEVELS[0]:g}"],
            contradicted=True,
            proofs=None if self.proofs is None else self.proofs.none(),
        )

    def to_plain(self) -> dict[str, Any]:
        """The outcome with what documents do not have, from which it can be made again."""
        return {
            **self.as_json(),
            "status": plain(asdict(self.status)),
            "skipped": plain([asdict(one) for one in self.skipped]),
            "reliability": plain(self.reliability),
            "hits": None if self.hits is None else plain(asdict(self.hits)),
            "proofs": None if self.proofs is None else self.proofs.to_plain(),
            "cells": plain(self.cells),
        }

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> Outcome:
        """The outcome that :meth:`to_plain` gave."""
        known = dict(given)
        hits, proofs, cells, skipped = (known.pop(name) for name in ("hits", "proofs", "cells", "skipped"))
        status = Status(**{**known["status"], "why": tuple(known["status"]["why"])})
        return replace(
            read(cls, {**known, "status": str(status)}, what="outcome"),
            status=status,
            hits=hits and Hits.from_json(hits),
            proofs=proofs and Proofs.from_plain(proofs),
            cells=tuple(map(Reason.from_json, cells)),
            skipped=tuple(NotDone(**one) for one in skipped),
        )

    @classmethod
    def of(
        cls,
        attacks: Sequence[Reconstruction],
        risks: Sequence[Risk],
        *,
        tried: int = 1,
        key: bytes | None = None,
        **given: Any,
    ) -> Outcome:
        """The mean over draws of an attack that has been scored; ``given`` is what is known without it.

        ``tried`` is how many decoders were tried on the same releases: the interval is corrected for it, and
        for the ways of guessing. With a random ``key``, who is proved is kept, shuffled by it, to be joined
        with other attacks.
        """
        draws = [_Draw(attack, risk) for attack, risk in zip(attacks, risks, strict=True)]
        first, real = risks[0], not risks[0].secret.levels
        guessed = {name: off == 0 for name, off in first._baseline_off.items()}
        fit = None if first._fitted_off is None else first._fitted_off == 0
        hits = None if real else Hits.of([risk.right for risk in risks], guessed, fit)
        chance = CHANCE / (tried * first.ways)
        whole = Total.of_reals(risks, chance) if hits is None else Total.of([hits], chance)
        measured = {name: part.draws([part.draw(one) for one in draws]) for name, part in _parts(_Drawn)}
        proofs = None
        if not real and key is not None:
            proved = [risk.spread(risk._proved, "") for risk in risks]
            proofs = Proofs.of(proved, first.spread(first._truth, 0), first.secret.levels, key)
        return cls(**given, **measured, **_of_all(whole), draws=len(draws), hits=hits, proofs=proofs)


def add_up(outcomes: Sequence[Outcome], areas: int, *, tried: int = 1) -> Outcome:
    """One attack on each of several areas as one outcome about all their people.

    Notes
    -----
    Parts are made as `Outcome` declares; accuracy, baselines and advantage are those of `Total`. If fewer
    than ``areas`` could be attacked, the status says so: what was not attacked everywhere is not settled.
    """
    whole = Total.of([one.hits for one in outcomes if one.hits is not None], CHANCE / tried)
    rules: dict[str, Callable[[Sequence[Any]], Any] | None] = {
        **{name: part.areas for name, part in _parts(_Given)},
        **{name: part.areas for name, part in _parts(_Drawn)},
    }
    added = {
        name: rule([getattr(one, name) for one in outcomes])
        for name, rule in rules.items()
        if rule is not None
    }
    found = math.fsum(outcome.found * outcome.holders for outcome in outcomes if outcome.holders)
    return Outcome(
        **added,
        **_of_all(whole),
        found=found / added["holders"] if added["holders"] else math.nan,
        status=_status_of_areas([one.status for one in outcomes], areas),
    )


def _of_all(whole: Total) -> dict[str, Any]:
    return {name: getattr(whole, name) for name, _ in _parts(_OfAll)}


def _parts(kind: type[_Mark]) -> tuple[tuple[str, _Mark], ...]:
    """The parts of an outcome that are declared to be of a kind, with what is declared."""
    return tuple((name, one) for name, said in _declared(Outcome) for one in said if isinstance(one, kind))


@cache
def _declared(record: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """What is declared with each field of a record."""
    hints = get_type_hints(record, include_extras=True)
    return tuple((one.name, getattr(hints[one.name], "__metadata__", ())) for one in fields(record))


# What tables count


@dataclass(frozen=True)
class CountColumn:
    """How a table counts: what it calls the column, and the number of an outcome.

    Attributes
    ----------
    head
        What pages and terminals call it.
    number
        The number of an outcome; it is given how people counted by value are counted: those with a sensitive
        value.
    real
        Whether it is counted where the secret is a number.
    """

    head: str
    number: Callable[[Outcome, Callable[[Counts], float]], float]
    real: bool = False


@dataclass(frozen=True, kw_only=True)
class Counted(Record):
    """What the rows of tables count."""

    proved: Annotated[
        People,
        Meaning("People proved, alone or as a group."),
        CountColumn("proved", lambda found, _: found.proved),
    ]
    exposed: Annotated[
        People,
        Meaning("People exposed at confidence 0.95."),
        CountColumn("exposed", lambda found, _: found.exposed_people, real=True),
    ]
    learnt: Annotated[
        People,
        Meaning("Proved alone or exposed, with a sensitive value."),
        CountColumn("sensitive", lambda found, sensitive: sensitive(found.learnt)),
    ]


Told = Annotated[
    People | Literal["under 5", "withheld"],
    Meaning("People of an area, as far as that and the numbers of other areas name nobody."),
]


@dataclass(frozen=True, kw_only=True)
class CountedInAreas(Record):
    """What the rows of tables of areas count: parts of `Counted`, each told as far as it names nobody."""

    proved: Told
    exposed: Told


def columns(*, areas: bool = False, real: bool = False) -> dict[str, CountColumn]:
    """What tables count, by the name that documents have for it; of ``areas``, or of a ``real`` secret."""
    known = {name: one for name, said in _declared(Counted) for one in said if isinstance(one, CountColumn)}
    names = [one.name for one in fields(CountedInAreas)] if areas else list(known)
    return {name: known[name] for name in names if known[name].real or not real}


def counts_of(found: Outcome, sensitive: Callable[[Counts], float], *, areas: bool = False) -> dict[str, Any]:
    """What a table counts of an outcome, by the names that documents have for it."""
    return {name: column.number(found, sensitive) for name, column in columns(areas=areas).items()}


def _codes(troubled: Sequence[Status]) -> tuple[str, ...]:
    """The codes of everything that is wrong, those of the first first."""
    return tuple(dict.fromkeys(code for one in troubled for code in one.why))


def _status_of_areas(known: Sequence[Status], areas: int) -> Status:
    troubled = [one for one in known if not one.settled]
    if len(known) < areas:
        word = f"not attacked in {areas - len(known):,} of {count_of(areas, 'area')}"
        return Status(word, why=("not-attacked-everywhere", *_codes(troubled)))
    if troubled:
        first = troubled[0]
        word = f"in {len(troubled):,} of {count_of(areas, 'area')} not settled; the first: {first.word}"
        return Status(word, first.advice, ("areas-not-settled", *_codes(troubled)))
    return Status("solved" if all(one.word == "solved" for one in known) else "trusted")
