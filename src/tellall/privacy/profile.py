"""A privacy profile: the δ that a release promises at every ε, for the data at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from tellall.privacy.arguments import Floats, as_epsilons, as_probability

__all__ = ["PrivacyProfile", "least_epsilon", "least_meeting"]

Curve = Callable[[Floats], Floats]
_ZEROED = "one row replaced by zeros"


@dataclass(frozen=True, kw_only=True)
class PrivacyProfile:
    """What differential privacy promises about one release: δ as a function of ε.

    Parameters
    ----------
    curve : callable
        δ at an array of ε; never increasing.
    mechanism : str
        What was released, in words.
    method : str
        How the curve was computed: "exact", "asymptotic", "guarantee" or "black box".
    pure_epsilon : float
        The ε beyond which δ is exactly 0; infinite where there is none.
    worst_record : int or None
        Row of the data with the largest δ at ε = 0 (None where the promise does not depend on a row).
    leverage, residual_share : float or None
        What explains the worst record: how much it alone decides its own fitted value, and its share of the
        squared residuals.
    neighbours : str
        Which change of the data the promise is about.
    relative : bool
        Whether the promise holds for this data set only.
    lower_curve : callable or None
        Lower confidence bounds, for estimates.
    confidence : float or None
        The confidence of those bounds, all of them together.

    Notes
    -----
    A profile of an estimate computed from data is **relative to the data at hand**: it compares this data
    set with its own neighbours (one row zeroed), and says nothing about another data set. Least squares has
    unbounded sensitivity, so no useful release of it is private for every data set (private-ols, Cor. 1).

    Examples
    --------
    >>> from tellall.privacy import gaussian_delta
    >>> profile = PrivacyProfile(curve=lambda e: gaussian_delta(e, 1.0, 2.0), mechanism="a noisy sum")
    >>> round(float(profile.delta(0.0)), 6), round(profile.epsilon(1e-5), 4)
    (0.197413, 1.9931)
    """

    curve: Curve = field(repr=False)
    mechanism: str
    method: str = "exact"
    pure_epsilon: float = float("inf")
    worst_record: int | None = None
    leverage: float | None = None
    residual_share: float | None = None
    neighbours: str = _ZEROED
    relative: bool = True
    lower_curve: Curve | None = field(default=None, repr=False)
    confidence: float | None = None

    def delta(self, epsilon: ArrayLike) -> Floats:
        """The δ promised at ε (a number or an array): the larger direction, the worst record."""
        eps = as_epsilons(epsilon)
        value = np.asarray(self.curve(np.atleast_1d(eps)), dtype=np.float64).reshape(eps.shape)
        return np.clip(value, 0.0, 1.0)[()]

    def epsilon(self, delta: float) -> float:
        """The least ε promised at δ; infinite where no ε meets it."""
        return least_epsilon(self.curve, delta, ceiling=self.pure_epsilon)

    def lower(self, epsilon: ArrayLike) -> Floats:
        """A lower bound on δ at ε: the confidence bound of an estimate, or the curve itself where exact."""
        if self.lower_curve is None:
            return self.delta(epsilon)
        eps = as_epsilons(epsilon)
        value = np.asarray(self.lower_curve(np.atleast_1d(eps)), dtype=np.float64).reshape(eps.shape)
        return np.clip(value, 0.0, 1.0)[()]

    def __str__(self) -> str:
        scope = (
            f"Relative to the data at hand: it compares this data set with its neighbours ({self.neighbours})"
            " and promises nothing about any other data set."
            if self.relative
            else f"For every data set that obeys the stated bound; neighbours: {self.neighbours}."
        )
        lines = [f"Privacy profile of {self.mechanism} ({self.method}).", scope]
        at_zero = float(self.delta(0.0))
        if self.worst_record is not None:
            why = ""
            if self.leverage is not None:
                why = f", leverage {self.leverage:.4g}"
            if self.residual_share is not None:
                why += f", residual share {self.residual_share:.4g}"
            lines.append(f"Worst record: row {self.worst_record}{why}.")
        lines.append(f"δ(0) = {at_zero:.4g}, δ(1) = {float(self.delta(1.0)):.4g}.")
        if self.method == "black box":
            lines.append(
                f"Estimated from draws; δ(1) is at least {float(self.lower(1.0)):.4g} "
                f"({100 * (self.confidence or 0.0):g} % confidence over the grid). "
                "An estimate promises nothing."
            )
        elif np.isfinite(self.pure_epsilon):
            lines.append(f"Pure: δ = 0 from ε = {self.pure_epsilon:.6g} on.")
        elif at_zero < 1.0:
            lines.append(f"ε(δ = 1e-5) = {self.epsilon(1e-5):.4g}.")
        return "\n".join(lines)


def least_epsilon(curve: Curve, delta: float, *, ceiling: float = float("inf")) -> float:
    """The least ε whose δ is at most `delta`; infinite where there is none below 10 000."""
    goal = as_probability("delta", delta)

    def value(eps: float) -> float:
        return float(np.asarray(curve(np.array([eps])))[0])

    if value(0.0) <= goal:
        return 0.0
    high = ceiling
    if not np.isfinite(high):
        high = 1.0
        while value(high) > goal:
            high *= 2.0
            if high > 1e4:
                return float("inf")
    return _squeeze(value, goal, 0.0, high)


def least_meeting(
    falling: Callable[[float], float], goal: float, *, start: float, factor: float = 4.0
) -> float:
    """The least positive argument at which a falling function is at most `goal`, to 1e-13 relative."""
    low = high = start
    for _ in range(200):
        if falling(high) <= goal:
            break
        low, high = high, high * factor
    else:
        return float("inf")
    while low == high or falling(low) <= goal:
        high, low = low, low / factor
        if low < 1e-250:
            return 0.0
    return _squeeze(falling, goal, low, high)


def _squeeze(falling: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """The crossing in (low, high], always returned on the side where the goal is met.

    False position on ln(value/goal) with the Illinois weights, and a halving step whenever the bracket did
    not shrink by half: about ten evaluations where the curve is smooth, never more than a bisection's.
    """

    def gap(at: float) -> float:
        value = falling(at)
        return float(np.log(value / goal)) if value > 0.0 else -np.inf

    at_low, at_high = gap(low), gap(high)
    side = 0
    for _ in range(200):
        width = high - low
        if width <= 1e-14 * high:
            break
        if np.isfinite(at_low) and np.isfinite(at_high) and at_low > at_high:
            middle = low + width * at_low / (at_low - at_high)
            # Step a hair past the estimate: the returned end then closes in as well.
            middle = float(np.clip(middle, low + 0.001 * width, high - 0.001 * width))
        else:
            middle = low + width / 2.0
        value = gap(middle)
        if value <= 0.0:
            high, at_high = middle, value
            at_low = at_low / 2.0 if side == 1 else at_low
            side = 1
        else:
            low, at_low = middle, value
            at_high = at_high / 2.0 if side == -1 else at_high
            side = -1
        if high - low > width / 2.0:
            middle = low + (high - low) / 2.0
            value = gap(middle)
            if value <= 0.0:
                high, at_high = middle, value
            else:
                low, at_low = middle, value
            side = 0
    return high
