"""How exposed a population is to tracing: the strength of its means, and what the attacks need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tellall.core.checks import above_zero, at_least_zero, is_number, whole
from tellall.core.errors import invalid

__all__ = [
    "TracingPlan",
    "robust_strength",
    "strength",
    "tracing_plan",
]

Distribution = tuple[Any, ...] | Callable[[float], float]


def strength(
    distribution: Distribution, alpha: float, *, support: tuple[float, float] = (-1.0, 1.0)
) -> float:
    """Returns the largest γ for which the distribution of population means is (α, γ)-strong.

    Parameters
    ----------
    distribution
        ("uniform", a, b), ("beta", u, v) stretched to [−1, 1], ("ideal", a), ("gaussian", sigma) for normal
        attributes whose mean is uniform on [−1, 1], or a density function on `support`.
    alpha
        The bias that a release may have in each mean.
    support
        The interval of a density function, which must integrate to one there.

    Notes
    -----
    Def. 6 asks for E[g′(p)(1 − p²)] ≥ γ over all g within α of the identity. After integration by parts this
    is linear in g, so the infimum is taken point by point (Lemma 14):

        γ(α) = E[1 − p²] − α∫|2pρ − (1 − p²)ρ′| − α(1 − b²)ρ(b) − α(1 − a²)ρ(a),

    with α cut at 1 + b and 1 − a at the ends. Uniform on [a, b]: 1 − (a² + ab + b²)/3 − 2αE|p| −
    α((1 − a²) + (1 − b²))/(b − a), where the paper simplifies too far (E-RT-3). Beta: 4uv/((u + v)
    (u + v + 1)) − 4αuᵘvᵛ/(B(u, v)(u + v)^(u + v)), exact for α ≤ 2 min(u, v)/(u + v), a lower bound beyond.
    Ideal, ρ ∝ 1/(1 − p²) on [−a, a]: (2a − 2α)/ln((1 + a)/(1 − a)). Gaussian: σ²(1 − α) (Def. 30). γ ≤ 0
    guarantees nothing. A density is integrated by adaptive quadrature and differentiated numerically.

    Examples
    --------
    >>> round(strength(("uniform", -1, 1), 0.25), 6)
    0.416667
    >>> round(strength(("ideal", 0.85), 0.5), 6)
    0.278629
    """
    alpha = at_least_zero("alpha", alpha)
    if callable(distribution):
        return _density_strength(distribution, alpha, support)
    if not isinstance(distribution, tuple) or not distribution or distribution[0] not in _CLOSED:
        rule = f"a density function or a tuple that starts with {', '.join(_CLOSED)}"
        raise invalid("distribution", rule, distribution)
    count, formula = _CLOSED[distribution[0]]
    if len(distribution) != count + 1:
        raise invalid("distribution", f"'{distribution[0]}' and {count} numbers", distribution)
    if not all(is_number(value) and math.isfinite(value) for value in distribution[1:]):
        raise invalid("distribution", f"'{distribution[0]}' and finite numbers", distribution)
    return formula(alpha, *map(float, distribution[1:]))


def robust_strength(eta: float) -> float:
    """Returns the largest γ for which the uniform distribution on [−1, 1] is (η, γ)-robustly strong.

    Notes
    -----
    Def. 27, for releases that are accurate only on average: 2/3 for η ≤ 1/2, else 2/3 − 2∫_c^1 (1 + p)(p − c)
    dp with c = 1/(2η). The paper's (1/2, 1/3) is true but loose; Prop. 28 needs α < ηγ (E-RT-6).

    Examples
    --------
    >>> robust_strength(0.5)
    0.6666666666666666
    """
    c = 1 / (2 * above_zero("eta", eta))
    if c >= 1:
        return 2 / 3
    integral = (1 - c**3) / 3 + (1 - c) * (1 - c**2) / 2 - c * (1 - c)
    return 2 / 3 - 2 * integral


@dataclass(frozen=True)
class TracingPlan:
    """What suffices for the attacks to be sure of success: the theorems' orders, with constants of ours.

    Attributes
    ----------
    attributes
        How many "single" needs. With these it traces some member with probability 1 − δ, and every member if
        the release treats people alike.
    pool_attributes, pool_people, pool_beta
        What "pool" needs: attributes, reference people besides the first, and the largest chance per
        attribute of an error above α. None where α is zero.
    pool_traced
        At least this many people are then traced with probability 1 − 2δ; any number above 0 means one.
    """

    n: int
    gamma: float
    alpha: float
    delta: float
    attributes: float
    pool_attributes: float | None = None
    pool_people: float | None = None
    pool_beta: float | None = None
    pool_traced: float | None = None


def tracing_plan(n: int, gamma: float, alpha: float, delta: float) -> TracingPlan:
    """Returns how many attributes and reference people suffice for the attacks on n people.

    Notes
    -----
    The paper says O(·); the constants follow from its proofs and are ours.

    Single (Lemma 11, Props. 12 and 13, Azuma's inequality; E-RT-2):

        d ≥ 32n² ln(1/δ)/γ²

    Pool (Props. 21, 24 and 26; E-RT-4, E-RT-6):

        d ≥ max(1152α²n² ln(1/δ)/γ², 64(n + √ln(1/δ))),   m ≥ 2 ln(48n/γ)/α²,   β ≤ γ/(24n)

    and then γ²/(256α²) people or more are traced.

    Examples
    --------
    >>> round(tracing_plan(10, 2 / 3, 0.0, 0.05).attributes)
    21569
    """
    n, alpha = whole("n", n), at_least_zero("alpha", alpha)
    if not is_number(gamma) or not 0 < gamma < math.inf:
        advice = "At zero or below no number of attributes is sure to suffice."
        raise invalid("gamma", "a finite number above zero", gamma, advice)
    if not 0 < delta < 1:
        raise invalid("delta", "between 0 and 1", delta)
    log = math.log(1 / delta)
    single = 32 * n**2 * log / gamma**2
    if alpha == 0:
        return TracingPlan(n, float(gamma), alpha, delta, single)
    return TracingPlan(
        n,
        float(gamma),
        alpha,
        delta,
        single,
        pool_attributes=max(1152 * alpha**2 * n**2 * log / gamma**2, 64 * (n + math.sqrt(log))),
        pool_people=2 * math.log(48 * n / gamma) / alpha**2,
        pool_beta=gamma / (24 * n),
        pool_traced=gamma**2 / (256 * alpha**2),
    )


def _uniform(alpha: float, a: float, b: float) -> float:
    if not -1 <= a < b <= 1:
        raise invalid("distribution", "uniform on an interval within [−1, 1]", ("uniform", a, b))
    mean_abs = (b * abs(b) - a * abs(a)) / (2 * (b - a))
    ends = min(alpha, 1 - a) * (1 - a * a) + min(alpha, 1 + b) * (1 - b * b)
    return 1 - (a * a + a * b + b * b) / 3 - 2 * alpha * mean_abs - ends / (b - a)


def _beta(alpha: float, u: float, v: float) -> float:
    if not (u > 0 and v > 0):
        raise invalid("distribution", "beta with two numbers above zero", ("beta", u, v))
    log_beta = math.lgamma(u) + math.lgamma(v) - math.lgamma(u + v)
    spread = math.exp(u * math.log(u) + v * math.log(v) - (u + v) * math.log(u + v) - log_beta)
    return 4 * u * v / ((u + v) * (u + v + 1)) - 4 * alpha * spread


def _ideal(alpha: float, a: float) -> float:
    if not 0 < a < 1:
        raise invalid("distribution", "ideal with a number between 0 and 1", ("ideal", a))
    return (2 * a - 2 * alpha) / math.log((1 + a) / (1 - a))


def _gaussian(alpha: float, sigma: float) -> float:
    if not sigma > 0:
        raise invalid("distribution", "gaussian with a number above zero", ("gaussian", sigma))
    return sigma**2 * (1 - alpha)


_CLOSED: dict[str, tuple[int, Callable[..., float]]] = {
    "uniform": (2, _uniform),
    "beta": (2, _beta),
    "ideal": (1, _ideal),
    "gaussian": (1, _gaussian),
}


def _density_strength(given: Callable[[float], float], alpha: float, support: tuple[float, float]) -> float:
    from scipy.integrate import quad

    try:
        a, b = (float(end) for end in support)
    except (TypeError, ValueError):
        raise invalid("support", "an interval within [−1, 1]", support) from None
    if not -1 <= a < b <= 1:
        raise invalid("support", "an interval within [−1, 1]", support)

    def density(p: float) -> float:
        value: Any = given(p)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise invalid("distribution", "a density function that returns numbers", value) from None

    def integral(function: Callable[[float], float]) -> float:
        value, *_ = quad(function, a, b, limit=400, full_output=1)
        return float(value)

    total = integral(density)
    if not abs(total - 1) < 1e-6:
        raise invalid("distribution", "a density whose integral over its support is one", total)

    def kernel(p: float) -> float:
        step = min(1e-5, (b - a) / 100)
        low, high = max(a, p - step), min(b, p + step)
        slope = (density(high) - density(low)) / (high - low)
        return abs(2 * p * density(p) - (1 - p * p) * slope)

    ends = min(alpha, 1 - a) * (1 - a * a) * density(a) + min(alpha, 1 + b) * (1 - b * b) * density(b)
    return integral(lambda p: (1 - p * p) * density(p)) - alpha * integral(kernel) - ends
