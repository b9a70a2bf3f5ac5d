"""Intervals and luck."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.audits.measures.chance_intervals import exact_interval, gain_interval, highest_share, luck


@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize(("won", "lost"), [(0.0, 0.0), (0.02, 0.0), (0.02, 0.02), (0.3, 0.1), (1.0, 0.0)])
def test_the_true_advantage_is_outside_in_at_most_five_per_cent_of_samples(n, won, lost):
    """Summed over every sample there is: no luck in this test."""
    outside = 0.0
    for gains, losses in product(range(n + 1), repeat=2):
        if gains + losses <= n:
            ways = comb(n, gains) * comb(n - gains, losses)
            chance = ways * won**gains * lost**losses * (1 - won - lost) ** (n - gains - losses)
            low, high = exact_interval(gains, losses, n)
            outside += chance * (not low <= won - lost <= high)
    assert outside <= 0.05


@given(st.integers(1, 10_000), st.data())
def test_the_interval_holds_what_was_seen_and_turns_with_the_sides(n, data):
    won = data.draw(st.integers(0, n))
    lost = data.draw(st.integers(0, n - won))
    low, high = exact_interval(won, lost, n)
    assert -1 <= low <= (won - lost) / n <= high <= 1
    assert exact_interval(lost, won, n) == (-high, -low)


def test_a_bootstrap_of_five_different_people_stands_and_of_four_is_widened():
    five, four = gain_interval([0, 1], [95, 5]), gain_interval([0, 1], [96, 4])
    assert five[0] > 0
    assert four == pytest.approx(exact_interval(4, 0, 100))


def test_the_interval_is_the_paired_bootstrap():
    rng = np.random.default_rng(0)
    gains = (rng.random(200) < 0.8).astype(float) - (rng.random(200) < 0.6)
    people = rng.integers(0, 200, (20_000, 200))
    plain = np.quantile(gains[people].mean(axis=1), [0.025, 0.975])
    assert np.allclose(gain_interval(gains), plain, atol=0.01)
    assert gain_interval(gains) == gain_interval(gains)  # nothing in it is random


def test_real_gains_have_the_interval_of_their_mean():
    gains = np.random.default_rng(1).normal(0.3, 2.0, 5000)
    low, high = gain_interval(gains, largest=10.0)
    half = 1.96 * gains.std() / np.sqrt(5000)
    assert (low, high) == pytest.approx((gains.mean() - half, gains.mean() + half), abs=0.01)
    many = np.random.default_rng(2).normal(0.3, 2.0, 50_000)  # beyond what is resampled
    assert gain_interval(many)[1] - gain_interval(many)[0] == pytest.approx(
        2 * 1.96 * 2.0 / np.sqrt(50_000), rel=0.05
    )


def test_equal_gains_still_have_a_width():
    low, high = gain_interval(np.zeros(30), largest=2.0)
    assert (low, high) == pytest.approx(tuple(2 * end for end in exact_interval(0, 0, 30)))


def test_luck_is_the_tail_of_a_sum_of_unequal_coins():
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.1, 0.9, 12)
    exact = np.zeros(13)
    for outcome in product((0, 1), repeat=12):
        exact[sum(outcome)] += np.prod(np.where(outcome, chances, 1 - chances))
    for right in range(13):
        assert luck(chances, right) == pytest.approx(exact[right:].sum())


def test_luck_of_many_guesses_is_nearly_normal():
    chances = np.full(3000, 0.7)
    for right in (2100, 2150, 2180):
        assert luck(np.full(3001, 0.7), right) == pytest.approx(luck(chances, right), abs=0.03)


def test_an_upper_limit_of_a_share():
    assert highest_share(20, 20, 0.01) == 1.0
    assert highest_share(0, 100, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100))
