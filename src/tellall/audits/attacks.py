"""The attacks of a plan: its releases alone and together, every finding kept as soon as it is there."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from tellall.audits.findings import Finding, Job, Skipped, from_plain, to_plain, void
from tellall.audits.measures.contributors import ComparedRules, rules_of
from tellall.audits.measures.revealing_cells import CellRules
from tellall.audits.plans.plan import ALL_TOGETHER, Plan
from tellall.audits.trial import Planned, Setting, Trial, affordable
from tellall.audits.verdict import Limits
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import TellallError
from tellall.core.jobs import Workers, run
from tellall.core.reasons import Reason
from tellall.core.tasks import Failed, Task
from tellall.core.work import Parts, Progress, about
from tellall.people.areas import fingerprint
from tellall.people.dataset import Dataset
from tellall.release import catalogue

__all__ = [
    "Each",
    "attack_all",
    "compared_rules",
    "jobs_alone",
    "jobs_together",
    "key_of",
    "named_people",
    "trial_of",
]

Each = Callable[[Finding | Skipped], object]
_SMALL = 3  # every subset of this many first releases is attacked


def compared_rules(
    people: Dataset, releases: Sequence[Planned], seed: int, rules: CellRules
) -> ComparedRules | None:
    """What the agencies' rules say about the tables of sums and means, published once; see `rules_of`."""
    public = people.public
    tables = tuple(one for one in releases if one.statistic.number_tables(public) is not None)
    published = Trial(Setting(people), tables, seed=seed).published[0] if tables else ()
    return rules_of(people, published, rules)


def jobs_alone(plan: Plan) -> list[Job]:
    """The attack on each release of a plan, and on each with only its first protections."""
    whole = [(index, len(planned.protections)) for index, planned in enumerate(plan.releases)]
    jobs = [Job("alone", plan.releases[index].name, ((index, count),)) for index, count in whole]
    if plan.steps:
        seen = {_identity(plan, index, count) for index, count in whole}
        planned = [(index, most) for index, most in whole if plan.releases[index].given is None]
        for index, count in ((index, count) for index, most in planned for count in range(most)):
            if (identity := _identity(plan, index, count)) not in seen:
                seen.add(identity)
                one = plan.releases[index]
                title = f"{one.query.describe()}, {catalogue.label(one.protections[:count])}"
                jobs.append(Job("step", title, ((index, count),)))
    return jobs


def jobs_together(plan: Plan, attackable: Sequence[int]) -> list[Job]:
    """The sets of two releases or more to attack, made of those that can be attacked alone.

    Every subset of the first three, and every longer beginning, so the sets of a longer plan include those of
    a shorter one. Releases that are all published already have no order: those that share a column two by
    two, and all together.
    """
    first = attackable[:_SMALL]
    sets = [chosen for size in range(2, len(first) + 1) for chosen in combinations(first, size)]
    sets += [tuple(attackable[:size]) for size in range(_SMALL + 1, len(attackable) + 1)]
    if all(planned.given is not None for planned in plan.releases):
        pairs = [pair for pair in plan.pairs if set(pair) < set(attackable)]
        sets = [*pairs, tuple(attackable)] if len(attackable) > 1 else []
    everything = tuple(range(len(plan.releases)))
    return [
        Job(
            "together" if chosen == tuple(attackable) else "set",
            ALL_TOGETHER
            if chosen == everything
            else " + ".join(plan.releases[index].name for index in chosen),
            tuple((index, len(plan.releases[index].protections)) for index in chosen),
        )
        for chosen in sets
    ]


def attack_all(
    dataset: Dataset,
    plan: Plan,
    workers: Workers | None = None,
    kept: Checkpoint | None = None,
    progress: Progress | None = None,
    limits: Limits | None = None,
    *,
    each: Each | None = None,
) -> list[Finding | Skipped]:
    """The findings of a plan on these people: releases, steps, then sets; each is kept once it is there."""
    key = None if kept is None else key_of(plan, dataset)
    order = secrets.token_bytes(32) if kept is None or key is None else kept.derive(key, "order of people")
    setting = Setting(
        dataset, plan.device, order, plan.attacker, plan.seed, plan.cells, plan.accepted_predictors
    )
    within = limits or plan.limits(dataset)
    alone = jobs_alone(plan)
    possible = jobs_together(plan, _all(plan))
    parts = Parts(_work(setting, (*alone, *possible)), 1 if workers is None else workers.count)
    expected, done = sum(len(_decoders(setting, job)) for job in (*alone, *possible)), 0
    begun = False

    def told(total: int) -> None:
        if progress:
            progress(done, max(expected, total))

    def attacked(jobs: Sequence[Job]) -> list[Finding | Skipped]:
        several = Counter(_indices(job) for job in jobs)

        def payload(job: Job) -> tuple[Setting, Plan, Job]:
            nonlocal begun
            _ = setting.before  # made once, here, and sent to the workers
            if several[_indices(job)] > 1:
                with suppress(TellallError):  # the attack says it
                    setting.baselines([plan.releases[index].query for index in _indices(job)])
            if not begun:  # what takes its time from here on are attacks
                begun = True
                told(expected)
                if progress:
                    parts.begin()
            return setting, plan, job

        def task(job: Job) -> Task:
            filed = None if key is None else checkpoint_key(key, job.role, job.members)
            return Task(job.name, lambda: payload(job), filed)

        nonlocal done
        total = done + sum(len(_decoders(setting, job)) for job in jobs)
        found: dict[int, Finding | Skipped] = {}
        for one in run(_attack, list(map(task, jobs)), workers=workers, checkpoint=kept, parse=from_plain):
            found[one.index] = (
                Skipped(jobs[one.index], one.reason, within)
                if isinstance(one, Failed)
                else replace(one.piece, job=jobs[one.index], limits=within)
            )
            done += len(_decoders(setting, jobs[one.index]))
            if isinstance(found[one.index], Skipped):  # it took no time, and no set with it is attacked
                job = jobs[one.index]
                those = possible if job.role == "alone" else ()
                parts.leave_out([job, *(each for each in those if set(_indices(job)) <= set(_indices(each)))])
            else:
                parts.finish(jobs[one.index], told=begun and progress is not None)
            if begun or done == total:
                told(total)
            if each:
                each(found[one.index])
        return [found[index] for index in range(len(jobs))]

    first = [void(found) if _contradicted(found) else found for found in attacked(alone)]
    attackable = [
        found.job.members[0][0] for found in first if isinstance(found, Finding) and found.job.role == "alone"
    ]
    # a release about other people proves nothing, in whatever set
    wrong = {found.job.members[0] for found in first if _contradicted(found)}
    sets = jobs_together(plan, attackable)
    parts.leave_out(possible)
    parts.add(_work(setting, sets))
    joint = attacked(sets) if sets else []
    return [
        *first,
        *(
            void(found) if _contradicted(found) or wrong & set(found.job.members) else found
            for found in joint
        ),
    ]


def _all(plan: Plan) -> range:
    return range(len(plan.releases))


def _contradicted(found: Finding | Skipped) -> bool:
    return isinstance(found, Finding) and any(one.contradicted for one in found.outcomes)


def _indices(job: Job) -> tuple[int, ...]:
    return tuple(index for index, _ in job.members)


def _attack(work: tuple[Setting, Plan, Job]) -> dict[str, Any]:
    """One job from publishing to outcome, as plain data; what a worker runs."""
    setting, plan, job = work
    trial = trial_of(setting, plan, job)
    try:
        with about(job.name):
            return to_plain(Finding(job, trial.run_all(_decoders(setting, job))))
    except TellallError as error:
        cells: tuple[Reason, ...] = ()
        with suppress(TellallError):  # what cannot be attacked may still be published, and read
            cells = trial.cells
        return to_plain(Skipped(job, str(error), cells=cells))


def _work(setting: Setting, jobs: Sequence[Job]) -> dict[Job, float]:
    """How long each job takes, compared with the others.

    Several releases take longer than one, but less than all of them one by one; how many values they have
    hardly matters.
    """
    return {job: len(_decoders(setting, job)) * sqrt(len(job.members)) for job in jobs}


def _decoders(setting: Setting, job: Job) -> tuple[str, ...]:
    tried = affordable(setting.people.n, 1, setting.people.levels)
    return tried[:1] if job.role == "step" else tried


def trial_of(setting: Setting, plan: Plan, job: Job) -> Trial:
    """The trial of a job: its releases with as many of their protections as it says."""
    releases = tuple(
        replace(plan.releases[index], protections=plan.releases[index].protections[:count])
        for index, count in job.members
    )
    return Trial(setting, releases, plan.repeats, plan.seed)


def named_people(dataset: Dataset, plan: Plan, level: float) -> dict[str, list[dict[str, Any]]]:
    """For each release and all together, the people whom the attack names with this confidence."""
    setting = Setting(dataset, plan.device, None, plan.attacker, plan.seed, accepted=plan.accepted_predictors)
    named: dict[str, list[dict[str, Any]]] = {}
    jobs = [job for job in jobs_alone(plan) if job.role == "alone"]
    jobs += [job for job in jobs_together(plan, range(len(plan.releases))) if job.role == "together"]
    for job in jobs:
        try:
            trial = trial_of(setting, replace(plan, repeats=1), job)
            attacks, risks = trial.scored()
        except TellallError:
            continue  # the audit has said why
        risk, codes = risks[0], bool(setting.secret.levels)
        judged = setting.judged(trial.queries)
        guess = attacks[0].guess[judged]
        sure = attacks[0].confidence[judged] if codes else np.full(judged.size, level)
        people = sure >= level if codes else risk.sure(level)
        named[job.name] = [
            {
                "row": int(risk.rows[person]) + 1,
                "guess": dataset.meaning[int(guess[person])] if codes else float(guess[person]),
                "confidence": round(float(sure[person]), 4),
                "right": bool(risk.right[person]),
            }
            for person in np.flatnonzero(people)
        ]
    return named


def key_of(plan: Plan, dataset: Dataset) -> str | None:
    """A name for the audit of this plan on these people by this version; None if own classes decide it."""
    each = [planned.identity() for planned in plan.releases]
    if None in each:
        return None
    before = [one.given.identity() for one in plan.releases if one.given is not None]
    return checkpoint_key("audit", plan.as_json(), plan.device, each, before, fingerprint(dataset))


def _identity(plan: Plan, index: int, count: int) -> str:
    known = plan.releases[index].identity(count)
    return json.dumps([index, count] if known is None else known, sort_keys=True)
