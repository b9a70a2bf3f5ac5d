"""The audit: the attacks of a plan, judged, with what would stop them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from tellall.audits.advice import Stage, with_advice
from tellall.audits.attacks import Each, attack_all, compared_rules, named_people
from tellall.audits.by_area import audit_areas, named_in_areas
from tellall.audits.differences import differences, people_who_differ
from tellall.audits.document import Audit, describe_people, worst_first
from tellall.audits.findings import Finding
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import plan_of, read_plan
from tellall.audits.plans.record import Origin
from tellall.audits.union import proved_together
from tellall.core.checkpoint import Checkpoint
from tellall.core.errors import invalid
from tellall.core.jobs import Workers
from tellall.core.work import Progress, part_of_work
from tellall.linalg.operators.linear_operator import find_device
from tellall.outputs.output_folder import OutputFolder
from tellall.people.dataset import Dataset

__all__ = ["audit", "reveal"]

_NAMED = 20  # --reveal names the people by whom two releases differ, if there are no more


def audit(
    dataset: Dataset,
    plan: Plan | OutputFolder | Mapping[str, object] | str | Path,
    progress: Progress | None = None,
    *,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    device: str = "cpu",
    name: str = "",
    command: str = "ta.audit",
    remedy: bool = False,
    each: Each | None = None,
    record: Origin | None = None,
    judged: Callable[[Audit], object] | None = None,
    stage: Stage | None = None,
) -> Audit:
    """The audit of planned releases about these people.

    Parameters
    ----------
    dataset
        The people, with their secret.
    plan
        A plan, a mapping of the same shape, or the path of a TOML file. Or outputs that exist already, as
        `read_acro` returns them; they are attacked as they are.
    progress
        Called with (attacks done, attacks in all) when some are: those of every decoder on a set of releases;
        with ``by`` in the plan, with (areas done, areas).
    processes
        How many attacks, or areas, run at once, −1 for one per core; the numbers do not depend on it.
    cluster
        The address of a Dask scheduler, ``tcp://host:port``, to run them there; the people go there too.
    work
        A folder where every finished finding, or area, and every attack of the search for a remedy is kept,
        so that a run that was stopped continues there. It can serve many audits, one at a time. Only the
        areas of the last audit are kept.
    device
        Where equations are solved: "cpu", "cuda", "cuda:1"; see `reconstruct`.
    name, command
        What the page says the data and the command were.
    remedy
        If a plan does not pass, whether to look for what each part of it gives away and about whom
        (``audit.culprits``), and for the cheapest change that passes (``audit.remedy``). It can take several
        times as long as the audit. The command does so by default.
    each
        Called with every finding as soon as it is there; not with those of areas.
    record
        When the audit is made, and of which files.
    judged
        Called with the audit as soon as its verdict is there, before anything is looked for.
    stage
        Opens what shows the progress of a stage, instead of ``progress``: "attacks", "culprits", "remedy".

    Notes
    -----
    Every affordable decoder attacks every set of releases: all sets of the first three releases, each release
    alone, every beginning of the plan, and all together. So one more release at the end of a plan adds sets
    and takes none away. A release that cannot be attacked takes no part in the sets of the others. The same
    release and decoder have the same numbers as in `score`, `sweep` and `calibrate`. Several attackers are
    tried one by one; the audit is that of the worst, and ``attackers`` says what each achieves.
    """
    if not isinstance(dataset, Dataset):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with ta.read.")
    workers = Workers(processes, cluster)
    # asked for once: if there is no such device, one warning is enough
    chosen = replace(_as_plan(plan), device=find_device(device).name).attackable(dataset)
    chosen.check(dataset)
    called = name or Path(chosen.data).name or "a dataset"
    opened: Stage = stage or (lambda _: nullcontext(progress))
    with opened("attacks") as shown, nullcontext() if work is None else Checkpoint.in_folder(work) as kept:
        audits = []
        for number, attacker in enumerate(chosen.attackers):
            told = _part_of(shown, number, len(chosen.attackers))
            one = replace(chosen, attackers=(attacker,))
            with part_of_work(number, len(chosen.attackers)):
                audits.append(_by_one(dataset, one, workers, kept, told, called, command, each))
    done = replace(worst_first(audits), record=record)
    if judged is not None:
        judged(done)
    return with_advice(dataset, done, work, workers, stage) if remedy else done


def _part_of(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """The progress of one of several parts of equal length, as that of the whole."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress(number * total + done, parts * total)


def _by_one(
    dataset: Dataset,
    plan: Plan,
    workers: Workers,
    kept: Checkpoint | None,
    progress: Progress | None,
    name: str,
    command: str,
    each: Each | None = None,
) -> Audit:
    """The audit of a plan with one attacker."""
    if plan.by is not None:
        of_areas = audit_areas(
            dataset, plan, progress, workers=workers, kept=kept, name=name, command=command
        )
        return replace(of_areas, predictors=plan.tells_secret(dataset))
    found = attack_all(dataset, plan, workers, kept, progress, each=each)
    findings = tuple(finding for finding in found if finding.job.role != "step")
    return Audit(
        plan=plan,
        data=describe_people(dataset, name),
        limits=plan.limits(dataset),
        findings=findings,
        steps=tuple(finding for finding in found if finding.job.role == "step"),
        command=command,
        proved=proved_together([finding for finding in findings if isinstance(finding, Finding)]),
        differences=differences(dataset.public, plan, findings),
        rules=compared_rules(dataset, plan.releases, plan.seed, plan.cells),
        predictors=plan.tells_secret(dataset),
    )


def reveal(dataset: Dataset, plan: Plan, *, level: float = 0.95) -> dict[str, Any]:
    """The people whom each attack names with this confidence, by row: secrets, for the curator's eyes only.

    The attacks are those of the audit, run again, so that no other file holds a person.
    """
    if plan.by is not None:
        named = named_in_areas(dataset, plan, level)
    else:
        named = named_people(dataset, plan, level)
    return {
        "warning": "SECRET: what attacks conclude about single people. Not for publication.",
        "secret": dataset.secret_name,
        "confidence": level,
        "people": {name: [_of_file(dataset, one) for one in people] for name, people in named.items()},
        "differences": []
        if plan.by is not None
        else [_of_file(dataset, one) for one in people_who_differ(dataset.public, plan, _NAMED)],
    }


def _of_file(dataset: Dataset, one: dict[str, Any]) -> dict[str, Any]:
    """The same with rows of the file, from one, where some of its people were left out."""
    rows = dataset.rows
    if rows is None:
        return one
    return {
        name: int(rows[part - 1]) + 1
        if name == "row"
        else [int(rows[row - 1]) + 1 for row in part]
        if name in ("only_first", "only_second")
        else part
        for name, part in one.items()
    }


def _as_plan(plan: Plan | OutputFolder | Mapping[str, object] | str | Path) -> Plan:
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, OutputFolder):
        return Plan.of_outputs(plan)
    if isinstance(plan, Mapping):
        return plan_of(plan)
    if isinstance(plan, str | Path):
        return read_plan(plan, needs_data=False)
    raise invalid("plan", "a Plan, a mapping or the path of a TOML file", type(plan).__name__)
