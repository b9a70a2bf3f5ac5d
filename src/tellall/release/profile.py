"""What Gaussian noise promises: δ(ε) of the Gaussian mechanism, and the least noise for a promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tellall.core.errors import invalid

__all__ = [
    "Direction",
    "Floats",
    "PrivacyProfile",
    "as_counts",
    "as_direction",
    "as_epsilons",
    "as_fractions",
    "as_numbers",
    "as_one",
    "as_probability",
    "checked_epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_std",
    "least_epsilon",
    "least_meeting",
    "linear_loss_expectation",
    "one_count",
]

# The rules that arguments of the privacy curves obey, checked once and in the same words.

_MOST_ROWS = 10**9

Floats = NDArray[np.float64]
Direction = Literal["larger", "forward", "backward"]


def as_direction(direction: str) -> Direction:
    """The direction of a privacy curve: data to neighbour, neighbour to data, or the larger of the two."""
    for known in get_args(Direction):
        if direction == known:
            return known  # type: ignore[no-any-return]
    raise invalid("direction", "'larger', 'forward' (data to neighbour) or 'backward'", direction)


def as_numbers(
    name: str, value: ArrayLike, *, rule: str = "finite numbers", least: float = -np.inf, above: bool = False
) -> Floats:
    """The argument as float64, none of it NaN or below `least` (or not above it, with ``above=True``)."""
    try:
        if np.iscomplexobj(value):  # its imaginary part would be lost
            raise TypeError
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, rule, value) from None
    wrong = np.isnan(numbers) | ((numbers <= least) if above else (numbers < least))
    if wrong.any():
        raise invalid(name, rule, float(numbers[wrong][0]))
    return numbers


def as_epsilons(value: ArrayLike) -> Floats:
    """The ε as float64, zero or more and finite."""
    numbers = as_numbers("epsilon", value, rule="zero or more", least=0.0)
    if np.isinf(numbers).any():
        raise invalid("epsilon", "a finite number, zero or more", float("inf"))
    return numbers


def as_fractions(name: str, value: ArrayLike) -> Floats:
    """The argument as float64 between 0 and 1, both included."""
    numbers = as_numbers(name, value, rule="between 0 and 1", least=0.0)
    if (numbers > 1.0).any():
        raise invalid(name, "between 0 and 1", float(numbers[numbers > 1.0][0]))
    return numbers


def as_counts(name: str, value: ArrayLike, *, least: int = 1) -> Floats:
    """The argument as whole numbers (held as float64), at least `least`."""
    rule = f"a whole number, {least} or more"
    numbers = as_numbers(name, value, rule=rule, least=float(least))
    wrong = (numbers != np.floor(numbers)) | np.isinf(numbers)
    if wrong.any():
        raise invalid(name, rule, float(numbers[wrong][0]))
    return numbers


def as_one(name: str, numbers: Floats) -> float:
    """The argument, checked already, if it is one number and no array."""
    if numbers.ndim:
        raise invalid(name, "one number", f"an array of shape {numbers.shape}")
    return float(numbers)


def one_count(name: str, value: ArrayLike) -> int:
    """One whole number of 1 or more, that an array can have so many rows."""
    count = as_one(name, as_counts(name, value))
    if count > _MOST_ROWS:
        raise invalid(name, f"at most {_MOST_ROWS:,}", value)
    return int(count)


def as_probability(name: str, value: float) -> float:
    """One number strictly between 0 and 1."""
    rule = "strictly between 0 and 1"
    number = as_one(name, as_numbers(name, value, rule=rule))
    if not 0.0 < number < 1.0:
        raise invalid(name, rule, value)
    return number


def checked_epsilon(value: float, *, positive: bool = False) -> float:
    """One ε: zero or more (above zero with ``positive=True``)."""
    number = as_one("epsilon", as_epsilons(value))
    if positive and number == 0.0:
        raise invalid("epsilon", "above zero", value)
    return number


# A privacy profile: the δ that a release promises at every ε, for the data at hand.

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
    >>> from tellall.release.profile import gaussian_delta
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
        ratio = float(np.log(value / goal)) if value > 0.0 else -np.inf
        return max(ratio, 1e-300) if value > goal else ratio  # a quotient may round to 1, a goal is a goal

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


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def gaussian_delta(
    epsilon: ArrayLike, sensitivity: ArrayLike, std: ArrayLike, *, direction: str = "larger"
) -> Floats:
    """The δ of adding normal noise to a value that moves by `sensitivity` between the neighbours.

    Parameters
    ----------
    epsilon : array_like
        Zero or more.
    sensitivity : array_like
        Euclidean distance between the two exact values; infinite gives δ = 1, zero gives 0.
    std : array_like
        Standard deviation of the noise on each coordinate, above zero.
    direction : {"larger", "forward", "backward"}
        Accepted for symmetry with the other curves: both directions are equal here.

    Returns
    -------
    ndarray
        δ in [0, 1], broadcast over the arguments (a number for numbers).

    Notes
    -----
    With c = sensitivity/std, δ(ε) = Φ(c/2 − ε/c) − e^ε Φ(−c/2 − ε/c): Prop. 1 of private-ols, and the
    analytic Gaussian mechanism of Balle and Wang. Written with the scaled complementary error function and,
    for c < 1/2, as the integral of its derivative, so that no digits cancel (the printed sum of error
    functions loses all of them for small δ; its Prop. 2 prints exp for erf, E-PO-4). O(1) each.

    Examples
    --------
    >>> float(gaussian_delta(1.0, 1.0, 3.730631634815942).round(10))
    1e-05
    >>> gaussian_delta([0.0, 1.0], 0.0, 1.0)
    array([0., 0.])
    """
    as_direction(direction)
    eps = as_epsilons(epsilon)
    moved = as_numbers("sensitivity", sensitivity, rule="zero or more", least=0.0)
    noise = as_numbers("std", std, rule="above zero", least=0.0, above=True)
    eps, ratio = np.broadcast_arrays(eps, moved / noise)
    out = np.where(np.isinf(ratio), 1.0, 0.0)
    inside = (ratio > 0.0) & np.isfinite(ratio)
    out[inside] = _curve(eps[inside], ratio[inside])
    return out[()]


def _curve(eps: Floats, ratio: Floats) -> Floats:
    lower, upper = eps / ratio - ratio / 2.0, eps / ratio + ratio / 2.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # Q(lower) − e^ε Q(upper), and e^ε φ(upper) = φ(lower): factor the common normal density out.
        half = np.exp(-0.5 * lower**2) / 2.0
        tail = half * special.erfcx(upper / np.sqrt(2.0))
        direct = special.ndtr(-lower) - tail
        scaled = half * (special.erfcx(lower / np.sqrt(2.0)) - special.erfcx(upper / np.sqrt(2.0)))
        at = lower[..., None] + ratio[..., None] * (_NODES + 1.0) / 2.0
        slope = np.sqrt(2.0 / np.pi) - at * special.erfcx(at / np.sqrt(2.0))
        smooth = half * ratio / 2.0 * (slope @ _WEIGHTS)
    out = np.where(lower > 0.0, scaled, direct)
    out = np.where(ratio < 0.5, smooth, out)
    # A far lower end (ε/c beyond every double) leaves nothing to integrate.
    return np.clip(np.where(lower > 40.0, 0.0, out), 0.0, 1.0)


def gaussian_std(epsilon: float, delta: float, *, sensitivity: float = 1.0) -> float:
    """The least noise that makes a value of this sensitivity (ε, δ)-private.

    Notes
    -----
    Inverts `gaussian_delta` in std (δ falls in it) to about 1e-13 relative, always on the private side:
    `gaussian_delta` at what is returned is at most δ. The classical √(2 ln(1.25/δ))/ε is larger for small ε
    and too small for large ε.

    Examples
    --------
    >>> round(gaussian_std(1.0, 1e-5), 10)
    3.7306316348
    """
    goal = as_probability("delta", delta)
    moved = float(as_numbers("sensitivity", sensitivity, rule="zero or more", least=0.0))
    eps = as_epsilons(epsilon)
    if moved == 0.0:
        return 0.0
    # for this sensitivity itself: scaled from that of 1, the noise could round to the wrong side
    return least_meeting(lambda std: float(gaussian_delta(eps, moved, std)), goal, start=moved)


def gaussian_epsilon(delta: float, sensitivity: float, std: float) -> float:
    """The ε that Gaussian noise of this size promises at δ."""
    return least_epsilon(lambda eps: gaussian_delta(eps, sensitivity, std), delta)


def linear_loss_expectation(slope: ArrayLike, offset: ArrayLike) -> Floats:
    """E max(0, 1 − exp(bX + c)) for X standard normal, b = `slope`, c = `offset`.

    Notes
    -----
    Φ(−c/b) − e^(c + b²/2) Φ(−c/b − b): private-ols, Prop. 11 (which prints exp for erf, E-PO-4).

    Examples
    --------
    >>> float(linear_loss_expectation(0.7, 0.3).round(12))
    0.110712948666
    """
    b = np.abs(as_numbers("slope", slope))
    c = as_numbers("offset", offset)
    b, c = np.broadcast_arrays(b, c)
    out = np.asarray(-np.expm1(np.minimum(c, 0.0)))
    some = b > 0.0
    at = -c[some] / b[some]
    tail = np.exp(c[some] + b[some] ** 2 / 2.0 + special.log_ndtr(at - b[some]))
    out[some] = np.clip(special.ndtr(at) - tail, 0.0, 1.0)
    return out[()]
