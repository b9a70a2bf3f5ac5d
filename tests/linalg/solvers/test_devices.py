"""The iterative solvers on the arrays of other libraries give the answers they give here."""

from __future__ import annotations

import numpy as np
import pytest

from tellall.linalg.operators.compose import OnDevice
from tellall.linalg.operators.linear_operator import Dense, Device, LinearOperator
from tellall.linalg.operators.moments import Moments
from tellall.linalg.posterior.solver import CountProblem, Posterior
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares


def devices() -> list[Device]:
    import array_api_strict as strict

    out = [Device("strict", strict, strict.Device("device1"), panel=8, home=strict.Device("CPU_DEVICE"))]
    try:
        import torch
        from array_api_compat import torch as namespace
    except ImportError:
        return out
    return [*out, Device("cpu", namespace, torch.device("cpu"), narrow=torch.bfloat16, panel=8)]


each_device = pytest.mark.parametrize("device", devices(), ids=lambda device: device.xp.__name__)


def pairs(n: int = 300, d: int = 40, noise: float = 0.1, gross: float = 0.0, bits: bool = False):
    """All pairs of attributes of random people: operator, published values, the secret."""
    rng = np.random.default_rng(5)
    attributes = rng.integers(0, 2, (d, n)).astype(np.float32)
    operator = Moments(attributes if bits else 2 * attributes - 1, 2)
    secret = rng.integers(0, 2, n)
    m = operator.shape[0]
    target = operator.matvec(secret.astype(np.float32)) + rng.normal(0, noise * n**0.5, m)
    target = target + (rng.random(m) < gross) * rng.normal(0, 10 * n**0.5, m)
    return operator, target, secret, np.full(m, noise * n**0.5)


def box(operator: LinearOperator, std: np.ndarray) -> BoxProblem:
    one = np.ones(operator.shape[1])
    return BoxProblem(operator, 1 / std**2, 4 * one, 0.5 * one, 0 * one, one)


@each_device
@pytest.mark.parametrize("bits", [False, True])
def test_least_squares(device: Device, bits: bool) -> None:
    operator, target, _, std = pairs(bits=bits)
    options = LeastSquares(gram_limit=0, deflation=60)
    here = options.prepare(box(operator, std)).solve(target)
    there = options.prepare(box(OnDevice.move(operator, device), std)).solve(target)
    assert here.status.settled
    assert there.status.settled
    assert isinstance(there.value, np.ndarray)
    np.testing.assert_array_equal(there.value >= 0.5, here.value >= 0.5)
    np.testing.assert_allclose(there.value, here.value, atol=2e-3)


@each_device
def test_variances_of_least_squares(device: Device) -> None:
    operator, target, _, std = pairs(n=60, d=16)
    options = LeastSquares(gram_limit=0, probes=8)
    here = options.prepare(box(operator, std)).posterior(target, rng=np.random.default_rng(0))
    moved = box(OnDevice.move(operator, device), std)
    there = options.prepare(moved).posterior(target, rng=np.random.default_rng(0))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(other, one, atol=5e-3)


@each_device
@pytest.mark.parametrize("rounded", [False, True])
def test_posterior(device: Device, rounded: bool) -> None:
    operator, target, secret, std = pairs(gross=0.0 if rounded else 0.1)
    one = np.ones(secret.size)
    slack = np.full(std.size, 2.5) if rounded else None

    def solve(operator: LinearOperator):
        problem = CountProblem(operator, std, one, 0 * one, one, 0.5, slack, not rounded)
        return (
            Posterior(method="message-passing").prepare(problem).solve(target, rng=np.random.default_rng(1))
        )

    here, there = solve(operator), solve(OnDevice.move(operator, device))
    assert here.status.word == there.status.word == "trusted"
    np.testing.assert_array_equal(there.chance >= 0.5, here.chance >= 0.5)
    np.testing.assert_allclose(there.chance, here.chance, atol=2e-3)
    assert (there.chance >= 0.5).astype(int).tolist() == secret.tolist()


@each_device
def test_posterior_of_groups(device: Device) -> None:
    rng = np.random.default_rng(7)
    size = rng.integers(1, 4, 240).astype(float)
    operator = Moments(rng.choice(np.array([-1.0, 1.0]), size=(36, 240)), 2)
    truth = rng.binomial(size.astype(int), 0.4).astype(float)
    std = np.full(operator.shape[0], 1.0)
    target = operator.matvec(truth) + rng.normal(size=std.size)

    def solve(operator: LinearOperator):
        problem = CountProblem(operator, std, size, 0 * size, size, 0.4)
        return (
            Posterior(method="message-passing").prepare(problem).solve(target, rng=np.random.default_rng(1))
        )

    here, there = solve(operator), solve(OnDevice.move(operator, device))
    np.testing.assert_allclose(there.value, here.value, atol=1e-2)
    np.testing.assert_array_equal(np.round(there.value), truth)


@each_device
@pytest.mark.parametrize("kind", ["signs", "bits", "dense"])
def test_least_absolute(device: Device, kind: str) -> None:
    operator, target, _, std = pairs(n=120, d=24, gross=0.1, bits=kind == "bits")
    moved: LinearOperator = operator
    if kind == "dense":
        moved = Dense(operator.to_dense().astype(np.float64))
    one = np.ones(operator.shape[1])

    def solve(operator: LinearOperator):
        problem = AbsoluteProblem(operator, 1 / std, 0 * one, one, 0 * std)
        return LeastAbsolute(gap=1e-3, exact_limit=0).prepare(problem).solve(target)

    here, there = solve(moved), solve(OnDevice.move(moved, device))
    assert there.status.settled
    assert there.stats["gap"] <= 1e-3
    # both are certified, so each is within its gap of the other
    assert there.stats["objective"] == pytest.approx(here.stats["objective"], rel=1.01e-3)
    assert there.stats["bound"] <= here.stats["objective"] * (1 + 1e-9)
