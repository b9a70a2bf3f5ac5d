"""Hidden values: the threshold under which they were hidden gives an interval for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, hypot, inf, isfinite, sqrt

import numpy as np
import numpy.typing as npt

from tellall.evidence.bounds import Bounds
from tellall.evidence.evidence import Rows
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.protections.protection import Noise, Protection, Sum, noise_of
from tellall.statistics.statistic import COUNT_FLOOR, Equations

__all__ = ["Threshold", "hidden_rows", "threshold_of", "unseen_sums"]

_SAME = 1e-9  # rounding of a threshold that is a multiple of something
_FAR = 3.0  # this many standard deviations beyond an edge, a row says nothing
_HALF = 0.5  # intervals of whole numbers end half-way to the next


@dataclass(frozen=True)
class Threshold:
    """A limit under which values are not shown, and the laws of the errors added before and after hiding.

    ``limit`` is on the scale of published values; ``units`` turns a published value into a count; the laws
    are on the count scale.
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
        """Whether the true value was compared with the limit."""
        return self.before.bound == 0

    @property
    def complete(self) -> bool:
        """Whether the intervals describe the selection fully, so that it does not bias an attack."""
        return self.exact or isfinite(self.after.bound)

    @property
    def most_hidden(self) -> int:
        """The largest whole count that is hidden if exact counts are compared with the limit."""
        most = ceil(self.below + 1)
        while most / self.units >= self.limit:
            most -= 1
        return most


def threshold_of(protections: Sequence[Protection], units: float) -> Threshold | None:
    """The threshold by which values were hidden; None without one, or if values may be hidden otherwise.

    Of several thresholds in a row, the highest counts.
    """
    hiding = [index for index, protection in enumerate(protections) if protection.hides]
    if not hiding or hiding[-1] - hiding[0] != len(hiding) - 1:
        return None
    limits = [limit for index in hiding if (limit := protections[index].limit) is not None]
    parts = protections[: hiding[0]], protections[hiding[-1] + 1 :]
    before, after = (noise_of(part).scaled(units) for part in parts)
    if len(limits) < len(hiding) or not (before.known and after.known and isfinite(before.std)):
        return None
    return Threshold(max(limits), units, before, after)


def hidden_rows(
    threshold: Threshold,
    equations: Equations,
    counts: Array,
    hidden: npt.NDArray[np.bool_],
    mismatch: tuple[Array, Array],
) -> tuple[IntArray, Rows]:
    """The values about which the threshold adds information, by index, and an interval for each.

    ``equations`` are those of the counts, with zero in place of the hidden ones. ``mismatch`` says how many
    people each value may count too many and too few.

    Notes
    -----
    Let v be the true count and e its error when it was compared with the limit b. A hidden value has
    v + e < b. For exact counts, v is at most the largest count under b. After rounding to multiples of r,
    v ≤ (the largest multiple under b) + r/2. Under other noise the chance is P(e < b − v), computed from a
    normal law of the same standard deviation. A shown value that is changed later has v + e ≥ b, which is
    used if e = 0. No count is below zero. Intervals of whole counts end half-way to the next. Rows that are
    the same up to sign (the yes and no cells of a table) share one interval, once each has been widened by
    the people whom its own value may count besides. Intervals are left out if they only say that a count is
    between none and all, or repeat an exact value that is shown.
    """
    operator = equations.operator
    target = equations.target
    reach = equations.squares
    offset = target - np.nan_to_num(counts)
    # entries are 0, 1 and −1: the extremes of A s, in units of the value
    least = (equations.sums - reach) / 2 - offset
    most = least + reach
    below, above, error, furthest = _hidden_ends(threshold, equations)
    low = np.where(hidden, np.maximum(below, least - _HALF - _FAR * error), least - _HALF)
    high = np.where(hidden, above, most + _HALF)
    std = np.where(hidden, error, 0.0)
    said = hidden.copy()
    if threshold.exact and threshold.after.bound > 0:
        near = threshold.after.bound if isfinite(threshold.after.bound) else 4 * threshold.after.std
        said |= counts - near < threshold.most_hidden + 1
        low = np.where(hidden, low, threshold.most_hidden + _HALF)
    said &= ~np.isnan(target)
    said &= (high - _FAR * std < most + _HALF - _SAME) | (~hidden & (low > least))
    hard = np.where(hidden, furthest, most)
    down = offset - mismatch[0]
    up = offset + mismatch[1]
    ends = _Ends(np.arange(target.size), low + down, high + up, std, hard + up).take(said)
    if ends.index.size and not ends.std.any():
        exact = threshold.exact and not threshold.after.bound
        ends = _met(ends, operator, np.flatnonzero(~hidden & ~np.isnan(target) & exact))
    return ends.index, ends.rows()


def unseen_sums(
    possible: Bounds, hidden: npt.NDArray[np.bool_], offset: Array, mismatch: tuple[Array, Array]
) -> tuple[IntArray, Rows]:
    """The sums that contain a hidden value and have known limits, by index, and an interval for each."""
    said = np.flatnonzero(hidden & np.isfinite(possible.high) & (possible.low <= possible.high))
    more, fewer = mismatch
    low = (possible.low - more + offset)[said]
    high = (possible.high + fewer + offset)[said]
    ends = _Ends(said, low - _HALF, high + _HALF, np.zeros(said.size), high)
    return said, ends.rows()


@dataclass(frozen=True, eq=False)
class _Ends:
    """Intervals for rows of A s: from low to high up to an error of this std, and never above ``hard``."""

    index: IntArray
    low: Array
    high: Array
    std: Array
    hard: Array

    def take(self, which: npt.NDArray[np.bool_]) -> _Ends:
        ends = (self.low[which], self.high[which], self.std[which], self.hard[which])
        return _Ends(self.index[which], *ends)

    def rows(self) -> Rows:
        middle = (self.low + self.high) / 2
        half = (self.high - self.low) / 2
        slack = np.maximum(half, 0.0)
        sharp = half - _HALF  # below zero if nothing is possible
        bound = np.where(self.std == 0, sharp, np.maximum(self.hard - middle, slack))
        bound = np.where(np.isfinite(self.hard), bound, inf)
        rest = np.maximum(self.std, COUNT_FLOOR)
        spread = np.hypot(rest, slack / sqrt(3))
        return Rows(middle, spread, spread, bound, slack, rest, np.ones(middle.size, dtype=bool))


def _hidden_ends(threshold: Threshold, equations: Equations) -> tuple[float, float, Array | float, float]:
    """The least and the largest hidden value, their error, and the largest possible hidden value."""
    if threshold.exact:
        most = threshold.most_hidden
        return (-_HALF, most + _HALF, 0.0, most)
    law = threshold.before
    *before, last = law.terms
    earlier = Sum(tuple(before))
    top = last.last_below(threshold.below)
    if top is not None:
        jitter = 2 * last.half_width / sqrt(12) if last.random else 0.0
        hard = top + last.bound + earlier.bound
        if earlier.bound == 0 and not jitter:
            _, high = last.before(np.full(1, top), np.full(1, top), 1.0)
            most = floor(float(high.max()) + _SAME)
            return (-_HALF, most + _HALF, 0.0, most)
        std = hypot(earlier.ordinary.std, jitter)
        return (-_FAR * std, top + last.half_width, std, hard)
    whole = threshold.units == 1 and all(part.on_multiples or not part.ordinary.std for part in law.terms)
    edge = threshold.most_hidden + _HALF if whole else threshold.below
    size: Array | float = law.ordinary.std
    if law.ordinary.varies:
        at = np.full(equations.target.size, threshold.below)
        size = law.ordinary.spread(at, replace(equations, target=equations.target + threshold.below))
    size = size * np.asarray(equations.gain)
    low = -_FAR * float(np.max(size, initial=0.0))
    return (low, edge, size, threshold.below + law.bound)


def _met(ends: _Ends, operator: LinearOperator, known: IntArray) -> _Ends:
    """One interval for rows that are equal up to sign; none for those equal to a ``known`` row.

    Found by two random projections: among r rows, about r²/10²⁰ pairs are wrongly taken for equal.
    """
    draws = np.random.default_rng(0).normal(size=(operator.shape[1], 2))
    prints = np.round(np.asarray(operator @ draws, dtype=np.float64), 9)
    signs = np.where(prints[:, 0] < 0, -1.0, 1.0)
    keys = signs * (prints[:, 0] + 1j * prints[:, 1])
    ends = ends.take(~np.isin(keys[ends.index], keys[known]))
    sign = signs[ends.index]
    _, first, index = np.unique(keys[ends.index], return_index=True, return_inverse=True)
    low = np.full(first.size, -inf)
    high = np.full(first.size, inf)
    np.maximum.at(low, index, np.where(sign > 0, ends.low, -ends.high))
    np.minimum.at(high, index, np.where(sign > 0, ends.high, -ends.low))
    back = sign[first] > 0
    low, high = np.where(back, low, -high), np.where(back, high, -low)
    # a value hidden because of a gross error may be anything
    loose = np.zeros(first.size, dtype=bool)
    np.logical_or.at(loose, index, ~np.isfinite(ends.hard))
    return _Ends(ends.index[first], low, high, ends.std[first], np.where(loose, inf, high - _HALF))
