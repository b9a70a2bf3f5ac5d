"""People of one count with chances of their own: every law is that of all secrets, listed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tellall.linalg.posterior.members import WRITTEN, Members
from tellall.linalg.posterior.model import CountPrior


def listed(chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every secret of these people, and its probability."""
    secrets = np.array(list(product([0, 1], repeat=chance.size)))
    return secrets, np.prod(np.where(secrets == 1, chance, 1 - chance), axis=1)


@pytest.mark.parametrize("seed", range(20))
def test_chances_given_a_law_of_the_count_are_those_of_all_secrets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 10))
    chance = np.clip(rng.beta(0.3, 0.6, size), 0.001, 0.999)
    secrets, weight = listed(chance)
    count = secrets.sum(axis=1)
    members, only = Members(np.zeros(size, dtype=int), chance, 1), np.zeros(1, dtype=int)
    law = np.array([weight[count == t].sum() for t in range(size + 1)])
    np.testing.assert_allclose(np.exp(members.log_law(only)[0]), law, rtol=1e-9)
    told = rng.dirichlet(np.ones(size + 1))
    wanted = sum(told[t] * (weight[count == t] @ secrets[count == t]) / law[t] for t in range(size + 1))
    places, found = members.under(only, told[None])
    np.testing.assert_allclose(found[0][np.argsort(places[0])], wanted, atol=1e-8)


def test_a_known_count_is_shared_by_odds() -> None:
    members = Members(np.array([0, 1, 0, 0]), np.array([0.9, 0.2, 0.5, 0.1]), 2)
    found = members.given(np.array([1.0, 1.0]))
    ways = np.array([0.9 * 0.5 * 0.9, 0.1 * 0.5 * 0.9, 0.1 * 0.5 * 0.1])
    np.testing.assert_allclose(found[[0, 2, 3]], ways / ways.sum(), rtol=1e-9)
    assert found[1] == 1


def test_equal_chances_share_evenly_in_large_counts_too() -> None:
    for size in (40, WRITTEN, WRITTEN + 1):
        members = Members(np.zeros(size, dtype=int), np.full(size, 0.3), 1)
        np.testing.assert_allclose(members.given(np.array([7.0])), 7 / size, rtol=1e-6)


def test_far_from_what_was_expected_nothing_is_lost() -> None:
    """400 people who hardly ever have it, of whom nearly all have it, and the other way round."""
    rng = np.random.default_rng(0)
    for low, high, known in ((0.001, 0.01, 398.0), (0.99, 0.999, 2.0)):
        members = Members(np.zeros(400, dtype=int), rng.uniform(low, high, 400), 1)
        found = members.given(np.array([known]))
        assert found.sum() == pytest.approx(known, rel=1e-9)
        order = np.argsort(members.chance)
        assert (np.diff(found[order]) >= -1e-9).all()  # the likelier before, the likelier after


@pytest.mark.parametrize("seed", range(10))
def test_the_posterior_of_a_noisy_count_is_that_of_all_secrets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chance = np.clip(rng.beta(0.5, 0.7, 7), 0.001, 0.999)
    secrets, weight = listed(chance)
    count = secrets.sum(axis=1)
    value, precision = rng.normal(count.mean(), 2), 1.7
    likely = weight * np.exp(-precision * (count - value) ** 2 / 2) * ((count >= 1) & (count <= 6))
    wanted = likely @ secrets / likely.sum()
    size = np.array([7.0])
    members = Members(np.zeros(7, dtype=int), chance, 1)
    prior = CountPrior(size, np.ones(1), np.array([6.0]), members.rate, members=members)
    found = prior.member_log_odds(precision, np.array([value]))
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), wanted, atol=1e-8)
    mean, _ = prior.moments(precision, np.array([value]))
    np.testing.assert_allclose(mean, wanted.sum(), rtol=1e-9)
