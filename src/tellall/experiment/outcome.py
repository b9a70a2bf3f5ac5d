"""Outcome: what an attack achieved on a set of releases, averaged over draws; no single person is in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import fmean
from typing import Any

from tellall.algebra.solvers.base import Status
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.core.amounts import count_of
from tellall.core.reasons import Reason
from tellall.experiment.measures.counts import Counts, add_counts, mean_count, mean_counts, sum_counts
from tellall.experiment.measures.hits import Hits, Total
from tellall.experiment.measures.intervals import CHANCE, Luck
from tellall.experiment.measures.proofs import Proofs
from tellall.experiment.measures.reliability import Bin, add_bins, count_bins, mean_bins, merge_bins
from tellall.experiment.measures.risk import LEVELS, Risk
from tellall.experiment.measures.utility import ReaderLoss
from tellall.promise.bounds.decoding import Recovery, recovery

__all__ = ["ALPHAS", "CURVE", "Foreseen", "Outcome", "Promised", "add_up"]

CURVE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)  # confidences at which people are counted
ALPHAS = (0.01, 0.05, 0.1, 0.25)  # shares of the people that an attack may have wrong


@dataclass(frozen=True)
class Foreseen:
    """What the equations and the noise of a release let one expect before it is attacked.

    Attributes
    ----------
    equations, people, groups
        Published values that say something about the secret, people, and groups of people that can be told
        apart.
    rank_cap, rank
        The most unknowns that can be solved for, whatever the people; and the rank with these people.
    accuracy
        Predicted for least squares with the prior.
    limit
        What no decoder beats on average over random secrets; None if that is not known.
    rate
        The rate of the secret behind the last two.
    ignored
        Protections that these numbers leave out.
    """

    equations: int
    people: int
    groups: int
    rank_cap: int
    rank: int | None
    accuracy: float
    limit: float | None
    rate: float
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Promised:
    """The differential privacy that the protections promise; ``epsilon`` None: nothing."""

    epsilon: float | None = None
    delta: float | None = None
    relation: str = ""
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one decoder achieved on a set of releases: the record that verdicts, tables and pages read.

    Counts of people are means over draws, not rounded.

    Attributes
    ----------
    statistic, protection
        What was published, in words.
    asked, decoder
        The decoder that was asked for, and those that "auto" chose.
    real
        Whether the secret is a real number. Then ``accuracy`` and ``baselines`` are mean absolute errors, and
        the advantage is in the secret's own unit.
    accuracy, accuracy_interval
        The share of people guessed right, with its 95 % interval over people and draws.
    baselines, baseline
        The share that each baseline guesses right, and the strongest.
    advantage, interval
        Accuracy beyond the strongest baseline, with its interval. Where several decoders were tried on the
        same releases, the interval is corrected for their number.
    found
        The share of those with the secret who are guessed to have it; NaN if it is not a bit.
    holders
        How many people have the secret; zero if it is not a bit.
    named, named_right
        How many are said with confidence 0.95 to have the secret (of several values, any), and how many do.
    proved_alone, proved_group
        People whose secret is the same in every solution, by value: by one published cell that shows them all
        alike (group), or by more than that (alone).
    learnt
        People proved alone or exposed, by value: those whose own record the release gives away.
    exposed
        People exposed, by confidence and by value.
    luck
        How many guesses were sure, right, and expected to be right by luck, in the draw with the most sure
        ones.
    beyond_fit
        For a real secret: the advantage over an ordinary fit that has everybody in it, and the ends of its
        interval. The rest of the advantage is in-sample fit, which says something about a model and not about
        people.
    undecided
        People for whom the search for proofs used up its effort before it could tell.
    loose
        How many of these are where fewer values are published than there are unknowns.
    contradicted
        Whether a proof contradicts the truth: the release is about other people. It then proves nothing.
    status
        How the decoder ended; of several draws the worst, with the codes of what is wrong in any of them.
    curve
        People exposed at each confidence: pairs.
    skipped
        Published values that gave no equation, and why.
    wrong
        How many people were guessed wrong in each draw; empty for a real secret.
    loss
        What the reader of the release loses.
    reliability
        How many guesses had each confidence, and how many of those were right; none for a real secret.
        Documents have neighbouring confidences merged until each has ten guesses.
    survives
        The share of the equations that may be wrong, whichever they are, without misleading ℓ1 decoding
        ("lp"), certified; None for other decoders or if not known.
    possible
        How many secrets satisfy all that is certain, in the first draw; None if there are many.
    clash
        Published values of the first draw that cannot all be true, in words.
    jointly, unknown
        What the attacker does not know, solved for together with the secret; and, in words, what they do not
        know and whether it was solved for or summed over.
    hits, proofs
        What audits add up and join; no part of documents.
    cells
        Why cells of numbers do not pass by arithmetic alone, whatever the attack found.
    """

    statistic: str
    protection: str
    people: int
    draws: int
    asked: str
    decoder: str
    real: bool
    accuracy: float
    accuracy_interval: tuple[float, float]
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]
    found: float
    holders: int
    named: float
    named_right: float
    proved_alone: Counts
    proved_group: Counts
    learnt: Counts
    exposed: dict[str, Counts]
    luck: Luck
    contradicted: bool
    status: Status
    curve: tuple[tuple[float, float], ...] = ()
    skipped: tuple[str, ...] = ()
    wrong: tuple[int, ...] = ()
    loss: ReaderLoss | None = None
    foreseen: Foreseen | None = None
    promised: Promised | None = None
    reliability: tuple[Bin, ...] = ()
    hits: Hits | None = None
    undecided: float = 0
    loose: float = 0
    beyond_fit: tuple[float, float, float] | None = None
    survives: float | None = None
    possible: int | None = None
    clash: tuple[str, ...] = ()
    jointly: tuple[str, ...] = ()
    unknown: str = ""
    proofs: Proofs | None = field(default=None, compare=False)
    cells: tuple[Reason, ...] = ()

    @property
    def proved(self) -> float:
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
    def recovery(self) -> tuple[Recovery, ...]:
        """(α, β): how often more than a share α of the people were guessed wrong, over the draws."""
        return tuple(recovery(self.wrong, self.people, alpha) for alpha in ALPHAS) if self.wrong else ()

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
    def in_sample(self) -> float:
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
            learnt=self.exposed[f"{LEVELS[0]:g}"],
            contradicted=True,
            proofs=None if self.proofs is None else self.proofs.none(),
        )

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain data; hits, proofs and cells are not part of it."""
        plain = asdict(replace(self, hits=None, proofs=None))
        del plain["hits"], plain["proofs"], plain["cells"]  # findings have their cells
        plain["status"], plain["status_codes"] = str(self.status), self.status.why
        plain["reliability"] = [asdict(one) for one in merge_bins(self.reliability)]
        plain["proved"], plain["in_sample"] = self.proved, self.in_sample
        plain["recovery"] = [one.as_json() for one in self.recovery]
        listed: dict[str, Any] = _listed(plain)
        return listed

    def to_plain(self) -> dict[str, Any]:
        """The outcome with its hits, proofs and cells, from which it can be made again."""
        return {
            **self.as_json(),
            "status": _listed(asdict(self.status)),
            "reliability": [asdict(one) for one in self.reliability],
            "hits": None if self.hits is None else _listed(asdict(self.hits)),
            "proofs": None if self.proofs is None else self.proofs.to_plain(),
            "cells": [one.as_json() for one in self.cells],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Outcome:
        """The outcome that :meth:`to_plain` gave."""
        known = {one.name: plain[one.name] for one in fields(cls)}
        foreseen, hits, proofs = known["foreseen"], known["hits"], known["proofs"]
        known |= {
            name: tuple(known[name])
            for name in ("accuracy_interval", "interval", "skipped", "wrong", "clash", "jointly")
        }
        known["beyond_fit"] = known["beyond_fit"] and tuple(known["beyond_fit"])
        return cls(
            **{
                **known,
                "found": math.nan if known["found"] is None else known["found"],
                "curve": tuple((level, count) for level, count in known["curve"]),
                "luck": Luck(**known["luck"]),
                "loss": known["loss"] and ReaderLoss.from_plain(known["loss"]),
                "foreseen": foreseen and Foreseen(**{**foreseen, "ignored": tuple(foreseen["ignored"])}),
                "promised": known["promised"] and Promised(**known["promised"]),
                "reliability": tuple(Bin(**one) for one in known["reliability"]),
                "hits": hits and Hits.from_json(hits),
                "proofs": proofs and Proofs.from_plain(proofs),
                "cells": tuple(map(Reason.from_json, known["cells"])),
                "status": Status(**{**known["status"], "why": tuple(known["status"]["why"])}),
            }
        )

    @classmethod
    def of(
        cls,
        attacks: Sequence[Reconstruction],
        risks: Sequence[Risk],
        *,
        asked: str,
        statistic: str,
        protection: str,
        tried: int = 1,
        loss: ReaderLoss | None = None,
        foreseen: Foreseen | None = None,
        promised: Promised | None = None,
        survives: float | None = None,
        possible: int | None = None,
        clash: tuple[str, ...] = (),
        cells: tuple[Reason, ...] = (),
        key: bytes | None = None,
    ) -> Outcome:
        """The mean over draws of an attack that has been scored.

        ``tried`` is how many decoders were tried on the same releases: the interval is corrected for it, and
        for the ways of guessing. With a random ``key``, who is proved is kept, shuffled by it, to be joined
        with other attacks.
        """
        first, real = risks[0], not risks[0].secret.levels
        guessed = {name: off == 0 for name, off in first._baseline_off.items()}
        hits = None if real else Hits.of([risk.right for risk in risks], guessed)
        chance = CHANCE / (tried * first.ways)
        whole = Total.of_reals(risks, chance) if hits is None else Total.of([hits], chance)
        troubled = [attack.status for attack in attacks if not attack.status.settled]
        status = troubled[0] if troubled else attacks[0].status
        named = [_named(risk) for risk in risks]
        return cls(
            statistic=statistic,
            protection=protection,
            people=first.n,
            draws=len(risks),
            asked=asked,
            decoder=", ".join(dict.fromkeys(attack.decoder for attack in attacks)),
            real=real,
            accuracy=whole.accuracy,
            accuracy_interval=whole.accuracy_interval,
            baselines=whole.baselines,
            baseline=whole.baseline,
            advantage=whole.advantage,
            interval=whole.interval,
            found=fmean(risk.found() for risk in risks) if first.secret.levels == 2 else math.nan,
            holders=int((first._truth == 1).sum()) if first.secret.levels == 2 else 0,
            named=mean_count([one[0] for one in named]),
            named_right=mean_count([one[1] for one in named]),
            proved_alone=mean_counts([risk.proved_alone_by_value for risk in risks]),
            proved_group=mean_counts([risk.proved_group_by_value for risk in risks]),
            learnt=mean_counts([risk.learnt_by_value for risk in risks]),
            exposed={
                f"{level:g}": mean_counts([risk._by_value(risk.exposed_people(level)) for risk in risks])
                for level in LEVELS
            },
            luck=max((risk.luck for risk in risks), key=lambda one: one.sure),
            contradicted=any(risk.contradicted for risk in risks),
            status=replace(status, why=_codes(troubled), ask=""),  # a plan has nothing to give
            curve=tuple((level, mean_count([risk.exposed_at(level) for risk in risks])) for level in CURVE),
            skipped=max((attack.evidence.skipped for attack in attacks), key=len),
            wrong=() if real else tuple(risk.hamming for risk in risks),
            loss=loss,
            foreseen=foreseen,
            promised=promised,
            reliability=()
            if real
            else mean_bins([count_bins(risk._confidence, risk.right) for risk in risks]),
            hits=hits,
            undecided=mean_count([attack.undecided for attack in attacks]),
            loose=mean_count([attack.loose for attack in attacks]),
            survives=survives,
            jointly=attacks[0].proof.jointly,
            unknown=attacks[0].proof.note,
            possible=possible,
            clash=clash,
            cells=cells,
            beyond_fit=whole.beyond_fit,
            proofs=None
            if real or key is None
            else Proofs.of(
                [risk.spread(risk._proved, "") for risk in risks],
                first.spread(first._truth, 0),
                first.secret.levels,
                key,
            ),
        )


def add_up(outcomes: Sequence[Outcome], areas: int, *, tried: int = 1) -> Outcome:
    """One attack on each of several areas as one outcome about all their people.

    Notes
    -----
    Counts add up; accuracy, baselines and advantage are those of `Total`. If fewer than ``areas`` could be
    attacked, the status says so: what was not attacked everywhere is not settled.
    """
    whole = Total.of([one.hits for one in outcomes if one.hits is not None], CHANCE / tried)
    holders = sum(outcome.holders for outcome in outcomes)
    found = math.fsum(outcome.found * outcome.holders for outcome in outcomes if outcome.holders)
    return Outcome(
        statistic=outcomes[0].statistic,
        protection=outcomes[0].protection,
        people=whole.people,
        draws=max(outcome.draws for outcome in outcomes),
        asked=outcomes[0].asked,
        decoder=", ".join(dict.fromkeys(outcome.decoder for outcome in outcomes)),
        real=False,
        accuracy=whole.accuracy,
        accuracy_interval=whole.accuracy_interval,
        baselines=whole.baselines,
        baseline=whole.baseline,
        advantage=whole.advantage,
        interval=whole.interval,
        found=found / holders if holders else math.nan,
        holders=holders,
        named=add_counts(outcome.named for outcome in outcomes),
        named_right=add_counts(outcome.named_right for outcome in outcomes),
        proved_alone=sum_counts([outcome.proved_alone for outcome in outcomes]),
        proved_group=sum_counts([outcome.proved_group for outcome in outcomes]),
        learnt=sum_counts([outcome.learnt for outcome in outcomes]),
        exposed={
            level: sum_counts([outcome.exposed[level] for outcome in outcomes])
            for level in outcomes[0].exposed
        },
        luck=_sum_luck([outcome.luck for outcome in outcomes]),
        contradicted=any(outcome.contradicted for outcome in outcomes),
        status=_status_of_areas(outcomes, areas),
        curve=tuple(
            (level, add_counts(outcome.curve[index][1] for outcome in outcomes))
            for index, (level, _) in enumerate(outcomes[0].curve)
        ),
        skipped=max((outcome.skipped for outcome in outcomes), key=len),
        loss=ReaderLoss.mean([outcome.loss for outcome in outcomes if outcome.loss is not None]),
        foreseen=_foreseen_of_areas([outcome.foreseen for outcome in outcomes]),
        promised=_promised_of_areas([outcome.promised for outcome in outcomes]),
        reliability=add_bins([outcome.reliability for outcome in outcomes]),
        undecided=add_counts(outcome.undecided for outcome in outcomes),
        loose=add_counts(outcome.loose for outcome in outcomes),
    )


def _named(risk: Risk) -> tuple[int, int]:
    """How many are named, and how many rightly: with the second of two values, or any of several."""
    levels = risk.secret.levels
    if not levels:
        sure = risk.sure()
        return int(sure.sum()), int((sure & risk.right).sum())
    said = [risk.named(value=value) for value in (range(levels) if levels > 2 else (1,))]
    return sum(one for one, _ in said), sum(right for _, right in said)


def _codes(troubled: Sequence[Status]) -> tuple[str, ...]:
    """The codes of everything that is wrong, those of the first first."""
    return tuple(dict.fromkeys(code for one in troubled for code in one.why))


def _status_of_areas(outcomes: Sequence[Outcome], areas: int) -> Status:
    troubled = [outcome.status for outcome in outcomes if not outcome.status.settled]
    if len(outcomes) < areas:
        word = f"not attacked in {areas - len(outcomes):,} of {count_of(areas, 'area')}"
        return Status(word, why=("not-attacked-everywhere", *_codes(troubled)))
    if troubled:
        first = troubled[0]
        word = f"in {len(troubled):,} of {count_of(areas, 'area')} not settled; the first: {first.word}"
        return Status(word, first.advice, ("areas-not-settled", *_codes(troubled)))
    return Status("solved" if all(one.status.word == "solved" for one in outcomes) else "trusted")


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
    return replace(weakest, relation=f"{weakest.relation} within its area")


def _sum_luck(parts: Sequence[Luck]) -> Luck:
    """The sure guesses of all areas; luck explains them all only where it explains each area's."""
    sure, right, expected = (
        sum(getattr(one, name) for one in parts) for name in ("sure", "right", "expected")
    )
    return Luck(sure, right, expected, min(one.chance for one in parts))


def _listed(value: Any) -> Any:
    """Plain data with lists for tuples, and None for what is not a number."""
    if isinstance(value, Mapping):
        return {name: _listed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
