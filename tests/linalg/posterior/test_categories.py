from itertools import product

import numpy as np
import pytest
from scipy.special import factorial

import tellall as ta
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.posterior.model import CountPrior
from tellall.linalg.posterior.solver import CountProblem, Posterior


def brute(left, rate, lower, upper, precision, opinion):
    """Mean and variance of the counts of one group, over all divisions."""
    total, first, second = 0.0, 0.0, 0.0
    for t in product(*(range(int(left) + 1) for _ in rate)):
        t = np.array(t, dtype=float)
        if t.sum() != left or (t < lower).any() or (t > upper).any():
            continue
        weight = np.prod(rate**t / factorial(t)) * np.exp(-0.5 * precision @ (t - opinion) ** 2)
        total, first, second = total + weight, first + weight * t, second + weight * t**2
    return first / total, second / total - (first / total) ** 2


@pytest.mark.parametrize("seed", range(5))
def test_moments_are_those_of_all_divisions(seed):
    rng = np.random.default_rng(seed)
    left = np.array([1.0, 1, 2, 3, 1])
    group = rng.permutation(np.repeat(np.arange(5), 3))
    rate = rng.dirichlet(np.ones(3))[rng.integers(0, 3, 15)]
    size = left[group] + (group == 3)  # of the fourth group somebody is decided
    lower, upper = np.zeros(15), left[group].copy()
    upper[np.flatnonzero(group == 3)[0]] = 1
    prior = CountPrior(size, lower, upper, rate, group=group, left=left)
    precision, opinion = rng.gamma(1, 3, 15), rng.normal(0.5, 1, 15)
    mean, variance = prior.moments(precision, opinion)
    log_odds = prior.log_odds(precision, opinion)
    for each in range(5):
        at = group == each
        want = brute(left[each], rate[at], lower[at], upper[at], precision[at], opinion[at])
        assert np.allclose(mean[at], want[0])
        assert np.allclose(variance[at], np.maximum(want[1], 1e-9))
        assert np.allclose(1 / (1 + np.exp(-log_odds[at])), want[0] / size[at])
    drawn = prior.sample(rng)
    assert np.array_equal(np.bincount(group, drawn), left)


def test_a_group_of_many_people_is_taken_value_by_value():
    group, size = np.repeat([0, 1], 4), np.repeat([1.0, 50.0], 4)
    rate = np.tile([0.4, 0.3, 0.2, 0.1], 2)
    prior = CountPrior(size, np.zeros(8), size, rate, group=group, left=np.array([1.0, 50.0]))
    assert np.allclose(prior.mean, size * rate)
    assert np.allclose(prior.variance, size * rate * (1 - rate))
    assert prior.sample(np.random.default_rng(0)).shape == (8,)


def test_the_posterior_is_near_that_of_all_secrets():
    rng = np.random.default_rng(4)
    people, values, rows = 5, 3, 14
    chosen = rng.integers(0, 2, (rows, people)).astype(float)
    which = rng.integers(0, values, rows)
    matrix = np.zeros((rows, values * people))
    for row in range(rows):
        matrix[row, which[row] * people : (which[row] + 1) * people] = chosen[row]
    rate = np.repeat([0.5, 0.3, 0.2], people)
    one, group = np.ones(values * people), np.tile(np.arange(people), values)
    far = 0.0
    for _ in range(10):
        truth = rng.choice(values, people, p=[0.5, 0.3, 0.2])
        target = matrix @ _one_hot(truth, values) + rng.normal(0, 0.7, rows)
        chances, total = np.zeros(values * people), 0.0
        for secret in product(range(values), repeat=people):
            s = _one_hot(np.array(secret), values)
            weight = np.prod(rate[s > 0]) * np.exp(-0.5 * ((matrix @ s - target) ** 2).sum() / 0.49)
            chances, total = chances + weight * s, total + weight
        problem = CountProblem(
            Dense(matrix),
            np.full(rows, 0.7),
            one,
            0 * one,
            one,
            rate,
            None,
            False,
            None,
            group,
            np.ones(people),
        )
        found = Posterior(rehearsal=False).prepare(problem).solve(target)
        assert np.allclose(found.chance.reshape(values, -1).sum(axis=0), 1)
        far += np.abs(found.chance - chances / total).mean() / 10
    assert far < 0.06


def _one_hot(codes, values):
    return (codes[None, :] == np.arange(values)[:, None]).astype(float).ravel()


def test_several_values_are_told_better_than_by_least_squares_and_confidences_hold():
    right = {"least-squares": 0.0, "auto": 0.0}
    confidence, ok = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        secret = rng.choice(4, size=100, p=[0.4, 0.3, 0.2, 0.1])
        people = ta.Dataset.from_arrays(rng.integers(0, 3, (100, 6)), secret)
        release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=seed)
        for decoder in right:
            found = ta.reconstruct(release, people.public, decoder, rng=seed)
            right[decoder] += (found.guess == people.secret).mean() / 3
        assert found.decoder == "posterior"
        confidence.append(found.confidence)
        ok.append(found.guess == people.secret)
    assert right["auto"] > right["least-squares"] + 0.03
    sure, good = np.concatenate(confidence), np.concatenate(ok)
    # mended by rehearsal; within four standard errors
    assert abs(good.mean() - sure.mean()) < 4 * np.sqrt((sure * (1 - sure)).sum()) / sure.size
