"""Nearly exact is exact: noise that practically never moves a whole count by a half hides nothing."""

import numpy as np
import pytest

import tellall as ta
from tellall.protections.additive import Laplace, TruncatedNormal
from tellall.protections.discrete import DiscreteGaussian, Finite, Geometric
from tellall.protections.protection import Sum
from tests.conftest import first_fast

TINY = [
    ta.Gaussian(1e-12),
    ta.Gaussian(1e-6),
    ta.Gaussian(0.01),
    ta.Gaussian(0.05),
    Laplace(1e-12),
    Laplace(0.01),
    TruncatedNormal(0.05, 3.0),
    DiscreteGaussian(0.1),
    DiscreteGaussian(1.0, 0.01),
    Geometric(0.03),
    Sum((ta.Gaussian(0.02), Laplace(0.005))),
]
ENOUGH = [
    ta.Gaussian(0.1),
    Laplace(0.05),
    Geometric(0.04),
    DiscreteGaussian(0.2),
    Finite(((0.0, 0.9), (1.0, 0.1))),
]


def people(values, n=70):
    rng = np.random.default_rng(values)
    return ta.Dataset.from_arrays(rng.integers(0, 3, (n, 4)), secret=rng.integers(0, values, n))


def found(dataset, statistic, protect):
    attack = ta.reconstruct(ta.publish(dataset, statistic, protect, rng=7), dataset.public)
    risk = ta.score(attack, dataset.secret)
    return attack.status.word, attack.identified.tolist(), attack.guess.tolist(), risk.exposed, risk.advantage


@pytest.mark.parametrize("noise", first_fast(TINY, len(TINY)), ids=repr)
@pytest.mark.parametrize("values", [2, 4])
@pytest.mark.parametrize("scale", ["counts", "fractions"])
def test_tiny_noise_changes_no_proof_and_no_count_of_people(noise, values, scale):
    """The noise moves any of the values by a half with a probability below 1e-9."""
    dataset, statistic = people(values), ta.Marginals(3, scale=scale)
    unit = 1.0 if scale == "counts" else 1 / dataset.n
    exact = found(dataset, statistic, None)
    assert exact[1].count("proved") > 20
    assert found(dataset, statistic, noise.scaled(unit)) == exact


@pytest.mark.parametrize("before", [ta.Rounding(3), ta.Suppression(3), [ta.Rounding(5), ta.Suppression(5)]])
def test_so_it_does_after_other_protections(before):
    listed = before if isinstance(before, list) else [before]
    dataset = people(2)
    assert found(dataset, ta.Marginals(3), [*listed, ta.Gaussian(1e-6)]) == found(
        dataset, ta.Marginals(3), listed
    )


@pytest.mark.parametrize("noise", ENOUGH, ids=repr)
def test_noise_that_may_hide_a_count_stays_noise(noise):
    dataset = people(2)
    release = ta.publish(dataset, ta.Marginals(3), noise, rng=7)
    assert ta.linearise(release, dataset.public).std.max() > 0


@pytest.mark.parametrize("noise", [*TINY, *ENOUGH], ids=repr)
def test_tails_are_not_below_what_is_drawn(noise):
    """A tail that is too small by a tenth would show with a probability above 1 − 1e-6."""
    size = 200_000
    drawn = np.abs(noise.sample(size, np.random.default_rng(3)))
    for quantile in (0.5, 0.9, 0.99):
        distance = float(np.quantile(drawn, quantile))
        if distance > 0:
            share = float((drawn >= distance).mean())
            assert noise.tail(distance) >= share - 5 * np.sqrt(share / size)


def test_values_that_such_noise_cannot_give_contradict():
    dataset = people(2)
    release = ta.publish(dataset, ta.Marginals(3), ta.Gaussian(1e-6), rng=7)
    values = release.values.copy()
    values[:6] += 0.4
    wrong = ta.Release.from_values(ta.Marginals(3), values, public=dataset.public, noise=ta.Gaussian(1e-6))
    assert ta.reconstruct(wrong, dataset.public).status.word == "contradictory"
