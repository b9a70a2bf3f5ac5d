"""Standard errors of linear fits: one number a fit, limits that hold and are attained, a count of bits."""

from itertools import product

import numpy as np
import pytest

import tellall as ta
from tellall.audits.trial import Planned, Setting, Trial
from tellall.statistics.residuals import LinearFit, Residuals

FIT = ta.Estimator("linear", 3, True, standard_errors=True)


def numbers(seed, n=12, d=3):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, d))
    return ta.Dataset.from_arrays(columns, 10 + columns[:, 0] + rng.normal(0, 2, n))


def test_standard_errors_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    people = numbers(0, 30)
    x = np.column_stack([np.stack(people.public.numbers, axis=1), np.ones(30)])
    fit = sm.OLS(people.secret, x).fit()
    values = FIT.values(people)
    np.testing.assert_allclose(values[:4], fit.params)
    errors = values[4] * np.sqrt(np.linalg.inv(x.T @ x).diagonal())
    np.testing.assert_allclose(errors, fit.bse)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("base", [0.0, 0.001, 0.2])
def test_limits_hold_everybody(seed, base):
    people = numbers(seed, 5 + seed)
    release = ta.publish(people, FIT, ta.Rounding(base) if base else None)
    found = ta.reconstruct(release, people.public)
    assert (found.limits.low <= people.secret).all()
    assert (people.secret <= found.limits.high).all()
    assert np.isfinite(found.limits.high).all()
    low, high = found.interval.T
    assert (low >= found.limits.low - 1e-6).all()
    assert (high <= found.limits.high + 1e-6).all()


@pytest.mark.parametrize("person", range(6))
def test_limits_are_attained_by_people_with_the_same_fit(person):
    """No better limit follows: other people with equal coefficients and standard errors have that number."""
    people = numbers(3, 8)
    x = np.column_stack([np.stack(people.public.numbers, axis=1), np.ones(8)])
    values = FIT.values(people)
    low, high = Residuals([LinearFit(x, values[:4], float(values[4]))], True).limits(0.0)
    left = np.eye(8) - x @ np.linalg.pinv(x)
    toward = left[:, person] / np.linalg.norm(left[:, person])
    for sign, end in ((1, high), (-1, low)):
        extreme = x @ values[:4] + sign * np.sqrt(4) * values[4] * toward
        np.testing.assert_allclose(FIT.values(ta.Dataset.from_arrays(x[:, :3], extreme)), values, atol=1e-9)
        assert extreme[person] == pytest.approx(end[person], rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_of_bits_they_say_how_many_have_the_secret(seed):
    """Every secret with the same coefficients and standard errors has the same number of ones."""
    rng = np.random.default_rng(seed)
    columns, secret = rng.integers(0, 3, (7, 2)).astype(float), rng.integers(0, 2, 7)
    secret[:2] = 0, 1
    fit = ta.Estimator("linear", 1, standard_errors=True)
    people = ta.Dataset.from_arrays(columns, secret)
    values = fit.values(people)
    same = []
    for bits in product((0, 1), repeat=7):
        other = np.array(bits)
        if other.min() < other.max() and np.allclose(
            fit.values(ta.Dataset.from_arrays(columns, other)), values, atol=1e-9, equal_nan=True
        ):
            same.append(other)
    found = ta.reconstruct(ta.publish(people, fit), people.public)
    told = found.evidence.operator @ np.ones(7) == 7
    if np.isfinite(values[2:]).all():
        assert told.any()
        np.testing.assert_array_equal(found.evidence.target[told], secret.sum())
        assert {int(other.sum()) for other in same} == {int(secret.sum())}
    for person in np.flatnonzero(found.identified == "proved"):
        assert {int(other[person]) for other in same} == {int(secret[person])}


def test_a_regression_with_standard_errors_shows_how_much_people_differ():
    people = numbers(5, 100)
    silent = ta.reconstruct(ta.publish(people, ta.Estimator("linear", 3, True)), people.public)
    told = ta.reconstruct(ta.publish(people, FIT), people.public)
    assert silent.status.word == "uncalibrated"
    assert told.status.word == "trusted"
    assert told.prior[1] == pytest.approx(people.secret.std(), rel=0.2)
    low, high = told.interval.T
    assert 0.85 < np.mean((low <= people.secret) & (people.secret <= high)) < 1
    risk = ta.score(told, people.secret)
    assert risk.exposed == 0
    assert risk.advantage - risk.in_sample < 0.02 * risk.baselines[risk.baseline]


def test_noise_without_a_bound_limits_nobody_and_bits_after_noise_get_no_equation():
    people = numbers(1)
    release = ta.publish(people, FIT, ta.Gaussian(0.1), rng=1)
    limits = ta.reconstruct(release, people.public).limits
    assert not np.isfinite(limits.low).any()
    bits = ta.Dataset.from_arrays(np.stack(people.public.numbers, axis=1), people.secret > 10)
    noisy = ta.linearise(ta.publish(bits, FIT, ta.Rounding(0.01)), bits.public)
    assert any("values that are not exact" in str(reason) for reason in noisy.skipped)


def test_in_a_plan_its_reader_loses_what_the_coefficients_lose():
    people, fit = numbers(6, 40), {"kind": "Estimator", "loss": "linear", "block": 3, "intercept": True}
    noise = [{"kind": "Gaussian", "std": 0.5}]
    releases = [
        {"name": name, "statistic": {**fit, "standard_errors": said}, "protect": noise}
        for name, said in (("with", True), ("without", False))
    ]
    audit = ta.audit(people, {"steps": False, "releases": releases})
    losses = [finding.outcome.loss.coefficients for finding in audit.found[:2]]
    assert losses[0] is not None
    assert losses[1] is not None


def test_draws_are_attacked_one_by_one():
    people = numbers(2, 20)
    trial = Trial(Setting(people), (Planned("fit", FIT, (ta.Gaussian(0.01),)),), draws=2)
    for (release,), found in zip(trial.published, trial.attack("least-squares"), strict=True):
        alone = ta.reconstruct(release, people.public)
        np.testing.assert_allclose(found.estimate, alone.estimate)
        np.testing.assert_allclose(found.interval, alone.interval)


def test_it_is_saved_with_its_fits(tmp_path):
    people = numbers(4)
    release = ta.publish(people, FIT, where="a0 > -5")
    release.save(tmp_path / "fit.json")
    again = ta.Release.load(tmp_path / "fit.json")
    assert again.statistic.describe() == release.statistic.describe()
    first, second = (ta.reconstruct(each, people.public).limits for each in (release, again))
    np.testing.assert_array_equal(first.low, second.low)


@pytest.mark.parametrize("wrong", [{"loss": "logistic"}, {"loss": "linear", "penalty": 1.0}])
def test_only_plain_linear_fits_have_them(wrong):
    with pytest.raises(ta.InvalidInput, match="standard_errors must be given only for linear fits"):
        ta.Estimator(**wrong, standard_errors=True)
