"""Proofs beside those of a constraint solver, OR-tools CP-SAT, on real people."""

import numpy as np
import pytest

import tellall as ta
from tellall.attack.prove.proof import prove
from tellall.attack.secret import Bit
from tellall.evidence.evidence import Evidence

PROTECTIONS = [None, ta.Rounding(3), ta.Rounding(3, "random"), ta.Suppression(5)]


def evidence_of(people: ta.Dataset, n: int, ways: int, protect: ta.Protection | None) -> Evidence:
    some = people.take(np.sort(np.random.default_rng(1).choice(people.n, n, replace=False)))
    return ta.linearise(ta.publish(some, ta.Marginals(ways), protect, rng=1), some.public)


def proved_by_solver(evidence: Evidence, seconds: float) -> np.ndarray | None:
    """Which groups have one value in all solutions; None where the solver did not finish."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    certain, size = evidence.certain, evidence.system.size.astype(int)
    matrix = certain.operator.to_sparse().tocsr()
    model = cp_model.CpModel()
    x = [model.NewIntVar(0, int(most), f"x{i}") for i, most in enumerate(size)]
    for row in range(matrix.shape[0]):
        inside = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = zip(matrix.indices[inside], matrix.data[inside], strict=True)
        low, high = max(certain.low[row], -1e6), min(certain.high[row], 1e6)
        model.AddLinearConstraint(sum(int(w) * x[i] for i, w in terms), int(low), int(high))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = seconds
    if solver.Solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    held = np.array([solver.Value(one) for one in x])
    left = np.flatnonzero((held == 0) | (held == size))
    moved = {}
    for i in left:
        moved[i] = model.NewBoolVar(f"moved{i}")
        away = x[i] >= 1 if held[i] == 0 else x[i] <= int(size[i]) - 1
        model.Add(away).OnlyEnforceIf(moved[i])
    while left.size:
        trial = model.Clone()
        trial.AddBoolOr([trial.get_bool_var_from_proto_index(moved[i].index) for i in left])
        status = solver.Solve(trial)
        if status == cp_model.INFEASIBLE:
            break
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        now = np.array([solver.Value(one) for one in x])
        left = left[now[left] == held[left]]
    proved = np.zeros(size.size, dtype=bool)
    proved[left] = True
    return proved


def proved_by_us(evidence: Evidence) -> np.ndarray | None:
    found = prove(evidence, Bit())
    box, size = found.enclosure, evidence.system.size
    return None if found.undecided else (box.lower == size) | (box.upper == 0)


def same(evidence: Evidence) -> bool:
    ours, theirs = proved_by_us(evidence), proved_by_solver(evidence, 20.0)
    return ours is None or theirs is None or np.array_equal(ours, theirs)


@pytest.mark.parametrize("protect", PROTECTIONS, ids=repr)
def test_both_prove_the_same_people(fair, protect):
    assert same(evidence_of(fair, 30, 2, protect))


@pytest.mark.slow
@pytest.mark.parametrize("protect", [*PROTECTIONS, ta.Rounding(5)], ids=repr)
@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("n", [40, 120, 300])
def test_both_prove_the_same_of_up_to_three_hundred_people(fair, nhanes, n, ways, protect):
    assert same(evidence_of(fair, n, ways, protect))
    assert same(evidence_of(nhanes, n, ways, protect))
