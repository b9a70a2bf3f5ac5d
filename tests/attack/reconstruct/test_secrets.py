"""Secrets of more than two values, and real ones."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.conftest import first_fast

import tellall as ta
from tellall.linalg.operators.linear_operator import Dense
from tellall.statistics.statistic import Equations, Statistic
from tellall.testing import check_statistic


def people_of(secret, n=60, d=12, seed=0):
    return ta.Dataset.from_arrays(np.random.default_rng(seed).integers(0, 2, (n, d)), secret)


@dataclass(frozen=True)
class Totals(Statistic):
    """The sum of the secret times each public column."""

    scale: str = "counts"

    def values(self, dataset):
        return np.stack(dataset.public.numbers) @ dataset.secret

    def equations(self, public, values):
        columns = np.stack(public.numbers)
        return Equations(Dense(columns), values, np.arange(public.n), floor=1e-6)

    def size(self, public):
        return len(public.columns)

    def describe(self):
        return "totals"


def test_the_kind_of_a_secret_is_read_off_its_values():
    public = np.arange(8).reshape(4, 2) % 3
    assert ta.Dataset.from_arrays(public, [5, 7, 7, 5]).meaning == ("5", "7")
    stages = ta.Dataset.from_arrays(public, [3, 1, 2, 1])
    assert (stages.levels, stages.secret.tolist(), stages.meaning) == (3, [2, 0, 1, 0], ("1", "2", "3"))
    income = ta.Dataset.from_arrays(public, [1.5, 2.25, 0.5, 9.0])
    assert (income.levels, income.secret.tolist()) == (0, [1.5, 2.25, 0.5, 9.0])
    assert "real numbers, mean 3.3125" in repr(income)
    assert "2 × 1, 1 × 2, 1 × 3" in repr(stages)
    many = ta.Dataset.from_arrays(np.arange(60).reshape(30, 2), np.arange(30))
    assert many.levels == 0  # whole numbers of many values are numbers


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("scale", ["counts", "fractions"])
def test_tables_of_categories_are_exact_equations_and_give_everybody_away(levels, scale):
    secret = np.random.default_rng(1).permutation(np.arange(60) % levels)
    people = people_of(secret)
    statistic = ta.Marginals(4, scale=scale)
    check_statistic(statistic, people)
    release = ta.publish(people, statistic)
    assert release.values.size == levels * 220 * 8
    attack = ta.reconstruct(release, people.public)
    assert attack.evidence.values == (1 if levels == 2 else levels)
    assert (attack.guess == secret).all()
    assert (attack.identified == "proved").all()
    risk = ta.score(attack, secret)
    assert risk.accuracy == 1 > risk.baselines[risk.baseline]
    assert risk.exposed_at(0.95, levels - 1) <= (secret == levels - 1).sum()


@pytest.mark.parametrize("releases", first_fast([1, 5]))
def test_noisy_tables_of_categories_know_how_sure_they_are(releases):
    rng = np.random.default_rng(2)
    sure = right = 0
    for seed in range(releases):
        secret = rng.choice(3, size=200, p=[0.5, 0.3, 0.2])
        people = people_of(secret, n=200, d=14, seed=seed)
        release = ta.publish(people, ta.Marginals(3), ta.Gaussian(3.0), rng=seed)
        boxed = ta.reconstruct(release, people.public, "least-squares")
        assert np.allclose(boxed.estimate.sum(axis=1), 1, atol=0.05)  # everybody has exactly one value
        attack = ta.reconstruct(release, people.public)
        assert np.sum(attack.prior) == pytest.approx(1, abs=0.05)
        bold = attack.confidence >= 0.8
        sure, right = sure + bold.sum(), right + (attack.guess == secret)[bold].sum()
    assert sure > 60 * releases
    assert right / sure > 0.8


def test_a_release_of_categories_survives_its_file(tmp_path):
    secret = np.arange(60) % 3
    people = people_of(secret)
    release = ta.publish(people, ta.Marginals(3), ta.Rounding(3))
    again = ta.Release.load(release.save(tmp_path / "r.json"))
    assert again.levels == 3
    one, other = (ta.reconstruct(r, people.public) for r in (release, again))
    assert np.array_equal(one.guess, other.guess)
    outsider = ta.Release.from_values(ta.Marginals(3), release.values, public=people, levels=3)
    assert outsider.values.size == release.values.size
    with pytest.raises(ta.InvalidInput, match="264 numbers"):
        ta.Release.from_values(ta.Marginals(2), np.zeros(10), public=people, levels=11)


def test_releases_about_different_secrets_do_not_mix():
    bits, codes = people_of(np.arange(60) % 2), people_of(np.arange(60) % 3)
    releases = [ta.publish(people, ta.Marginals(2)) for people in (bits, codes)]
    with pytest.raises(ta.InvalidInput, match="about the same secret"):
        ta.reconstruct(releases, bits.public)


@pytest.mark.parametrize("prior", [0.5, (0.2, 0.2, 0.2), (0.5, 0.5), "x", (1.0, 0.0, 0.0)])
def test_a_prior_of_categories_is_one_rate_per_value(prior):
    people = people_of(np.arange(60) % 3)
    with pytest.raises(ta.InvalidInput, match="3 rates between 0 and 1, summing to one"):
        ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, prior=prior)


def test_real_secrets_are_estimated_not_rounded():
    rng = np.random.default_rng(3)
    income = rng.normal(50, 10, size=40)
    people = ta.Dataset.from_arrays(rng.normal(size=(40, 40)), income)
    release = ta.publish(people, Totals())
    attack = ta.reconstruct(release, people.public)
    assert np.allclose(attack.guess, income, atol=1e-4)  # as many equations as people
    assert attack.std.max() < 1e-3
    risk = ta.score(attack, income)
    assert risk.error < 1e-4 < 5 < risk.advantage
    with pytest.raises(ta.InvalidInput, match="real numbers"):
        ta.publish(people, ta.Marginals(2))
    with pytest.raises(ta.InvalidInput, match="prior must be the mean and the standard deviation"):
        ta.reconstruct(release, people.public, prior=0.5)


def test_few_equations_leave_real_secrets_near_the_mean_with_honest_errors():
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(20):
        income = rng.normal(50, 10, size=60)
        people = ta.Dataset.from_arrays(rng.normal(size=(60, 30)), income)
        attack = ta.reconstruct(ta.publish(people, Totals()), people.public)
        inside += (np.abs(attack.estimate - income) < 2 * attack.std).sum()
        # less than the best constant's error, since half of the directions are known
        assert np.abs(attack.estimate - income).mean() < np.abs(income - income.mean()).mean()
    assert 0.90 < inside / 1200 < 0.99


def test_bounds_help_and_are_kept():
    rng = np.random.default_rng(5)
    income = np.where(rng.random(50) < 0.5, 0.0, 1.0) * 10 + 0.001 * rng.random(50)
    people = ta.Dataset.from_arrays(rng.normal(size=(50, 40)), income)
    release = ta.publish(people, Totals())
    free = ta.reconstruct(release, people.public)
    boxed = ta.reconstruct(release, people.public, bounds=(0, 10.001))
    assert boxed.estimate.min() >= 0
    assert boxed.estimate.max() <= 10.001
    assert np.abs(boxed.estimate - income).mean() < 0.5 * np.abs(free.estimate - income).mean()
    for wrong in ((1, 0), "ab", (None, None), (float("inf"), None), (0, float("nan")), 3):
        with pytest.raises(ta.InvalidInput, match="bounds must be two"):
            ta.reconstruct(release, people.public, bounds=wrong)
    bits = people_of(np.arange(60) % 2)
    with pytest.raises(ta.InvalidInput, match="not a real number"):
        ta.reconstruct(ta.publish(bits, ta.Marginals(2)), bits.public, bounds=(0, 1))


def test_the_evidence_gives_an_account_of_itself():
    people = people_of(np.arange(30) % 2, n=30, d=10)
    sets = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    parts = [ta.publish(people, ta.Marginals(3, attributes=some)) for some in (sets[::2], sets[1::2])]
    both = ta.Evidence.together([ta.linearise(part, people.public) for part in parts])
    account = both.account()
    dense = both.grouped.to_dense()
    singular = np.linalg.svd(dense, compute_uv=False)
    assert account.rank == np.linalg.matrix_rank(dense)
    assert account.condition == pytest.approx(singular[0] / singular[account.rank - 1], rel=1e-6)
    for place, add in enumerate(account.adds):
        alone = ta.linearise(parts[1 - place], people.public)
        assert add.rank == account.rank - np.linalg.matrix_rank(alone.operator.to_dense())
    assert account.pinned == both.pinned <= 30
    assert "release 2 adds rank" in str(account)


def test_noise_that_hides_how_people_differ_is_never_solved():
    """One regression with noise of ten times its coefficients' size: nobody is known to within anything."""
    rng = np.random.default_rng(8)
    people = ta.Dataset.from_arrays(rng.normal(size=(60, 5)), rng.normal(50, 10, 60))
    noisy = [ta.publish(people, ta.Estimator("linear", 5), ta.Gaussian(10.0), rng=seed) for seed in range(20)]
    words = [ta.reconstruct(release, people.public).status.word for release in noisy]
    # noise alone looks like a variance about once in 50; six times in 20 has a chance below 1e-6
    assert words.count("uncalibrated") > 14
    # coefficients alone do not show how far people are from the lines, and knowing that helps
    one = ta.publish(people, ta.Estimator("linear", intercept=True))
    assert ta.reconstruct(one, people.public).status.word == "uncalibrated"
    assert ta.reconstruct(one, people.public, prior=(50, 10)).status.settled


def test_the_kinds_of_secret_have_one_record():
    rng = np.random.default_rng(9)
    public = rng.normal(size=(30, 30))
    numbers = ta.Dataset.from_arrays(public, rng.normal(50, 10, 30))
    found = ta.reconstruct(ta.publish(numbers, ta.Estimator("linear")), numbers.public)
    assert isinstance(found, ta.Reconstruction)
    with pytest.raises(TypeError, match="ask for std"):
        _ = found.confidence
    assert found.std.shape == (30,)
    assert (found.identified == "linear").all()
    mean, spread = found.prior
    assert abs(mean - 50) < 10
    assert 5 < spread < 20
    assert "known to within" in repr(found)
