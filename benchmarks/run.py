"""Every benchmark, beside its reference in the same run: ratio, memory, bits. Absolute times are noise.

python benchmarks/run.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import tellall as ta
from tellall.linops import Moments
from tellall.solve import BoxProblem, LeastSquares

RESULTS = Path(__file__).with_name("RESULTS.md")
OTHERS = {
    "Gross errors: ℓ1 decoding and exhaustive search": "lp.py",
    "The posterior": "posterior.py",
    "Counts of boolean functions": "rowfunction.py",
    "Sweeps of noise over regressions": "regression_sweep.py",
    "Tracing from packed genotypes": "tracing.py",
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    size: str
    reference: str
    ratio: str
    memory: str
    bits: str


def best_of(times: int, call: Callable[[], Any]) -> tuple[float, Any]:
    """The least wall-clock time of several runs, and the last result."""
    least, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = call()
        least = min(least, time.perf_counter() - start)
    return least, result


def peak(call: Callable[[], Any]) -> float:
    """The most memory a call holds at once, in MiB."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return most


def pairs_problem(n: int, d: int, sigma: float, seed: int) -> tuple[BoxProblem, np.ndarray, np.ndarray]:
    """All pairs of ±1 attributes of n random people, with noise of standard deviation sigma on each value."""
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(d, n))
    operator = Moments(signs, 2)
    secret = rng.integers(0, 2, n)
    target = operator @ secret.astype(np.float64) + rng.normal(0, sigma, operator.shape[0])
    one, half = np.ones(n), np.full(n, 0.5)
    weights = np.full(target.size, 1 / sigma**2)
    # the box already holds half of what the prior knows: its full precision (4) on top costs bits, none of it
    # leaves n > m without a unique answer; see posterior.py for the decoder that uses the prior itself
    return BoxProblem(operator, weights, one, half, np.zeros(n), one), target, secret


def least_squares_against_lstsq(n: int, d: int, c: float = 0.25) -> Row:
    """Matrix-free box least squares in float32 against numpy's lstsq on the explicit float64 matrix."""
    problem, target, secret = pairs_problem(n, d, c * n**0.5, seed=n)
    solver = LeastSquares(gram_limit=0, tolerance=0.02)  # of a bit: what rounding at 1/2 can bear

    def ours() -> np.ndarray:
        return solver.prepare(problem).solve(target).value

    matrix = problem.operator.to_dense().astype(np.float64)
    our_time, estimate = best_of(3, ours)
    their_time, theirs = best_of(3 if n <= 2000 else 1, lambda: np.linalg.lstsq(matrix, target)[0])
    explicit = matrix.nbytes / 2**20
    return Row(
        work="least squares with the box, all pairs, float32",
        size=f"n={n}, d={d}, m={target.size}, σ={c}√n",
        reference="numpy.linalg.lstsq, float64",
        ratio=f"{their_time / our_time:.0f}×",
        memory=f"{peak(ours):.1f} MiB (matrix alone: {explicit:.0f})",
        bits=f"{np.mean((estimate >= 0.5) == secret):.4f} against {np.mean((theirs >= 0.5) == secret):.4f}",
    )


def tables_against_explicit(n: int, d: int) -> Row:
    """The whole attack on all 3-way tables against lstsq on the explicit table matrix (secret = 1 cells)."""
    rng = np.random.default_rng(n)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), rng.permutation(np.arange(n) % 2))
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(0.1 * n**0.5), rng=1)
    our_time, attack = best_of(3, lambda: ta.reconstruct(release, people.public))
    evidence = ta.linearise(release, people.public)
    matrix = evidence.operator.to_dense()[1::2].astype(np.float64)
    their_time, theirs = best_of(1, lambda: np.linalg.lstsq(matrix, evidence.target[1::2])[0])
    return Row(
        work="reconstruct from every 3-way table, with confidences",
        size=f"n={n}, d={d}, {release.values.size} cells, σ=0.1√n",
        reference="numpy.linalg.lstsq on the yes cells",
        ratio=f"{their_time / our_time:.0f}×",
        memory=f"{peak(lambda: ta.reconstruct(release, people.public)):.0f} MiB "
        f"(matrix alone: {matrix.nbytes / 2**20:.0f})",
        bits=f"{np.mean(attack.guess == people.secret):.4f} against "
        f"{np.mean((theirs >= 0.5) == people.secret):.4f}",
    )


def large_least_squares(n: int, d: int, c: float = 0.1) -> Row:
    """A size at which the explicit matrix no longer fits."""
    problem, target, secret = pairs_problem(n, d, c * n**0.5, seed=n)
    solver = LeastSquares(gram_limit=0, tolerance=1e-3)
    seconds, solution = best_of(1, lambda: solver.prepare(problem).solve(target))
    return Row(
        work="least squares with the box, all pairs, float32",
        size=f"n={n}, d={d}, m={target.size}, σ={c}√n",
        reference="none: the matrix would take " + f"{8 * n * target.size / 2**30:.0f} GiB",
        ratio=f"{seconds:.1f} s",
        memory=f"{peak(lambda: solver.prepare(problem).solve(target)):.0f} MiB",
        bits=f"{np.mean((solution.value >= 0.5) == secret):.4f}",
    )


def render(rows: list[Row]) -> str:
    """The table, with the machine and the versions it was made on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("tellall", "numpy", "scipy"))
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    lines = [
        "# Benchmarks",
        "",
        "## Least squares",
        "",
        "Each row ran beside its reference in one process with the same number of threads; times are the",
        "best of three (one where the reference is slow). Ratios count; absolute times do not.",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, BLAS threads: {threads}; "
        f"Python {platform.python_version()}, {packages}. Made by `make bench`.",
        "",
        "| work | size | reference | reference time ÷ ours | peak memory | bits right |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {r.work} | {r.size} | {r.reference} | {r.ratio} | {r.memory} | {r.bits} |" for r in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes; nothing is written")
    quick = parser.parse_args().quick
    rows = [least_squares_against_lstsq(500, 45)]
    if not quick:
        rows += [
            least_squares_against_lstsq(1000, 64),
            least_squares_against_lstsq(2000, 90),
            least_squares_against_lstsq(5000, 142),
            large_least_squares(20_000, 284),
            tables_against_explicit(2000, 95),
        ]
    text = render(rows)
    sys.stdout.write(text)
    for title, script in OTHERS.items():
        section = f"\n## {title}\n\n{output_of(script, quick=quick)}"
        sys.stdout.write(section)
        text += section
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")


def output_of(script: str, *, quick: bool) -> str:
    """What another benchmark prints, on one thread in a process of its own."""
    small = {"lp.py": ["500"]}.get(script, ["--quick"]) if quick else []
    command = [
        sys.executable,
        str(RESULTS.with_name(script)),
        *(small if script != "regression_sweep.py" else []),
    ]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


if __name__ == "__main__":
    main()
