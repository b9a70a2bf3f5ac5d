"""What a draft makes of columns: dates are no keys, numbers are cut until groups have people."""

from datetime import date, timedelta

import numpy as np
import pytest

import tellall as ta
from tellall.audits.plans.draft import draft, look_at
from tellall.audits.plans.plan import Plan

DAYS = np.array([np.datetime64(date(1940, 1, 1) + timedelta(days=37 * i)) for i in range(200)])


def drafted(table, tmp_path, **more):
    made = draft(table, "people.csv", **more)
    (tmp_path / "plan.toml").write_text(made.text)
    return made, ta.read_plan(tmp_path / "plan.toml", needs_data=False)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.permutation(np.arange(n) % 20) + 20,
        "kids": rng.permutation(np.arange(n) % 18),
        "ill": (rng.random(n) < 0.4).astype(int),
    }


def test_dates_that_differ_for_everybody_are_cut_and_not_left_out_as_a_key(tmp_path):
    look = look_at("born", DAYS)
    assert (look.kind, look.reason) == ("numbers", "")
    rng = np.random.default_rng(1)
    table = {"born": DAYS, "sex": rng.integers(0, 2, 200), "ill": rng.integers(0, 2, 200)}
    made, plan = drafted(table, tmp_path)
    assert made.public == ("born", "sex")
    assert not made.left_out
    assert 3 <= len(plan.bins["born"]) <= 9
    assert look_at("id", np.arange(200)).kind == "key"  # a number of everybody's own still is one


@pytest.mark.parametrize("n", [80, 200, 400, 4000])
def test_numbers_are_cut_until_their_parts_have_people(tmp_path, n):
    table = people(n)
    _, plan = drafted(table, tmp_path)
    view = ta.Dataset.from_frame(table, "ill", bins=plan.bins or None).public
    for codes, column in zip(view.codes, view.columns, strict=True):
        counts = np.bincount(codes)
        assert counts.min() >= min(10, n // 8), column
    assert (view.levels == (20, 18)) == (n == 4000)  # enough people for every value


@pytest.mark.parametrize("n", [80, 200, 1000])
def test_a_draft_shows_some_of_its_values(tmp_path, n):
    table = people(n)
    _, plan = drafted(table, tmp_path)
    shown = ta.publish(
        ta.Dataset.from_frame(table, "ill", bins=plan.bins),
        plan.releases[0].statistic,
        plan.releases[0].protections,
    ).values
    assert np.isnan(shown).mean() < 0.5


def test_a_draft_is_what_people_publish(tmp_path):
    """The secret by each column and one regression; larger tables are lines to uncomment."""
    rng = np.random.default_rng(0)
    table = {
        **people(400),
        "born": DAYS.repeat(2),
        "town": rng.choice(["a", "b"], 400),
        "pay": rng.lognormal(size=400),
    }
    made, plan = drafted(table, tmp_path, secret="ill")
    tables, fit = plan.releases
    assert tables.statistic == ta.Marginals(2)
    assert fit.statistic == ta.Estimator(
        "logistic", blocks=[["age", "kids", "pay"]], intercept=True
    )  # no dates
    more = made.text.replace("# [[releases]]", "[[releases]]").replace("# name", "name")
    more = more.replace("# statistic", "statistic").replace("# protect", "protect")
    (tmp_path / "more.toml").write_text(more)
    assert ta.read_plan(tmp_path / "more.toml", needs_data=False).releases[2].statistic == ta.Marginals(3)
    _, plan = drafted(table, tmp_path, secret="pay")
    assert [type(entry.statistic) for entry in plan.releases] == [ta.CellMeans, ta.Estimator]
    _, plan = drafted({**table, "ill": rng.choice(["no", "mild", "bad"], 400)}, tmp_path, secret="ill")
    assert [entry.statistic for entry in plan.releases] == [ta.Marginals(2)]  # categories have no regression


def test_what_the_page_asks_is_written_into_the_draft(tmp_path):
    _, plan = drafted(people(80), tmp_path, by="kids", known=["age"], seed=7)
    assert (plan.by, plan.attacker.known, plan.seed) == ("kids", ("age",), 7)


def test_a_release_that_shows_nothing_is_named_with_advice(tmp_path):
    from tellall.audits.plans.places import places_of
    from tellall.audits.withheld import mostly_withheld

    table = people(80)
    given = {
        "data": "people.csv",
        "secret": "ill",
        "releases": [
            {"name": "tables", "statistic": {"kind": "Marginals", "ways": 3}, "protect": HIDDEN},
            {"name": "shown", "statistic": {"kind": "Marginals", "ways": 2}},
        ],
    }
    plan, dataset = Plan.from_mapping(given), ta.Dataset.from_frame(table, "ill")
    said = mostly_withheld(places_of(dataset, plan), plan.releases, 0)
    assert said == (
        "“tables” withholds all of its 720 values. Publish tables of fewer columns, or cut "
        "numbers into fewer parts (bins).",
    )


HIDDEN = [{"kind": "Suppression", "below": 10}]
