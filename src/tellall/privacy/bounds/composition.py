"""What several releases promise together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tellall.core.checks import above_zero, at_least_zero, share
from tellall.core.errors import invalid
from tellall.core.records import Record

__all__ = [
    "Composition",
    "GaussianRelease",
    "compose",
]


@dataclass(frozen=True)
class GaussianRelease:
    """A release protected by Gaussian noise: its L2 sensitivity and the noise's standard deviation."""

    sensitivity: float
    std: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", at_least_zero("sensitivity", self.sensitivity, finite=False))
        object.__setattr__(self, "std", above_zero("std", self.std, finite=False))


@dataclass(frozen=True)
class Composition(Record):
    """The privacy of several releases about the same people, taken together."""

    epsilon: float  # what is promised: the least ε of all rules, at the δ asked for
    delta: float
    rule: str  # the rule that gave it: "Gaussian, exact", "basic" or "advanced"
    basic: float  # the ε of each rule; None if it does not apply
    advanced: float | None
    releases: int


def compose(releases: Sequence[GaussianRelease | tuple[float, float]], delta: float = 1e-6) -> Composition:
    """Returns the ε that several releases promise together at a δ, for the same notion of neighbours.

    Each release is a pair (ε, δ) or a GaussianRelease(sensitivity, std); `delta`, the δ of the whole, must be
    at least the sum of the releases' own.

    Notes
    -----
    Gaussian releases together are one Gaussian release of sensitivity/std = √(Σ (sensitivity/std)²). This is
    exact, also when each is chosen after seeing the others. Pairs add up (basic); or, with the rest of δ,
    δ̃ = δ − Σδ_l, they give Σ ε_l tanh(ε_l/2) + √(2 Σ ε_l² ln(1/δ̃)) (advanced; Kairouz, Oh and Viswanath
    2015, Theorem 3.5). In a mixture the Gaussian part takes half of that rest and counts as one more pair.

    Examples
    --------
    >>> compose([(0.1, 0.0)] * 100, 1e-6).rule
    'advanced'
    >>> round(compose([GaussianRelease(1.0, 7.461263269631884)] * 4, 1e-5).epsilon, 6)
    1.0
    """
    pairs, ratio = _split(releases)
    goal = share("delta", delta, one=False)
    own = math.fsum(slack for _, slack in pairs)
    left = goal - own
    if left < -1e-12 * goal:
        raise invalid("delta", f"at least the sum of the releases' own, {own:g}", delta)
    left = max(left, 0.0)
    if ratio > 0:
        if left == 0:
            rule = f"above the sum of the pairs' own, {own:g}, when there is Gaussian noise"
            raise invalid("delta", rule, delta)
        from tellall.protections.profile import gaussian_epsilon

        left = left / 2 if pairs else left
        together = gaussian_epsilon(left, ratio, 1.0)
        if not pairs:
            return Composition(together, goal, "Gaussian, exact", together, None, len(releases))
        pairs = [*pairs, (together, left)]
    epsilons = [eps for eps, _ in pairs]
    basic = math.fsum(epsilons)
    advanced = _advanced(epsilons, left) if left > 0 else None
    best, rule = (basic, "basic") if advanced is None or advanced >= basic else (advanced, "advanced")
    return Composition(best, goal, rule, basic, advanced, len(releases))


def _advanced(epsilons: Sequence[float], slack: float) -> float:
    squares = math.fsum(eps * eps for eps in epsilons)
    drift = math.fsum(eps * math.tanh(eps / 2) for eps in epsilons)
    return drift + math.sqrt(2 * squares * -math.log(slack))


def _split(
    releases: Sequence[GaussianRelease | tuple[float, float]],
) -> tuple[list[tuple[float, float]], float]:
    """Returns the pairs, and the ratio of sensitivity to noise of all Gaussian releases together."""
    rule = "pairs (epsilon, delta) or GaussianRelease(sensitivity, std)"
    if isinstance(releases, str | bytes) or not isinstance(releases, Sequence) or not releases:
        raise invalid("releases", f"one or more {rule}", releases)
    pairs: list[tuple[float, float]] = []
    ratios: list[float] = []
    for release in releases:
        if isinstance(release, GaussianRelease):
            # an infinite sensitivity hides behind no noise, not even an infinite one
            infinite = math.isinf(release.sensitivity)
            ratios.append(math.inf if infinite else release.sensitivity / release.std)
        elif isinstance(release, tuple | list) and len(release) == 2:
            pairs.append((at_least_zero("epsilon", release[0]), share("delta", release[1], one=False)))
        else:
            raise invalid("releases", rule, release)
    return pairs, math.hypot(*ratios) if ratios else 0.0
