"""Points of the slider: other protections of a release, measured once, the cheapest for the reader first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tellall.core.amounts import percent, points
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import TellallError
from tellall.core.jobs import Done, Task, run
from tellall.core.progress import Progress
from tellall.experiment.audit import key_of
from tellall.experiment.plan import Plan
from tellall.experiment.sweep import rows_of, suggest_scales
from tellall.experiment.trial import Planned, Setting, Trial, affordable
from tellall.experiment.verdict import Limits
from tellall.people.dataset import Dataset
from tellall.release import catalogue
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.protection import Protection
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression
from tellall.serve.edits import chip_words

__all__ = ["measure", "point_view"]

Plain = dict[str, Any]
_HIDE_AND_ROUND = ((5, 0), (10, 0), (20, 0), (0, 5), (0, 10), (5, 5), (10, 5), (10, 10), (20, 10))


def measure(setting: Setting, plan: Plan, kept: Checkpoint, progress: Progress | None = None) -> Plain:
    """What other protections of each release would give away and cost, as plain data.

    Notes
    -----
    Measured by the same trials as in the audit, on the same draws, with proofs by bounds and no search for
    more: a preview, which the audit of the changed plan confirms or not. Every finished point is kept.
    """
    people = setting.people
    key, limits = key_of(plan, people), plan.limits(people)
    chosen = [(planned, done) for planned in plan.releases for done in _others(people, planned)]
    tasks = [
        Task(
            planned.name,
            partial(tuple, (setting, replace(planned, protections=done), limits, plan)),
            checkpoint_key("point", key, index, catalogue.label(done)),
        )
        for index, (planned, done) in enumerate(chosen)
    ]
    found: dict[str, list[Plain]] = {planned.name: [] for planned in plan.releases}
    for one in run(_measured, tasks, checkpoint=kept, progress=progress):
        if isinstance(one, Done):
            found[chosen[one.index][0].name].append(one.piece)
    return {
        "releases": [
            _ordered(index, planned, found[planned.name], real=not people.levels)
            for index, planned in enumerate(plan.releases)
        ]
    }


def _measured(work: tuple[Setting, Planned, Limits, Plan]) -> Plain:
    """One protection: of several decoders the one that gains most, and the most people by any."""
    setting, planned, limits, plan = work
    people = setting.people
    trial = Trial(setting, (planned,), plan.repeats, plan.seed, effort=0)
    decoders = affordable(people.n, plan.repeats, people.levels)[:2]
    rows = rows_of("", None, 0.0, trial.run_all(decoders), limits)
    worst = max(rows, key=lambda row: row["advantage"])
    protect = [catalogue.published(one) for one in planned.protections]
    return {
        "label": planned.label,
        "words": ", ".join(map(chip_words, protect)) or "nothing: exact values",
        "protect": protect,
        **{name: worst[name] for name in ("advantage", "low", "high", "loss", "verdict", "decided", "draws")},
        "exposed": max(row["exposed"] for row in rows),
        "learnt": max(row["learnt"] for row in rows),
        "withheld": worst["missing"],
    }


def _ordered(index: int, planned: Planned, several: Sequence[Plain], *, real: bool) -> Plain:
    """The points of a release, the cheapest for the reader first, and which of them is planned."""
    points_of = sorted(several, key=lambda one: (one["loss"] is None, one["loss"], one["label"]))
    place = next((at for at, one in enumerate(points_of) if one["label"] == planned.label), 0)
    return {"index": index, "name": planned.name, "points": points_of, "planned": place, "real": real}


def _others(people: Dataset, planned: Planned) -> Iterator[tuple[Protection, ...]]:
    """The protections to measure: none, as planned, hiding and rounding, noise."""
    yield ()
    seen = {catalogue.label(())}
    for done in (planned.protections, *_fitting(people, planned)):
        if (label := catalogue.label(done)) not in seen:
            seen.add(label)
            yield done


def _fitting(people: Dataset, planned: Planned) -> Iterator[tuple[Protection, ...]]:
    statistic = planned.statistic
    if statistic.counts_people and statistic.scale == "counts":
        for below, base in _HIDE_AND_ROUND:
            hidden = (Suppression(below),) if below else ()
            yield (*hidden, *((Rounding(base),) if base else ()))
    try:
        scales = suggest_scales(people, statistic)
    except TellallError:
        return
    yield from ((Gaussian(scale),) for scale in scales[2:])


def point_view(release: Plain, at: int, limit: float) -> Plain:
    """What the page shows of one point: its words, three meters from 0 to 100, its neighbours."""
    several = release["points"]
    place = min(max(at, 0), len(several) - 1)
    point, real = several[place], release.get("real", False)
    gains = [max(0.0, one["advantage"]) for one in several]
    most = max([*gains, limit, 1e-9])
    people = max(one["learnt"] for one in several) or 1
    worst = max((one["loss"] or 0.0) for one in several) or 1.0
    gained = f"{point['advantage']:.3g}" if real else f"{points(point['advantage'])} in 100"
    return {
        **point,
        "place": place,
        "is_planned": place == release["planned"],
        "meters": [
            ("advantage", gained, 100 * max(0.0, point["advantage"]) / most),
            ("people given away", f"{point['learnt']:,.0f}", 100 * point["learnt"] / people),
            ("values withheld", percent(point["withheld"] or 0.0), 100 * (point["withheld"] or 0.0)),
            (
                "error of a value",
                "–" if point["loss"] is None else f"{point['loss']:.3g}",
                100 * (point["loss"] or 0.0) / worst,
            ),
        ],
    }
