"""Branch and bound beside brute force: a solution exactly where there is one, and no refutation is wrong."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from tellall.algebra.solvers.base import Branching, Component

ENOUGH = 100_000


def part_of(matrix, low, high, upper, gaps=()):
    matrix = csr_array(np.asarray(matrix, dtype=float))
    m, n = matrix.shape
    ends = (np.asarray(each, dtype=float) for each in (low, high))
    return Component(matrix, *ends, np.zeros(n), np.asarray(upper, float), gaps, np.arange(n), np.arange(m))


def random_part(rng, n, m, *, gaps=False):
    matrix = rng.integers(-1, 2, (m, n)) * rng.integers(1, 3, (m, n))
    upper = rng.integers(1, 3, n)
    image = matrix @ rng.integers(0, upper + 1) + rng.integers(-1, 2, m) * (rng.random() < 0.5)
    slack = rng.integers(0, 2, m)
    missing = ((0, np.array([image[0]])),) if gaps else ()
    return part_of(matrix, image - slack - gaps, image + slack + gaps, upper, missing)


def solutions(part):
    every = itertools.product(*(range(int(most) + 1) for most in part.upper))
    return [np.array(x, dtype=float) for x in every if part.fits(np.array(x, dtype=float))]


@pytest.mark.parametrize("gaps", [False, True])
def test_answers_are_those_of_brute_force(gaps):
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(60):
        part = random_part(rng, int(rng.integers(2, 7)), int(rng.integers(1, 6)), gaps=gaps)
        every, engine = solutions(part), Branching(part)
        assert Branching.takes(part)
        for unknown in [None, *range(part.columns.size)]:
            span = (1.0, part.upper[unknown]) if unknown is not None else (0.0, 0.0)
            wanted = [x for x in every if unknown is None or x[unknown] >= 1]
            answer = engine.find(ENOUGH, unknown, *span)
            seen[bool(wanted)] += 1
            assert answer.none == (not wanted)
            if wanted:
                assert any(np.array_equal(answer.solution, x) for x in wanted)
    assert min(seen.values()) > 20


def test_one_question_leaves_no_trace_in_the_next():
    part = random_part(np.random.default_rng(1), 6, 3)
    one, other = Branching(part), Branching(part)
    for unknown in range(6):
        one.find(ENOUGH, unknown, 1.0, 2.0)
    assert one.find(ENOUGH).none == other.find(ENOUGH).none
    assert np.array_equal(one.least, other.least)
    assert np.array_equal(one.most, other.most)


def test_without_pivots_nothing_is_claimed():
    part = part_of([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1], [1, 1, 1], [1, 1, 1])  # by parity empty
    answer = Branching(part).find(0)
    assert answer.solution is None
    assert not answer.none
    assert Branching(part).find(ENOUGH).none


def test_a_tableau_that_rounding_spoilt_proves_nothing():
    part = part_of([[1, 1], [1, -1]], [1, 0], [1, 0], [1, 1])  # 2 x = 1
    engine = Branching(part)
    engine._table[:] = 7.0
    answer = engine.find(ENOUGH)
    assert answer.solution is None
    assert not answer.none


@pytest.mark.parametrize(
    ("matrix", "high", "upper"),
    [([[0.5, 1.0]], [1.0], [1, 1]), ([[1.0, 1.0]], [np.inf], [1, 1]), ([[1.0, 1.0]], [1.0], [2.0**40, 1])],
    ids=["not whole", "without an end", "too large to be added exactly"],
)
def test_parts_that_it_does_not_take(matrix, high, upper):
    assert not Branching.takes(part_of(matrix, [0.0], high, upper))
