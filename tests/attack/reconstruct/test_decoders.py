"""The decoders behind ``reconstruct``: each where it is strong, and what "auto" makes of them."""

from itertools import product

import numpy as np
import pytest
from tests.conftest import first_fast, random_people

import tellall as ta
from tellall.attack.reconstruct.decoders import DECODERS


def pairs(n: int, d: int, seed: int, factors: int = 0) -> ta.Dataset:
    """People whose pairs of attributes are published; attributes from latent factors where asked for."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, d))
    if factors:
        score = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d)) + 0.5 * score
    return ta.Dataset.from_arrays((score > 0).astype(int), rng.permutation(np.arange(n) % 2))


def right(people: ta.Dataset, release: ta.Release, decoder: str) -> float:
    attack = ta.reconstruct(release, people.public, decoder, rng=0)
    return float((attack.guess == people.secret).mean())


XOR = ta.Predicates("xor", ways=3)


@pytest.mark.parametrize(("fraction", "least"), [(0.05, 1.0), (0.4, 0.999)])
def test_gross_errors_do_not_stop_the_posterior(fraction, least):
    people = pairs(500, 46, seed=1)
    gross = [ta.Gaussian(0.05 * 500**0.5), ta.Corruption(fraction, 10 * 500**0.5)]
    release = ta.publish(people, XOR, gross, rng=2)
    assert right(people, release, "posterior") >= least
    attack = ta.reconstruct(release, people.public)
    assert (attack.decoder, attack.status.word) == ("posterior", "trusted")
    assert attack.evidence.contaminated
    if fraction == 0.05:
        assert right(people, release, "lp") == 1 > right(people, release, "least-squares")


def test_auto_is_no_worse_than_the_lp_on_complements_of_correlated_attributes():
    # complements are structured errors, which the posterior takes for signal; 30 % of the values
    for seed in (3, 5):
        people = pairs(300, 36, seed=seed, factors=3)
        release = ta.publish(people, XOR, [ta.Gaussian(0.05 * 300**0.5), ta.Complement(0.3)], rng=4)
        assert right(people, release, "auto") >= right(people, release, "lp") > 0.8


def test_fewer_equations_than_people_are_enough_for_the_posterior():
    people = pairs(500, 27, seed=5)  # 351 equations
    release = ta.publish(people, XOR, ta.Gaussian(0.125 * 500**0.5), rng=6)
    assert right(people, release, "posterior") >= 0.98 > 0.93 > right(people, release, "least-squares")


def test_exhaustive_is_brute_force():
    for seed in range(20):
        people = random_people(8, 3, seed=seed)
        release = ta.publish(people, ta.Marginals(2), ta.Rounding(3))
        attack = ta.reconstruct(release, people.public, "exhaustive")
        evidence = attack.evidence
        matrix = evidence.operator.to_dense()
        fits = [
            bits
            for bits in product((0, 1), repeat=8)
            if (np.abs(matrix @ bits - evidence.target) <= evidence.rows.bound + 1e-9).all()
        ]
        same = np.ptp(np.array(fits), axis=0) == 0
        assert ((attack.identified == "proved") == same).all()
        if attack.decoder == "exhaustive":  # each secret as probable as the prior makes it, alike or not
            odds = np.log(attack.prior / (1 - attack.prior))
            weight = np.exp(np.sum(fits, axis=1) * odds)
            assert np.allclose(attack.estimate, weight @ np.array(fits) / weight.sum())


def test_auto_lists_every_secret_where_few_people_are_open():
    people = random_people(14, 4, seed=3)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(2), ta.Rounding(2)), people.public)
    assert attack.decoder in ("exhaustive", "bounds")
    assert attack.status.settled


def test_exhaustive_says_that_unbounded_noise_excludes_nothing():
    people = random_people(10, 4, seed=0)
    release = ta.publish(people, ta.Marginals(2), ta.Gaussian(1.0), rng=0)
    with pytest.raises(ta.InvalidInput, match="the noise has no bound and every secret fits"):
        ta.reconstruct(release, people.public, "exhaustive")


@pytest.mark.parametrize("decoder", [name for name in DECODERS if name != "exhaustive"])
def test_every_decoder_reads_rounded_tables(decoder):
    people = random_people(60, 12, seed=8)
    release = ta.publish(people, ta.Marginals(3), ta.Rounding(5))
    assert right(people, release, decoder) > 0.9


@pytest.mark.slow
def test_rounded_values_are_intervals_and_not_noise():
    """Over 8 sets of people the interval-aware posterior beats treating rounding as noise of its spread."""
    gain = 0.0
    for seed in range(8):
        people = random_people(120, 8, seed=seed, levels=3)
        release = ta.publish(people, ta.Marginals(3), ta.Rounding(5))
        noisy = ta.Release.from_values(
            release.statistic, release.values, public=people, noise=ta.Gaussian(5 / 12**0.5)
        )
        gain += right(people, release, "posterior") - right(people, noisy, "posterior")
    assert gain > 0


def test_a_decoder_that_is_not_there():
    people = random_people(10, 4, seed=0)
    with pytest.raises(
        ta.InvalidInput, match="'auto', 'least-squares', 'lp', 'posterior', 'exhaustive', 'likeliest'"
    ):
        ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, "simplex")


@pytest.mark.slow
def test_confidence_is_calibrated_on_random_instances():
    """Between 88 and 97 % of those said to be right with probability 0.90 to 0.95 are, status "trusted"."""
    said = held = 0
    for seed in range(20):
        people = pairs(2000, 90, seed=100 + seed)
        release = ta.publish(people, XOR, ta.Gaussian(0.5 * 2000**0.5), rng=seed)
        attack = ta.reconstruct(release, people.public, rng=seed)
        assert attack.status.word == "trusted"
        among = (attack.confidence >= 0.9) & (attack.confidence < 0.95)
        said, held = said + among.sum(), held + (attack.guess == people.secret)[among].sum()
    assert said >= 2000
    assert 0.88 < held / said < 0.97


@pytest.mark.parametrize(("levels", "releases"), first_fast([(5, 2), (5, 10), (4, 10)]))
def test_a_posterior_that_locks_into_some_secret_is_not_sure_of_it(levels, releases):
    # rounded tables that many secrets fit; releases of 200 people each, four standard errors
    wrong = doubt = sure = 0.0
    for seed in range(releases):
        rng = np.random.default_rng(seed)
        people = ta.Dataset.from_arrays(rng.integers(0, levels, (200, 5)), rng.integers(0, 2, 200))
        found = ta.reconstruct(ta.publish(people, ta.Marginals(3), ta.Rounding(2)), people.public)
        chosen = (found.confidence >= 0.95) & (found.identified != "proved")
        wrong += (found.guess != people.secret)[chosen].sum()
        doubt += (1 - found.confidence[chosen]).sum()
        sure += chosen.sum()
    assert wrong <= doubt + 4 * np.sqrt(doubt + 1)
