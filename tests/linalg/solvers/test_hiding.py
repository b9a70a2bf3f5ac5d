"""Which rows to hide: as few as a straight mixed-integer programme needs, and every need is met."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from tellall.linalg.solvers.hiding import HidingProblem, Need, hide_more

FAR = 1e3  # beyond every move that a small table needs
SIGNS = {"above": [1], "below": [-1], "apart": [1, -1]}


def table(seed, side):
    """A small table with its totals, and the values under 4 to be protected."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(3, 6, 2))
    x = rng.negative_binomial(0.7, 0.15, size=shape).astype(float).ravel()
    cells = np.arange(x.size).reshape(shape)
    groups = (
        [[cell] for cell in cells.ravel()] + [list(row) for row in cells] + [list(row) for row in cells.T]
    )
    groups += [list(cells.ravel()), list(cells[:2].ravel())]
    matrix = np.array([np.isin(cells.ravel(), group) for group in groups], dtype=float)
    values = matrix @ x
    hidden = (values > 0) & (values < 4)
    needs = []
    for row in np.flatnonzero(hidden).tolist():
        if side == "apart":
            needs.append(Need(row, 1.0, "apart"))
        else:
            needs += [Need(row, 0.5 * values[row], "above"), Need(row, 0.5 * values[row], "below")]
    cost = np.ones(values.size) if side == "apart" else 1 + values
    return HidingProblem(csr_array(matrix), x, np.zeros(x.size), hidden, values > 0, cost, tuple(needs))


def cheapest(problem, needs):
    """What the cheapest choice costs, by one programme with moves for every need (HiGHS)."""
    matrix = problem.matrix.toarray()
    unknowns = matrix.shape[1]
    candidates = np.flatnonzero(problem.free & ~problem.hidden)
    copies = [(need, sign) for need in needs for sign in SIGNS[need.side]]
    size = candidates.size + unknowns * len(copies)
    lines, ends = [], []
    for at in range(len(copies)):
        own = slice(candidates.size + at * unknowns, candidates.size + (at + 1) * unknowns)
        for row in np.flatnonzero(~problem.hidden):
            for sign in (1, -1):
                line = np.zeros(size)
                line[own] = sign * matrix[row]
                line[: candidates.size][candidates == row] = -FAR
                lines.append(line)
                ends.append((-np.inf, 0.0))
    at = 0
    for need in needs:
        line = np.zeros(size)
        for sign in SIGNS[need.side]:
            start = candidates.size + at * unknowns
            line[start : start + unknowns] += sign * matrix[need.row]
            at += 1
        lines.append(line)
        ends.append((need.size, np.inf))
    low = np.concatenate([np.zeros(candidates.size), np.tile(problem.lower - problem.start, len(copies))])
    high = np.concatenate([np.ones(candidates.size), np.full(size - candidates.size, FAR)])
    found = milp(
        np.concatenate([problem.cost[candidates], np.zeros(size - candidates.size)]),
        constraints=LinearConstraint(csr_array(np.array(lines)), *np.array(ends).T),
        bounds=Bounds(low, high),
        integrality=np.arange(size) < candidates.size,
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0
    return found.fun


def reach(problem, hidden, need):
    """How far solutions differ in a row, by a programme for each end."""
    shown = problem.matrix.toarray()[~hidden]
    ends = []
    for sign in SIGNS[need.side]:
        found = linprog(
            -sign * problem.matrix[[need.row]].toarray()[0],
            A_eq=shown,
            b_eq=np.zeros(len(shown)),
            bounds=[(end, FAR) for end in problem.lower - problem.start],
        )
        ends.append(-found.fun)
    return sum(ends)


@pytest.mark.parametrize("side", ["apart", "both"])
@pytest.mark.parametrize("seed", range(12))
def test_the_choice_is_the_cheapest_there_is(seed, side):
    problem = table(seed, side)
    found = hide_more(problem)
    paid = problem.cost[found.hidden & ~problem.hidden].sum()
    needs = [need for need in problem.needs if need not in found.failed]
    assert paid == pytest.approx(cheapest(problem, needs), rel=1e-6)
    assert found.finished
    assert found.least == pytest.approx(paid, rel=1e-6)
    assert all(reach(problem, found.hidden, need) >= need.size * (1 - 1e-5) for need in needs)
    assert all(
        reach(problem, problem.hidden | problem.free, need) < need.size * (1 - 1e-7) for need in found.failed
    )


def test_without_effort_every_need_is_met_all_the_same():
    problem = table(4, "apart")
    found = hide_more(problem, effort=0)
    assert all(reach(problem, found.hidden, need) >= 1 - 1e-5 for need in problem.needs)
    assert not found.finished


def test_rows_that_have_to_be_shown_are_shown_and_what_nothing_protects_is_said():
    problem = table(4, "apart")
    alone = HidingProblem(
        problem.matrix,
        problem.start,
        problem.lower,
        problem.hidden,
        np.zeros(problem.free.size, dtype=bool),
        problem.cost,
        problem.needs,
    )
    found = hide_more(alone)
    assert (found.hidden == problem.hidden).all()
    assert found.failed


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_decide_nothing(unit):
    problem = table(5, "both")
    scaled = HidingProblem(
        problem.matrix,
        problem.start * unit,
        problem.lower,
        problem.hidden,
        problem.free,
        problem.cost,
        tuple(Need(need.row, need.size * unit, need.side) for need in problem.needs),
    )
    assert (hide_more(scaled).hidden == hide_more(problem).hidden).all()
