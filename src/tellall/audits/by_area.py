"""Areas: the same experiment in every part of the people, and added up over all of them.

Audits by area are here; sweeps and calibrations by area are in `study_areas`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tellall.audits.attacks import attack_all, key_of, named_people
from tellall.audits.document import Audit, describe_people
from tellall.audits.families import Family, as_family
from tellall.audits.findings import AreaFindings, Finding, Job, Skipped, from_plain, to_plain
from tellall.audits.outcome import Outcome, add_up
from tellall.audits.plans.attacker import Attacker
from tellall.audits.plans.plan import Plan
from tellall.audits.union import Proved, proved_together
from tellall.audits.verdict import Limits
from tellall.core.amounts import count_of
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import InvalidInput, NoAnswer, TellallError, TooLittlePower, invalid
from tellall.core.jobs import Workers, run
from tellall.core.not_done import NotDone
from tellall.core.tasks import Failed, Task
from tellall.core.work import Progress
from tellall.evidence.query import Asked, as_query
from tellall.people.areas import Area, fingerprint, split, too_small
from tellall.people.dataset import Dataset
from tellall.protections.protection import Protection
from tellall.release import catalogue

__all__ = [
    "audit_areas",
    "count_unanswered",
    "each_area",
    "named_in_areas",
    "nothing_found",
    "unanswered",
]

_SMALLEST = 100  # people: what an area takes to be attacked, however few live there


def audit_areas(
    dataset: Dataset,
    plan: Plan,
    progress: Progress | None,
    *,
    workers: Workers,
    kept: Checkpoint | None,
    name: str,
    command: str,
) -> Audit:
    """The audit of every area of a plan with ``by``; see `audit`."""
    if not dataset.levels:
        raise invalid("by", "left out where the secret is a real number", plan.by)
    areas, limits = _areas(dataset, plan), plan.limits(dataset)
    reasons = {index: why for index, area in enumerate(areas) if (why := too_small(area)) is not None}
    attacked = [index for index in range(len(areas)) if index not in reasons]
    tasks = [_task(areas[index], plan, limits, kept) for index in attacked]
    found: dict[int, list[Finding | Skipped]] = {}
    proved: list[Proved] = []
    for one in run(
        _attack_area, tasks, workers=workers, checkpoint=kept, parse=_parsed(limits), progress=progress
    ):
        if isinstance(one, Failed):
            reasons[attacked[one.index]] = one.reason
        else:
            found[attacked[one.index]], proof = one.piece
            proved.append(proof)
    if kept is not None:
        kept.prune(task.key for task in tasks if task.key is not None)
    jobs = list(dict.fromkeys(finding.job for index in sorted(found) for finding in found[index]))
    whole = [_of_all(job, [found[index] for index in sorted(found)], limits) for job in jobs]
    each = [
        AreaFindings(
            area.name,
            area.n,
            area.seed(plan.seed),
            tuple(finding for finding in found.get(index, ()) if finding.job.role != "step"),
            reason=reasons.get(index),
            constant=_constant(area),
        )
        for index, area in enumerate(areas)
    ]
    return Audit(
        plan=plan,
        data=describe_people(dataset, name),
        limits=limits,
        findings=tuple(finding for finding in whole if finding.job.role != "step"),
        steps=tuple(finding for finding in whole if finding.job.role == "step"),
        command=command,
        areas=_worst_first(each),
        proved=Proved.of_areas(proved),
    )


def named_in_areas(dataset: Dataset, plan: Plan, level: float) -> dict[str, list[dict[str, Any]]]:
    """The people whom each attack names with this confidence, by their row in the whole table."""
    named: dict[str, list[dict[str, Any]]] = {}
    for area in _areas(dataset, plan):
        if too_small(area) is not None:
            continue
        for job, people in named_people(area.dataset, _alone(area, plan), level).items():
            rows = named.setdefault(job, [])
            rows += [
                {**one, "row": int(area.people[one["row"] - 1]) + 1, "area": area.name} for one in people
            ]
    return named


def _areas(dataset: Dataset, plan: Plan) -> list[Area]:
    assert plan.by is not None
    return split(dataset, plan.by)


def _alone(area: Area, plan: Plan) -> Plan:
    """The plan for one area alone."""
    assert plan.by is not None
    attackers = tuple(one.in_areas(plan.by) for one in plan.attackers)
    return replace(plan, by=None, seed=area.seed(plan.seed), attackers=attackers)


def _task(area: Area, plan: Plan, limits: Limits, kept: Checkpoint | None) -> Task:
    alone = _alone(area, plan)
    key = None if kept is None else key_of(alone, area.dataset)
    return Task(area.name, lambda: (area.dataset, alone, limits), key, area.n + _SMALLEST)


def _attack_area(payload: tuple[Dataset, Plan, Limits]) -> dict[str, Any]:
    """Every attack of a plan on the people of one area, as plain data; what a worker runs.

    The people whom all sets of releases prove are counted here, so that nothing keeps who they are.
    """
    dataset, plan, limits = payload
    findings = attack_all(dataset, plan, limits=limits)
    whole = [one for one in findings if isinstance(one, Finding) and one.job.role != "step"]
    counted = [_counted(finding) for finding in findings]
    return {"findings": [to_plain(finding) for finding in counted], "proved": vars(proved_together(whole))}


def _counted(finding: Finding | Skipped) -> Finding | Skipped:
    """The finding without the proofs, which say who is proved."""
    if isinstance(finding, Skipped):
        return finding
    return replace(finding, outcomes=tuple(replace(one, proofs=None) for one in finding.outcomes))


def _parsed(limits: Limits) -> Callable[[dict[str, Any]], tuple[list[Finding | Skipped], Proved]]:
    return lambda piece: (
        [replace(from_plain(one), limits=limits) for one in piece["findings"]],
        Proved(**piece["proved"]),
    )


def _of_all(job: Job, areas: Sequence[Sequence[Finding | Skipped]], limits: Limits) -> Finding | Skipped:
    """One set of releases over all areas, decoder by decoder.

    A decoder that an area could not afford is replaced there by the strongest that was tried.
    """
    told = [finding for area in areas for finding in area if finding.job == job]
    found = [finding for finding in told if isinstance(finding, Finding)]
    if not found:
        reasons = [finding.reason for finding in told if isinstance(finding, Skipped)]
        return Skipped(job, reasons[0] if reasons else "no area could be attacked", limits)
    decoders = list(dict.fromkeys(one.asked for finding in found for one in finding.outcomes))
    outcomes = tuple(
        replace(
            add_up([_by(finding, decoder) for finding in found], len(areas), tried=len(decoders)),
            asked=decoder,
        )
        for decoder in decoders
    )
    return Finding(job, outcomes, limits)


def _by(finding: Finding, decoder: str) -> Outcome:
    return next((one for one in finding.outcomes if one.asked == decoder), finding.outcome)


def _worst_first(areas: Sequence[AreaFindings]) -> tuple[AreaFindings, ...]:
    """The areas, those that surely give away most first; those not attacked come last.

    The order is by the highest lower end of the intervals, which is what a verdict compares with the limit.
    By the advantage itself the smallest areas would come first, where luck is largest.
    """

    def rank(area: AreaFindings) -> tuple[float, ...]:
        worst = area.worst
        if worst is None:
            return (1.0, -area.people)
        found = worst.outcome
        return (0.0, -area.at_least, -found.advantage, -found.exposed_people, -area.people)

    return tuple(sorted(areas, key=lambda area: (rank(area), area.name)))


def _constant(area: Area) -> bool:
    """Whether everybody in an area has the same secret."""
    assert area.whole.secret is not None
    secret = area.whole.secret[area.people]
    return bool((secret == secret[0]).all())


# What sweeps and calibrations by area share.

_WORDS = {  # by the code of the reason
    "people": "with too few people to tell",
    "secret": "where everybody has the same secret",
    "limit": "where no scale keeps the limits",
    "other": "for other reasons",
}


def unanswered(code: str, reason: str) -> NotDone:
    """Why an area has no answer of its own, by a code of `_WORDS`."""
    return NotDone("", reason, "measure", code)


def few_people(area: Area) -> NotDone | None:
    """Why an area with too few people for a baseline has no answer; None if it has enough."""
    reason = too_small(area)
    return None if reason is None else unanswered("people", reason)


def same_secret(area: Area) -> NotDone | None:
    """Why an area where everybody has the same secret has no answer; None if they differ.

    Guessing the most common value is right about everybody there, so no attack gains anything, and a search
    for the least noise would end at none, whatever other areas need.
    """
    if not _constant(area):
        return None
    text = "everybody has the same secret: no attack gains anything, so no noise can be found"
    return unanswered("secret", text)


def count_unanswered(missing: Sequence[NotDone]) -> str:
    """How many areas have no answer, and why, as part of a sentence.

    Examples
    --------
    >>> count_unanswered([unanswered("people", "..."), unanswered("secret", "...")])
    '2 areas, 1 with too few people to tell, 1 where everybody has the same secret'
    """
    counts = {kind: sum(one.code == kind for one in missing) for kind in _WORDS}
    present = [kind for kind, count in counts.items() if count]
    parts = [f"{counts[kind]:,} {_WORDS[kind]}" for kind in present]
    if len(present) == 1:
        parts = [_WORDS[present[0]]]
    return f"{count_of(len(missing), 'area')}, {', '.join(parts)}"


def nothing_found(by: str, missing: Sequence[tuple[int, NotDone]]) -> InvalidInput:
    """The error when no area has an answer; ``missing`` has the people and the reason of each.

    Errors in the question itself come first.
    """
    wrong = [pair for pair in missing if pair[1].code == "other"]
    people, lack = max(wrong or missing, key=lambda pair: pair[0])
    unkept = any(one.code == "limit" for _, one in missing)
    error = InvalidInput if wrong else NoAnswer if unkept else TooLittlePower
    return error(
        f"No area by {by} has an answer ({count_unanswered([one for _, one in missing])}); "
        f"the largest{' of those' if wrong and len(wrong) < len(missing) else ''}, of {people:,} people: "
        f"{lack.reason}"
    )


def areas_of(dataset: Dataset, by: str) -> list[Area]:
    """The areas of people whose secret can be studied area by area."""
    if not isinstance(dataset, Dataset):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with ta.read.")
    if dataset.secret is None or not dataset.levels:
        raise invalid("dataset", "one with a secret of bits or categories", "none, or real numbers")
    return split(dataset, by)


def each_area(
    what: str,
    function: Callable[[Any], dict[str, Any]],
    areas: Sequence[Area],
    statistic: Asked,
    seed: int,
    options: Mapping[str, object],
    workers: Workers,
    work: str | Path | None,
    progress: Progress | None,
    *,
    parse: Callable[[dict[str, Any]], Any],
    unanswerable: Callable[[Area], NotDone | None] = few_people,
) -> list[tuple[Area, Any]]:
    """Each area with what the function made of it, or why it made nothing.

    The function gets (people, statistic, seed, options) and gives plain data; ``what`` names it in the
    checkpoint.
    """
    found: dict[int, Any] = {
        index: why for index, area in enumerate(areas) if (why := unanswerable(area)) is not None
    }
    indices = [index for index in range(len(areas)) if index not in found]
    tasks = [
        Task(
            areas[index].name,
            partial(_study_payload, areas[index], statistic, areas[index].seed(seed), options),
            None if work is None else _study_key(what, areas[index], statistic, seed, options),
            areas[index].n + _SMALLEST,
        )
        for index in indices
    ]
    with nullcontext() if work is None else Checkpoint.in_folder(work) as kept:
        for one in run(function, tasks, workers=workers, checkpoint=kept, parse=parse, progress=progress):
            found[indices[one.index]] = (
                unanswered("other", one.reason) if isinstance(one, Failed) else one.piece
            )
        if kept is not None:
            kept.prune(task.key for task in tasks if task.key is not None)
    return [(area, found[index]) for index, area in enumerate(areas)]


def _study_payload(
    area: Area, statistic: Asked, seed: int, options: Mapping[str, object]
) -> tuple[Dataset, Asked, int, Mapping[str, Any]]:
    return area.dataset, statistic, seed, options


def _study_key(
    what: str, area: Area, statistic: Asked, seed: int, options: Mapping[str, object]
) -> str | None:
    """The hash of everything that decides an area's numbers; None if the user's own code does."""
    try:
        chosen = {name: _plain(value) for name, value in options.items()}
        people = fingerprint(area.dataset)
        return checkpoint_key(what, people, as_query(statistic).identity(), area.seed(seed), chosen)
    except (TellallError, TypeError):
        return None


def _plain(value: object) -> Any:
    if isinstance(value, type):
        if value not in catalogue.kinds("protection").values():
            raise TypeError(value.__name__)
        return value.__name__
    if isinstance(value, Protection):
        # a cell key changes the noise and is written down only here, in a hash
        return [catalogue.to_plain(value), getattr(value, "key", None)]
    if isinstance(value, Family):
        if value.name not in catalogue.kinds("protection") or as_family(value.name) != value:
            raise TypeError(value.name)
        return value.name
    if isinstance(value, Attacker):
        return value.as_json()
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)
