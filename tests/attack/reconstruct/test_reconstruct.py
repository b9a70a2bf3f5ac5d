from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from tests.conftest import first_fast, random_people

import tellall as ta
from tellall.attack.reconstruct import decoders as module
from tellall.attack.secret import Bit
from tellall.linalg.solvers.least_squares import LeastSquares


@pytest.mark.parametrize(("n", "d"), [(60, 17), (200, 29), (500, 46)])
def test_exact_tables_of_random_people_give_every_bit(n, d):
    people = random_people(n, d, seed=n)  # C(d, 2) ≥ 2n
    assert d * (d - 1) // 2 >= 2 * n
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert np.array_equal(attack.guess, people.secret)
    assert attack.status.settled
    assert (attack.identified != "no").all()
    assert (attack.confidence > 0.999).all()


def test_noisy_tables_of_two_thousand_people_give_the_bits():
    n, d = 2000, 95
    people = random_people(n, d, seed=1)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(0.1 * n**0.5), rng=2)
    attack = ta.reconstruct(release, people.public)
    assert (attack.guess == people.secret).mean() >= 0.999


def test_products_only_find_the_same_bits(monkeypatch):
    people = random_people(200, 30, seed=3)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=4)
    usual = ta.reconstruct(release, people.public)
    monkeypatch.setattr(module, "LeastSquares", lambda: LeastSquares(gram_limit=0, probes=60))
    large = ta.reconstruct(release, people.public, rng=0)
    assert np.array_equal(large.guess, usual.guess)
    assert np.abs(large.estimate - usual.estimate).max() < 1e-2
    assert np.abs(large.confidence - usual.confidence).max() < 0.1


def people_with_twins(seed: int, n: int = 12) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 2, (n, 2)), rng.integers(0, 3, n), np.arange(n) % 2])
    secret = rng.integers(0, 2, n)
    secret[:2] = (0, 1)
    return ta.Dataset.from_arrays(codes, secret)


def consistent(people: ta.Dataset, release: ta.Release) -> np.ndarray:
    """Every secret that could have been published as this release."""
    bound = release.noise.bound
    out = []
    for bits in product((0, 1), repeat=people.n):
        s = np.array(bits, dtype=np.int8)
        other = ta.Dataset(people.public, s)
        values = ta.publish(other, release.statistic).values
        again = ta.publish(other, release.statistic, release.protections).values
        shown = ~np.isnan(release.values)
        if not np.array_equal(shown, ~np.isnan(again)):
            continue
        if (np.abs(values - release.values)[shown] <= bound + 1e-9).all():
            out.append(s)
    return np.array(out)


@pytest.mark.parametrize(
    "protect",
    [
        None,
        ta.Rounding(3),
        ta.Suppression(2),
        ta.Suppression(4, complementary=True),
        [ta.Suppression(3), ta.Rounding(3)],
        [ta.Rounding(3), ta.Suppression(4)],
    ],
    ids=repr,
)
@pytest.mark.parametrize(("seed", "n"), first_fast([(0, 8), *((seed, 10) for seed in range(6))]))
def test_what_is_called_proved_holds_in_every_possible_secret(seed, n, protect):
    people = people_with_twins(seed, n)
    release = ta.publish(people, ta.Marginals(3), protect)
    attack = ta.reconstruct(release, people.public)
    every = consistent(people, release)
    same = (every == every[0]).all(axis=0)
    proved = attack.identified == "proved"
    assert (same[proved]).all()
    assert np.array_equal(attack.guess[proved], every[0][proved])
    assert (attack.confidence[proved] == 1).all()


def test_people_in_a_mixed_group_are_not_identified_and_share_an_estimate():
    public = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]])
    people = ta.Dataset.from_arrays(public, [0, 1, 1, 0, 1])
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert attack.identified.tolist() == ["no", "no", "proved", "proved", "proved"]
    assert attack.estimate[0] == attack.estimate[1] == 0.5
    assert attack.confidence[0] == 0.5


def test_confidence_is_the_formula_for_people_alone_in_their_row():
    n = 40
    people = random_people(n, 14, seed=5)
    assert len(people.patterns) == n
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1.5), rng=6)
    attack = ta.reconstruct(release, people.public, "least-squares", prior=0.4)
    evidence = ta.linearise(release, people.public)
    A, w = evidence.operator.to_dense().astype(np.float64), 1 / 1.5**2
    pi, v = 0.4, 0.24
    C = np.linalg.inv(w * A.T @ A + np.eye(n) / v)
    x = C @ (w * A.T @ evidence.target + pi / v)
    c = np.diag(C)
    t = 1 / (1 / c - 1 / v)
    r = t * (x / c - pi / v)
    probability = expit(logit(pi) + (2 * r - 1) / (2 * t))
    wanted = np.where(attack.guess == 1, probability, 1 - probability)
    assert np.allclose(attack.confidence, np.maximum(wanted, 0.5), atol=1e-9)


def test_confidence_of_twins_is_bayes_rule_for_their_count():
    """Two twins and a noisy count of them: the posterior can be written down."""
    public = np.array([[0], [0], [1], [1], [1]])
    people = ta.Dataset.from_arrays(public, [1, 1, 0, 1, 0])
    values = np.array([0.4, 1.7, 1.9, 1.2])  # no and yes of each value of the column
    noise, pi = ta.Gaussian(0.7), 0.3
    release = ta.Release.from_values(ta.Marginals(2), values, public=people.public, noise=noise)
    attack = ta.reconstruct(release, people.public, prior=pi)
    counts = np.arange(3)
    weight = np.array([(1 - pi) ** 2, 2 * pi * (1 - pi), pi**2])
    weight *= np.exp(-((2 - counts - 0.4) ** 2 + (counts - 1.7) ** 2) / (2 * 0.7**2))
    chance = (weight @ counts) / weight.sum() / 2
    assert attack.guess[0] == 1
    assert attack.confidence[0] == pytest.approx(chance, abs=1e-9)


@given(st.integers(0, 10**6))
def test_the_answer_does_not_depend_on_the_order_of_people(seed):
    rng = np.random.default_rng(seed)
    people = people_with_twins(seed % 1000)
    order = rng.permutation(people.n)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(0.8), rng=seed)
    first = ta.reconstruct(release, people.public, "least-squares")
    second = ta.reconstruct(release, people.public.take(order), "least-squares")
    assert np.allclose(first.estimate[order], second.estimate, atol=1e-7)
    assert np.allclose(first.confidence[order], second.confidence, atol=1e-7)


def test_releases_are_solved_together():
    people = random_people(100, 15, seed=7)
    sets = [(i, j) for i in range(15) for j in range(i + 1, 15)]
    parts = [
        ta.publish(people, ta.Marginals(3, attributes=some), noise, rng=8)
        for some, noise in ((sets[0::4], ta.Gaussian(0.2)), (sets[1::4], ta.Laplace(0.2)))
    ]
    alone = [(ta.reconstruct(part, people.public).guess == people.secret).mean() for part in parts]
    together = ta.reconstruct(parts, people.public)
    assert together.evidence.target.size == sum(part.values.size for part in parts)
    assert together.evidence.noise == (parts[0].noise, parts[1].noise)
    assert max(alone) < 1 == (together.guess == people.secret).mean()


def test_the_rate_is_read_off_the_release(nhanes):
    release = ta.publish(nhanes, ta.Marginals(3), ta.Gaussian(2), rng=0)
    evidence = ta.linearise(release, nhanes.public)
    everybody, one = np.ones(nhanes.n), np.zeros(nhanes.n, dtype=int)
    rate = Bit().estimate_rates(evidence.operator, evidence.target, evidence.std, everybody, one)
    assert rate == pytest.approx(nhanes.secret.mean(), abs=0.005)


def test_a_release_that_says_nothing_leaves_the_prior():
    people = random_people(100, 6, seed=9)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), ta.Gaussian(1e6), rng=0), people.public)
    assert (attack.guess == 0).all()
    assert np.allclose(attack.confidence, 2 / 3, atol=1e-3)
    everything_hidden = ta.publish(people, ta.Marginals(3), ta.Suppression(1000))
    attack = ta.reconstruct(everything_hidden, people.public)
    assert attack.evidence.target.size == 0
    assert (attack.guess == 0).all()


def test_values_that_contradict_their_declared_noise_are_called_so():
    people = random_people(100, 20, seed=10)
    rounded = ta.publish(people, ta.Marginals(3), ta.Gaussian(5), rng=0).values
    claimed = ta.Release.from_values(ta.Marginals(3), rounded, public=people.public)
    attack = ta.reconstruct(claimed, people.public)
    assert attack.status.word == "contradictory"
    assert "declare the noise" in str(attack.status)
    impossible = ta.Release.from_values(
        ta.Marginals(2, attributes=[(0,)]), [9, 9, 9, 9], public=people.public
    )
    assert ta.reconstruct(impossible, people.public).status.word == "contradictory"


def test_same_seed_same_answer():
    people = random_people(80, 12, seed=11)
    releases = [ta.publish(people, ta.Marginals(3), ta.Laplace(2), rng=5) for _ in range(2)]
    assert np.array_equal(releases[0].values, releases[1].values)
    attacks = [ta.reconstruct(release, people.public, rng=0) for release in releases]
    assert np.array_equal(attacks[0].estimate, attacks[1].estimate)


def test_an_outsider_needs_only_values_and_public_columns(fair):
    fair = fair.take(np.arange(1500))
    published = ta.publish(fair, ta.Marginals(4), ta.Rounding(5)).values
    release = ta.Release.from_values(ta.Marginals(4), published, public=fair.public, noise=ta.Rounding(5))
    attack = ta.reconstruct(release, fair.public)
    inside = ta.reconstruct(ta.publish(fair, ta.Marginals(4), ta.Rounding(5)), fair.public)
    assert np.array_equal(attack.guess, inside.guess)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r, p: ta.reconstruct(r, p, decoder="magic"), "decoder must be one of"),
        (lambda r, p: ta.reconstruct([], p), "releases must be"),
        (lambda r, p: ta.reconstruct("r", p), "releases must be"),
        (lambda r, p: ta.reconstruct(None, p), "releases must be"),
        (lambda r, p: ta.linearise(None, p), "release must be a Release"),
        (lambda r, p: ta.Release.from_values(r.statistic, ["a"], public=p), "values must be numbers"),
        (lambda r, p: ta.Release.from_values(ta.Marginals, [1.0], public=p), "statistic must be"),
        (lambda r, p: ta.reconstruct(r, p, prior=1.0), "prior must be a rate strictly between 0 and 1"),
        (lambda r, p: ta.reconstruct(r, p, prior="half"), "prior must be"),
        (lambda r, p: ta.reconstruct(r, p.take(np.arange(30) % 20)), "the people the release was made for"),
        (lambda r, p: ta.linearise(r, [[0, 1], [1, 0]]), "the columns of the release"),
        (lambda r, p: ta.Release.from_values(r.statistic, [1.0], public=p), "values must be"),
        (
            lambda r, p: ta.Release.from_values(r.statistic, np.full_like(r.values, np.inf), public=p),
            "finite, or NaN where suppressed",
        ),
        (lambda r, p: ta.Release.from_values(r.statistic, r.values, public=p, noise=2.0), "noise must be"),
    ],
)
def test_bad_calls_get_one_clear_sentence(call, says):
    people = random_people(20, 5, seed=12)
    release = ta.publish(people, ta.Marginals(3))
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        call(release, people.public)
    assert "\n" not in str(caught.value)


def test_the_text_of_an_attack_names_nobody():
    people = random_people(120, 6, seed=13)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert "120 people" in repr(attack)
    assert len(repr(attack)) < 200


@pytest.mark.parametrize(("n", "d"), first_fast([(90, 5), (200, 6)]))
def test_noise_with_suppression_is_called_uncalibrated_where_the_choice_of_cells_is_ignored(n, d):
    people = random_people(n, d, seed=14, levels=3)
    complementary = ta.Suppression(10, complementary=True)
    for protect in ([ta.Gaussian(5), ta.Suppression(10)], [ta.Suppression(10), ta.Laplace(5)]):
        release = ta.publish(people, ta.Marginals(3), protect, rng=0)
        assert ta.reconstruct(release, people.public, "least-squares").status.word == "uncalibrated"
        assert ta.reconstruct(release, people.public).status.word == "trusted"
    for protect in ([ta.Gaussian(5), complementary], [ta.Gaussian(5), ta.Suppression(10), ta.Gaussian(1)]):
        release = ta.publish(people, ta.Marginals(3), protect, rng=0)
        assert ta.reconstruct(release, people.public).status.word == "uncalibrated"
    bounded = ta.publish(people, ta.Marginals(3), [ta.Suppression(10), ta.Rounding(5)])
    assert ta.reconstruct(bounded, people.public, "least-squares").status.word == "solved"
