"""The risk of real secrets: how far off the attack is, beside what one would have guessed anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.baselines import baselines
from tellall.attack.reconstruct.reals import RealReconstruction
from tellall.attack.secret import Real
from tellall.core.errors import invalid
from tellall.experiment.intervals import exact_interval
from tellall.release.protections.law import Rng, as_rng

__all__ = [
    "RealRisk",
    "score_reals",
]

_RESAMPLES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class RealRisk:
    """How much a release gives away of a real secret.

    Attributes
    ----------
    n
        How many people were guessed at.
    error
        The mean absolute error of the attack.
    baselines
        The mean absolute error of each baseline.
    baseline
        The name of the strongest baseline, the one with the least error.
    interval
        The 95 % interval of the advantage: paired bootstrap over people; where all gain the same, the share
        of people who could gain more or less, at most, times the largest error seen.
    """

    n: int
    error: float
    baselines: Mapping[str, float]
    baseline: str
    interval: tuple[float, float]
    _off: Array
    _foreseen: Array  # the least absolute error of any baseline

    @property
    def advantage(self) -> float:
        """How much smaller the error is than that of the strongest baseline, in the secret's own unit."""
        return self.baselines[self.baseline] - self.error

    def exposed_within(self, tolerance: float) -> int:
        """How many people the attack knows to within the tolerance and no baseline does."""
        if not tolerance >= 0:
            raise invalid("tolerance", "zero or more", tolerance)
        return int(((self._off <= tolerance) & (self._foreseen > tolerance)).sum())

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Risk: {self.n} real numbers known with mean absolute error {self.error:.3g}; "
            f"strongest baseline ({self.baseline}) {self.baselines[self.baseline]:.3g}; "
            f"advantage {self.advantage:+.3g} [{low:+.3g}, {high:+.3g}]"
        )


def score_reals(attack: RealReconstruction, secret: npt.ArrayLike, rng: Rng) -> RealRisk:
    """The risk of an attack on real numbers."""
    kind = Real()
    truth = kind.check(secret, attack.n)
    generator = as_rng(rng)
    found = baselines([release.statistic for release in attack.releases], attack.public, truth, kind)
    off = kind.error(attack.estimate, truth)
    others = {baseline.name: kind.error(baseline.guess, truth) for baseline in found}
    strongest = min(others, key=lambda name: float(others[name].mean()))
    gain = others[strongest] - off
    return RealRisk(
        n=truth.size,
        error=float(off.mean()),
        baselines={name: float(errors.mean()) for name, errors in others.items()},
        baseline=strongest,
        interval=_interval(gain, float(max(off.max(), others[strongest].max())), generator),
        _off=off,
        _foreseen=np.min(list(others.values()), axis=0),
    )


def _interval(gain: Array, largest: float, rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the mean gain; nobody's can differ from it by more than the largest error."""
    if np.ptp(gain) <= 1e-9 * largest:
        point, (low, high) = float(gain.mean()), exact_interval(0, 0, gain.size)
        return point + low * largest, point + high * largest
    people = rng.integers(0, gain.size, size=(_RESAMPLES // 10, gain.size))
    low, high = np.quantile(gain[people].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)
