"""Same seed, same bits, whatever the number of threads."""

import numpy as np
import pytest
from tests.linalg.posterior.instances import pairs
from threadpoolctl import threadpool_limits

import tellall as ta
from tellall.linalg.posterior.solver import Posterior
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares


def decoded(decoder: str) -> tuple[np.ndarray, str]:
    """The bits and the status from one fixed problem."""
    n = 500 if decoder == "lp" else 1000
    problem, target, _ = pairs(n, noise=0.25, gross=0.02 if decoder == "lp" else 0.0, seed=3)
    rows, one = target.size, np.ones(n)
    if decoder == "least-squares":
        box = BoxProblem(problem.operator, problem.std**-2, 4 * one, one / 2, 0 * one, one)
        found = LeastSquares(gram_limit=0).prepare(box).solve(target)
    elif decoder == "lp":
        absolute = AbsoluteProblem(problem.operator, np.ones(rows), 0 * one, one, np.zeros(rows))
        found = LeastAbsolute(gap=1e-3).prepare(absolute).solve(target)
    else:
        found = Posterior().prepare(problem).solve(target, rng=np.random.default_rng(5))
    return found.value >= 0.5, str(found.status)


@pytest.mark.parametrize("decoder", ["least-squares", "lp", "posterior"])
def test_one_and_two_threads_give_the_same_bits(decoder):
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            answers.append(decoded(decoder))
    assert np.array_equal(answers[0][0], answers[1][0])
    assert answers[0][1] == answers[1][1]
    assert 0.4 < answers[0][0].mean() < 0.6


@pytest.mark.parametrize("decoder", ["least-squares", "posterior"])
def test_one_and_two_threads_give_the_same_guesses_from_tables(decoder):
    rng = np.random.default_rng(8)
    people = ta.Dataset.from_arrays(rng.integers(0, 3, (1500, 5)), rng.integers(0, 2, 1500))
    release = ta.publish(people, ta.Marginals(3), [ta.Gaussian(1.0), ta.Suppression(75)], rng=1)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            answers.append(ta.reconstruct(release, people.public, decoder, rng=2))
    assert np.array_equal(answers[0].guess, answers[1].guess)
    assert np.abs(answers[0].confidence - answers[1].confidence).max() < 1e-3
