"""regression-noise, what it leaves open: logistic regression, the secret cut at its median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.experiment.utility import coefficient_utility
from tellall.papers.regression_noise_data import RegressionData, prepare
from tellall.papers.regression_noise_study import FAMILIES, law_of_std, sample_of
from tellall.people.dataset import Dataset
from tellall.release.protections.law import Noise
from tellall.release.release import Release
from tellall.release.statistics.estimators import Estimator

__all__ = [
    "LOGISTIC",
    "Cut",
    "LogisticSizes",
    "cut_sample",
    "logistic_noise",
    "logistic_sizes",
]

LOGISTIC = Estimator("logistic", block=1, intercept=True)


@dataclass(frozen=True, eq=False)
class LogisticSizes:
    """Share of bits right from exact coefficients: size × repeat, and the share of fits that are infinite."""

    size: tuple[int, ...]
    right: Array
    separable: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Cut:
    """Noise on the logistic coefficients: share of bits right and utility ratio, family × std × repeat.

    ``nothing`` is the share right of guessing the sample's more frequent bit for everybody.
    """

    n: int
    stds: tuple[float, ...]
    right: Array
    utility: Array
    nothing: float


def cut_sample(data: RegressionData, n: int, rng: np.random.Generator) -> Dataset:
    """A random sample of n records, the secret being whether it exceeds the median of all.

    Drawn again where all bits are equal: no model has a finite fit then.
    """
    bits = (data.secret > np.median(data.secret)).astype(np.int8)
    some = sample_of(data, n, rng)
    while np.ptp(bits[some]) == 0:
        some = sample_of(data, n, rng)
    return Dataset.from_arrays(prepare(data.features, some, "standardised"), bits[some], names=data.columns)


def logistic_sizes(
    data: RegressionData, size: Sequence[int], repeats: int, rng: np.random.Generator
) -> LogisticSizes:
    """The attack on exact logistic coefficients of random samples."""
    right, open_fits = np.empty((len(size), repeats)), []
    for place, n in enumerate(size):
        missing = []
        for repeat in range(repeats):
            people = cut_sample(data, n, rng)
            values = LOGISTIC.values(people)
            missing.append(float(np.isnan(values).mean()))
            right[place, repeat] = _right(people, values, None)
        open_fits.append(float(np.mean(missing)))
    return LogisticSizes(tuple(size), right, tuple(open_fits))


def logistic_noise(
    data: RegressionData, n: int, stds: Sequence[float], repeats: int, rng: np.random.Generator
) -> Cut:
    """Every family at every standard deviation on the logistic coefficients of random samples."""
    right, utility = (np.empty((len(FAMILIES), len(stds), repeats)) for _ in range(2))
    nothing = []
    for repeat in range(repeats):
        people = cut_sample(data, n, rng)
        clean = LOGISTIC.values(people)
        assert people.secret is not None
        nothing.append(max(people.secret.mean(), 1 - people.secret.mean()))
        for k, family in enumerate(FAMILIES):
            for place, std in enumerate(stds):
                noise = law_of_std(family, std)
                noisy = clean + noise.sample(clean.size, rng)
                right[k, place, repeat] = _right(people, noisy, noise)
                utility[k, place, repeat] = _utility(people, clean, noisy)
    return Cut(n, tuple(stds), right, utility, float(np.mean(nothing)))


def _right(people: Dataset, values: Array, noise: Noise | None) -> float:
    attack = reconstruct(Release.from_values(LOGISTIC, values, public=people, noise=noise), people.public)
    assert isinstance(attack, Reconstruction)
    return float(np.mean(attack.guess == people.secret))


def _utility(people: Dataset, clean: Array, noisy: Array) -> float:
    """The mean over models of the ratio of prediction errors; models without a finite fit are left out."""
    models = LOGISTIC.models(people.public)
    assert people.secret is not None
    ratios = [
        coefficient_utility(before, after, models.design(j), people.secret, model="logistic").mae_ratio
        for j, (before, after) in enumerate(zip(clean.reshape(-1, 2), noisy.reshape(-1, 2), strict=True))
        if np.isfinite(before).all()
    ]
    return float(np.mean(ratios))
