"""Sums, means, rates and weights by cell, with totals: as pandas computes them, and solved exactly."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import tellall as ta
from tellall.testing import check_statistic

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "region": RNG.choice(["east", "north", "west"], 90),
        "size": RNG.choice(["large", "small"], 90),
        "kind": RNG.choice(["a", "b", "c"], 90),
        "w": RNG.gamma(2, 1, 90).round(2) + 0.5,
        "turnover": RNG.lognormal(3, 1, 90).round(2),
    }
)
FIRMS = ta.Dataset.from_frame(FRAME, secret="turnover")
PLAIN = ta.Dataset.from_frame(FRAME.drop(columns="w"), secret="turnover")
COLUMNS = ("region", "size", "kind")


def by_pandas(ways, how):
    """A number per cell of every table, by a function of the people in it."""
    out = []
    for names in combinations(COLUMNS, ways - 1):
        labels = [sorted(FRAME[name].unique()) for name in names]
        groups = dict(list(FRAME.groupby(list(names)))) if names else {(): FRAME}
        for cell in pd.MultiIndex.from_product(labels) if names else [()]:
            key = cell if isinstance(cell, tuple) else (cell,)
            out.append(how(groups[key]) if key in groups else np.nan)
    return np.array(out)


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_sums_and_means_are_those_of_pandas(ways):
    sums = by_pandas(ways, lambda cell: cell.turnover.sum())
    means = by_pandas(ways, lambda cell: cell.turnover.mean())
    np.testing.assert_allclose(ta.publish(PLAIN, ta.Sums(ways)).values, np.nan_to_num(sums))
    np.testing.assert_allclose(ta.publish(PLAIN, ta.CellMeans(ways)).values, means)
    weighted = by_pandas(ways, lambda cell: np.average(cell.turnover, weights=cell.w))
    np.testing.assert_allclose(ta.publish(FIRMS, ta.CellMeans(ways, weights="w")).values, weighted)
    weighted = by_pandas(ways, lambda cell: (cell.turnover * cell.w).sum())
    np.testing.assert_allclose(ta.publish(FIRMS, ta.Sums(ways, weights="w")).values, np.nan_to_num(weighted))


def test_totals_and_subtotals_come_with_their_tables():
    both = ta.publish(PLAIN, ta.Sums([2, 1], counts=True)).values
    alone = [ta.publish(PLAIN, ta.Sums(ways)).values for ways in (1, 2)]
    counts = [by_pandas(ways, len) for ways in (1, 2)]
    np.testing.assert_allclose(both, np.concatenate([*alone, *counts]))
    assert ta.Sums([2]) == ta.Sums(2)
    for wrong in ([], [2, 2], [0], "23", 1.5):
        with pytest.raises(ta.InvalidInput, match="ways must be"):
            ta.Sums(wrong)
    with pytest.raises(ta.InvalidInput, match="attributes must be left out"):
        ta.Marginals([1, 2], [["region"]])


@pytest.mark.parametrize("secret", ["size", "kind"])
def test_rates_are_shares_of_a_cell(secret):
    people = ta.Dataset.from_frame(FRAME, secret=secret, public=["region", "w"])
    rates = ta.publish(people, ta.Marginals(2, [["region"]], scale="rates")).values
    wanted = pd.crosstab(FRAME.region, FRAME[secret], normalize="index").to_numpy().ravel()
    np.testing.assert_allclose(rates, wanted)
    weighted = ta.publish(people, ta.Marginals(2, scale="rates", weights="w")).values
    table = FRAME.pivot_table("w", "region", secret, aggfunc="sum", fill_value=0)
    np.testing.assert_allclose(weighted, table.div(table.sum(axis=1), axis=0).to_numpy().ravel())
    plain = ta.publish(people, ta.Marginals(2, weights="w")).values
    np.testing.assert_allclose(plain, table.to_numpy().ravel())


@pytest.mark.parametrize(
    "statistic",
    [
        ta.Sums(2),
        ta.Sums(3, largest=6.0),
        ta.Sums([1, 2, 3], counts=True),
        ta.CellMeans(3),
        ta.CellMeans([1, 2], counts=True),
        ta.CellMeans(2, largest=6.0),
        ta.Marginals(3, scale="rates"),
        ta.Marginals([1, 2, 3]),
        ta.Marginals([1, 2], scale="fractions"),
    ],
    ids=lambda one: one.describe() + one.scale,
)
def test_laws(statistic):
    check_statistic(statistic)


@pytest.mark.parametrize("kind", [ta.Sums, ta.CellMeans])
def test_nobody_may_exceed_the_bound_that_a_promise_rests_on(kind):
    people = ta.Dataset.from_arrays([[0], [0], [1]], secret=[-5.0, 2.5, 4.0])
    with pytest.raises(ta.InvalidInput, match="largest must be at least everybody's absolute value; got 4"):
        ta.publish(people, kind(2, largest=4.0))
    ta.publish(people, kind(2, largest=5.0))


@pytest.mark.parametrize(
    "statistic", [ta.CellMeans(2, largest=5.0), ta.Marginals(2, scale="rates")], ids=repr
)
def test_noise_on_cells_that_one_person_may_empty_promises_nothing(statistic):
    """Whether the value is missing shows whether the only person of a cell is there."""
    secret = [0, 1, 1] if isinstance(statistic, ta.Marginals) else [-5.0, 2.5, 4.0]
    people, without = (
        ta.Dataset.from_arrays([[0], [0], [1]], secret).take(rows) for rows in ([0, 1, 2], [0, 1, 1])
    )
    there, gone = (np.isnan(ta.publish(one, statistic, ta.Laplace(9.0)).values) for one in (people, without))
    assert there.sum() < gone.sum()
    assert statistic.sensitivity(people.public) is None
    assert ta.guarantee_of(ta.Laplace(9.0), statistic, people.public) is None


def test_a_number_that_changes_its_sign_moves_its_sum_by_twice_its_size():
    """The L2 sensitivity of one table is 2·largest, which √2·largest, that of two cells, would understate."""
    before, after = (ta.Dataset.from_arrays([[0], [0], [1]], [1.5, own, 0]) for own in (-5.0, 5.0))
    moved = np.abs(ta.Sums(2).values(after) - ta.Sums(2).values(before))
    statistic = ta.Sums(2, largest=5.0)
    assert statistic.sensitivity(before.public) == (moved.sum(), np.sqrt((moved**2).sum())) == (10.0, 10.0)


@pytest.mark.parametrize(
    "statistic",
    [
        ta.Sums(2, weights="w"),
        ta.CellMeans(3, weights="w", counts=True),
        ta.Marginals(2, weights="w"),
        ta.Marginals(3, scale="rates", weights="w"),
    ],
    ids=lambda one: one.describe(),
)
@pytest.mark.parametrize("secret", ["turnover", "size", "kind"])
def test_laws_with_weights_and_empty_cells(statistic, secret):
    people = ta.Dataset.from_frame(FRAME.iloc[:25], secret=secret)
    if isinstance(statistic, ta.Marginals) == (secret != "turnover"):
        check_statistic(statistic, people)
    elif isinstance(statistic, ta.Marginals) or secret == "kind":
        with pytest.raises(ta.InvalidInput, match="secret must be"):
            ta.publish(people, statistic)


@pytest.mark.parametrize("seed", range(6))
def test_rounded_rates_prove_what_listing_every_secret_proves(seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (9, 3)), rng.integers(0, 2, 9))
    release = ta.publish(people, ta.Marginals(3, scale="rates"), ta.Rounding(0.1))
    secrets = (np.arange(2**9)[:, None] >> np.arange(9)) & 1
    fits = []
    for secret in secrets.astype(np.int8):
        other = ta.publish(replace(people, secret=secret), ta.Marginals(3, scale="rates"), ta.Rounding(0.1))
        if np.array_equal(other.values, release.values, equal_nan=True):
            fits.append(secret)
    same = np.ptp(np.stack(fits), axis=0) == 0
    found = ta.reconstruct(release, people.public)
    proved = found.identified == "proved"
    assert not (proved & ~same).any()
    assert (found.guess[proved] == people.secret[proved]).all()


def test_exact_means_of_overlapping_tables_give_numbers_away():
    """Everybody is alone in a cell of three columns, so that exact means are their numbers."""
    columns = np.array([[i // 4, (i // 2) % 2, i % 2] for i in range(8)])
    people = ta.Dataset.from_arrays(columns, RNG.normal(100, 15, 8))
    found = ta.reconstruct(ta.publish(people, ta.CellMeans(4)), people.public)
    np.testing.assert_allclose(found.estimate, people.secret, atol=1e-3)


def test_weights_are_numbers_above_zero_that_people_have():
    with pytest.raises(ta.InvalidInput, match="weights must be"):
        ta.publish(FIRMS, ta.Sums(2, weights="turnover"))
    with pytest.raises(ta.InvalidInput, match="weights"):
        ta.Sums(2, weights=3)
    below = ta.Dataset.from_arrays([[0.0, 1], [1, 1], [0, -1]], [1.0, 2.5, 3.5], names=["a", "w"])
    with pytest.raises(ta.InvalidInput, match="above zero"):
        ta.publish(below, ta.Sums(2, weights="w"))


def test_a_plan_names_them():
    plan = {
        "steps": False,
        "releases": [
            {"statistic": {"kind": "Sums", "ways": [1, 2], "counts": True}},
            {"statistic": {"kind": "CellMeans", "ways": 2}, "protect": {"kind": "Rounding", "base": 1}},
        ],
    }
    audit = ta.audit(PLAIN, plan)
    assert len(audit.findings) >= 2
    assert audit.verdict.word in ("pass", "review", "fail")


def test_they_are_saved(tmp_path):
    for statistic in (ta.Sums([1, 2], counts=True, largest=1000.0), ta.CellMeans(2, [["region"]])):
        release = ta.publish(PLAIN, statistic)
        loaded = ta.Release.load(release.save(tmp_path / "release.json"))
        assert loaded.statistic == release.statistic
        np.testing.assert_array_equal(loaded.values, release.values)
