"""Intervals of the advantage."""

from __future__ import annotations

from copy import copy

import numpy as np

from tellall.experiment import intervals
from tellall.experiment.intervals import Resamples

SECRET = np.arange(400) % 2
EITHER = np.stack([SECRET == 0, SECRET == 1])


def _interval(right: np.ndarray, baselines: np.ndarray = EITHER) -> tuple[float, float]:
    return Resamples(right.shape[1]).interval(right, baselines)


def test_a_baseline_has_no_advantage_over_itself() -> None:
    rng = np.random.default_rng(1)
    strong = rng.random((1, 400)) < 0.8
    low, high = _interval(strong, strong)
    assert low == high == 0.0


def test_a_constant_guess_is_no_better_than_the_majority_whichever_it_takes() -> None:
    for value in (0, 1):
        low, high = _interval(np.repeat((value == SECRET)[None], 5, axis=0))
        assert -0.08 < low <= 0 <= high < 0.03


def test_the_interval_covers_at_its_rate() -> None:
    """Attack right with 0.7, a baseline with 0.6, independently: the truth is 0.1.

    100 trials of a nominal 95 % interval: fewer than 80 hits have probability 2e-8 if it covers 95 %
    (binomial); a 95 % interval half as wide as it should be would cover 67 %.
    """
    rng, hits = np.random.default_rng(7), 0
    for trial in range(100):
        right, baseline = rng.random((1, 200)) < 0.7, rng.random((1, 200)) < 0.6
        both = np.concatenate([baseline, EITHER[:, :200]])
        low, high = Resamples(200, trial).interval(right, both)
        hits += low <= 0.1 <= high
    assert hits >= 80


def test_more_draws_narrow_the_interval() -> None:
    rng = np.random.default_rng(3)
    right = rng.random((40, 400)) < 0.7
    one, many = (_interval(right[:count]) for count in (1, 40))
    assert many[1] - many[0] < one[1] - one[0]


def test_resamples_are_the_same_kept_or_not(monkeypatch) -> None:
    right = np.random.default_rng(3).random((4, 400)) < 0.7
    kept = Resamples(400, (5, 3))
    first = kept.interval(right, EITHER)
    assert kept.interval(right, EITHER) == first
    assert copy(kept).interval(right, EITHER) == first  # as other processes get it
    assert Resamples(400, (5, 4)).interval(right, EITHER) != first
    monkeypatch.setattr(intervals, "_AT_ONCE", 1000)  # a few resamples at a time
    assert Resamples(400, (5, 3)).interval(right, EITHER) == first
    weights = np.concatenate(list(Resamples(400)._weights()))
    assert (weights.sum(axis=1) == 400).all()


def test_many_people_are_resampled_less_often(monkeypatch) -> None:
    monkeypatch.setattr(intervals, "_WORK", 400 * 100)
    few = Resamples(400)
    assert few.count == 200
    few.interval(EITHER[:1], EITHER)
    assert few._kept is None


def test_the_interval_holds_its_own_point() -> None:
    """An attack that guesses with the majority in 23 people; which value that is, few resamples doubt."""
    rng = np.random.default_rng(0)
    for trial in range(40):
        secret = rng.random(23) < 0.3
        either = np.stack([secret == 0, secret == 1])
        usual = either[int(secret.mean() >= 0.5)]
        flipped = usual ^ (rng.random((2, 23)) < (trial % 2) * 0.03)
        low, high = Resamples(23, trial).interval(flipped, either)
        assert low <= flipped.mean() - usual.mean() <= high
