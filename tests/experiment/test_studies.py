"""Studies of a plan: its releases swept and its statistics calibrated in one call each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tellall as ta
from tellall.core.work import Progress
from tellall.experiment.plans.plan import Plan
from tellall.experiment.studies import calibrate_plan, sweep_plan
from tellall.experiment.trial import Planned

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
    found = dict(sweep_plan(plan, PEOPLE, ["Gaussian"], [2.0], watch=watch, **options))
    limits = {"limit": plan.limit, "exposed_limit": plan.exposed_limit}
    alone = ta.sweep(PEOPLE, TABLES, [None, NOISY, "Gaussian"], scales=[2.0], rng=3, **limits, **options)
    assert list(found) == ["bare", "noisy"]
    assert found["noisy"].as_json() == alone.as_json()
    assert len(found["bare"].as_json()["rows"]) == 2
    assert [word for word in seen if "of" not in word] == ["bare", "noisy"]
    assert seen[-1] == "3 of 3"


def test_a_calibrated_plan_is_each_statistic_once_or_the_reason_why_not() -> None:
    options = {"draws": 4, "decoders": ["least-squares"]}
    found = dict(calibrate_plan(PLAN, PEOPLE, "Gaussian", 0.3, **options))
    tables, means = found.values()
    assert list(found) == [TABLES.describe(), ta.Means().describe()]
    alone = ta.calibrate(PEOPLE, TABLES, ta.Gaussian, 0.3, rng=3, exposed_limit=PLAN.exposed_limit, **options)
    assert isinstance(tables, ta.Calibration)
    assert tables.as_json() == alone.as_json()
    assert isinstance(means, str)  # no equation about the secret: said, and the rest goes on


def test_a_wrong_question_is_an_error_however_many_statistics() -> None:
    with pytest.raises(ta.InvalidInput, match="max_advantage must be a share"):
        list(calibrate_plan(PLAN, PEOPLE, "Gaussian", 2.0))
