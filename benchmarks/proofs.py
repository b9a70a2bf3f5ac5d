"""What is the same in every secret that fits: our search against a constraint solver, OR-tools CP-SAT.

python benchmarks/proofs.py [--quick]

CP-SAT gets the same inequalities on one thread. It finds a solution, then another that moves one of the
counts that may be settled, until there is none: what never moved is proved.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import tellall as ta
from ordinary import ordinary
from tellall.attack.prove.proof import Proof, prove
from tellall.attack.secret import Bit
from tellall.evidence.evidence import Evidence
from timing import Section, least_time, one_thread

LIMIT = 10.0  # of CP-SAT's own measure of time, as much as our search has
HIDDEN, ROUNDED = ta.Suppression(10), ta.Rounding(5)
PROTECTIONS: dict[str, list[ta.Protection]] = {
    "exact": [],
    "rounded to 3": [ta.Rounding(3)],
    "rounded to 3 at random": [ta.Rounding(3, "random")],
    "under 5 hidden": [ta.Suppression(5)],
    "under 10 hidden, rounded to 5": [HIDDEN, ROUNDED],
    "rounded to 5, under 10 hidden": [ROUNDED, HIDDEN],
}
SIZES = (40, 150, 300, 1000, 4144, 32_561)
DEMONSTRATION = 4144  # people of NHANES, every 4-way table; the others are of an ordinary file, every 3-way


def evidence_of(n: int, protect: list[ta.Protection]) -> Evidence:
    """Every 3-way table of the first people of an ordinary file, or 4-way table of the demonstration's."""
    if n == DEMONSTRATION:
        people, ways = ta.datasets.load("nhanes"), 4
    else:
        people, ways = ordinary(max(n, min(4 * n, 32_561))).take(np.arange(n)), 3
    return ta.linearise(ta.publish(people, ta.Marginals(ways), protect, rng=1), people.public)


def by_constraints(evidence: Evidence) -> np.ndarray | None:
    """Which counts are the same in all solutions; None if CP-SAT did not finish."""
    from ortools.sat.python import cp_model

    certain, size = evidence.certain, evidence.system.size.astype(int)
    matrix = certain.operator.to_sparse().tocsr()
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    x = [model.NewIntVar(0, int(most), f"x{i}") for i, most in enumerate(size)]
    for row in range(matrix.shape[0]):
        inside = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = zip(matrix.indices[inside], matrix.data[inside], strict=True)
        low, high = max(certain.low[row], -1e6), min(certain.high[row], 1e6)
        model.AddLinearConstraint(sum(int(w) * x[i] for i, w in terms), int(low), int(high))
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = LIMIT
    held, _ = _solution(model, solver, x)
    if held is None:
        return None
    left = np.flatnonzero((held == 0) | (held == size))
    moved: dict[int, Any] = {}
    for i in left.tolist():
        moved[i] = model.NewBoolVar(f"moved{i}")
        away = x[i] >= 1 if held[i] == 0 else x[i] <= int(size[i]) - 1
        model.Add(away).OnlyEnforceIf(moved[i])
    while left.size:
        trial = model.Clone()
        trial.AddBoolOr([trial.get_bool_var_from_proto_index(moved[i].index) for i in left.tolist()])
        now, status = _solution(trial, solver, x)
        if now is None and status != "INFEASIBLE":
            return None
        if now is None:
            break
        left = left[now[left] == held[left]]
    proved = np.zeros(size.size, dtype=bool)
    proved[left] = True
    return proved


def _solution(model: Any, solver: Any, x: list[Any]) -> tuple[np.ndarray | None, str]:
    """A solution, or None, and how the solver ended."""
    status = solver.StatusName(solver.Solve(model))
    found = status in ("OPTIMAL", "FEASIBLE")
    return (np.array([solver.Value(one) for one in x]) if found else None), status


def row(n: int, name: str) -> tuple[str, ...]:
    """People proved by both, and the time of each."""
    evidence, again = (evidence_of(n, PROTECTIONS[name]) for _ in range(2))  # nothing is found yet in either
    size, counts = evidence.system.size, evidence.groups.counts
    theirs, other = least_time(lambda: by_constraints(evidence), 1)
    ours, found = least_time(lambda: prove(again, Bit()), 1)
    settled = (found.enclosure.lower == size) | (found.enclosure.upper == 0)
    said = f"{_people(settled, counts)} proved, {found.undecided} undecided ({found.loose} where it is loose)"
    beside = "not finished" if other is None else f"{_people(other, counts)} proved"
    return (
        f"proofs: {name}",
        f"{n} people, {counts.size} distinct, every {4 if n == DEMONSTRATION else 3}-way table",
        f"CP-SAT, one thread{'' if other is not None else f', ended at {LIMIT:.0f}'}",
        f"{theirs / ours:.1f}× ({theirs:.2f} s ÷ {ours:.2f} s)",
        said,
        beside + _agreement(found, settled, other),
    )


def _people(groups: np.ndarray, counts: np.ndarray) -> int:
    return int(counts[groups].sum())


def _agreement(found: Proof, settled: np.ndarray, other: np.ndarray | None) -> str:
    """Whether the two agree wherever both finished."""
    if other is None:
        return ""
    return ", the same" if np.array_equal(settled[~found.open], other[~found.open]) else ", DIFFERENT"


def main() -> None:
    """The table; one small size with --quick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small size; nothing is written")
    quick = parser.parse_args().quick
    one_thread()
    names = ("work", "size", "reference", "reference time ÷ ours", "ours", "reference")
    section = Section("proofs.py", names, keep=not quick)
    for n in (40,) if quick else SIZES:
        for name in PROTECTIONS:
            section.add(row(n, name))


if __name__ == "__main__":
    main()
