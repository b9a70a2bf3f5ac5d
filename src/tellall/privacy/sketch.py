"""What sketched least squares promises: δ(ε) for one record from its leverage and its residual share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.errors import invalid
from tellall.privacy.arguments import Floats, as_counts, as_direction, as_epsilons, as_fractions
from tellall.privacy.normal_pair import contour_delta
from tellall.privacy.quadric import Quadric, quadric_probability

__all__ = ["sketch_delta", "sketch_pure_epsilon"]

# e^ε beyond this leaves the range of doubles once multiplied out; δ(ε) there is bounded by δ here.
_LARGEST_EPSILON = 600.0


def sketch_delta(
    epsilon: ArrayLike,
    leverage: ArrayLike,
    residual_share: ArrayLike,
    features: int,
    rows: int,
    method: str = "exact",
    *,
    direction: str = "larger",
) -> Floats:
    """The δ of publishing sketched least-squares coefficients, for a record that is there or zeroed.

    Parameters
    ----------
    epsilon : array_like
        Zero or more.
    leverage : array_like
        Leverage of the record in the features alone, in [0, 1].
    residual_share : array_like
        Its squared residual over the sum of all squared residuals, in [0, 1].
    features : int
        Number of columns, the constant among them if there is one.
    rows : int
        Rows of the Gaussian sketch, at least `features`.
    method : {"exact", "asymptotic"}
        "exact" is the law for every number of rows; "asymptotic" the paper's normal limit.
    direction : {"larger", "forward", "backward"}
        "forward" is data to neighbour.

    Returns
    -------
    ndarray
        δ in [0, 1], broadcast over epsilon, leverage and residual_share (a number for numbers).

    Notes
    -----
    The solution x̃ = (ΠB)⁺Πb is a multivariate Student t with ν = r − p + 1 degrees of freedom, location x and
    scale ‖w‖²(BᵀB)⁻¹/ν, for every r ≥ p: Πw is independent of ΠB as w is orthogonal to B. With leverage l
    and share e, κ = 1 − e/(1−l), m = √(e·l)/(1−l), ln S = p ln κ − ln(1−l), a the coordinate along the record
    and ρ the squared rest, the privacy loss is

        L = ½ ln S − ½(r+1) [ln(1 + a² + ρ) − ln(1 + ((1−l)(a+m)² + ρ)/κ)],

    and δ = P[L > ε] − e^ε P'[L > ε] is two one-dimensional integrals of incomplete beta functions. L is
    bounded, so δ is exactly 0 from `sketch_pure_epsilon` on. Lemma 3 and 8 of private-ols are the limit of
    large r ("asymptotic"), which never reaches 0 and is far off at small r. Absolute error below 1e-12; for
    ε > 600 the value at 600, an upper bound, is returned. About 50 µs for each case and direction.
    κ ≤ 0 or l = 1 (the record alone decides a coefficient, or all of the residual) gives δ = 1.

    Examples
    --------
    >>> float(sketch_delta(1.0, 0.3846, 0.1592, 4, 8).round(12))
    0.110789905443
    >>> float(sketch_delta(1.0, 0.3846, 0.1592, 4, 8, method="asymptotic").round(12))
    0.205173760778
    >>> float(sketch_delta(3.0, 0.3846, 0.1592, 4, 8))
    0.0
    """
    way = as_direction(direction)
    if method not in ("exact", "asymptotic"):
        raise invalid("method", "'exact' or 'asymptotic'", method)
    eps = as_epsilons(epsilon)
    record, shape = _records(leverage, residual_share, features, rows, eps.shape)
    eps = np.broadcast_to(eps, shape).reshape(-1)
    out = np.where(record.certain, 1.0, 0.0)
    some = np.flatnonzero(~record.certain & record.moves)
    part, e = record.take(some), eps[some]
    values = []
    for name in ("forward", "backward"):
        if way in ("larger", name):
            curve = _exact if method == "exact" else _normal
            values.append(curve(part, e, forward=name == "forward"))
    if some.size:
        out[some] = np.maximum.reduce(values)
    return out.reshape(shape)[()]


def sketch_pure_epsilon(
    leverage: ArrayLike, residual_share: ArrayLike, features: int, rows: int, *, direction: str = "larger"
) -> Floats:
    """The ε from which on the δ of sketched least squares is exactly 0 for this record.

    Notes
    -----
    The privacy loss of `sketch_delta` is ½ ln S + ½(r+1) ln of a ratio of two quadratic forms; its extremes
    are eigenvalues of a 2 × 2 matrix, and of 1/κ where there is more than one feature. private-ols has no
    such statement: its normal limit is never pure. O(1) each.

    Examples
    --------
    >>> float(sketch_pure_epsilon(0.3846, 0.1592, 4, 8).round(12))
    2.540613570452
    """
    way = as_direction(direction)
    record, shape = _records(leverage, residual_share, features, rows, ())
    out = np.where(record.certain, np.inf, 0.0)
    some = np.flatnonzero(~record.certain & record.moves)
    part = record.take(some)
    values = [
        _largest_loss(part, forward=name == "forward")
        for name in ("forward", "backward")
        if way in ("larger", name)
    ]
    if some.size:
        out[some] = np.maximum.reduce(values)
    return out.reshape(shape)[()]


@dataclass(frozen=True)
class _Records:
    """What a record changes, kept as distances from "nothing changed" so that small ones stay exact."""

    features: int
    rows: int
    shift: Floats  # m
    log_scale: Floats  # ln S
    narrow: Floats  # κ
    across: Floats  # 1/κ − 1
    along: Floats  # (1−l)/κ − 1
    certain: NDArray[np.bool_]  # the neighbour is told apart with certainty
    moves: NDArray[np.bool_]  # the record changes anything at all

    def take(self, some: NDArray[np.intp]) -> _Records:
        picked = {
            name: getattr(self, name)[some]
            for name in ("shift", "log_scale", "narrow", "across", "along", "certain", "moves")
        }
        return _Records(self.features, self.rows, **picked)


def _records(
    leverage: ArrayLike, residual_share: ArrayLike, features: int, rows: int, outer: tuple[int, ...]
) -> tuple[_Records, tuple[int, ...]]:
    p, r = int(as_counts("features", features)), int(as_counts("rows", rows))
    if r < p:
        raise invalid("rows", f"at least the number of features, {p}", r, "Sketch to more rows.")
    lev = as_fractions("leverage", leverage)
    share = as_fractions("residual_share", residual_share)
    shape = np.broadcast_shapes(outer, lev.shape, share.shape)
    lev, share = (np.broadcast_to(value, shape).reshape(-1) for value in (lev, share))
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(lev < 1.0, share / (1.0 - lev), 1.0)
    certain = (lev >= 1.0) | (lost >= 1.0)
    lev, share, lost = (np.where(certain, 0.0, value) for value in (lev, share, lost))
    narrow = 1.0 - lost
    record = _Records(
        features=p,
        rows=r,
        shift=np.sqrt(share * lev) / (1.0 - lev),
        log_scale=p * np.log1p(-lost) - np.log1p(-lev),
        narrow=narrow,
        across=lost / narrow,
        along=(lost - lev) / narrow,
        certain=certain,
        moves=(lev > 0.0) | (share > 0.0),
    )
    return record, shape


def _largest_loss(record: _Records, *, forward: bool) -> Floats:
    wide, m = 1.0 + record.along, record.shift
    first, second, cross = wide * m**2, record.along, wide * m
    spread = np.hypot((first - second) / 2.0, cross)
    half = (record.rows + 1) / 2.0
    if forward:
        top = (first + second) / 2.0 + spread
        if record.features > 1:
            top = np.maximum(top, record.across)
        return np.maximum(0.0, record.log_scale / 2.0 + half * np.log1p(top))
    bottom = (first + second) / 2.0 - spread
    # det(I + E) = 1 + along, so the smaller eigenvalue near −1 comes from the larger one without cancelling.
    top = (first + second) / 2.0 + spread
    low = np.where(bottom < -0.5, np.log(wide) - np.log1p(top), np.log1p(np.maximum(bottom, -0.75)))
    if record.features > 1:
        low = np.minimum(low, np.log1p(record.across))
    return np.maximum(0.0, -record.log_scale / 2.0 - half * low)


def _exact(record: _Records, eps: Floats, *, forward: bool) -> Floats:
    out = np.zeros(eps.shape)
    some = np.flatnonzero(eps < _largest_loss(record, forward=forward))
    if not some.size:
        return out
    part, e = record.take(some), np.minimum(eps[some], _LARGEST_EPSILON)
    sign = 1.0 if forward else -1.0
    # The event is {1 + q2 > C(1 + q1)}, turned round for the backward direction; everything less one.
    level = np.expm1((sign * 2.0 * e - part.log_scale) / (part.rows + 1))
    m, wide = part.shift, 1.0 + part.along
    slope = sign * (part.across - level)
    # The same determinant (up to a factor) on both sides: both integrals then see one and the same event.
    both = level**2 - level * (part.along + wide * m**2) - wide * m**2
    here = Quadric(sign * (level - wide * m**2), sign * -2.0 * wide * m, sign * (level - part.along), both)
    there = Quadric(
        sign * (level + (1.0 + level) * m**2),
        sign * -2.0 * (1.0 + level) * m / np.sqrt(wide),
        sign * (level - part.along) / wide,
        both / wide,
    )
    # What is multiplied by e^ε needs as many more digits.
    plain, raised = np.full(e.shape, 45.0), 45.0 + e
    p, freedom = part.features, float(part.rows - part.features + 1)
    on_data = quadric_probability(
        slope, here, features=p, freedom=freedom, digits=plain if forward else raised
    )
    on_neighbour = quadric_probability(
        slope * part.narrow, there, features=p, freedom=freedom, digits=raised if forward else plain
    )
    more, less = (on_data, on_neighbour) if forward else (on_neighbour, on_data)
    out[some] = np.clip(more - np.exp(e) * less, 0.0, 1.0)
    return out


def _normal(record: _Records, eps: Floats, *, forward: bool) -> Floats:
    """Lemma 8: N(0, I/r) against N(−m, κ/r·diag(1/(1−l), 1, …, 1)), p − 1 coordinates alike."""
    along, across, move = record.along, record.across, record.rows * record.shift**2
    if not forward:
        # The other law becomes the unit: tilts invert, and the shift is counted in its own spread.
        move = move * (1.0 + along)
        along, across = -along / (1.0 + along), -across / (1.0 + across)
    tilt = np.stack([along, across], axis=1)
    shift2 = np.stack([move, np.zeros_like(move)], axis=1)
    return contour_delta(eps, tilt, shift2, np.array([1.0, record.features - 1.0]))
