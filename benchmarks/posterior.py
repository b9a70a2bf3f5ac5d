"""The posterior decoder against an LP solver and numpy's lstsq in the same run: ratio, memory, bits.

python benchmarks/posterior.py [--quick]
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np

import lp
from tellall.linalg.operators.moments import Moments
from tellall.linalg.posterior.solver import CountProblem, Posterior, PosteriorSolution
from tellall.linalg.solvers.least_absolute import AbsoluteProblem
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from timing import Section, least_time, one_thread, peak


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

    def solve(self, *, rehearsal: bool = True) -> PosteriorSolution:
        """The posterior, from the bare operator."""
        return (
            Posterior(rehearsal=rehearsal)
            .prepare(self.problem)
            .solve(self.target, rng=np.random.default_rng(0))
        )

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


def against_highs(n: int, d: int, gross: float = 0.05) -> Iterator[Row]:
    """Gross errors: bits from the posterior, and from the LP by the fastest variants of HiGHS.

    The LP gives bits and no confidences, so the decoder is also timed without the rehearsal that checks its
    own. PDLP has one tolerance, 1e-3; its answer is not optimal to within that.
    """
    instance = all_pairs(n, d, 0.05, gross=gross, seed=n)
    instance.solve()
    m, problem = instance.target.size, instance.problem
    absolute = AbsoluteProblem(problem.operator, np.ones(m), np.zeros(n), np.ones(n), np.zeros(m))
    found = [lp.interior_point(absolute, instance.target)]
    with contextlib.suppress(ImportError):
        seconds, value, _, _ = lp.highs(lp.primal_program(absolute, instance.target), "pdlp", 1e-3)
        found.append(lp.Answer("HiGHS PDLP, primal form, tolerance 1e-3", seconds, value[:n], False))
    for other in found:
        for rehearsal in (False, True):
            ours, solution = least_time(lambda rehearsal=rehearsal: instance.solve(rehearsal=rehearsal), 5)
            right = f"{instance.right(solution.chance):.4f} against {instance.right(other.value):.4f}"
            yield Row(
                "posterior under gross errors, "
                + ("rehearsal included" if rehearsal else "without rehearsal"),
                instance.size,
                f"{other.name}, {other.seconds:.1f} s",
                f"{other.seconds / ours:.0f}× ({ours:.3f} s)",
                f"{peak(instance.solve):.1f} MiB",
                right,
            )


def against_least_squares(instance: Instance) -> Row:
    """The same equations by box least squares, for the bits; the status and the time."""
    ours, solution = least_time(instance.solve, 1)
    problem, one = instance.problem, np.ones(instance.secret.size)
    box = BoxProblem(problem.operator, 1 / problem.std**2, 4 * one, one / 2, 0 * one, one)
    theirs, boxed = least_time(lambda: LeastSquares().prepare(box).solve(instance.target), 1)
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
        seconds, solution = least_time(instance.solve, 1)
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
    seconds, memory = least_time(lambda: peak(lambda: kept.append(instance.solve())), 1)
    factor = instance.problem.operator.factor.nbytes / 2**20
    return Row(
        f"posterior ({kept[0].status.word})",
        instance.size,
        f"none: the matrix would take {4 * n * instance.target.size / 2**30:.0f} GiB",
        f"{seconds:.1f} s",
        f"{memory:.0f} MiB beside the factor's {factor:.0f}",
        f"{instance.right(kept[0].chance):.6f}",
    )


def rows(*, quick: bool) -> Iterator[Row]:
    """Every row as it is measured; the small ones alone when quick."""
    yield from against_highs(500, 46)
    yield against_least_squares(all_pairs(500, 46, 0.25, seed=1))
    if quick:
        return
    yield from against_highs(2000, 90)
    instances: tuple[Callable[[], Instance], ...] = (
        lambda: all_pairs(2000, 90, 0.05, gross=0.4, seed=3),
        lambda: all_pairs(2000, 90, 0.25, seed=4),
        lambda: all_pairs(2000, 54, 0.125, seed=5),
        lambda: all_pairs(2000, 90, 0.05, gross=0.1, declared=3.0, seed=6),
        lambda: all_pairs(2000, 90, 0.05, gross=0.1, declared=1 / 3, seed=7),
        lambda: all_pairs(1000, 64, 0.05, bits=True, seed=8),
        lambda: all_pairs(1000, 64, 0.05, gross=0.1, factors=3, seed=9),
    )
    for make in instances:
        yield against_least_squares(make())
    yield calibration(0.5)
    yield calibration(0.35)
    yield calibration(0.2, n=1000, d=64, factors=3, instances=5)
    yield calibration(0.5, n=1000, d=64, factors=3)
    yield large(20_000, 284)
    yield large(100_000, 633)


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes; nothing is written")
    quick = parser.parse_args().quick
    one_thread()
    names = ("work", "size", "reference", "reference time ÷ ours", "peak memory", "bits right")
    note = "CPU seconds; ours best of five beside HiGHS, rehearsal included where not said otherwise."
    section = Section("posterior.py", names, note=note, keep=not quick)
    for row in rows(quick=quick):
        section.add(astuple(row))


if __name__ == "__main__":
    main()
