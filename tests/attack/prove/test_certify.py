"""Systems with one solution by linear algebra alone."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import tellall as ta
from tellall.linalg.solvers.solution import Component, only_solution


def system(matrix, low, high, upper):
    matrix = np.array(matrix, dtype=float)
    m, n = matrix.shape
    ends = (np.array(low, dtype=float), np.array(high, dtype=float))
    box = (np.zeros(n), np.array(upper, dtype=float))
    return Component(csr_array(matrix), *ends, *box, (), np.arange(n), np.arange(m))


CIRCLE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]


def test_an_only_solution_must_be_whole_and_alone():
    assert only_solution(system(CIRCLE, [1, 1, 0], [1, 1, 0], [1, 1, 1])).tolist() == [0, 1, 0]
    assert only_solution(system(CIRCLE, [1, 1, 1], [1, 1, 1], [1, 1, 1])) is None  # halves
    assert only_solution(system([[1, 1], [2, 2]], [1, 2], [1, 2], [1, 1])) is None  # not alone
    assert only_solution(system([[1, 1], [1, 0]], [1, 0], [1, 1], [1, 1])) is None  # not exact


@pytest.mark.parametrize("seed", range(12))
def test_few_rows_that_are_much_the_same_for_everybody_are_settled(seed):
    """One such search went on for minutes."""
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (20, 6)), np.r_[0, 1, rng.integers(0, 2, 18)])
    for statistic in (ta.Predicates([0, 1, 1, 1]), ta.Predicates("xor", 2)):
        proof = ta.reconstruct(ta.publish(people, statistic), people.public).proof
        assert proof.steps < 1000
        assert not proof.undecided
