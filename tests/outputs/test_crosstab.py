"""Crosstabs made by pandas: labels decide, positions never."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellall as ta

N = 240


def _frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "region": rng.choice(["east", "north", "south"], N),
            "age": rng.integers(20, 80, N),
            "ill": rng.choice(["no", "yes"], N, p=[0.7, 0.3]),
            "stage": rng.choice([1, 2, 3], N),
        }
    )


FRAME = _frame()
PEOPLE = ta.Dataset.from_frame(FRAME, secret="ill", public=["sex", "region", "age"])
EXPECTED = ta.publish(PEOPLE, ta.Marginals(3, [["sex", "region"]]))
TABLE = pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill)

SAME = {
    "as it is": TABLE,
    "turned": TABLE.T,
    "shuffled": TABLE.iloc[np.random.default_rng(3).permutation(len(TABLE)), ::-1],
    "secret in the rows": pd.crosstab([FRAME.ill, FRAME.region], FRAME.sex),
    "with totals": pd.crosstab([FRAME.region, FRAME.sex], FRAME.ill, margins=True),
    "totals by another name": pd.crosstab(
        FRAME.ill, [FRAME.sex, FRAME.region], margins=True, margins_name="Total"
    ),
    "shares of rows": pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill, normalize="index"),
    "shares of columns": pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill, normalize="columns"),
    "shares of all": pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill, normalize="all", margins=True),
    "percentages": 100 * pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill, normalize="index"),
    "shares within the secret": pd.crosstab(FRAME.ill, [FRAME.sex, FRAME.region], normalize="index"),
    "a pivot table": FRAME.pivot_table(
        index=["sex", "region"], columns="ill", values=["age"], aggfunc=["count"]
    ),
    "a series of sizes": FRAME.groupby(["region", "ill", "sex"]).size(),
    "an axis without a name": TABLE.rename_axis(columns=None),
}


@pytest.mark.parametrize("table", SAME.values(), ids=SAME.keys())
def test_every_way_to_print_a_table_is_the_same_release(table):
    for people in (PEOPLE, PEOPLE.public):
        found = ta.from_crosstab(table, people)
        assert found.statistic == EXPECTED.statistic
        assert np.array_equal(found.values, EXPECTED.values)


def test_shuffled_hidden_tables_give_the_same_attack():
    table = pd.crosstab(FRAME.region, FRAME.ill, margins=True).astype(float)
    table.iloc[0, 0] = table.iloc[1, 1] = np.nan
    turned = table.iloc[[3, 1, 0, 2], [2, 0, 1]].T
    one, other = (ta.reconstruct(ta.from_crosstab(each, PEOPLE), PEOPLE.public) for each in (table, turned))
    assert np.array_equal(one.guess, other.guess)
    assert np.array_equal(one.confidence, other.confidence)


def test_totals_give_hidden_cells_back():
    table = pd.crosstab(FRAME.region, FRAME.ill, margins=True).astype(float)
    exact = ta.linearise(ta.from_crosstab(table, PEOPLE), PEOPLE.public)
    table.loc["east", :] = np.nan
    hidden = ta.from_crosstab(table, PEOPLE)
    assert isinstance(hidden.statistic, ta.CellCounts)
    evidence = ta.linearise(hidden, PEOPLE.public)
    assert evidence.rank == exact.rank
    without = ta.linearise(ta.from_crosstab(table.drop("All").drop(columns="All"), PEOPLE), PEOPLE.public)
    assert without.rank == exact.rank - 1
    assert np.allclose(evidence.operator @ PEOPLE.secret, evidence.target)


def test_totals_of_shown_cells_say_nothing_of_hidden_ones():
    table = pd.crosstab(FRAME.region, FRAME.ill).astype(float)
    table.loc["east", "yes"] = np.nan
    table.loc["All"] = table.sum()
    table["All"] = table.sum(axis=1)
    found = ta.from_crosstab(table.rename_axis(columns="ill"), PEOPLE)
    assert found.statistic == ta.Marginals(2, [["region"]])
    assert np.isnan(found.values).sum() == 1


def test_labels_of_numbers_are_ranges():
    groups = pd.cut(FRAME.age, [0, 30, 45, 100])
    found = ta.from_crosstab(pd.crosstab(groups, FRAME.ill), PEOPLE)
    assert found.statistic.labels == (("(0, 30]", "(30, 45]", "(45, 100]"),)
    assert found.values.tolist() == found.exact(PEOPLE).tolist()
    words = pd.cut(FRAME.age, [0, 29, 44, 100], labels=["20-29", "30-44", "45+"]).astype(str)
    again = ta.from_crosstab(pd.crosstab(words, FRAME.ill), PEOPLE)
    assert again.values.tolist() == again.exact(PEOPLE).tolist()
    single = ta.from_crosstab(pd.crosstab(FRAME.age, FRAME.ill), PEOPLE)
    evidence = ta.linearise(single, PEOPLE.public)
    assert np.allclose(evidence.operator @ PEOPLE.secret, evidence.target)


def test_categories_as_secret():
    people = ta.Dataset.from_frame(FRAME, secret="stage", public=["sex", "region"])
    expected = ta.publish(people, ta.Marginals(2, [["region"]]))
    found = ta.from_crosstab(pd.crosstab(FRAME.stage, FRAME.region), people)
    assert np.array_equal(found.values, expected.values)
    assert found.levels == 3
    assert ta.from_crosstab(pd.crosstab(FRAME.stage, FRAME.region), people.public).levels == 3


def test_a_table_without_the_secret_is_a_table_of_public_columns():
    found = ta.from_crosstab(pd.crosstab(FRAME.region, FRAME.sex), PEOPLE)
    assert found.statistic == ta.Tables(2, [["sex", "region"]])
    assert np.array_equal(found.values, found.exact(PEOPLE))


def test_missing_values_are_people_whom_the_table_drops():
    frame = FRAME.assign(region=FRAME.region.where(FRAME.index % 7 > 0))
    people = ta.Dataset.from_frame(frame, secret="ill", public=["sex", "region"])
    found = ta.from_crosstab(pd.crosstab(frame.region, frame.ill), people)
    assert np.isnan(found.values).tolist() == [False] * 6 + [True] * 2
    whole = ta.from_crosstab(pd.crosstab(frame.region, frame.ill, dropna=False), people)
    assert np.array_equal(whole.values, ta.publish(people, found.statistic).values)


def test_absent_rows():
    fewer = TABLE.drop("east", level=1)
    with pytest.raises(ta.InvalidInput, match=r"no label for the region of .* absent='unknown'"):
        ta.from_crosstab(fewer, PEOPLE)
    found = ta.from_crosstab(fewer, PEOPLE, absent="unknown")
    shown = ~np.isnan(found.values)
    assert shown.sum() == fewer.size
    assert np.array_equal(found.values[shown], EXPECTED.values[shown])


def test_rounded_shares_of_all_keep_their_rounding():
    table = pd.crosstab(FRAME.region, FRAME.ill, normalize="all").round(2)
    found = ta.from_crosstab(table, PEOPLE, protect=ta.Rounding(0.01))
    assert found.statistic.scale == "fractions"
    assert np.abs(found.values - ta.publish(PEOPLE, found.statistic).values).max() <= 0.005 + 1e-12


def test_rounded_shares_of_rows_are_rates():
    for table in (
        pd.crosstab([FRAME.sex, FRAME.region], FRAME.ill, normalize="index").round(2),
        pd.crosstab(FRAME.ill, [FRAME.region, FRAME.sex], normalize="columns").round(2),
    ):
        found = ta.from_crosstab(table, PEOPLE, protect=ta.Rounding(0.01))
        assert found.statistic == ta.Marginals(3, [["sex", "region"]], scale="rates")
        assert np.abs(found.values - ta.publish(PEOPLE, found.statistic).values).max() <= 0.005 + 1e-12
    within = pd.crosstab(FRAME.ill, FRAME.region, normalize="index").round(2)
    with pytest.raises(ta.InvalidInput, match="left out for these shares"):
        ta.from_crosstab(within, PEOPLE, protect=ta.Rounding(0.01))


def test_a_table_of_some_people():
    young = FRAME[FRAME.age < 40]
    table = pd.crosstab(young.region, young.ill)
    expected = ta.publish(PEOPLE, ta.Marginals(2, [["region"]]), where="age < 40")
    for where in ("age < 40", (FRAME.age < 40).to_numpy()):
        found = ta.from_crosstab(table, PEOPLE.public, where=where)
        assert np.array_equal(found.values, expected.values)
        evidence = ta.linearise(found, PEOPLE.public)
        assert np.allclose(evidence.operator @ PEOPLE.secret, evidence.target)


REFUSED = {
    "an unknown label": (TABLE.rename(index={"east": "west"}), "'region'; got 'west'"),
    "an unknown value of the secret": (TABLE.rename(columns={"yes": "oui"}), "secret 'ill'; got 'oui'"),
    "an unknown column": (TABLE.rename_axis(index=["sex", "regoin"]), "Did you mean 'region'"),
    "other people": (
        pd.crosstab(FRAME[FRAME.age < 40].region, FRAME[FRAME.age < 40].ill),
        "about only some of them",
    ),
    "means": (FRAME.pivot_table(index="region", columns="ill", values="age"), "whole counts, or of shares"),
    "rounded shares": (
        pd.crosstab(FRAME.region, FRAME.ill, normalize="index").round(2),
        "Rounding",
    ),
    "numbers below zero": (TABLE - 50, "below zero"),
    "text": (TABLE.astype(object).where(TABLE > 5, "few"), "text in its cells"),
    "not a table": ([1, 2], "crosstab or pivot table; got list"),
    "no axis that fits": (
        pd.DataFrame([[1, 2], [3, 4]], index=["u", "v"], columns=["p", "q"]),
        "without a name",
    ),
}


@pytest.mark.parametrize(("table", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_understood_is_refused_by_name(table, words):
    with pytest.raises(ta.InvalidInput, match=words):
        ta.from_crosstab(table, PEOPLE)


def test_saved_and_loaded(tmp_path):
    table = pd.crosstab(FRAME.age, FRAME.ill, margins=True)
    found = ta.from_crosstab(table, PEOPLE)
    again = ta.Release.load(found.save(tmp_path / "table.json"))
    assert again.statistic == found.statistic
    assert np.array_equal(again.values, found.values)


def test_combinations_without_people_do_not_contradict_a_rule_that_hides_small_cells():
    """Tables list no combination that nobody has; the zeros read for those were taken for shown ones."""
    frame = pd.DataFrame(
        {"a": list("xxxxxxxyyyyyyyz"), "b": list("uuuuuuuuuvvvvvw"), "ill": [0, 1] * 7 + [0]}
    )
    people = ta.Dataset.from_frame(frame, secret="ill")
    printed = pd.crosstab([frame.a, frame.b], frame.ill)
    assert len(printed) < 3 * 3
    release = ta.from_crosstab(printed.where(printed >= 3), people.public, protect=ta.Suppression(3))
    attack = ta.reconstruct(release, people.public)
    assert attack.status.word != "contradictory"
