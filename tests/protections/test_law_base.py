import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.protections.protection import Exact, Sum, apply, as_protections, as_rng, noise_of
from tellall.testing import check_protection

LAWS = [ta.Gaussian(1.7), ta.Laplace(0.9), ta.Rounding(5), ta.Rounding(0.25)]


@pytest.mark.parametrize("law", [*LAWS, ta.Suppression(10)], ids=repr)
def test_protections_do_what_they_declare(law):
    check_protection(law)  # false alarms below 1e-6, as its docstring says


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_densities_integrate_to_one_with_the_declared_spread(law):
    reach = min(law.bound, 40 * law.std)
    x = np.linspace(-reach, reach, 400_001)
    density = np.exp(law.logpdf(x))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-6)
    assert math.sqrt(np.trapezoid(density * x**2, x)) == pytest.approx(law.std, rel=1e-5)


@given(st.floats(0.01, 100), st.floats(-50, 50).filter(lambda f: abs(f) > 0.01))
def test_scaled_laws_scale(std, factor):
    for law in (ta.Gaussian(std), ta.Laplace(std), ta.Rounding(std), Sum((ta.Rounding(std), ta.Gaussian(1)))):
        assert law.scaled(factor).std == pytest.approx(abs(factor) * law.std)
        assert law.scaled(factor).bound == pytest.approx(abs(factor) * law.bound)


def test_laplace_scale_is_not_its_std():
    assert ta.Laplace(3.0).std == pytest.approx(3 * math.sqrt(2))


def test_rounding_is_to_the_nearest_and_halves_to_even():
    values = np.array([0, 1, 2, 2.5, 3, 7.5, 12.5, np.nan])
    assert ta.Rounding(5).perturb(values)[:-1].tolist() == [0, 0, 0, 0, 5, 10, 10]


def test_suppression_hides_small_values_zeros_included():
    shown = ta.Suppression(10).perturb(np.array([0.0, 9.0, 10.0, 11.0]))
    assert np.isnan(shown).tolist() == [True, True, False, False]


def test_protections_apply_in_order():
    values = np.array([8.0, 12.0])
    hidden_first = apply(as_protections([ta.Suppression(10), ta.Rounding(20)]), values)
    rounded_first = apply(as_protections([ta.Rounding(20), ta.Suppression(10)]), values)
    assert np.isnan(hidden_first).tolist() == [True, False]
    assert hidden_first[1] == 20
    assert np.isnan(rounded_first).tolist() == [True, False]
    assert apply(as_protections([ta.Rounding(20)]), np.array([12.0])).tolist() == [20.0]


def test_errors_of_several_protections_add_up():
    law = noise_of([ta.Gaussian(3), ta.Suppression(5), ta.Rounding(12)])
    assert law.std == pytest.approx(math.sqrt(9 + 12))
    assert law.bound == math.inf
    assert noise_of([ta.Rounding(4), ta.Rounding(2)]).bound == 3
    assert noise_of([ta.Suppression(5)]) == Exact()
    assert noise_of([ta.Gaussian(2)]) == ta.Gaussian(2)
    drawn = law.sample(200_000, 0)
    assert drawn.std() == pytest.approx(law.std, rel=0.02)  # 9 standard errors of a sample std


def test_the_same_seed_draws_the_same():
    assert np.array_equal(ta.Gaussian(1).sample(5, 3), ta.Gaussian(1).sample(5, 3))
    assert as_rng(None).random() != as_rng(None).random()
    with pytest.raises(ta.InvalidInput, match="rng must be"):
        as_rng("seed")


def test_no_noise_is_a_point_mass():
    assert ta.Gaussian(0).logpdf([0.0, 1.0]).tolist() == [math.inf, -math.inf]
    assert ta.Laplace(0).logpdf([0.0, 1.0]).tolist() == [math.inf, -math.inf]
    assert Exact().sample(3).tolist() == [0, 0, 0]
    assert Exact().scaled(5).std == 0


def test_midpoints_are_those_of_whole_counts():
    midpoints = ta.Rounding(6, "midpoint")
    assert midpoints.perturb(np.arange(14.0)).tolist() == [0, *[3] * 6, *[9] * 6, 15]
    assert ta.Rounding(5, "midpoint").perturb(np.array([0.0, 1, 5, 6])).tolist() == [0, 3, 3, 8]
    assert midpoints.cannot_give(np.array([0.0, 3, 6, 9])).tolist() == [False, False, True, False]
    check_protection(midpoints)
    people = ta.Dataset.from_arrays(np.eye(4, dtype=int), secret=[0, 1, 1, 0])
    assert ta.publish(people, ta.Marginals(2), midpoints).values.max() == 3
    with pytest.raises(ta.InvalidInput, match="of counts to a whole base"):
        ta.publish(people, ta.Marginals(2, scale="fractions"), midpoints)
    with pytest.raises(ta.InvalidInput, match="of counts to a whole base"):
        ta.publish(people, ta.Marginals(2), ta.Rounding(2.5, "midpoint"))
    with pytest.raises(ta.InvalidInput, match="fits counts of people"):
        ta.publish(people, ta.Estimator("linear"), midpoints)


def test_rounding_to_midpoints_then_hiding_leaves_what_is_below_the_limit():
    from tellall.evidence.undo import possible_counts

    found = possible_counts(np.array([np.nan, 9.0]), [ta.Rounding(6, "midpoint"), ta.Suppression(9)], 1.0)
    assert (found.low.tolist(), found.high.tolist()) == ([0, 7], [6, 12])
    assert ta.Rounding(6, "midpoint").last_below(10) == 9
    assert ta.Rounding(6, "midpoint").last_below(3) == 0
    assert ta.Rounding(5).last_below(10) == 5
