from math import comb, exp, log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tellall.linalg.posterior.model import CountPrior


def law(size, lower, upper, rate, precision, opinion):
    """The law of one count, term by term."""
    weights = {
        j: comb(size, j) * rate**j * (1 - rate) ** (size - j) * exp(-precision * (j - opinion) ** 2 / 2)
        for j in range(lower, upper + 1)
    }
    total = sum(weights.values())
    return {j: weight / total for j, weight in weights.items()}


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5), st.floats(0.02, 0.98), st.integers(0, 10**6))
def test_moments_are_those_of_the_law(sizes, rate, seed):
    rng = np.random.default_rng(seed)
    size = np.array(sizes, dtype=float)
    lower = np.array([rng.integers(0, c) for c in sizes], dtype=float)
    upper = np.array([rng.integers(low + 1, c + 1) for low, c in zip(lower, sizes, strict=True)], dtype=float)
    precision, opinion = rng.uniform(0, 2, size.size), rng.normal(1, 2, size.size)
    prior = CountPrior(size, lower, upper, rate)
    mean, variance = prior.moments(precision, opinion)
    odds = prior.log_odds(precision, opinion)
    for p, c in enumerate(sizes):
        every = law(c, int(lower[p]), int(upper[p]), rate, precision[p], opinion[p])
        wanted = sum(j * chance for j, chance in every.items())
        assert np.isclose(mean[p], wanted)
        assert np.isclose(variance[p], max(sum((j - wanted) ** 2 * q for j, q in every.items()), 1e-9))
        if 1e-6 < wanted < c - 1e-6:
            assert np.isclose(odds[p], log(wanted) - log(c - wanted), atol=1e-6)


def test_people_alone_take_the_short_way_to_the_same_numbers():
    rng = np.random.default_rng(1)
    precision, opinion = rng.uniform(0, 30, 9), rng.normal(0.5, 1, 9)
    one = np.ones(9)
    mean, variance = CountPrior(one, 0 * one, one, 0.3).moments(precision, opinion)
    mixed = CountPrior(np.append(one, 2.0), np.zeros(10), np.append(one, 2.0), 0.3)
    longer = mixed.moments(np.append(precision, 1), np.append(opinion, 1))
    assert np.allclose(mean, longer[0][:9])
    assert np.allclose(variance, longer[1][:9], atol=1e-8)


def test_log_odds_keep_their_digits():
    prior = CountPrior(np.ones(1), np.zeros(1), np.ones(1), 0.5)
    assert prior.log_odds(np.array([400.0]), np.array([1.0]))[0] == 200.0


def test_samples_follow_the_law():
    size = np.repeat([1.0, 5.0], 20_000)
    lower, upper = np.repeat([0.0, 1.0], 20_000), np.repeat([1.0, 4.0], 20_000)
    prior = CountPrior(size, lower, upper, 0.3)
    drawn = prior.sample(np.random.default_rng(2))
    assert ((drawn >= lower) & (drawn <= upper) & (drawn == np.round(drawn))).all()
    for part in (slice(None, 20_000), slice(20_000, None)):  # five standard errors: false alarm below 1e-6
        error = 5 * np.sqrt(prior.variance[part][0] / 20_000)
        assert abs(drawn[part].mean() - prior.mean[part][0]) < error
