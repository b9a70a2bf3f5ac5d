import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.algebra.solvers.minimum_norm import hamming_certificate, hamming_from_image


def test_golden_certificates(golden):
    for case in golden["least_squares_attack"]:
        matrix = np.array(case["A"], dtype=float)
        m, n = matrix.shape
        errors = np.array(case["e"], dtype=float)
        least = np.linalg.svd(matrix, compute_uv=False)[-1]
        assert np.isclose(least, float(case["sigma_min"]), rtol=1e-12)
        image = np.linalg.norm(np.linalg.pinv(matrix) @ errors)
        assert np.isclose(4 * image**2, float(case["bound_4_norm_Ainv_e_sq"]), rtol=1e-12)
        by_bound = hamming_certificate(n, least, bound=float(case["beta"]), m=m)
        assert by_bound == min(n, int(float(case["bound_4m_beta2_over_sigma2"])))
        assert case["hamming"] <= hamming_from_image(n, image) <= by_bound


@given(st.integers(1, 12), st.integers(1, 6), st.floats(0, 3), st.integers(0, 10**6))
def test_rounded_least_squares_keeps_the_promise(m, n, size, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, (m, n)).astype(float)
    secret = rng.integers(0, 2, n)
    errors = size * rng.uniform(-1, 1, m)
    x = np.linalg.pinv(matrix) @ (matrix @ secret + errors)
    wrong = int(((x >= 0.5) != secret).sum())
    values = np.linalg.svd(matrix, compute_uv=False)
    least = float(values[-1]) if m >= n and values[-1] > 1e-9 else 0.0
    norm = float(np.linalg.norm(errors))
    tight = hamming_certificate(n, least, error_norm=norm)
    loose = hamming_certificate(n, least, bound=float(np.abs(errors).max()), m=m)
    assert wrong <= tight <= loose <= n


def test_the_promise_is_reached():
    # one person, one row, an error of exactly 1/2: the bound is 1 and the bit is wrong
    assert hamming_certificate(1, 1.0, error_norm=0.5) == 1
    assert hamming_certificate(1, 1.0, error_norm=0.4999) == 0


def test_edges():
    assert hamming_certificate(7, 1.0, bound=0.0, m=10) == 0
    assert hamming_certificate(7, 0.0, bound=0.0, m=10) == 7
    assert hamming_certificate(7, 1e-200, bound=1e200, m=10) == 7
    assert hamming_certificate(7, 1.0, error_norm=float("inf")) == 7


@pytest.mark.parametrize(
    "arguments",
    [
        {"least_singular_value": -1.0, "error_norm": 1.0},
        {"least_singular_value": float("nan"), "error_norm": 1.0},
        {"least_singular_value": 1.0},
        {"least_singular_value": 1.0, "error_norm": 1.0, "bound": 1.0},
        {"least_singular_value": 1.0, "bound": -1.0, "m": 3},
        {"least_singular_value": 1.0, "error_norm": float("nan")},
    ],
)
def test_nonsense_is_refused(arguments):
    with pytest.raises(InvalidInput):
        hamming_certificate(3, **arguments)
    with pytest.raises(InvalidInput):
        hamming_from_image(3, -1.0)
