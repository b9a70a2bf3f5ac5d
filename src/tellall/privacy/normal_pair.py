"""The δ between any two normal laws, by inverting the transform of the privacy loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tellall.core.errors import SolverFailed, invalid
from tellall.protections.profile import Floats, as_epsilons, as_numbers, as_sides

__all__ = [
    "contour_delta",
    "normal_delta",
]

# The path of integration: a hyperbola whose arms rise at 67.5°, midway between 45°, below which a normal
# factor e^(s²) stops decaying, and 90°, above which a factor e^(−sτ) stops decaying. In x (s ~ sinh x) the
# integrand is then analytic in a strip of half-width 0.39, and the trapezoidal rule converges like
# e^(−2π·0.39/step).
_LEAN = 1.0 / np.tan(np.deg2rad(67.5))
_STEP = 0.066
_END = 26.0
_BATCH = 2048
# The promise: every value is right to _ACCURATE, and a small one to about _DIGITS of itself.
_ACCURATE = 1e-12
_DIGITS = 1e-11
_HALVINGS = 3  # of the step, if no path is accurate enough
# The rule with step h is wrong by the integrand's Fourier transform at 2π/h. We see it up to π/h: its size
# near a quarter and near a half of 2π/h, each at several points because one may happen to be a zero.
_SLOW = np.array([0.7, 0.8, 0.9, 1.0]) * np.pi / 2.0
_FAST = np.array([1.6, 1.7, 1.8, 1.9, 2.0]) * np.pi / 2.0


def normal_delta(
    epsilon: ArrayLike,
    mean_a: ArrayLike,
    cov_a: ArrayLike,
    mean_b: ArrayLike,
    cov_b: ArrayLike,
    *,
    direction: str = "larger",
) -> Floats:
    """Returns the δ between the normal laws N(mean_a, cov_a) and N(mean_b, cov_b), in any dimension.

    Parameters
    ----------
    epsilon : array_like
        Zero or more; δ has its shape.
    mean_a, cov_a, mean_b, cov_b : array_like
        d numbers and a symmetric positive definite d × d matrix each, or numbers for d = 1.
    direction : {"larger", "forward", "backward"}
        "forward" is a against b.

    Notes
    -----
    private-ols, Lemma 2, without its Monte Carlo. Both laws are brought to N(0, I) and N(η, diag λ) by one
    Cholesky factor and one symmetric eigendecomposition (the printed "SVD" loses signs, E-PO-5). With K the
    cumulant function of the privacy loss under a, which is elementary,

        δ(ε) = 1/(2πi) ∫ e^(K(s) − sε) / (s(s+1)) ds   along a path through the saddle point s > 0

    (or through the one in (−1, 0), plus 1, if the mean loss exceeds ε).
    One integral gives the whole difference of probabilities, so tiny δ keep their digits. Absolute error
    below 1e-12, relative error about 1e-11, up to the rounding of the arguments. Each integral estimates its
    own error from its Fourier transform. If that is too large, other paths and smaller steps are tried, then
    an upper bound is returned if it is within 1e-12, and SolverFailed is raised if not.
    Cost O(d³) once and about 400·d complex operations for each ε.

    Examples
    --------
    >>> import numpy as np
    >>> float(normal_delta(1.0, [0.0, 0.0], np.eye(2), [0.3, 0.0], np.eye(2)).round(10))
    5.48875e-05
    >>> float(normal_delta(0.0, 0.0, 1.0, 0.0, 4.0).round(6))
    0.322675
    """
    sides, eps = as_sides(direction), as_epsilons(epsilon)
    first, second = _law("a", mean_a, cov_a), _law("b", mean_b, cov_b)
    if first[0].shape != second[0].shape:
        raise invalid("mean_b", f"of length {first[0].size}, like mean_a", f"length {second[0].size}")
    pairs = [(*first, *second) if forward else (*second, *first) for forward in sides]
    larger: Floats = np.maximum.reduce([_delta_between(eps.reshape(-1), *pair) for pair in pairs])
    return larger.reshape(eps.shape)[()]


def _law(name: str, mean: ArrayLike, cov: ArrayLike) -> tuple[Floats, Floats]:
    centre = np.atleast_1d(as_numbers(f"mean_{name}", mean))
    spread = np.atleast_2d(as_numbers(f"cov_{name}", cov))
    size = centre.size
    if centre.ndim != 1 or spread.shape != (size, size):
        rule = f"a {size} × {size} matrix, as mean_{name} has length {size}"
        raise invalid(f"cov_{name}", rule, spread.shape)
    if not np.allclose(spread, spread.T, rtol=1e-10, atol=1e-12 * float(np.abs(spread).max())):
        raise invalid(f"cov_{name}", "symmetric", "a matrix that is not")
    try:
        np.linalg.cholesky(spread)
    except np.linalg.LinAlgError:
        advice = "Laws on different subspaces are told apart with certainty: δ = 1."
        seen = "a singular or indefinite matrix"
        raise invalid(f"cov_{name}", "positive definite", seen, advice) from None
    return centre, spread


def _delta_between(eps: Floats, mean_a: Floats, cov_a: Floats, mean_b: Floats, cov_b: Floats) -> Floats:
    root = np.linalg.cholesky(cov_a)
    whitened = np.linalg.solve(root, np.linalg.solve(root, cov_b).T)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2.0)
    shift = vectors.T @ np.linalg.solve(root, mean_b - mean_a)
    tilt = 1.0 / values - 1.0
    # An eigenvalue that is 1 up to rounding is 1: keeps equal covariances on the exact Gaussian formula.
    tilt = np.where(np.abs(tilt) < 64.0 * np.finfo(float).eps * values.size, 0.0, tilt)
    shape = (eps.size, values.size)
    return contour_delta(
        eps, np.broadcast_to(tilt, shape), np.broadcast_to(shift**2, shape), np.ones(values.size)
    )


def contour_delta(eps: Floats, tilt: Floats, shift2: Floats, copies: Floats) -> Floats:
    """Returns δ of N(0, I) against N(η, diag λ), a case per row of `tilt`, coordinate j `copies[j]` times.

    `tilt` (B × J) holds 1/λ − 1, because λ near 1 would lose its digits; `shift2` (B × J) holds η².
    """
    out = np.empty(eps.shape)
    for start in range(0, eps.size, _BATCH):
        part = slice(start, start + _BATCH)
        out[part] = _contour_batch(eps[part], tilt[part], shift2[part], copies)
    return out


def _contour_batch(eps: Floats, tilt: Floats, shift2: Floats, copies: Floats) -> Floats:
    linear = -0.5 * np.log1p(tilt) + 0.5 * shift2 * (1.0 + tilt)
    pull2 = shift2 * (1.0 + tilt) ** 2
    live = (copies > 0.0) & ((tilt != 0.0) | (shift2 != 0.0))
    tilt, linear, pull2 = (np.where(live, value, 0.0) for value in (tilt, linear, pull2))
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = linear - np.where(tilt != 0.0, pull2 / (2.0 * tilt), np.where(pull2 > 0.0, -np.inf, 0.0))
        # The largest loss: finite only where every coordinate is wider under the second law.
        largest = np.where(
            ((tilt <= 0.0) | (copies == 0.0)).all(axis=1), (copies * limit).sum(axis=1), np.inf
        )
        end = np.where(tilt.max(axis=1) > 0.0, 1.0 / tilt.max(axis=1), np.inf)
        sides = np.where(tilt != 0.0, limit, 0.0) @ copies
    out = np.zeros(eps.shape)
    some = np.flatnonzero((eps < largest) & live.any(axis=1))
    if not some.size:
        return out
    terms = tilt[some], linear[some], pull2[some]
    e = eps[some]
    # A mean loss above ε puts the natural saddle left of the pole at 0: cross there, and add its residue 1.
    leftward = terms[1] @ copies + 0.5 * terms[0] @ copies > e
    centre = _saddle(e, *terms, copies, np.where(leftward, -1.0, end[some]))
    width = 1.0 / np.sqrt(_curvature(centre, terms[0], terms[2], copies))
    problem = _Problem(e, *terms, copies, leftward, centre, width)
    out[some] = problem.solve(np.where(e > sides[some], 1.0, -1.0))
    return out


@dataclass(frozen=True)
class _Problem:
    """Integrals to take, a row each, and where their paths cross the real axis."""

    eps: Floats
    tilt: Floats
    linear: Floats
    pull2: Floats
    copies: Floats
    leftward: NDArray[np.bool_]
    centre: Floats
    width: Floats

    def take(self, some: NDArray[np.intp]) -> _Problem:
        """Returns the chosen rows."""
        names = ("eps", "tilt", "linear", "pull2", "leftward", "centre", "width")
        return replace(self, **{name: getattr(self, name)[some] for name in names})

    def solve(self, sides: Floats) -> Floats:
        """Returns δ of each row; `sides` says to which side a path must lean so that it never grows again.

        Such a path may first cross a hump far higher than its start: a nearly equal spread with a shift
        decides the far end, and the other coordinates the beginning. Then either lean is tried, and followed
        only until the rest is provably nothing.
        """
        total, error = self._along(sides, _STEP)
        tries = [(side, _STEP / 2**k) for k in range(_HALVINGS) for side in (1.0, -1.0)]
        for side, step in tries:
            poor = np.flatnonzero(~(error <= self._goal(total)))
            if not poor.size:
                break
            found, wrong = self.take(poor)._along(np.full(poor.size, side), step, ends=True)
            better = wrong < error[poor]
            total[poor[better]], error[poor[better]] = found[better], wrong[better]
        value = np.clip(total + self.leftward, 0.0, 1.0)
        poor = np.flatnonzero(~(error <= self._goal(total)))
        if poor.size:
            value[poor] = self.take(poor)._bound(value[poor], error[poor])
        return value

    def _goal(self, total: Floats) -> Floats:
        """Returns the largest error allowed; a `total` that 1 is added to needs no digits of its own."""
        return np.where(self.leftward, _ACCURATE, np.minimum(_ACCURATE, _DIGITS * np.abs(total)))

    def _bound(self, value: Floats, error: Floats) -> Floats:
        """Returns upper bounds on δ that are within the promised accuracy; raises if there are none.

        Markov's inequality at the saddle c: δ ≤ e^(K(c) − cε) c^c/(1+c)^(1+c), or 1 − δ ≤ e^(K(c) − cε).
        """
        c = self.centre
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            scale = special.xlogy(c, c) - special.xlogy(1.0 + c, 1.0 + c)
            rest = np.exp(self._exponent(c[:, None]).real[:, 0] + np.where(self.leftward, 0.0, scale))
        rest = np.where(np.isnan(rest), np.inf, rest)
        failed = ~(np.minimum(2.0 * error, rest) <= _ACCURATE)
        if failed.any():
            raise SolverFailed(
                f"δ between these normal laws at ε = {self.eps[failed][0]:g} cannot be computed to "
                f"{_ACCURATE:g}. Drop coordinates whose spread differs by many orders of magnitude."
            )
        proved = np.where(self.leftward, 1.0, rest)
        return np.where(rest <= 2.0 * error, proved, np.minimum(value + error, 1.0))

    def _exponent(self, s: NDArray[Any]) -> NDArray[np.complex128]:
        """Returns K(s) − sε for every row and every column of `s`."""
        exponent = np.asarray(-s * self.eps[:, None], dtype=np.complex128)
        for j in range(self.copies.size):
            if self.copies[j] > 0.0:
                exponent += self.copies[j] * _cumulant(
                    s, self.tilt[:, j, None], self.linear[:, j, None], self.pull2[:, j, None]
                )
        return exponent

    def _along(self, sides: Floats, step: float, *, ends: bool = False) -> tuple[Floats, Floats]:
        """Returns the integrals along paths that lean to `sides`, and bounds on their errors.

        With `ends` a path stops where the integral straight up from there is negligible.
        """
        x = np.arange(0.0, _END, step)
        cosh, sinh = np.cosh(x), np.sinh(x)
        lean = _LEAN * sides * self.width
        s = self.centre[:, None] + lean[:, None] * (cosh - 1.0) + 1j * self.width[:, None] * sinh
        along = lean[:, None] * sinh + 1j * self.width[:, None] * cosh
        exponent = self._exponent(s)
        with np.errstate(all="ignore"):
            value = (np.exp(exponent) / (s * (s + 1.0)) * along).imag
            value[:, 0] /= 2.0
            tail = np.abs(value[:, -1])
            if ends:
                enough = 1e-17 * np.abs(value[:, 0])
                over = np.logical_or.accumulate(self._upward(s, exponent) < enough[:, None], axis=1)
                value[over] = 0.0
                tail = np.where(over[:, -1], enough, np.inf)
            total = value.sum(axis=1) * step / np.pi
            size = np.abs(value).sum(axis=1) * step / np.pi
            index = np.arange(x.size)[:, None]
            slow = np.abs(value @ np.cos(index * _SLOW)).max(axis=1) * step
            fast = np.abs(value @ np.cos(index * _FAST)).max(axis=1) * step
            # From one octave to the next the transform falls at least as it did before; 100 for safety.
            ratio = np.minimum(fast / np.maximum(slow, 1e-300), 1.0)
            error = 100.0 * fast * ratio**2 + 8.0 * np.finfo(float).eps * size + tail
            # What is no probability is wrong, whatever its estimated error.
            least = np.where(self.leftward, -1.0, 0.0)
            possible = (total >= least - error) & (total <= least + 1.0 + error)
        return total, np.where(np.isfinite(error) & possible, error, np.inf)

    def _upward(self, s: NDArray[np.complex128], exponent: NDArray[np.complex128]) -> Floats:
        """Returns bounds on the integral from each point straight up to infinity.

        On the way up |e^K| of a coordinate falls, except right of a singular point s = 1/tilt > 0 (or left of
        a negative one): there e^(½ s² pull2/(1 − s·tilt)) can still grow, by a factor that is known.
        """
        high = exponent.real.copy()
        for j in range(self.copies.size):
            tilt, pull2 = self.tilt[:, j, None], self.pull2[:, j, None]
            left = 1.0 - s * tilt
            growth = 0.5 * pull2 * -left.real / (tilt * np.abs(left)) ** 2
            high += self.copies[j] * np.where((left.real < 0.0) & (pull2 > 0.0), growth, 0.0)
        bound = np.exp(high) / (np.pi * s.imag)
        return np.where(np.isnan(bound), np.inf, bound)


def _cumulant(s: NDArray[Any], tilt: Floats, linear: Floats, pull2: Floats) -> NDArray[np.complex128]:
    """ln E e^(sL) of one coordinate: sL is quadratic in a standard normal."""
    left = 1.0 - s * tilt
    return np.asarray(s * linear - 0.5 * np.log(left) + 0.5 * s * s * pull2 / left, dtype=np.complex128)


def _curvature(s: Floats, tilt: Floats, pull2: Floats, copies: Floats) -> Floats:
    left = 1.0 - s[:, None] * tilt
    second = 0.5 * (tilt / left) ** 2 + pull2 / left**3
    return np.asarray(second @ copies + 1.0 / s**2 + 1.0 / (s + 1.0) ** 2)


def _saddle(e: Floats, tilt: Floats, linear: Floats, pull2: Floats, copies: Floats, end: Floats) -> Floats:
    """Returns where K(s) − sε − ln|s| − ln(s+1), convex between 0 and `end`, is least there."""
    finite = np.isfinite(end)
    scale = np.where(finite, end, 1.0)

    def place(w: Floats) -> Floats:
        # A logistic map onto (0, end), an exponential one onto (0, ∞).
        return np.where(finite, scale / (1.0 + np.exp(-w)), np.exp(w))

    low, high = np.full(e.shape, -80.0), np.where(finite, 30.0, 80.0)
    for _ in range(48):
        middle = (low + high) / 2.0
        s = place(middle)
        left = 1.0 - s[:, None] * tilt
        slope = linear + 0.5 * tilt / left + pull2 * s[:, None] * (1.0 + left) / (2.0 * left**2)
        # Going out from 0 along `end`: beyond the least point the function rises.
        beyond = np.sign(end) * (slope @ copies - e - 1.0 / s - 1.0 / (s + 1.0)) > 0.0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return place((low + high) / 2.0)
