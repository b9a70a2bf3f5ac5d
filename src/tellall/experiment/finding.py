"""What one attack of an audit found, or why there was none; and those of one block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tellall.experiment.plan import Plan
from tellall.experiment.summary import ReleaseSummary
from tellall.experiment.tally import Tally

__all__ = [
    "BlockFindings",
    "Finding",
    "Job",
    "Skipped",
    "from_plain",
    "to_plain",
]


@dataclass(frozen=True)
class Job:
    """One attack of an audit.

    Attributes
    ----------
    role
        "alone" (a release of the plan), "together" (all of them), "step" (a release with only its first
        protections, to see what each bought).
    members
        Which releases, each with how many of its protections.
    """

    index: int
    role: str
    name: str
    members: tuple[tuple[int, int], ...]

    def as_json(self, plan: Plan) -> dict[str, Any]:
        """Which releases the job is about, as plain data."""
        entries = [plan.releases[place].as_json() for place, _ in self.members]
        return {
            "name": self.name,
            "role": self.role,
            "releases": [place for place, _ in self.members],
            "statistic": [entry["statistic"] for entry in entries],
            "protect": [
                entry["protect"][:kept] for entry, (_, kept) in zip(entries, self.members, strict=True)
            ],
        }


@dataclass(frozen=True)
class Finding:
    """What the attack on a release found; the tally is what of it can be added up over blocks."""

    job: Job
    summary: ReleaseSummary
    tally: Tally | None = None

    @property
    def name(self) -> str:
        """What the plan calls it."""
        return self.job.name

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {"outcome": "found", "reason": None, "summary": self.summary.as_json()}


@dataclass(frozen=True)
class Skipped:
    """A release that could not be attacked, and why: silence never reads as safety."""

    job: Job
    reason: str

    @property
    def name(self) -> str:
        """What the plan calls it."""
        return self.job.name

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {"outcome": "skipped", "reason": self.reason, "summary": None}


def to_plain(finding: Finding | Skipped) -> dict[str, Any]:
    """The outcome as plain data from which it can be made again, with its tally."""
    tally = finding.tally.as_json() if isinstance(finding, Finding) and finding.tally is not None else None
    return {**finding.as_json(), "tally": tally}


def from_plain(job: Job, plain: dict[str, Any]) -> Finding | Skipped:
    """The finding of a job that `to_plain` was given."""
    if plain["outcome"] == "skipped":
        return Skipped(job, str(plain["reason"]))
    found = Finding(job, ReleaseSummary.from_json(plain["summary"]))
    return found if plain["tally"] is None else replace(found, tally=Tally.from_json(plain["tally"]))


@dataclass(frozen=True, eq=False)
class BlockFindings:
    """What the attacks on one block found, in the order of the audit's findings.

    Attributes
    ----------
    name, people
        The value of the column that blocks are made by, and how many people have it.
    seed
        An audit of these people alone with this seed finds the same.
    reason
        Why the block was not attacked; None where it was.
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
    def worst(self) -> Finding | None:
        """The finding with the largest advantage, as of an audit; None where nothing was found.

        By the lower end of the interval a release that surely gives nothing away would come before one that
        may give away much.
        """
        return max(self.found, key=lambda f: (f.summary.advantage, f.summary.interval[0]), default=None)

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings less what was skipped."""
        return tuple(finding for finding in self.findings if isinstance(finding, Finding))

    @property
    def at_least(self) -> float:
        """The highest lower end of any interval: how much the block gives away at least."""
        return max((finding.summary.interval[0] for finding in self.found), default=float("-inf"))
