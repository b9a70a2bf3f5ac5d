"""Reconstruction at census scale on one GPU: seconds of solving, memory, bits; see scale.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.linalg.operators.compose import OnDevice
from tellall.linalg.operators.linear_operator import HOST, Device, find_device
from tellall.linalg.operators.moments import Moments, Packed
from tellall.linalg.posterior.solver import CountProblem, Posterior
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from timing import wall_time

GIB = 2**30


@dataclass(frozen=True)
class Instance:
    """All pairs of random attributes, kept as packed bits where the work is done."""

    operator: OnDevice
    target: np.ndarray
    std: np.ndarray
    secret: np.ndarray
    size: str

    def right(self, estimate: np.ndarray) -> str:
        """How many bits are right after rounding at 1/2."""
        wrong = int(np.count_nonzero((estimate >= 0.5) != self.secret))
        return "all" if not wrong else f"all but {wrong:,} of {self.secret.size:,}"


def all_pairs(n: int, d: int, noise: float, device: Device, *, gross: float = 0.0, seed: int = 0) -> Instance:
    """Noise and gross errors (10) in units of √n, ±1 attributes, a secret of fair bits."""
    rng = np.random.default_rng(seed)
    bits = device.zeros((d, -(-n // 8)), device.xp.uint8)
    for row in range(d):  # one at a time: the host never holds them all
        bits[row, :] = device.put(rng.integers(0, 256, bits.shape[1], dtype=np.uint8))
    operator = OnDevice(Moments(Packed(bits, n, -1.0, 1.0, device), 2))
    secret = rng.integers(0, 2, n, dtype=np.int8)
    m, sigma = operator.shape[0], noise * n**0.5
    target = operator.matvec(secret.astype(np.float32)).astype(np.float64) + rng.normal(0, sigma, m)
    target += (rng.random(m) < gross) * rng.normal(0, 10 * n**0.5, m)
    size = f"n={n:,}, d={d}, m={m:,}, σ={noise}√n" + (f", {gross:.0%} gross" if gross else "")
    return Instance(operator, target, np.full(m, sigma), secret, size)


def least_squares(instance: Instance) -> Callable[[], np.ndarray]:
    """Box least squares, settled to a hundredth of the box."""
    one = np.ones(instance.secret.size)
    problem = BoxProblem(instance.operator, 1 / instance.std**2, 4 * one, 0.5 * one, 0 * one, one)
    prepared = LeastSquares(gram_limit=0, tolerance=0.01).prepare(problem)
    return lambda: prepared.solve(instance.target).value


def posterior(instance: Instance) -> Callable[[], np.ndarray]:
    """Message passing that estimates gross errors, its rehearsal included."""
    one = np.ones(instance.secret.size)
    problem = CountProblem(instance.operator, instance.std, one, 0 * one, one, 0.5, contaminated=True)
    prepared = Posterior(method="message-passing").prepare(problem)
    return lambda: prepared.solve(instance.target, rng=np.random.default_rng(0)).chance


def least_absolute(instance: Instance) -> Callable[[], np.ndarray]:
    """ℓ1 decoding to a certified gap of 1e-3."""
    one = np.ones(instance.secret.size)
    problem = AbsoluteProblem(instance.operator, 1 / instance.std, 0 * one, one, 0 * instance.std)
    prepared = LeastAbsolute(gap=1e-3).prepare(problem)
    return lambda: prepared.solve(instance.target).value


ROWS: dict[str, tuple[str, int, int, float, float, Any]] = {
    "million": ("least squares", 1_000_000, 2200, 0.1, 0.0, least_squares),
    "gross": ("posterior", 100_000, 633, 0.05, 0.1, posterior),
    "lp": ("LP, certified gap 1e-3", 100_000, 633, 0.05, 0.05, least_absolute),
    "ten-million": ("least squares", 10_000_000, 6504, 0.1, 0.0, least_squares),
}


def gpu(quick: bool) -> Iterator[tuple[str, ...]]:
    """Every row on the first GPU; and the host's own precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        device = find_device("cuda")
    if device is HOST:
        yield (
            "reconstruction on a GPU",
            "",
            "",
            "none here: needs CUDA and pip install 'tellall[gpu]'",
            "",
            "",
        )
        return
    yield from same_bits(device)
    for name in ("gross", "lp", "million") if quick else ROWS:
        yield measure(name, device)


def measure(name: str, device: Device) -> tuple[str, ...]:
    """One row of the table."""
    work, n, d, noise, gross, solver = ROWS[name]
    warm_up(device, solver)
    instance = all_pairs(n, d, noise, device, gross=gross)
    reset_peak(device)
    solve = solver(instance)
    seconds, estimate = wall_time(solve)
    memory = f"{peak(device) / GIB:.1f} GiB of the device"
    return (
        f"{work} on {device.name}",
        instance.size,
        "–",
        f"{seconds:.2f} s",
        memory,
        instance.right(estimate),
    )


def warm_up(device: Device, solver: Any) -> None:
    """Libraries loaded and kernels chosen, which the first product of each kind pays for."""
    solver(all_pairs(20_000, 290, 0.1, device))()


def same_bits(device: Device) -> Iterator[tuple[str, ...]]:
    """The same instance on the host in double and single precision, and on the device."""
    rng = np.random.default_rng(1)
    n, d = 5000, 142
    signs = 2.0 * rng.integers(0, 2, (d, n)) - 1
    secret, sigma = rng.integers(0, 2, n), 0.2 * n**0.5
    exact = Moments(signs, 2)
    m = exact.shape[0]
    target = exact.matvec(secret.astype(float)) + rng.normal(0, sigma, m)
    one = np.ones(n)
    options = LeastSquares(gram_limit=0)
    found = {}
    for name, operator in (
        ("float64", exact),
        ("float32", Moments(signs.astype(np.float32), 2)),
        (device.name, OnDevice.move(exact, device)),
    ):
        problem = BoxProblem(operator, np.full(m, sigma**-2), 4 * one, 0.5 * one, 0 * one, one)
        found[name] = options.prepare(problem).solve(target).value
    for name in ("float32", device.name):
        off = float(np.abs(found[name] - found["float64"]).max())
        differ = int(np.count_nonzero((found[name] >= 0.5) != (found["float64"] >= 0.5)))
        apart = f"{off:.1e} apart, {differ} bits differ"
        yield f"least squares, {name}", f"n={n}, d={d}, m={m}", "float64 on the host", "–", "–", apart


def reset_peak(device: Device) -> None:
    if device is not HOST and hasattr(device.xp.cuda, "reset_peak_memory_stats"):
        device.xp.cuda.reset_peak_memory_stats()


def peak(device: Device) -> float:
    """The most device memory held at once since the last reset, if the library counts it."""
    if device is HOST or not hasattr(device.xp.cuda, "max_memory_allocated"):
        return float("nan")
    return float(device.xp.cuda.max_memory_allocated())
