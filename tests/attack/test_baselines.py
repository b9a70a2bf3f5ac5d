import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.attack.baselines import Baseline, baselines, majority, population, public_only


def planted(n: int, seed: int, strength: float = 2.0) -> ta.Dataset:
    """People whose secret follows from their public columns with a known chance."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, 2, (n, 6))
    score = strength * (public[:, 0] + public[:, 1] - 1) + strength * (2 * public[:, 2] - 1) * 0.5
    secret = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return ta.Dataset.from_arrays(public, secret)


def test_majority_says_what_most_have():
    baseline = majority(np.array([0, 0, 0, 1]))
    assert baseline.guess.tolist() == [0, 0, 0, 0]
    assert np.allclose(baseline.confidence, 0.75)
    assert majority(np.array([1, 1, 0])).guess.tolist() == [1, 1, 1]


def test_public_columns_that_tell_the_secret_make_a_strong_baseline():
    people = planted(600, seed=0)
    assert public_only(people.public, people.secret).accuracy(people.secret) > 0.7


def test_a_rule_that_no_line_draws_is_found_by_the_tree():
    rng = np.random.default_rng(1)
    public = rng.integers(0, 2, (800, 5))
    people = ta.Dataset.from_arrays(public, public[:, 0] ^ public[:, 1])
    assert public_only(people.public, people.secret).accuracy(people.secret) > 0.95


def test_the_population_model_learns_from_the_release_alone():
    """On structured people it predicts nearly as well as the records do; from noise it learns nothing."""
    people = planted(1500, seed=2)
    exact = population([ta.publish(people, ta.Marginals(3))], people.public, people.secret)
    records = public_only(people.public, people.secret)
    assert exact.accuracy(people.secret) > records.accuracy(people.secret) - 0.02
    drowned = ta.publish(people, ta.Marginals(3), ta.Gaussian(1e6), rng=0)
    nothing = population([drowned], people.public, people.secret)
    assert nothing.accuracy(people.secret) <= max(people.secret.mean(), 1 - people.secret.mean()) + 1e-12


def test_the_population_model_cannot_hide_an_attack():
    """Random people: the release gives every bit away, yet says nothing about people who are not in it."""
    people = random_people(300, 36, seed=3)
    release = ta.publish(people, ta.Marginals(3))
    attack = ta.reconstruct(release, people.public)
    assert np.array_equal(attack.guess, people.secret)
    baseline = population([release], people.public, people.secret)
    # the binomial chance of 195 right out of 300 by coin flips is below 1e-6
    assert baseline.accuracy(people.secret) < 0.65


def test_a_few_tables_of_structured_people_raise_no_false_alarm():
    """Fifteen 3-way tables: the attack beats the majority by far, but a population model does as well."""
    people = planted(2000, seed=4)
    release = ta.publish(people, ta.Marginals(3))
    attack = ta.reconstruct(release, people.public)
    risk = ta.score(attack, people.secret)
    assert risk.accuracy > risk.baselines["majority"] + 0.1
    assert abs(risk.advantage) < 0.04


def test_each_fold_is_published_without_its_people(monkeypatch):
    from tellall.attack import baselines as module

    seen = []
    real = module.publish

    def spy(people, *args):
        seen.append(people.n)
        return real(people, *args)

    monkeypatch.setattr(module, "publish", spy)
    people = planted(200, seed=5)
    population([ta.publish(people, ta.Marginals(2))], people.public, people.secret)
    assert set(seen) == {180, 120}  # nine tenths, and two thirds of those for the ridge


def test_baselines_depend_on_the_seed_only():
    people = planted(120, seed=6)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1), rng=0)
    twice = [baselines([release], people.public, people.secret, rng=9) for _ in range(2)]
    for first, second in zip(*twice, strict=True):
        assert np.array_equal(first.confidence, second.confidence)
    assert [baseline.name for baseline in twice[0]] == ["majority", "public", "population"]


def test_small_groups_have_fewer_folds_and_tiny_ones_are_refused():
    people = planted(9, seed=7)
    release = ta.publish(people, ta.Marginals(2))
    assert population([release], people.public, people.secret).guess.size == 9
    three = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(ta.InvalidInput, match="people must be 4 or more"):
        population([ta.publish(three, ta.Marginals(2))], three.public, three.secret)


def test_probabilities_become_guesses():
    baseline = Baseline.from_probability("x", np.array([0.2, 0.5, 0.9]))
    assert baseline.guess.tolist() == [0, 1, 1]
    assert np.allclose(baseline.confidence, [0.8, 0.5, 0.9])
