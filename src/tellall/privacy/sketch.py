"""What sketched least squares promises: δ(ε) for one record from its leverage and its residual share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.privacy.normal_pair import contour_delta
from tellall.protections.profile import Floats, as_epsilons, as_fractions, as_sides

__all__ = [
    "Quadric",
    "quadric_probability",
    "sketch_delta",
    "sketch_pure_epsilon",
]

# The probability that a multivariate Student t falls on one side of a quadric symmetric about an axis.

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
# θ = middle + half·sin(πz/2): every half-integer power at the ends of a piece becomes analytic in z.
_PLACES = np.sin(np.pi * _NODES / 2.0)
_JACOBIAN = np.cos(np.pi * _NODES / 2.0) * np.pi / 2.0
_MASSES = _WEIGHTS * _JACOBIAN
# The last four Legendre coefficients of the integrand say whether 20 points were enough.
_TAIL = (_WEIGHTS[:, None] * np.polynomial.legendre.legvander(_NODES, 19)[:, 16:]) * (np.arange(16, 20) + 0.5)
_BATCH = 4096
_ROUNDS = 40


@dataclass(frozen=True)
class Quadric:
    """The curve offset + linear·a + square·a², with its determinant offset·square − linear²/4.

    The determinant is given, not computed: the caller knows it without cancellation.
    """

    offset: Floats
    linear: Floats
    square: Floats
    determinant: Floats


def quadric_probability(
    slope: Floats, quadric: Quadric, *, features: int, freedom: float, digits: Floats
) -> Floats:
    """P[ slope·ρ > offset + linear·a + square·a² ] for a standard t vector with coordinate a, remainder ρ.

    The vector has p = `features` coordinates and ν = `freedom` degrees of freedom: a·√ν is Student t, and ρ,
    the squared length of the other p − 1 coordinates, given a, is (1 + a²) times a
    BetaPrime((p−1)/2, (ν+1)/2). Mass below e^(−digits) in the far tails of a is left out.

    Notes
    -----
    With a = tan θ the density of θ is proportional to cos^(ν−1) θ and the threshold on ρ/(1 + a²) becomes a
    sinusoid in 2θ, so that every level of it is crossed at angles known in closed form. The integral is cut
    at the crossings of a few levels of the incomplete beta function and of the density. Each piece is
    integrated by Gauss and Legendre's rule with 20 points, and halved if the tail of its Legendre
    coefficients is too large.
    One feature needs no integral. About 15 pieces for each case.
    """
    out = np.empty(slope.shape)
    for start in range(0, slope.size, _BATCH):
        part = slice(start, start + _BATCH)
        wave = _Wave.of(quadric, part)
        if features == 1:
            out[part] = _interval(wave, freedom)
        else:
            out[part] = _integral(slope[part], wave, features, freedom, digits[part])
    return out


@dataclass(frozen=True)
class _Wave:
    """offset·cos² θ + linear·sin θ cos θ + square·sin² θ, written as base + swing·sin²(θ − pivot).

    The pivot is the turning point nearer to zero height, so that a quadric that barely touches zero keeps its
    digits.
    """

    base: Floats
    swing: Floats
    pivot: Floats

    @classmethod
    def of(cls, quadric: Quadric, part: slice) -> _Wave:
        even = (quadric.offset[part] - quadric.square[part]) / 2.0
        odd = quadric.linear[part] / 2.0
        mean = (quadric.offset[part] + quadric.square[part]) / 2.0
        amplitude, phase = np.hypot(even, odd), np.arctan2(odd, even)
        sign = np.where(mean >= 0.0, 1.0, -1.0)
        far = mean + sign * amplitude
        with np.errstate(divide="ignore", invalid="ignore"):
            base = np.where(far == 0.0, 0.0, quadric.determinant[part] / far)
        return cls(base, 2.0 * sign * amplitude, np.where(mean >= 0.0, phase + np.pi, phase) / 2.0)

    def height(self, case: NDArray[np.intp], angle: Floats) -> Floats:
        return np.asarray(
            self.base[case, None] + self.swing[case, None] * np.sin(angle - self.pivot[case, None]) ** 2
        )

    def opening(self, height: Floats) -> Floats:
        """Returns how far from the pivot the wave has this height (B × any); NaN if it never does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.arcsin(np.sqrt((height - self.base[:, None]) / self.swing[:, None])))


def _interval(wave: _Wave, freedom: float) -> Floats:
    half = wave.opening(np.zeros((1, 1)))[:, 0]
    crosses = np.isfinite(half)
    half = np.where(crosses, half, 0.0)
    # Below zero within the opening around a lowest point, outside it around a highest one.
    start = np.where(wave.swing > 0.0, wave.pivot - half, wave.pivot + half)
    width = np.where(wave.swing > 0.0, 2.0 * half, np.pi - 2.0 * half)
    value = np.clip(_arc(start, width, freedom), 0.0, 1.0)
    return np.where(crosses, value, np.where(wave.base < 0.0, 1.0, 0.0))


def _arc(start: Floats, width: Floats, freedom: float) -> Floats:
    """Returns the probability that θ, modulo π, lies from `start` to `start + width`.

    The caller may multiply it by e^ε, so it is a sum of positive numbers, or a difference of numbers that are
    far apart, or an integral, but never a difference of nearly equal numbers.
    """
    low = start - np.pi * np.floor(start / np.pi + 0.5)
    high = low + width
    ends, zero = high > np.pi / 2.0, (low < 0.0) & (high > 0.0)
    out = np.empty(low.shape)
    some = ends
    out[some] = _upper(low[some], freedom) + _upper(np.pi - high[some], freedom)
    some = ~ends & zero
    out[some] = _centre(low[some], freedom) + _centre(high[some], freedom)
    some = ~ends & ~zero
    near, far = np.minimum(np.sort(np.abs([low[some], high[some]]), axis=0), np.pi / 2.0)
    # On one side of 0 the density only falls. Where it hardly does, 20 points integrate it to the last digit.
    steep = (freedom - 1.0) * (_log_cos(near) - _log_cos(far)) > 3.0
    half = width[some] / 2.0
    angle = np.minimum(near[:, None] + half[:, None] * (_NODES + 1.0), np.pi / 2.0)
    with np.errstate(under="ignore"):
        flat = _density_scale(freedom) * half * (np.exp((freedom - 1.0) * _log_cos(angle)) @ _WEIGHTS)
    out[some] = np.where(steep, _upper(near, freedom) - _upper(far, freedom), flat)
    return out


def _upper(angle: Floats, freedom: float) -> Floats:
    """P[θ > angle] for an angle from −π/2 to π/2."""
    tail = 1.0 - 2.0 * _centre(angle, freedom)
    far = np.flatnonzero(tail < 0.5)
    if freedom < 1000.0:
        tail[far] = special.betainc(freedom / 2.0, 0.5, np.cos(angle[far]) ** 2)
    else:
        # The tail is then so steep that cos² near 1 has too few digits; ten times the work.
        tail[far] = special.betaincc(0.5, freedom / 2.0, np.sin(angle[far]) ** 2)
    return np.where(angle >= 0.0, tail / 2.0, 1.0 - tail / 2.0)


def _centre(angle: Floats, freedom: float) -> Floats:
    """P[θ lies between 0 and the angle]."""
    return np.asarray(0.5 * special.betainc(0.5, freedom / 2.0, np.sin(angle) ** 2))


def _integral(slope: Floats, wave: _Wave, features: int, freedom: float, digits: Floats) -> Floats:
    cuts = _cuts(slope, wave, features, freedom, digits)
    case, piece = np.nonzero(np.diff(cuts, axis=1) > 1e-15)
    left, right = cuts[case, piece], cuts[case, piece + 1]
    scale = _density_scale(freedom)
    # An estimated error of e^15 times what the cut-off tails hold (1e-13 if digits is 45) is in truth well
    # below 1e-14: the estimate assumes that the coefficients stop decaying where they were last seen.
    enough = np.exp(15.0 - digits) / scale
    rising = slope >= 0.0
    divisor = np.where(slope == 0.0, 1e-300, slope)
    shape = (features - 1) / 2.0, (freedom + 1) / 2.0
    out = np.zeros(slope.shape)
    for turn in range(_ROUNDS):
        half = (right - left) / 2.0
        angle = (left + half)[:, None] + half[:, None] * _PLACES
        with np.errstate(over="ignore"):
            level = np.clip(wave.height(case, angle) / divisor[case, None], 0.0, 1e300)
        share = level / (1.0 + level)
        up = np.broadcast_to(rising[case, None], share.shape)
        inside = np.where(up, 1.0, 0.0)
        # The incomplete beta is nine tenths of the work: skip it if the threshold is at or below zero.
        above, below = up & (share > 0.0), ~up & (share > 0.0)
        inside[above] = special.betaincc(*shape, share[above])
        inside[below] = special.betainc(*shape, share[below])
        with np.errstate(under="ignore"):
            inside *= np.exp((freedom - 1.0) * _log_cos(angle))
            value = half * (inside @ _MASSES)
            tail = np.abs((inside * _JACOBIAN) @ _TAIL).max(axis=1)
            top = np.maximum(inside.max(axis=1), 1e-300)
            wrong = half * tail * np.sqrt(tail / top)
        done = (wrong <= enough[case]) | (half < 1e-14) | (turn == _ROUNDS - 1)
        out += np.bincount(case[done], weights=value[done], minlength=slope.size)
        if done.all():
            break
        left, middle, right, case = left[~done], (left + half)[~done], right[~done], case[~done]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        case = np.concatenate([case, case])
    return scale * out


def _cuts(slope: Floats, wave: _Wave, features: int, freedom: float, digits: Floats) -> Floats:
    """Returns where to cut the range of θ, sorted: the ends, the density, the turning points, the levels."""
    # cos^(ν−1) falls to e^(−digits) here; with one degree of freedom it never falls.
    end = np.arccos(np.exp(-digits / (freedom - 1.0))) if freedom > 1.0 else 0.0 * digits + np.pi / 2.0
    fixed = np.array([-5.0, -2.0, 0.0, 2.0, 5.0]) / np.sqrt(freedom)
    centre = np.sqrt(features - 1.0)
    spots = np.array([0.0, 0.02 * centre, 0.2 * centre, max(centre - 2.1, 0.5 * centre), centre])
    spots = np.concatenate([spots, centre + np.array([2.1, 4.2, 6.5])])
    levels = spots**2 / (freedom + 1.0)
    if freedom < 200.0:
        # Few degrees of freedom: the tail of the incomplete beta is a power, and takes a decade at a time.
        levels = np.concatenate([levels, levels[-1] * 8.0 ** np.arange(1, 7)])
    opening, pivot = wave.opening(slope[:, None] * levels), wave.pivot[:, None]
    crossing = np.concatenate([pivot + opening, pivot - opening, pivot, pivot + np.pi / 2.0], axis=1)
    crossing -= np.pi * np.floor(crossing / np.pi + 0.5)
    crossing = np.where(np.isfinite(crossing), crossing, np.pi)
    cuts = np.concatenate(
        [-end[:, None], np.broadcast_to(fixed, (slope.size, 5)), end[:, None], crossing], axis=1
    )
    return np.sort(np.clip(cuts, -end[:, None], end[:, None]), axis=1)


def _log_cos(angle: Floats) -> Floats:
    """ln cos θ, exact near 0 where hundreds of thousands of degrees of freedom multiply it."""
    cosine, sine2 = np.cos(angle), np.sin(angle) ** 2
    return np.where(sine2 < 0.5, 0.5 * np.log1p(-np.minimum(sine2, 0.5)), np.log(cosine))


def _density_scale(freedom: float) -> float:
    """Γ((ν+1)/2)/(Γ(ν/2)√π), the constant that makes cos^(ν−1) θ a density."""
    half = freedom / 2.0
    if half < 100.0:
        return float(special.gamma(half + 0.5) / special.gamma(half) / np.sqrt(np.pi))
    # Γ(x+½)/Γ(x) by its asymptotic series: log-gammas of large numbers would lose six digits.
    series = 1.0 + np.polynomial.polynomial.polyval(
        1.0 / half, [0.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144]
    )
    return float(np.sqrt(half / np.pi) * series)


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
    """Returns the δ of publishing sketched least-squares coefficients, for one record kept or zeroed.

    Parameters
    ----------
    epsilon, leverage, residual_share : array_like
        ε of zero or more; the leverage of the record in the features alone, and its squared residual divided
        by the sum of all squared residuals, both in [0, 1]. δ is broadcast over the three.
    features, rows : int
        Number of columns, including the constant, and of rows of the Gaussian sketch, at least as many.
    method : {"exact", "asymptotic"}
        "exact" is the law for every number of rows; "asymptotic" the paper's normal limit.
    direction : {"larger", "forward", "backward"}
        "forward" is data to neighbour.

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
    sides, eps = as_sides(direction), as_epsilons(epsilon)
    curve = {"exact": _exact, "asymptotic": _normal}.get(method)
    if curve is None:
        raise invalid("method", "'exact' or 'asymptotic'", method)
    record, shape = _RecordShift.of(leverage, residual_share, features, rows, eps.shape)
    eps = np.broadcast_to(eps, shape).reshape(-1)
    out = np.where(record.certain, 1.0, 0.0)
    some = np.flatnonzero(~record.certain & record.moves)
    part = record.take(some)
    out[some] = np.maximum.reduce([curve(part, eps[some], forward=one) for one in sides])
    return out.reshape(shape)[()]


def sketch_pure_epsilon(
    leverage: ArrayLike, residual_share: ArrayLike, features: int, rows: int, *, direction: str = "larger"
) -> Floats:
    """Returns the least ε at which the δ of sketched least squares is exactly 0 for this record.

    Notes
    -----
    The privacy loss of `sketch_delta` is ½ ln S + ½(r+1) ln of a ratio of two quadratic forms. The ratio's
    extremes are eigenvalues of a 2 × 2 matrix, and 1/κ if there is more than one feature. private-ols has no
    such statement: its normal limit is never pure. O(1) each.

    Examples
    --------
    >>> float(sketch_pure_epsilon(0.3846, 0.1592, 4, 8).round(12))
    2.540613570452
    """
    sides = as_sides(direction)
    record, shape = _RecordShift.of(leverage, residual_share, features, rows, ())
    out = np.where(record.certain, np.inf, 0.0)
    some = np.flatnonzero(~record.certain & record.moves)
    part = record.take(some)
    out[some] = np.maximum.reduce([_largest_loss(part, forward=one) for one in sides])
    return out.reshape(shape)[()]


@dataclass(frozen=True)
class _RecordShift:
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

    @classmethod
    def of(
        cls, leverage: ArrayLike, residual_share: ArrayLike, features: int, rows: int, outer: tuple[int, ...]
    ) -> tuple[_RecordShift, tuple[int, ...]]:
        """Returns the shifts, flat, and the shape they are broadcast to together with `outer`."""
        p = whole("features", features)
        if whole("rows", rows) < p:
            raise invalid("rows", f"at least the number of features, {p}", rows, "Sketch to more rows.")
        lev, share = as_fractions("leverage", leverage), as_fractions("residual_share", residual_share)
        shape = np.broadcast_shapes(outer, lev.shape, share.shape)
        lev, share = (np.broadcast_to(value, shape).reshape(-1) for value in (lev, share))
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.where(lev < 1.0, share / (1.0 - lev), 1.0)
        certain = (lev >= 1.0) | (lost >= 1.0)
        lev, share, lost = (np.where(certain, 0.0, value) for value in (lev, share, lost))
        narrow = 1.0 - lost
        record = cls(
            p,
            int(rows),
            shift=np.sqrt(share * lev) / (1.0 - lev),
            log_scale=p * np.log1p(-lost) - np.log1p(-lev),
            narrow=narrow,
            across=lost / narrow,
            along=(lost - lev) / narrow,
            certain=certain,
            moves=(lev > 0.0) | (share > 0.0),
        )
        return record, shape

    def take(self, some: NDArray[np.intp]) -> _RecordShift:
        """Returns the chosen records."""
        names = ("shift", "log_scale", "narrow", "across", "along", "certain", "moves")
        return replace(self, **{name: getattr(self, name)[some] for name in names})


def _largest_loss(record: _RecordShift, *, forward: bool) -> Floats:
    wide, m = 1.0 + record.along, record.shift
    first = wide * m**2
    second = record.along
    cross = wide * m
    centre, spread = (first + second) / 2.0, np.hypot((first - second) / 2.0, cross)
    half, top = (record.rows + 1) / 2.0, centre + spread
    if forward:
        if record.features > 1:
            top = np.maximum(top, record.across)
        return np.maximum(0.0, record.log_scale / 2.0 + half * np.log1p(top))
    bottom = centre - spread
    # det(I + E) = 1 + along, so the smaller eigenvalue near −1 comes from the larger one without cancelling.
    low = np.where(bottom < -0.5, np.log(wide) - np.log1p(top), np.log1p(np.maximum(bottom, -0.75)))
    if record.features > 1:
        low = np.minimum(low, np.log1p(record.across))
    return np.maximum(0.0, -record.log_scale / 2.0 - half * low)


def _exact(record: _RecordShift, eps: Floats, *, forward: bool) -> Floats:
    out = np.zeros(eps.shape)
    some = np.flatnonzero(eps < _largest_loss(record, forward=forward))
    if not some.size:
        return out
    part, e = record.take(some), np.minimum(eps[some], _LARGEST_EPSILON)
    sign = 1.0 if forward else -1.0
    # The event is {1 + q2 > C(1 + q1)}, reversed for the backward direction; all numbers are minus one.
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
    # The term that is multiplied by e^ε needs ε more digits.
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


def _normal(record: _RecordShift, eps: Floats, *, forward: bool) -> Floats:
    """Lemma 8: N(0, I/r) against N(−m, κ/r·diag(1/(1−l), 1, …, 1)), p − 1 coordinates alike."""
    along = record.along
    across = record.across
    move = record.rows * record.shift**2
    if not forward:
        # The other law becomes the unit: tilts invert, and the shift is counted in its own spread.
        move = move * (1.0 + along)
        along, across = -along / (1.0 + along), -across / (1.0 + across)
    tilt = np.stack([along, across], axis=1)
    shift2 = np.stack([move, np.zeros_like(move)], axis=1)
    return contour_delta(eps, tilt, shift2, np.array([1.0, record.features - 1.0]))
