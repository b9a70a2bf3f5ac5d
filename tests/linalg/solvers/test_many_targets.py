"""Many targets at once are solved as each alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.core.errors import InvalidInput
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from tellall.linalg.solvers.many_targets import ManyTargets


@given(
    n=st.integers(1, 12),
    m=st.integers(1, 20),
    targets=st.integers(1, 5),
    weight=st.floats(0.01, 10.0),
    even=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_same_minimiser_and_posterior_as_one_by_one(
    n: int, m: int, targets: int, weight: float, even: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    operator = Dense(rng.choice([-1.0, 0.0, 1.0], (m, n)))
    size = rng.integers(1, 4, n).astype(float)
    rows = np.ones(m) if even else rng.uniform(0.5, 2.0, m)
    rates = rng.uniform(0.1, 0.9, targets)
    secrets = rng.binomial(size.astype(int)[:, None], rates, (n, targets)).astype(float)
    values = operator @ secrets + rng.normal(size=(m, targets))
    found = ManyTargets.of(operator, rows, size).solve(values, weight, rates)
    assert found.settled.all()
    for column, rate in enumerate(rates):
        variance = size * rate * (1 - rate)
        problem = BoxProblem(operator, weight * rows, 1 / variance, size * rate, 0 * size, size)
        alone = LeastSquares().prepare(problem)
        mean, spread = alone.posterior(values[:, column], rng=rng)
        np.testing.assert_allclose(found.mean[:, column], mean, atol=1e-8)
        np.testing.assert_allclose(found.variance[:, column], spread, rtol=1e-8)
        np.testing.assert_allclose(found.value[:, column], alone.solve(values[:, column]).value, atol=1e-3)


def test_a_steep_problem_is_left_to_another_solver() -> None:
    operator = Dense(np.vstack([np.full((1, 6), 100.0), np.eye(6)]))
    found = ManyTargets.of(operator, np.ones(7), np.ones(6)).solve(
        np.zeros((7, 2)), 1e4, np.array([0.5, 0.2])
    )
    assert not found.settled.any()
    assert np.isfinite(found.mean).all()


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (3,)])
def test_wrong_targets_are_refused(shape: tuple[int, ...]) -> None:
    ready = ManyTargets.of(Dense(np.eye(3)), np.ones(3), np.ones(3))
    with pytest.raises(InvalidInput, match="targets must be"):
        ready.solve(np.zeros(shape), 1.0, np.array([0.5]))
    with pytest.raises(InvalidInput, match="targets must be"):
        ready.solve(np.full((3, 1), np.nan), 1.0, np.array([0.5]))


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="size must be"):
        ManyTargets.of(Dense(np.eye(3)), np.ones(3), np.zeros(3))
