"""Where halves go: what publishing does, what files say of it, and what is read from outside."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.protections.rounding import either_way

VALUES = np.array([5.0, 15.0, 25.0, -5.0, -15.0, -25.0, 14.0, 16.0, -14.0, -16.0])
GOES = {
    "even": [0, 20, 20, 0, -20, -20, 10, 20, -10, -20],
    "up": [10, 20, 30, 0, -10, -20, 10, 20, -10, -20],
    "away": [10, 20, 30, -10, -20, -30, 10, 20, -10, -20],
}
PEOPLE = random_people(40, 4, seed=3)


@pytest.mark.parametrize("ties", GOES)
def test_publishing_rounds_as_it_is_told(ties):
    assert ta.Rounding(10, ties=ties).perturb(VALUES).tolist() == GOES[ties]
    exact = ta.publish(PEOPLE, ta.Marginals(2)).values
    release = ta.publish(PEOPLE, ta.Marginals(2), ta.Rounding(2, ties=ties))
    odd = exact % 2 == 1
    assert odd.any()
    move = {"up": 1, "away": 1, "even": np.where(exact % 4 == 1, -1, 1)}[ties]
    assert np.array_equal(release.values, np.where(odd, exact + move, exact))
    assert release.protections == (ta.Rounding(2, ties=ties),)


def test_publishing_sends_halves_to_even_and_says_so():
    for ties in (None, "even"):
        release = ta.publish(PEOPLE, ta.Marginals(2), ta.Rounding(4, ties=ties))
        assert release.protections == (ta.Rounding(4, ties="even"),)
    silent = ta.publish(PEOPLE, ta.Marginals(2), ta.Rounding(4, ties="unknown"))
    assert silent.protections == (ta.Rounding(4, ties="unknown"),)
    assert np.array_equal(silent.values, release.values)


@pytest.mark.parametrize("ties", [None, *GOES])
def test_decimal_halves_are_halves_whatever_floats_make_of_them(ties):
    cents = np.arange(-40, 41)  # 0.005, 0.015, ... of which few are floating-point halves
    values = (2 * cents + 1) / 200
    expected = {
        None: cents + (cents % 2),
        "even": cents + (cents % 2),
        "up": cents + 1,
        "away": cents + (cents >= 0),
    }[ties]
    assert np.allclose(ta.Rounding(0.01, ties=ties).perturb(values), expected / 100, atol=1e-12)
    near = values + np.where(cents % 2 == 0, 1e-9, -1e-9)  # these are no halves
    assert np.allclose(
        ta.Rounding(0.01, ties=ties).perturb(near), (cents + (cents % 2 == 0)) / 100, atol=1e-12
    )


def test_what_is_no_rule_is_refused():
    with pytest.raises(ta.InvalidInput, match="ties"):
        ta.Rounding(10, ties="down")
    for mode in ("random", "controlled", "midpoint"):
        assert ta.Rounding(10, mode).as_published() == ta.Rounding(10, mode)
        with pytest.raises(ta.InvalidInput, match="left out unless mode is 'nearest'"):
            ta.Rounding(10, mode, ties="up")


def test_another_unit_keeps_the_rule_and_another_sign_does_not():
    assert ta.Rounding(10, ties="up").scaled(0.5) == ta.Rounding(5, ties="up")
    assert ta.Rounding(10, ties="up").scaled(-1) == ta.Rounding(10, ties="unknown")
    assert ta.Rounding(10, ties="away").scaled(-1) == ta.Rounding(10, ties="away")
    assert either_way([ta.Rounding(10, ties="up"), ta.Suppression(3)]) == (
        ta.Rounding(10, ties="unknown"),
        ta.Suppression(3),
    )


@pytest.mark.parametrize("ties", [None, "up", "away", "unknown"])
def test_a_file_names_the_rule(tmp_path, ties):
    release = ta.publish(PEOPLE, ta.Marginals(2), ta.Rounding(4, ties=ties))
    path = release.save(tmp_path / "r.json")
    (said,) = json.loads(path.read_text())["protect"]
    assert said == {"kind": "Rounding", "base": 4.0, "ties": ties or "even"}
    assert ta.Release.load(path).protections == release.protections


def test_a_file_that_names_no_rule_was_written_by_anybody(tmp_path):
    values = ta.Rounding(4, ties="up").perturb(ta.publish(PEOPLE, ta.Marginals(2)).values)
    outside = ta.Release.from_values(ta.Marginals(2), values, public=PEOPLE.public, protect=ta.Rounding(4))
    path = outside.save(tmp_path / "outside.json")
    assert "ties" not in json.loads(path.read_text())["protect"][0]
    read = ta.Release.load(path)
    assert read.protections == (ta.Rounding(4),)
    told = ta.publish(PEOPLE, ta.Marginals(2), ta.Rounding(4)).save(tmp_path / "published.json")
    document = json.loads(told.read_text())
    del document["protect"][0]["ties"]  # as files were before they named the rule
    told.write_text(json.dumps(document))
    for release in (read, ta.Release.load(told)):
        attack = ta.reconstruct(release, PEOPLE.public)
        proved = attack.identified == "proved"
        assert attack.status.word != "contradictory"
        assert (attack.guess == PEOPLE.secret)[proved].all()


def test_plans_publish_with_the_rule():
    release = {
        "name": "t",
        "statistic": {"kind": "Marginals", "ways": 2},
        "protect": {"kind": "Rounding", "base": 10, "ties": "up"},
    }
    plan = ta.Plan.from_mapping({"releases": [release]})
    assert plan.releases[0].protections == (ta.Rounding(10, ties="up"),)
    with pytest.raises(ta.InvalidInput, match="ties"):
        ta.Plan.from_mapping({"releases": [{**release, "protect": {**release["protect"], "ties": "x"}}]})


def test_crosstabs_and_files_of_counts_do_not_know(tmp_path):
    sex, ill = np.array(["f", "m"] * 30), np.array(["no"] * 25 + ["yes"] * 35)
    people = ta.Dataset.from_frame({"sex": sex, "ill": ill}, secret="ill")
    counts = pd.crosstab(pd.Series(sex, name="sex"), pd.Series(ill, name="ill"))
    up = (np.floor(counts / 10 + 0.5) * 10).astype(int)
    release = ta.from_crosstab(up, people.public, secret="ill", protect=ta.Rounding(10))
    assert release.protections == (ta.Rounding(10),)
    assert ta.reconstruct(release, people.public).status.word != "contradictory"
    path = tmp_path / "t.csv"
    up.stack().rename("count").reset_index().to_csv(path, index=False)
    (table,) = ta.read_count_tables(path, ta.Rounding(10))[""]
    exact = ta.CountTable({"sex": ["f", "m"]}, [30, 30])
    found = ta.rows_from_tables([table, exact])
    assert found.status.word != "contradictory"
    truth = counts.to_numpy().ravel()
    assert (found.lower <= truth).all()
    assert (truth <= found.upper).all()
