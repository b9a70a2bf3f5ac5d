"""Conformance checks for whoever adds an operator, a statistic, a protection or a solver.

Each raises AssertionError with the law that does not hold.
"""

from __future__ import annotations

import numpy as np

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.solvers.box import BoxProblem
from tellall.algebra.solvers.least_squares import LeastSquares
from tellall.people.dataset import Dataset
from tellall.release import catalogue
from tellall.release.protections.base import Protection, noise_of
from tellall.release.protections.law import Noise
from tellall.release.release import linearise, publish
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.marginals import Marginals

__all__ = [
    "check_operator",
    "check_protection",
    "check_solver",
    "check_statistic",
]


def check_operator(operator: LinearOperator, *, seed: int = 0, tolerance: float = 1e-9) -> None:
    """The laws of an operator: adjoint, and every method equal to the same on its dense form."""
    rng = np.random.default_rng(seed)
    m, n = operator.shape
    dense = operator.to_dense()
    assert dense.shape == (m, n), f"to_dense has shape {dense.shape}, not {(m, n)}"
    u, v = rng.normal(size=n), rng.normal(size=m)
    _close(float(v @ (operator @ u)), float((operator.T @ v) @ u), "⟨A u, v⟩ = ⟨u, Aᵀ v⟩", tolerance)
    block, back = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    _close(operator.matmat(block), dense @ block, "matmat equals the dense form", tolerance)
    _close(operator.rmatmat(back), dense.T @ back, "rmatmat equals the dense form", tolerance)
    _close(operator.matvec(u), dense @ u, "matvec equals the dense form", tolerance)
    _close(operator.rmatvec(v), dense.T @ v, "rmatvec equals the dense form", tolerance)
    weights = rng.uniform(0.1, 2.0, size=m)
    _close(operator.gram(), dense.T @ dense, "gram equals the dense form", tolerance)
    _close(operator.gram(weights), dense.T @ (dense * weights[:, None]), "weighted gram", tolerance)
    _close(operator.squared().to_dense(), dense**2, "squared equals the dense form", tolerance)
    _close(operator.to_sparse().toarray(), dense, "to_sparse equals the dense form", tolerance)
    columns = rng.permutation(n)[: max(1, n // 2)] if n else np.zeros(0, dtype=np.intp)
    _close(operator.take(columns).to_dense(), dense[:, columns], "take equals the dense form", tolerance)


def check_statistic(statistic: Statistic, people: Dataset) -> None:
    """The laws of a statistic: its size, and its equations exact on an exact release."""
    assert people.secret is not None, "the check needs people with a secret"
    release = publish(people, statistic)
    expected = statistic.size_for(people.public, people.levels)
    assert release.values.size == expected, "size is the number of published values"
    evidence = linearise(release, people.public)
    secret = people.secret
    if evidence.values > 1:  # one block of people per value
        secret = (np.arange(evidence.values)[:, None] == secret).astype(np.float64).ravel()
    image = evidence.operator @ secret
    _close(image, evidence.target, "operator @ secret == target on an exact release")
    groups = evidence.groups
    whole = evidence.operator.to_dense().reshape(-1, evidence.values, people.n)
    _close(whole, whole[..., groups.first][..., groups.index], "people alike have equal columns", 0.0)


def check_protection(protection: Protection, *, seed: int = 0, size: int = 200_000) -> None:
    """The laws of a protection: missing stays missing, bounds hold, errors have the declared spread.

    Notes
    -----
    The spread is that of `size` draws on uniform values; five standard errors of a sample standard deviation
    with kurtosis at most 9 (Laplace has 6) is a false alarm with probability below 1e-6. A protection that
    needs people is published over 200 random ones: one seed gives one release, what was prepared may be
    saved, and errors stay within the bound.
    """
    if any(hasattr(protection, hook) for hook in ("prepare", "records", "perturb_people")):
        _check_published(protection, seed)
        return
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 1000, size)
    out = protection.perturb(np.append(values, np.nan), rng)
    assert np.isnan(out[-1]), "a missing value stays missing"
    law = noise_of([protection])
    if isinstance(protection, Noise):
        error = out[:-1] - values
        assert np.abs(error).max() <= law.bound * (1 + 1e-12), "errors stay within the bound"
        slack = 5 * law.std * np.sqrt(8 / (4 * size))
        assert abs(float(error.std()) - law.std) <= slack, "errors have the declared std"
        drawn = protection.sample(size, rng)
        assert abs(float(drawn.std()) - law.std) <= slack, "samples have the declared std"


def _check_published(protection: Protection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = Dataset.from_arrays(rng.integers(0, 2, (200, 6)), rng.permutation(np.arange(200) % 2))
    exact = publish(people, Marginals(3)).values
    release, again = (publish(people, Marginals(3), protection, rng=seed) for _ in range(2))
    assert np.array_equal(release.values, again.values, equal_nan=True), "one seed gives one release"
    held = tuple(catalogue.build("protection", catalogue.to_plain(p)) for p in release.protections)
    law, loaded = release.noise, noise_of(held)
    assert law.std == loaded.std, "plain data keep the law"
    error = np.abs(release.values - exact)
    assert np.nanmax(error, initial=0.0) <= law.bound * (1 + 1e-12), "errors stay within the bound"


def check_solver(solver: LeastSquares, *, seed: int = 0, n: int = 40, m: int = 120) -> None:
    """The laws of a least-squares solver: inside the box, and no feasible direction goes down."""
    from tellall.algebra.operators.dense import Dense

    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n))
    truth = rng.integers(0, 2, n).astype(float)
    target = matrix @ truth + rng.normal(size=m)
    problem = BoxProblem(Dense(matrix), np.ones(m), np.full(n, 0.5), np.full(n, 0.5), np.zeros(n), np.ones(n))
    solution = solver.prepare(problem).solve(target)
    assert solution.status.settled, f"status is {solution.status}"
    x = solution.value
    assert x.min() >= 0, "the estimate stays above the lower bound"
    assert x.max() <= 1, "the estimate stays below the upper bound"
    gradient = matrix.T @ (matrix @ x - target) + 0.5 * (x - 0.5)
    _close(np.clip(x - gradient, 0, 1), x, "a projected gradient step stays", 1e-4)


def _close(got: Array | float, wanted: Array | float, law: str, tolerance: float = 1e-9) -> None:
    a, b = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert a.shape == b.shape, f"{law}: shapes {a.shape} and {b.shape}"
    worst = float(np.abs(a - b).max(initial=0.0)) / max(1.0, float(np.abs(b).max(initial=0.0)))
    assert worst <= tolerance, f"{law}: off by {worst:.3g}"
