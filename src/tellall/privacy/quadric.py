"""The probability that a multivariate Student t falls on one side of a quadric symmetric about an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tellall.privacy.arguments import Floats

__all__ = ["Quadric", "quadric_probability"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
# θ = middle + half·sin(πz/2): every half-integer power at the ends of a piece becomes analytic in z.
_PLACES = np.sin(np.pi * _NODES / 2.0)
_JACOBIAN = np.cos(np.pi * _NODES / 2.0) * np.pi / 2.0
_MASSES = _WEIGHTS * _JACOBIAN
# The last four Legendre coefficients of the integrand say whether 20 points were enough.
_TAIL = (_WEIGHTS[:, None] * np.polynomial.legendre.legvander(_NODES, 19)[:, 16:]) * (np.arange(16, 20) + 0.5)
_BLOCK = 4096
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

    Parameters
    ----------
    slope : ndarray of length B
    quadric : Quadric
        Offset, linear and square coefficient, one of each for each case.
    features : int
        Dimension p of the vector.
    freedom : float
        Degrees of freedom ν: a·√ν is Student t, and ρ, the squared length of the other p − 1 coordinates,
        given a, is (1 + a²) times a BetaPrime((p−1)/2, (ν+1)/2).
    digits : ndarray of length B
        Mass below e^(−digits) in the far tails of a is left out.

    Notes
    -----
    With a = tan θ the density of θ is proportional to cos^(ν−1) θ and the threshold on ρ/(1 + a²) becomes a
    sinusoid in 2θ, so that every level of it is crossed at angles known in closed form. The integral is cut
    at the crossings of a few levels of the incomplete beta function and of the density, each piece taken by
    Gauss and Legendre's rule with 20 points, halved where the tail of its Legendre coefficients asks for it.
    One feature needs no integral. About 15 pieces for each case.
    """
    out = np.empty(slope.shape)
    for start in range(0, slope.size, _BLOCK):
        part = slice(start, start + _BLOCK)
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
        """How far from the pivot the wave has this height (B × any); NaN where it never has."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.arcsin(np.sqrt((height - self.base[:, None]) / self.swing[:, None])))


def _interval(wave: _Wave, freedom: float) -> Floats:
    half = wave.opening(np.zeros((1, 1)))[:, 0]
    crosses = np.isfinite(half)
    half = np.where(crosses, half, 0.0)
    near = _angle_cdf(wave.pivot + half, freedom) - _angle_cdf(wave.pivot - half, freedom)
    # Below zero within the opening around a lowest point, outside it around a highest one.
    value = np.where(wave.swing > 0.0, near, 1.0 - near)
    return np.where(crosses, np.clip(value, 0.0, 1.0), np.where(wave.base < 0.0, 1.0, 0.0))


def _angle_cdf(angle: Floats, freedom: float) -> Floats:
    """The distribution function of θ, continued so that a full turn of π adds one."""
    turns = np.floor(angle / np.pi + 0.5)
    rest = angle - turns * np.pi
    return turns + 0.5 * (1.0 + np.sign(rest) * special.betainc(0.5, freedom / 2.0, np.sin(rest) ** 2))


def _integral(slope: Floats, wave: _Wave, features: int, freedom: float, digits: Floats) -> Floats:
    cuts = _cuts(slope, wave, features, freedom, digits)
    case, piece = np.nonzero(np.diff(cuts, axis=1) > 1e-15)
    left, right = cuts[case, piece], cuts[case, piece + 1]
    scale = _density_scale(freedom)
    # An estimate of e^15 times what the cut-off tails hold (1e-13 where digits is 45) is well below 1e-14 in
    # truth: it takes the coefficients' decay to end where they were last seen.
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
        # The incomplete beta is nine tenths of the work: none where the threshold is at or below zero.
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
    """Where to cut the range of θ, sorted: the ends, the density, the turning points, the levels."""
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
