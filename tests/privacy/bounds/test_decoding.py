"""The guarantees of the decoders: never violated, attained where they can be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

import tellall as ta
from tellall.linalg.operators.linear_operator import Dense
from tellall.privacy import bounds


def test_golden_least_squares(golden):
    for case in golden["least_squares_attack"]:
        matrix = np.array(case["A"], dtype=float)
        error, secret = np.array(case["e"], dtype=float), np.array(case["s"])
        m, n = matrix.shape
        sigma, beta = float(case["sigma_min"]), float(np.abs(error).max())
        estimate = np.linalg.pinv(matrix) @ (matrix @ secret + error)
        guess = (estimate >= 0.5).astype(int)
        assert estimate == pytest.approx([float(x) for x in case["x_ls"]], rel=1e-12)
        assert guess.tolist() == case["s_hat"]
        largest = float(case["bound_4m_beta2_over_sigma2"])
        assert 4 * m * beta**2 / sigma**2 == pytest.approx(largest, rel=1e-12)
        assert bounds.hamming(m, beta, sigma) == math.floor(largest)
        assert bounds.hamming(m, beta, sigma, n=n) == min(n, math.floor(largest))
        distance = float(np.linalg.norm(estimate - secret))
        assert 4 * distance**2 == pytest.approx(float(case["bound_4_norm_Ainv_e_sq"]), rel=1e-9)
        assert case["hamming"] <= bounds.hamming_from_norm(distance)
        assert bounds.singular_values(Dense(matrix)).least == pytest.approx(sigma, rel=1e-12)


def test_golden_lp(golden):
    for case in golden["lp_decoding_explicit_bound"]:
        found = bounds.lp(
            case["m"],
            case["n"],
            float(case["beta"]),
            float(case["sigma"]),
            alpha=float(case["alpha"]),
            gamma=float(case["gamma"]),
        )
        assert found.distance == pytest.approx(float(case["l2_error_bound"]), rel=1e-12)
        assert found.quadratic == pytest.approx(float(case["hamming_bound_quadratic"]), rel=1e-12)
        assert found.linear == pytest.approx(float(case["hamming_bound_as_in_Thm2.2"]), rel=1e-12)
        assert found.hamming == min(case["n"], math.floor(min(found.quadratic, found.linear)))


def matrices(kind, count, m, n, rng):
    """A batch of matrices of one kind."""
    if kind == "signs":
        return rng.choice([-1.0, 1.0], (count, m, n))
    if kind == "bits":
        return rng.integers(0, 2, (count, m, n)).astype(float)
    if kind == "products":  # of rows of a small ±1 factor
        d = int(np.ceil((1 + np.sqrt(1 + 8 * m)) / 2))
        factor = rng.choice([-1.0, 1.0], (count, d, n))
        i, j = np.triu_indices(d, 1)
        return (factor[:, i] * factor[:, j])[:, :m]
    return rng.normal(size=(count, m, n))


def errors(kind, left, right, secrets, rng):
    """A batch of errors of one kind, their largest entry 1, and the secrets they hurt."""
    count, m = left.shape[0], left.shape[1]
    if kind == "random":
        error = rng.uniform(-1, 1, (count, m))
    elif kind == "signs":
        error = rng.choice([-1.0, 1.0], (count, m))
    elif kind == "least vector":  # all of it along the least left singular vector
        error = left[:, :, -1]
    else:  # "least signs": as much along it as entries of one size allow
        error = np.where(left[:, :, -1] >= 0, 1.0, -1.0)
    if kind.startswith("least"):  # the worst secret: the estimate moves towards the other value
        secrets = (right[:, -1, :] < 0).astype(float)
    return error / np.abs(error).max(axis=1, keepdims=True), secrets


def test_theorem_2_1_is_never_violated():
    """12,000 instances, random and adversarial, scaled so that the bound lies below n/2."""
    rng = np.random.default_rng(2)
    seen, close = 0, 0.0
    for kind in ("signs", "bits", "products", "gaussian"):
        for n, ratio in ((8, 2), (12, 3), (20, 2)):
            m, count = n * ratio, 250
            batch = matrices(kind, count, m, n, rng)
            left, values, right = np.linalg.svd(batch, full_matrices=False)
            usable = values[:, -1] > 1e-6 * values[:, 0]
            batch, left, values, right = batch[usable], left[usable], values[usable], right[usable]
            for attack in ("random", "signs", "least vector", "least signs"):
                secrets = rng.integers(0, 2, (batch.shape[0], n)).astype(float)
                error, secrets = errors(attack, left, right, secrets, rng)
                goal = rng.uniform(0.5, n / 2 - 1e-9, batch.shape[0])
                beta = np.sqrt(goal * values[:, -1] ** 2 / (4 * m))
                error = error * beta[:, None]
                answers = np.einsum("bmn,bn->bm", batch, secrets) + error
                moved = np.einsum("bmi,bm->bi", left, answers) / values
                estimate = np.einsum("bi,bin->bn", moved, right)
                wrong = ((estimate >= 0.5) != (secrets > 0.5)).sum(axis=1)
                for b in range(batch.shape[0]):
                    by_size = bounds.hamming(m, float(beta[b]), float(values[b, -1]))
                    norm = float(np.linalg.norm(error[b]))
                    by_norm = bounds.hamming_from_norm(norm, float(values[b, -1]))
                    assert by_size < n / 2
                    assert wrong[b] <= by_norm <= by_size
                    seen += 1
                close = max(close, float((wrong / np.maximum(goal, 1)).max()))
    assert seen >= 10_000
    assert close > 0.25  # the adversary is not idle


@pytest.mark.parametrize("m", [4, 16, 64])
def test_theorem_2_1_is_attained(m):
    """Equal singular values: errors of one size make as many bits wrong as the bound says."""
    signs = hadamard(m).astype(float)
    one = signs[:, 0] / 2
    assert bounds.hamming(m, 0.5, math.sqrt(m)) == 1
    assert ((signs.T @ one / m) >= 0.5).sum() == 1  # from the secret 0
    # (a + b + c − abc)/2 is ±1 for signs a, b, c: four coefficients of 1/2
    a, b, c = 1, 2, m // 2 if m > 4 else 0
    triple = signs[:, a] * signs[:, b] * signs[:, c]
    last = int(np.flatnonzero(np.abs(signs.T @ triple) == m)[0])
    error = (signs[:, a] + signs[:, b] + signs[:, c] - triple) / 2 * (1 + 1e-9)
    secret = np.zeros(m)
    secret[last] = 1
    estimate = signs.T @ (signs @ secret + error) / m
    assert np.abs(np.abs(error) - 1).max() < 1e-8
    wrong = int(((estimate >= 0.5) != (secret > 0.5)).sum())
    assert wrong == bounds.hamming(m, float(np.abs(error).max()), math.sqrt(m)) == 4


@pytest.mark.parametrize(("n", "hurt"), [(9, 4), (20, 7), (40, 19)])
def test_theorem_2_1_is_attained_along_the_least_singular_vector(n, hurt):
    """Where that vector is flat on some people, an error along it turns all of them."""
    rng = np.random.default_rng(n)
    flat = np.zeros(n)
    flat[:hurt] = rng.choice([-1.0, 1.0], hurt) / math.sqrt(hurt)
    right = np.linalg.qr(np.column_stack([flat, rng.normal(size=(n, n - 1))]))[0]
    right[:, 0] = flat
    left = np.linalg.qr(rng.normal(size=(3 * n, n)))[0]
    values = np.concatenate([[1.0], rng.uniform(2, 9, n - 1)])
    operator = Dense((left * values) @ right.T)
    found = bounds.singular_values(operator)
    assert found.least == pytest.approx(1)
    push = operator @ found.least_vector
    error = push / np.linalg.norm(push) * found.least * math.sqrt(hurt) / 2 * (1 + 1e-9)
    secret = np.where(found.least_vector > 0, 0.0, 1.0)
    estimate = np.linalg.lstsq(operator.matrix, operator @ secret + error, rcond=None)[0]
    wrong = int(((estimate >= 0.5) != (secret > 0.5)).sum())
    assert wrong == bounds.hamming_from_norm(float(np.linalg.norm(error)), found.least) == hurt


@given(
    st.integers(1, 10**6),
    st.floats(0, 1e3),
    st.floats(1e-3, 1e4),
    st.floats(1, 3),
)
def test_hamming_is_monotone(m, beta, sigma, factor):
    here = bounds.hamming(m, beta, sigma)
    assert bounds.hamming(m, beta * factor, sigma) >= here
    assert bounds.hamming(m, beta, sigma * factor) <= here
    assert bounds.hamming(2 * m, beta, sigma) >= here
    assert bounds.hamming(m, beta, sigma, n=5) == min(here, 5)


def test_hamming_edges():
    assert bounds.hamming(10, 0.0, 1.0) == 0
    assert bounds.hamming(10, 1.0, 0.0) == math.inf
    assert bounds.hamming(10, 0.0, 0.0) == math.inf  # many exact solutions: nothing is guaranteed
    assert bounds.hamming(10, 0.0, 0.0, n=4) == 4
    assert bounds.hamming(3, 0.1, 0.2 * math.sqrt(3)) == 1  # whole but for rounding


@given(st.floats(0, 1), st.floats(0, 0.3), st.floats(0.01, 10))
def test_lp_is_monotone_and_gives_up_where_it_must(alpha, gamma, beta):
    here = bounds.lp(500, 100, beta, 20.0, alpha=alpha, gamma=gamma)
    assert here.hamming <= bounds.lp(500, 100, beta, 20.0, alpha=alpha, gamma=min(1.0, 1.5 * gamma)).hamming
    assert here.hamming <= bounds.lp(500, 100, 2 * beta, 20.0, alpha=alpha, gamma=gamma).hamming
    if gamma > alpha**2 / 4:
        assert here.hamming == 100
        assert here.as_json()["distance"] is None


def test_recovery_counts_draws_within_alpha_n():
    found = bounds.recovery([0, 5, 6, 100], 100, 0.05)
    assert (found.beta, found.draws) == (0.5, 4)
    assert found.low < 0.5 < found.high
    none = bounds.recovery([0] * 50, 10, 0.0)
    assert (none.beta, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 50))  # Clopper and Pearson's closed form
    every = bounds.recovery(np.full(20, 10), 10, 0.5)
    assert (every.beta, every.high) == (1.0, 1.0)
    assert bounds.recovery([3], 30, 0.1).beta == 0  # 3 is 0.1 · 30 but for rounding


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bounds.hamming(0, 1.0, 1.0), "m"),
        (lambda: bounds.hamming(5, -1.0, 1.0), "beta"),
        (lambda: bounds.hamming(5, math.inf, 1.0), "beta"),
        (lambda: bounds.hamming(5, math.nan, 1.0), "beta"),
        (lambda: bounds.hamming(5, 1.0, -1.0), "least_singular_value"),
        (lambda: bounds.hamming(5, 1.0, 1.0, n=0), "n"),
        (lambda: bounds.lp(5, 5, 1.0, 1.0, alpha=1.5, gamma=0.1), "alpha"),
        (lambda: bounds.lp(5, 5, 1.0, 1.0, alpha=0.5, gamma=-0.1), "gamma"),
        (lambda: bounds.recovery([], 10, 0.1), "wrong"),
        (lambda: bounds.recovery([11], 10, 0.1), "wrong"),
        (lambda: bounds.recovery([0.5], 10, 0.1), "wrong"),
        (lambda: bounds.recovery(["a"], 10, 0.1), "wrong"),
        (lambda: bounds.recovery([1], 10, 1.1), "alpha"),
        (lambda: bounds.recovery([1], 10, 0.1, confidence=1.0), "confidence"),
    ],
)
def test_bad_input_names_the_parameter(call, name):
    with pytest.raises(ta.InvalidInput, match=f"^{name} must be"):
        call()
