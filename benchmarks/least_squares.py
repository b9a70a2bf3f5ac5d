"""Least squares against numpy's lstsq in the same run: ratio, memory, bits.

python benchmarks/least_squares.py [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np

import tellall as ta
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from timing import Section, least_time, one_thread, peak

NAMES = ("work", "size", "reference", "reference time ÷ ours", "peak memory", "bits right")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    size: str
    reference: str
    ratio: str
    memory: str
    bits: str


def pairs_problem(n: int, d: int, sigma: float, seed: int) -> tuple[BoxProblem, np.ndarray, np.ndarray]:
    """All pairs of ±1 attributes of n random people, with noise of standard deviation sigma on each value."""
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(d, n))
    operator = Moments(signs, 2)
    secret = rng.integers(0, 2, n)
    target = operator @ secret.astype(np.float64) + rng.normal(0, sigma, operator.shape[0])
    one, half = np.ones(n), np.full(n, 0.5)
    weights = np.full(target.size, 1 / sigma**2)
    # the box already holds half of what the prior knows: its full precision (4) on top costs bits, and
    # without it n > m has no unique answer; posterior.py has the decoder that uses the prior itself
    return BoxProblem(operator, weights, one, half, np.zeros(n), one), target, secret


def least_squares_against_lstsq(n: int, d: int, c: float = 0.25) -> Row:
    """Matrix-free box least squares in float32 against numpy's lstsq on the explicit float64 matrix."""
    problem, target, secret = pairs_problem(n, d, c * n**0.5, seed=n)
    solver = LeastSquares(gram_limit=0, tolerance=0.02)  # of a bit: what rounding at 1/2 can bear

    def ours() -> np.ndarray:
        return solver.prepare(problem).solve(target).value

    matrix = problem.operator.to_dense().astype(np.float64)
    our_time, estimate = least_time(ours, 3)
    their_time, theirs = least_time(lambda: np.linalg.lstsq(matrix, target)[0], 3 if n <= 2000 else 1)
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
    our_time, attack = least_time(lambda: ta.reconstruct(release, people.public), 3)
    evidence = ta.linearise(release, people.public)
    matrix = evidence.operator.to_dense()[1::2].astype(np.float64)
    their_time, theirs = least_time(lambda: np.linalg.lstsq(matrix, evidence.target[1::2])[0], 1)
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
    seconds, solution = least_time(lambda: solver.prepare(problem).solve(target), 1)
    return Row(
        work="least squares with the box, all pairs, float32",
        size=f"n={n}, d={d}, m={target.size}, σ={c}√n",
        reference="none: the matrix would take " + f"{8 * n * target.size / 2**30:.0f} GiB",
        ratio=f"{seconds:.1f} s",
        memory=f"{peak(lambda: solver.prepare(problem).solve(target)):.0f} MiB",
        bits=f"{np.mean((solution.value >= 0.5) == secret):.4f}",
    )


def rows(*, quick: bool) -> Iterator[Row]:
    """Every row as it is measured, the small one alone when quick."""
    yield least_squares_against_lstsq(500, 45)
    if not quick:
        yield least_squares_against_lstsq(1000, 64)
        yield least_squares_against_lstsq(2000, 90)
        yield least_squares_against_lstsq(5000, 142)
        yield large_least_squares(20_000, 284)
        yield tables_against_explicit(2000, 95)


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small size; nothing is written")
    quick = parser.parse_args().quick
    one_thread()
    note = "CPU seconds, best of three (one where the reference is slow); ours in float32."
    section = Section("least_squares.py", NAMES, note=note, keep=not quick)
    for row in rows(quick=quick):
        section.add(astuple(row))


if __name__ == "__main__":
    main()
