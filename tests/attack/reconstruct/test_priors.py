"""A prior for each person: every decoder starts from it, and says what all secrets, listed, say."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta

DECODERS = ["auto", "least-squares", "posterior", "lp", "exhaustive"]


def by_listing(people: ta.Dataset, release: ta.Release, prior: np.ndarray, std: float) -> np.ndarray:
    """The chance of each person under this prior and normal errors, from every secret."""
    secrets = np.array(list(product([0, 1], repeat=people.n)))
    weight = np.log(np.where(secrets == 1, prior, 1 - prior)).sum(axis=1)
    operator = release.statistic.equations(people.public, release.values).operator.to_dense()
    target = release.statistic.equations(people.public, release.values).target
    off = secrets @ operator.T - target
    weight -= (off**2).sum(axis=1) / (2 * std**2)
    chance = np.exp(weight - weight.max())
    return chance @ secrets / chance.sum()


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("noise", [(), (ta.Gaussian(1.5),)], ids=["exact", "noisy"])
def test_the_same_rate_for_everybody_is_that_rate(decoder: str, noise: Any) -> None:
    if decoder == "exhaustive" and noise:
        return
    people = random_people(60, 4, seed=1)
    release = ta.publish(people, ta.Marginals(2), *noise, rng=0)
    one = ta.reconstruct(release, people.public, decoder, 0.4)
    each = ta.reconstruct(release, people.public, decoder, np.full(60, 0.4))
    both = ta.reconstruct(release, people.public, decoder, np.tile([0.6, 0.4], (60, 1)))
    np.testing.assert_allclose(
        each.confidence[each.guess == one.guess], one.confidence[each.guess == one.guess], atol=2e-3
    )
    assert (
        np.abs(each.confidence[each.guess != one.guess] - 0.5).max(initial=0) < 0.2
    )  # the box against the chance
    np.testing.assert_array_equal(each.confidence, both.confidence)
    assert np.shape(each.prior) == (60,)


@pytest.mark.parametrize("decoder", ["least-squares", "posterior", "lp"])
@pytest.mark.parametrize("seed", range(3))
def test_one_noisy_table_says_what_all_secrets_say(decoder: str, seed: int) -> None:
    """Two groups of six: nothing is approximate but for the two cells of each being one count."""
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(np.repeat([[0], [1]], 6, axis=0), rng.integers(0, 2, 12))
    prior = np.clip(rng.beta(0.5, 0.5, 12), 0.02, 0.98)
    release = ta.publish(people, ta.Marginals(1), ta.Gaussian(1.0), rng=seed)
    found = ta.reconstruct(release, people.public, decoder, prior)
    wanted = by_listing(people, release, prior, 1.0)
    chance = np.where(found.guess == 1, found.confidence, 1 - found.confidence)
    np.testing.assert_allclose(chance, wanted, atol=0.05 if decoder == "posterior" else 0.02)


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_known_count_is_shared_by_the_odds_of_its_people(decoder: str) -> None:
    """One of four has it; three of them hardly could."""
    people = ta.Dataset.from_arrays(np.repeat([[0], [1]], [4, 8], axis=0), [1, 0, 0, 0] + [0, 1] * 4)
    prior = np.array([0.9, 0.01, 0.01, 0.01] + [0.5] * 8)
    found = ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, decoder, prior)
    odds = prior[:4] / (1 - prior[:4])
    assert found.guess[:4].tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(found.confidence[0], odds[0] / odds.sum(), atol=1e-6)
    assert found.confidence[0] > 0.99
    np.testing.assert_allclose(found.confidence[4:], 0.5, atol=1e-6)


def test_categories_have_a_row_for_each_person() -> None:
    rng = np.random.default_rng(0)
    public = rng.integers(0, 6, (240, 3))
    prior = rng.dirichlet([0.3, 0.3, 0.3], 240).clip(0.01, 0.98)
    prior /= prior.sum(axis=1, keepdims=True)
    secret = (rng.random((240, 1)) > prior.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    people = ta.Dataset.from_arrays(public, secret)
    release = ta.publish(people, ta.Marginals(2), ta.Gaussian(1.0), rng=1)
    for decoder in ("auto", "least-squares", "lp"):
        flat = ta.reconstruct(release, people.public, decoder)
        own = ta.reconstruct(release, people.public, decoder, prior)
        alone = float((prior.argmax(axis=1) == secret).mean())
        right = float((own.guess == secret).mean())
        assert right >= alone - 0.02
        assert right > float((flat.guess == secret).mean()) + 0.1
        sure = own.confidence >= 0.95
        assert sure.sum() > 40
        # right as often as said: below four standard deviations of 0.95 has chance 3e-5 at each of 3 decoders
        assert (own.guess == secret)[sure].mean() > 0.95 - 5 * np.sqrt(0.05 * 0.95 / sure.sum())
        assert np.shape(own.prior) == (240, 3)


@pytest.mark.parametrize(
    "prior",
    [
        np.full(59, 0.5),
        np.full(60, 0.0),
        np.full((60, 2), 0.4),
        np.full((60, 3), 1 / 3),
        np.full((2, 60), 0.5),
    ],
    ids=["too few", "zero", "another sum", "too many values", "turned"],
)
def test_other_shapes_are_refused(prior: np.ndarray) -> None:
    people = random_people(60, 4, seed=1)
    with pytest.raises(ta.InvalidInput, match="or that for each of 60 people"):
        ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, prior=prior)


def test_own_decoders_that_know_no_people_still_tell_them_apart() -> None:
    from tellall.attack.reconstruct.decoders import DECODERS as known
    from tellall.attack.reconstruct.decoders import DecodedCounts, nearest

    def rounded(undecided: Any, rng: Any) -> DecodedCounts:
        found = nearest(undecided)
        return DecodedCounts(
            found.value, found.status, "rounded", chance=np.clip(found.value / undecided.size, 0, 1)
        )

    people = ta.Dataset.from_arrays(np.repeat([[0], [1]], 6, axis=0), [1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0])
    prior = np.array([0.9] + [0.1] * 5 + [0.5] * 6)
    known["rounded"] = rounded
    try:
        found = ta.reconstruct(
            ta.publish(people, ta.Marginals(2), ta.Gaussian(0.5), rng=0), people.public, "rounded", prior
        )
    finally:
        del known["rounded"]
    chance = np.where(found.guess == 1, found.confidence, 1 - found.confidence)
    assert chance[0] > chance[1:6].max() + 0.3


def test_wrong_releases_move_chances_back_to_each_persons_own() -> None:
    """Values that contradict each other: misfits share between the answer and the person's own prior."""
    people = random_people(60, 4, seed=2)
    release = ta.publish(people, ta.Marginals(2))
    values = release.values.copy()
    values[0] += 9
    from dataclasses import replace

    prior = np.random.default_rng(0).uniform(0.1, 0.9, 60)
    found = ta.reconstruct(replace(release, values=values), people.public, "auto", prior)
    assert found.status.word == "contradictory"
    assert np.isfinite(found.confidence).all()


@pytest.mark.parametrize("levels", [2, 3])
def test_a_rate_read_off_some_makes_nobody_sure_about_the_others(levels: int) -> None:
    """The first hundred all but always have it, and nothing is published about the last two hundred."""
    secret = np.array([1] * 97 + [0] * 3 + [0] * 200)
    if levels == 3:
        secret[100:] = np.arange(200) % 3
    people = ta.Dataset.from_arrays(np.repeat([[0], [1], [2]], 100, axis=0), secret, names=["who"])
    release = ta.publish(people, ta.Marginals(1), ta.Gaussian(1.0), where="who = 0", rng=0)
    found = ta.reconstruct(release, people.public, "least-squares")
    silent = slice(100, 300)
    assert found.confidence[silent].max() < 0.95
    assert found.confidence[:97].min() > 0.9
    told = ta.reconstruct(
        release, people.public, "least-squares", (0.01, 0.98, 0.01) if levels == 3 else 0.98
    )
    assert told.confidence[silent].min() > 0.97  # unless somebody knows the rate of all


def test_a_survival_curve_says_nothing_about_those_beyond_its_last_time() -> None:
    """Nearly all who were seen for less than a year had the event, and a tenth of the others."""
    rng = np.random.default_rng(0)
    days = rng.integers(1, 2000, 600).astype(float)
    secret = (rng.random(600) < np.where(days <= 365, 0.97, 0.1)).astype(int)
    people = ta.Dataset.from_arrays(days[:, None], secret, names=["days"])
    release = ta.publish(people, ta.SurvivalCurve("days", grid=[100, 200, 300, 365]), ta.Rounding(0.01))
    found = ta.reconstruct(release, people.public)
    assert found.confidence[days > 365].max() < 0.95
