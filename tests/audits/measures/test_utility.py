import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.audits.measures.utility import coefficient_utility, cramers_v, mean_error, utility
from tellall.protections.calibrated import Trivial
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tests.conftest import random_people

PEOPLE = random_people(80, 4, seed=9)
EXACT = ta.publish(PEOPLE, ta.Marginals(3))


def test_nothing_is_lost_without_protection():
    lost = utility(EXACT, EXACT, PEOPLE)
    assert (lost.mean_error, lost.max_error, lost.missing) == (0, 0, 0)
    assert (lost.total_variation, lost.association_change, lost.risk_change) == (0, 0, 0)
    assert (lost.tables, lost.incomplete) == (6, 0)
    assert lost.association > 0


@given(st.floats(0.1, 20), st.integers(0, 2**32))
def test_errors_and_distances_are_what_their_definitions_say(std, seed):
    noisy = ta.publish(PEOPLE, ta.Marginals(3), ta.Gaussian(std), rng=seed)
    lost = utility(EXACT, noisy, PEOPLE)
    error = np.abs(noisy.values - EXACT.values)
    assert lost.mean_error == pytest.approx(error.mean())
    assert lost.max_error == pytest.approx(error.max())
    variations, changes, risks = [], [], []
    for a, b in zip(EXACT.values.reshape(6, 4, 2), noisy.values.reshape(6, 4, 2).clip(0), strict=True):
        variations.append(0.5 * np.abs(a / a.sum() - b / b.sum()).sum())
        changes.append(abs(_v(a) - _v(b)))
        before = np.divide(a[:, 1], a.sum(1), out=np.zeros(4), where=a.sum(1) > 0)
        after = np.divide(b[:, 1], b.sum(1), out=np.zeros(4), where=b.sum(1) > 0)
        risks.append(np.sum(np.abs(after - before) * a.sum(1) / a.sum()))
    assert lost.total_variation == pytest.approx(np.mean(variations))
    assert lost.association_change == pytest.approx(np.mean(changes), abs=1e-9)
    assert lost.risk_change == pytest.approx(np.mean(risks))
    assert 0 <= lost.total_variation <= 1


def _v(table):
    from scipy.stats.contingency import association

    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return 0.0 if min(table.shape) < 2 else association_of(table, association)


def association_of(table, scipys):
    """scipy takes whole numbers; V does not change with the unit, so a fine grid of them does."""
    return float(scipys(np.rint(table * 1e9).astype(np.int64), method="cramer"))


def test_missing_cells_are_counted_and_their_tables_left_out():
    hidden = ta.publish(PEOPLE, ta.Marginals(3), Suppression(9))
    lost = utility(EXACT, hidden, PEOPLE)
    gone = np.isnan(hidden.values)
    assert lost.missing == pytest.approx(gone.mean())
    assert lost.incomplete == int(gone.reshape(6, 8).any(axis=1).sum())
    assert lost.mean_error == 0
    nothing = utility(EXACT, ta.publish(PEOPLE, ta.Marginals(3), Suppression(1e9)), PEOPLE)
    assert nothing.missing == 1
    assert math.isnan(nothing.mean_error)
    assert math.isnan(nothing.total_variation)
    assert nothing.incomplete == 6
    assert "100.0\N{NO-BREAK SPACE}% missing" in str(nothing)


def test_trivial_tables_lose_all_association():
    lost = utility(EXACT, ta.publish(PEOPLE, ta.Marginals(3), Trivial()), PEOPLE)
    assert lost.association_change == pytest.approx(lost.association)
    emptied = utility(EXACT, ta.publish(PEOPLE, ta.Marginals(3), Rounding(1000)), PEOPLE)
    assert emptied.total_variation == 1


def test_values_that_are_no_tables_have_errors_only():
    clean = ta.publish(PEOPLE, ta.Means())
    lost = utility(clean, ta.publish(PEOPLE, ta.Means(), ta.Gaussian(0.1), rng=0), PEOPLE)
    assert lost.tables == 0
    assert math.isnan(lost.association)
    assert 0 < lost.mean_error <= lost.max_error
    assert "total variation" not in str(lost)


def test_releases_that_cannot_be_compared_are_refused():
    with pytest.raises(ta.InvalidInput, match="noisy must be"):
        utility(EXACT, ta.publish(PEOPLE, ta.Marginals(2)), PEOPLE)
    with pytest.raises(ta.InvalidInput, match="clean must be"):
        utility(ta.publish(PEOPLE, ta.Marginals(3), Suppression(9)), EXACT, PEOPLE)


@given(st.integers(0, 2**32))
def test_cramers_v_agrees_with_scipy(seed):
    tables = np.random.default_rng(seed).integers(0, 9, (5, 4, 3)).astype(float)
    assert cramers_v(tables) == pytest.approx([_v(table) for table in tables], abs=1e-9)


# coefficients


def _regression(seed, n=200, p=3):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(n, p - 1)), np.ones(n)])
    truth = rng.normal(size=p)
    y = x @ truth + rng.normal(size=n)
    return x, y, truth, np.linalg.lstsq(x, y, rcond=None)[0]


def test_clean_coefficients_lose_nothing():
    x, y, _, fitted = _regression(0)
    lost = coefficient_utility(fitted, fitted, x, y)
    assert (lost.error, lost.max_error, lost.sign_flips) == (0, 0, 0)
    assert lost.mae_ratio == pytest.approx(1)
    assert lost.coverage == pytest.approx(0.95)


def test_coefficients_lose_what_the_definitions_say():
    x, y, _, fitted = _regression(1)
    noisy = fitted + np.array([[0.1, -0.2, 0.3], [5.0, 5.0, 5.0]]) * -np.sign(fitted)
    lost = coefficient_utility(fitted, noisy, x, y)
    assert lost.max_error == pytest.approx(5)
    assert lost.error == pytest.approx(math.sqrt((0.01 + 0.04 + 0.09 + 75) / 6))
    flips = np.sign(noisy) != np.sign(fitted)
    assert lost.sign_flips == pytest.approx(flips.mean())
    mae = np.abs(y - x @ fitted).mean()
    assert lost.mae == pytest.approx(mae)
    assert lost.mae_ratio == pytest.approx(np.abs(y[:, None] - x @ noisy.T).mean() / mae)


def test_coverage_is_what_fresh_data_show():
    # 2000 data sets with noise of one standard error: the share of intervals that cover, against the formula
    rng = np.random.default_rng(3)
    x, _, truth, _ = _regression(2)
    inverse = np.linalg.inv(x.T @ x)
    covered, claimed = [], []
    for _ in range(2000):
        y = x @ truth + rng.normal(size=x.shape[0])
        fitted = inverse @ (x.T @ y)
        noisy = fitted + rng.normal(0, np.sqrt(np.diag(inverse)))
        spread = np.sqrt(np.sum((y - x @ fitted) ** 2) / (x.shape[0] - 3) * np.diag(inverse))
        covered.append(np.mean(np.abs(noisy - truth) < 1.959964 * spread))
        claimed.append(coefficient_utility(fitted, noisy, x, y).coverage)
    # 6000 intervals: six standard errors of a share near 0.83 are 0.029
    assert np.mean(covered) == pytest.approx(np.mean(claimed), abs=0.029)
    assert 0.8 < np.mean(claimed) < 0.87


def test_logistic_models_predict_probabilities():
    rng = np.random.default_rng(4)
    x = np.column_stack([rng.normal(size=400), np.ones(400)])
    y = (rng.random(400) < 1 / (1 + np.exp(-x @ [1.0, -0.5]))).astype(float)
    lost = coefficient_utility([1.0, -0.5], [[1.0, -0.5], [-1.0, -0.5]], x, y, model="logistic")
    assert lost.mae < 0.5
    assert lost.mae_ratio > 1
    assert lost.sign_flips == 0.25
    assert 0.7 < lost.coverage < 0.75  # three of four untouched, one hopeless


def test_edges_of_coefficients():
    x, y = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), np.array([1.0, 2.0, 3.0])
    singular = coefficient_utility([1.0, 0.0], [1.1, 0.0], x, y)
    assert math.isnan(singular.coverage)
    assert singular.mae == 0
    assert singular.mae_ratio == math.inf
    zero = coefficient_utility([0.0, 0.0], [1.0, 1.0], x, y)
    assert math.isnan(zero.sign_flips)
    for bad, name in (
        (([1.0, 0.0], [1.0, 2.0, 3.0], x, y), "theta_noisy"),
        (([1.0, 0.0], [1.0, np.nan], x, y), "theta_noisy"),
        (([[1.0]], [1.0], x, y), "theta_clean"),
        (([1.0], [1.0], x, y), "features"),
        (([1.0, 1.0], [1.0, 1.0], x, y[:2]), "response"),
        (([1.0, np.nan], [1.0, 1.0], x, y), "theta_clean"),
    ):
        with pytest.raises(ta.InvalidInput, match=f"{name} must be"):
            coefficient_utility(*bad)
    with pytest.raises(ta.InvalidInput, match="model must be"):
        coefficient_utility([1.0, 0.0], [1.0, 0.0], x, y, model="cubic")


def test_a_cell_of_nobody_costs_nothing_and_hides_no_loss():
    """Its mean cannot be computed; what noise does to the other means is a loss all the same; fixed seed."""
    rng = np.random.default_rng(5)
    region, sex = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    sex[region == 2] = 0  # nobody in the last region has sex 1
    pay = rng.lognormal(3.0, 0.5, 400)
    people = ta.Dataset.from_arrays(np.stack([region, sex], axis=1), pay)
    clean = ta.publish(people, ta.CellMeans(3))
    noisy = ta.publish(people, ta.CellMeans(3), ta.Gaussian(2.0), rng=1)
    there = ~np.isnan(clean.values)
    assert 0 < np.count_nonzero(~there) < there.size
    withheld = replace(
        clean, values=np.where(np.arange(there.size) == np.argmax(there), np.nan, clean.values)
    )
    with pytest.raises(ta.InvalidInput, match="a release with every value shown"):
        utility(withheld, clean, people)
    found = utility(clean, noisy, people)
    off = np.abs(noisy.values - clean.values)[there]
    assert (found.values, found.missing) == (off.size, 0.0)
    assert found.mean_error == pytest.approx(off.mean())
    assert mean_error(clean, noisy, people) == pytest.approx(off.mean())
