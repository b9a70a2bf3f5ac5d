import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.section import section_upper_bound
from tellall.privacy import bounds


def ratio(matrix: np.ndarray, x: np.ndarray) -> float:
    image = matrix @ x
    return np.abs(image).sum() / (np.sqrt(image.size) * np.linalg.norm(image))


@given(st.integers(1, 10), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_witness_has_the_ratio_that_is_claimed(m, n, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n))
    found = section_upper_bound(Dense(matrix), rng)
    assert found.alpha == pytest.approx(ratio(matrix, found.witness), rel=1e-6)
    assert 1 / np.sqrt(m) - 1e-9 <= found.alpha <= 1 + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_two_unknowns_by_their_kinks(seed):
    matrix = np.random.default_rng(seed).normal(size=(12, 2))
    # between kinks the ratio is linear over a norm, so it is least where some row has image zero
    least = min(ratio(matrix, np.array([-row[1], row[0]])) for row in matrix)
    found = section_upper_bound(Dense(matrix), np.random.default_rng(0))
    assert least - 1e-12 <= found.alpha <= 1.15 * least


def test_a_planted_sparse_image_is_found():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 15))
    matrix[:, 0] = 0
    matrix[:3, 0] = 1.0  # an image of three equal entries: √3 / √60
    mixed = matrix @ np.linalg.qr(rng.normal(size=(15, 15)))[0]
    assert section_upper_bound(Dense(mixed), rng).alpha == pytest.approx(np.sqrt(3 / 60), rel=0.01)


@pytest.mark.slow
def test_bits_are_a_worse_section_than_signs():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (36, 216)).astype(np.float32)
    low = section_upper_bound(Moments(bits, 2), np.random.default_rng(0)).alpha
    high = section_upper_bound(Moments(2 * bits - 1, 2), np.random.default_rng(0)).alpha
    assert low < 0.434  # what one fixed direction shows at this size
    assert low < high < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "bits_below", "signs_below"), [(0, 0.2878, 0.4985), (2, 0.2538, 0.4963)])
def test_no_start_is_forgotten(seed, bits_below, signs_below):
    """What searches from half of today's starts found: 0/1 pairs fall from plain ones, signs from stirred."""
    bits = np.random.default_rng(seed).integers(0, 2, (30, 164)).astype(float)
    assert section_upper_bound(Moments(bits, 2), np.random.default_rng(0)).alpha <= bits_below
    assert section_upper_bound(Moments(2 * bits - 1, 2), np.random.default_rng(0)).alpha <= signs_below


def test_the_bound_of_bounds_is_the_same_search():
    matrix = Dense(np.random.default_rng(5).normal(size=(30, 6)))
    mine = section_upper_bound(matrix, np.random.default_rng(7), starts=2, steps=9)
    theirs = bounds.euclidean_section(matrix, starts=2, iterations=9, rng=7)
    assert np.array_equal(mine.witness, theirs.witness)
    assert mine.gamma == mine.alpha**2 / 4
    assert mine.stats["products"] > 0


def test_the_same_generator_gives_the_same_witness():
    matrix = Dense(np.random.default_rng(2).normal(size=(20, 5)))
    one, two = (section_upper_bound(matrix, np.random.default_rng(3)).witness for _ in range(2))
    assert np.array_equal(one, two)


def test_hopeless_operators_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="operator must be of one row"):
        section_upper_bound(Dense(np.zeros((0, 3))), rng)
    with pytest.raises(InvalidInput, match="operator must be other than zero"):
        section_upper_bound(Dense(np.zeros((4, 3))), rng)
