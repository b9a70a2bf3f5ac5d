"""LP decoding against HiGHS in the same run, and the exhaustive decoder: ratio, gap, objective, memory, bits.

python benchmarks/lp.py [--quick] [n ...]

HiGHS comes from highspy if that is installed (interior point without crossover, and its PDLP), otherwise
from scipy. CPU seconds of one thread are compared, so that a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, hstack

from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.exhaustive import Exhaustive, WholeProblem
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from timing import Section, least_time, one_thread, peak

GAPS = (1e-3, 1e-4)
ATTRIBUTES = {500: 46, 1000: 64, 2000: 90, 5000: 142}  # the least d with C(d, 2) ≥ 2 n, nearly


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    size: str
    reference: str
    ratio: str
    gap: str
    difference: str
    memory: str
    bits: str


@dataclass(frozen=True)
class Answer:
    """What a reference gave: CPU seconds, its x, and whether it claims to be optimal."""

    name: str
    seconds: float
    value: np.ndarray
    claimed: bool


def pairs(n: int, values: tuple[float, float], seed: int) -> tuple[AbsoluteProblem, np.ndarray, np.ndarray]:
    """All pairs of attributes, σ = 0.05 √n, and N(0, (10 √n)²) added to one value in twenty."""
    rng = np.random.default_rng(seed)
    factor = rng.choice(np.array(values, dtype=np.float32), size=(ATTRIBUTES[n], n))
    operator = Moments(factor, 2)
    m = operator.shape[0]
    secret = rng.integers(0, 2, n)
    target = operator @ secret.astype(np.float64) + rng.normal(0, 0.05 * n**0.5, m)
    target = target + (rng.random(m) < 0.05) * rng.normal(0, 10 * n**0.5, m)
    return AbsoluteProblem(operator, np.ones(m), np.zeros(n), np.ones(n), np.zeros(m)), target, secret


def dual_program(problem: AbsoluteProblem, target: np.ndarray) -> tuple[Any, ...]:
    """min b y + ½ (p + q) with Aᵀ y − p + q = 0, |y| ≤ 1: cost, matrix, right side, bounds."""
    matrix = problem.operator.to_dense().astype(np.float64)
    m, n = matrix.shape
    shifted = target - matrix @ np.full(n, 0.5)
    whole = hstack([csc_array(matrix.T), -eye_array(n), eye_array(n)], format="csc")
    cost = np.concatenate([shifted, np.full(2 * n, 0.5)])
    lower = np.concatenate([-np.ones(m), np.zeros(2 * n)])
    upper = np.concatenate([np.ones(m), np.full(2 * n, np.inf)])
    return cost, whole, np.zeros(n), lower, upper


def primal_program(problem: AbsoluteProblem, target: np.ndarray) -> tuple[Any, ...]:
    """min Σ u + v with A x + u − v = z, 0 ≤ x ≤ 1."""
    matrix = problem.operator.to_dense().astype(np.float64)
    m, n = matrix.shape
    whole = hstack([csc_array(matrix), eye_array(m), -eye_array(m)], format="csc")
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    upper = np.concatenate([np.ones(n), np.full(2 * m, np.inf)])
    return cost, whole, target, np.zeros(n + 2 * m), upper


def highs(program: tuple[Any, ...], solver: str, gap: float) -> tuple[float, np.ndarray, np.ndarray, bool]:
    """CPU seconds, primal and row-dual values, and whether HiGHS says optimal; no crossover, one thread."""
    import highspy

    cost, matrix, right, lower, upper = program
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = cost.size, right.size
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
    lp.row_lower_ = lp.row_upper_ = right
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    model = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "solver": solver, "run_crossover": "off"}
    options |= {"ipm_optimality_tolerance": gap, "pdlp_optimality_tolerance": gap}
    if solver == "pdlp":
        options |= {"primal_feasibility_tolerance": gap, "dual_feasibility_tolerance": gap}
    for name, value in options.items():
        model.setOptionValue(name, value)
    model.passModel(lp)
    seconds, _ = least_time(model.run, 1)
    solution = model.getSolution()
    claimed = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return seconds, np.array(solution.col_value), np.array(solution.row_dual), claimed


def interior_point(problem: AbsoluteProblem, target: np.ndarray) -> Answer:
    """HiGHS's interior point method on the dual form, without crossover if highspy is installed."""
    dual = dual_program(problem, target)
    if find_spec("highspy"):
        seconds, _, multipliers, claimed = highs(dual, "ipm", min(GAPS))
        return Answer("HiGHS ipm, dual form, no crossover", seconds, 0.5 + multipliers, claimed)
    cost, matrix, right, lower, upper = dual
    bounds: Any = np.stack([lower, upper], axis=1)
    seconds, answer = least_time(
        lambda: linprog(cost, A_eq=matrix, b_eq=right, bounds=bounds, method="highs-ipm"), 1
    )
    return Answer("scipy highs-ipm, dual form", seconds, 0.5 + answer.eqlin.marginals, True)


def references(problem: AbsoluteProblem, target: np.ndarray) -> Iterator[tuple[Answer, tuple[float, ...]]]:
    """HiGHS in every form that has been the fastest somewhere, and the gaps that each run answers for.

    Interior points hardly gain from a wider gap, so one run at the narrowest is used for all. PDLP is given
    the widest tolerance at which its own x and y certify the gap: at the gap itself they do not.
    """
    n, primal = problem.upper.size, primal_program(problem, target)
    yield interior_point(problem, target), GAPS
    for gap in GAPS if find_spec("highspy") else ():
        for tolerance in (gap, gap / 2, gap / 3, gap / 4, gap / 10):
            seconds, value, multipliers, claimed = highs(primal, "pdlp", tolerance)
            left = own_gap(problem, target, value[:n], multipliers)
            if left <= gap:
                break
        name = f"HiGHS PDLP, primal form, tolerance {tolerance:.1e}, its own gap {left:.1e}"
        yield Answer(name, seconds, value[:n], claimed), (gap,)


def own_gap(problem: AbsoluteProblem, target: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The relative gap that a solver's own x and row multipliers certify."""
    objective = problem.objective(np.clip(x, 0, 1), target)
    bound = max(problem.lower_bound(sign * y, target) for sign in (1.0, -1.0))
    return (objective - bound) / objective


def against_highs(n: int) -> Iterator[Row]:
    """Ours in float32 against every reference in float64, one row per reference and gap."""
    problem, target, secret = pairs(n, (-1.0, 1.0), seed=n)
    solvers = {gap: LeastAbsolute(gap=gap, exact_limit=0) for gap in GAPS}
    explicit = 8 * n * target.size / 2**20
    memory = peak(lambda: solvers[GAPS[0]].prepare(problem).solve(target))
    for other, gaps in references(problem, target):
        theirs = np.clip(other.value, 0, 1)
        objective = problem.objective(theirs, target)
        for gap in gaps:
            seconds, ours = least_time(lambda gap=gap: solvers[gap].prepare(problem).solve(target), 3)
            yield Row(
                work=f"ℓ1 decoding, all pairs, certified gap {gap:.0e}, float32",
                size=f"n={n}, m={target.size}, 5 % gross errors",
                reference=other.name + ("" if other.claimed else " (ends without claiming optimality)"),
                ratio=f"{other.seconds / seconds:.0f}× ({other.seconds:.1f} s ÷ {seconds:.2f} s)",
                gap=f"{ours.stats['gap']:.1e}",
                difference=f"{ours.stats['objective'] / objective - 1:+.1e}",
                memory=f"{memory:.1f} MiB (matrix alone: {explicit:.0f})",
                bits=f"{np.mean((ours.value >= 0.5) == secret):.4f} against "
                f"{np.mean((theirs >= 0.5) == secret):.4f}",
            )


def split_against_plain(n: int, gap: float = 1e-4) -> Row:
    """0/1 attributes: the same steps with and without the outlying directions split off."""
    problem, target, secret = pairs(n, (0.0, 1.0), seed=n)
    split, plain = LeastAbsolute(gap=gap, exact_limit=0), LeastAbsolute(gap=gap, exact_limit=0, outliers=0)
    ours, solution = least_time(lambda: split.prepare(problem).solve(target), 3)
    theirs, other = least_time(lambda: plain.prepare(problem).solve(target), 1)
    return Row(
        work=f"ℓ1 decoding, all pairs of 0/1 attributes, gap {gap:.0e}, float32",
        size=f"n={n}, m={target.size}, 5 % gross errors",
        reference="the same steps without splitting off outlying directions",
        ratio=f"{theirs / ours:.1f}× ({other.stats['iterations']:.0f} ÷ {solution.stats['iterations']:.0f} "
        "iterations)",
        gap=f"{solution.stats['gap']:.1e}",
        difference=f"{solution.stats['objective'] / other.stats['objective'] - 1:+.1e}",
        memory=f"{peak(lambda: split.prepare(problem).solve(target)):.1f} MiB",
        bits=f"{np.mean((solution.value >= 0.5) == secret):.4f}",
    )


def exhaustive_against_mip(n: int = 100, d: int = 21) -> Row:
    """All pairs within ±1: every solution, against HiGHS finding one and then looking for another."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rng = np.random.default_rng(n)
    operator = Moments(rng.choice(np.array([-1.0, 1.0]), size=(d, n)), 2)
    m = operator.shape[0]
    secret = rng.integers(0, 2, n)
    target = operator @ secret + rng.uniform(-1, 1, m)
    problem = WholeProblem(operator, np.ones(m), np.zeros(n), np.ones(n))
    ours, found = least_time(lambda: Exhaustive().prepare(problem).solve(target), 3)
    rows = LinearConstraint(operator.to_dense(), target - 1, target + 1)

    def solve(further: list[Any]) -> Any:
        whole = np.ones(n, dtype=np.int64)
        limit = {"time_limit": 60.0}
        return milp(
            np.zeros(n), constraints=[rows, *further], bounds=Bounds(0, 1), integrality=whole, options=limit
        )

    def both() -> tuple[np.ndarray, int]:
        first = np.round(solve([]).x)
        other = LinearConstraint(1 - 2 * first, 1 - first.sum(), np.inf)  # differs somewhere
        return first, solve([other]).status

    theirs, (first, status) = least_time(both, 1)
    return Row(
        work="every solution, all pairs within ±1, float64",
        size=f"n={n}, m={m}",
        reference="HiGHS MIP (scipy): a solution, then "
        + ("no other" if status == 2 else "gives up after 60 s"),
        ratio=f"{theirs / ours:.0f}× ({theirs:.2f} s ÷ {ours:.3f} s)",
        gap=f"solutions: {found.count}" + (", proved" if found.complete else ""),
        difference="",
        memory=f"{peak(lambda: Exhaustive().prepare(problem).solve(target)):.1f} MiB",
        bits=f"{np.mean((found.value >= 0.5) == secret):.4f} against {np.mean(first == secret):.4f}",
    )


def rows(sizes: tuple[int, ...] = (500, 1000, 2000)) -> Iterator[Row]:
    """Every row, as it is measured."""
    for n in sizes:
        yield from against_highs(n)
        yield split_against_plain(n)
    yield exhaustive_against_mip()


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small size; nothing is written")
    parser.add_argument("sizes", nargs="*", type=int, help="only these numbers of people; nothing is written")
    chosen = parser.parse_args()
    one_thread()
    sizes = tuple(chosen.sizes) or ((500,) if chosen.quick else (500, 1000, 2000))
    names = ["work", "size", "reference", "reference time ÷ ours", "our gap", "our objective ÷ its − 1"]
    names += ["peak memory", "bits right"]
    section = Section("lp.py", names, keep=not chosen.quick and not chosen.sizes)
    for row in rows(sizes):
        section.add(astuple(row))


if __name__ == "__main__":
    main()
