"""Studies of a plan: its releases swept and its statistics calibrated in one call each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.outcome import Outcome
from tellall.audits.plans.attacker import Attacker
from tellall.audits.plans.places import places_of, together
from tellall.audits.plans.plan import Plan
from tellall.audits.studies import calibrate_plan, sweep_plan
from tellall.audits.sweep import SweepRow
from tellall.audits.trial import Planned, Trial
from tellall.core.not_done import NotDone
from tellall.core.work import Progress

RNG = np.random.default_rng(1)
PEOPLE = ta.Dataset.from_arrays(RNG.integers(0, 2, (40, 6)), secret=np.arange(40) % 2)
TABLES, NOISY = ta.Marginals(2), (ta.Gaussian(1.0),)
PLAN = Plan(
    releases=(Planned("bare", TABLES), Planned("noisy", TABLES, NOISY), Planned("fits", ta.Means())),
    secret="secret",
    seed=3,
)


def test_a_swept_plan_is_each_release_swept() -> None:
    seen: list[str] = []

    @contextmanager
    def watch(name: str) -> Iterator[Progress]:
        seen.append(name)
        yield lambda done, total: seen.append(f"{done} of {total}")

    plan = Plan(releases=PLAN.releases[:2], secret="secret", seed=3)
    options = {"repeats": 2, "decoders": ["least-squares"]}
    found = {one.name: one for one in sweep_plan(plan, PEOPLE, ["Gaussian"], [2.0], watch=watch, **options)}
    limits = {"limit": plan.limit, "exposed_limit": plan.exposed_limit}
    alone = ta.sweep(PEOPLE, TABLES, [None, NOISY, "Gaussian"], scales=[2.0], rng=3, **limits, **options)
    assert list(found) == ["bare", "noisy"]
    assert found["noisy"].as_json() == {"name": "noisy", **alone.as_json()}
    assert len(found["bare"].as_json()["rows"]) == 2
    assert [word for word in seen if "of" not in word] == ["bare", "noisy"]
    assert seen[-1] == "3 of 3"


def test_a_calibrated_plan_is_each_statistic_once_or_the_reason_why_not() -> None:
    options = {"draws": 4, "decoders": ["least-squares"]}
    found = {one.name: one for one in calibrate_plan(PLAN, PEOPLE, "Gaussian", 0.3, **options)}
    tables, means = found.values()
    assert list(found) == [TABLES.describe(), ta.Means().describe()]
    alone = ta.calibrate(PEOPLE, TABLES, ta.Gaussian, 0.3, rng=3, exposed_limit=PLAN.exposed_limit, **options)
    assert isinstance(tables, ta.Calibration)
    assert tables.as_json() == {"name": tables.name, **alone.as_json()}
    assert isinstance(means, NotDone)  # no equation about the secret: said, and the rest goes on


def test_an_attacker_is_one_of_a_plan() -> None:
    with pytest.raises(ta.InvalidInput, match=r"attacker must be one of Plan\.attackers; got journalist"):
        ta.sweep(PEOPLE, TABLES, [None], attacker="journalist")  # type: ignore[arg-type]


def test_a_wrong_question_is_an_error_however_many_statistics() -> None:
    with pytest.raises(ta.InvalidInput, match="max_advantage must be a share"):
        list(calibrate_plan(PLAN, PEOPLE, "Gaussian", 2.0))


ATTACKERS = [{"known": ["a0", "a1", "a2"]}, {"known_people": 0.7}, {"known_secrets": 0.2}]
NAMES = ("accuracy", "advantage", "proved")


def _released(**more: object) -> Plan:
    entry = {
        "name": "tables",
        "statistic": {"kind": "Marginals", "ways": 3},
        "protect": [{"kind": "Gaussian", "std": 1.0}],
    }
    return Plan.from_mapping({"seed": 3, "steps": False, "repeats": 2, "releases": [entry], **more})


def _same(outcome: Outcome, row: SweepRow) -> None:
    assert [getattr(outcome, name) for name in NAMES] == [getattr(row, name) for name in NAMES]
    assert outcome.interval == (row.low, row.high)
    assert outcome.exposed_people == row.exposed


@pytest.mark.parametrize("known", ATTACKERS, ids=str)
def test_studies_are_measured_against_the_attacker_of_the_plan(known: dict[str, Any]) -> None:
    plan = _released(**known)
    audited = {one.asked: one for one in ta.audit(PEOPLE, plan).findings[0].outcomes}
    (swept,) = sweep_plan(plan, PEOPLE, (), repeats=2)
    rows = [row for row in swept.rows if row.protection != "exact"]
    assert swept.name == "tables"
    assert [row.decoder for row in rows] == list(audited)
    for row in rows:
        _same(audited[row.decoder], row)
    options: dict[str, Any] = {"decoders": ["least-squares"], "attacker": plan.attacker, "rng": 3}
    least = ta.calibrate(PEOPLE, ta.Marginals(3), "Gaussian", 0.6, exposed_limit=None, draws=2, **options)
    rows_again = ta.sweep(PEOPLE, ta.Marginals(3), [least.protection], repeats=2, **options).rows
    (again,) = [row for row in rows_again if row.decoder == least.worst.asked]
    assert least.interval == (again.low, again.high)
    everything = ta.sweep(PEOPLE, ta.Marginals(3), [ta.Gaussian(1.0)], repeats=2, rng=3)
    assert [row.accuracy for row in everything.rows] != [row.accuracy for row in rows]


@pytest.mark.parametrize("known", ATTACKERS[1:], ids=str)
def test_areas_are_swept_against_the_attacker_of_the_plan(known: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    frame = {f"a{j}": rng.integers(0, 2, 60) for j in range(5)}
    frame |= {"town": np.array(["x", "y"] * 30), "ill": rng.permutation(np.arange(60) % 2)}
    people = ta.Dataset.from_frame(frame, secret="ill")
    plan = _released(by="town", **known)
    audited = {area.name: area.found[0].outcomes for area in ta.audit(people, plan).areas}
    (swept,) = sweep_plan(plan, people, (), repeats=2)
    assert isinstance(swept, ta.AreaSweep)
    for area in swept.areas:
        assert area.sweep is not None
        rows = [row for row in area.sweep.rows if row.protection != "exact"]
        for outcome, row in zip(audited[area.name], rows, strict=True):
            _same(outcome, row)


def test_each_of_several_attackers_has_a_study_of_its_own() -> None:
    plan = _released(attackers=[{"name": "insider"}, {"name": "neighbour", "known": ["a0"]}])
    found = {one.name: one for one in sweep_plan(plan, PEOPLE, (), repeats=1, decoders=["least-squares"])}
    assert list(found) == ["tables, to insider", "tables, to neighbour"]
    insider, neighbour = (one.rows[0].accuracy for one in found.values())
    assert insider > neighbour
    options = {"draws": 2, "decoders": ["least-squares"]}
    least = [one.name for one in calibrate_plan(plan, PEOPLE, "Gaussian", 0.6, **options)]
    assert [name.split(", to ")[1] for name in least] == ["insider", "neighbour"]


def test_numbers_are_calibrated_against_an_attacker_who_knows_some_people() -> None:
    rng = np.random.default_rng(4)
    columns = rng.normal(size=(60, 3))
    income = columns @ [3.0, 1.0, 0.5] + rng.normal(size=60)
    people = ta.Dataset.from_arrays(columns, income, kind="reals")
    fit, attacker = ta.Estimator("linear", block=3, intercept=True), Attacker(known_people=0.8)
    options: dict[str, Any] = {"attacker": attacker, "rng": 3}
    least = ta.calibrate(people, fit, "Gaussian", 1.0, exposed_limit=None, draws=2, **options)
    rows = ta.sweep(people, fit, [least.protection], repeats=2, **options).rows
    assert least.interval == max((row.low, row.high) for row in rows)


def test_the_same_statistic_of_other_people_is_calibrated_apart() -> None:
    statistic = {"kind": "Marginals", "ways": 2}
    where = f"{PEOPLE.public.names[0]} = 0"
    wheres: list[dict[str, str]] = [{"where": where}, {"where": where}, {}]
    releases = [{"name": str(place), "statistic": statistic, **one} for place, one in enumerate(wheres)]
    plan = Plan.from_mapping({"secret": "secret", "releases": releases, "exposed_limit": 40})
    found = {
        one.name: one
        for one in calibrate_plan(plan, PEOPLE, "Gaussian", 0.9, draws=1, decoders=["least-squares"])
    }
    assert list(found) == [f"every 2-way table, where {where}", "every 2-way table"]
    assert all(isinstance(one, ta.Calibration) for one in found.values())


@pytest.mark.parametrize("by", [None, "town"])
def test_the_second_release_of_a_plan_has_the_numbers_of_the_audit(by: str | None) -> None:
    rng = np.random.default_rng(3)
    frame = {**{c: rng.integers(0, 2, 40) for c in "abc"}, "town": np.array(["x", "y"])[np.arange(40) % 2]}
    people = ta.Dataset.from_frame({**frame, "s": (rng.random(40) < 0.4).astype(int)}, secret="s")
    noisy = {"statistic": {"kind": "Marginals", "ways": 2}, "protect": {"kind": "Gaussian", "std": 1.0}}
    releases = [{"name": "first", **noisy}, {"name": "second", **noisy}]
    plan = Plan.from_mapping({"secret": "s", "steps": False, "repeats": 3, "by": by, "releases": releases})
    places, found = places_of(people, plan), {}
    options = {"repeats": 3, "decoders": ["least-squares"]}
    for swept in sweep_plan(plan, people, ["Gaussian"], [1.0], **options):
        rows = swept.rows
        name = swept.name
        found[name] = [row.accuracy for row in rows if row.protection == "Gaussian(std=1)"]
        entry = next(one for one in plan.releases if one.name == name)
        trials = [Trial(place.setting, (entry,), 3, place.seed(plan.seed)) for place in places]
        audited = together([trial.run("least-squares") for trial in trials])
        assert found[name] == 2 * [audited.accuracy]
    assert found["first"] != found["second"]  # their noise is drawn apart


def test_a_calibration_draws_what_the_release_draws() -> None:
    """At the scale that it ends with, the numbers are those of a sweep of the same release."""
    plan = Plan(releases=(Planned("second", TABLES, NOISY, 1),), secret="secret", seed=3, exposed_limit=40)
    options: dict[str, Any] = {"decoders": ["least-squares"]}
    found, *_ = calibrate_plan(plan, PEOPLE, "Gaussian", 0.2, draws=2, **options)
    assert isinstance(found, ta.Calibration)
    assert found.scale > 0
    rows = {
        stream: ta.sweep(
            PEOPLE, TABLES, "Gaussian", scales=[found.scale], repeats=2, rng=3, stream=stream, **options
        )
        .rows[0]
        .accuracy
        for stream in (0, 1)
    }
    assert found.worst.accuracy == rows[1] != rows[0]


def test_an_attacker_may_know_the_column_that_makes_areas() -> None:
    rng = np.random.default_rng(0)
    frame = {"a": rng.integers(0, 2, 40), "b": rng.integers(0, 2, 40)}
    frame |= {"town": np.array(["x", "y"])[np.arange(40) % 2], "ill": (rng.random(40) < 0.4).astype(int)}
    people = ta.Dataset.from_frame(frame, secret="ill")
    entry = {"name": "t", "statistic": {"kind": "Marginals", "ways": 2}}
    plan = Plan.from_mapping({"releases": [entry], "steps": False, "by": "town", "known": ["town", "a"]})
    assert plan.attacker.in_areas("town") == Attacker(known=("a",))
    audited = ta.audit(people, plan)
    assert [one.reason for one in audited.areas] == [None, None]
    assert "town, a" in audited.document["assumed"][0]
    assert [place.setting.attacker.known for place in places_of(people, plan)] == [("a",), ("a",)]
    options: dict[str, Any] = {"decoders": ["least-squares"]}
    (swept,) = sweep_plan(plan, people, [], [1.0], repeats=1, **options)
    assert [area.reason for area in swept.areas] == [None, None]
    (tuned,) = calibrate_plan(plan, people, "Gaussian", 0.9, draws=1, **options)
    assert [area.reason for area in tuned.areas] == [None, None]
