"""Pooled: the findings of many blocks as one about all their people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tellall.audit.finding import BlockFindings, Finding, Job, Skipped
from tellall.data.blocks import count_blocks
from tellall.report.summary import Foreseen, Promised, ReleaseSummary
from tellall.report.verdict import PARTLY
from tellall.risk import total
from tellall.solve import SETTLED

__all__ = ["pooled", "worst_first"]


def pooled(
    job: Job, blocks: Sequence[tuple[Finding | Skipped, int]], *, rng: np.random.Generator
) -> Finding | Skipped:
    """One attack on every block, each with how many there have the secret, as one finding.

    Notes
    -----
    Counts add up; accuracy, baselines, advantage and its interval are those of :func:`tellall.risk.total`.
    Blocks in which this attack was impossible are left out, and the status says how many they were: what was
    not attacked everywhere is not settled.
    """
    found = [(finding, holders) for finding, holders in blocks if isinstance(finding, Finding)]
    if not found:
        reasons = [finding.reason for finding, _ in blocks if isinstance(finding, Skipped)]
        return Skipped(job, reasons[0] if reasons else "no block could be attacked")
    rows = [finding.summary for finding, _ in found]
    tallies = [finding.tally for finding, _ in found if finding.tally is not None]
    whole = total(tallies, rng=rng)
    summary = ReleaseSummary(
        statistic=rows[0].statistic,
        protection=rows[0].protection,
        accuracy=whole.accuracy,
        baselines=whole.baselines,
        baseline=whole.baseline,
        advantage=whole.advantage,
        interval=whole.interval,
        found=_found(found),
        named=sum(row.named for row in rows),
        named_right=sum(row.named_right for row in rows),
        proved=sum(row.proved for row in rows),
        exposed={
            level: {value: sum(row.exposed[level][value] for row in rows) for value in rows[0].exposed[level]}
            for level in rows[0].exposed
        },
        status=_status(rows, len(blocks)),
        people=whole.people,
        curve=tuple(
            (level, sum(row.curve[place][1] for row in rows))
            for place, (level, _) in enumerate(rows[0].curve)
        ),
        draws=max(row.draws for row in rows),
        decoder=", ".join(dict.fromkeys(row.decoder for row in rows)),
        skipped=max((row.skipped for row in rows), key=len),
        foreseen=_foreseen([row.foreseen for row in rows]),
        promised=_promised([row.promised for row in rows]),
    )
    return Finding(job, summary)


def worst_first(blocks: Sequence[BlockFindings]) -> tuple[BlockFindings, ...]:
    """The blocks in the order of how much they give away at least; those not attacked come last.

    Notes
    -----
    By the highest lower end of the intervals of their releases, which is what a verdict compares with the
    limit: by the advantage itself the first would be the smallest blocks, where luck is largest.
    """

    def rank(block: BlockFindings) -> tuple[float, ...]:
        worst = block.worst
        if worst is None:
            return (1.0, -block.people)
        found = worst.summary
        return (0.0, -block.at_least, -found.advantage, -found.exposed_people, -block.people)

    return tuple(sorted(blocks, key=lambda block: (rank(block), block.name)))


def _found(found: Sequence[tuple[Finding, int]]) -> float:
    holders = sum(count for _, count in found)
    right = math.fsum(finding.summary.found * count for finding, count in found if count)
    return right / holders if holders else math.nan


def _status(rows: Sequence[ReleaseSummary], blocks: int) -> str:
    if len(rows) < blocks:
        return f"{PARTLY}{blocks - len(rows):,} of {count_blocks(blocks)}"
    troubled = [row.status for row in rows if row.status not in SETTLED]
    if troubled:
        return f"in {len(troubled):,} of {count_blocks(len(rows))} not settled, the first {troubled[0]}"
    return "solved" if all(row.status == "solved" for row in rows) else "trusted"


def _foreseen(known: Sequence[Foreseen | None]) -> Foreseen | None:
    """What was foreseen of all people, where it was of every block."""
    parts = [one for one in known if one is not None]
    if len(parts) < len(known):
        return None
    people = sum(one.people for one in parts)

    def mean(values: Sequence[float]) -> float:
        return math.fsum(one.people * value for one, value in zip(parts, values, strict=True)) / people

    limits = [one.limit for one in parts if one.limit is not None]
    ranks = [one.rank for one in parts if one.rank is not None]
    return Foreseen(
        equations=sum(one.equations for one in parts),
        people=people,
        groups=sum(one.groups for one in parts),
        rank_cap=sum(one.rank_cap for one in parts),
        rank=sum(ranks) if len(ranks) == len(parts) else None,
        accuracy=mean([one.accuracy for one in parts]),
        limit=mean(limits) if len(limits) == len(parts) else None,
        rate=mean([one.rate for one in parts]),
        ignored=tuple(dict.fromkeys(name for one in parts for name in one.ignored)),
    )


def _promised(known: Sequence[Promised | None]) -> Promised | None:
    """The weakest promise of any block, for a row that changes within its block.

    Promises do not add up then; for a row that moves to another block those of the two blocks would.
    """
    parts = [one for one in known if one is not None]
    if not parts or any(one.epsilon is None for one in parts):
        return Promised() if parts else None
    weakest = max(parts, key=lambda one: (one.epsilon or 0.0, one.delta or 0.0))
    return replace(weakest, relation=f"{weakest.relation} within its block")
