"""Certificates: true ones are found, false ones are refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import tellall as ta
from tellall.algebra.solvers.base import Component
from tellall.attack.prove.certify import is_empty_for_sure, only_solution, refutes
from tellall.attack.prove.proof import Wish


def system(matrix, low, high, upper):
    matrix = np.array(matrix, dtype=float)
    m, n = matrix.shape
    ends = (np.array(low, dtype=float), np.array(high, dtype=float))
    box = (np.zeros(n), np.array(upper, dtype=float))
    return Component(csr_array(matrix), *ends, *box, (), np.arange(n), np.arange(m))


CIRCLE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]


def test_weights_refute_what_has_no_solution_and_nothing_else():
    empty = system([[1, 1, 0], [0, 1, 1], [1, 0, -1]], [2, 0, 0], [2, 0, 0], [2, 2, 2])
    assert is_empty_for_sure(empty)
    assert refutes(empty, np.array([1.0, -1.0, -1.0]))
    assert not refutes(empty, np.array([-1.0, 1.0, 1.0]))
    full = system(CIRCLE, [1, 1, 0], [1, 1, 0], [1, 1, 1])
    assert not is_empty_for_sure(full)
    rng = np.random.default_rng(0)
    assert not any(refutes(full, rng.integers(-9, 10, 3).astype(float)) for _ in range(200))


def test_halves_are_no_solution_and_the_search_says_so():
    assert is_empty_for_sure(system(CIRCLE, [1, 1, 1], [1, 1, 1], [1, 1, 1]))  # ½, ½, ½


@pytest.mark.parametrize("seed", range(30))
def test_certificates_are_never_wrong(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, (4, 5))
    low = rng.integers(0, 4, 4)
    part = system(matrix, low, low + rng.integers(0, 2, 4), np.ones(5))
    every = np.stack(np.unravel_index(np.arange(32), (2,) * 5), axis=1)
    image = every @ matrix.T
    some = bool(((image >= part.low) & (image <= part.high)).all(axis=1).any())
    assert is_empty_for_sure(part) == (not some)


def test_a_wish_with_choices_is_part_of_the_system():
    part = system([[1, 1, 1]], [2], [2], [1, 1, 1])
    # one of two choices c: x₀ ≤ −c₀ (impossible), x₁ + x₂ ≥ 3 c₁ (impossible)
    rows = np.array([[1, 0, 0, 2, 0], [0, 1, 1, 0, -3], [0, 0, 0, 1, 1]], dtype=float)
    wish = Wish(
        np.array([0.0, 0, 0, -1, -1]), rows, np.array([-np.inf, 0, 1]), np.array([1.0, np.inf, np.inf])
    )
    assert is_empty_for_sure(part, wish)
    easier = Wish(wish.cost, rows, wish.low, np.array([2.0, np.inf, np.inf]))
    assert not is_empty_for_sure(part, easier)


def test_an_only_solution_must_be_whole_and_alone():
    assert only_solution(system(CIRCLE, [1, 1, 0], [1, 1, 0], [1, 1, 1])).tolist() == [0, 1, 0]
    assert only_solution(system(CIRCLE, [1, 1, 1], [1, 1, 1], [1, 1, 1])) is None  # halves
    assert only_solution(system([[1, 1], [2, 2]], [1, 2], [1, 2], [1, 1])) is None  # not alone
    assert only_solution(system([[1, 1], [1, 0]], [1, 0], [1, 1], [1, 1])) is None  # not exact


@pytest.mark.parametrize("seed", range(12))
def test_questions_that_rounding_spoils_are_left_to_integer_programmes(seed):
    """Few rows that are much the same for everybody: one such search went on for minutes."""
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (20, 6)), np.r_[0, 1, rng.integers(0, 2, 18)])
    for statistic in (ta.Predicates([0, 1, 1, 1]), ta.Predicates("xor", 2)):
        proof = ta.reconstruct(ta.publish(people, statistic), people.public).proof
        assert proof.steps < 1000
        assert not proof.undecided
