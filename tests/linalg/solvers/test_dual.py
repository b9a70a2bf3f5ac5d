"""Certificates of least residual norms: weak duality, agreement with least squares, and what fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.certificate import norm_certificate


def system(seed: int, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)), rng.standard_normal(m)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_least_squares_is_certified_and_nothing_feasible_is_above(seed: int, m: int, n: int) -> None:
    matrix, target = system(seed, m, n)
    solution = np.linalg.lstsq(matrix, target, rcond=1e-12)[0]
    found = norm_certificate(matrix, solution, target)
    assert found.optimal()
    assert found.gap == pytest.approx(0, abs=1e-7)
    left, values, _ = np.linalg.svd(matrix)
    null = left[:, int((values > 1e-10).sum()) :]  # every ν with Aᵀν = 0
    feasible = null @ np.random.default_rng(seed).standard_normal((null.shape[1], 20))
    lengths = np.linalg.norm(feasible, axis=0)
    assert np.all(target @ feasible <= found.primal * lengths + 1e-9)


@given(st.integers(0, 10_000), st.floats(0.01, 10))
def test_anything_else_is_not(seed: int, far: float) -> None:
    matrix, target = system(seed, 9, 4)
    best = np.linalg.lstsq(matrix, target, rcond=1e-12)[0]
    off = best + far * np.random.default_rng(seed + 1).standard_normal(4)
    found = norm_certificate(matrix, off, target)
    assert not found.optimal()
    # the bound of the notes holds for the true minimiser too
    slope = np.linalg.norm(matrix.T @ found.multiplier)
    least = np.linalg.norm(matrix @ best - target)
    assert least >= found.dual - slope * np.linalg.norm(best) - 1e-9


def test_exact_equations_have_no_direction() -> None:
    matrix, _ = system(1, 3, 5)
    secret = np.arange(5.0)
    found = norm_certificate(matrix, secret, matrix @ secret)
    assert (found.dual, found.infeasibility) == (0.0, 0.0)
    assert found.optimal()


def test_operators_that_are_never_formed() -> None:
    rng = np.random.default_rng(3)
    operator = Moments(rng.choice([-1.0, 1.0], size=(6, 10)), 2)
    estimate, target = rng.random(10), rng.standard_normal(operator.shape[0])
    found = norm_certificate(operator, estimate, target)
    dense = norm_certificate(Dense(operator.to_dense()), estimate, target)
    assert found.infeasibility == pytest.approx(dense.infeasibility)
    assert found.dual == pytest.approx(dense.dual)


@pytest.mark.parametrize(
    ("estimate", "target"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0])]
)
def test_wrong_sizes_are_named(estimate: list[float], target: list[float]) -> None:
    with pytest.raises(InvalidInput, match="finite numbers"):
        norm_certificate(np.eye(2), estimate, target)
