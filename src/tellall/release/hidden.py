"""What a threshold tells: a value that is not shown was below it, one that is shown was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, hypot, inf, isfinite, sqrt

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect
from tellall.release.equations import COUNT_FLOOR, Intervals
from tellall.release.protections.base import Protection, noise_of
from tellall.release.protections.law import Exact, Noise, Rows, Sum
from tellall.release.protections.rounding import Rounding
from tellall.release.statistics.base import Equations

__all__ = [
    "Threshold",
    "intervals_of",
    "threshold_of",
    "whole_rounding",
]

_SAME = 1e-9  # rounding of a threshold that is a multiple of something
_FAR = 3.0  # standard deviations beyond an edge at which a row says nothing any more
_HALF = 0.5  # whole numbers up to v are those below v + 1/2


@dataclass(frozen=True)
class Threshold:
    """A limit under which values are not shown, and the laws of what was done to them before and after.

    ``limit`` as published; ``units`` is what a published value is multiplied with to be a count, and the laws
    are those of counts.
    """

    limit: float
    units: float
    before: Noise
    after: Noise

    @property
    def below(self) -> float:
        """The limit on the count scale."""
        return self.limit * self.units

    @property
    def exact(self) -> bool:
        """Whether it is the true value that was compared with the limit."""
        return self.before.bound == 0

    @property
    def complete(self) -> bool:
        """Whether the intervals say all that the choice of what to show says, so that it misleads nobody."""
        return isfinite(self.before.std) and (self.exact or isfinite(self.after.bound))

    @property
    def most_hidden(self) -> int:
        """The largest whole count that is not shown, where it is compared as it is."""
        most = ceil(self.below + 1)
        while most / self.units >= self.limit:
            most -= 1
        return most


def threshold_of(protections: Sequence[Protection], units: float) -> Threshold | None:
    """The threshold by which values were hidden; None where none was, or others may be hidden too.

    Of thresholds one right after the other the highest counts.
    """
    places = [place for place, protection in enumerate(protections) if hasattr(protection, "hides")]
    if not places or places[-1] - places[0] != len(places) - 1:
        return None
    parts = protections[: places[0]], protections[places[-1] + 1 :]
    limits = [protections[place].hides for place in places]  # type: ignore[attr-defined]
    known = all(isinstance(p, Noise) or getattr(p, "law", None) is not None for part in parts for p in part)
    if not known or any(limit is None for limit in limits):
        return None
    before, after = (noise_of(part).scaled(units) for part in parts)
    return Threshold(max(limits), units, before, after)


def intervals_of(
    threshold: Threshold, equations: Equations, counts: Array, hidden: npt.NDArray[np.bool_]
) -> Intervals | None:
    """An interval for each value whose place beside the threshold says more than is said otherwise.

    ``equations`` are those of the counts with zero in place of the hidden ones.

    Notes
    -----
    Let v be the true count, e the error that it had when it was compared with the limit b. A hidden value has
    v + e < b: for exact counts v ≤ the largest count under b; after rounding to multiples of r,
    v ≤ (the largest multiple under b) + r/2; under other noise the chance is P(e < b − v), of which a normal
    law of the same standard deviation is used. A shown value that is changed later has v + e ≥ b, which is
    used where e = 0. No count is below zero. Intervals of whole counts end half-way to the next. Rows that
    are the same up to sign (the yes and no cells of a table) are met in one interval; what says no more than
    that a count is between none and all, or than an exact value shown beside it, is left out.
    """
    if not isfinite(threshold.before.std):
        return None
    operator = equations.operator
    everybody = np.ones(operator.shape[1])
    reach, net = operator.squared() @ everybody, operator @ everybody
    # entries are 0, 1 and −1: the extremes of A s, in units of the value
    least = (net - reach) / 2 - equations.target + counts_or_zero(counts)
    most = least + reach
    ends = _hidden_ends(threshold, reach, net, equations)
    low = np.where(hidden, np.maximum(ends.low, least - _HALF - _FAR * ends.std), least - _HALF)
    high = np.where(hidden, ends.high, most + _HALF)
    std = np.where(hidden, ends.std, 0.0)
    hard = np.where(hidden, ends.hard, most)
    told = hidden.copy()
    if threshold.exact and threshold.after.bound > 0:
        near = threshold.after.bound if isfinite(threshold.after.bound) else 4 * threshold.after.std
        told |= counts - near < threshold.most_hidden + 1
        low = np.where(hidden, low, threshold.most_hidden + _HALF)
    said = told & ~np.isnan(equations.target)
    said &= (high - _FAR * std < most + _HALF - _SAME) | (~hidden & (low > least))
    chosen = np.flatnonzero(said)
    if not chosen.size:
        return None
    offset = equations.target - counts_or_zero(counts)
    parts = _Rows(
        chosen, (low + offset)[chosen], (high + offset)[chosen], std[chosen], (hard + offset)[chosen]
    )
    if not parts.std.any():
        exact = threshold.exact and not threshold.after.bound
        known = np.flatnonzero(~hidden & ~np.isnan(equations.target) & exact)
        parts = _met(parts, operator, known)
    return parts.as_intervals(operator) if parts.place.size else None


def whole_rounding(
    noise: Noise, counts: Array, error: Array, bound: Array, slack: Array
) -> tuple[Array, Array, Array]:
    """Standard deviation, bound and slack of each row, where whole counts were rounded to the nearest.

    Notes
    -----
    Of a base r that is odd a count is at most (r − 1)/2 off. Of an even one r/2 is possible, and goes to the
    even multiple: those published as one are within r/2, the others within r/2 − 1. The intervals end
    half-way to the next count. Anything but rounding of counts alone is left as it is.
    """
    base = noise.base if isinstance(noise, Rounding) and noise.mode == "nearest" else 0.0
    multiple = np.rint(counts / base) if base >= 1 and base == floor(base) else counts
    if multiple is counts or not np.allclose(multiple * base, counts, equal_nan=True):
        return error, bound, slack
    most = np.full(counts.size, (base - 1) // 2)
    if base % 2 == 0:
        most = np.where(multiple % 2 == 0, base / 2, base / 2 - 1)
    rounded = slack > 0
    slack = np.where(rounded, most + _HALF, slack)
    return np.where(rounded, slack / sqrt(3), error), np.where(rounded, most, bound), slack


def counts_or_zero(counts: Array) -> Array:
    """The counts, zero where they are hidden."""
    return np.nan_to_num(counts)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Where hidden values lie: between these, but for an error of this size; never above ``hard``."""

    low: float
    high: float
    std: Array | float
    hard: float


def _hidden_ends(threshold: Threshold, reach: Array, net: Array, equations: Equations) -> _Ends:
    if threshold.exact:
        most = threshold.most_hidden
        return _Ends(-_HALF, most + _HALF, 0.0, most)
    law = threshold.before
    laws = law.parts if isinstance(law, Sum) else (law,)
    laws = tuple(part for part in laws if not isinstance(part, Exact))
    last, earlier = laws[-1], Sum(laws[:-1])
    if isinstance(last, Rounding):
        top = (ceil(threshold.below / last.base - _SAME) - 1) * last.base
        jitter = 0.0 if last.mode == "nearest" else last.base / sqrt(12)
        hard = top + last.bound + earlier.bound
        if earlier.bound == 0 and not jitter:
            most = floor(hard + _SAME)
            return _Ends(-_HALF, most + _HALF, 0.0, most)
        std = hypot(earlier.ordinary.std, jitter)
        return _Ends(-_FAR * std, top + last.base / 2, std, hard)
    whole = threshold.units == 1 and all(hasattr(part, "logpmf") or not part.ordinary.std for part in laws)
    edge = threshold.most_hidden + _HALF if whole else threshold.below
    size: Array | float = law.ordinary.std
    if law.ordinary.varies:
        at = np.full(reach.size, threshold.below)
        size = law.ordinary.spread(Rows(at, equations.target + threshold.below, reach, net))
    size = size * np.asarray(equations.gain)
    low = -_FAR * float(np.max(size, initial=0.0))
    return _Ends(low, edge, size, threshold.below + law.bound)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Intervals of some rows, on the scale of their targets."""

    place: IntArray
    low: Array
    high: Array
    std: Array
    hard: Array

    def take(self, which: npt.NDArray[np.bool_]) -> _Rows:
        ends = (self.low[which], self.high[which], self.std[which], self.hard[which])
        return _Rows(self.place[which], *ends)

    def as_intervals(self, operator: LinearOperator) -> Intervals:
        middle = (self.low + self.high) / 2
        slack = np.maximum((self.high - self.low) / 2, 0.0)
        sharp = (self.high - self.low) / 2 - _HALF  # below zero where nothing is possible
        bound = np.where(self.std == 0, sharp, np.maximum(self.hard - middle, slack))
        bound = np.where(np.isfinite(self.hard), bound, inf)
        rest = np.maximum(self.std, COUNT_FLOOR)
        return Intervals(RowSelect(operator, self.place), middle, slack, rest, bound)


def _met(rows: _Rows, operator: LinearOperator, known: IntArray) -> _Rows:
    """One interval for rows that are equal up to sign; none for those equal to a ``known`` row.

    Found by two random projections: of r rows about r²/10²⁰ pairs are taken for equal that are not.
    """
    draws = np.random.default_rng(0).normal(size=(operator.shape[1], 2))
    prints = np.round(np.asarray(operator @ draws, dtype=np.float64), 9)
    signs = np.where(prints[:, 0] < 0, -1.0, 1.0)
    keys = signs * (prints[:, 0] + 1j * prints[:, 1])
    rows = rows.take(~np.isin(keys[rows.place], keys[known]))
    sign = signs[rows.place]
    _, first, index = np.unique(keys[rows.place], return_index=True, return_inverse=True)
    low, high = np.full(first.size, -inf), np.full(first.size, inf)
    np.maximum.at(low, index, np.where(sign > 0, rows.low, -rows.high))
    np.minimum.at(high, index, np.where(sign > 0, rows.high, -rows.low))
    back = sign[first] > 0
    ends = np.where(back, low, -high), np.where(back, high, -low)
    # what a gross error hid may be anything
    loose = np.zeros(first.size, dtype=bool)
    np.logical_or.at(loose, index, ~np.isfinite(rows.hard))
    return _Rows(rows.place[first], *ends, rows.std[first], np.where(loose, inf, ends[1] - _HALF))
