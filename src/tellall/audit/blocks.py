"""The audit of many blocks: the same plan for each, results for each and for all people together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tellall.audit.finding import from_plain, to_plain
from tellall.audit.plan import Plan
from tellall.audit.pooled import pooled, worst_first
from tellall.audit.result import Audit, BlockFindings, Finding, Job, Skipped, describe_people
from tellall.audit.run import attack_all, jobs_of, key_of, named_people
from tellall.data import Block, Dataset, split
from tellall.data.blocks import too_small
from tellall.work import Failed, Kept, Progress, Task, Workers, run

__all__ = ["audit_blocks", "named_in_blocks"]

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
    """The audit of every block of a plan with ``by``; see :func:`tellall.audit`."""
    blocks = _blocks(dataset, plan)
    small = {place: reason for place, block in enumerate(blocks) if (reason := too_small(block)) is not None}
    attacked = [place for place in range(len(blocks)) if place not in small]
    kept = None if work is None else Kept.in_folder(work)
    tasks = [_task(blocks[place], plan, kept) for place in attacked]
    jobs = jobs_of(plan)
    found: dict[int, BlockFindings] = {}
    holders: dict[int, int] = {}
    steps: dict[int, tuple[Finding | Skipped, ...]] = {}

    def parse(piece: dict[str, Any]) -> tuple[int, list[Finding | Skipped]]:
        return int(piece["holders"]), [from_plain(job, piece["findings"][job.index]) for job in jobs]

    for one in run(attack_block, tasks, workers=workers, kept=kept, parse=parse, progress=progress):
        place = attacked[one.place]
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


def _blocks(dataset: Dataset, plan: Plan) -> list[Block]:
    assert plan.by is not None
    return split(dataset, plan.by)


def _alone(block: Block, plan: Plan) -> Plan:
    """The plan for one block alone."""
    return replace(plan, by=None, seed=block.seed(plan.seed))


def _task(block: Block, plan: Plan, kept: Kept | None) -> Task:
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
