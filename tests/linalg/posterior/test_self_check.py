from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.posterior.model import Channel, CountPrior
from tellall.linalg.posterior.solver import rehearse

N = 1500
FEW = 40


@dataclass
class Said:
    precision: np.ndarray
    center: np.ndarray


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


def rehearse_few(strength: float, prior, unknowns: int):
    """The record of few people, and how often the decoder was asked."""
    asked = []

    def decode(target):
        asked.append(1)
        return Said(np.full(unknowns, strength / 0.36), target)

    rng, eye = np.random.default_rng(2), Dense(np.eye(unknowns))
    return rehearse(prior, eye, Channel(0.36), np.zeros(unknowns), decode, rng), len(asked)


def test_few_people_are_asked_often_enough_to_tell():
    one = np.ones(FEW)
    prior = CountPrior(one, 0 * one, one, 0.4)
    record, asked = rehearse_few(1.0, prior, FEW)
    assert record.calibrated
    assert asked == 30
    record, asked = rehearse_few(1.7, prior, FEW)
    assert record.temperature < 0.8
    record, asked = rehearse_few(4.0, prior, FEW)
    assert not record.calibrated
    assert asked == 10


def test_of_several_values_everybody_counts_once():
    one = np.ones(3 * FEW)
    rate = np.repeat([0.5, 0.3, 0.2], FEW)
    prior = CountPrior(one, 0 * one, one, rate, group=np.tile(np.arange(FEW), 3), left=np.ones(FEW))
    record, asked = rehearse_few(1.0, prior, 3 * FEW)
    assert record.calibrated
    assert asked == 30
    assert 0 < record.wrong < 30 * FEW / 2
    assert not rehearse_few(4.0, prior, 3 * FEW)[0].calibrated
