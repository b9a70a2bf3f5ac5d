"""ℓ1 decoding survives as many wrong equations as are certified, and not more than the limit."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tellall.linalg.solvers.certificate import survival


def decoded(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    m, n = matrix.shape
    eye = np.eye(m)
    found = linprog(
        np.r_[np.zeros(n), np.ones(m)],
        A_ub=np.block([[matrix, -eye], [-matrix, -eye]]),
        b_ub=np.r_[target, -target],
        bounds=[(None, None)] * n + [(0, None)] * m,
    )
    return found.x[:n]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(3, 14))
def test_what_is_certified_is_survived_whichever_rows_are_wrong(seed, n, m):
    rng = np.random.default_rng(seed)
    matrix, truth = rng.choice([-1.0, 1.0], (m, n)), rng.integers(0, 2, n).astype(float)
    found = survival(matrix)
    assert 0 <= found.certified <= found.limit <= m
    for wrong in list(combinations(range(m), found.certified))[:20]:
        target = matrix @ truth
        # the worst that these rows can do is to agree on one other solution
        target[list(wrong)] += matrix[list(wrong)] @ rng.normal(size=n) * 10 ** rng.uniform(-1, 3)
        assert np.allclose(decoded(matrix, target), truth, atol=1e-6)


def test_one_row_beyond_the_limit_another_solution_fits_as_well():
    rng = np.random.default_rng(3)
    matrix, n = rng.choice([-1.0, 1.0], (40, 4)), 4
    found = survival(matrix)
    moves = [*np.eye(n), *(np.eye(n)[i] - np.eye(n)[j] for i, j in combinations(range(n), 2))]
    images = [np.sort(np.abs(matrix @ move))[::-1] for move in moves]
    reached = [np.cumsum(image)[found.limit] >= image.sum() / 2 for image in images]
    assert any(reached)


def test_without_full_rank_nothing_is_certified():
    assert survival(np.ones((5, 2))).certified == 0
    assert survival(np.ones((5, 2))).limit == 0  # the two cannot be told apart


def test_weights_scale_the_rows():
    rows = np.ones((3, 1))
    assert survival(rows, [1.0, 1.0, 1.0]).certified == 1
    assert survival(rows, [9.0, 1.0, 1.0]).certified == 0  # the first row alone outweighs the others
    assert "certified" in str(survival(rows))
    assert survival(rows).share == pytest.approx(1 / 3)
