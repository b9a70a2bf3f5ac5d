"""Points of the slider: other protections of a release, measured once, the cheapest for the reader first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tellall.audits.answers import strongest_rows
from tellall.audits.measures.disclosure import told_of_areas
from tellall.audits.outcome import Outcome
from tellall.audits.plans.places import Place, together_by_attack
from tellall.audits.plans.plan import Plan
from tellall.audits.sweep import SweepRow, rows_of, suggest_scales
from tellall.audits.trial import Planned, Trial, affordable
from tellall.audits.verdict import JudgedArea, Limits, area_name, judge, judge_area, judged_areas
from tellall.core.amounts import counted, digits, percent, points
from tellall.core.checkpoint import Checkpoint, checkpoint_key
from tellall.core.errors import TellallError
from tellall.core.jobs import run
from tellall.core.tasks import Done, Task
from tellall.core.work import Progress
from tellall.people.areas import fingerprint
from tellall.people.dataset import Dataset
from tellall.protections.additive import Gaussian
from tellall.protections.protection import Protection
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.release import catalogue
from tellall.serve.edits import chip_words

__all__ = ["measure", "point_view"]

Plain = dict[str, Any]
_MANY = 50  # areas from which fewer protections are measured
_WORST = 10  # areas listed next to the slider
_RANK = {"pass": 0, "review": 1, "fail": 2}
_HIDE_AND_ROUND = ((5, 0), (10, 0), (20, 0), (0, 5), (0, 10), (5, 5), (10, 5), (10, 10), (20, 10))


def measure(
    places: Sequence[Place], plan: Plan, limits: Limits, kept: Checkpoint, progress: Progress | None = None
) -> Plain:
    """What other protections of each release would give away and cost, as plain data.

    Notes
    -----
    The trials are those of the audit, and of a sweep with as many draws, so the numbers agree. They are about
    one release alone, which is why the audit of the changed plan decides. With areas, each is measured by
    itself, and all people together. What was published before stays as it is. Every finished point is kept.
    """
    largest = max(places, key=lambda place: place.setting.people.n).setting
    real = not largest.people.levels
    chosen = [
        (planned, done)
        for planned in plan.planned
        for done in _others(largest.people, planned, many=len(places) > _MANY)
    ]
    whose = [fingerprint(place.setting.people) for place in places]
    wanted = [replace(planned, protections=done) for planned, done in chosen]
    tasks = [
        Task(
            one.name,
            partial(tuple, (places, one, limits, plan)),
            None
            if (known := one.identity()) is None
            else checkpoint_key("point", plan.as_json(), plan.device, whose, index, known),
        )
        for index, one in enumerate(wanted)
    ]
    found: dict[str, list[Plain]] = {planned.name: [] for planned in plan.planned}
    for one in run(_measured, tasks, checkpoint=kept, progress=progress):
        if isinstance(one, Done):
            found[chosen[one.index][0].name].append(one.piece)
    return {
        "releases": [
            _ordered(index, planned, found[planned.name], real=real)
            for index, planned in enumerate(plan.planned)
        ]
    }


def _measured(work: tuple[Sequence[Place], Planned, Limits, Plan]) -> Plain:
    """One protection, as a sweep shows it: the decoder that gains most, and the most people by any."""
    places, planned, limits, plan = work
    people = max((place.setting.people for place in places), key=lambda one: one.n)
    decoders = affordable(people.n, plan.repeats, people.levels)
    found = [
        Trial(place.setting, (planned,), plan.repeats, place.seed(plan.seed)).run_all(decoders)
        for place in places
    ]
    whole = together_by_attack(found)
    (worst,) = strongest_rows(rows_of("", None, 0.0, whole, limits))
    protect = [catalogue.published(one) for one in planned.protections]
    judged = [
        judge_area(
            place.name or "",
            place.setting.people.n,
            [(planned.name, one) for one in outcomes],
            limits,
            len(places) * len(decoders),
            None,
        )
        for place, outcomes in zip(places, found, strict=True)
    ]
    each = [[_area(one, outcomes, limits)] for one, outcomes in zip(judged, found, strict=True)]
    sizes = [one.people for one in judged]
    areas = [row for (row,) in told_of_areas(sizes, each, (), ("exposed", "learnt"))]
    verdict = judged_areas(judge([(one.protection, one) for one in whole], limits), judged, limits)
    by_area = places[0].name is not None
    return {
        "label": planned.label,
        "words": ", ".join(map(chip_words, protect)) or "nothing: exact values",
        "protect": protect,
        **_numbers(worst),
        "draws": worst.draws,
        "verdict": verdict.word if by_area else worst.verdict,
        "decided": verdict.decided if by_area else worst.decided,
        "withheld": worst.missing,
        "areas": sorted(areas, key=lambda one: (-_RANK[one["verdict"]], -one["low"])) if by_area else [],
    }


def _numbers(row: SweepRow) -> Plain:
    """What the slider shows of a protection."""
    return {
        "advantage": row.advantage,
        "low": row.low,
        "high": row.high,
        "exposed": row.exposed,
        "learnt": row.learnt,
        "loss": row.loss,
    }


def _area(judged: JudgedArea, outcomes: Sequence[Outcome], limits: Limits) -> Plain:
    """What can still be learned in one area under a protection."""
    (worst,) = strongest_rows(rows_of("", None, 0.0, outcomes, limits))
    return {
        "name": area_name(judged.name),
        "people": judged.people,
        "verdict": judged.word,
        **_numbers(worst),
        "withheld": worst.missing,
    }


def _ordered(index: int, planned: Planned, several: Sequence[Plain], *, real: bool) -> Plain:
    """The points of a release, the cheapest for the reader first, and which of them is planned."""
    points_of = sorted(several, key=lambda one: (one["loss"] is None, one["loss"], one["label"]))
    place = next((at for at, one in enumerate(points_of) if one["label"] == planned.label), 0)
    return {"index": index, "name": planned.name, "points": points_of, "planned": place, "real": real}


def _others(people: Dataset, planned: Planned, *, many: bool) -> Iterator[tuple[Protection, ...]]:
    """The protections to measure: none, as planned, hiding and rounding, noise; fewer for many areas."""
    yield ()
    seen = {catalogue.label(())}
    fitting = list(_fitting(people, planned))
    for done in (planned.protections, *(fitting[1::3] if many else fitting)):
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
        scales = suggest_scales(people, planned.query)
    except TellallError:
        return
    yield from ((Gaussian(scale),) for scale in scales[2:])


def point_view(release: Plain, at: int, limit: float, area: str = "") -> Plain:
    """What the page shows about one point: its words and four meters from 0 to 100, for everybody or an area.

    ``cheapest`` is the index of the first point that passes, None if none does.
    """
    several = release["points"]
    place = min(max(at, 0), len(several) - 1)
    point = several[place]
    shown = [_of_area(one, area) for one in several]
    return {
        **point,
        "place": place,
        "is_planned": place == release["planned"],
        "cheapest": next((at for at, one in enumerate(several) if one["verdict"] == "pass"), None),
        "area": area if shown[place] is not point else "",
        "shown": shown[place],
        "counted": [
            (word, sum(one["verdict"] == word for one in point["areas"]))
            for word in ("fail", "review", "pass")
        ],
        "worst": point["areas"][:_WORST],
        "names": sorted(one["name"] for one in point["areas"]),
        "meters": _meters(shown, shown[place], limit, real=release.get("real", False)),
    }


def _of_area(point: Plain, area: str) -> Plain:
    return next((one for one in point["areas"] if one["name"] == area), point)


def _meters(
    several: Sequence[Plain], point: Plain, limit: float, *, real: bool
) -> list[tuple[str, str, float]]:
    """What one point gives away and costs, compared with the most that any point does."""
    most = max([*(max(0.0, one["advantage"]) for one in several), limit, 1e-9])
    known = [one["learnt"] for one in several if not isinstance(one["learnt"], str)]
    people, learnt = max(known, default=0) or 1, point["learnt"]
    worst = max((one["loss"] or 0.0) for one in several) or 1.0
    gained = digits(point["advantage"]) if real else f"{points(point['advantage'])} in 100"
    return [
        ("advantage", gained, 100 * max(0.0, point["advantage"]) / most),
        ("people given away", counted(learnt), 0.0 if isinstance(learnt, str) else 100 * learnt / people),
        ("values withheld", percent(point["withheld"] or 0.0), 100 * (point["withheld"] or 0.0)),
        (
            "error of a value",
            digits(point["loss"]),
            100 * (point["loss"] or 0.0) / worst,
        ),
    ]
