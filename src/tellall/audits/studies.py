"""Studies of a plan: each release swept, or each statistic calibrated, over all people or area by area."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tellall.audits.answers import area_calibration_answer, too_many_learnt
from tellall.audits.calibrate import NO_GUARANTEE, Calibration, calibrate
from tellall.audits.families import Family
from tellall.audits.plans.attacker import Attacker
from tellall.audits.plans.plan import Plan
from tellall.audits.study_areas import (
    AreaCalibration,
    AreaSweep,
    calibrate_areas,
    not_enough,
    sweep_areas,
)
from tellall.audits.sweep import Sweep, suggest_scales, sweep
from tellall.audits.trial import Planned
from tellall.core.errors import InvalidInput, NoAnswer, TellallError, WorkLost
from tellall.core.made import Made
from tellall.core.not_done import NotDone
from tellall.core.records import ALWAYS, Meaning
from tellall.core.work import Progress
from tellall.evidence.query import Query
from tellall.people.areas import split
from tellall.people.dataset import Dataset

__all__ = [
    "CalibrationFound",
    "SweepFound",
    "Watch",
    "calibrate_plan",
    "shortcomings",
    "sweep_plan",
    "whom_against",
]

ExposedLimit = Annotated[
    int | None,
    Meaning("The most people that may be exposed; null: the plan does not say.", unit="people", least=0),
]
Watch = Callable[[str], AbstractContextManager[Progress | None]]  # entered with a name while it is measured


@dataclass(frozen=True, kw_only=True)
class SweepFound(Made):
    """A whole sweep."""

    document: Annotated[Literal["sweep"], ALWAYS] = "sweep"
    command: str = ""
    data: Annotated[str, Meaning("The file of people.")]
    seed: Annotated[int, Meaning(least=0)]
    repeats: Annotated[int, Meaning("Draws of the noise of each protection.", least=1)]
    limit: Annotated[float, Meaning("The plan's limit on the advantage.", least=0, most=1)]
    exposed_limit: ExposedLimit = None
    warning: str
    releases: tuple[AreaSweep | Sweep, ...]

    @classmethod
    def of_plan(
        cls,
        plan: Plan,
        people: Dataset,
        families: Sequence[str],
        scales: Sequence[float] | None,
        *,
        repeats: int,
        command: str,
        data: str,
        told: Callable[[Sweep], object],
        **options: Any,
    ) -> SweepFound:
        """The sweep of every release of a plan; ``told`` hears of each. ``options`` are of `sweep_plan`."""
        releases = []
        for one in sweep_plan(plan, people, families, scales, repeats=repeats, **options):
            releases.append(one)
            told(one)
        return cls(
            command=command,
            data=data,
            seed=plan.seed,
            repeats=repeats,
            limit=plan.limit,
            exposed_limit=plan.exposed_limit,
            warning=f"{NO_GUARANTEE} {whom_against(plan, people.secret_name)}".strip(),
            releases=tuple(releases),
        )

    @property
    def tables(self) -> dict[str, Sweep]:
        """The sweeps by the names of their files."""
        if len(self.releases) == 1:
            return {"sweep": self.releases[0]}
        return {f"sweep-{number}": one for number, one in enumerate(self.releases, 1)}


@dataclass(frozen=True, kw_only=True)
class CalibrationFound(Made):
    """A whole calibration."""

    document: Annotated[Literal["calibrate"], ALWAYS] = "calibrate"
    command: str = ""
    data: Annotated[str, Meaning("The file of people.")]
    seed: Annotated[int, Meaning(least=0)]
    by: Annotated[str | None, Meaning("The column whose values are the areas.")]
    secret: Annotated[str, Meaning("The secret's name.")]
    real: Annotated[bool, Meaning("Whether it is a real number: accuracies are then errors, in its unit.")]
    family: str
    max_advantage: Annotated[float, Meaning(above=0)]
    exposed_limit: ExposedLimit = None
    releases: tuple[Calibration | AreaCalibration, ...]
    skipped: Annotated[
        tuple[NotDone, ...],
        Meaning("Statistics for which no noise of the family keeps the limit, or none was found."),
    ]

    @classmethod
    def of_plan(
        cls,
        plan: Plan,
        people: Dataset,
        family: Family,
        max_advantage: float,
        *,
        command: str,
        data: str,
        told: Callable[[Calibration | AreaCalibration], object],
        **options: Any,
    ) -> CalibrationFound:
        """The calibration of every statistic of a plan; ``told`` hears of each that has an answer.

        ``options`` are of `calibrate_plan`.
        """
        releases: list[Calibration | AreaCalibration] = []
        skipped = []
        for one in calibrate_plan(plan, people, family, max_advantage, **options):
            if isinstance(one, NotDone):
                skipped.append(one)
            else:
                releases.append(one)
                told(one)
        return cls(
            command=command,
            data=data,
            seed=plan.seed,
            by=plan.by,
            secret=people.secret_name,
            real=not people.levels,
            family=family.name,
            max_advantage=max_advantage,
            exposed_limit=plan.exposed_limit,
            releases=tuple(releases),
            skipped=tuple(skipped),
        )

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """Why one noise for all areas is not enough for all people, in sentences; empty if it is."""
        areas = [one for one in self.releases if isinstance(one, AreaCalibration)]
        return tuple(line for one in areas for line in shortcomings(one, self.exposed_limit))


def whom_against(plan: Plan, secret: str) -> str:
    """Which attackers a plan's studies are measured against, in words; empty if they know everything.

    Examples
    --------
    >>> from tellall.audits.plans.attacker import Attacker
    >>> whom_against(Plan((), attackers=(Attacker(known=("age",)),)), "ill")
    'Measured against an attacker who knows age of everybody.'
    """
    if all(one.knows_all for one in plan.attackers):
        return ""
    if len(plan.attackers) == 1:
        return f"Measured against an attacker who {plan.attacker.describe(secret)}."
    each = "; ".join(f"“{one.name}”, who {one.describe(secret)}" for one in plan.attackers)
    return f"Measured against each attacker of the plan separately: {each}."


def _named(name: str, plan: Plan, attacker: Attacker) -> str:
    """The name of a study; with several attackers, each has a study of its own."""
    return name if len(plan.attackers) == 1 else f"{name}, to {attacker.name}"


def _unwatched(name: str) -> AbstractContextManager[None]:
    return nullcontext()


def sweep_plan(
    plan: Plan,
    people: Dataset,
    families: Sequence[str] = ("Gaussian",),
    scales: Sequence[float] | None = None,
    *,
    work: Path | None = None,
    watch: Watch = _unwatched,
    **options: Any,
) -> Iterator[Sweep]:
    """Each release of a plan with its sweep: nothing done, as planned, and every family at every scale.

    Where a plan has several attackers, each release is swept for each of them.

    Parameters
    ----------
    scales
        The scales of each family; by default around the noise that begins to hide a person.
    work
        A folder where finished protections, or areas, are kept.
    watch
        Called with the name of each release; returns a context, entered while the release is measured, that
        gives the function to call with the progress.
    options
        ``repeats``, ``decoders``, ``processes`` and ``cluster`` of `sweep`.
    """
    options |= {"limit": plan.limit, "exposed_limit": plan.exposed_limit}
    options |= {"sensitive": plan.sensitive, "rng": plan.seed}
    pairs = [(entry, attacker) for entry in plan.releases for attacker in plan.attackers]
    for number, (entry, attacker) in enumerate(pairs, 1):
        tried = [None, *([entry.protections] if entry.protections else []), *families]
        name = _named(entry.name, plan, attacker)
        options |= {"attacker": attacker, "stream": entry.stream}
        options |= {"work": work and work / str(number)}
        with watch(name) as progress:
            options |= {"scales": scales or _scales_for(people, entry.query, plan.by)}
            options |= {"progress": progress}
            found: Sweep = (
                sweep(people, entry.query, tried, cells=plan.cells, **options)
                if plan.by is None
                else sweep_areas(people, entry.query, tried, by=plan.by, **options)
            )
        yield replace(found, name=name)


def calibrate_plan(
    plan: Plan,
    people: Dataset,
    family: object,
    max_advantage: float,
    *,
    processes: int = 1,
    cluster: str | None = None,
    work: Path | None = None,
    watch: Watch = _unwatched,
    **options: Any,
) -> Iterator[Calibration | AreaCalibration | NotDone]:
    """Each statistic of a plan with its calibration, or with the reason why it has none; for each attacker.

    ``options`` are ``draws``, ``decoders`` and, without areas, the promises of `calibrate`; the rest is as
    for `sweep_plan`. An error is raised only where no statistic of the plan can have an answer.
    """
    options |= {"exposed_limit": plan.exposed_limit, "sensitive": plan.sensitive, "rng": plan.seed}
    studies = [
        (_named(name, plan, attacker), entry, attacker)
        for name, entry in _different(plan)
        for attacker in plan.attackers
    ]
    wrong: list[TellallError] = []
    for number, (name, entry, attacker) in enumerate(studies, 1):
        options |= {"attacker": attacker, "stream": entry.stream, "work": work and work / str(number)}
        found: Calibration | AreaCalibration
        try:
            with watch(name) as progress:
                if plan.by is None:
                    options |= {"cells": plan.cells, "progress": progress}
                    found = calibrate(people, entry.query, family, max_advantage, **options)
                else:
                    options |= {"processes": processes, "cluster": cluster, "progress": progress}
                    options |= {"by": plan.by}
                    found = calibrate_areas(people, entry.query, family, max_advantage, **options)
        except WorkLost:
            raise
        except TellallError as error:
            if isinstance(error, InvalidInput) and not isinstance(error, NoAnswer):
                wrong.append(error)
            if len(studies) == 1 or len(wrong) == len(studies):  # the question itself is wrong
                raise (wrong or [error])[0] from None
            yield NotDone(name, str(error), "calibrate")
            continue
        whom = whom_against(plan, people.secret_name)
        yield replace(found, name=name, warnings=(*found.warnings, *([whom] if whom else ())))


def shortcomings(found: AreaCalibration, exposed_limit: int | None) -> tuple[str, ...]:
    """Why one noise for all areas is not enough for all people, in sentences; empty if it is."""
    said = () if found.enough else (not_enough(found),)
    if not too_many_learnt(found.learnt, exposed_limit):
        return said
    answer = area_calibration_answer(replace(found, name=None), exposed_limit)
    return (*said, f"{answer.word}. {answer.sentence}")


def _scales_for(people: Dataset, query: Query, by: str | None) -> list[float]:
    """Scales around the noise that begins to hide a person; with areas, in the largest of them."""
    if by is not None:
        people = max(split(people, by), key=lambda area: area.n).dataset
    return suggest_scales(people, query)


def _different(plan: Plan) -> list[tuple[str, Planned]]:
    """The first release of each statistic of a plan, named by what it describes, and by itself if two agree.

    The same statistic of other people is another one.
    """
    different: dict[str, Planned] = {}
    for entry in plan.releases:
        different.setdefault(_what(entry), entry)
    entries = list(different.values())
    described = [entry.query.describe() for entry in entries]
    return [
        (text if described.count(text) == 1 else f"{text} ({entry.name})", entry)
        for text, entry in zip(described, entries, strict=True)
    ]


def _what(entry: Planned) -> str:
    """What is computed, and of whom; a class from outside tellall is like no other."""
    known = entry.identity(0)
    return json.dumps([entry.name] if known is None else known, sort_keys=True)
