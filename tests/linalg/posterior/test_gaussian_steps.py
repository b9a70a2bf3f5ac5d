import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.linalg.operators import compose
from tellall.linalg.operators.compose import DistinctRows
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.posterior import expectation
from tellall.linalg.posterior.expectation import GaussianSteps


def dense_posterior(matrix, precision, pull, weights, row_pull):
    inverse = np.linalg.inv(matrix.T @ (matrix * weights[:, None]) + np.diag(precision))
    shares = weights * np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
    return inverse @ (matrix.T @ row_pull + pull), np.diag(inverse), shares


@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_both_sides_give_the_dense_posterior(m, n, seed, repeated, sparse):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (m, n)).astype(float)
    if sparse:
        matrix *= rng.random((m, n)) < 0.05
    if repeated:
        matrix = np.vstack([matrix, -matrix])
    rows = matrix.shape[0]
    precision, pull = rng.uniform(0.5, 4, n), rng.normal(size=n)
    weights, row_pull = rng.uniform(0, 3, rows), rng.normal(size=rows)
    weights[0] = 0.0
    steps = GaussianSteps(Dense(matrix))
    wanted = dense_posterior(matrix, precision, pull, weights, row_pull)
    right = matrix.T @ row_pull + pull
    for got in (
        steps.step(precision, pull, weights, row_pull, fixed=False),
        steps.step(precision, pull, weights, row_pull, fixed=True),
        steps._by_rows(steps._distinct, np.arange(n), precision, right, weights),
        steps._by_unknowns(np.arange(n), precision, right, weights, False),
    ):
        assert np.allclose(got.mean, wanted[0])
        assert np.allclose(got.variance, wanted[1])
        assert np.allclose(got.shares(), wanted[2])


@given(st.integers(1, 12), st.integers(2, 8), st.integers(0, 10**6), st.booleans())
def test_what_is_held_is_known_and_the_rest_follows(m, n, seed, fixed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (m, n)).astype(float)
    precision, pull = rng.uniform(0.5, 4, n), rng.normal(size=n)
    weights, row_pull = rng.uniform(0, 3, m), rng.normal(size=m)
    held = np.where(rng.random(n) < 0.5, rng.integers(0, 3, n).astype(float), np.nan)
    got = GaussianSteps(Dense(matrix)).step(precision, pull, weights, row_pull, fixed=fixed, held=held)
    sure = np.where(np.isnan(held), precision, 1e9)  # the same, as the limit of sites that are all but sure
    pinned = np.where(np.isnan(held), pull, 1e9 * np.nan_to_num(held))
    wanted = dense_posterior(matrix, sure, pinned, weights, row_pull)
    assert np.allclose(got.mean, wanted[0], atol=1e-5)
    assert np.allclose(got.variance, wanted[1], atol=1e-5)
    assert np.allclose(got.shares(), wanted[2], atol=1e-5)


def test_rows_equal_up_to_sign_count_once():
    matrix = np.array([[1.0, 0], [0, 1], [-1, 0], [1, 0], [0, 0]])
    rows = DistinctRows.of(Dense(matrix))
    assert len(rows) == 3
    assert np.array_equal(rows.sign[:, None] * rows.matrix[rows.index], matrix)


def test_a_matrix_too_large_to_write_out_has_about_the_right_shares(monkeypatch):
    for module in (expectation, compose):
        monkeypatch.setattr(module, "MOST_ENTRIES", 1)
    rng = np.random.default_rng(3)
    operator = Moments(rng.choice([-1.0, 1.0], (25, 120)), 2)
    m, n = operator.shape
    precision, weights = rng.uniform(2, 6, n), rng.uniform(0.01, 0.03, m)
    args = precision, np.zeros(n), weights, rng.normal(size=m)
    got = GaussianSteps(operator).step(*args, fixed=False)
    wanted = dense_posterior(operator.to_dense(), *args)
    assert np.allclose(got.mean, wanted[0])
    assert np.isclose(got.shares().sum(), wanted[2].sum())
    assert got.shares() == pytest.approx(wanted[2], rel=0.3)


def test_few_rows_make_many_unknowns_affordable():
    assert GaussianSteps(Dense(np.ones((5, 30)))).affordable(10)
    assert GaussianSteps(Dense(np.ones((50, 8)))).affordable(10)
    assert GaussianSteps(Dense(np.ones((50, 30)))).affordable(10)  # one row, fifty times
    assert not GaussianSteps(Dense(np.random.default_rng(0).random((50, 30)))).affordable(10)


def test_rounding_errors_do_not_break_the_factorisation():
    matrix = np.ones((40, 6)) * 1e4
    precision = np.full(6, 1e-9)
    got = GaussianSteps(Dense(matrix)).step(
        precision, np.zeros(6), np.full(40, 100.0), np.ones(40), fixed=True
    )
    assert np.isfinite(got.mean).all()
    assert (got.variance > 0).all()


@pytest.mark.parametrize("fixed", [True, False])
def test_no_rows_leave_the_prior_and_print_nothing(fixed, capfd):
    precision, pull, none = np.array([2.0, 4.0]), np.array([1.0, 1.0]), np.zeros(0)
    got = GaussianSteps(Dense(np.zeros((0, 2)))).step(precision, pull, none, none, fixed=fixed)
    assert got.mean.tolist() == [0.5, 0.25]
    assert got.variance.tolist() == [0.5, 0.25]
    assert got.shares().size == 0
    assert capfd.readouterr() == ("", "")
