import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.pdhg import Scaled, even_out


def spiked(m: int, n: int, seed: int) -> Scaled:
    """A random matrix with one direction far above the others, rows and columns scaled."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n)) + 50 * np.outer(rng.normal(size=m), rng.normal(size=n))
    return Scaled(Dense(matrix), rng.uniform(0.5, 2, m), rng.uniform(0.5, 2, n))


def explicit(scaled: Scaled) -> np.ndarray:
    return scaled.rows[:, None] * scaled.operator.to_dense() * scaled.columns


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 10**6))
def test_the_split_system_states_the_same_equations(m, n, seed):
    scaled = spiked(m, n, seed)
    matrix = explicit(scaled)
    split = even_out(scaled, most=4)
    k = split.count
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n + k), rng.normal(size=m + k)
    image, back = split.product(x), split.back(y)
    size = np.linalg.norm(matrix)
    assert abs(y @ image - back @ x) <= 1e-9 * size * (m + n)  # the adjoint law
    assert np.allclose(split.plain_product(image), matrix @ x[:n], atol=1e-9 * size)
    assert np.allclose(split.plain_back(back), matrix.T @ y[:m], atol=1e-9 * size)
    if k:  # where the extra equations hold, the image is that of the matrix
        x[n:] = split.values / split.values[-1] * (split.right.T @ x[:n])
        image = split.product(x)
        assert np.allclose(image[m:], 0, atol=1e-9 * size)
        assert np.allclose(image[:m], matrix @ x[:n], atol=1e-9 * size)


def test_an_outlying_direction_is_split_off_and_the_norm_falls():
    scaled = spiked(80, 60, 1)
    split = even_out(scaled)
    system = np.stack([split.product(unit) for unit in np.eye(60 + split.count)], axis=1)
    assert split.count > 0
    assert split.norm == pytest.approx(np.linalg.norm(system, 2), rel=0.02)
    assert split.norm < np.linalg.norm(explicit(scaled), 2) / 20


def test_a_matrix_without_outlying_directions_stays_as_it_is():
    scaled = Scaled(Dense(np.random.default_rng(0).normal(size=(80, 60))), np.ones(80), np.ones(60))
    split = even_out(scaled)
    assert split.count == 0
    assert split.norm == pytest.approx(np.linalg.norm(scaled.operator.to_dense(), 2), rel=0.02)


def test_a_matrix_of_zeros_has_no_norm():
    assert even_out(Scaled(Dense(np.zeros((3, 2))), np.ones(3), np.ones(2))).norm == 0
