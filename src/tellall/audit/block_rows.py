"""The table of blocks, and what is said of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from tellall.audit.finding import BlockFindings, Finding, Skipped
from tellall.data.blocks import count_blocks, count_people
from tellall.report.block_verdict import JudgedBlock, block_name

__all__ = ["ASSUMED_OF_BLOCKS", "SAME_SECRET", "block_csv", "block_rows", "judged", "not_tested_in_blocks"]

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
    people, of_all = sum(block.people for block in left_out), count_blocks(len(blocks))
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
        f"{name} in {len(found):,} of {count_blocks(len(blocks))}, with "
        f"{count_people(sum(block.people for block, _ in found))}, "
        f"the first “{block_name(found[0][0].name)}”: {found[0][1]}"
        for name, found in skipped.items()
    ]
