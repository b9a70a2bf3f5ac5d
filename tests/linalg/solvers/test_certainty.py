from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.solution import Enclosure, WholeSystem, enclose, row_space


@given(st.integers(0, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_row_space_is_numpys(m, n, seed):
    matrix = np.random.default_rng(seed).integers(-1, 2, (m, n)).astype(float)
    rank, determined = row_space(Dense(matrix))
    assert rank == (np.linalg.matrix_rank(matrix) if m else 0)
    for p in range(n):
        with_unit = np.vstack([matrix, np.eye(n)[p]])
        assert determined[p] == (np.linalg.matrix_rank(with_unit) == rank)


def solutions(matrix, target, bound, upper):
    """Every whole-numbered solution, one by one."""
    grid = product(*(range(int(u) + 1) for u in upper))
    return np.array([x for x in grid if (np.abs(matrix @ np.array(x) - target) <= bound).all()])


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 2.5, np.inf]))
def test_every_solution_lies_in_the_enclosure(m, n, seed, slack):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, (m, n)).astype(float)
    upper = rng.integers(1, 4, n).astype(float)
    truth = np.array([rng.integers(0, u + 1) for u in upper])
    bound = np.where(rng.random(m) < 0.8, slack, 0.0)
    target = matrix @ truth + np.clip(rng.normal(size=m), -bound, bound)
    box = enclose(Dense(matrix), target - bound, target + bound, upper=upper)
    every = solutions(matrix, target, bound + 1e-9, upper)
    assert len(every)
    assert not box.empty
    assert (box.lower <= every.min(axis=0)).all()
    assert (every.max(axis=0) <= box.upper).all()


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6))
def test_what_is_called_contradictory_has_no_solution(m, n, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, (m, n)).astype(float)
    target = rng.integers(-1, n + 2, m).astype(float)
    if enclose(Dense(matrix), target, target, upper=np.ones(n)).empty:
        assert not len(solutions(matrix, target, 1e-9, np.ones(n)))


def test_a_full_or_an_empty_cell_proves_its_people():
    cells = Dense([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    box = enclose(cells, np.array([2.0, 0.0]), np.array([2.0, 0.0]), upper=np.ones(4))
    assert box.lower.tolist() == box.upper.tolist() == [1, 1, 0, 0]


def test_too_many_entries_leave_the_bounds_alone(monkeypatch):
    from tellall.linalg.solvers import solution as base

    monkeypatch.setattr(base, "_MOST_ENTRIES", 1)
    box = enclose(Dense(np.ones((3, 3))), np.full(3, 3.0), np.full(3, 3.0), upper=np.ones(3))
    assert box.lower.tolist() == [0, 0, 0]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6), st.floats(-18, -14))
def test_entries_that_are_rounding_exclude_no_solution(m, n, seed, size):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    upper = np.ones(n)
    truth = rng.integers(0, 2, n)
    target = matrix @ truth
    noisy = matrix + 10.0**size * rng.normal(size=(m, n)) * np.abs(matrix).max()
    box = enclose(Dense(noisy), target, target, upper=upper)
    every = solutions(matrix, target, 1e-9, upper)
    assert not box.empty
    assert (box.lower <= every.min(axis=0)).all()
    assert (every.max(axis=0) <= box.upper).all()


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6), st.floats(-8, 8))
def test_the_unit_of_a_row_does_not_matter(m, n, seed, power):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 9, (m, n)) / 7
    target = matrix @ rng.integers(0, 2, n)
    box = Enclosure(np.zeros(n), np.ones(n), empty=False)
    every = np.array(list(product([0.0, 1.0], repeat=n)))
    unit = 10.0**power
    system = WholeSystem.left_open(Dense(unit * matrix), unit * target, unit * target, (), box)
    image = every @ system.matrix.toarray().T
    fits = ((image >= system.low - 1e-9) & (image <= system.high + 1e-9)).all(axis=1)
    np.testing.assert_array_equal(fits, (np.abs(every @ matrix.T - target) < 1e-9).all(axis=1))
