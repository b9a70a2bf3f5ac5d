"""The audit's loop: each release alone, then all together, every finding kept as soon as it is there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tellall.algebra.operators.device import find_device
from tellall.attack.baselines import Baseline, before_any_release, population
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.attack.secret import Secret
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import TellallError, invalid
from tellall.core.jobs import Failed, Progress, Task, Workers, run
from tellall.experiment.audited import Audit, describe_people
from tellall.experiment.finding import Finding, Job, Skipped, from_plain, to_plain
from tellall.experiment.foresight import foreseen, promised
from tellall.experiment.plan import ALL_TOGETHER, Plan
from tellall.experiment.risk import Risk, interval_over_draws
from tellall.experiment.scoring import score
from tellall.experiment.summary import Foreseen, Promised, ReleaseSummary, average, summarise
from tellall.experiment.tally import Tally
from tellall.people.areas import fingerprint
from tellall.people.dataset import Dataset
from tellall.release import catalogue
from tellall.release.protections.base import is_random
from tellall.release.release import Release, publish

__all__ = [
    "audit",
    "jobs_of",
    "published",
    "reveal",
]

_PUBLISHING, _ATTACKING, _PREPARING = 1, 2, 3  # separate streams of random numbers


def audit(
    dataset: Dataset,
    plan: Plan | Mapping[str, Any] | str | Path,
    progress: Progress | None = None,
    *,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    device: str = "cpu",
    name: str = "",
    command: str = "ta.audit",
) -> Audit:
    """The audit of planned releases about these people.

    Parameters
    ----------
    dataset
        The people, with their secret.
    plan
        A plan, a mapping of the same shape, or the path of a TOML file.
    progress
        Called with (attacks done, attacks in all) after each; with ``by`` in the plan, (blocks done, blocks).
    processes
        How many attacks, or blocks, run at once, −1 for one per core; the numbers do not depend on it.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``, to run them there; the people go there too.
    work
        A folder where every finished finding, or block, is kept, so that a run that was stopped continues
        there. It may serve many audits: findings are filed under a hash of plan, data and version. Of blocks
        only those of the last audit stay.
    device
        Where equations are solved: "cpu", "cuda", "cuda:1"; see `reconstruct`.
    name, command
        What the page says the data and the command were.
    """
    if not isinstance(dataset, Dataset):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with ta.read.")
    workers = Workers(processes, cluster)
    # asked for once: where there is no such device, one warning is enough
    chosen = replace(_as_plan(plan), device=find_device(device).name)
    chosen.check(dataset, reals=False)
    called = name or Path(chosen.data).name or "a dataset"
    if chosen.by is not None:
        from tellall.experiment.audit_areas import audit_blocks

        return audit_blocks(
            dataset, chosen, progress, workers=workers, work=work, name=called, command=command
        )
    kept = None if work is None else Checkpoint.in_folder(work)
    found = attack_all(dataset, chosen, workers, kept, progress)
    return Audit(
        plan=chosen,
        data=describe_people(dataset, called),
        findings=tuple(finding for finding in found if finding.job.role != "step"),
        steps=tuple(finding for finding in found if finding.job.role == "step"),
        command=command,
    )


def jobs_of(plan: Plan) -> list[Job]:
    """The attacks of a plan: each release, all together, and each release less its last protections."""
    whole = [(place, len(entry.protections)) for place, entry in enumerate(plan.releases)]
    jobs: list[tuple[str, str, tuple[tuple[int, int], ...]]] = [
        ("alone", plan.releases[place].name, ((place, kept),)) for place, kept in whole
    ]
    if len(whole) > 1:
        jobs.append(("together", ALL_TOGETHER, tuple(whole)))
    if plan.steps:
        seen = {_identity(plan, place, kept) for place, kept in whole}
        for place, kept in ((place, kept) for place, most in whole for kept in range(most)):
            if (identity := _identity(plan, place, kept)) not in seen:
                seen.add(identity)
                entry = plan.releases[place]
                title = f"{entry.statistic.describe()}, {catalogue.label(entry.protections[:kept])}"
                jobs.append(("step", title, ((place, kept),)))
    return [Job(index, role, name, members) for index, (role, name, members) in enumerate(jobs)]


def published(dataset: Dataset, plan: Plan, job: Job, draw: int = 0) -> list[Release]:
    """The releases that a job attacks; all jobs about the same entry see the same draw of its noise."""
    return [
        publish(
            dataset,
            plan.releases[place].statistic,
            plan.releases[place].protections[:kept],
            rng=_rng(plan, _PUBLISHING, place, draw),
        )
        for place, kept in job.members
    ]


def reveal(dataset: Dataset, plan: Plan, *, level: float = 0.95) -> dict[str, Any]:
    """The people whom each attack names with this confidence, by row: secrets, for the curator's eyes only.

    The attacks are those of the audit, run again, so that no other file holds a person.
    """
    if plan.by is not None:
        from tellall.experiment.audit_areas import named_in_blocks

        named = named_in_blocks(dataset, plan, level)
    else:
        named = named_people(dataset, plan, level)
    return {
        "warning": "SECRET: what attacks conclude about single people. Not for publication.",
        "secret": dataset.secret_name,
        "confidence": level,
        "people": named,
    }


def named_people(dataset: Dataset, plan: Plan, level: float) -> dict[str, list[dict[str, Any]]]:
    """For each attack, the people whom it names with this confidence."""
    assert dataset.secret is not None
    named: dict[str, list[dict[str, Any]]] = {}
    for job in jobs_of(plan):
        if job.role == "step":
            continue
        try:
            attack = _attack(dataset, plan, job, published(dataset, plan, job), 0)
        except TellallError:
            continue  # the audit has said why
        named[job.name] = [
            {
                "row": int(person) + 1,
                "guess": dataset.meaning[int(attack.guess[person])],
                "confidence": round(float(attack.confidence[person]), 4),
                "right": bool(attack.guess[person] == dataset.secret[person]),
            }
            for person in np.flatnonzero(attack.confidence >= level)
        ]
    return named


def key_of(plan: Plan, dataset: Dataset) -> str:
    """A name for the audit of this plan on these people by this version."""
    # a cell key changes the noise and is never written down but here, in a hash
    keys = [getattr(part, "key", None) for entry in plan.releases for part in entry.protections]
    return checkpoint_key("audit", plan.as_json(), plan.device, keys, fingerprint(dataset))


def attack_all(
    dataset: Dataset,
    plan: Plan,
    workers: Workers | None = None,
    kept: Checkpoint | None = None,
    progress: Progress | None = None,
) -> list[Finding | Skipped]:
    """The findings of a plan on these people, in the order of its jobs; each is kept once it is there."""
    jobs = jobs_of(plan)
    key = None if kept is None else key_of(plan, dataset)

    @cache
    def before() -> list[Baseline]:
        """What one would guess without the releases: for every job, if there is one to be done."""
        assert dataset.secret is not None
        return list(before_any_release(dataset.public, dataset.secret, Secret.of(dataset.levels)))

    def task(job: Job) -> Task:
        return Task(job.name, lambda: (dataset, plan, job, before()), key and f"{key}{job.index:04x}")

    def parse(piece: dict[str, Any]) -> Finding | Skipped:
        return from_plain(jobs[piece["job"]], piece)

    found: dict[int, Finding | Skipped] = {}
    for one in run(
        _finding, list(map(task, jobs)), workers=workers, checkpoint=kept, parse=parse, progress=progress
    ):
        found[one.index] = Skipped(jobs[one.index], one.reason) if isinstance(one, Failed) else one.piece
    return [found[job.index] for job in jobs]


def _finding(work: tuple[Dataset, Plan, Job, Sequence[Baseline]]) -> dict[str, Any]:
    """One job from publishing to summary, as plain data; what a worker runs."""
    dataset, plan, job, before = work
    found: Finding | Skipped
    try:
        found = Finding(job, *_summary(dataset, plan, job, before))
    except TellallError as error:
        found = Skipped(job, str(error))
    return {"job": job.index, **to_plain(found)}


def _summary(
    dataset: Dataset, plan: Plan, job: Job, before: Sequence[Baseline]
) -> tuple[ReleaseSummary, Tally]:
    rows: list[ReleaseSummary] = []
    risks: list[Risk] = []
    guessed: list[dict[str, Any]] = []
    known: tuple[Foreseen | None, Promised] | None = None  # the same for every draw
    for draw in range(_draws(plan, job)):
        releases = published(dataset, plan, job, draw)
        attack = _attack(dataset, plan, job, releases, draw)
        risk, baselines = _score(dataset, plan, job, attack, before, draw)
        known = known or _known_before(dataset, plan, job, len(attack.evidence.groups))
        rows.append(
            summarise(
                attack,
                risk,
                statistic=_statistics(plan, job),
                protection=_labels(plan, job),
                foreseen=known[0],
                promised=known[1],
            )
        )
        risks.append(risk)
        guessed.append({baseline.name: baseline.guess == dataset.secret for baseline in baselines})
    interval = interval_over_draws(risks, rng=_rng(plan, _ATTACKING, job.index, plan.repeats))
    return average(rows, interval), Tally.of([risk.right for risk in risks], guessed)


def _known_before(dataset: Dataset, plan: Plan, job: Job, groups: int) -> tuple[Foreseen | None, Promised]:
    """What the gauge foresees and what the protections promise."""
    assert dataset.secret is not None
    entries = [(plan.releases[place], kept) for place, kept in job.members]
    parts = [(entry.statistic, entry.protections[:kept]) for entry, kept in entries]
    declared = promised(parts, dataset.public)
    if dataset.levels != 2:
        return None, declared  # the gauge is one of bits
    return foreseen(parts, dataset.public, float(dataset.secret.mean()), groups), declared


def _attack(dataset: Dataset, plan: Plan, job: Job, releases: Sequence[Release], draw: int) -> Reconstruction:
    generator = _rng(plan, _ATTACKING, job.index, draw)
    attack = reconstruct(releases, dataset.public, rng=generator, device=plan.device)
    assert isinstance(attack, Reconstruction)  # plans are about bits and categories
    return attack


def _score(
    dataset: Dataset, plan: Plan, job: Job, attack: Reconstruction, before: Sequence[Baseline], draw: int
) -> tuple[Risk, list[Baseline]]:
    assert dataset.secret is not None
    generator = _rng(plan, _PREPARING, job.index, draw)
    statistics = [release.statistic for release in attack.releases]
    reference = population(statistics, dataset.public, dataset.secret, Secret.of(dataset.levels))
    baselines = [*before, *([] if reference is None else [reference])]
    return score(attack, dataset.secret, baselines, rng=generator), baselines


def _draws(plan: Plan, job: Job) -> int:
    """How often the releases of a job are drawn: once where nothing in them is random."""
    steps = [step for place, kept in job.members for step in plan.releases[place].protections[:kept]]
    return plan.repeats if is_random(steps) else 1


def _rng(plan: Plan, *place: int) -> np.random.Generator:
    """The stream of one place in the audit, whatever ran before it."""
    return np.random.default_rng([plan.seed, *place])


def _identity(plan: Plan, place: int, kept: int) -> str:
    entry = plan.releases[place].as_json()
    return json.dumps([entry["statistic"], entry["protect"][:kept]], sort_keys=True)


def _statistics(plan: Plan, job: Job) -> str:
    return " + ".join(dict.fromkeys(plan.releases[place].statistic.describe() for place, _ in job.members))


def _labels(plan: Plan, job: Job) -> str:
    labels = (catalogue.label(plan.releases[place].protections[:kept]) for place, kept in job.members)
    return " + ".join(dict.fromkeys(labels))


def _as_plan(plan: Plan | Mapping[str, Any] | str | Path) -> Plan:
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, Mapping):
        return Plan.from_mapping(plan)
    if isinstance(plan, str | Path):
        return Plan.read(plan, needs_data=False)
    raise invalid("plan", "a Plan, a mapping or the path of a TOML file", type(plan).__name__)
