import numpy as np

from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.posterior.message_passing import Spread, pass_messages
from tellall.linalg.posterior.model import Channel, CountPrior

from .instances import pairs


def run(problem, target, *, spread=None, **options):
    prior = CountPrior(problem.size, problem.lower, problem.upper, problem.rate)
    channel = Channel(float(problem.std[0]) ** 2)
    passed = pass_messages(
        problem.operator, spread or Spread(problem.operator), prior, channel, target, **options
    )
    return passed, prior.chance(passed.precision, passed.center)


def test_entries_of_one_size_are_seen():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (12, 40))
    assert Spread(Moments(signs, 2)).even
    assert Spread(Dense(3 * signs)).even
    assert np.isclose(Spread(Dense(3 * signs)).entry, 9)
    assert not Spread(Moments((signs + 1) / 2, 2)).even
    assert not Spread(Dense(signs * rng.uniform(0.5, 1, 40))).even
    assert not Spread(Dense(signs * rng.uniform(0.5, 1, (12, 1)))).even


def test_a_number_and_an_operator_for_the_variances_agree():
    problem, target, _ = pairs(300, noise=0.3, seed=1)
    spread = Spread(problem.operator)
    _, short = run(problem, target, spread=spread)
    spread.even = False
    _, long = run(problem, target, spread=spread)
    assert np.allclose(short, long, atol=1e-3)


def test_gross_errors_are_found_and_their_share_is_learnt():
    problem, target, secret = pairs(600, gross=0.3, seed=2)
    passed, chance = run(problem, target, contaminated=True)
    assert np.array_equal(chance >= 0.5, secret)
    assert abs(passed.channel.share - 0.3) < 0.08  # 1200 rows: six standard errors
    assert passed.change <= 1e-3
    assert passed.fall < 0.5
    assert 0.8 < passed.agreement < 1.25


def test_trouble_shows_in_the_checks():
    problem, target, secret = pairs(400, factors=3, seed=3)
    passed, chance = run(problem, target)
    assert np.mean((chance >= 0.5) == secret) < 0.99  # correlated attributes defeat it
    assert passed.change > 0.01 or passed.agreement > 1.3 or passed.fall > 1


def test_counts_of_groups():
    rng = np.random.default_rng(4)
    n = 300
    operator = Moments(rng.choice([-1.0, 1.0], (35, n)), 2)
    size = rng.integers(1, 5, n).astype(float)
    prior = CountPrior(size, 0 * size, size, 0.4)
    truth = prior.sample(rng)
    target = operator @ truth + rng.normal(0, 1.0, operator.shape[0])
    passed = pass_messages(operator, Spread(operator), prior, Channel(1.0), target)
    mean, _ = prior.moments(passed.precision, passed.center)
    assert np.array_equal(np.round(mean), truth)
