"""What no decoder beats: the accuracy of somebody who knows everybody else's secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from tellall.linops import Array, LinearOperator
from tellall.noise import Gaussian, Laplace, Noise
from tellall.protections import Protection

__all__ = ["Shown", "accuracy_limit", "joint_limit", "shown"]


def accuracy_limit(
    operator: LinearOperator,
    protections: Sequence[Protection],
    units: float = 1.0,
    gain: Array | float = 1.0,
    size: Array | None = None,
    rate: float = 0.5,
) -> float | None:
    """The accuracy, averaged over people, that no decoder of the release exceeds.

    Parameters
    ----------
    operator
        A, one column per group of people alike.
    protections
        What is done to the values, in order; the first must be noise.
    units, gain
        What a published value's error is multiplied with on the count scale, and in each row.
    size
        The people of each group.
    rate
        The rate of the secret; people's secrets independent.

    Notes
    -----
    Whoever knows everybody else's secret has one test left, between z and z + A_i. Gaussian noise of
    deviation σ: with a = ‖A_i/σ‖ and l = ln((1 − rate)/rate), (1 − rate) Φ(a/2 + l/a) + rate Φ(a/2 − l/a);
    Φ(‖A_i‖/(2σ)) for rate 1/2. Laplace noise of scale b: the affinity of the two laws is at least
    exp(−‖A_i‖²/(8b²)), so the accuracy is at most (1 + √(1 − 4 rate (1 − rate) exp(−‖A_i‖²/(4b²))))/2.
    Whatever is done after the noise can only lose information. Where rounding or suppression comes first no
    such bound is known, and None is returned.
    """
    people = np.ones(operator.shape[1]) if size is None else size
    seen = shown(operator, protections, units, gain)
    return None if seen is None else joint_limit([seen], people, rate)


@dataclass(frozen=True, eq=False)
class Shown:
    """How far apart a release shows the two values of each person's secret, to one who knows all others.

    Attributes
    ----------
    apart
        ‖A_i/σ‖² for Gaussian noise, ‖A_i/b‖² for Laplace noise.
    certain
        Who is in a value without noise.
    normal
        Whether the noise is Gaussian.
    """

    apart: Array
    certain: npt.NDArray[np.bool_]
    normal: bool


def shown(
    operator: LinearOperator,
    protections: Sequence[Protection],
    units: float = 1.0,
    gain: Array | float = 1.0,
) -> Shown | None:
    """What one release shows; None where the noise allows no statement. As for `accuracy_limit`."""
    done = [step for step in protections if not (isinstance(step, Noise) and step.std == 0)]
    leading = list(takewhile(lambda step: isinstance(step, Gaussian | Laplace), done))
    factors = np.broadcast_to(np.asarray(gain, dtype=np.float64), operator.shape[0]) * units
    weights = np.where(factors > 0, 1 / np.where(factors > 0, factors, 1.0) ** 2, 0.0)
    squares = operator.squared()
    energy = np.asarray(squares.rmatvec(weights.astype(operator.dtype)), dtype=np.float64)
    noiseless = np.asarray(squares.rmatvec((factors == 0).astype(operator.dtype))) > 0
    normal = [noise.std for noise in leading if isinstance(noise, Gaussian)]
    if not done:
        return Shown(np.zeros_like(energy), noiseless | (energy > 0), True)
    if normal:  # added noise commutes, so other laws among the first come after
        return Shown(energy / float(np.hypot.reduce(normal)) ** 2, noiseless, True)
    if isinstance(done[0], Laplace):
        return Shown(energy / done[0].scale ** 2, noiseless, False)
    return None


def joint_limit(several: Sequence[Shown], size: Array, rate: float) -> float:
    """The accuracy that no decoder of these releases together exceeds, their noises independent.

    Notes
    -----
    Squared distances add. Gaussian noise alone: the best test, as for one release. Otherwise affinities
    multiply: exp(−‖A_i‖²/(8σ²)) for Gaussian noise, at least exp(−‖A_i‖²/(8b²)) for Laplace noise.
    """
    apart = np.sum([one.apart for one in several], axis=0)
    if all(one.normal for one in several):
        best = _normal(np.sqrt(apart), rate)
    else:
        best = (1 + np.sqrt(1 - 4 * rate * (1 - rate) * np.exp(-apart / 4))) / 2
    certain = np.any([one.certain for one in several], axis=0)
    return float(np.where(certain, 1.0, best) @ size / size.sum())


def _normal(apart: Array, rate: float) -> Array:
    from scipy.special import ndtr

    odds = float(np.log((1 - rate) / rate))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(apart > 0, odds / apart, np.inf * np.sign(odds) if odds else 0.0)
        out: Array = (1 - rate) * ndtr(apart / 2 + shift) + rate * ndtr(apart / 2 - shift)
    return out
