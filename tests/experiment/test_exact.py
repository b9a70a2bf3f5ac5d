from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.attack.baselines import Baseline
from tellall.experiment.intervals import exact_interval, with_few_different
from tellall.experiment.real_risk import _interval
from tellall.experiment.risk import interval_over_draws
from tellall.experiment.tally import Tally, total


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


def test_a_bootstrap_of_five_different_people_stands():
    assert with_few_different((0.01, 0.09), [(0, 95), (1, 5)]) == (0.01, 0.09)
    low, high = with_few_different((0.01, 0.09), [(0, 96), (1, 4)])
    assert low < 0.01
    assert high > 0.09


def attack_on(n: int) -> tuple[ta.Reconstruction, np.ndarray]:
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (n, 8)), np.arange(n) % 2)
    release = ta.publish(people, ta.Marginals(2), ta.Gaussian(2.0), rng=1)
    return ta.reconstruct(release, people.public), people.secret


def test_an_attack_that_guesses_as_the_baseline_does_is_not_known_to_gain_nothing():
    attack, secret = attack_on(40)
    itself = Baseline(
        "attack", attack.guess, np.where(attack.guess == 1, attack.confidence, 1 - attack.confidence)
    )
    risk = ta.score(attack, secret, [itself])
    assert risk.advantage == 0
    low, high = risk.interval
    assert -low == high
    assert 0.05 < high < 0.15  # 4.4 / 40, and no 0.05 can be ruled out
    assert interval_over_draws([risk, risk, risk]) == pytest.approx(risk.interval)


def test_an_attack_that_is_always_right_where_the_baseline_never_is_could_be_less_good():
    attack, _ = attack_on(40)
    never = Baseline(
        "never", 1 - attack.guess, np.where(attack.guess == 1, 1 - attack.confidence, attack.confidence)
    )
    low, high = ta.score(attack, attack.guess, [never]).interval
    assert 0.7 < low < 1
    assert high == 1


def test_blocks_in_which_all_is_alike_have_an_interval_together():
    alike = Tally(20, (12,), {"majority": (12,)}, {"majority": ((0, 20),)})
    low, high = total([alike, alike], rng=np.random.default_rng(0)).interval
    assert (low, high) == pytest.approx(exact_interval(0, 0, 40))


def test_real_numbers_guessed_as_the_baseline_does_have_an_interval():
    low, high = _interval(np.zeros(30), 2.0, np.random.default_rng(0))
    assert (low, high) == pytest.approx(tuple(2 * end for end in exact_interval(0, 0, 30)))
