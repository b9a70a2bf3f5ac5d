import numpy as np
import pytest

import tellall as ta
from tellall.attack.baselines import Baseline, typical
from tellall.attack.secret import Bit
from tellall.experiment.risk import _paired_bootstrap
from tests.conftest import random_people


def sure_of(name: str, guess: np.ndarray, confidence: np.ndarray) -> Baseline:
    return Baseline(name, guess, np.where(guess == 1, confidence, 1 - confidence))


@pytest.fixture(scope="module")
def attack() -> tuple[ta.Reconstruction, np.ndarray]:
    people = random_people(120, 10, seed=0)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=1)
    return ta.reconstruct(release, people.public), people.secret


def test_the_numbers_are_what_they_say(attack):
    reconstruction, secret = attack
    risk = ta.score(reconstruction, secret)
    assert risk.accuracy == np.mean(reconstruction.guess == secret)
    assert risk.hamming == np.sum(reconstruction.guess != secret)
    assert set(risk.baselines) == {"majority", "public", "own group", "population"}
    assert risk.baselines[risk.baseline] == max(risk.baselines.values())
    assert risk.advantage == risk.accuracy - max(risk.baselines.values())
    assert risk.interval[0] < risk.advantage < risk.interval[1]
    assert risk.found(1) == np.mean(reconstruction.guess[secret == 1])
    named, right = risk.named(0.9)
    said = (reconstruction.guess == 1) & (reconstruction.confidence >= 0.9)
    assert (named, right) == (said.sum(), (said & (secret == 1)).sum())


def test_exposed_people_are_right_sure_and_unforeseen(attack):
    reconstruction, secret = attack
    sure = sure_of("told", secret, np.where(np.arange(secret.size) < 60, 0.97, 0.6))
    risk = ta.score(reconstruction, secret, [sure])
    wanted = (
        (reconstruction.guess == secret)
        & (reconstruction.confidence >= 0.95)
        & (np.arange(secret.size) >= 60)
    )
    assert np.array_equal(risk.exposed_people(), wanted)
    assert risk.exposed == wanted.sum()
    assert risk.exposed_at(0.95, 0) + risk.exposed_at(0.95, 1) == risk.exposed
    assert (
        risk.exposed_at(0.99)
        == ((reconstruction.guess == secret) & (reconstruction.confidence >= 0.99)).sum()
        - (
            (reconstruction.guess == secret)
            & (reconstruction.confidence >= 0.99)
            & (sure.chance_of(secret) >= 0.99)
        ).sum()
    )


def test_a_baseline_sure_of_the_wrong_value_does_not_hide_anybody(attack):
    reconstruction, secret = attack
    wrong = sure_of("wrong", 1 - secret, np.full(secret.size, 0.99))
    assert (
        ta.score(reconstruction, secret, [wrong]).exposed
        == ta.score(reconstruction, secret, [typical(secret, Bit())]).exposed
    )


def test_the_baseline_has_no_advantage_over_itself(attack):
    reconstruction, secret = attack
    itself = sure_of("attack", reconstruction.guess, reconstruction.confidence)
    risk = ta.score(reconstruction, secret, [itself])
    assert risk.advantage == 0
    assert risk.interval[0] == -risk.interval[1]  # as much for as against, and as wide as 120 people allow
    assert 0.03 < risk.interval[1] < 0.04
    assert risk.exposed == 0


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_has_no_advantage(seed):
    people = random_people(400, 12, seed=seed)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1e6), rng=seed)
    risk = ta.score(ta.reconstruct(release, people.public), people.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


def test_pure_noise_about_real_people_has_no_advantage(nhanes):
    release = ta.publish(nhanes, ta.Marginals(3), ta.Gaussian(1e6), rng=0)
    risk = ta.score(ta.reconstruct(release, nhanes.public), nhanes.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("protect", [ta.Gaussian(1e6), ta.Suppression(1e9)], ids=repr)
def test_a_release_that_tells_nothing_scores_nothing_whatever_the_rate(rate, protect):
    rng = np.random.default_rng(1)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (300, 8)), (rng.random(300) < rate).astype(int))
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), protect, rng=0), people.public)
    risk = ta.score(attack, people.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


def test_one_holder_or_none_can_be_scored():
    secret = np.zeros(100, dtype=int)
    secret[3] = 1
    people = ta.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (100, 8)), secret)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert ta.score(attack, secret).baselines["majority"] == 0.99
    assert ta.score(attack, np.zeros(100)).baselines["majority"] == 1.0


def test_the_interval_is_the_paired_bootstrap():
    rng = np.random.default_rng(0)
    right, base = rng.random(200) < 0.8, rng.random(200) < 0.6
    low, high = _paired_bootstrap(right, base, np.random.default_rng(1))
    people = rng.integers(0, 200, (20_000, 200))
    plain = np.quantile((right[people].astype(float) - base[people]).mean(axis=1), [0.025, 0.975])
    assert np.allclose([low, high], plain, atol=0.01)


def test_the_text_gives_the_baseline_and_the_interval(attack):
    text = repr(ta.score(*attack))
    assert "strongest baseline" in text
    assert "[" in text


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (np.zeros(3), "one bit per person"),
        (np.full(120, 2), "bits, 0 or 1"),
        (np.full(120, np.nan), "bits, 0 or 1"),
        (np.array(["a"] * 120), "bits, 0 or 1"),
    ],
)
def test_a_bad_secret_is_refused(attack, secret, says):
    with pytest.raises(ta.InvalidInput, match=says):
        ta.score(attack[0], secret)


def test_bad_questions_are_refused(attack):
    risk = ta.score(*attack, [typical(attack[1], Bit())])
    with pytest.raises(ta.InvalidInput, match="level must be"):
        risk.exposed_at(0.2)
    with pytest.raises(ta.InvalidInput, match="value must be"):
        risk.exposed_at(0.95, 3)
    for wrong in ([], ["majority"]):
        with pytest.raises(ta.InvalidInput, match="baselines must be"):
            ta.score(*attack, wrong)
    with pytest.raises(ta.InvalidInput, match="reconstruction must be"):
        ta.score(None, attack[1])
