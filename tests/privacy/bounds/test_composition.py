import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.privacy import bounds
from tellall.protections.profile import gaussian_delta

epsilons = st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=30)


def test_gaussian_releases_compose_exactly():
    """Four releases are one of twice the sensitivity; δ of the whole at that ε is what was asked for."""
    found = bounds.compose([bounds.GaussianRelease(1.0, 5.0), bounds.GaussianRelease(3.0, 4.0)], 1e-6)
    ratio = math.hypot(1 / 5, 3 / 4)
    assert found.rule == "Gaussian, exact"
    assert float(gaussian_delta(found.epsilon, ratio, 1.0)) == pytest.approx(1e-6, rel=1e-6)


@given(epsilons, st.floats(1e-12, 1e-2))
def test_the_best_rule_is_never_above_the_sum(values, delta):
    found = bounds.compose([(epsilon, 0.0) for epsilon in values], delta)
    assert found.epsilon <= math.fsum(values) * (1 + 1e-12)
    assert found.epsilon >= max(values) * (1 - 1e-12) or found.rule == "advanced"
    longer = bounds.compose([(epsilon, 0.0) for epsilon in [*values, 0.5]], delta)
    assert longer.epsilon >= found.epsilon


def test_advanced_composition_against_the_exact_loss_of_randomised_response():
    """k answers, each flipped with odds e^ε: the exact δ at the ε promised is at most the δ asked for."""
    for k, epsilon, delta in [(100, 0.1, 1e-6), (30, 0.3, 1e-4), (400, 0.02, 1e-5)]:
        found = bounds.compose([(epsilon, 0.0)] * k, delta)
        assert found.rule == "advanced"
        stay = math.exp(epsilon) / (1 + math.exp(epsilon))
        exact = 0.0
        for j in range(k + 1):
            ways = math.comb(k, j)
            here = ways * stay ** (k - j) * (1 - stay) ** j
            there = ways * stay**j * (1 - stay) ** (k - j)
            exact += max(0.0, here - math.exp(found.epsilon) * there)
        assert exact <= delta


def test_mixtures_are_sound_and_pure_ones_add_up():
    parts = [(0.2, 1e-8), (0.1, 0.0), bounds.GaussianRelease(1.0, 10.0)]
    found = bounds.compose(parts, 1e-6)
    assert found.releases == 3
    alone = bounds.compose([parts[2]], 1e-6).epsilon
    assert found.epsilon > alone
    assert found.epsilon < 0.3 + 1.1 * alone
    assert bounds.compose([(0.5, 1e-6), (0.5, 2e-6)], 3e-6).epsilon == 1.0
    assert bounds.compose([(0.5, 0.0)], 0.0).rule == "basic"


@pytest.mark.parametrize(
    ("releases", "delta", "name"),
    [
        ([], 1e-6, "releases"),
        ("ab", 1e-6, "releases"),
        ([1.0], 1e-6, "releases"),
        ([(1.0, 0.1, 0.2)], 1e-6, "releases"),
        ([(-1.0, 0.0)], 1e-6, "epsilon"),
        ([(math.inf, 0.0)], 1e-6, "epsilon"),
        ([(1.0, 1e-3)], 1e-6, "delta"),
        ([(1.0, 0.0)], 1.0, "delta"),
        ([bounds.GaussianRelease(1.0, 1.0)], 0.0, "delta"),
    ],
)
def test_bad_input(releases, delta, name):
    with pytest.raises(ta.InvalidInput, match=f"^{name} must be"):
        bounds.compose(releases, delta)


def test_an_infinite_sensitivity_promises_nothing():
    for std in (1.0, math.inf):
        unknown = ta.bounds.GaussianRelease(math.inf, std)
        assert ta.bounds.compose([unknown], 1e-5).epsilon == math.inf
        assert ta.bounds.compose([unknown, (0.1, 0.0)], 1e-5).epsilon == math.inf
        assert ta.privacy.gaussian_delta(0.0, math.inf, std) == 1.0


def test_bad_gaussian_release():
    with pytest.raises(ta.InvalidInput, match=r"^std must be"):
        bounds.GaussianRelease(1.0, 0.0)
