import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import tellall as ta
from tellall.attack.reconstruct.reals import fit_population


@pytest.mark.parametrize("seed", range(60))
def test_mean_and_variance_over_people_maximise_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    singular, everybody = rng.gamma(1.0, 3.0, 12), rng.normal(size=12)
    values = singular * rng.normal(size=12) * rng.gamma(1.0, 5.0) + everybody

    def misfit(variance: float) -> float:
        precision = 1 / (variance * singular**2 + 1)
        mean = (precision @ (everybody * values)) / (precision @ everybody**2)
        return float(0.5 * precision @ (values - mean * everybody) ** 2 - 0.5 * np.log(precision).sum())

    _, variance, support = fit_population(values, everybody, singular)
    centre = np.log(variance)
    best = minimize_scalar(lambda log: misfit(np.exp(log)), bounds=(centre - 5, centre + 5), method="bounded")
    assert misfit(variance) <= best.fun + 1e-8
    assert support == pytest.approx(misfit(0.0) - misfit(variance), abs=1e-6)


def test_nothing_published_says_nothing_of_the_population():
    assert fit_population(np.zeros(0), np.zeros(0), np.zeros(0)) == (0.0, 1.0, 0.0)


def test_estimates_are_the_posterior_mean_by_its_own_formula():
    """Against the dense formula of a Gaussian posterior, with a large mean and groups of people alike."""
    rng = np.random.default_rng(1)
    public = np.repeat(rng.integers(0, 4, (12, 3)), 3, axis=0).astype(float)
    people = ta.Dataset.from_arrays(public, rng.normal(1000, 5, 36))
    release = ta.publish(people, ta.Estimator("linear", 3, True), ta.Gaussian(0.5), rng=2)
    found = ta.reconstruct(release, people.public)
    mean, spread = found.prior
    evidence = found.evidence
    matrix, noise = evidence.operator.to_dense(), np.diag(evidence.rows.spread**2)
    gain = spread**2 * matrix.T @ np.linalg.inv(spread**2 * matrix @ matrix.T + noise)
    wanted = mean + gain @ (evidence.target - matrix @ np.full(36, mean))
    np.testing.assert_allclose(found.estimate, wanted, atol=1e-6)
    covariance = spread**2 * (np.eye(36) - gain @ matrix)
    np.testing.assert_allclose(found.std, np.sqrt(covariance.diagonal()), atol=1e-6)
