"""What several releases promise together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tellall.core.checks import above_zero, at_least_zero, share
from tellall.core.errors import invalid

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
class Composition:
    """The privacy of several releases about the same people, taken together.

    Attributes
    ----------
    epsilon, delta
        What is promised: the least ε of the ways of adding up, at the δ asked for.
    rule
        The way that gave it: "Gaussian, exact", "basic" or "advanced".
    basic, advanced
        The ε of each way; None where it does not apply.
    """

    epsilon: float
    delta: float
    rule: str
    basic: float
    advanced: float | None
    releases: int

    def as_dict(self) -> dict[str, Any]:
        """The composition for JSON."""
        return asdict(self)


def compose(releases: Sequence[GaussianRelease | tuple[float, float]], delta: float = 1e-6) -> Composition:
    """The ε that several releases promise together at a δ, for the same notion of neighbours.

    Parameters
    ----------
    releases
        Each a pair (ε, δ), or a GaussianRelease(sensitivity, std).
    delta
        The δ of the whole; at least the sum of the releases' own.

    Notes
    -----
    Gaussian releases are one Gaussian release of sensitivity/std = √(Σ (sensitivity/std)²): exact, and also
    when each is chosen after seeing the others. Pairs add up (basic), or, with what δ leaves after their own,
    δ̃ = δ − Σδ_l, give Σ ε_l tanh(ε_l/2) + √(2 Σ ε_l² ln(1/δ̃)) (advanced; Kairouz, Oh and Viswanath 2015,
    Theorem 3.5). In a mixture the Gaussian part takes half of what δ leaves and counts as one more pair.

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
    if ratio > 0 and left == 0:
        raise invalid(
            "delta", f"above the sum of the pairs' own, {own:g}, where there is Gaussian noise", delta
        )
    if ratio > 0:
        from tellall.release.profile import gaussian_epsilon

        left = left if not pairs else left / 2
        together = gaussian_epsilon(left, ratio, 1.0)
        if not pairs:
            return Composition(together, goal, "Gaussian, exact", together, None, len(releases))
        pairs = [*pairs, (together, left)]
    basic = math.fsum(eps for eps, _ in pairs)
    advanced = _advanced([eps for eps, _ in pairs], left) if left > 0 else None
    if advanced is not None and advanced < basic:
        return Composition(advanced, goal, "advanced", basic, advanced, len(releases))
    return Composition(basic, goal, "basic", basic, advanced, len(releases))


def _advanced(epsilons: Sequence[float], slack: float) -> float:
    squares = math.fsum(eps * eps for eps in epsilons)
    drift = math.fsum(eps * math.tanh(eps / 2) for eps in epsilons)
    return drift + math.sqrt(2 * squares * -math.log(slack))


def _split(
    releases: Sequence[GaussianRelease | tuple[float, float]],
) -> tuple[list[tuple[float, float]], float]:
    """The pairs, and the sensitivity over noise of all Gaussian releases together."""
    rule = "pairs (epsilon, delta) or GaussianRelease(sensitivity, std)"
    if isinstance(releases, str | bytes) or not isinstance(releases, Sequence) or not releases:
        raise invalid("releases", f"one or more {rule}", releases)
    pairs: list[tuple[float, float]] = []
    ratios: list[float] = []
    for release in releases:
        if isinstance(release, GaussianRelease):
            ratios.append(release.sensitivity / release.std)
        elif isinstance(release, tuple | list) and len(release) == 2:
            eps = at_least_zero("epsilon", release[0], finite=False)
            if math.isinf(eps):
                raise invalid("epsilon", "finite", eps)
            pairs.append((eps, share("delta", release[1], one=False)))
        else:
            raise invalid("releases", rule, release)
    return pairs, math.hypot(*ratios) if ratios else 0.0
