"""What a random projection promises: δ(ε) of publishing Gᵀ D, and how much to pad D for a promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tellall.core.checks import above_zero, at_least_zero, share, whole
from tellall.core.errors import invalid
from tellall.protections.profile import (
    Floats,
    as_epsilons,
    as_fractions,
    as_numbers,
    as_sides,
    least_meeting,
)

__all__ = [
    "Padding",
    "padding",
    "projection_delta",
    "projection_leverage",
    "square_loss_expectation",
]

Padding = Literal["exact", "sqrt", "printed"]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_UNIT = (_NODES + 1.0) / 2.0


def projection_delta(
    epsilon: ArrayLike, joint_leverage: ArrayLike, rows: ArrayLike, *, direction: str = "larger"
) -> Floats:
    """Returns the δ of publishing a Gaussian projection of the data to `rows` rows, one data row zeroed.

    Parameters
    ----------
    epsilon, rows : array_like
        ε of zero or more, and the number of rows of the projection; δ is broadcast over the arguments.
    joint_leverage : array_like
        Leverage of the row in [features, response] together, in [0, 1]. Zero gives δ = 0, one gives 1.
    direction : {"larger", "forward", "backward"}
        "forward" is data to neighbour.

    Notes
    -----
    With p the leverage, r the rows, S and F the chi-square survival and distribution functions of r degrees,
    δ is the first of these forward and the second backward, where it is 0 if T' ≤ 0:

        δ = S((1−p)T) − e^ε S(T),   T = (2ε − r ln(1−p))/p
        δ = F(T') − e^ε F((1−p)T'),   T' = (−2ε − r ln(1−p))/p

    This replaces the form printed in Lemma 11 of private-ols, which uses r times a chi-square of one degree
    in place of a chi-square of r degrees (E-PO-1: at p = 0.1, r = 5, ε = 0.5 it gives −0.018, but δ is
    0.0020), and its rule for the direction (E-PO-2). For one row these are Lemma 10's formulas.
    If both terms are nearly equal (p < 0.1), the difference is integrated instead of subtracted: relative
    error below 1e-11 if δ exceeds 1e-300. O(1) each.

    Examples
    --------
    >>> float(projection_delta(0.5, 0.1, 5).round(6))
    0.002045
    >>> float(projection_delta(0.0, 0.25, 2))
    0.10546875
    """
    sides, eps = as_sides(direction), as_epsilons(epsilon)
    leverage = as_fractions("joint_leverage", joint_leverage)
    rule = "a whole number of 1 or more"
    count = as_numbers("rows", rows, rule=rule, least=1.0, most=2.0**53)
    if (count != np.floor(count)).any():
        raise invalid("rows", rule, rows)
    eps, leverage, count = np.broadcast_arrays(eps, leverage, count)
    out = np.where(leverage >= 1.0, 1.0, 0.0)
    inside = (leverage > 0.0) & (leverage < 1.0)
    args = eps[inside], leverage[inside], count[inside]
    out[inside] = np.maximum.reduce([(_forward if one else _backward)(*args) for one in sides])
    return out[()]


def _forward(eps: Floats, leverage: Floats, rows: Floats) -> Floats:
    span = 2.0 * eps - rows * np.log1p(-leverage)
    near, far = span / leverage - span, span / leverage
    with np.errstate(over="ignore", invalid="ignore"):
        tail = np.exp(np.minimum(eps, 700.0)) * special.gammaincc(rows / 2.0, far / 2.0)
    direct = special.gammaincc(rows / 2.0, near / 2.0) - np.where(np.isfinite(tail), tail, 0.0)
    return _careful(direct, special.gammaincc, eps, leverage, rows, span, _UNIT)


def _backward(eps: Floats, leverage: Floats, rows: Floats) -> Floats:
    span = -2.0 * eps - rows * np.log1p(-leverage)
    reached = span > 0.0
    span, eps = np.where(reached, span, 1.0), np.where(reached, eps, 0.0)
    near, far = span / leverage - span, span / leverage
    direct = special.gammainc(rows / 2.0, far / 2.0) - np.exp(eps) * special.gammainc(rows / 2.0, near / 2.0)
    value = _careful(direct, special.gammainc, eps, leverage, rows, span, 1.0 - _UNIT)
    return np.where(reached, value, 0.0)


def _careful(
    direct: Floats,
    tail: Callable[[Floats, Floats], Floats],
    eps: Floats,
    leverage: Floats,
    rows: Floats,
    span: Floats,
    along: Floats,
) -> Floats:
    """Returns the difference directly, or, if it cancels, as one integral between the two thresholds.

    The integrand is e^(ε·along)(density − ε/span · tail), `tail` being the survival or distribution function.
    """
    at = (span / leverage - span)[..., None] + span[..., None] * _UNIT
    inner = _density(at, rows[..., None]) - (eps / span)[..., None] * tail(rows[..., None] / 2.0, at / 2.0)
    smooth = span / 2.0 * ((np.exp(eps[..., None] * along) * inner) @ _WEIGHTS)
    return np.clip(np.where((leverage < 0.1) & (span < 20.0), smooth, direct), 0.0, 1.0)


def _density(at: Floats, rows: Floats) -> Floats:
    """Returns the chi-square density, through the ratio form so that large `rows` lose no digits."""
    half = rows / 2.0
    # x^(h−1) e^(−x/2) / (2^h Γ(h)), with x/2 = h·(1+t): the large powers cancel inside h(ln(1+t) − t).
    t = at / rows - 1.0
    stirling = special.gammaln(half) - ((half - 0.5) * np.log(half) - half)
    exponent = half * (np.log1p(t) - t) - np.log(at) - stirling + 0.5 * np.log(half)
    return np.asarray(np.exp(exponent), dtype=np.float64)


def projection_leverage(epsilon: float, delta: float, rows: int) -> float:
    """Returns the largest joint leverage at which a projection to `rows` rows is (ε, δ)-private.

    Notes
    -----
    Inverts the forward `projection_delta` in p (it increases in p on every grid tried), to 1e-13 relative.

    Examples
    --------
    >>> round(projection_leverage(0.5, 1e-5, 5), 12)
    0.048796079808
    """
    eps, count = at_least_zero("epsilon", epsilon), whole("rows", rows)
    goal = share("delta", delta, zero=False, one=False)

    def falling(odds: float) -> float:  # odds = (1 − p)/p, the padding in units of the row bound, squared
        return float(projection_delta(eps, 1.0 / (1.0 + odds), count, direction="forward"))

    return 1.0 / (1.0 + least_meeting(falling, goal, start=1.0))


def padding(
    epsilon: float, delta: float, rows: int, *, row_bound: float = 1.0, c2: Padding = "exact"
) -> float:
    """The size of the padding c2·I that makes a projection (ε, δ)-private for all rows of norm ≤ `row_bound`.

    Parameters
    ----------
    epsilon, delta, rows
        The promise, and the rows of the projection.
    row_bound : float
        A public bound on the norm of a row of [features, response]. The largest norm in the data is not
        public: using it is not private.
    c2 : {"exact", "sqrt", "printed"}
        "exact" is the least padding that keeps the promise; "sqrt" Sheffet's sufficient form; "printed" the
        form printed in private-ols, Fig. 4.

    Notes
    -----
    A row of norm c1 has leverage at most p = c1²/(c1² + c2²) once c2·I is appended; "exact" solves δ(p) = δ
    and takes c2² = c1²(1−p)/p. "sqrt" is c2² = 4c1²(√(2r ln(4/δ)) + ln(4/δ))/ε; "printed", as in our copy of
    the paper, misses the square root (E-PO-3), so it is private but adds far too much noise. This holds for
    zeroed rows only: if a row is *replaced*, the exact minimum is not enough.

    Examples
    --------
    >>> [round(padding(0.5, 1e-5, 5, c2=form) ** 2, 3) for form in ("exact", "sqrt", "printed")]
    [19.493, 194.054, 1135.131]
    """
    bound = above_zero("row_bound", row_bound, finite=False)
    eps, count = at_least_zero("epsilon", epsilon), whole("rows", rows)
    goal = share("delta", delta, zero=False, one=False)
    if c2 == "exact":
        leverage = projection_leverage(eps, goal, count)
        return bound * math.sqrt((1.0 - leverage) / leverage)
    log_term = math.log(4.0 / goal)
    above_zero("epsilon", epsilon)  # these two forms divide by it
    if c2 == "sqrt":
        return bound * math.sqrt(4.0 * (math.sqrt(2.0 * count * log_term) + log_term) / eps)
    if c2 == "printed":
        return bound * math.sqrt(4.0 * (2.0 * count * log_term + log_term) / eps)
    raise invalid("c2", "'exact', 'sqrt' or 'printed'", c2)


def square_loss_expectation(scale: ArrayLike, offset: ArrayLike, *, sign: int = 1, rows: int = 1) -> Floats:
    """E max(0, 1 − exp(±a²Q + c)) for Q chi-square of `rows` degrees, a = `scale`, c = `offset`.

    Notes
    -----
    sign = −1 is Prop. 12 of private-ols, sign = +1 its Props. 13 and 14, here for any number of degrees r:

    * exp(c − a²Q): S(c/a²) − e^c (1+2a²)^(−r/2) S(c(1+2a²)/a²) for c ≥ 0, and 1 − e^c (1+2a²)^(−r/2) for
      c < 0, where the printed formula is complex (E-PO-4).
    * exp(c + a²Q): F(−c/a²) − e^c ∫₀^(−c/a²) e^(a²q) f(q) dq for c < 0, and 0 for c ≥ 0.

    Examples
    --------
    >>> float(square_loss_expectation(0.4, 0.2, sign=-1).round(12))
    0.052040302946
    >>> float(square_loss_expectation(0.3, -0.1).round(12))
    0.048490366743
    """
    if sign not in (-1, 1):
        raise invalid("sign", "1 or -1", sign)
    a2 = as_numbers("scale", scale) ** 2
    c = as_numbers("offset", offset)
    half = whole("rows", rows) / 2.0
    a2, c = np.broadcast_arrays(a2, c)
    if sign == -1:
        grown = np.exp(c) * (1.0 + 2.0 * a2) ** -half
        edge = np.maximum(c, 0.0) / a2
        kept = special.gammaincc(half, edge / 2.0) - grown * special.gammaincc(
            half, edge * (1.0 + 2.0 * a2) / 2.0
        )
        return np.asarray(np.clip(kept, 0.0, 1.0))[()]
    edge = np.maximum(-c, 0.0) / a2
    rate = (1.0 - 2.0 * a2) / 2.0
    # ∫₀^edge e^(a²q) f(q) dq = edge^h/(2^h Γ(h+1)) · M(h, h+1, −rate·edge): one entire function for a² below,
    # at and above 1/2 (Props. 14, and 13 with its erfi), by Kummer's confluent function.
    scaled = np.exp(half * np.log(np.maximum(edge, 1e-300) / 2.0) - special.gammaln(half + 1.0))
    inner = scaled * special.hyp1f1(half, half + 1.0, -rate * edge)
    value = special.gammainc(half, edge / 2.0) - np.exp(c) * inner
    return np.asarray(np.where(c >= 0.0, 0.0, np.clip(value, 0.0, 1.0)))[()]
