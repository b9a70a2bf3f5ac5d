"""regression-noise: what it concludes, tested fairly. Families made equal, and a stronger attack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.attack import reconstruct
from tellall.attack.reconstruct.reals import RealReconstruction
from tellall.papers.regression_noise_attack import Regressions
from tellall.papers.regression_noise_data import RegressionData, prepare
from tellall.papers.regression_noise_study import FAMILIES, law_of_std, sample_of
from tellall.people.dataset import Dataset
from tellall.release.release import Release
from tellall.release.statistics.estimators import Estimator

__all__ = [
    "MODELS",
    "Fair",
    "TradeOff",
    "fair",
    "trade_off",
]

MODELS = Estimator("linear", block=1, intercept=True)


@dataclass(frozen=True)
class Fair:
    """Attack error of a family over that of Gaussian noise, made equal in some respect, with 95 % interval.

    ``level`` is the utility ratio that both have; None where they have the same standard deviation.
    """

    family: str
    level: float | None
    ratio: float
    interval: tuple[float, float]


def fair(
    data: RegressionData,
    n: int,
    levels: Sequence[float],
    samples: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Fair, ...]:
    """The families at equal standard deviation, then at equal utility.

    Notes
    -----
    The attack is linear, so its error is the standard deviation times a factor of the sample and the family;
    the utility ratio, averaged over regressions and draws, grows with the standard deviation, and bisection
    finds where it has the level asked for. Each sample gives one ratio to Gaussian noise; their geometric
    mean has Student's interval over samples. O(samples · draws · n · d) for each of 25 steps and each level.
    """
    factor = np.empty((len(FAMILIES), samples))
    left, noise, clean = [], [], []
    for place in range(samples):
        some = sample_of(data, n, rng)
        models, secret = Regressions(prepare(data.features, some, "standardised")), data.secret[some]
        theta = models.fit(secret)
        drawn = np.stack([law_of_std(one, 1.0).sample((theta.size, draws), rng) for one in FAMILIES])
        factor[:, place] = [float(np.abs(models.attack(one)).mean()) for one in drawn]
        residual = models.predictions(theta)[:, :, 0] - secret[:, None]
        left.append(residual)
        clean.append(np.abs(residual).mean(axis=0))
        noise.append([models.predictions(one).astype(np.float32) for one in drawn])
    found = [_compared(family, None, factor[k] / factor[0]) for k, family in enumerate(FAMILIES)][1:]
    residuals, before = np.stack(left).astype(np.float32), np.stack(clean)
    for level in levels:
        stds = [
            _std_at(level, residuals, before, np.stack([one[k] for one in noise]))
            for k in range(len(FAMILIES))
        ]
        found += [
            _compared(family, level, factor[k] * stds[k] / (factor[0] * stds[0]))
            for k, family in enumerate(FAMILIES)
            if k
        ]
    return tuple(found)


def _std_at(level: float, residual: Array, before: Array, noise: Array) -> Array:
    """The standard deviation at which each sample's mean utility ratio has the level."""

    def utility(std: Array) -> Array:
        after = np.abs(residual[..., None] + std[:, None, None, None].astype(np.float32) * noise)
        return np.asarray((after.mean(axis=(1, 3)) / before).mean(axis=1))

    low, high = np.zeros(len(before)), np.full(len(before), 4 * level * float(before.max()))
    for _ in range(25):
        middle = (low + high) / 2
        over = utility(middle) > level
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray((low + high) / 2)


def _compared(family: str, level: float | None, ratios: Array) -> Fair:
    from scipy.special import stdtrit

    logs = np.log(ratios)
    margin = float(stdtrit(logs.size - 1, 0.975) * logs.std(ddof=1) / math.sqrt(logs.size))
    middle = float(logs.mean())
    return Fair(family, level, math.exp(middle), (math.exp(middle - margin), math.exp(middle + margin)))


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Both attacks and the utility against the standard deviation of the noise: family × std × repeat.

    Attributes
    ----------
    plain
        Error of the paper's attack, the least of the least-squares solutions.
    bayes
        Error of tellall's, which weighs the evidence by its noise and shrinks towards the mean.
    utility
        Mean utility ratio of the regressions.
    nothing
        Error of guessing the sample's median for everybody, which needs no release; averaged over repeats.
    """

    n: int
    stds: tuple[float, ...]
    plain: Array
    bayes: Array
    utility: Array
    nothing: float


def trade_off(
    data: RegressionData, n: int, stds: Sequence[float], repeats: int, rng: np.random.Generator
) -> TradeOff:
    """The paper's attack and tellall's on the same noisy coefficients of random samples."""
    plain, bayes, utility = (np.empty((len(FAMILIES), len(stds), repeats)) for _ in range(3))
    nothing = []
    for repeat in range(repeats):
        some = sample_of(data, n, rng)
        features, secret = prepare(data.features, some, "standardised"), data.secret[some]
        features = features[:, np.ptp(features, axis=0) > 0]  # a constant column says the sum once more
        people, models = Dataset.from_arrays(features, secret, kind="reals"), Regressions(features)
        theta = models.fit(secret)
        nothing.append(float(np.abs(secret - np.median(secret)).mean()))
        for k, family in enumerate(FAMILIES):
            for place, std in enumerate(stds):
                noise = law_of_std(family, std)
                noisy = theta + noise.sample(theta.size, rng)
                release = Release.from_values(MODELS, noisy, public=people, noise=noise, levels=0)
                attack = reconstruct(release, people.public)
                assert isinstance(attack, RealReconstruction)
                here = (k, place, repeat)
                plain[here] = np.abs(models.attack(noisy) - secret).mean()
                bayes[here] = np.abs(attack.estimate - secret).mean()
                utility[here] = models.utility(secret, theta, noisy).mean()
    return TradeOff(n, tuple(stds), plain, bayes, utility, float(np.mean(nothing)))
