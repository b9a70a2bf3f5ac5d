"""Advice: what each part of a plan gives away, and the cheapest change that passes, beside an audit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tellall.audits.contributions import find_culprits
from tellall.audits.document import Audit
from tellall.audits.plans.places import kept_in, places_of
from tellall.audits.remedy import find_remedy
from tellall.core.jobs import Workers
from tellall.core.work import Progress
from tellall.people.dataset import Dataset

__all__ = ["Stage", "StageName", "with_advice"]

StageName = Literal["attacks", "culprits", "remedy"]
Stage = Callable[[StageName], AbstractContextManager[Progress | None]]


def with_advice(
    people: Dataset,
    audit: Audit,
    work: str | Path | None = None,
    workers: Workers | None = None,
    stage: Stage | None = None,
) -> Audit:
    """The audit with what each part of its plan adds, who is given away, and the cheapest change that passes.

    It is returned as it is where the attacks pass, nothing was attacked, or no change helps since the rules
    forbid a release.

    Parameters
    ----------
    work
        The audit's own folder of work, where every attack is kept; None: nothing is kept.
    stage
        Opens what shows the progress of a stage.
    """
    if audit.attacks.word == "pass" or audit.worst is None or audit.plan.forbidden:
        return audit
    opened: Stage = stage or (lambda _: nullcontext())
    with kept_in(work, people, audit.plan) as kept:
        with opened("culprits") as progress:
            culprits = find_culprits(people, places_of(people, audit.plan), audit, progress, workers, kept)
        planned = audit.plan.as_planned()
        with opened("remedy") as progress:
            asked = replace(audit, plan=planned)
            found = find_remedy(places_of(people, planned), asked, progress, workers, kept)
    return replace(audit, culprits=culprits, remedy=found)
