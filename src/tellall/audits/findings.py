"""Findings: what the attacks on one set of releases found, or why there were none; those of areas too."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from tellall.audits.measures.counts import Counts, People
from tellall.audits.measures.disclosure import told_of_areas
from tellall.audits.measures.proofs import Proofs
from tellall.audits.measures.reliability import Bin, merge_bins
from tellall.audits.measures.revealing_cells import all_reasons
from tellall.audits.outcome import Counted, CountedInAreas, Outcome, Told, columns, counts_of
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import strongest
from tellall.audits.verdict import JudgedArea, Limits, Verdict, Word, area_name, judge, with_cells
from tellall.core.amounts import count_of
from tellall.core.not_done import NotDone
from tellall.core.reasons import Reason
from tellall.core.records import ALWAYS, Meaning, Record, same_fields
from tellall.core.text import no_formula

__all__ = [
    "AreaDocument",
    "AreaFinding",
    "AreaFindings",
    "AreasDocument",
    "DecoderFound",
    "Described",
    "Finding",
    "FindingDocument",
    "Job",
    "Skipped",
    "area_csv",
    "area_table",
    "from_plain",
    "not_tested_in_areas",
    "to_plain",
    "void",
]

_USUAL = Limits(0.05)
SAME_SECRET = "everybody has the same secret: whoever knows the most common value knows all"
_COUNTED = tuple(columns(areas=True))
_SCORES = ("accuracy", "baseline", "baseline_accuracy", "advantage", "low", "high")
_NUMBERS = (*_SCORES, *_COUNTED, "named", "named_right", "status")
_GIVEN_AWAY = (*_COUNTED, "named_right")


@dataclass(frozen=True)
class Job:
    """One set of releases that an audit attacks.

    Attributes
    ----------
    role
        "alone" (a release of the plan), "set" (several), "together" (all that can be attacked), "step" (a
        release with only its first protections, to see what each buys).
    members
        Which releases, each with how many of its protections.
    """

    role: Role
    name: str
    members: tuple[tuple[int, int], ...]

    def told(self, plan: Plan) -> dict[str, object]:
        """What the job is about, as findings have it, with statistics and protections as a plan has them."""
        entries = [plan.releases[index].as_json() for index, _ in self.members]
        counts = [count for _, count in self.members]
        return {
            "role": self.role,
            "releases": tuple(index for index, _ in self.members),
            "statistic": tuple(entry["statistic"] for entry in entries),
            "protect": tuple(tuple(entry["protect"][:n]) for entry, n in zip(entries, counts, strict=True)),
        }


Described = Annotated[
    dict[str, Any],
    Meaning("A statistic or protection: `kind` is its class, other keys its parameters."),
]
Role = Literal["alone", "set", "together", "step"]


@dataclass(frozen=True, kw_only=True)
class DecoderFound(Counted):
    """What one decoder found."""

    decoder: str
    chose: Annotated[str, Meaning("Those that it used.")]
    accuracy: float
    advantage: float
    interval: Annotated[tuple[float, float], Meaning("Corrected for the decoders tried.")]
    status: str
    status_codes: Annotated[tuple[str, ...], Meaning("Why the answer is not settled.")] = ()
    reliability: Annotated[tuple[Bin, ...], Meaning("How often guesses of each confidence were right.")] = ()
    survives: Annotated[
        float | None,
        Meaning("The share of equations that may be wrong without misleading ℓ1 decoding.", least=0, most=1),
    ] = None

    @classmethod
    def of(cls, found: Outcome, limits: Limits) -> DecoderFound:
        """What the decoder of an outcome found."""
        return same_fields(
            cls,
            found,
            decoder=found.asked,
            chose=found.decoder,
            status=str(found.status),
            reliability=merge_bins(found.reliability),
            **counts_of(found, limits.count),
        )


@dataclass(frozen=True, kw_only=True)
class FindingDocument(Record):
    """One entry of the audit: an attack scored, or why there is none."""

    name: str
    role: Role
    releases: Annotated[tuple[int, ...], Meaning("The plan's releases that it is about.")]
    statistic: tuple[Described, ...]
    protect: tuple[tuple[Described, ...], ...]
    outcome: Literal["found", "skipped"]
    reason: str | None = None
    verdict: Verdict
    cells: Annotated[tuple[Reason, ...], Meaning("Why cells of numbers do not pass; the worst first.")] = ()
    summary: Annotated[Outcome | None, Meaning("What the strongest decoder found.")] = None
    proved_alone: Annotated[Counts, Meaning("By any decoder; by value.")] = field(default_factory=dict)
    proved_group: Annotated[Counts, Meaning("By any decoder; by value.")] = field(default_factory=dict)
    decoders: tuple[DecoderFound, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether it is about what the plan publishes, not about a step on the way to it."""
        return self.role != "step"


@dataclass(frozen=True)
class Finding:
    """What every decoder found on a set of releases."""

    job: Job
    outcomes: tuple[Outcome, ...]
    limits: Limits = _USUAL

    @property
    def name(self) -> str:
        """What the plan calls it."""
        return self.job.name

    @property
    def outcome(self) -> Outcome:
        """What the strongest decoder found."""
        return strongest(self.outcomes)

    @property
    def proofs(self) -> Proofs | None:
        """Who is proved, by any decoder; None if that was not kept."""
        return Proofs.union(one.proofs for one in self.outcomes if one.proofs is not None)

    @property
    def proved(self) -> tuple[Counts, Counts]:
        """The people whom any decoder proves, alone and as a group, by value."""
        proofs = self.proofs
        if proofs is not None:
            return proofs.alone, proofs.group
        most = max(self.outcomes, key=lambda one: one.proved)
        return most.proved_alone, most.proved_group

    @property
    def cells(self) -> tuple[Reason, ...]:
        """Why cells of numbers do not pass, whatever the attacks found."""
        return all_reasons([one.cells for one in self.outcomes])

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on this set of releases: the worst that any decoder gives cause for."""
        return judge([(self.name, outcome) for outcome in self.outcomes], self.limits)

    def told(self, plan: Plan) -> FindingDocument:
        """The finding as documents have it."""
        alone, group = self.proved
        return same_fields(
            FindingDocument,
            self,
            **self.job.told(plan),
            outcome="found",
            summary=self.outcome,
            proved_alone=alone,
            proved_group=group,
            decoders=tuple(DecoderFound.of(one, self.limits) for one in self.outcomes),
        )


@dataclass(frozen=True)
class Skipped:
    """A release that could not be attacked, and why: silence never reads as safety."""

    job: Job
    reason: str
    limits: Limits = _USUAL
    cells: tuple[Reason, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What is not attacked is for a person to decide."""
        said = f"Not attacked: {self.reason}"
        return with_cells(Verdict(said, (Reason("not-attacked", said, self.name),)), self.cells)

    @property
    def name(self) -> str:
        """What the plan calls it."""
        return self.job.name

    @property
    def not_done(self) -> NotDone:
        """The attack that was not made, and why."""
        return NotDone(self.name, self.reason, "attack")

    def told(self, plan: Plan) -> FindingDocument:
        """The finding as documents have it."""
        return same_fields(FindingDocument, self, **self.job.told(plan), outcome="skipped")


def void(found: Finding | Skipped) -> Finding | Skipped:
    """The finding without its proofs: the truth contradicts one of them."""
    if isinstance(found, Skipped):
        return found
    return replace(found, outcomes=tuple(one.without_proofs() for one in found.outcomes))


def to_plain(found: Finding | Skipped) -> dict[str, Any]:
    """The finding as plain data from which it can be made again."""
    plain = {"role": found.job.role, "name": found.job.name, "members": [list(m) for m in found.job.members]}
    if isinstance(found, Skipped):
        return {**plain, "reason": found.reason, "cells": [one.as_json() for one in found.cells]}
    return {**plain, "outcomes": [outcome.to_plain() for outcome in found.outcomes]}


def from_plain(plain: dict[str, Any]) -> Finding | Skipped:
    """The finding that `to_plain` gave."""
    members = tuple((int(index), int(count)) for index, count in plain["members"])
    job = Job(plain["role"], str(plain["name"]), members)
    if "reason" in plain:
        return Skipped(job, str(plain["reason"]), cells=tuple(map(Reason.from_json, plain["cells"])))
    return Finding(job, tuple(Outcome.from_plain(one) for one in plain["outcomes"]))


@dataclass(frozen=True, eq=False)
class AreaFindings:
    """What the attacks on one area found, in the order of the audit's findings.

    Attributes
    ----------
    name, people
        The value of the column that areas are made by, and how many people have it.
    seed
        An audit of these people alone with this seed finds the same.
    reason
        Why the area was not attacked; None if it was.
    constant
        Whether everybody in it has the same secret.
    """

    name: str
    people: int
    seed: int
    findings: tuple[Finding | Skipped, ...] = ()
    reason: str | None = None
    constant: bool = False

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings without what was skipped."""
        return tuple(finding for finding in self.findings if isinstance(finding, Finding))

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest advantage; None if nothing was found."""
        return max(self.found, key=lambda f: (f.outcome.advantage, f.outcome.interval[0]), default=None)

    @property
    def at_least(self) -> float:
        """The highest lower end of any interval: how much the area gives away at least."""
        return max((finding.outcome.interval[0] for finding in self.found), default=float("-inf"))


@dataclass(frozen=True, kw_only=True)
class AreaFinding(CountedInAreas):
    """One attack on one area, or on all: a row of the table of areas."""

    name: str
    outcome: Annotated[Literal["found"], ALWAYS] = "found"
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    interval: tuple[float, float]
    named: People
    named_right: Told
    status: str
    status_codes: Annotated[tuple[str, ...], Meaning("Why the answer is not settled.")] = ()

    @classmethod
    def of(cls, name: str, found: Outcome, sensitive: Callable[[Counts], float]) -> AreaFinding:
        """The row of an outcome, everything counted; see `area_table` for what may be told."""
        return same_fields(
            cls,
            found,
            name=name,
            outcome="found",
            baseline_accuracy=found.baselines[found.baseline],
            status=str(found.status),
            **counts_of(found, sensitive, areas=True),
        )


@dataclass(frozen=True, kw_only=True)
class AreaDocument(Record):
    """The people with one value of the column that defines the areas."""

    name: str
    people: Annotated[int, Meaning(least=1)]
    seed: Annotated[int, Meaning("The seed to audit the area alone.", least=0)]
    reason: Annotated[str | None, Meaning("Why it was not attacked; null: it was.")] = None
    verdict: Word
    note: str | None = None
    findings: tuple[AreaFinding | NotDone, ...]


@dataclass(frozen=True, kw_only=True)
class AreasDocument(Record):
    """All areas, the worst first; the audit's findings are about all their people together."""

    by: str
    areas: Annotated[int, Meaning(least=1)]
    attacked: Annotated[int, Meaning(least=0)]
    people_attacked: Annotated[int, Meaning(least=0)]
    people_not_attacked: Annotated[int, Meaning(least=0)]
    above: Annotated[int, Meaning("Areas with an interval above the limit.", least=0)]
    surely_above: Annotated[
        int, Meaning("Areas above the limit even after correcting for how many there are.", least=0)
    ]
    exposing: Annotated[
        int, Meaning("Areas where more people are proved alone or exposed than allowed.", least=0)
    ]
    rows: tuple[AreaDocument, ...]


def area_table(by: str, areas: Sequence[AreaFindings], judged: Sequence[JudgedArea]) -> AreasDocument:
    """The table of areas, in their order; counts are told as far as they name nobody."""
    attacked = [area for area in judged if area.reason is None]
    rows = _told([list(map(_area_row, area.findings)) for area in areas], [area.people for area in areas])
    return AreasDocument(
        by=by,
        areas=len(judged),
        attacked=len(attacked),
        people_attacked=sum(area.people for area in attacked),
        people_not_attacked=sum(area.people for area in judged if area.reason is not None),
        above=sum(area.above for area in judged),
        surely_above=sum(area.surely for area in judged),
        exposing=sum(area.exposing for area in judged),
        rows=tuple(
            AreaDocument(
                name=area.name,
                people=area.people,
                seed=area.seed,
                reason=area.reason,
                verdict=seen.word,
                note=SAME_SECRET if area.constant and area.reason is None else None,
                findings=told,
            )
            for area, seen, told in zip(areas, judged, rows, strict=True)
        ),
    )


def area_csv(rows: Sequence[AreaDocument]) -> str:
    """The table of areas as CSV, a line for each area and release; empty if not measured.

    A name that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ["area", "people", "release", "reason", *_NUMBERS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        known = {"area": no_formula(row.name), "people": row.people}
        if row.reason is not None:
            writer.writerow({**known, "reason": row.reason})
        for found in row.findings:
            line = {**known, "release": no_formula(found.name)}
            if isinstance(found, NotDone):
                writer.writerow({**line, "reason": found.reason})
                continue
            numbers = {"low": found.interval[0], "high": found.interval[1]}
            numbers |= {name: getattr(found, name) for name in _NUMBERS if name not in numbers}
            writer.writerow({**line, **numbers})
    return text.getvalue()


def _area_row(finding: Finding | Skipped) -> AreaFinding | NotDone:
    if isinstance(finding, Skipped):
        return finding.not_done
    return AreaFinding.of(finding.name, finding.outcome, finding.limits.count)


def _told(
    areas: Sequence[Sequence[AreaFinding | NotDone]], sizes: Sequence[int]
) -> list[tuple[AreaFinding | NotDone, ...]]:
    """The rows of each area with their counts as they may be told."""
    counted = [
        [{name: getattr(row, name, None) for name in ("name", *_GIVEN_AWAY)} for row in rows]
        for rows in areas
    ]
    said = told_of_areas(sizes, counted, ("name",), _GIVEN_AWAY)
    return [
        tuple(
            replace(row, **words) if isinstance(row, AreaFinding) else row
            for row, words in zip(rows, several, strict=True)
        )
        for rows, several in zip(areas, said, strict=True)
    ]


def not_tested_in_areas(areas: Sequence[AreaFindings]) -> list[str]:
    """What an audit of areas says nothing about."""
    left_out = [area for area in areas if area.worst is None]
    same = [area for area in areas if area.constant and area.reason is None]
    of_all, told = count_of(len(areas), "area"), _partly_attacked(areas)
    if left_out:
        people = count_of(sum(area.people for area in left_out), "person", "people")
        told.append(f"{len(left_out):,} of {of_all}, with {people}, which could not be attacked.")
    if same:
        told.append(
            f"{len(same):,} of {of_all} in which everybody has the same secret: a release says so, but so "
            "does guessing the most common value, and that counts as no advantage."
        )
    return [*told, "What areas and their totals give away together, where both are published."]


def _partly_attacked(areas: Sequence[AreaFindings]) -> list[str]:
    """The releases that were not attacked in areas where others were, with the first reason."""
    skipped: dict[str, list[tuple[AreaFindings, str]]] = {}
    for area in areas:
        for finding in area.findings if area.worst is not None else ():
            if isinstance(finding, Skipped):
                skipped.setdefault(finding.name, []).append((area, finding.reason))
    return [
        f"{name} in {len(found):,} of {count_of(len(areas), 'area')}, with "
        f"{count_of(sum(area.people for area, _ in found), 'person', 'people')}, "
        f"the first “{area_name(found[0][0].name)}”: {found[0][1]}"
        for name, found in skipped.items()
    ]
