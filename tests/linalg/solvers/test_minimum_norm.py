"""Minimum-norm least squares is numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.core.errors import InvalidInput
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.many_targets import MinimumNorm


@given(
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    rank=st.integers(0, 9),
    k=st.integers(1, 4),
    seed=st.integers(0, 999),
)
def test_the_same_as_lstsq_at_any_shape_and_rank(m: int, n: int, rank: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    targets = rng.normal(size=(m, k))
    ready = MinimumNorm(1e-10).prepare(Dense(matrix))
    wanted, _, numpy_rank, _ = np.linalg.lstsq(matrix, targets, rcond=1e-10)
    assert ready.rank == numpy_rank
    np.testing.assert_allclose(ready.solve(targets), wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))
    np.testing.assert_allclose(ready.solve(targets[:, 0]), ready.solve(targets)[:, 0], atol=1e-12, rtol=1e-9)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInput, match="targets must be"):
        MinimumNorm().prepare(Dense(np.eye(3))).solve(np.zeros(2))
    with pytest.raises(InvalidInput, match="rank_tolerance must be"):
        MinimumNorm(1.0).prepare(Dense(np.eye(3)))
