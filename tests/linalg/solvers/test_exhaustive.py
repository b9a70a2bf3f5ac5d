from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.linalg.operators.compose import Partition
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.solvers.exhaustive import Exhaustive, WholeProblem

ALL = Exhaustive(cap=10**6, nodes=10**7)


def every(problem: WholeProblem, target: np.ndarray) -> np.ndarray:
    """Every solution, by trying every point of the box."""
    matrix = problem.operator.to_dense().astype(float)
    ranges = [range(int(a), int(b) + 1) for a, b in zip(problem.lower, problem.upper, strict=True)]
    grid = np.array(list(product(*ranges)), dtype=float)
    return grid[(np.abs(grid @ matrix.T - target) <= problem.bound + 1e-6).all(axis=1)]


def instance(m: int, n: int, seed: int, most: int) -> tuple[WholeProblem, np.ndarray]:
    """Signs, bits or real entries; exact, rounded or open rows; now and then a value that fits nothing."""
    rng = np.random.default_rng(seed)
    kinds = [rng.integers(-1, 2, (m, n)), rng.integers(0, 2, (m, n)), rng.normal(size=(m, n))]
    matrix = kinds[seed % 3].astype(float)
    upper = rng.integers(0, most + 1, n).astype(float)
    lower = np.minimum(upper, rng.integers(0, 2, n))
    bound = rng.choice([0.0, 0.5, 1.0, 2.5, np.inf], size=m, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    truth = rng.integers(lower, upper + 1)
    error = np.clip(rng.normal(size=m), -bound, bound)
    target = matrix @ truth + error + (rng.random() < 0.2) * rng.integers(0, 3, m)
    return WholeProblem(Dense(matrix), bound, lower, upper), target


@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 10**6))
def test_every_solution_is_found_among_groups(m, n, seed):
    made, target = instance(m, n, seed, most=3)
    found, wanted = ALL.prepare(made).solve(target), every(made, target)
    assert found.complete
    assert np.array_equal(found.solutions, wanted)
    assert found.secrets == sum(
        int(np.prod([comb(int(u), int(x)) for u, x in zip(made.upper, row, strict=True)])) for row in wanted
    )
    assert found.status.word == ("solved" if len(wanted) else "contradictory")
    if len(wanted):
        assert np.array_equal(found.fixed, wanted.min(axis=0) == wanted.max(axis=0))
        assert np.array_equal(found.lower, wanted.min(axis=0))
        assert np.array_equal(found.upper, wanted.max(axis=0))
    else:
        assert not found.fixed.any()


@given(st.integers(4, 40), st.integers(10, 16), st.integers(0, 10**6))
def test_every_solution_is_found_among_sixteen_people(m, n, seed):
    rng = np.random.default_rng(seed)
    matrix = (rng.integers(0, 2, (m, n)) if seed % 2 else rng.choice([-1, 1], size=(m, n))).astype(float)
    half = float(rng.choice([0.0, 1.0, 2.0]))
    target = np.round(matrix @ rng.integers(0, 2, n) + rng.uniform(-half, half, m))
    made = WholeProblem(Dense(matrix), np.full(m, half), np.zeros(n), np.ones(n))
    found, wanted = ALL.prepare(made).solve(target), every(made, target)
    assert found.complete
    assert found.count == found.secrets == len(wanted)
    assert np.array_equal(found.solutions, wanted)


def test_a_cap_is_said_and_claims_nothing_more():
    made = WholeProblem(Dense(np.ones((1, 12))), np.zeros(1), np.zeros(12), np.ones(12))
    found = Exhaustive(cap=10).prepare(made).solve(np.array([6.0]))
    assert found.status.word == "not converged"
    assert "more than 10 solutions" in str(found.status)
    assert not found.complete
    assert found.count == 10
    assert not found.fixed.any()
    exactly = Exhaustive(cap=comb(12, 6)).prepare(made).solve(np.array([6.0]))
    assert exactly.complete
    assert exactly.count == comb(12, 6)
    assert np.allclose(exactly.value, 0.5)


def test_a_limit_of_nodes_is_said():
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 2, (30, 40)).astype(float)
    target = matrix @ rng.integers(0, 2, 40)
    made = WholeProblem(Dense(matrix), np.full(30, 2.0), np.zeros(40), np.ones(40))
    found = Exhaustive(nodes=50).prepare(made).solve(target)
    assert found.status.word == "not converged"
    assert "raise nodes" in str(found.status)
    assert not found.complete


def test_ways_to_choose_people_are_counted_and_weigh_the_mean():
    made = WholeProblem(Dense([[1.0, 1.0]]), np.zeros(1), np.zeros(2), np.array([3.0, 1.0]))
    found = ALL.prepare(made).solve(np.array([2.0]))
    assert found.solutions.tolist() == [[1, 1], [2, 0]]
    assert found.secrets == 3 + 3
    assert found.value.tolist() == [1.5, 0.5]
    narrowed = WholeProblem(made.operator, made.bound, np.array([2.0, 0.0]), made.upper)
    assert ALL.prepare(narrowed).solve(np.array([2.0])).secrets == 3
    assert ALL.prepare(made).solve(np.array([2.0]), sizes=np.array([4.0, 1.0])).secrets == 4 + 6


def test_more_secrets_than_any_float_holds():
    made = WholeProblem(Dense(np.eye(2)), np.zeros(2), np.zeros(2), np.full(2, 2000.0))
    found = ALL.prepare(made).solve(np.array([1000.0, 1000.0]))
    assert found.secrets == comb(2000, 1000) ** 2
    assert found.value.tolist() == [1000, 1000]


def test_a_hundred_people_are_proved_from_rounded_pairs():
    rng = np.random.default_rng(1)
    operator = Moments(rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=(21, 100)), 2)
    secret = rng.integers(0, 2, 100)
    m = operator.shape[0]
    target = np.round((operator @ secret.astype(float)) / 2) * 2
    made = WholeProblem(operator, np.ones(m), np.zeros(100), np.ones(100))
    found = Exhaustive().prepare(made).solve(target)
    assert found.status.word == "solved"
    assert found.solutions.tolist() == [secret.tolist()]
    assert found.fixed.all()


def test_tables_prove_some_people_and_not_others():
    tables = Partition([[0, 0, 1, 1], [2, 3, 3, 2]], 4)
    made = WholeProblem(tables, np.zeros(4), np.zeros(4), np.ones(4))
    one = ALL.prepare(made).solve(np.array([2.0, 0.0, 1.0, 1.0]))
    assert one.solutions.tolist() == [[1, 1, 0, 0]]
    two = ALL.prepare(made).solve(np.array([1.0, 1.0, 1.0, 1.0]))
    assert two.count == 2
    assert not two.fixed.any()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bound": -np.ones(3)}, "bound must be 3 numbers, zero or more"),
        ({"bound": np.array([0, np.nan, 0])}, "bound must be 3 numbers, zero or more"),
        ({"upper": np.array([1.0, 1.5])}, "upper must be 2 whole numbers"),
        ({"lower": np.array([-1.0, 0])}, "lower must be zero or more"),
        ({"lower": np.array([2.0, 0])}, "upper must be at least lower"),
        ({"operator": Dense(np.ones((3, 1_000_000)))}, "operator must be of at most"),
    ],
)
def test_bad_problems_are_refused(change, says):
    parts = {
        "operator": Dense(np.ones((3, 2))),
        "bound": np.zeros(3),
        "lower": np.zeros(2),
        "upper": np.ones(2),
    }
    if "operator" in change:
        parts |= {"lower": np.zeros(1_000_000), "upper": np.ones(1_000_000)}
    with pytest.raises(InvalidInput, match=says):
        WholeProblem(**{**parts, **change})


def test_bad_arguments_are_refused():
    made = WholeProblem(Dense(np.ones((3, 2))), np.zeros(3), np.zeros(2), np.ones(2))
    with pytest.raises(InvalidInput, match="target must be 3 finite numbers"):
        ALL.prepare(made).solve(np.array([1.0, np.nan, 2.0]))
    with pytest.raises(InvalidInput, match="sizes must be one per unknown"):
        ALL.prepare(made).solve(np.ones(3), sizes=np.zeros(2))
    with pytest.raises(InvalidInput, match="cap must be one or more"):
        Exhaustive(cap=0)


@pytest.mark.parametrize(("target", "count"), [(0.0, 1), (2.0, 0)])
def test_no_unknowns_have_one_solution_or_none(target, count):
    made = WholeProblem(Dense(np.zeros((1, 0))), np.zeros(1), np.zeros(0), np.zeros(0))
    assert ALL.prepare(made).solve(np.array([target])).count == count
