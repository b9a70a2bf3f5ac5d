"""Findings: what the attacks on one set of releases found, or why there were none; and the whole audit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core import files
from tellall.core.amounts import count_of
from tellall.core.errors import invalid
from tellall.core.schemas import VERSION
from tellall.core.version import __version__, versions
from tellall.experiment.outcome import Outcome
from tellall.experiment.plan import Plan
from tellall.experiment.trial import strongest
from tellall.experiment.verdict import (
    NOT_ATTACKED,
    JudgedArea,
    Limits,
    Verdict,
    area_name,
    judge,
    judge_area,
    judged_areas,
)
from tellall.people.dataset import Dataset
from tellall.release.protections.protection import is_random

__all__ = ["AreaFindings", "Audit", "Finding", "Job", "Skipped", "describe_people", "from_plain", "to_plain"]

_USUAL = Limits(0.05)
SAME_SECRET = "everybody has the same secret: whoever knows the most common value knows all"
_NUMBERS = (
    "accuracy",
    "baseline",
    "baseline_accuracy",
    "advantage",
    "low",
    "high",
    "exposed",
    "named",
    "named_right",
    "proved",
    "status",
)
_ASSUMED_OF_AREAS = (
    "Each area is attacked by itself, and its baselines are made from its own people. Totals count each "
    "person once; their strongest baseline is the one that is right most often over all areas."
)


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
            "summary": self.outcome.as_json(),
            "decoders": [
                {"decoder": one.asked, "chose": one.decoder, "advantage": one.advantage}
                for one in self.outcomes
            ],
        }


@dataclass(frozen=True)
class Skipped:
    """A release that could not be attacked, and why: silence never reads as safety."""

    job: Job
    reason: str
    limits: Limits = _USUAL

    @property
    def verdict(self) -> Verdict:
        """What is not attacked is for a person to decide."""
        return Verdict("review", f"Not attacked: {self.reason}", NOT_ATTACKED)

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
            "summary": None,
            "decoders": [],
        }


def to_plain(found: Finding | Skipped) -> dict[str, Any]:
    """The finding as plain data from which it can be made again."""
    plain = {"role": found.job.role, "name": found.job.name, "members": [list(m) for m in found.job.members]}
    if isinstance(found, Skipped):
        return {**plain, "reason": found.reason}
    return {**plain, "outcomes": [outcome.to_plain() for outcome in found.outcomes]}


def from_plain(plain: dict[str, Any]) -> Finding | Skipped:
    """The finding that `to_plain` gave."""
    members = tuple((int(index), int(count)) for index, count in plain["members"])
    job = Job(str(plain["role"]), str(plain["name"]), members)
    if "reason" in plain:
        return Skipped(job, str(plain["reason"]))
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
        Why the area was not attacked; None where it was.
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
        """The finding with the largest advantage; None where nothing was found."""
        return max(self.found, key=lambda f: (f.outcome.advantage, f.outcome.interval[0]), default=None)

    @property
    def at_least(self) -> float:
        """The highest lower end of any interval: how much the area gives away at least."""
        return max((finding.outcome.interval[0] for finding in self.found), default=float("-inf"))


@dataclass(frozen=True, eq=False)
class Audit:
    """A plan's findings: one per release, then sets of them; ``steps`` say what each protection buys.

    With ``by`` in the plan the findings are about all people of all areas, and ``areas`` has those of each
    area, the worst first.
    """

    plan: Plan
    data: dict[str, Any]
    limits: Limits
    findings: tuple[Finding | Skipped, ...]
    steps: tuple[Finding | Skipped, ...] = ()
    command: str = "ta.audit"
    areas: tuple[AreaFindings, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest advantage; None where everything was skipped."""
        found = [finding for finding in self.findings if isinstance(finding, Finding)]
        return max(found, key=lambda finding: finding.outcome.advantage, default=None)

    @cached_property
    def verdict(self) -> Verdict:
        """Pass, review or fail, with a sentence: never better than that of any set of releases."""
        verdict = judge(
            [(f.name, one) for f in self.findings if isinstance(f, Finding) for one in f.outcomes],
            self.limits,
            not_attacked=[f.name for f in self.findings if isinstance(f, Skipped)],
        )
        return verdict if self.plan.by is None else judged_areas(verdict, self.judged, self.limits)

    @cached_property
    def judged(self) -> tuple[JudgedArea, ...]:
        """The areas as a verdict sees them."""
        looked_at = sum(len(finding.outcomes) for area in self.areas for finding in area.found)
        return tuple(
            judge_area(
                area.name,
                area.people,
                [(found.name, one) for found in area.found for one in found.outcomes],
                self.limits,
                looked_at,
                area.reason,
            )
            for area in self.areas
        )

    @property
    def document(self) -> dict[str, Any]:
        """The whole audit as plain data; counts and rates, never a person."""
        worst = self.worst
        return {
            "schema_version": VERSION,
            "document": "audit",
            "tellall": __version__,
            "versions": versions(),
            "command": self.command,
            "seed": self.plan.seed,
            "device": self.plan.device,
            "plan": self.plan.as_json(),
            "data": self.data,
            "limit": self.plan.limit,
            "exposed_limit": self.plan.exposed_limit,
            "sensitive": None if self.limits.sensitive is None else list(self.limits.sensitive),
            "verdict": self.verdict.as_json(),
            "worst": None if worst is None else worst.name,
            "findings": [
                {**finding.job.as_json(self.plan), **finding.as_json()}
                for finding in (*self.findings, *self.steps)
            ],
            "areas": None if self.plan.by is None else _area_table(self.plan.by, self.areas, self.judged),
            "assumed": [*_assumed(self.data), *([_ASSUMED_OF_AREAS] if self.plan.by is not None else ())],
            "not_tested": [
                *_not_tested(self.plan, self.data, self.findings),
                *(_not_tested_in_areas(self.areas) if self.plan.by is not None else ()),
            ],
        }

    def save(self, folder: str | Path) -> Path:
        """Writes ``audit.json``, ``report.html`` and, of areas, ``areas.csv``; returns the page's path."""
        from tellall.report.audit_page import render

        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        document = self.document
        page = render(document)
        target.mkdir(parents=True, exist_ok=True)
        files.write_json(target / "audit.json", document)
        if document["areas"] is not None:
            files.write_text(target / "areas.csv", area_csv(document["areas"]["rows"]))
        return files.write_text(target / "report.html", page)

    def __repr__(self) -> str:
        return f"Audit of {len(self.plan.releases)} planned releases: {self.verdict}"


def describe_people(dataset: Dataset, name: str) -> dict[str, Any]:
    """The people, counted: what a page says of them."""
    assert dataset.secret is not None
    return {
        "name": name,
        "people": dataset.n,
        "distinct_public_rows": len(dataset.patterns),
        "secret": dataset.secret_name,
        "meaning": list(dataset.meaning),
        "holders": int(dataset.secret.sum()) if dataset.levels == 2 else None,
        "counts": np.bincount(dataset.secret, minlength=dataset.levels).tolist() if dataset.levels else [],
        "columns": [
            {"name": column.name, "levels": column.levels, "cuts": list(column.cuts) if column.cuts else None}
            for column in dataset.public.columns
        ],
        "left_out": list(dataset.public.left_out),
    }


def _assumed(data: dict[str, Any]) -> list[str]:
    """What the audit takes the attacker to know."""
    names = ", ".join(column["name"] for column in data["columns"])
    return [
        f"The attacker knows the public columns of all {data['people']:,} people ({names}), and that they "
        "are in the data.",
        "The attacker knows what was computed and how it was protected, but not the random draws.",
        f"The attacker knows nobody's {data['secret']} beforehand, not even their own, and reads its rate "
        "off the release.",
        "The baselines are what one would guess without the person's own record in the release: the "
        "most common value, others with the same public row, the best prediction from the public columns, "
        "and a model of the published statistics fitted without the person. Only what goes beyond the "
        "strongest counts.",
    ]


def _not_tested(plan: Plan, data: dict[str, Any], findings: Sequence[Finding | Skipped]) -> list[str]:
    """What the audit says nothing about."""
    missing = [f"{skipped.name}: {skipped.reason}" for skipped in findings if isinstance(skipped, Skipped)]
    unsolved = [
        f"{finding.name}: {finding.outcome.status}"
        for finding in findings
        if isinstance(finding, Finding) and not finding.outcome.settled
    ]
    draws = "One draw of the noise was attacked; another could give away a little more or less."
    return [
        *missing,
        *unsolved,
        "Attacks other than the reconstructions named beside each release. That these fail proves nothing "
        "about others.",
        "Whether somebody is in the data at all (membership).",
        "Attackers who know some people's secrets, or hold releases that are not in this plan.",
        f"Secrets other than {data['secret']}.",
        *([draws] if plan.repeats == 1 and any(_of_chance(plan, finding) for finding in findings) else []),
    ]


def _of_chance(plan: Plan, finding: Finding | Skipped) -> bool:
    """Whether what was attacked could have come out otherwise."""
    return isinstance(finding, Finding) and any(
        is_random(plan.releases[index].protections[:count]) for index, count in finding.job.members
    )


def _area_table(by: str, areas: Sequence[AreaFindings], judged: Sequence[JudgedArea]) -> dict[str, Any]:
    """The table of areas, in their order, as plain data."""
    attacked = [area for area in judged if area.reason is None]
    return {
        "by": by,
        "areas": len(judged),
        "attacked": len(attacked),
        "people_attacked": sum(area.people for area in attacked),
        "people_not_attacked": sum(area.people for area in judged if area.reason is not None),
        "above": sum(area.above for area in judged),
        "surely_above": sum(area.surely for area in judged),
        "rows": [
            {
                "name": area.name,
                "people": area.people,
                "seed": area.seed,
                "reason": area.reason,
                "note": SAME_SECRET if area.constant and area.reason is None else None,
                "findings": [_area_finding(finding) for finding in area.findings],
            }
            for area in areas
        ],
    }


def area_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The table of areas as CSV, a line for each area and release; empty where there is no number.

    A name that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ["area", "people", "release", "reason", *_NUMBERS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        known = {"area": _no_formula(row["name"]), "people": row["people"]}
        if row["reason"] is not None:
            writer.writerow({**known, "reason": row["reason"]})
        for found in row["findings"]:
            low, high = found.get("interval") or (None, None)
            numbers = {name: found.get(name) for name in _NUMBERS}
            numbers |= {"low": low, "high": high}
            release = _no_formula(found["name"])
            writer.writerow({**known, "release": release, "reason": found.get("reason"), **numbers})
    return text.getvalue()


def _no_formula(name: str) -> str:
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _area_finding(finding: Finding | Skipped) -> dict[str, Any]:
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
        "exposed": found.exposed_people,
        "named": found.named,
        "named_right": found.named_right,
        "proved": found.proved,
        "status": found.status,
    }


def _not_tested_in_areas(areas: Sequence[AreaFindings]) -> list[str]:
    """What an audit of areas says nothing about."""
    left_out = [area for area in areas if area.worst is None]
    same = [area for area in areas if area.constant and area.reason is None]
    of_all, told = count_of(len(areas), "area"), _partly_attacked(areas)
    if left_out:
        people = count_of(sum(area.people for area in left_out), "person", "people")
        told.append(f"{len(left_out):,} of {of_all}, with {people}, which could not be attacked.")
    if same:
        told.append(
            f"{len(same):,} of {of_all} in which everybody has the same secret: a release says so of "
            "everybody, and since the most common value does too, that counts as no advantage."
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
