"""Privacy profiles: the δ of a release at every ε, and what Gaussian noise promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tellall.core.checks import at_least_zero, share
from tellall.core.errors import invalid
from tellall.core.shown import WithFigures
from tellall.protections.attack_rates import most_belief, most_true_positives

__all__ = [
    "Floats",
    "PrivacyProfile",
    "as_epsilons",
    "as_fractions",
    "as_numbers",
    "as_sides",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_std",
    "least_epsilon",
    "least_meeting",
    "linear_loss_expectation",
]

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]
_MOST = float(np.finfo(np.float64).max)


def as_sides(direction: str) -> tuple[bool, ...]:
    """The directions to take the larger δ of: True is data to neighbour, False the reverse."""
    sides = {"larger": (True, False), "forward": (True,), "backward": (False,)}
    if direction not in sides:
        raise invalid("direction", "'larger', 'forward' (data to neighbour) or 'backward'", direction)
    return sides[direction]


def as_numbers(
    name: str,
    value: ArrayLike,
    *,
    rule: str = "finite numbers",
    least: float = -_MOST,
    most: float = _MOST,
    above: bool = False,
) -> Floats:
    """The argument as float64; an error unless all numbers are from `least` (or above it) to `most`."""
    try:
        if np.iscomplexobj(value) or np.ma.is_masked(value):  # an imaginary part or a mask would be lost
            raise TypeError
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, rule, value) from None
    right = (numbers > least if above else numbers >= least) & (numbers <= most)  # NaN is neither
    if not right.all():
        raise invalid(name, rule, float(numbers[~right][0]))
    return numbers


def as_epsilons(value: ArrayLike) -> Floats:
    """One or more ε as float64."""
    return as_numbers("epsilon", value, rule="zero or more and finite", least=0.0)


def as_fractions(name: str, value: ArrayLike) -> Floats:
    """The argument as float64 between 0 and 1, both included."""
    return as_numbers(name, value, rule="between 0 and 1", least=0.0, most=1.0)


@dataclass(frozen=True, kw_only=True)
class PrivacyProfile(WithFigures):
    """What differential privacy promises about one release: δ as a function of ε.

    Notes
    -----
    A profile of an estimate computed from data is **relative to the data at hand**: it compares this data
    set with its own neighbours (one row zeroed), and says nothing about another data set. Least squares has
    unbounded sensitivity, so no release of it with a small mean squared error is private for every data set
    (private-ols, Lemma 6; E-PO-6).
    The worst record is the row with the largest δ at ε = 0; its leverage (how much it alone decides its own
    fitted value) and its share of the squared residuals say why.

    Examples
    --------
    >>> from tellall.protections.profile import gaussian_delta
    >>> profile = PrivacyProfile(curve=lambda e: gaussian_delta(e, 1.0, 2.0), mechanism="a noisy sum")
    >>> round(float(profile.delta(0.0)), 6), round(profile.epsilon(1e-5), 4)
    (0.197413, 1.9931)
    """

    curve: Curve = field(repr=False)  # δ at an array of ε; never increasing
    mechanism: str  # what was released, in words
    # how the curve was computed: "exact", "asymptotic", "guarantee", "black box", or "lower bound" of one
    method: str = "exact"
    pure_epsilon: float = float("inf")  # the ε beyond which δ is exactly 0; infinite if it never is
    worst_record: int | None = None  # None if the promise does not depend on a row
    leverage: float | None = None
    residual_share: float | None = None
    neighbours: str = "one row replaced by zeros"  # which change of the data the promise is about
    relative: bool = True  # whether the promise holds for this data set only
    lower_curve: Curve | None = field(default=None, repr=False)  # of an estimate: lower confidence bounds
    confidence: float | None = None  # the confidence of those bounds, all of them together

    def delta(self, epsilon: ArrayLike) -> Floats:
        """The δ promised at ε (a number or an array), for the worst record and the larger direction."""
        return _evaluate(self.curve, epsilon)

    def epsilon(self, delta: float) -> float:
        """The least ε promised at δ; infinite if no ε meets it."""
        return least_epsilon(self.curve, delta, ceiling=self.pure_epsilon)

    def lower(self, epsilon: ArrayLike) -> Floats:
        """A lower bound on δ at ε: the confidence bound of an estimate, or the curve itself if exact."""
        return _evaluate(self.lower_curve or self.curve, epsilon)

    @property
    def proved(self) -> PrivacyProfile:
        """What draws prove of an estimated profile: its lower bounds as a profile. An exact one is itself."""
        if self.lower_curve is None:
            return self
        return replace(self, curve=self.lower_curve, lower_curve=None, method="lower bound")

    def advantage(self) -> float:
        """The most by which any attack's true-positive rate exceeds its false-positive rate: δ(0).

        The attack tells the data from a neighbour, knowing both; with a fair coin before, it is right in
        (1 + advantage)/2 of all cases.
        """
        return float(self.delta(0.0))

    def tpr(self, fpr: ArrayLike) -> Floats:
        """The largest true-positive rate of any attack with this false-positive rate (a number or an array).

        Notes
        -----
        min over ε of e^ε·fpr + δ(ε) and 1 − e^−ε (1 − δ(ε) − fpr): 1 minus the trade-off function. δ is the
        larger one of both directions.

        Examples
        --------
        >>> profile = PrivacyProfile(curve=lambda e: gaussian_delta(e, 1.0, 1.0), mechanism="a noisy sum")
        >>> profile.tpr([0.01, 0.1]).round(4).tolist()
        [0.0924, 0.3891]
        """
        rates = as_fractions("fpr", fpr)
        found = most_true_positives(self.curve, rates.ravel(), self.pure_epsilon)
        return found.reshape(rates.shape)[()]

    def posterior(self, prior: ArrayLike, fpr: float | None = None) -> Floats:
        """How sure the best attack can be that somebody whom it names was in the data.

        Parameters
        ----------
        prior
            How likely that was before (a number or an array).
        fpr
            The false-positive rate of the attack. By default the attack is the one with the largest
            advantage. At 0 the answer is a limit for every attack and every release, which is 1 unless
            some ε is promised with δ = 0.

        Notes
        -----
        prior·tpr/(prior·tpr + (1 − prior)·fpr). With the largest advantage A the rates are (1 ± A)/2, so the
        odds grow by (1 + A)/(1 − A); for a mechanism of which only a pure ε is known this is e^ε.

        Examples
        --------
        >>> profile = PrivacyProfile(curve=lambda e: gaussian_delta(e, 1.0, 1.0), mechanism="a noisy sum")
        >>> profile.posterior([0.01, 0.5]).round(4).tolist()
        [0.0221, 0.6915]
        """
        before = as_fractions("prior", prior)
        if fpr is None:
            gained = self.advantage()
            said = np.array((1.0 + gained) / 2.0)
            wrong = np.array((1.0 - gained) / 2.0)
        else:
            wrong = np.array(share("fpr", fpr))
            said = self.tpr(wrong)
        return most_belief(before, said, wrong, self.pure_epsilon)[()]

    def __str__(self) -> str:
        scope = (
            f"Relative to the data at hand: it compares this data set with its neighbours ({self.neighbours})"
            " and promises nothing about any other data set."
            if self.relative
            else f"For every data set that obeys the stated bound; neighbours: {self.neighbours}."
        )
        lines = [f"Privacy profile of {self.mechanism} ({self.method}).", scope]
        if self.worst_record is not None:
            why = "" if self.leverage is None else f", leverage {self.leverage:.4g}"
            why += "" if self.residual_share is None else f", residual share {self.residual_share:.4g}"
            lines.append(f"Worst record: row {self.worst_record}{why}.")
        at_zero = float(self.delta(0.0))
        lines.append(f"δ(0) = {at_zero:.4g}, δ(1) = {float(self.delta(1.0)):.4g}.")
        if self.method == "asymptotic":
            lines.append("The limit of many rows: an approximation, which promises nothing.")
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


def _evaluate(curve: Curve, epsilon: ArrayLike) -> Floats:
    eps = as_epsilons(epsilon)
    value = np.asarray(curve(np.atleast_1d(eps)), dtype=np.float64).reshape(eps.shape)
    return np.clip(value, 0.0, 1.0)[()]


def least_epsilon(curve: Curve, delta: float, *, ceiling: float = float("inf")) -> float:
    """The least ε whose δ is at most `delta`; infinite if none below 10 000 is."""
    goal = share("delta", delta, zero=False, one=False)

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
    """The crossing in (low, high], always returned on the side that meets the goal.

    False position on ln(value/goal) with the Illinois weights, and a halving step whenever the bracket did
    not shrink by half: about ten evaluations if the curve is smooth, never more than twice a bisection's.
    """

    def gap(at: float) -> float:
        value = falling(at)
        ratio = float(np.log(value / goal)) if value > 0.0 else -np.inf
        return max(ratio, 1e-300) if value > goal else ratio  # positive even if the quotient rounds to 1

    at_low = gap(low)
    at_high = gap(high)
    halve = False
    before = None
    for _ in range(400):
        width = high - low
        if width <= 1e-14 * high:
            break
        part = 0.5
        if not halve and np.isfinite(at_low) and np.isfinite(at_high) and at_low > at_high:
            # stay slightly inside the bracket, so that the returned end moves too
            part = float(np.clip(at_low / (at_low - at_high), 0.001, 0.999))
        middle = low + width * part
        value = gap(middle)
        met = value <= 0.0
        if met:
            high = middle
            at_high = value
            at_low = at_low / 2.0 if before is True and not halve else at_low
        else:
            low = middle
            at_low = value
            at_high = at_high / 2.0 if before is False and not halve else at_high
        before = None if halve else met
        halve = not halve and high - low > width / 2.0
    return high


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def gaussian_delta(
    epsilon: ArrayLike, sensitivity: ArrayLike, std: ArrayLike, *, direction: str = "larger"
) -> Floats:
    """The δ of adding normal noise to a value that moves by `sensitivity` between the neighbours.

    Parameters
    ----------
    epsilon, sensitivity, std : array_like
        ε of zero or more; the Euclidean distance between the two exact values (infinite gives δ = 1, zero
        gives 0); the standard deviation of the noise on each coordinate. The three are broadcast together.
    direction : {"larger", "forward", "backward"}
        Accepted for consistency with the other curves; both directions are equal here.

    Notes
    -----
    With c = sensitivity/std

        δ(ε) = Φ(c/2 − ε/c) − e^ε Φ(−c/2 − ε/c),

    Prop. 1 of private-ols, and the
    analytic Gaussian mechanism of Balle and Wang. Written with the scaled complementary error function and,
    for c < 1/2, as the integral of its derivative, so that no digits cancel (the printed sum of error
    functions loses all of them for small δ; our copy of Prop. 2 has exp for erf, E-PO-4). O(1) each.

    Examples
    --------
    >>> float(gaussian_delta(1.0, 1.0, 3.730631634815942).round(10))
    1e-05
    >>> gaussian_delta([0.0, 1.0], 0.0, 1.0)
    array([0., 0.])
    """
    as_sides(direction)
    eps = as_epsilons(epsilon)
    moved = as_numbers("sensitivity", sensitivity, rule="zero or more", least=0.0, most=np.inf)
    noise = as_numbers("std", std, rule="above zero", least=0.0, most=np.inf, above=True)
    with np.errstate(over="ignore", invalid="ignore"):
        eps, ratio = np.broadcast_arrays(eps, moved / noise)
    # An infinite move hides behind no noise, not even an infinite one.
    out = np.where(np.isfinite(ratio), 0.0, 1.0)
    inside = (ratio > 0.0) & np.isfinite(ratio)
    out[inside] = _curve(eps[inside], ratio[inside])
    return out[()]


def _curve(eps: Floats, ratio: Floats) -> Floats:
    lower = eps / ratio - ratio / 2.0
    upper = eps / ratio + ratio / 2.0
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
    # beyond this lower end δ is zero in double precision
    return np.clip(np.where(lower > 40.0, 0.0, out), 0.0, 1.0)


def gaussian_std(epsilon: float, delta: float, *, sensitivity: float = 1.0) -> float:
    """The least noise that makes a value of this sensitivity (ε, δ)-private.

    Notes
    -----
    Inverts `gaussian_delta` in std, in which δ falls, to about 1e-13 relative and always on the private side:
    `gaussian_delta` at the result is at most δ. The classical √(2 ln(1.25/δ))/ε is larger for small ε
    and too small for large ε.

    Examples
    --------
    >>> round(gaussian_std(1.0, 1e-5), 10)
    3.7306316348
    """
    goal = share("delta", delta, zero=False, one=False)
    moved = at_least_zero("sensitivity", sensitivity, finite=False)
    eps = at_least_zero("epsilon", epsilon)
    if moved in (0.0, np.inf):
        return moved
    # solved at this sensitivity: scaling the solution for 1 could round to the wrong side
    return least_meeting(lambda std: float(gaussian_delta(eps, moved, std)), goal, start=moved)


def gaussian_epsilon(delta: float, sensitivity: float, std: float) -> float:
    """The ε that Gaussian noise of this size promises at δ."""
    return least_epsilon(lambda eps: gaussian_delta(eps, sensitivity, std), delta)


def linear_loss_expectation(slope: ArrayLike, offset: ArrayLike) -> Floats:
    """E max(0, 1 − exp(bX + c)) for X standard normal, b = `slope`, c = `offset`.

    Notes
    -----
    Φ(−c/b) − e^(c + b²/2) Φ(−c/b − b): private-ols, Prop. 11 (our copy has exp for erf, E-PO-4).

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
