"""What Wishart noise on a table of second moments promises: δ(ε) for one record from its length."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tellall.core.checks import above_zero, at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.protections.profile import Floats, as_epsilons, as_numbers, as_sides

__all__ = [
    "wishart_degrees",
    "wishart_delta",
]

_NODES, _MASSES = np.polynomial.legendre.leggauss(40)
_PANELS = 12
# Where the rest of an integral is this share of it or less, it is left out.
_REST = 1e-20
_LEAST = 1e-290
_MOST = 10**9


def wishart_delta(
    epsilon: ArrayLike, length: ArrayLike, degrees: int, columns: int, *, direction: str = "larger"
) -> Floats:
    """Returns the δ of publishing DᵀD + W with Wishart noise W, one row of D zeroed.

    Parameters
    ----------
    epsilon, length : array_like
        ε of zero or more; the squared length of the row over the scale c² of the noise, zero or more. The
        two are broadcast together.
    degrees, columns : int
        W is the sum of `degrees` products ggᵀ of normal vectors g of variance c² in `columns` dimensions;
        degrees of columns + 1 or more.
    direction : {"larger", "forward", "backward"}
        "forward" is data to neighbour.

    Notes
    -----
    The densities' ratio depends on the noise through one number, X = ‖v‖²/(vᵀW⁻¹v c²) for the row v. It is
    chi-square with ν = degrees − columns + 1 degrees of freedom with the row, and less by s = ‖v‖²/c² without
    it. So δ is that of adding a chi-square number to 0 or to −s: with S and F its survival and distribution
    function and m = (ν − 2)/2,

        δ = S(t) − e^ε S(t + s),    t = s/(e^((s/2 − ε)/m) − 1) where ε < s/2, else 0
        δ = F(t + s) − e^ε F(t),    t = s/(e^((s/2 + ε)/m) − 1)

    forward and backward. Half-lines are the best tests at every s and both differences grow with s, so that
    the longest row decides. Integrated, not subtracted: relative error below 1e-11 if δ exceeds 1e-280.

    Examples
    --------
    >>> float(wishart_delta(1.0, 1.0, 60, 3).round(10))
    2.46e-08
    """
    sides, eps = as_sides(direction), as_epsilons(epsilon)
    whole("columns", columns, most=_MOST)
    whole("degrees", degrees, most=_MOST)
    if degrees <= columns:
        raise invalid("degrees", f"more than the columns, {columns}", degrees)
    size = as_numbers("length", length, rule="zero or more", least=0.0)
    eps, size = np.broadcast_arrays(eps, size)
    freedom = degrees - columns + 1
    flat = eps.reshape(-1), size.reshape(-1)
    larger: Floats = np.maximum.reduce([(_forward if one else _backward)(*flat, freedom) for one in sides])
    return np.asarray(np.clip(larger, 0.0, 1.0).reshape(eps.shape))[()]


def _log_density(x: Floats, freedom: int) -> Floats:
    half = freedom / 2.0
    return np.asarray(special.xlogy(half - 1.0, x / 2.0) - x / 2.0 - special.gammaln(half) - math.log(2.0))


def _threshold(shift: Floats, loss: Floats, freedom: int) -> Floats:
    """Where m ln(1 + shift/x) is this loss."""
    m = (freedom - 2) / 2.0
    if not m:
        return np.zeros_like(shift)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where(loss > 0.0, shift / np.expm1(loss / m), np.inf)


def _integral(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The points of a rule in panels between two ends (B × points), and their weights."""
    edges = np.linspace(0.0, 1.0, _PANELS + 1)
    unit = (edges[:-1, None] + (_NODES + 1.0) / 2.0 * np.diff(edges)[:, None]).reshape(-1)
    weights = np.tile(_MASSES / (2.0 * _PANELS), _PANELS)
    width = (high - low)[:, None]
    return low[:, None] + width * unit, width * weights


def _forward(eps: Floats, shift: Floats, freedom: int) -> Floats:
    """∫ f(x) (1 − e^(ε − L(x))) dx beyond t, where the loss is L = s/2 − m ln(1 + s/x).

    x = u² here and below, since densities have a root's branch at 0.
    """
    out = np.zeros(eps.shape)
    half, m = freedom / 2.0, (freedom - 2) / 2.0
    start = _threshold(shift, shift / 2.0 - eps, freedom)
    tail = np.where(eps < shift / 2.0, special.gammaincc(half, start / 2.0), 0.0)
    some = np.flatnonzero(tail > _LEAST)
    if not some.size:
        return out
    e = eps[some, None]
    s = shift[some, None]
    low = start[some]
    high = 2.0 * special.gammainccinv(half, np.maximum(tail[some] * _REST, 5e-324))
    u, weight = _integral(np.sqrt(low), np.sqrt(high))
    gain = -np.expm1(e - s / 2.0 + m * np.log1p(s / u**2))
    value = np.exp(_log_density(u**2, freedom)) * np.maximum(gain, 0.0) * 2.0 * u
    out[some] = (value * weight).sum(axis=1)
    return out


def _backward(eps: Floats, shift: Floats, freedom: int) -> Floats:
    """F(s) and ∫ f(x) (1 − e^(ε − L)) dx between s and s + t, where L = m ln(1 + s/(x − s)) − s/2.

    With the row nothing lies below 0, so what lies below 0 without it shows that it is missing. x = s + u².
    """
    out = np.zeros(eps.shape)
    half, m = freedom / 2.0, (freedom - 2) / 2.0
    width = _threshold(shift, shift / 2.0 + eps, freedom)
    width = np.where(shift > 0.0, width, 0.0)
    within = special.gammainc(half, (shift + width) / 2.0)
    some = np.flatnonzero((within > _LEAST) & (shift > 0.0))
    if not some.size:
        return out
    e, s = eps[some, None], shift[some, None]
    first = 2.0 * special.gammaincinv(half, np.maximum(within[some] * _REST, 5e-324))
    last = np.minimum(width[some], 2.0 * special.gammainccinv(half, 1e-300))
    u, weight = _integral(np.sqrt(np.maximum(first - shift[some], 0.0)), np.sqrt(last))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = -np.expm1(e + s / 2.0 - m * np.log1p(s / u**2))
        value = np.exp(_log_density(s + u**2, freedom)) * np.maximum(gain, 0.0) * 2.0 * u
    out[some] = special.gammainc(half, shift[some] / 2.0) + (np.nan_to_num(value) * weight).sum(axis=1)
    return out


def wishart_degrees(epsilon: float, delta: float, columns: int, *, length: float = 1.0) -> int:
    """Returns the fewest degrees of Wishart noise that are (ε, δ)-private for rows up to this length.

    Parameters
    ----------
    epsilon, delta, columns
        The promise, and the number of columns of the data.
    length : float
        The squared bound on a row's norm over the scale c² of the noise.

    Notes
    -----
    δ falls as the degrees grow: more normal vectors are a random change of what is published. Found by
    halving, at most 30 evaluations each way.

    Examples
    --------
    >>> wishart_degrees(1.0, 1e-5, 3)
    36
    """
    at_least_zero("epsilon", epsilon), share("delta", delta, zero=False, one=False)
    above_zero("length", length)
    low, high = columns, 2 * columns + 2

    def met(count: int) -> bool:
        return bool(wishart_delta(epsilon, length, count, columns) <= delta)

    while not met(high):
        if high >= _MOST:
            rule = f"one that some Wishart noise of {_MOST:,} degrees keeps"
            raise invalid("epsilon", rule, epsilon, "Use more noise: a larger scale.")
        low, high = high, min(2 * high, _MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high
