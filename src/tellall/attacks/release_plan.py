"""What an attacker needs against a protected release: its accuracy, fed to the planner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tellall.attacks.accuracy import Accuracy, accuracy
from tellall.attacks.strength import Distribution, TracingPlan, strength, tracing_plan
from tellall.protections import Protection

__all__ = ["ReleasePlan", "release_plan"]

_ROUNDS = 60


@dataclass(frozen=True)
class ReleasePlan:
    """How many means, and reference people, suffice by the theorems to trace people from a protected release.

    Attributes
    ----------
    people
        How many people the means are over; after a subsample its size, and those are whom one can trace.
    single, single_gamma
        What "single" needs and the strength it rests on; None where nothing is promised (γ ≤ 0).
    pool, pool_gamma, pool_accuracy
        The same for "pool", with the (α, β)-accuracy it uses; None where nothing is promised.
    """

    people: int
    bias: float
    single_gamma: float
    single: TracingPlan | None
    pool_gamma: float
    pool_accuracy: Accuracy | None
    pool: TracingPlan | None

    def __repr__(self) -> str:
        one = (
            "promises nothing"
            if self.single is None
            else f"needs {math.ceil(self.single.attributes):,} attributes"
        )
        many = "promises nothing"
        if self.pool is not None and self.pool.pool_attributes and self.pool.pool_people:
            many = (
                f"needs {math.ceil(self.pool.pool_attributes):,} attributes and "
                f"{math.ceil(self.pool.pool_people) + 1:,} reference people"
            )
        return f"ReleasePlan: {self.people:,} people; 'single' {one}; 'pool' {many}"


def release_plan(
    distribution: Distribution,
    n: int,
    *,
    protect: Protection | Sequence[Protection] | None = None,
    delta: float = 0.05,
    coding: str = "signs",
) -> ReleasePlan:
    """What the attacks need to be sure of success against means of n people after these protections.

    Parameters
    ----------
    distribution
        The law of the population's means, as for :func:`tellall.strength`.
    n, protect, coding
        As for :func:`tellall.accuracy`.
    delta
        The chance of failure, and the false-positive rate.

    Notes
    -----
    "single" rests on the bias (Def. 4), "pool" on α at β ≤ γ(α)/(24 n) (Def. 19): α grows as β falls, so β
    is lowered until it fits. A plan is a promise that attacks succeed; where there is none they may still,
    which :func:`tellall.release_limit` tells by simulation.

    Examples
    --------
    >>> from tellall.protections import Subsample
    >>> release_plan(("uniform", -1, 1), 100, protect=Subsample(0.1))
    ReleasePlan: 10 people; 'single' needs 21,570 attributes; 'pool' promises nothing
    """
    known = accuracy(protect, n, coding=coding)
    gamma = strength(distribution, known.bias)
    single = tracing_plan(known.people, gamma, known.bias, delta) if gamma > 0 else None
    beta = min(0.5, max(strength(distribution, 0.0), 1e-12) / (24 * known.people))
    for _ in range(_ROUNDS):
        tried = accuracy(protect, n, beta=beta, coding=coding)
        pooled = strength(distribution, tried.alpha)
        if pooled <= 0:
            return ReleasePlan(known.people, known.bias, gamma, single, pooled, None, None)
        if beta <= pooled / (24 * known.people):
            plan = tracing_plan(known.people, pooled, tried.alpha, delta)
            return ReleasePlan(known.people, known.bias, gamma, single, pooled, tried, plan)
        beta = pooled / (24 * known.people) / 2
    return ReleasePlan(known.people, known.bias, gamma, single, pooled, None, None)
