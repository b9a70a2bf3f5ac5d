"""The danger gauge against the attack that it predicts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.operators.compose import Partition
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.privacy import bounds
from tellall.privacy.bounds import accuracy_limit as limits
from tellall.privacy.bounds.prediction import group_accuracy, predict


def accuracy_limit(operator, protections, rate=0.5, gain=1.0):
    """The limit of one release about people who are all told apart."""
    found = limits.separation(operator, protections, gain=gain)
    return limits.accuracy_limit([found], np.ones(operator.shape[1]), rate)


def plain_accuracy(operator, secret, std, draws, rng):
    """The accuracy of least squares without box or prior, over draws of white noise."""
    factor = cho_factor(np.asarray(operator.gram(), dtype=float))
    exact = np.asarray(operator @ secret.astype(float), dtype=float)
    right = []
    for _ in range(draws):
        noisy = exact + rng.normal(0, std, exact.size)
        estimate = cho_solve(factor, np.asarray(operator.rmatvec(noisy), dtype=float))
        right.append(((estimate >= 0.5) == (secret == 1)).mean())
    return float(np.mean(right))


def check_xor(n, d, shares):
    rng = np.random.default_rng(11)
    signs = rng.choice([-1.0, 1.0], (d, n))
    operator = Moments(signs, 2)
    secret = rng.integers(0, 2, n)
    law = ta.Gaussian(shares[0] * np.sqrt(n))  # the statistic's own gauge is that of the operator
    planned = bounds.gauge(ta.Predicates("xor", 3), (signs.T > 0).astype(int), law)
    assert planned.accuracy == pytest.approx(bounds.predict(operator, law.std).accuracy, abs=1e-6)
    for share in shares:
        std = share * np.sqrt(n)
        predicted = bounds.predict(operator, std)
        closed, limit = bounds.xor_accuracy(operator.shape[0], n, std)
        seen = plain_accuracy(operator, secret, std, 6, rng)
        assert predicted.accuracy == pytest.approx(seen, abs=0.02)
        assert closed == pytest.approx(seen, abs=0.02)
        assert predicted.accuracy <= predicted.with_prior + 1e-9
        assert predicted.with_prior <= limit + 1e-6


def check_tables(n, d, stds):
    people = random_people(n, d, seed=12)
    statistic = ta.Marginals(3)
    rng = np.random.default_rng(13)
    for std in stds:
        gauge = bounds.gauge(statistic, people.public, ta.Gaussian(std))
        evidence = ta.linearise(ta.publish(people, statistic), people.public)
        seen = plain_accuracy(evidence.operator, people.secret, std, 6, rng)
        assert gauge.accuracy == pytest.approx(seen, abs=0.02), std
        release = ta.publish(people, statistic, ta.Gaussian(std), rng=14)
        attack = ta.reconstruct(release, people.public, rng=0)
        found = float((attack.guess == people.secret).mean())
        assert found >= seen - 0.02  # box and prior only help
        assert found <= gauge.limit + 5 * np.sqrt(gauge.limit * (1 - gauge.limit) / n) + 1e-9


def test_predicted_accuracy_of_xor_statistics():
    """n = 1200, m = 2n: within two points of least squares (seeds fixed)."""
    check_xor(1200, 70, (0.25, 0.5, 1.0))


def test_predicted_accuracy_of_three_way_tables():
    check_tables(1200, 70, (5.0, 16.0))


@pytest.mark.slow
def test_predicted_accuracy_over_a_grid_of_noise():
    check_xor(2000, 90, (0.1, 0.2, 0.3, 0.4, 0.7, 1.5, 2.5))
    check_tables(2000, 90, (1.0, 3.0, 9.0, 12.0, 30.0, 60.0))
    check_tables(2000, 64, (1.0, 3.0, 9.0, 30.0))  # close to the rank cap


def test_large_releases_are_estimated_within_the_stated_error():
    rng = np.random.default_rng(15)
    operator = Moments(rng.choice([-1.0, 1.0], (50, 500)), 2)
    for std in (5.0, 12.0):
        exact = bounds.predict(operator, std)
        estimate = bounds.predict(operator, std, gram_limit=10, rng=1)
        assert estimate.method == "trace"
        assert 0 < estimate.error < 0.03
        assert abs(estimate.accuracy - exact.accuracy) <= estimate.error
        assert abs(estimate.with_prior - exact.with_prior) <= estimate.error
    few = Moments(rng.choice([-1.0, 1.0], (20, 500)), 2)  # 190 equations: only the prior helps
    exact, estimate = bounds.predict(few, 2.0), bounds.predict(few, 2.0, gram_limit=10, rng=1)
    assert (exact.method, exact.rank) == ("ridge", 190)
    assert estimate.accuracy == estimate.with_prior
    assert abs(estimate.with_prior - exact.with_prior) <= max(estimate.error, 0.01)


def test_gauge_of_tables_counts_equations_and_caps_the_rank():
    people = random_people(300, 6, seed=1)
    gauge = bounds.gauge(ta.Marginals(3), people, ta.Gaussian(1.0))
    assert gauge.people == 300
    assert gauge.groups == len(people.patterns)
    assert gauge.equations == ta.Marginals(3).size(people.public)
    assert gauge.rank_cap == 1 + 6 + 15
    assert gauge.rank == gauge.rank_cap
    assert gauge.method == "ridge"
    assert any("not have full rank" in note for note in gauge.notes)
    assert "no decoder beats" in str(gauge)
    assert gauge.as_json()["rank_cap"] == 22


def test_rank_caps_are_reached_by_random_people_of_several_levels():
    people = random_people(400, 4, seed=2, levels=3)
    for statistic in (
        ta.Marginals(3),
        ta.Marginals(2),
        ta.Marginals(3, attributes=[("x1", "x2"), ("x2", "x3")])
        if "x1" in people.public.names
        else ta.Marginals(3, attributes=[(0, 1), (1, 2)]),
    ):
        gauge = bounds.gauge(statistic, people, ta.Gaussian(1.0))
        assert gauge.rank == gauge.rank_cap


def test_equal_people_are_predicted_by_their_group():
    """Groups of several people: the prediction against least squares on counts, rounded at half the group."""
    people = random_people(600, 7, seed=3)  # 128 patterns
    statistic, noise = ta.Marginals(4), ta.Gaussian(2.0)
    gauge = bounds.gauge(statistic, people, noise)
    assert gauge.groups < 128.5
    rng = np.random.default_rng(4)
    right = []
    for seed in range(20):
        secret = rng.integers(0, 2, people.n)
        drawn = ta.Dataset.from_arrays(np.asarray(people.public.codes).T, secret)
        attack = ta.reconstruct(ta.publish(drawn, statistic, noise, rng=seed), drawn.public, prior=0.5, rng=0)
        right.append((attack.guess == secret).mean())
    assert gauge.with_prior == pytest.approx(np.mean(right), abs=0.02)


def test_exact_values_and_hopeless_noise_are_the_two_ends():
    people = random_people(40, 12, seed=5)
    exact = bounds.gauge(ta.Marginals(3), people)
    assert exact.accuracy > 0.999
    assert exact.limit == 1.0
    assert any("exact" in note for note in exact.notes)
    lost = bounds.gauge(ta.Marginals(3), people, ta.Gaussian(1e6))
    assert lost.limit == pytest.approx(0.5, abs=1e-3)
    assert lost.accuracy == pytest.approx(0.5, abs=1e-3)
    rare = bounds.gauge(ta.Marginals(3), people, ta.Gaussian(1e6), rate=0.1)
    assert rare.with_prior == pytest.approx(0.9, abs=1e-3)
    assert rare.limit == pytest.approx(0.9, abs=1e-3)


def test_more_noise_is_never_more_danger():
    people = random_people(80, 14, seed=6)
    gauges = [bounds.gauge(ta.Marginals(3), people, ta.Gaussian(std)) for std in (0.5, 1, 2, 4, 8, 16)]
    for name in ("accuracy", "with_prior", "limit"):
        values = [getattr(gauge, name) for gauge in gauges]
        assert values == sorted(values, reverse=True)
        assert values[-1] >= 0.5
    assert all(gauge.with_prior <= gauge.limit + 1e-9 for gauge in gauges)


def test_fractions_are_counts_in_other_units():
    people = random_people(50, 10, seed=7)
    counts = bounds.gauge(ta.Marginals(3), people, ta.Gaussian(2.0))
    fractions = bounds.gauge(ta.Marginals(3, scale="fractions"), people, ta.Gaussian(2.0 / 50))
    assert fractions.accuracy == pytest.approx(counts.accuracy, rel=1e-9)
    assert fractions.limit == pytest.approx(counts.limit, rel=1e-6)  # the tables are in single precision


def test_what_comes_after_noise_can_only_lose_and_what_comes_first_leaves_no_limit():
    operator = Dense(np.ones((3, 2)))
    noise = ta.Gaussian(1.0)
    limit = accuracy_limit(operator, (noise,))
    assert limit == pytest.approx(float(ndtr(np.sqrt(3) / 2)))
    assert accuracy_limit(operator, (noise, ta.Rounding(5))) == limit
    assert accuracy_limit(operator, (ta.Rounding(5), noise)) is None
    assert accuracy_limit(operator, (noise, noise)) == pytest.approx(float(ndtr(np.sqrt(3 / 8))))
    assert accuracy_limit(operator, (ta.Gaussian(0.0), noise)) == limit  # no noise is no protection
    assert accuracy_limit(operator, (ta.Laplace(1.0), noise)) == limit
    assert accuracy_limit(operator, (ta.Suppression(3), noise)) is None
    assert accuracy_limit(operator, (noise,), gain=np.array([0.0, 1.0, 1.0])) == 1.0  # a row without noise
    assert accuracy_limit(operator, ()) == 1.0
    people = random_people(40, 8, seed=8)
    rounded = bounds.gauge(ta.Marginals(3), people, [ta.Rounding(5), ta.Suppression(10)])
    assert rounded.limit is None
    assert "not known" in str(rounded)
    assert any("left out of the prediction: Suppression" in note for note in rounded.notes)


def test_mechanisms_are_predicted_as_they_would_be_published():
    people = random_people(40, 8, seed=8)
    sulq = bounds.gauge(ta.Marginals(3), people, ta.SuLQ(1.0, 1e-6))
    law = ta.publish(people, ta.Marginals(3), ta.SuLQ(1.0, 1e-6)).noise
    assert sulq.std == law.std
    normal = bounds.gauge(ta.Marginals(3), people, law)
    assert (sulq.accuracy, sulq.limit) == (normal.accuracy, normal.limit)
    assert sulq.promised == ta.guarantee_of(ta.SuLQ(1.0, 1e-6), ta.Marginals(3), people.public)
    assert "promised: ε = 1, δ = 1e-06" in str(sulq)
    assert not any("left out" in note for note in sulq.notes)
    assert sulq.as_json()["promised"]["epsilon"] == 1.0
    for protect in (ta.WalshNoise(std=3.0), ta.Combined(), ta.Swapping(0.5), ta.Subsample(0.5)):
        assert bounds.gauge(ta.Marginals(3), people, protect).std > 0.9
    assert bounds.gauge(ta.Marginals(3), people, ta.Subsample(0.5)).promised is None
    assert bounds.gauge(ta.Marginals(3), people).promised is None


def test_the_limit_is_the_best_test_between_two_answers():
    """One person: the likelihood-ratio test attains it for normal noise, and stays below it for Laplace.

    200,000 draws: five standard errors, false alarm below 1e-6.
    """
    rng = np.random.default_rng(16)
    column, draws = np.array([1.0, 1.0, 1.0, 2.0]), 200_000
    for rate in (0.5, 0.2):
        secret = rng.random(draws) < rate
        odds = np.log(rate / (1 - rate))
        for noise in (ta.Gaussian(2.0), ta.Laplace(1.5)):
            seen = secret[:, None] * column + noise.sample((draws, 4), rng)
            score = (noise.logpdf(seen - column) - noise.logpdf(seen)).sum(axis=1) + odds
            best = ((score > 0) == secret).mean()
            limit = accuracy_limit(Dense(column[:, None]), (noise,), rate=rate)
            slack = 5 * np.sqrt(0.25 / draws)
            assert best <= limit + slack
            if isinstance(noise, ta.Gaussian):
                assert best >= limit - slack


@given(st.integers(1, 8), st.floats(0.05, 5), st.floats(0.05, 0.95))
def test_group_accuracy_is_at_least_the_majority_and_falls_with_noise(people, sd, rate):
    size = np.array([float(people)])
    here = group_accuracy(size, np.array([sd]), rate)
    assert here >= max(rate, 1 - rate) - 1e-9
    assert group_accuracy(size, np.array([2 * sd]), rate) <= here + 1e-9
    assert here <= group_accuracy(size, np.array([0.0]), rate) + 1e-9
    if people == 1:
        logit = np.log((1 - rate) / rate)
        closed = (1 - rate) * ndtr(0.5 / sd + sd * logit) + rate * ndtr(0.5 / sd - sd * logit)
        assert here == pytest.approx(closed, rel=1e-6)
        plain = group_accuracy(size, np.array([sd]), rate, prior=False)
        assert plain == pytest.approx(ndtr(0.5 / sd))  # rounding at 1/2 does not care about the rate
    assert group_accuracy(size, np.array([sd]), rate, prior=False) <= here + 1e-9


def test_statistics_that_have_no_fixed_equations_are_refused():
    people = random_people(30, 3, seed=9)

    class Shifting(ta.Marginals):
        def equations(self, public, values):
            found = super().equations(public, values)
            return type(found)(
                Dense(found.operator.to_dense() * (1 + values[:, None])), found.target, found.alike
            )

    with pytest.raises(ta.InvalidInput, match=r"^statistic must be one whose equations"):
        bounds.gauge(Shifting(2), people)
    with pytest.raises(ta.CannotLinearise):
        bounds.gauge(ta.Means(), people)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bounds.gauge("tables", np.eye(3)), "statistic"),
        (lambda: bounds.gauge(ta.Marginals(2), np.eye(3), protect=3), "protect"),
        (lambda: bounds.gauge(ta.Marginals(2), np.eye(3), rate=0.0), "rate"),
        (lambda: bounds.predict(Dense(np.eye(3)), 0.0), "spread"),
        (lambda: bounds.predict(Dense(np.eye(3)), 1.0, size=[1.0, 1.0]), "size"),
        (lambda: bounds.predict(Dense(np.eye(3)), 1.0, probes=3), "probes"),
        (lambda: bounds.xor_accuracy(10, 5, -1.0), "std"),
    ],
)
def test_bad_input_names_the_parameter(call, name):
    with pytest.raises(ta.InvalidInput, match=f"^{name} must be"):
        call()


@given(st.integers(0, 10**6), st.floats(0.5, 9), st.floats(0.5, 9))
def test_precisions_add(seed, first, second):
    """A statistic published twice is the statistic once, its noise smaller."""
    people = random_people(25, 8, seed=seed)
    both = bounds.gauge_together(
        [(ta.Marginals(3), ta.Gaussian(first)), (ta.Marginals(3), ta.Gaussian(second))], people.public
    )
    std = 1 / np.sqrt(1 / first**2 + 1 / second**2)
    once = bounds.gauge(ta.Marginals(3), people.public, ta.Gaussian(std))
    assert both.with_prior == pytest.approx(once.with_prior, abs=1e-6)
    assert both.limit == pytest.approx(once.limit, abs=1e-9)
    assert (both.rank_cap, both.rank, both.equations) == (once.rank_cap, once.rank, 2 * once.equations)


def test_one_release_together_is_that_release():
    people = random_people(40, 9, seed=3)
    for protect in (None, ta.Gaussian(2.0), ta.Laplace(2.0), [ta.Rounding(5), ta.Gaussian(1.0)]):
        alone = bounds.gauge(ta.Marginals(3), people.public, protect)
        assert bounds.gauge_together([(ta.Marginals(3), protect)], people.public).limit == alone.limit
        assert bounds.gauge_together([(ta.Marginals(3), protect)], people.public).accuracy == alone.accuracy


def test_the_joint_rank_counts_shared_moments_once():
    people = random_people(300, 6, seed=4)
    chosen = ta.Marginals(4, attributes=[(0, 1, 2), (1, 2, 3)])
    for releases, rank in (
        ([ta.Marginals(2), ta.Marginals(3)], 1 + 6 + 15),
        ([ta.Marginals(3), chosen], 1 + 6 + 15 + 2),
        ([ta.Marginals(2), chosen], 1 + 6 + 5 + 2),
        ([chosen, chosen], 12),
        ([ta.Marginals(3), ta.Predicates("xor", 3)], 1 + 6 + 15),
        ([ta.Marginals(2), ta.Predicates("xor", 3)], 1 + 6 + 15),
        ([ta.Predicates("xor", 3)], 15),
        ([ta.Predicates("xor", 3), ta.Predicates("or", 3)], 1 + 6 + 15),
        ([ta.Marginals(2), ta.SubsetCounts(np.eye(300, dtype=bool)[:5])], 1 + 6 + 5),
    ):
        found = bounds.gauge_together([(one, None) for one in releases], people.public)
        assert found.rank_cap == min(rank, found.groups)
        assert found.rank <= found.rank_cap


def test_the_joint_prediction_is_what_least_squares_gets():
    people = random_people(300, 30, seed=5)
    rng = np.random.default_rng(6)
    plan = [(ta.Marginals(3), 9.0), (ta.Predicates("xor", 3), 6.0)]
    gauge = bounds.gauge_together([(one, ta.Gaussian(std)) for one, std in plan], people.public)
    evidence = [ta.linearise(ta.publish(people, one), people.public) for one, _ in plan]
    matrix = np.vstack(
        [each.operator.to_dense() / std for each, (_, std) in zip(evidence, plan, strict=True)]
    )
    seen = plain_accuracy(Dense(matrix), people.secret, 1.0, 40, rng)
    assert gauge.accuracy == pytest.approx(seen, abs=0.02)
    assert seen <= gauge.limit


def test_noise_of_two_laws_has_a_limit_and_rounding_first_has_none():
    people = random_people(30, 6, seed=7)
    normal, other = (ta.Marginals(2), ta.Gaussian(4.0)), (ta.Marginals(2), ta.Laplace(4.0))
    both = bounds.gauge_together([normal, other], people.public).limit
    assert both >= max(bounds.gauge(*one[:1], people.public, one[1]).limit for one in (normal, other)) - 1e-9
    assert bounds.gauge_together([normal, (ta.Marginals(2), ta.Rounding(3))], people.public).limit is None
    assert bounds.gauge_together([normal, (ta.Marginals(2), None)], people.public).limit == 1.0
    with pytest.raises(ta.InvalidInput, match=r"^releases must be"):
        bounds.gauge_together([], people.public)
    with pytest.raises(ta.InvalidInput, match=r"^releases must be"):
        bounds.gauge_together([ta.Marginals(2)], people.public)


def test_the_shorter_side_of_the_equations_predicts_the_same():
    rng = np.random.default_rng(0)
    codes = np.stack([20 * table + rng.integers(0, 20, 120) for table in range(2)])
    operator = Partition(codes, 40)
    spread, size = np.full(40, 0.7), rng.integers(1, 4, 120).astype(float)
    whole = predict(operator, spread, size=size, rate=0.3)
    found = predict(operator, spread, size=size, rate=0.3, plain=False)
    assert found.rank is None
    assert found.with_prior == pytest.approx(whole.with_prior, abs=1e-9)
