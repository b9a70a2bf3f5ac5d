"""The audit of many blocks: the same plan for each, results for each and for all people together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.algebra.solvers.base import SETTLED
from tellall.core.checkpoint import Checkpoint
from tellall.core.jobs import Failed, Progress, Task, Workers, run
from tellall.experiment.audit import attack_all, jobs_of, key_of, named_people
from tellall.experiment.audited import Audit, describe_people
from tellall.experiment.finding import BlockFindings, Finding, Job, Skipped, from_plain, to_plain
from tellall.experiment.plan import Plan
from tellall.experiment.summary import Foreseen, Promised, ReleaseSummary
from tellall.experiment.tally import total
from tellall.experiment.verdict import PARTLY
from tellall.people.areas import Area, count_areas, split, too_small
from tellall.people.dataset import Dataset

__all__ = [
    "audit_blocks",
    "named_in_blocks",
    "pooled",
    "worst_first",
]

# Pooled: the findings of many blocks as one about all their people.


def pooled(
    job: Job, blocks: Sequence[tuple[Finding | Skipped, int]], *, rng: np.random.Generator
) -> Finding | Skipped:
    """One attack on every block, each with how many there have the secret, as one finding.

    Notes
    -----
    Counts add up; accuracy, baselines, advantage and its interval are those of `total`.
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
        return f"{PARTLY}{blocks - len(rows):,} of {count_areas(blocks)}"
    troubled = [row.status for row in rows if row.status not in SETTLED]
    if troubled:
        return f"in {len(troubled):,} of {count_areas(len(rows))} not settled, the first {troubled[0]}"
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


_TOTALS = 4  # a stream of random numbers of its own


def audit_blocks(
    dataset: Dataset,
    plan: Plan,
    progress: Progress | None,
    *,
    workers: Workers,
    work: str | Path | None,
    name: str,
    command: str,
) -> Audit:
    """The audit of every block of a plan with ``by``; see `audit`."""
    blocks = _blocks(dataset, plan)
    small = {place: reason for place, block in enumerate(blocks) if (reason := too_small(block)) is not None}
    attacked = [place for place in range(len(blocks)) if place not in small]
    kept = None if work is None else Checkpoint.in_folder(work)
    tasks = [_task(blocks[place], plan, kept) for place in attacked]
    jobs = jobs_of(plan)
    found: dict[int, BlockFindings] = {}
    holders: dict[int, int] = {}
    steps: dict[int, tuple[Finding | Skipped, ...]] = {}

    def parse(piece: dict[str, Any]) -> tuple[int, list[Finding | Skipped]]:
        return int(piece["holders"]), [from_plain(job, piece["findings"][job.index]) for job in jobs]

    for one in run(attack_block, tasks, workers=workers, checkpoint=kept, parse=parse, progress=progress):
        place = attacked[one.index]
        block = blocks[place]
        if isinstance(one, Failed):
            found[place] = BlockFindings(block.name, block.n, block.seed(plan.seed), reason=one.reason)
            continue
        holders[place], findings = one.piece
        found[place] = BlockFindings(
            block.name,
            block.n,
            block.seed(plan.seed),
            tuple(finding for finding in findings if finding.job.role != "step"),
            constant=holders[place] in (0, block.n),
        )
        steps[place] = tuple(findings)
    if kept is not None:
        kept.prune(task.key for task in tasks if task.key is not None)
    for place, reason in small.items():
        found[place] = BlockFindings(
            blocks[place].name, blocks[place].n, blocks[place].seed(plan.seed), reason=reason
        )
    whole = [_of_all(job, plan, steps, holders) for job in jobs]
    return Audit(
        plan=plan,
        data=describe_people(dataset, name),
        findings=tuple(finding for finding in whole if finding.job.role != "step"),
        steps=tuple(finding for finding in whole if finding.job.role == "step"),
        command=command,
        blocks=worst_first([found[place] for place in range(len(blocks))]),
    )


def attack_block(payload: tuple[Dataset, Plan]) -> dict[str, Any]:
    """Every attack of a plan on the people of one block, as plain data; what a worker runs."""
    dataset, plan = payload
    assert dataset.secret is not None
    return {
        "holders": _holders(dataset),
        "findings": [to_plain(finding) for finding in attack_all(dataset, plan)],
    }


def _holders(dataset: Dataset) -> int:
    """How many have the secret; of several values, how many have the commonest."""
    assert dataset.secret is not None
    return int(dataset.secret.sum() if dataset.levels == 2 else np.bincount(dataset.secret).max())


def named_in_blocks(dataset: Dataset, plan: Plan, level: float) -> dict[str, list[dict[str, Any]]]:
    """The people whom each attack names with this confidence, by their row in the whole table."""
    named: dict[str, list[dict[str, Any]]] = {}
    for block in _blocks(dataset, plan):
        if too_small(block) is not None:
            continue
        for job, people in named_people(block.dataset, _alone(block, plan), level).items():
            rows = named.setdefault(job, [])
            rows += [
                {**one, "row": int(block.people[one["row"] - 1]) + 1, "block": block.name} for one in people
            ]
    return named


def _blocks(dataset: Dataset, plan: Plan) -> list[Area]:
    assert plan.by is not None
    return split(dataset, plan.by)


def _alone(block: Area, plan: Plan) -> Plan:
    """The plan for one block alone."""
    return replace(plan, by=None, seed=block.seed(plan.seed))


def _task(block: Area, plan: Plan, kept: Checkpoint | None) -> Task:
    alone = _alone(block, plan)
    key = None if kept is None else key_of(alone, block.dataset)
    return Task(block.name, lambda: (block.dataset, alone), key, block.n)


def _of_all(
    job: Job,
    plan: Plan,
    blocks: dict[int, tuple[Finding | Skipped, ...]],
    holders: dict[int, int],
) -> Finding | Skipped:
    rng = np.random.default_rng([plan.seed, _TOTALS, job.index])
    return pooled(job, [(blocks[place][job.index], holders[place]) for place in sorted(blocks)], rng=rng)
