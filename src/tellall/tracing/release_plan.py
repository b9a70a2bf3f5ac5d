"""What suffices for an attacker to trace people from a protected release, given its accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tellall.core.checks import share, whole
from tellall.core.errors import invalid
from tellall.people.attributes.codings import CODINGS
from tellall.protections.protection import Noise, Protection, as_protections, noise_of
from tellall.tracing.strength import Distribution, TracingPlan, strength, tracing_plan

__all__ = [
    "Accuracy",
    "ReleasePlan",
    "accuracy",
    "release_plan",
]

_ROUNDS = 60


@dataclass(frozen=True)
class Accuracy:
    """How accurate a release is, in the terms of the tracing theorems and the ±1 coding.

    Attributes
    ----------
    bias
        Def. 4: |E[q] − p| ≤ bias for every attribute: the α of `strength`.
    alpha, beta
        Def. 19: |q − p| > alpha with probability at most beta, for every attribute: the α of "pool".
    people
        How many people the means are over; after a subsample, its size. The attacks trace these people.
    """

    bias: float
    alpha: float
    beta: float
    people: int


def accuracy(
    protect: Protection | Sequence[Protection] | None, n: int, *, beta: float = 0.01, coding: str = "signs"
) -> Accuracy:
    """Returns the accuracy of means of n people after these protections.

    Parameters
    ----------
    protect
        The protections of the people or of each mean, in the units of what is published: noise laws,
        rounding, corruption, a subsample. Protections of the secret do not change the means of public
        columns.
    n
        How many people there are.
    beta
        The chance per attribute that the error exceeds alpha.
    coding
        The coding of what is published, as in `trace`: bits and genotypes are published as
        frequencies in [0, 1], which the ±1 coding stretches by two.

    Notes
    -----
    The mean of N people is within λ of the population's except with probability 2exp(−λ²kN/2), for k draws
    per person (two-sided, E-RT-4). N is n, or the size of a subsample, whose mean is also right on average.
    The noise exceeds some κ with a probability of its own: alpha = κ + λ, and each of the two takes half of
    beta; bounded noise takes none. A corruption that hits a share f ≤ beta/2 of the means adds no κ. Rounding
    biases by half its base at most. Noise of mean zero biases only where means are clipped to their range,
    which moves the mean by E[noise⁺] = E|noise|/2 at most. Both statements hold whatever happens in other
    columns, as the definitions ask, since columns are protected one by one.

    Examples
    --------
    >>> from tellall.protections import Rounding, Subsample
    >>> accuracy(Rounding(0.1), 1000, coding="bits").bias
    0.1
    >>> accuracy(Subsample(0.25), 1000).people
    250
    """
    people = whole("n", n)
    share("beta", beta, zero=False, one=False)
    if coding not in CODINGS or coding == "reals":
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    laws = list[Protection]()
    for protection in as_protections(protect):
        people = protection.left_of(people)
        error = protection.on_means()
        if error is None:
            rule = "one whose effect on a mean is known: noise, rounding, corruption or a subsample"
            raise invalid("protect", rule, protection, protection.not_on_means)
        laws.append(error)
    law = noise_of(laws).scaled(1.0 if coding == "signs" else 2.0)
    tail, exceeded = _tail(law, beta / 2)
    sampling = math.sqrt(2 * math.log(2 / (beta - tail)) / (CODINGS[coding].ploidy * people))
    return Accuracy(min(2.0, _bias(law)), min(2.0, exceeded + sampling), beta, people)


def _parts(law: Noise) -> tuple[Noise, ...]:
    return law.terms or (law,)


def _bias(law: Noise) -> float:
    """Bounds |E[q] − p|: half the mean size of noise with mean zero, and the bound of rounding."""
    return math.fsum(
        part.bound if part.biased else min(part.bound, part.mean_size) / 2 for part in _parts(law)
    )


def _tail(law: Noise, beta: float) -> tuple[float, float]:
    """Returns (b, κ) with P(|noise| > κ) ≤ b ≤ beta; the unbounded parts of a sum share beta."""
    parts = _parts(law)
    total = math.fsum(part.bound for part in parts if math.isfinite(part.bound))
    unbounded = [part for part in parts if not math.isfinite(part.bound)]
    exceeded = [part.exceeded(beta / len(unbounded)) for part in unbounded]
    return sum(share for share, _ in exceeded), total + sum(size for _, size in exceeded)


@dataclass(frozen=True)
class ReleasePlan:
    """How many means and reference people suffice, by the theorems, to trace people from a protected release.

    Attributes
    ----------
    people
        How many people the means are over; after a subsample, its size.
    single, single_gamma
        What "single" needs, and the strength it rests on; None where nothing is promised (γ ≤ 0).
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
        one = many = "promises nothing"
        if self.single is not None:
            one = f"needs {math.ceil(self.single.attributes):,} attributes"
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
    """Returns what the attacks need to be sure of success against means of n people after these protections.

    Parameters
    ----------
    distribution
        The law of the population's means, as for `strength`.
    n, protect, coding
        As for `accuracy`.
    delta
        The chance of failure, and the false-positive rate.

    Notes
    -----
    "single" rests on the bias (Def. 4), "pool" on α at β ≤ γ(α)/(24 n) (Def. 19): α grows as β falls, so β
    is lowered until it fits. A plan promises that attacks succeed; without one they may still succeed, which
    `release_limit` finds by simulation.

    Examples
    --------
    >>> from tellall.protections.record_changes import Subsample
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
