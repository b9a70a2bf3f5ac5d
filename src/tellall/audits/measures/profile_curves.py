"""Privacy profiles as curves: what is promised at every ε, and how much of it an attack on draws achieves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.records import ENDLESS, Meaning, Record
from tellall.privacy.blackbox.estimate import estimate_profile
from tellall.privacy.least_squares.interface import PrivateLeastSquares
from tellall.privacy.least_squares.noisy import GaussianLeastSquares
from tellall.protections.profile import PrivacyProfile

__all__ = ["ProfileCurve", "profile_curves"]

_POINTS, _TRIED = 41, 9  # places of the exact curve, and of the estimate
_COMMON = (1e-2, 1e-3, 1e-5, 1e-6)  # values of δ that people ask for


@dataclass(frozen=True)
class CommonDelta(Record):
    """The ε that is promised at a value of δ that people ask for."""

    delta: float
    epsilon: Annotated[float, ENDLESS]


@dataclass(frozen=True)
class ExactCurve(Record):
    """δ at each ε: no attack of any kind gets above it."""

    epsilon: tuple[float, ...]
    delta: tuple[float, ...]


@dataclass(frozen=True)
class AttackRates(Record):
    """How well an attack tells whether the most exposed record was there."""

    advantage: Annotated[float, Meaning("True-positive rate less false-positive rate.", least=0, most=1)]
    fpr: Annotated[float, Meaning("A false-positive rate.", least=0, most=1)]
    tpr: Annotated[float, Meaning("The true-positive rate there.", least=0, most=1)]

    @classmethod
    def of(cls, profile: PrivacyProfile, fpr: float) -> AttackRates:
        """What a profile lets an attack achieve."""
        return cls(profile.advantage(), fpr, float(profile.tpr(fpr)))


@dataclass(frozen=True)
class EstimatedCurve(Record):
    """What one attack got from draws, and what that proves."""

    epsilon: tuple[float, ...]
    delta: tuple[float, ...]
    lower: Annotated[tuple[float, ...], Meaning("Bounds below δ that hold together with confidence 99 %.")]
    draws: int

    def proving(self) -> EstimatedCurve:
        """The places whose lower bound is above zero."""
        kept = [place for place in zip(self.epsilon, self.delta, self.lower, strict=True) if place[2] > 0]
        epsilon, delta, lower = zip(*kept, strict=True) if kept else ((), (), ())
        return EstimatedCurve(epsilon, delta, lower, self.draws)


@dataclass(frozen=True)
class ProfileCurve(Record):
    """What one method promises at every ε, and how much of it an attack on draws achieves."""

    method: str
    common: tuple[CommonDelta, ...]
    told_apart: Annotated[float, Meaning("How often the best attack is right about whether one was there.")]
    promised: Annotated[AttackRates, Meaning("What no attack of any kind exceeds.")]
    achieved: Annotated[
        AttackRates, Meaning("What the attack on draws is proved to achieve, with confidence 99 %.")
    ]
    exact: ExactCurve
    estimated: EstimatedCurve


def profile_curves(
    features: ArrayLike,
    response: ArrayLike,
    methods: Sequence[PrivateLeastSquares],
    *,
    largest: float = 2.0,
    draws: int = 20_000,
    fpr: float = 0.01,
    rng: int = 0,
) -> tuple[ProfileCurve, ...]:
    """The profile of each method from ε = 0 on: exact, and estimated from draws by an attack.

    Parameters
    ----------
    largest
        The largest ε.
    draws
        Draws on the data, and on the neighbour in which the worst record is zeros; as many more to train on.
    fpr
        The false-positive rate at which true positives are promised and achieved.

    Notes
    -----
    ``told_apart`` is how often the best attack is right about which of the two data sets a release comes
    from, if both are as likely: (1 + δ(0)) / 2. The estimate has lower bounds that hold together with
    confidence 99 %. Normal noise has the spread that the data ask for on both sides: a spread computed afresh
    from the neighbour would tell the two apart by itself.
    """
    table, target = np.asarray(features, dtype=np.float64), np.asarray(response, dtype=np.float64)
    grid = np.linspace(0.0, largest, _POINTS)
    tried = np.linspace(0.0, largest, _TRIED)
    found = []
    for method in methods:
        exact = method.profile(table, target)
        without, emptied = table.copy(), target.copy()
        without[exact.worst_record or 0], emptied[exact.worst_record or 0] = 0.0, 0.0
        same = method
        if isinstance(method, GaussianLeastSquares):
            same = GaussianLeastSquares(std=method.noise(table, target))
        samplers = same.sampler(table, target), same.sampler(without, emptied)
        seen = estimate_profile(*samplers, tried, draws, rng=rng)
        found.append(
            ProfileCurve(
                method.name,
                tuple(CommonDelta(goal, exact.epsilon(goal)) for goal in _COMMON),
                0.5 + 0.5 * exact.advantage(),
                AttackRates.of(exact, fpr),
                AttackRates.of(seen.proved, fpr),
                ExactCurve(tuple(grid.tolist()), tuple(np.asarray(exact.delta(grid)).tolist())),
                EstimatedCurve(
                    tuple(tried.tolist()),
                    tuple(np.asarray(seen.delta(tried)).tolist()),
                    tuple(np.asarray(seen.lower(tried)).tolist()),
                    draws,
                ),
            )
        )
    return tuple(found)
