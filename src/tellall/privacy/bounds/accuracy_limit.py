"""The accuracy that no decoder beats: that of somebody who knows everybody else's secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.protections.additive import Gaussian, Laplace
from tellall.protections.protection import Noise, Protection

__all__ = [
    "Separation",
    "accuracy_limit",
    "separation",
]


@dataclass(frozen=True, eq=False)
class Separation:
    """How far a release moves when one person's secret changes, in units of its noise."""

    squared: Array  # of each person: ‖A_i/σ‖² for Gaussian noise, ‖A_i/b‖² for Laplace noise
    certain: npt.NDArray[np.bool_]  # which people are counted in a value without noise
    normal: bool  # whether the noise is Gaussian


def separation(
    operator: LinearOperator,
    protections: Sequence[Protection],
    units: float = 1.0,
    gain: Array | float = 1.0,
) -> Separation | None:
    """Returns how far apart the protections, applied in order, leave the two values of each secret.

    An error of a published value is multiplied by `units` on the count scale and by `gain` in each row. Only
    the first protection must be noise: whatever is done after it can only lose information. If rounding or
    suppression comes first, no bound is known, and None is returned.
    """
    done = [step for step in protections if not (isinstance(step, Noise) and step.std == 0)]
    leading = list(takewhile(lambda step: isinstance(step, Gaussian | Laplace), done))
    factors = np.broadcast_to(np.asarray(gain, dtype=np.float64), operator.shape[0]) * units
    weights = np.where(factors > 0, 1 / np.where(factors > 0, factors, 1.0) ** 2, 0.0)
    squares = operator.squared()
    energy = np.asarray(squares.rmatvec(weights.astype(operator.dtype)), dtype=np.float64)
    noiseless = np.asarray(squares.rmatvec((factors == 0).astype(operator.dtype))) > 0
    normal = [noise.std for noise in leading if isinstance(noise, Gaussian)]
    if not done:
        return Separation(np.zeros_like(energy), noiseless | (energy > 0), True)
    if normal:  # added noise commutes: other laws among the first count as later ones
        return Separation(energy / float(np.hypot.reduce(normal)) ** 2, noiseless, True)
    if isinstance(done[0], Laplace):
        return Separation(energy / done[0].scale ** 2, noiseless, False)
    return None


def accuracy_limit(releases: Sequence[Separation | None], size: Array, rate: float) -> float | None:
    """Returns the accuracy, averaged over people, that no decoder of these releases together exceeds.

    `size` is the number of people in each group, `rate` the rate of the secret; secrets and noises are
    independent. None if one of the releases allows no bound.

    Notes
    -----
    An attacker who knows everybody else's secret has one test left, between z and z + A_i. Squared distances
    add. With Gaussian noise alone, a = ‖A_i/σ‖ and l = ln((1 − rate)/rate), the best test is right with
    probability (1 − rate) Φ(a/2 + l/a) + rate Φ(a/2 − l/a), which is Φ(a/2) for rate 1/2. Otherwise the
    affinities of the two laws multiply, exp(−‖A_i‖²/(8σ²)) for Gaussian noise and at least exp(−‖A_i‖²/(8b²))
    for Laplace noise of scale b; the accuracy is at most (1 + √(1 − 4 rate (1 − rate) affinity²))/2.
    """
    known = [one for one in releases if one is not None]
    if len(known) < len(releases):
        return None
    squared = np.sum([one.squared for one in known], axis=0)
    if all(one.normal for one in known):
        best = _best_test(np.sqrt(squared), rate)
    else:
        best = (1 + np.sqrt(1 - 4 * rate * (1 - rate) * np.exp(-squared / 4))) / 2
    certain = np.any([one.certain for one in known], axis=0)
    return float(np.where(certain, 1.0, best) @ size / size.sum())


def _best_test(apart: Array, rate: float) -> Array:
    from scipy.special import ndtr

    odds = float(np.log((1 - rate) / rate))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(apart > 0, odds / apart, np.inf * np.sign(odds) if odds else 0.0)
        out: Array = (1 - rate) * ndtr(apart / 2 + shift) + rate * ndtr(apart / 2 - shift)
    return out
