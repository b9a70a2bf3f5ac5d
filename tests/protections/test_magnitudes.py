"""Protections of sums: top-coding, multiplied noise, dominance and p %, and cell keys by count."""

from dataclasses import replace

import numpy as np
import pytest

import tellall as ta
from tellall.protections.concentration import cells_of_people, largest_of
from tellall.testing import check_protection

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(2)
FIRMS = ta.Dataset.from_arrays(RNG.integers(0, 3, (60, 3)), RNG.lognormal(2, 1.5, 60), names=["a", "b", "c"])


def by_hand(ways, rule):
    """Whether each cell of each table breaks a rule of the contributions in it."""
    from itertools import combinations, product

    codes, out = np.asarray(FIRMS.public.codes), []
    for columns in combinations(range(3), ways - 1):
        for cell in product(range(3), repeat=ways - 1):
            inside = np.all([codes[j] == v for j, v in zip(columns, cell, strict=True)], axis=0)
            out.append(rule(np.sort(FIRMS.secret[inside])[::-1]))
    return np.array(out)


@pytest.mark.parametrize("ways", [2, 3, 4])
def test_rules_are_those_of_the_agencies(ways):
    def p_percent(x):
        return len(x) > 0 and x.sum() - x[:2].sum() < 0.2 * x[0]

    shown = ta.publish(FIRMS, ta.Sums(ways), ta.PPercent(20)).values
    np.testing.assert_array_equal(np.isnan(shown), by_hand(ways, p_percent))
    shown = ta.publish(FIRMS, ta.CellMeans(ways, counts=True), ta.Dominance(2, 0.7)).values
    broken = by_hand(ways, lambda x: len(x) > 0 and x[:2].sum() > 0.7 * x.sum())
    empty = by_hand(ways, lambda x: len(x) == 0)
    half = broken.size
    np.testing.assert_array_equal(np.isnan(shown[:half]), broken | empty)
    assert not np.isnan(shown[half:]).any()  # counts stay


def test_complementary_suppression_leaves_no_line_with_one_gap():
    shown = ta.publish(FIRMS, ta.Sums(3), ta.PPercent(30, complementary=True)).values.reshape(3, 3, 3)
    bare = ta.publish(FIRMS, ta.Sums(3), ta.PPercent(30)).values.reshape(3, 3, 3)
    assert np.isnan(shown[np.isnan(bare)]).all()
    for axis in (1, 2):
        assert not (np.isnan(shown).sum(axis=axis) == 1).any()


def test_largest_contributions():
    cell = np.array([0, 0, 1, 0])
    found = largest_of(cell, 3, np.array([2.0, 5.0, 1.0, 3.0]), 2)
    assert found.tolist() == [[5.0, 3.0], [1.0, 0.0], [0.0, 0.0]]
    (codes, cells), *_ = cells_of_people(ta.Sums(3), FIRMS.public)
    assert codes.max() < cells == 9


@pytest.mark.parametrize(
    "protect",
    [
        ta.TopCoding(5.0),
        ta.MultiplicativeNoise(0.1),
        ta.MultiplicativeNoise(0.3, bound=0.4),
        ta.Dominance(1, 0.6),
        ta.PPercent(10),
        ta.PPercent(10, complementary=True),
    ],
    ids=repr,
)
def test_laws(protect):
    check_protection(protect, statistic=ta.Sums(3))


def test_what_is_multiplied_and_cut():
    values = ta.publish(FIRMS, ta.Sums(2), ta.TopCoding(4.0)).values
    np.testing.assert_allclose(
        values, ta.publish(replace(FIRMS, secret=np.minimum(FIRMS.secret, 4)), ta.Sums(2)).values
    )
    noisy = ta.MultiplicativeNoise(0.5, bound=0.2).records(FIRMS, 1).secret / FIRMS.secret
    assert np.abs(noisy - 1).max() <= 0.2
    assert noisy.std() > 0.05
    release = ta.publish(FIRMS, ta.Sums([2, 3]), ta.MultiplicativeNoise(0.1), rng=3)
    np.testing.assert_allclose(release.values[:3].sum(), release.values[9:18].sum())  # tables stay consistent
    assert not ta.reconstruct(release, FIRMS.public).status.settled  # the law is not known


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ta.Dominance(0, 0.5),
        lambda: ta.Dominance(1, 0),
        lambda: ta.Dominance(1, 1.5),
        lambda: ta.PPercent(0),
        lambda: ta.PPercent(5, complementary="yes"),
        lambda: ta.TopCoding(float("nan")),
        lambda: ta.MultiplicativeNoise(-1),
        lambda: ta.MultiplicativeNoise(1, bound=0),
        lambda: ta.publish(FIRMS, ta.Estimator("linear"), ta.PPercent(5)),
        lambda: ta.publish(
            replace(FIRMS, secret=np.arange(60) % 2, meaning=("0", "1")), ta.Sums(2), ta.TopCoding(1)
        ),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(ta.InvalidInput, match="must be"):
        wrong()


TABLE = pd.DataFrame(
    [
        (count, key, [0, 1, -1, 0][key] if count < 3 else [2, -2, 1, -1][key])
        for count in (1, 2, 3)
        for key in range(4)
    ],
    columns=["pcv", "ckey", "pvalue"],
)
PEOPLE = ta.Dataset.from_arrays(RNG.integers(0, 2, (80, 4)), RNG.permutation(np.arange(80) % 2))


def test_a_table_by_count_and_key_is_looked_up(tmp_path):
    exact = ta.publish(PEOPLE, ta.Marginals(3)).values
    law = ta.CellKey(TABLE, key=9)
    found = ta.publish(PEOPLE, ta.Marginals(3), law)
    error = found.values - exact
    assert set(error[exact == 0]) <= {0.0}
    assert set(error[(exact > 0) & (exact < 3)]) <= {0.0, 1.0, -1.0}
    assert set(error[exact >= 3]) == {2.0, -2.0, 1.0, -1.0}
    assert (ta.publish(PEOPLE, ta.Marginals(3), law).values == found.values).all()
    both = ta.publish(PEOPLE, ta.Marginals([2, 3]), law).values
    np.testing.assert_array_equal(both[8 * 1 * 2 :][: error.size], found.values)  # same people, same noise
    TABLE.to_csv(tmp_path / "ptable.csv", index=False)
    assert ta.CellKey(tmp_path / "ptable.csv", key=9) == law
    assert ta.CellKey(law.table, key=9) == law
    loaded = ta.Release.load(found.save(tmp_path / "release.json"))
    assert loaded.noise.std == law.std
    assert "9" not in repr(loaded.protections[0].key)
    check_protection(ta.CellKey(TABLE))


@pytest.mark.parametrize(
    "wrong",
    [
        TABLE.iloc[1:],
        TABLE.assign(pvalue=-5),
        TABLE.drop(columns="ckey"),
        TABLE.assign(pvalue=float("nan")),
        pd.concat([TABLE, TABLE]),
        pd.concat([TABLE, pd.DataFrame({"pcv": [0], "ckey": [0], "pvalue": [3]})]),
        [(1, 0, "x")],
    ],
)
def test_tables_that_are_none(wrong):
    with pytest.raises(ta.InvalidInput, match="table must be"):
        ta.CellKey(wrong)


def test_fractions_and_sums_have_no_counts_to_look_up():
    for statistic in (ta.Marginals(2, scale="fractions"), ta.Marginals(2, scale="rates")):
        with pytest.raises(ta.InvalidInput, match="protect must be"):
            ta.publish(PEOPLE, statistic, ta.CellKey(TABLE))


def test_plans_name_them():
    plan = {
        "steps": False,
        "releases": [
            {"statistic": {"kind": "Sums", "ways": 3}, "protect": {"kind": "PPercent", "p": 20}},
            {
                "statistic": {"kind": "Sums", "ways": 2},
                "protect": {"kind": "Dominance", "n": 1, "share": 0.7},
            },
        ],
    }
    assert ta.audit(FIRMS, plan).verdict.word in ("pass", "review", "fail")


def test_a_cell_without_people_covers_no_sum():
    firms = ta.Dataset.from_frame(
        {
            "g": ["a"] * 6 + ["b"] * 9,
            "h": ["x"] + ["z"] * 5 + ["x"] * 3 + ["y"] * 3 + ["z"] * 3,
            "s": [500.25, 10.5, 11.1, 12.2, 13.3, 14.4, 5.1, 6.2, 7.3, 8.4, 9.5, 10.6, 11.7, 12.8, 13.9],
        },
        secret="s",
    )
    for statistic in (ta.Sums([2, 3]), ta.CellMeans([2, 3]), ta.Sums([2, 3], counts=True)):
        release = ta.publish(firms, statistic, ta.Dominance(1, 0.9, complementary=True))
        table = release.values[5:11].reshape(2, 3)
        assert np.isnan(table[:, [0, 2]]).all()
        assert not np.isnan(table[1, 1])
        assert ta.reconstruct(release, firms.public).identified[0] == "no"


def test_factors_within_a_narrow_bound_have_the_truncated_law():
    """Drawn at once: of normal factors, one in 125,000 is within this bound."""
    many = ta.Dataset.from_arrays(np.arange(20_000)[:, None] % 2, np.arange(20_000) + 2.5)
    error = ta.MultiplicativeNoise(1, bound=1e-5).records(many, 1).secret / many.secret - 1
    assert np.abs(error).max() <= 1e-5 * (1 + 1e-9)
    assert error.std() == pytest.approx(1e-5 / np.sqrt(3), rel=0.03)  # uniform; the standard error is 0.3 %
    assert abs(error.mean()) < 6 * 1e-5 / np.sqrt(3 * 20_000)
