import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.protections.record_changes import Subsample, Swapping
from tellall.protections.sampling import SamplingLaw

PEOPLE = random_people(101, 5, seed=8)


@given(st.floats(0, 1), st.integers(0, 2**32))
def test_swapping_moves_secrets_of_that_many_people_and_nothing_else(fraction, seed):
    after = Swapping(fraction).records(PEOPLE, seed)
    assert after.public is PEOPLE.public
    assert after.secret.sum() == PEOPLE.secret.sum()
    moved = int((after.secret != PEOPLE.secret).sum())
    assert moved <= fraction * PEOPLE.n
    assert moved % 2 == 0


def test_swapping_everybody_changes_about_half_of_balanced_secrets():
    people = random_people(1000, 3, seed=1)
    after = Swapping(1.0).records(people, 0)
    # 500 pairs differ with probability about 1/2 each: six standard deviations are 67 pairs
    assert abs(int((after.secret != people.secret).sum()) - 500) < 2 * 67


def test_a_swapped_release_is_believed_only_as_far_as_swaps_allow():
    people = random_people(200, 24, seed=5)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), Swapping(0.2), rng=2), people.public)
    right = attack.guess == people.secret
    assert attack.confidence.max() <= 0.91 + 0.01  # (1 − f) + f/2
    assert right.mean() == pytest.approx(attack.confidence.mean(), abs=0.05)
    assert not (attack.identified == "proved").any()


def test_subsamples_have_golden_spread_on_real_tables():
    # 400 draws: the variance of every cell within six standard errors (normal: √(2/400) relative), fixed seed
    n = PEOPLE.n
    exact = ta.publish(PEOPLE, ta.Marginals(2)).values
    drawn = np.stack([ta.publish(PEOPLE, ta.Marginals(2), Subsample(0.5), rng=s).values for s in range(400)])
    law = SamplingLaw(n, 51)
    spread = law.count_std(exact)
    assert np.abs(drawn.mean(axis=0) - exact).max() < 6 * spread.max() / 20
    assert drawn.var(axis=0) == pytest.approx(spread**2, rel=6 * math.sqrt(2 / 400))
    assert drawn * 51 / n == pytest.approx(np.rint(drawn * 51 / n))
    assert drawn.sum(axis=1) == pytest.approx(np.full(400, 5.0 * n))  # five tables, each of all people


def test_subsamples_of_fractions_and_means_need_no_scaling():
    sampled = ta.publish(PEOPLE, ta.Marginals(2, scale="fractions"), Subsample(0.3), rng=0)
    assert sampled.values.reshape(5, -1).sum(axis=1) == pytest.approx(np.ones(5))
    counts = ta.publish(PEOPLE, ta.Marginals(2), Subsample(0.3), rng=0)
    assert counts.values == pytest.approx(PEOPLE.n * sampled.values)
    assert counts.noise.std == pytest.approx(PEOPLE.n * sampled.noise.std)
    means = ta.publish(PEOPLE, ta.Means(), Subsample(0.3), rng=0).values
    sums = ta.publish(PEOPLE, ta.Means(scale="counts"), Subsample(0.3), rng=0).values
    assert sums == pytest.approx(PEOPLE.n * means)


def test_what_was_sampled_is_said_not_to_be_calibrated():
    attack = ta.reconstruct(ta.publish(PEOPLE, ta.Marginals(3), Subsample(0.5), rng=0), PEOPLE.public)
    assert attack.status.word == "uncalibrated"
    whole = ta.reconstruct(ta.publish(PEOPLE, ta.Marginals(3), Subsample(1.0), rng=0), PEOPLE.public)
    assert whole.status.settled


@pytest.mark.parametrize("make", [Swapping, Subsample])
@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), "half", True])
def test_bad_fractions_are_refused(make, fraction):
    with pytest.raises(ta.InvalidInput, match="fraction must be"):
        make(fraction)


def test_edges():
    with pytest.raises(ta.InvalidInput, match="fraction must be"):
        Subsample(0)
    assert Subsample(1e-9).left_of(10) == 1
    with pytest.raises(ta.InvalidInput, match="to swap it"):
        Swapping(0.5).records(ta.Dataset.from_arrays([[0, 1], [1, 0]]))
    assert not Subsample(0.5).law.known  # before there are people
    assert not Swapping(0.5).law.known


@pytest.mark.parametrize("n", [3, 7, 49, 98, 99, 103])
def test_swapping_declares_an_error_exactly_if_it_swaps(n):
    """2/49 of 49 people is less than two in floating point, and one pair all the same."""
    people = ta.Dataset.from_arrays(np.arange(n)[:, None] % 5, np.arange(n) % 2)
    for fraction in (2 / n, 1 / n, 1.9 / n, min(1.0, 4 / n)):
        found = Swapping(fraction).prepare(ta.Marginals(2), people.public)
        swaps = any((found.records(people, seed).secret != people.secret).any() for seed in range(40))
        assert (found.law.bound > 0) is swaps  # by luck nobody moves with probability below 2/3 to the 40th
        assert (found.pairs(n) > 0) is swaps
