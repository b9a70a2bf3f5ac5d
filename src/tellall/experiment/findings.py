"""Findings: what the attacks on one set of releases found, or why there were none; those of areas too."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from tellall.core.amounts import count_of
from tellall.core.reasons import Reason
from tellall.core.text import no_formula
from tellall.experiment.measures.cells import all_reasons
from tellall.experiment.measures.counts import Counts
from tellall.experiment.measures.disclosure import told_of_areas
from tellall.experiment.measures.proofs import Proofs
from tellall.experiment.measures.reliability import merge_bins
from tellall.experiment.outcome import Outcome, columns, counts_of
from tellall.experiment.plans.plan import Plan
from tellall.experiment.trial import strongest
from tellall.experiment.verdict import JudgedArea, Limits, Verdict, area_name, judge, with_cells

__all__ = [
    "AreaFindings",
    "Finding",
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
_COUNTED = tuple(name for name, _ in columns(areas=True))
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

    role: str
    name: str
    members: tuple[tuple[int, int], ...]

    def as_json(self, plan: Plan) -> dict[str, Any]:
        """Which releases the job is about, as plain data."""
        entries: list[Any] = [plan.releases[index].as_json() for index, _ in self.members]
        return {
            "name": self.name,
            "role": self.role,
            "releases": [index for index, _ in self.members],
            "statistic": [entry["statistic"] for entry in entries],
            "protect": [
                entry["protect"][:count] for entry, (_, count) in zip(entries, self.members, strict=True)
            ],
        }


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

    def as_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "outcome": "found",
            "reason": None,
            "verdict": self.verdict.as_json(),
            "cells": [one.as_json() for one in self.cells],
            "summary": self.outcome.as_json(),
            **dict(zip(("proved_alone", "proved_group"), self.proved, strict=True)),
            "decoders": [
                {
                    "decoder": one.asked,
                    "chose": one.decoder,
                    "accuracy": one.accuracy,
                    "advantage": one.advantage,
                    "interval": list(one.interval),
                    **counts_of(one, self.limits.count),
                    "status": str(one.status),
                    "status_codes": list(one.status.why),
                    "reliability": [asdict(part) for part in merge_bins(one.reliability)],
                    "survives": one.survives,
                }
                for one in self.outcomes
            ],
        }


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

    def as_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "outcome": "skipped",
            "reason": self.reason,
            "verdict": self.verdict.as_json(),
            "cells": [one.as_json() for one in self.cells],
            "summary": None,
            "proved_alone": {},
            "proved_group": {},
            "decoders": [],
        }


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
    job = Job(str(plain["role"]), str(plain["name"]), members)
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


def area_table(by: str, areas: Sequence[AreaFindings], judged: Sequence[JudgedArea]) -> dict[str, Any]:
    """The table of areas, in their order, as plain data; counts are told as far as they name nobody."""
    attacked = [area for area in judged if area.reason is None]
    found = [[_area_finding(one, one.limits.count) for one in area.findings] for area in areas]
    told = told_of_areas([area.people for area in areas], found, ("name",), _GIVEN_AWAY)
    return {
        "by": by,
        "areas": len(judged),
        "attacked": len(attacked),
        "people_attacked": sum(area.people for area in attacked),
        "people_not_attacked": sum(area.people for area in judged if area.reason is not None),
        "above": sum(area.above for area in judged),
        "surely_above": sum(area.surely for area in judged),
        "exposing": sum(area.exposing for area in judged),
        "rows": [
            {
                "name": area.name,
                "people": area.people,
                "seed": area.seed,
                "reason": area.reason,
                "verdict": seen.word,
                "note": SAME_SECRET if area.constant and area.reason is None else None,
                "findings": rows,
            }
            for area, seen, rows in zip(areas, judged, told, strict=True)
        ],
    }


def area_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The table of areas as CSV, a line for each area and release; empty if not measured.

    A name that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ["area", "people", "release", "reason", *_NUMBERS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        known = {"area": no_formula(row["name"]), "people": row["people"]}
        if row["reason"] is not None:
            writer.writerow({**known, "reason": row["reason"]})
        for found in row["findings"]:
            low, high = found.get("interval") or (None, None)
            numbers = {name: found.get(name) for name in _NUMBERS}
            numbers |= {"low": low, "high": high}
            release = no_formula(found["name"])
            writer.writerow({**known, "release": release, "reason": found.get("reason"), **numbers})
    return text.getvalue()


def _area_finding(finding: Finding | Skipped, sensitive: Callable[[Counts], float]) -> dict[str, Any]:
    if isinstance(finding, Skipped):
        return {"name": finding.name, "outcome": "skipped", "reason": finding.reason}
    found = finding.outcome
    return {
        "name": finding.name,
        "outcome": "found",
        "accuracy": found.accuracy,
        "baseline": found.baseline,
        "baseline_accuracy": found.baselines[found.baseline],
        "advantage": found.advantage,
        "interval": list(found.interval),
        **counts_of(found, sensitive, areas=True),
        "named": found.named,
        "named_right": found.named_right,
        "status": str(found.status),
        "status_codes": list(found.status.why),
    }


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
