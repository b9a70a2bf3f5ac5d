"""Draws attacked together are attacked as each alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.attack.reconstruct.reals import Whitened
from tellall.audits.draws import SharedSystem
from tellall.audits.trial import Planned, Setting, Trial
from tests.conftest import random_people

PEOPLE = random_people(90, 9, seed=3)
STATISTICS = [ta.Marginals(3), ta.Marginals(3, scale="fractions"), ta.Predicates("xor", ways=3)]


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: f"{one.describe()}, {one.scale}")
@pytest.mark.parametrize("law", [ta.Gaussian, ta.Laplace, ta.DiscreteGaussian])
def test_the_same_as_one_by_one(statistic: Any, law: Any) -> None:
    unit = 1 if statistic.scale == "counts" else 1 / PEOPLE.n
    noise = law(6.0) if unit == 1 else law(6.0 * unit) if law is not ta.DiscreteGaussian else law(6.0, unit)
    releases = [ta.publish(PEOPLE, statistic, noise, rng=draw) for draw in range(4)]
    found = SharedSystem().attack(releases, PEOPLE.public)
    for release, together in zip(releases, found, strict=True):
        assert together is not None
        alone = ta.reconstruct(release, PEOPLE.public, "least-squares")
        assert isinstance(alone, ta.Reconstruction)
        np.testing.assert_allclose(together.estimate, alone.estimate, atol=1e-4)
        np.testing.assert_allclose(together.confidence, alone.confidence, atol=1e-4)
        clear = np.abs(alone.estimate - 0.5) > 1e-4
        np.testing.assert_array_equal(together.guess[clear], alone.guess[clear])
        assert together.prior == pytest.approx(alone.prior, rel=1e-12)


def test_coefficients_are_attacked_together_too() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(60, 20))
    people = ta.Dataset.from_arrays(columns, secret=(columns[:, 0] + rng.normal(size=60) > 0).astype(int))
    fits = ta.Estimator("linear", block=4, intercept=True)
    releases = [ta.publish(people, fits, ta.Gaussian(0.05), rng=draw) for draw in range(3)]
    for release, together in zip(releases, SharedSystem().attack(releases, people.public), strict=True):
        alone = ta.reconstruct(release, people.public, "least-squares")
        assert together is not None
        np.testing.assert_allclose(together.estimate, alone.estimate, atol=1e-4)


def test_fits_whose_rows_depend_on_the_values_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(60, 8))
    people = ta.Dataset.from_arrays(columns, secret=(columns[:, 0] + rng.normal(size=60) > 0).astype(int))
    fits = ta.Estimator("logistic", block=4)
    releases = [ta.publish(people, fits, ta.Gaussian(0.05), rng=draw) for draw in range(3)]
    assert SharedSystem().attack(releases, people.public) == [None] * 3


def test_equal_people_are_one_unknown() -> None:
    people = random_people(90, 3, seed=4)
    releases = [ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=draw) for draw in range(3)]
    for release, together in zip(releases, SharedSystem().attack(releases, people.public), strict=True):
        alone = ta.reconstruct(release, people.public, "least-squares")
        assert together is not None
        np.testing.assert_allclose(together.estimate, alone.estimate, atol=1e-4)
        np.testing.assert_allclose(together.confidence, alone.confidence, atol=1e-4)


@pytest.mark.parametrize(
    "protect",
    [None, ta.TruncatedNormal(1.0, 0.4), ta.Suppression(3), ta.Swapping(0.5), ta.Subsample(0.5)],
    ids=str,
)
def test_what_cannot_be_attacked_together_is_left_alone(protect: Any) -> None:
    releases = [ta.publish(PEOPLE, ta.Marginals(3), protect, rng=draw) for draw in range(3)]
    assert SharedSystem().attack(releases, PEOPLE.public) == [None] * 3


@pytest.mark.parametrize("noise", [ta.TruncatedNormal(20.0, 40.0), ta.Rounding(6, "random")], ids=str)
def test_wide_bounds_do_not_keep_draws_apart(noise: Any) -> None:
    releases = [ta.publish(PEOPLE, ta.Marginals(3), noise, rng=draw) for draw in range(3)]
    assert all(SharedSystem().attack(releases, PEOPLE.public))


def test_one_decomposition_serves_all_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    from tellall.linalg.solvers.many_targets import ManyTargets

    made: list[int] = []
    whole = ManyTargets.of.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(ManyTargets, "of", classmethod(lambda cls, *a: made.append(1) or whole(cls, *a)))
    setting, statistic = Setting(PEOPLE), ta.Predicates("xor", ways=3)
    for noise in (ta.Gaussian(3.0), ta.Gaussian(9.0), ta.Laplace(5.0)):
        Trial(setting, (Planned("noisy", statistic, (noise,)),), draws=3).attack("least-squares")
    assert made == [1]


def test_draws_are_those_of_publish() -> None:
    setting, statistic = Setting(PEOPLE), ta.Marginals(3)
    for protections in ((ta.Gaussian(2.0), ta.Rounding(5)), (ta.Swapping(0.2), ta.Laplace(1.0))):
        trial = Trial(setting, (Planned("noisy", statistic, protections),), draws=3, seed=5)
        for draw, (release,) in enumerate(trial.published):
            rng = np.random.default_rng([5, 0, draw]) if draw else 5
            np.testing.assert_array_equal(
                release.values, ta.publish(PEOPLE, statistic, protections, rng=rng).values
            )


def test_common_random_numbers_over_scales() -> None:
    setting, statistic = Setting(PEOPLE), ta.Marginals(3)
    one, ten = (
        Trial(setting, (Planned("noisy", statistic, (ta.Gaussian(std),)),), draws=2).published[1][0].values
        for std in (1.0, 10.0)
    )
    clean = ta.publish(PEOPLE, statistic).values
    np.testing.assert_allclose(ten - clean, 10 * (one - clean), atol=1e-9)


def test_draws_about_real_secrets_share_one_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    whole = Whitened.of
    monkeypatch.setattr(Whitened, "of", lambda system: made.append(1) or whole(system))
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(40, 30))
    people = ta.Dataset.from_arrays(columns, secret=3 + columns[:, 0] + rng.normal(size=40))
    setting, fits = Setting(people), ta.Estimator("linear", block=3, intercept=True)
    for std in (0.05, 0.5):  # the second with the first's decomposition
        trial = Trial(setting, (Planned("fits", fits, (ta.Gaussian(std),)),), draws=3)
        for (release,), found in zip(trial.published, trial.attack("least-squares"), strict=True):
            with monkeypatch.context() as plain:
                plain.setattr(Whitened, "of", whole)
                _same_as_alone(found, ta.reconstruct(release, people.public))
    assert made == [1]


def _same_as_alone(found: ta.Reconstruction, alone: ta.Reconstruction) -> None:
    np.testing.assert_allclose(found.estimate, alone.estimate, atol=1e-6)
    np.testing.assert_allclose(found.std, alone.std, rtol=1e-4, atol=1e-9)
    assert str(found.status) == str(alone.status)
