"""What Gaussian noise promises: δ(ε) of the Gaussian mechanism, and the least noise for a promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tellall.privacy.arguments import Floats, as_direction, as_epsilons, as_numbers, as_probability
from tellall.privacy.profile import least_epsilon, least_meeting

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_std", "linear_loss_expectation"]

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
    Inverts `gaussian_delta` in c = sensitivity/std (δ increases in c) to about 1e-13 relative, always on the
    private side. The classical √(2 ln(1.25/δ))/ε is larger for small ε and too small for large ε.

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
    ratio = least_meeting(lambda inverse: float(gaussian_delta(eps, 1.0, inverse)), goal, start=1.0)
    return moved * ratio


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
