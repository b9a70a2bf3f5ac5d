"""Variances from few random signs: near the exact ones, never outside what they can be."""

from __future__ import annotations

import numpy as np
import pytest

from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares, count_probes, shrunk_variances


def problem(kind: str, n: int = 500, d: int = 45) -> BoxProblem:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (d, n)).astype(float)
    operator = Moments(2 * bits - 1 if kind == "signs" else bits, 2)
    m = operator.shape[0]
    weights = rng.exponential(0.2, m) if kind == "different" else np.full(m, 0.2)
    ridge = rng.choice([0.5, 4.0, 40.0], n) if kind == "different" else np.full(n, 4.0)
    return BoxProblem(operator, weights, ridge, np.full(n, 0.5), np.zeros(n), np.ones(n))


def hessian(of: BoxProblem) -> np.ndarray:
    return of.operator.gram(of.weights) + np.diag(of.ridge)


@pytest.mark.parametrize(("kind", "near"), [("signs", 0.12), ("bits", 0.28), ("different", 0.33)])
def test_shrinking_brings_few_probes_nearer(kind: str, near: float) -> None:
    made = problem(kind)
    whole = hessian(made)
    inverse, rng = np.linalg.inv(whole), np.random.default_rng(2)
    exact = inverse.diagonal()
    for count in (4, 16, 64):
        signs = rng.choice([-1.0, 1.0], (500, count))
        probes = signs * (inverse @ signs)
        total, squares = probes.sum(axis=1), (probes**2).sum(axis=1)
        found = shrunk_variances(total, squares, count, whole.diagonal(), made.ridge)
        off, plain = (np.sqrt(np.mean((each / exact - 1) ** 2)) for each in (found, total / count))
        assert off <= 1.02 * plain
        assert off <= near
        assert (found >= 1 / whole.diagonal()).all()
        assert (found <= 1 / made.ridge).all()


@pytest.mark.parametrize("kind", ["signs", "bits", "different"])
def test_a_posterior_without_the_inverse_has_nearly_its_variances(kind: str) -> None:
    made = problem(kind)
    target = made.operator @ (np.arange(500) % 2).astype(float)
    rng = np.random.default_rng(0)
    _, exact = LeastSquares().prepare(made).posterior(target, rng=rng)
    _, found = LeastSquares(gram_limit=0).prepare(made).posterior(target, rng=rng)
    assert np.sqrt(np.mean((found / exact - 1) ** 2)) < 0.15


def test_one_probe_and_nobody_are_no_trouble() -> None:
    one = shrunk_variances(np.array([0.3, -1.0]), np.array([0.09, 1.0]), 1, np.full(2, 4.0), np.full(2, 2.0))
    assert one.tolist() == [0.3, 0.25]
    assert shrunk_variances(*np.zeros((2, 0)), 4, np.zeros(0), np.zeros(0)).size == 0
    assert [count_probes(1, 10**9), count_probes(64, 0), count_probes(3, 10**7)] == [1, 64, 3]
