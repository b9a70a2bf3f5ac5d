"""The posterior decoder beside an LP solver and numpy's lstsq in the same run: ratio, memory, bits.

python benchmarks/posterior.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from tellall.linops import Moments
from tellall.solve import BoxProblem, CountProblem, LeastSquares, Posterior, PosteriorSolution


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    size: str
    reference: str
    ratio: str
    memory: str
    bits: str


@dataclass(frozen=True)
class Instance:
    """All pairs of attributes of random people: the problem, what was published, and the secret."""

    problem: CountProblem
    target: np.ndarray
    secret: np.ndarray
    size: str

    def solve(self) -> PosteriorSolution:
        """The posterior, from the bare operator."""
        return Posterior().prepare(self.problem).solve(self.target, rng=np.random.default_rng(0))

    def right(self, estimate: np.ndarray) -> float:
        """The share of bits right after rounding at 1/2."""
        return float(np.mean((estimate >= 0.5) == self.secret))


def all_pairs(
    n: int,
    d: int,
    noise: float,
    *,
    gross: float = 0.0,
    declared: float = 1.0,
    factors: int = 0,
    bits: bool = False,
    seed: int = 0,
) -> Instance:
    """Noise and gross errors (10) in units of √n; `declared` is the factor the noise is misstated by."""
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (d, n), dtype=np.int8).astype(np.float32)
    if factors:
        latent = rng.normal(size=(d, factors)) @ rng.normal(size=(factors, n))
        signs = (latent + rng.normal(size=(d, n)) > 0).astype(np.float32)
    if not bits:
        signs *= 2
        signs -= 1
    operator = Moments(signs, 2)
    secret = rng.integers(0, 2, n)
    m, sigma = operator.shape[0], noise * n**0.5
    target = operator.matvec(secret.astype(np.float32)).astype(np.float64) + rng.normal(0, sigma, m)
    target += (rng.random(m) < gross) * rng.normal(0, 10 * n**0.5, m)
    one = np.ones(n)
    problem = CountProblem(operator, np.full(m, sigma * declared), one, 0 * one, one, 0.5)
    kind = "0/1" if bits else "±1"
    size = f"n={n}, d={d}, m={m}, {kind}, σ={noise}√n"
    if gross:
        size += f", {gross:.0%} gross"
    if factors:
        size += f", {factors} latent factors"
    if declared != 1:
        size += f", σ declared {declared:.2g} times"
    return Instance(problem, target, secret, size)


def clock(times: int, call: Callable[[], Any]) -> tuple[float, Any]:
    """The least CPU time of several runs, and the last result."""
    least, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


def peak(call: Callable[[], Any]) -> str:
    """The most memory a call holds at once."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return f"{most:.1f} MiB"


def highs_dual(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """ℓ1 decoding in the box by HiGHS's interior point method on the dual: max ⟨λ, z⟩ − Σ ν, Aᵀλ ≤ ν.

    The primal x is read off the multipliers.
    """
    from scipy.optimize import linprog

    m, n = matrix.shape
    cost = np.concatenate([-target, np.ones(n)])
    rows = np.hstack([matrix.T, -np.eye(n)])
    bounds = [(-1, 1)] * m + [(0, None)] * n
    done = linprog(cost, A_ub=rows, b_ub=np.zeros(n), bounds=bounds, method="highs-ipm")
    return -np.asarray(done.ineqlin.marginals)


def against_highs(n: int, d: int, gross: float = 0.05) -> Row:
    """Gross errors: bits from the posterior and from the LP's optimum."""
    instance = all_pairs(n, d, 0.05, gross=gross, seed=n)
    instance.solve()
    ours, solution = clock(3, instance.solve)
    matrix = instance.problem.operator.to_dense().astype(np.float64)
    theirs, estimate = clock(1, lambda: highs_dual(matrix, instance.target))
    return Row(
        "posterior under gross errors, rehearsal included",
        instance.size,
        f"HiGHS ipm, dual form, {theirs:.1f} s",
        f"{theirs / ours:.0f}×",
        peak(instance.solve),
        f"{instance.right(solution.chance):.4f} against {instance.right(estimate):.4f}",
    )


def against_least_squares(instance: Instance) -> Row:
    """The same equations by box least squares, for the bits; the status and the time."""
    ours, solution = clock(1, instance.solve)
    problem, one = instance.problem, np.ones(instance.secret.size)
    box = BoxProblem(problem.operator, 1 / problem.std**2, 4 * one, one / 2, 0 * one, one)
    theirs, boxed = clock(1, lambda: LeastSquares().prepare(box).solve(instance.target))
    return Row(
        f"posterior ({solution.status.word})",
        instance.size,
        "box least squares, Gram + Cholesky",
        f"{theirs / ours:.1f}× ({ours:.2f} s)",
        "",
        f"{instance.right(solution.chance):.4f} against {instance.right(boxed.value):.4f}",
    )


def calibration(noise: float, instances: int = 20, factors: int = 0, n: int = 2000, d: int = 90) -> Row:
    """Of people with confidence in [0.9, 0.95): the share whose bit is right."""
    there, good, words, spent = 0, 0, list[str](), 0.0
    for seed in range(instances):
        instance = all_pairs(n, d, noise, factors=factors, seed=seed)
        seconds, solution = clock(1, instance.solve)
        spent += seconds
        chosen = (solution.confidence >= 0.9) & (solution.confidence < 0.95)
        there += int(chosen.sum())
        good += int(((solution.chance >= 0.5) == instance.secret)[chosen].sum())
        words.append(solution.status.word)
    said = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
    return Row(
        f"calibration: {said}",
        f"{instance.size}, {instances} instances",
        "people with confidence in [0.9, 0.95)",
        f"{spent / instances:.2f} s each",
        "",
        f"{good / max(there, 1):.3f} of {there}",
    )


def large(n: int, d: int) -> Row:
    """A size at which the explicit matrix does not fit."""
    instance = all_pairs(n, d, 0.05, gross=0.1, seed=n)
    kept: list[PosteriorSolution] = []
    start = time.process_time()
    memory = peak(lambda: kept.append(instance.solve()))
    seconds = time.process_time() - start
    factor = instance.problem.operator.factor.nbytes / 2**20
    return Row(
        f"posterior ({kept[0].status.word})",
        instance.size,
        f"none: the matrix would take {4 * n * instance.target.size / 2**30:.0f} GiB",
        f"{seconds:.1f} s",
        f"{memory} beside the factor's {factor:.0f}",
        f"{instance.right(kept[0].chance):.6f}",
    )


def render(rows: list[Row]) -> str:
    """The table, with the machine and the versions it was made on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("tellall", "numpy", "scipy"))
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, BLAS threads: {threads}; "
        f"Python {platform.python_version()}, {packages}. CPU seconds; ours best of three beside HiGHS.",
        "",
        "| work | size | reference | reference time ÷ ours | peak memory | bits right |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {r.work} | {r.size} | {r.reference} | {r.ratio} | {r.memory} | {r.bits} |" for r in rows]
    return "\n".join(lines) + "\n"


def rows(quick: bool) -> list[Row]:
    """Every row; the small ones alone when quick."""
    out = [against_highs(500, 45), against_least_squares(all_pairs(500, 46, 0.25, seed=1))]
    if quick:
        return out
    out += [
        against_highs(1000, 64),
        against_highs(500, 45, 0.4),
        against_least_squares(all_pairs(2000, 90, 0.05, gross=0.05, seed=2)),
        against_least_squares(all_pairs(2000, 90, 0.05, gross=0.4, seed=3)),
        against_least_squares(all_pairs(2000, 90, 0.25, seed=4)),
        against_least_squares(all_pairs(2000, 54, 0.125, seed=5)),
        against_least_squares(all_pairs(2000, 90, 0.05, gross=0.1, declared=3.0, seed=6)),
        against_least_squares(all_pairs(2000, 90, 0.05, gross=0.1, declared=1 / 3, seed=7)),
        against_least_squares(all_pairs(1000, 64, 0.05, bits=True, seed=8)),
        against_least_squares(all_pairs(1000, 64, 0.05, gross=0.1, factors=3, seed=9)),
        calibration(0.5),
        calibration(0.35),
        calibration(0.25, n=1000, d=64, factors=3, instances=5),
        calibration(0.5, n=1000, d=64, factors=3),
        large(20_000, 284),
        large(100_000, 633),
    ]
    return out


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes")
    sys.stdout.write(render(rows(parser.parse_args().quick)))


if __name__ == "__main__":
    main()
