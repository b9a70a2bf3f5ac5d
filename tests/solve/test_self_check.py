from dataclasses import dataclass

import numpy as np

from tellall.linops import Dense
from tellall.solve.channel import Channel
from tellall.solve.counts import CountPrior
from tellall.solve.self_check import rehearse

N = 1500


@dataclass
class Said:
    precision: np.ndarray
    opinion: np.ndarray


def identity(strength: float):
    """People each with a value of their own; the decoder multiplies the right precision by `strength`."""
    one = np.ones(N)
    prior = CountPrior(one, 0 * one, one, 0.4)

    def decode(target):
        return Said(np.full(N, strength / 0.36), target)

    return rehearse(prior, Dense(np.eye(N)), Channel(0.36), np.zeros(N), decode, np.random.default_rng(0))


def test_an_exact_posterior_passes():
    record = identity(1.0)
    assert record.calibrated
    assert record.temperature == 1
    # two draws, a standard deviation of at most √(3000/4): six of them
    assert abs(record.wrong - record.expected) < 6 * np.sqrt(2 * N / 4)


def test_overconfidence_is_caught_and_mended():
    record = identity(4.0)
    assert not record.calibrated
    assert record.wrong > record.expected
    assert 0.2 < record.temperature < 0.32  # the log-odds were four times too large, less the prior's share
    assert "wrong where" in record.advice


def test_too_little_confidence_is_caught_too():
    record = identity(0.3)
    assert not record.calibrated
    assert record.temperature > 2


def test_sure_and_wrong_people_do_not_hide_among_the_doubtful():
    # a third are coin flips; of the others, who are called certain, one in a hundred is wrong
    one = np.ones(N)
    prior = CountPrior(one, 0 * one, one, 0.5)
    rng = np.random.default_rng(1)
    unsure = np.arange(N) % 3 == 0

    def decode(target):
        turned = np.where(rng.random(N) < 0.01, 1 - target, target)
        return Said(np.where(unsure, 0.0, 100.0), turned)

    record = rehearse(prior, Dense(np.eye(N)), Channel(1e-6), np.zeros(N), decode, rng)
    assert abs(record.wrong - record.expected) < 4 * np.sqrt(record.expected / 2)  # together all seems well
    assert not record.calibrated
