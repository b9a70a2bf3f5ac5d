"""What an audit found: findings, what was skipped and why, the verdict, the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellall import store
from tellall.audit.block_rows import ASSUMED_OF_BLOCKS, block_csv, block_rows, judged, not_tested_in_blocks
from tellall.audit.finding import BlockFindings, Finding, Job, Skipped
from tellall.audit.plan import Plan
from tellall.data import Dataset
from tellall.errors import invalid
from tellall.protections import is_random
from tellall.report.block_verdict import JudgedBlock, judge_blocks
from tellall.report.installed import versions
from tellall.report.verdict import Verdict, judge
from tellall.schemas import VERSION
from tellall.solve import SETTLED
from tellall.version import __version__

__all__ = ["Audit", "BlockFindings", "Finding", "Job", "Skipped", "describe_people"]


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
        from tellall.report.html import render

        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise invalid("folder", "a folder, or a new name", str(folder))
        document = self.document
        page = render(document)
        place.mkdir(parents=True, exist_ok=True)
        store.write_json(place / "audit.json", document)
        if document["blocks"] is not None:
            store.write_text(place / "blocks.csv", block_csv(document["blocks"]["rows"]))
        return store.write_text(place / "report.html", page)

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
