"""Risk of a promise: advantage, true positives at false positives, and beliefs, from any profile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import tellall as ta
from tellall import InvalidInput, privacy
from tellall.protections.guarantee import REPLACED, Guarantee, together
from tellall.protections.profile import PrivacyProfile
from tellall.protections.promises import promise

RATES = np.array([0.0, 1e-9, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0])


def laplace(ratio: float) -> PrivacyProfile:
    return PrivacyProfile(
        curve=lambda eps: privacy.laplace_delta(eps, ratio, 1.0),
        mechanism="one number with Laplace noise",
        pure_epsilon=ratio,
    )


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0, 10.0])
def test_normal_noise_is_gaussian_privacy(mu: float) -> None:
    """tpr = Φ(Φ⁻¹(fpr) + μ), the definition of Gaussian privacy."""
    profile = promise(mu=mu)
    np.testing.assert_allclose(profile.tpr(RATES), ndtr(ndtri(RATES) + mu), rtol=1e-9, atol=1e-12)
    assert profile.advantage() == pytest.approx(2 * ndtr(mu / 2) - 1, rel=1e-12)
    assert profile.posterior(0.5) == pytest.approx(ndtr(mu / 2), rel=1e-12)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
def test_laplace_noise_has_the_rates_of_its_best_thresholds(ratio: float) -> None:
    """The likelihood ratio grows with the output, so every best attack is a threshold on it."""
    at = np.linspace(-12.0, 12.0 + ratio, 4001)

    def above(centre: float) -> np.ndarray:
        away = at - centre
        return np.where(away > 0, 0.5 * np.exp(-np.abs(away)), 1.0 - 0.5 * np.exp(-np.abs(away)))

    np.testing.assert_allclose(laplace(ratio).tpr(above(0.0)), above(ratio), atol=1e-10)
    assert laplace(ratio).advantage() == pytest.approx(1 - np.exp(-ratio / 2), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-5), (4.0, 1e-3), (0.0, 0.2), (0.0, 0.0)])
def test_one_known_pair_has_the_rates_of_its_definition(epsilon: float, delta: float) -> None:
    profile = promise(epsilon=epsilon, delta=delta)
    most = np.minimum(np.exp(epsilon) * RATES + delta, 1 - np.exp(-epsilon) * (1 - delta - RATES))
    np.testing.assert_allclose(profile.tpr(RATES), np.minimum(most, 1.0), atol=1e-12)
    assert profile.advantage() == pytest.approx(np.tanh(epsilon / 2) + 2 * delta / (1 + np.exp(epsilon)))


def test_a_pure_promise_multiplies_odds_by_its_factor() -> None:
    prior = np.array([0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
    odds = np.e * prior / (1 - prior + np.e * prior)
    pure = promise(epsilon=1.0)
    np.testing.assert_allclose(pure.posterior(prior), odds, rtol=1e-12)
    np.testing.assert_allclose(pure.posterior(prior, 0.0), odds, rtol=1e-12)
    np.testing.assert_allclose(laplace(1.0).posterior(prior, 0.0), odds, rtol=1e-12)
    assert (laplace(1.0).posterior(prior)[1:-1] < odds[1:-1]).all()
    # without a pure ε some rare release gives everything away
    assert promise(mu=1.0).posterior(0.1, 0.0) == 1.0
    assert promise(mu=1.0).posterior(0.1, 0.01) == pytest.approx(0.5065, abs=5e-5)


def test_no_information_leaves_every_belief_as_it_was() -> None:
    nothing = promise(epsilon=0.0)
    np.testing.assert_allclose(nothing.tpr(RATES), RATES, atol=1e-12)
    assert nothing.posterior([0.0, 0.3, 1.0]).tolist() == [0.0, 0.3, 1.0]
    everything = PrivacyProfile(curve=np.ones_like, mechanism="the data")
    assert everything.tpr([0.0, 0.5]).tolist() == [1.0, 1.0]
    assert everything.posterior([0.0, 0.3]).tolist() == [0.0, 1.0]


def test_numbers_of_other_tools() -> None:
    """Stored from riskcal 1.5.1 on the privacy loss distributions of dp-accounting 0.6.0 (interval 1e-5)."""
    rates = [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9]
    tenth = [0.001105171, 0.011051709, 0.055258546, 0.110517092, 0.331551275, 0.547581291, 0.909516258]
    one = [0.002718282, 0.027182818, 0.135914091, 0.271828183, 0.693433799, 0.816060279, 0.963212056]
    four = [0.05459815, 0.542109027, 0.908421806, 0.954210903, 0.984736968, 0.990842181, 0.998168436]
    kept = [(0.1, 0.048770575, tenth), (1.0, 0.39346934, one), (4.0, 0.864664717, four)]
    for ratio, advantage, tpr in kept:
        np.testing.assert_allclose(laplace(ratio).tpr(rates), tpr, atol=1e-6)
        assert laplace(ratio).advantage() == pytest.approx(advantage, abs=1e-6)


def test_other_tools_agree_where_they_are_installed() -> None:
    conversions = pytest.importorskip("riskcal.analysis.conversions", reason="riskcal is not installed")
    losses = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rates = RATES[2:-2]
    for mu in (0.1, 1.0, 3.0):
        known = promise(mu=mu)
        missed = conversions.get_beta_from_gdp(mu, rates)
        np.testing.assert_allclose(known.tpr(rates), 1 - missed, atol=1e-6)
        assert known.advantage() == pytest.approx(conversions.get_advantage_from_gdp(mu), abs=1e-6)
        error = conversions.get_bayes_risk_from_gdp(mu, 0.5)
        assert known.posterior(0.5) == pytest.approx(1 - error, abs=1e-6)
    for ratio in (0.1, 1.0, 4.0):
        loss = losses.from_laplace_mechanism(1 / ratio, value_discretization_interval=1e-4)
        missed = conversions.get_beta_from_pld(loss, alpha=rates)
        np.testing.assert_allclose(laplace(ratio).tpr(rates), 1 - missed, atol=1e-6)
        assert laplace(ratio).advantage() == pytest.approx(loss.get_delta_for_epsilon(0.0), abs=1e-6)


def test_concentrated_privacy_lies_above_normal_noise_and_below_one() -> None:
    """Normal noise with μ² = 2ρ is ρ-concentrated, so the promise of ρ covers it."""
    for rho in (0.01, 0.1, 0.5, 2.0):
        normal, known = promise(mu=float(np.sqrt(2 * rho))), promise(rho=rho)
        eps = np.linspace(0.0, 6.0, 25)
        assert (known.delta(eps) >= normal.delta(eps)).all()
        assert (known.tpr(RATES) >= normal.tpr(RATES) - 1e-12).all()
        assert known.advantage() < 1.0
    # the usual conversion, ε = ρ + 2√(ρ ln(1/δ)), is a weaker promise
    assert promise(rho=0.1).epsilon(1e-6) < 0.1 + 2 * np.sqrt(0.1 * np.log(1e6))


def test_a_budget_keeps_what_it_was_made_for() -> None:
    features = np.column_stack([np.ones(80), np.linspace(-1, 1, 80)])
    response = features @ [1.0, 2.0] + np.random.default_rng(0).standard_normal(80)
    for asked in ({"advantage": 0.1}, {"tpr": 0.05, "fpr": 0.01}, {"tpr": 0.8, "fpr": 0.7}):
        epsilon, delta = privacy.budget(**asked)
        achieved = asked.get("tpr", asked.get("advantage", 0.0))
        methods = ta.standard_methods(features, response, epsilon=epsilon, delta=delta, row_bound=8.0)
        assert len(methods) == 5
        for method in methods:
            profile = method.profile(features, response)
            kept = profile.tpr(asked["fpr"]) if "fpr" in asked else profile.advantage()
            assert kept <= achieved + 1e-12
            if isinstance(method, ta.GaussianLeastSquares) and asked != {"tpr": 0.8, "fpr": 0.7}:
                assert kept == pytest.approx(achieved, rel=1e-9)  # no more noise than it needs


def test_an_estimate_proves_less_than_it_says() -> None:
    def at(mean: float) -> Any:
        return lambda size, rng: np.random.default_rng(rng).normal(mean, 1.0, (size, 1))

    seen = ta.estimate_profile(at(0.0), at(1.0), [0.0, 1.0, 2.0], 20_000, rng=0)
    exact = promise(mu=1.0)
    assert seen.proved.advantage() == seen.lower(0.0) <= exact.advantage()
    assert (seen.proved.tpr(RATES) <= exact.tpr(RATES) + 1e-9).all()
    assert seen.proved.tpr(0.05) > 0.15
    assert exact.proved is exact


def test_protections_promise_a_whole_curve() -> None:
    people = ta.datasets.load("breast_cancer")
    one = ta.guarantee_of(ta.Gaussian(40.0), ta.Marginals(2), people.public)
    assert one is not None
    assert one.mu is not None
    assert one.profile().advantage() == pytest.approx(promise(mu=one.mu).advantage())
    two = together([one, one])
    assert two.advantage() == pytest.approx(promise(mu=one.mu * np.sqrt(2)).advantage())
    # with a discrete law ρ adds up, and with Laplace noise ε does
    discrete = ta.guarantee_of(ta.DiscreteGaussian(40.0), ta.Marginals(2), people.public)
    assert discrete is not None
    assert discrete.rho == pytest.approx(one.mu**2 / 2)
    assert together([one, discrete]).advantage() == pytest.approx(promise(rho=one.mu**2).advantage())
    pure = Guarantee(0.5, 0.0, REPLACED, "Laplace noise")
    assert together([pure, pure]).advantage() == pytest.approx(np.tanh(0.5))
    assert together([pure, one]).advantage() == pytest.approx(
        promise(epsilon=0.5 + one.epsilon, delta=one.delta).advantage()
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: promise(), "exactly one of them"),
        (lambda: promise(epsilon=1.0, mu=1.0), "exactly one of them"),
        (lambda: promise(mu=1.0, delta=1e-5), "delta must be left out"),
        (lambda: promise(epsilon=-1.0), "epsilon"),
        (lambda: promise(epsilon=1.0).tpr(1.5), "fpr must be between 0 and 1"),
        (lambda: promise(epsilon=1.0).posterior(-0.1), "prior must be between 0 and 1"),
        (lambda: privacy.budget(), "tpr and fpr"),
        (lambda: privacy.budget(tpr=0.1), "tpr and fpr"),
        (lambda: privacy.budget(tpr=0.01, fpr=0.1), "above the false-positive rate"),
        (lambda: privacy.budget(advantage=1.0), "advantage"),
        (lambda: privacy.laplace_delta(1.0, 1.0, 0.0), "scale"),
    ],
)
def test_bad_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)
