"""Singular values and the Euclidean section: against numpy, with certificates that hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.linalg.operators.compose import Partition, Stack
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.singular_values import bidiagonalise, missed_share
from tellall.privacy import bounds
from tellall.privacy.bounds.row_products import distinct_people

METHODS = ("dense", "gram", "lanczos")


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 20), st.integers(0, 10**6))
def test_every_method_encloses_the_truth(m, n, rank, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n))
    if 0 < rank < min(m, n):
        matrix = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    values = np.linalg.svd(matrix, compute_uv=False)
    largest, least = values[0], values[-1] if m >= n else 0.0
    for method in METHODS:
        found = bounds.singular_values(Dense(matrix), method=method, steps=60, rng=seed)
        room = 1e-6 * largest  # a least value near zero is a square root of a rounding
        assert found.largest_interval[0] - room <= largest <= found.largest_interval[1] + room
        assert found.least_interval[0] - room <= least <= found.least_interval[1] + room
        assert found.largest == pytest.approx(largest, rel=1e-6)
        assert found.least == pytest.approx(least, rel=1e-5, abs=1e-5 * largest)
        assert np.linalg.norm(found.least_vector) == pytest.approx(1)
        if m >= n:
            assert np.linalg.norm(matrix @ found.least_vector) == pytest.approx(least, abs=1e-5 * largest)


def test_operators_without_a_matrix_agree_with_their_matrix():
    rng = np.random.default_rng(3)
    operator = Stack(
        [
            Moments(rng.choice(np.array([-1, 1], dtype=np.float32), (20, 60)), 2),
            Partition(rng.integers(0, 9, (1, 60)), 9),
        ]
    )
    values = np.linalg.svd(operator.to_dense(), compute_uv=False)
    for method in METHODS:
        found = bounds.singular_values(operator, method=method)
        assert found.largest == pytest.approx(values[0], rel=1e-4)
        assert found.least == pytest.approx(values[-1], rel=1e-4)
        assert found.least_error < 0.02 * found.least
        assert found.method == method


def test_gram_certificates_are_tight_and_lanczos_says_what_is_not_proved():
    rng = np.random.default_rng(4)
    operator = Moments(rng.choice([-1.0, 1.0], (60, 440)), 2)
    exact = np.linalg.svd(operator.to_dense(), compute_uv=False)[[0, -1]]
    gram = bounds.singular_values(operator, method="gram")
    assert gram.least_interval[0] <= exact[1] <= gram.least_interval[1]
    assert gram.largest_interval[0] <= exact[0] <= gram.largest_interval[1]
    assert gram.largest_interval[1] - gram.largest_interval[0] < 1e-5 * exact[1]
    assert gram.least_error < 1e-5 * exact[1]
    assert "proved" in gram.certainty
    short = bounds.singular_values(operator, method="lanczos", steps=30, failure=1e-3)
    assert short.least >= exact[1]
    assert short.largest <= exact[0]
    assert short.least_interval[0] < exact[1]
    assert "probability 0.999" in short.certainty
    values = np.linalg.svd(operator.to_dense(), compute_uv=False)
    assert np.abs(values - short.least).min() <= short.residuals[1] * (1 + 1e-9)
    assert np.abs(values - short.largest).min() <= short.residuals[0] * (1 + 1e-9)


def test_the_probabilistic_end_fails_no_more_often_than_it_says():
    """At a claimed failure of 5 %, 200 starts: more than 30 failures would have probability below 1e-7."""
    rng = np.random.default_rng(5)
    matrix = Dense(rng.normal(size=(120, 60)))
    values = np.linalg.svd(matrix.matrix, compute_uv=False)
    wide = values[0] ** 2 - values[-1] ** 2
    missed = 0
    for seed in range(200):
        ritz = bidiagonalise(matrix, 8, np.random.default_rng(seed))
        missed += ritz.least**2 - values[-1] ** 2 > missed_share(60, 8, 0.05) * wide
    assert missed <= 30


def test_lanczos_stops_early_once_the_interval_is_narrow():
    found = bounds.singular_values(Dense(np.diag(np.linspace(1, 1.01, 50))), method="lanczos", tolerance=0.5)
    assert found.steps < 50


@pytest.mark.parametrize(("d", "order"), [(32, 2), (48, 2), (20, 3)])
def test_least_singular_values_of_row_products(d, order):
    found = bounds.row_products(d, order, draws=5, rng=d)
    assert found.n == math.comb(d, order) // 4
    assert abs(found.off) < 0.2, str(found)
    assert len(found.as_json()["intervals"]) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("d", "order"), [(64, 2), (96, 2), (128, 2), (36, 3), (60, 3), (90, 3)])
def test_least_singular_values_of_large_row_products(d, order):
    found = bounds.row_products(d, order, rng=d)
    assert abs(found.off) < 0.2, str(found)
    assert all(value.least_interval[0] / math.sqrt(found.m) > 0.8 * found.expected for value in found.values)


@pytest.mark.slow
def test_least_singular_value_of_a_matrix_of_sixty_thousand_million_entries():
    """One draw (some minutes); its median of five is in the rerun of the paper."""
    found = bounds.row_products(144, 3, draws=1, rng=144)
    assert abs(found.off) < 0.2, str(found)


def test_duplicates_and_complements_are_told_apart_and_would_ruin_the_least_value():
    rng = np.random.default_rng(6)
    signs = rng.choice([-1, 1], (16, 20))
    doubled = np.column_stack([signs, signs[:, 0], -signs[:, 1], -signs[:, 0]])
    kept, duplicates, complements = distinct_people(doubled)
    assert kept.tolist() == list(range(20))
    # the reversal of a person who is there twice is one complement
    assert (duplicates, complements) == (1, 2)
    assert bounds.singular_values(Moments(doubled, 2)).least < 1e-10
    assert bounds.singular_values(Moments(signs, 2)).least > 1


def ratio(operator, vector):
    image = operator @ vector
    return np.abs(image).sum() / (np.sqrt(image.size) * np.linalg.norm(image))


@given(st.integers(2, 25), st.integers(1, 12), st.integers(0, 10**6))
def test_the_section_bound_is_what_its_witness_shows(m, n, seed):
    operator = Dense(np.random.default_rng(seed).normal(size=(m, n)))
    found = bounds.euclidean_section(operator, starts=1, iterations=5)
    assert found.alpha == pytest.approx(ratio(operator, found.witness), rel=1e-9)
    assert 1 / math.sqrt(m) - 1e-12 <= found.alpha <= 1 + 1e-12
    assert found.gamma == found.alpha**2 / 4
    assert 0 < found.half_mass <= 1


def test_conjunctions_are_worse_sections_than_parities():
    """E-LR-1: the all-ones attribute direction concentrates the l1 mass of 0/1 products."""
    bits = np.random.default_rng(7).integers(0, 2, (30, 164)).astype(float)
    conjunction = bounds.euclidean_section(Moments(bits, 2), starts=2, iterations=10)
    parity = bounds.euclidean_section(Moments(2 * bits - 1, 2), starts=2, iterations=10)
    assert conjunction.alpha < 0.9 * parity.alpha
    # so an LP guarantee that holds for the one never holds for the other
    assert bounds.lp(435, 164, 0.1, 10.0, alpha=conjunction.alpha, gamma=conjunction.gamma).hamming == 164


@pytest.mark.parametrize("method", ["dense", "gram", "lanczos"])
def test_a_matrix_of_zeros(method):
    found = ta.bounds.singular_values(Dense(np.zeros((7, 5))), method=method)
    assert found.largest_interval == found.least_interval == (0.0, 0.0)


def test_repeated_columns_and_one_row():
    assert bounds.euclidean_section(Dense(np.ones((1, 3)))).alpha == 1
    assert bounds.singular_values(Dense(np.ones((4, 2)))).least < 1e-12


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bounds.singular_values(np.eye(2)), "operator"),
        (lambda: bounds.singular_values(Dense(np.zeros((0, 3)))), "operator"),
        (lambda: bounds.singular_values(Dense(np.eye(2)), method="qr"), "method"),
        (lambda: bounds.singular_values(Dense(np.eye(2)), steps=1), "steps"),
        (lambda: bounds.singular_values(Dense(np.eye(2)), failure=0.0), "failure"),
        (lambda: bounds.euclidean_section(np.eye(2)), "operator"),
        (lambda: bounds.euclidean_section(Dense(np.zeros((2, 2)))), "operator"),
        (lambda: bounds.row_products(3, 4), "order"),
        (lambda: bounds.row_products(8, 2, people=29), "people"),
    ],
)
def test_bad_input_names_the_parameter(call, name):
    with pytest.raises(ta.InvalidInput, match=f"^{name} must be"):
        call()
