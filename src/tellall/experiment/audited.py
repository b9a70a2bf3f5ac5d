"""What an audit found: findings, what was skipped and why, the verdict, the files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellall.algebra.solvers.base import SETTLED
from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.schemas import VERSION
from tellall.core.version import __version__, versions
from tellall.experiment.finding import BlockFindings, Finding, Job, Skipped
from tellall.experiment.plan import Plan
from tellall.experiment.verdict import JudgedBlock, Verdict, block_name, judge, judge_blocks
from tellall.people.areas import count_areas, count_people
from tellall.people.dataset import Dataset
from tellall.release.protections.base import is_random

__all__ = [
    "ASSUMED_OF_BLOCKS",
    "SAME_SECRET",
    "Audit",
    "BlockFindings",
    "Finding",
    "Job",
    "Skipped",
    "block_csv",
    "block_rows",
    "describe_people",
    "judged",
    "not_tested_in_blocks",
]

# The table of blocks, and what is said of them.

SAME_SECRET = "everybody has the same secret: whoever knows the commoner value knows all"
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
_CHANCE = 0.05  # of calling any block too high by luck, however many are looked at
ASSUMED_OF_BLOCKS = (
    "Each block is attacked by itself, and its baselines are made from its own people. Totals count each "
    "person once; their strongest baseline is the one that is right most often over all blocks.",
)


def judged(blocks: Sequence[BlockFindings], limit: float) -> tuple[JudgedBlock, ...]:
    """The blocks as a verdict sees them."""
    count = sum(isinstance(finding, Finding) for block in blocks for finding in block.findings)
    return tuple(_judged(block, count, limit) for block in blocks)


def _judged(block: BlockFindings, findings: int, limit: float) -> JudgedBlock:
    above = [finding for finding in block.found if finding.summary.interval[0] > limit]
    sure = any(f.tally.surely(_CHANCE / findings) > limit for f in above if f.tally is not None)
    worst = max(above, key=lambda finding: finding.summary.advantage, default=block.worst)
    reason = block.reason or (None if worst is not None else "nothing in it could be attacked")
    return JudgedBlock(
        block.name,
        block.people,
        None if worst is None else (worst.name, worst.summary),
        above=bool(above),
        surely=sure,
        reason=reason,
    )


def block_rows(by: str, blocks: Sequence[BlockFindings], judged: Sequence[JudgedBlock]) -> dict[str, Any]:
    """The table of blocks, in their order, as plain data."""
    attacked = [block for block in judged if block.reason is None]
    return {
        "by": by,
        "blocks": len(judged),
        "attacked": len(attacked),
        "people_attacked": sum(block.people for block in attacked),
        "people_not_attacked": sum(block.people for block in judged if block.reason is not None),
        "above": sum(block.above for block in judged),
        "surely_above": sum(block.surely for block in judged),
        "rows": [
            {
                "name": block.name,
                "people": block.people,
                "seed": block.seed,
                "reason": block.reason,
                "note": SAME_SECRET if block.constant and block.reason is None else None,
                "findings": [_block_finding(finding) for finding in block.findings],
            }
            for block in blocks
        ],
    }


def block_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The table of blocks as CSV, a line for each block and release; empty where there is no number.

    A name that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ["block", "people", "release", "reason", *_NUMBERS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        known = {"block": _no_formula(row["name"]), "people": row["people"]}
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


def _block_finding(finding: Finding | Skipped) -> dict[str, Any]:
    if isinstance(finding, Skipped):
        return {"name": finding.name, "outcome": "skipped", "reason": finding.reason}
    found = finding.summary
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


def not_tested_in_blocks(blocks: Sequence[BlockFindings]) -> list[str]:
    """What an audit of blocks says nothing about."""
    left_out = [block for block in blocks if block.worst is None]
    same = [block for block in blocks if block.constant and block.reason is None]
    people, of_all = sum(block.people for block in left_out), count_areas(len(blocks))
    return [
        *_partly_attacked(blocks),
        *(
            [f"{len(left_out):,} of {of_all}, with {count_people(people)}, which could not be attacked."]
            if left_out
            else []
        ),
        *(
            [
                f"{len(same):,} of {of_all} in which everybody has the same secret: a release says "
                "so of everybody, and since the commoner value does too, that counts as no advantage."
            ]
            if same
            else []
        ),
        "What blocks and totals over blocks give away together, where those are published too.",
    ]


def _partly_attacked(blocks: Sequence[BlockFindings]) -> list[str]:
    """The releases that were not attacked in blocks where others were, with the first reason."""
    skipped: dict[str, list[tuple[BlockFindings, str]]] = {}
    for block in blocks:
        for finding in block.findings if block.worst is not None else ():
            if isinstance(finding, Skipped):
                skipped.setdefault(finding.name, []).append((block, finding.reason))
    return [
        f"{name} in {len(found):,} of {count_areas(len(blocks))}, with "
        f"{count_people(sum(block.people for block, _ in found))}, "
        f"the first “{block_name(found[0][0].name)}”: {found[0][1]}"
        for name, found in skipped.items()
    ]


@dataclass(frozen=True, eq=False)
class Audit:
    """A plan's findings: one per release, then all together; ``steps`` tell what each protection bought.

    With ``by`` in the plan the findings are about all people of all blocks, and ``blocks`` has those of each
    block, the worst first.
    """

    plan: Plan
    data: dict[str, Any]
    findings: tuple[Finding | Skipped, ...]
    steps: tuple[Finding | Skipped, ...] = ()
    command: str = "ta.audit"
    blocks: tuple[BlockFindings, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest advantage; None where everything was skipped."""
        found = [finding for finding in self.findings if isinstance(finding, Finding)]
        return max(found, key=lambda finding: finding.summary.advantage, default=None)

    @cached_property
    def verdict(self) -> Verdict:
        """Pass, review or fail, with a sentence."""
        verdict = judge(
            [(f.name, f.summary) for f in self.findings if isinstance(f, Finding)],
            limit=self.plan.limit,
            skipped=[f.name for f in self.findings if isinstance(f, Skipped)],
            exposed_limit=self.plan.exposed_limit,
        )
        return verdict if self.plan.by is None else judge_blocks(verdict, self.judged_blocks, self.plan.limit)

    @cached_property
    def judged_blocks(self) -> tuple[JudgedBlock, ...]:
        """The blocks as a verdict sees them."""
        return judged(self.blocks, self.plan.limit)

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
            "verdict": {"word": self.verdict.word, "sentence": self.verdict.sentence},
            "worst": None if worst is None else worst.name,
            "findings": [
                {**finding.job.as_json(self.plan), **finding.as_json()}
                for finding in (*self.findings, *self.steps)
            ],
            "blocks": None
            if self.plan.by is None
            else block_rows(self.plan.by, self.blocks, self.judged_blocks),
            "assumed": [*assumed(self.data), *(ASSUMED_OF_BLOCKS if self.plan.by is not None else ())],
            "not_tested": [
                *not_tested(self.plan, self.data, self.findings),
                *(not_tested_in_blocks(self.blocks) if self.plan.by is not None else ()),
            ],
        }

    def save(self, folder: str | Path) -> Path:
        """The page's path, after ``audit.json``, ``report.html`` and, of blocks, ``blocks.csv`` are there."""
        from tellall.report.audit_page import render

        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        document = self.document
        page = render(document)
        place.mkdir(parents=True, exist_ok=True)
        files.write_json(place / "audit.json", document)
        if document["blocks"] is not None:
            files.write_text(place / "blocks.csv", block_csv(document["blocks"]["rows"]))
        return files.write_text(place / "report.html", page)

    def __repr__(self) -> str:
        return f"Audit of {len(self.plan.releases)} planned releases: {self.verdict}"


def describe_people(dataset: Dataset, name: str) -> dict[str, Any]:
    """The people, counted: what a page says of them."""
    assert dataset.secret is not None
    imprint = dataset.public.imprint
    return {
        "name": name,
        "people": dataset.n,
        "distinct_public_rows": len(dataset.patterns),
        "secret": dataset.secret_name,
        "meaning": list(dataset.meaning),
        "holders": int(dataset.secret.sum()) if dataset.levels == 2 else None,
        "counts": np.bincount(dataset.secret, minlength=dataset.levels).tolist(),
        "columns": [
            {"name": column.name, "levels": column.levels, "cuts": list(column.cuts) if column.cuts else None}
            for column in dataset.public.columns
        ],
        "left_out": list(dataset.public.left_out),
        "fingerprint": imprint.fingerprint,
    }


def assumed(data: dict[str, Any]) -> list[str]:
    """What the audit takes the attacker to know."""
    names = ", ".join(column["name"] for column in data["columns"])
    return [
        f"The attacker knows the public columns of all {data['people']:,} people ({names}), and that they "
        "are in the data.",
        "The attacker knows what was computed and how it was protected, but not the random draws.",
        f"The attacker knows nobody's {data['secret']} beforehand, not even their own, and reads its rate "
        "off the release.",
        "The baselines are what one would guess without the person's own record in the release: the "
        "commoner value, the best prediction from the public columns, and a model fitted to the same "
        "releases made without the person. Only what goes beyond the strongest counts.",
    ]


def not_tested(plan: Plan, data: dict[str, Any], findings: Sequence[Finding | Skipped]) -> list[str]:
    """What the audit says nothing about."""
    missing = [f"{skipped.name}: {skipped.reason}" for skipped in findings if isinstance(skipped, Skipped)]
    unsolved = [
        f"{finding.name}: {finding.summary.status}"
        for finding in findings
        if isinstance(finding, Finding) and finding.summary.status not in SETTLED
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
        is_random(plan.releases[place].protections[:kept]) for place, kept in finding.job.members
    )
