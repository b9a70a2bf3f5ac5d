from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from scipy.sparse import csr_array

from tellall import InvalidInput
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from tellall.testing import check_solver

GRAM = LeastSquares()
PRODUCTS = LeastSquares(gram_limit=0, tolerance=1e-9, probes=400)


def problem(m: int, n: int, seed: int) -> tuple[BoxProblem, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n))
    lower = rng.uniform(-1, 0, n)
    made = BoxProblem(
        operator=Dense(matrix),
        weights=rng.uniform(0.1, 3, m),
        ridge=rng.uniform(0.1, 1, n),
        center=rng.normal(size=n),
        lower=lower,
        upper=lower + rng.uniform(0.1, 2, n),
    )
    return made, matrix @ rng.normal(size=n) + rng.normal(size=m)


def reference(made: BoxProblem, target: np.ndarray) -> np.ndarray:
    """The same minimum by scipy, the ridge as extra rows."""
    root = np.sqrt(made.weights)
    rows = np.vstack([made.operator.to_dense() * root[:, None], np.diag(np.sqrt(made.ridge))])
    right = np.concatenate([target * root, np.sqrt(made.ridge) * made.center])
    return lsq_linear(rows, right, bounds=(made.lower, made.upper), tol=1e-14, method="bvls").x


@pytest.mark.parametrize("solver", [GRAM, PRODUCTS], ids=["gram", "products"])
@given(st.integers(0, 12), st.integers(1, 10), st.integers(0, 10**6))
def test_the_box_minimum_is_scipys(solver, m, n, seed):
    made, target = problem(m, n, seed)
    solution = solver.prepare(made).solve(target)
    assert solution.status.word == "solved"
    assert np.allclose(solution.value, reference(made, target), atol=1e-6)


@pytest.mark.parametrize("solver", [GRAM, PRODUCTS], ids=["gram", "products"])
def test_solvers_obey_the_laws(solver):
    check_solver(solver)


def test_projected_gradient_reaches_the_same_minimum():
    made, target = problem(30, 12, 5)
    prepared = GRAM.prepare(made)
    start = np.clip(made.center, made.lower, made.upper)
    x = prepared._projected_gradient(start, prepared._gradient_for(target))
    assert np.allclose(x, reference(made, target), atol=1e-5)


def test_a_solver_cut_short_finishes_by_projected_gradient():
    made, target = problem(30, 12, 6)
    solution = LeastSquares(rounds=1).prepare(made).solve(target)
    assert np.allclose(solution.value, reference(made, target), atol=1e-5)


def test_not_converging_is_said_with_advice(monkeypatch):
    made, target = problem(30, 12, 7)
    prepared = LeastSquares(rounds=1).prepare(made)
    monkeypatch.setattr(
        prepared, "_projected_gradient", lambda x, right: np.clip(x * 0, made.lower, made.upper)
    )
    status = prepared.solve(target).status
    assert status.word == "not converged"
    assert "more rounds" in str(status)


def test_a_box_that_is_wide_for_lack_of_limits_hides_no_step():
    """Values are known to 1e-4 and lower limits are tight, but there are no upper ones: it is 1e6 wide."""
    rng = np.random.default_rng(0)
    rows, size = rng.integers(0, 2, (20, 60)).astype(float), np.ones(60)
    truth = 1000 + rng.gamma(0.2, 1.0, 60)
    made = BoxProblem(Dense(rows), 1e8 * np.ones(20), size, 1000 + size / 5, 1000 * size, 1e6 * size)
    target = rows @ truth
    solution = GRAM.prepare(made).solve(target)
    assert solution.status.word == "solved"
    assert np.abs(rows @ solution.value - target).max() < 1e-3
    assert np.allclose(solution.value, reference(made, target), rtol=0, atol=0.05)


def test_values_so_exact_that_rounding_hides_the_ridge_are_solved():
    """The ridge keeps its shape: what the equations leave open is nearest to the centre."""
    rows = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    ridge, centre, far = 1e-13 * np.array([1.0, 2, 3, 4]), np.full(4, 30_000.0), np.full(4, 1e9)
    truth = np.array([20_000.0, 50_000, 10_000, 90_000])
    made = BoxProblem(Dense(rows / 7), np.full(4, 1e5), ridge, centre, -far, far)
    solution = GRAM.prepare(made).solve(rows @ truth / 7)
    assert solution.status.word == "solved"
    assert np.allclose(rows @ solution.value, rows @ truth, rtol=1e-9)
    loose = np.array([1.0, -1, -1, 1])  # what no row sees
    pull = ridge * (solution.value - centre)
    assert abs(loose @ pull) < 0.01 * np.abs(pull).sum()


def test_posterior_is_the_gaussian_one():
    made, target = problem(20, 8, 8)
    dense = made.operator.to_dense()
    inverse = np.linalg.inv(dense.T @ (dense * made.weights[:, None]) + np.diag(made.ridge))
    wanted = inverse @ (dense.T @ (made.weights * target) + made.ridge * made.center)
    rng = np.random.default_rng(0)
    mean, variance = GRAM.prepare(made).posterior(target, rng=rng)
    assert np.allclose(mean, wanted)
    assert np.allclose(variance, np.diag(inverse))
    mean, variance = PRODUCTS.prepare(made).posterior(target, rng=rng)
    assert np.allclose(mean, wanted)
    # six times the standard error that the docstring promises: false alarm below 1e-6 over 8 numbers
    spread = np.sqrt((inverse**2).sum(axis=1) - np.diag(inverse) ** 2)
    assert (np.abs(variance - np.diag(inverse)) <= 6 * spread / np.sqrt(PRODUCTS.probes)).all()


def test_golden_least_squares(golden):
    for case in golden["least_squares_attack"]:
        matrix = np.array(case["A"], dtype=float)
        m, n = matrix.shape
        wide = np.full(n, 10.0)
        made = BoxProblem(Dense(matrix), np.ones(m), np.full(n, 1e-13), np.zeros(n), -wide, wide)
        x = GRAM.prepare(made).solve(np.array(case["z"], dtype=float)).value
        assert np.allclose(x, np.array(case["x_ls"], dtype=float), rtol=1e-11)
        assert (x >= 0.5).astype(int).tolist() == case["s_hat"]


def test_single_precision_products_find_the_bits():
    rng = np.random.default_rng(0)
    n, d = 400, 41
    signs = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(d, n))
    operator = Moments(signs, 2)
    secret = rng.integers(0, 2, n)
    target = operator @ secret.astype(np.float64) + rng.normal(0, 0.1 * n**0.5, operator.shape[0])
    sigma2 = 0.01 * n
    half, one = np.full(n, 0.5), np.ones(n)
    made = BoxProblem(operator, np.full(target.size, 1 / sigma2), 4 * one, half, np.zeros(n), one)
    solution = LeastSquares(gram_limit=0, tolerance=1e-4).prepare(made).solve(target)
    assert solution.status.word == "solved"
    assert np.array_equal(solution.value >= 0.5, secret)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": np.ones(2)}, "weights must be 3 finite numbers"),
        ({"ridge": np.zeros(2)}, "ridge must be above zero"),
        ({"upper": np.zeros(2)}, "upper must be above lower"),
        ({"center": np.array([np.nan, 0])}, "center must be 2 finite numbers"),
    ],
)
def test_bad_problems_are_refused(change, says):
    parts = {
        "operator": Dense(np.ones((3, 2))),
        "weights": np.ones(3),
        "ridge": np.ones(2),
        "center": np.zeros(2),
        "lower": np.zeros(2),
        "upper": np.ones(2),
    }
    with pytest.raises(InvalidInput, match=says):
        BoxProblem(**{**parts, **change})
    with pytest.raises(InvalidInput, match="target must be 3 finite numbers"):
        GRAM.prepare(BoxProblem(**parts)).solve(np.array([1.0, np.nan, 2.0]))


def test_deflation_solves_what_plain_conjugate_gradients_are_slow_on():
    rng = np.random.default_rng(9)
    n, d = 120, 25
    bits = rng.integers(0, 2, (d, n)).astype(float)  # 0/1 products: d + 1 directions far above the others
    operator = Moments(bits, 2)
    target = operator @ rng.integers(0, 2, n) + rng.normal(size=operator.shape[0])
    half, one = np.full(n, 0.5), np.ones(n)
    made = BoxProblem(operator, np.full(target.size, 4.0), 4 * one, half, np.zeros(n), one)
    prepared = LeastSquares(gram_limit=0, tolerance=1e-8, patience=3, deflation=40).prepare(made)
    solution = prepared.solve(target)
    assert prepared._deflated is not None
    assert solution.status.word == "solved"
    assert np.allclose(solution.value, GRAM.prepare(made).solve(target).value, atol=1e-6)
    vectors, values = prepared._deflated
    dense = np.stack([prepared._scaled_product(column) for column in np.eye(n)], axis=1)
    largest = np.linalg.eigvalsh(dense)[::-1]
    assert (values <= largest[: values.size] + 1e-9).all()  # a Nyström approximation lies below
    assert values[0] >= 0.95 * largest[0]
    assert np.allclose(vectors.T @ vectors, np.eye(40), atol=1e-8)


def test_gradient_steps_alone_settle_a_well_conditioned_problem():
    made, target = problem(200, 12, 10)
    loose = LeastSquares(gram_limit=0, tolerance=1e-3)
    solution = loose.prepare(made).solve(target)
    assert solution.stats["rounds"] == 0
    assert solution.stats["stationarity"] <= 1e-3
    assert np.allclose(solution.value, reference(made, target), atol=5e-3)
    without = LeastSquares(gram_limit=0, tolerance=1e-8, gradient_steps=0).prepare(made).solve(target)
    assert np.allclose(without.value, reference(made, target), atol=1e-6)


def test_only_solves_that_are_slow_are_deflated(monkeypatch):
    """The mean is to be exact and needs it; the probes, which may be rough, do not pay for it."""
    from tellall.linalg.solvers.least_squares import _MatrixFree

    rare = np.random.default_rng(0).random((600, 100)) < 0.05
    made, target = problem(600, 100, seed=8)
    made = replace(made, operator=Sparse(csr_array(np.where(rare, made.operator.to_dense(), 0.0))))
    calls = {"deflated": 0, "probes": 0}
    deflate, plain = _MatrixFree._deflate, _MatrixFree._free_step

    def counted(self, residual):
        calls["deflated"] += 1
        return deflate(self, residual)

    def probing(self, free, x, gradient, accuracy):
        before = calls["deflated"]
        found = plain(self, free, x, gradient, accuracy)
        if accuracy >= 0.01:
            calls["probes"] += calls["deflated"] - before
        return found

    monkeypatch.setattr(_MatrixFree, "_deflate", counted)
    monkeypatch.setattr(_MatrixFree, "_free_step", probing)
    options = LeastSquares(gram_limit=0, row_side=10**9, tolerance=1e-9, patience=8, deflation=40, probes=8)
    mean, _ = options.prepare(made).posterior(target, rng=np.random.default_rng(0))
    assert calls["deflated"] > 0
    assert calls["probes"] == 0
    matrix = made.operator.to_dense()
    hessian = matrix.T @ (made.weights[:, None] * matrix) + np.diag(made.ridge)
    right = matrix.T @ (made.weights * target) + made.ridge * made.center
    np.testing.assert_allclose(mean, np.linalg.solve(hessian, right), atol=1e-5)
