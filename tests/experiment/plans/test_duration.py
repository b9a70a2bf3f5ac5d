"""How long an audit will take, told before it starts."""

import os

import numpy as np
import pytest

import tellall as ta
from tellall.experiment.plans.duration import Duration, waiting
from tellall.experiment.plans.plan import Plan

TABLES = {"statistic": {"kind": "Marginals", "ways": 2}}


def people(n: int, d: int, levels: int = 2) -> ta.Dataset:
    rng = np.random.default_rng(0)
    return ta.Dataset.from_arrays(rng.integers(0, levels, (n, d)), rng.integers(0, 2, n))


def seconds(plan: dict[str, object], everybody: ta.Dataset) -> float:
    return Plan.from_mapping({"steps": False, **plan}).time(everybody).seconds()


def test_time_grows_with_people_columns_and_releases():
    one = {"releases": [TABLES]}
    assert seconds(one, people(300, 6)) < seconds(one, people(3000, 12)) < seconds(one, people(3000, 20))
    two = {"releases": [TABLES, {**TABLES, "protect": {"kind": "Rounding", "base": 3}}]}
    assert seconds(one, people(3000, 12)) < seconds(two, people(3000, 12))
    assert seconds(two, people(3000, 12)) < seconds({**two, "repeats": 5}, people(3000, 12))


# measured on one core: people, columns, seconds of the processor; see docs/scale.md
@pytest.mark.parametrize(
    ("n", "d", "measured"),
    [
        (1000, 5, 2.3),
        (1000, 20, 7.1),
        (3000, 20, 5.5),
        (5000, 16, 5.8),
        (10_000, 10, 3.9),
        (100_000, 10, 6.7),
    ],
)
def test_what_is_told_is_within_a_factor_of_three_of_what_was_measured(n, d, measured):
    assert measured / 3 <= seconds({"releases": [TABLES]}, people(n, d)) <= 3 * measured


def test_what_is_told_of_many_distinct_rows_is_near_what_was_measured():
    """100,000 people, 20 columns of bits, every 3-way table hidden and rounded: 88 s and 2.7 GiB."""
    protect = [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}]
    plan = {"releases": [{"statistic": {"kind": "Marginals", "ways": 3}, "protect": protect}]}
    everybody = people(100_000, 20)
    assert 88 / 3 <= seconds(plan, everybody) <= 3 * 88
    assert 2748 / 2 <= Plan.from_mapping(plan).memory(everybody).host / 2**20 <= 2 * 2748


def test_areas_take_what_their_people_take():
    rng = np.random.default_rng(1)
    frame = {"county": np.repeat(["a", "b"], 40), "x": rng.integers(0, 3, 80), "ill": rng.integers(0, 2, 80)}
    everybody = ta.Dataset.from_frame(frame, secret="ill")
    told = Plan.from_mapping({"by": "county", "releases": [TABLES]}).time(everybody)
    assert told.baselines == 0
    assert told.seconds(2) < told.seconds()


def test_what_is_told_of_a_drafted_plan_is_near_what_was_measured():
    """3,000 people of five columns, 3-way tables hidden and rounded, with steps: 7.4 s of the processor."""
    rng = np.random.default_rng(1)
    frame = {f"c{j}": rng.integers(0, levels, 3000) for j, levels in enumerate((9, 2, 5, 6, 3))}
    everybody = ta.Dataset.from_frame({**frame, "ill": rng.integers(0, 2, 3000)}, secret="ill")
    protect = [{"kind": "Suppression", "below": 10}, {"kind": "Rounding", "base": 5}]
    release = {"statistic": {"kind": "Marginals", "ways": 3}, "protect": protect}
    assert 7.4 / 3 <= seconds({"releases": [release], "steps": True}, everybody) <= 3 * 7.4


def test_a_busy_machine_takes_longer(monkeypatch):
    """3,000 people on two cores with a load of 10: 8 s of the processor took 31 s of the clock."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (10.0, 0.0, 0.0), raising=False)
    assert waiting(2) == 6
    assert Duration(2.0, 3.8).told() == "about 46 seconds"
    monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 9.0, 9.0), raising=False)
    assert waiting() == 1
    monkeypatch.delattr(os, "getloadavg")
    assert waiting() == 1


def test_it_is_said_in_the_unit_that_one_would_use(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    assert str(Duration(10.0, 20.0)) == "about 32 seconds"
    assert str(Duration(100.0, 500.0)) == "about 10 minutes"
    assert str(Duration(0.0, 9000.0)) == "about 3 hours"


def test_many_people_are_begun_and_larger_tables_of_them_are_not():
    """Bits: some minutes and a gigabyte for a decoder. Four-way tables would take hours."""
    everybody = people(300_000, 20)
    tables = [{"statistic": {"kind": "Marginals", "ways": ways}} for ways in (3, 4)]
    few, many = (Plan.from_mapping({"steps": False, "releases": [one]}) for one in tables)
    assert few.time(everybody).seconds() < 900 < many.time(everybody).seconds()
    assert few.memory(everybody).host < 2 * 2**30
