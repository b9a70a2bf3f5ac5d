"""score: one call for whatever an attack concluded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy.typing as npt

from tellall.attack.baselines import Baseline
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.attack.reconstruct.reals import RealReconstruction
from tellall.attack.trace.risk import TracingRisk, score_tracing
from tellall.attack.trace.trace import Tracing
from tellall.core.errors import invalid
from tellall.experiment.real_risk import RealRisk, score_reals
from tellall.experiment.risk import Risk, score_categories
from tellall.release.protections.law import Rng

__all__ = [
    "score",
]


@overload
def score(
    reconstruction: Reconstruction,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = 0,
) -> Risk: ...
@overload
def score(
    reconstruction: RealReconstruction,
    secret: npt.ArrayLike,
    baselines: None = None,
    rng: Rng = 0,
) -> RealRisk: ...
@overload
def score(
    reconstruction: Tracing,
    secret: npt.ArrayLike,
    baselines: None = None,
    rng: Rng = 0,
) -> TracingRisk: ...
def score(
    reconstruction: Any,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = 0,
) -> Risk | RealRisk | TracingRisk:
    """The risk: the attack compared with the truth and with what one would have guessed anyway.

    Parameters
    ----------
    reconstruction
        What the attack concluded. Of real numbers the risk is a :class:`RealRisk`; for a tracing the secret
        is who was in the data, and the risk a :class:`TracingRisk`.
    secret
        The true bits (or codes of categories, or real numbers), in file order.
    baselines
        Baselines computed before (see `baselines`); majority, public and population
        where not given.
    rng
        Seed of folds, of the releases made again for the population baseline, and of the bootstrap.

    Notes
    -----
    A release that moves nobody's estimate from the prior by more than 0.001 tells nothing: the attacker then
    guesses as without it, so that pure noise scores the majority's accuracy whatever the secret's rate.
    """
    if isinstance(reconstruction, Tracing):
        return score_tracing(reconstruction, secret)
    if isinstance(reconstruction, RealReconstruction):
        return score_reals(reconstruction, secret, rng)
    if isinstance(reconstruction, Reconstruction):
        return score_categories(reconstruction, secret, baselines, rng)
    raise invalid("reconstruction", "what ta.reconstruct returns", type(reconstruction).__name__)
