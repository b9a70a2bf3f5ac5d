"""Undoing protections: what values can have been before anything was done to them.

The protections are undone step by step, the last one first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.evidence.bounds import Bounds, NeighbourSums
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.protections.protection import Noise, Protection, Sum, noise_of
from tellall.statistics.statistic import CellLayout

__all__ = [
    "nearly_exact",
    "neighbour_sums",
    "not_possible",
    "not_possible_in_words",
    "possible_counts",
    "possible_values",
]

_NEVER = 1e-12  # a chance that counts as none
_FURTHEST = 40.0  # an error that never happens, in spreads
_NEAR = 1e-9  # floating-point room of a bound on counts
_DIGITS = 16 * float(np.finfo(np.float64).eps)  # and its part relative to the count: last digits are rounded
_DECIMALS = 1e-6  # how far an exact count may be off if it was written as a share
_WIDEST_GAPS = 1000  # gaps are listed only if the least and the largest count are at most this far apart
_NAMED = 3  # values that are named
_MOST_SUMS = 200_000  # cells in all sums of neighbours of all tables: what a search can still use


def nearly_exact(
    values: Array, protections: Sequence[Protection], units: float
) -> tuple[Array, Sequence[Protection]]:
    """The values and protections without noise at the end that is too small to hide a whole count.

    Notes
    -----
    Noise that moves a count by a half with a probability below 1e-12 shows the count to whoever rounds it.
    Values nearer to another count than this noise can bring them stay as they are, and contradict.
    """
    kept = list(protections)
    while kept and isinstance(kept[-1], Noise) and not kept[-1].hides and _is_tiny(kept[-1], units):
        kept.pop()
    gone = [one.law for one in protections[len(kept) :]]
    step = 1 / units
    for each in kept:
        step = each.step_after(step)
    if not gone or not step or Sum(tuple(gone)).tail(min(step, 1 / units) / 2) >= _NEVER:
        return values, protections
    nearest = np.rint(values / step) * step
    reach = _FURTHEST * Sum(tuple(gone)).std + _NEAR / units + _DIGITS * np.abs(values)
    return np.where(np.abs(values - nearest) <= reach, nearest, values), kept


def _is_tiny(noise: Noise, units: float) -> bool:
    """Whether random noise practically never moves a count by a half."""
    plain = noise.known and noise.random and not (noise.reads_people or noise.changes_people)
    return plain and noise.bound > 0 and noise.tail(0.5 / units) < _NEVER


def possible_counts(values: Array, protections: Sequence[Protection], units: float) -> Bounds:
    """Every whole count that the protections can turn into each published value (NaN: hidden).

    Notes
    -----
    The last protection is undone first (`Protection.before`). Each one gives the interval of values that it
    can have turned into the interval found so far; as long as values are whole, its ends are whole counts. A
    hidden value was under the limit of one of the hiding protections and was shown by those before it.
    Errors from a table may leave gaps. If a law is unknown, every count is possible. Equal values have equal
    answers, so the cost depends on the number of distinct values. ``units`` is the factor that turns a
    published value into a count.

    Examples
    --------
    >>> from tellall.protections import Rounding, Suppression
    >>> found = possible_counts(np.array([3.0, 6.0]), [Rounding(3, "random")], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([1.0, 4.0], [5.0, 8.0])
    >>> found = possible_counts(np.array([np.nan, 10.0]), [Rounding(5), Suppression(10)], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([0.0, 8.0], [7.0, 12.0])
    """
    if not noise_of(protections).known:
        return Bounds(np.zeros(values.shape), np.full(values.shape, np.inf))
    values, protections = nearly_exact(values, protections, units)
    distinct, index = np.unique(values, return_inverse=True)  # NaN is one value, the last
    found = _undone(distinct, protections, units)
    index = index.reshape(values.shape)
    gaps = dict(found.gaps)
    rows = np.flatnonzero(np.isin(index, list(gaps))).tolist() if gaps else []
    return Bounds(found.low[index], found.high[index], tuple((row, gaps[int(index[row])]) for row in rows))


def possible_values(values: Array, protections: Sequence[Protection]) -> tuple[Array, Array]:
    """The least and the largest number that the protections can turn into each published value.

    As `possible_counts`, but nothing is known about the numbers, not even that they are multiples of a step.

    Examples
    --------
    >>> from tellall.protections import Rounding
    >>> low, high = possible_values(np.array([0.5]), [Rounding(0.1)])
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.45], [0.55])
    """
    if not noise_of(protections).known:
        return np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
    lows, highs = _back(values, protections, 0.0)
    low = lows.min(axis=0)
    high = highs.max(axis=0)
    if any(protection.keeps_zero for protection in protections):
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return low, high


def not_possible(values: Array, protections: Sequence[Protection]) -> npt.NDArray[np.bool_]:
    """Which values the last protection but hiding cannot have produced, from any number."""
    last = _last_shown(protections)
    if last is None:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(~np.isnan(values) & last.cannot_give(values))


def not_possible_in_words(
    values: Array, protections: Sequence[Protection], cell: Callable[[int], Mapping[str, str]]
) -> str:
    """A sentence that counts such values and names the first of them; empty if there are none.

    ``cell`` gives the value of each column in the cell of a value, by its index.
    """
    last = _last_shown(protections)
    odd = np.flatnonzero(not_possible(values, protections))
    if last is None or not odd.size:
        return ""
    named = []
    for at in odd[:_NAMED].tolist():
        where = ", ".join(f"{name} = {label}" for name, label in cell(at).items())
        named.append(f"{values[at]:.10g}" + (f" where {where}" if where else ""))
    more = f" and {odd.size - _NAMED:,} more" if odd.size > _NAMED else ""
    do = "does" if odd.size == 1 else "do"
    return (
        f"{odd.size:,} of {values.size:,} values {do} not come from {last.gives or 'what was declared'}: "
        f"{'; '.join(named)}{more}"
    )


def _last_shown(protections: Sequence[Protection]) -> Protection | None:
    """The last protection but hiding."""
    return next((one for one in reversed(protections) if not one.hides), None)


def _undone(values: Array, protections: Sequence[Protection], units: float) -> Bounds:
    """The possible counts of distinct values."""
    pieces = _counts(*_back(values, protections, 1 / units), units, exact=_is_exact(protections))
    if any(protection.keeps_zero for protection in protections):
        others = [protection for protection in protections if not protection.keeps_zero]
        nobody = _counts(*_back(values, others, 1 / units), units, exact=_is_exact(others))
        empty = ((nobody[0] <= 0) & (nobody[1] >= 0)).any(axis=0)
        low = np.maximum(pieces[0], 1.0)
        high = pieces[1]
        zero = np.where(empty, 0.0, 1.0), np.zeros(values.size)  # from 1 to 0 is empty
        pieces = np.vstack([low, zero[0]]), np.vstack([high, zero[1]])
    return _joined(*pieces)


def _is_exact(protections: Sequence[Protection]) -> bool:
    """Whether shown values are counts without error."""
    return all(protection.law.known and protection.law.bound == 0 for protection in protections)


def _back(values: Array, protections: Sequence[Protection], step: float) -> tuple[Array, Array]:
    """Intervals of the values before any protection; several for each value if there are gaps.

    ``step`` is what one person is worth: exact values are multiples of it.
    """
    steps = [step]
    for protection in protections:
        steps.append(protection.step_after(steps[-1]))

    def undo(last: int, low: Array, high: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):  # impossible values have intervals from ∞ to −∞
            for protection, before in zip(protections[:last][::-1], steps[:last][::-1], strict=True):
                low, high = protection.before(low, high, before)
        return low, high

    shown = ~np.isnan(values)
    parts = [(shown, undo(len(protections), values[shown][None, :], values[shown][None, :]))]
    if not shown.all():
        least = np.full((1, values.size - int(shown.sum())), -np.inf)
        hiding = [number for number, protection in enumerate(protections) if protection.hides]
        for number in hiding:
            limit = protections[number].limit
            top = np.inf if limit is None else _last_below(limit, steps[number], protections[:number])
            parts.append((~shown, undo(number, least, np.full(least.shape, top))))
        if not hiding:  # no protection explains why it is hidden
            parts.append((~shown, (least, -least)))
    lows: list[Array] = []
    highs: list[Array] = []
    for which, (low, high) in parts:
        for side, ends, fill in ((lows, low, np.inf), (highs, high, -np.inf)):
            wide = np.full((ends.shape[0], values.size), fill)
            wide[:, which] = ends
            side.append(wide)
    return np.vstack(lows), np.vstack(highs)


def _last_below(limit: float, step: float, earlier: Sequence[Protection]) -> float:
    """The largest multiple of the step below the limit; just below the limit if the step is zero.

    A multiple that equals the limit up to rounding is below it if the number that was compared is. After
    inexact sums nobody knows, and it counts as below.
    """
    if not step:
        return limit - 4 * _NEAR * max(1.0, abs(limit))
    ratio = limit / step
    near = float(np.rint(ratio))
    if abs(ratio - near) > _room(near, _NEAR):
        return float(np.ceil(ratio) - 1) * step
    last = next((one for one in reversed(earlier) if one.law.bound), None)
    if last is None:
        compared = near / round(1 / step)  # a count, or a count over the number of people
    else:
        compared = near * step if last.gives_multiples or step == round(step) else -np.inf
    return (near if compared < limit else near - 1) * step


def _room(size: Array | float, least: float) -> Array:
    """The floating-point room of a bound on counts of this size."""
    return np.asarray(least + _DIGITS * np.where(np.isfinite(size), np.abs(size), 0.0))


def _counts(low: Array, high: Array, units: float, *, exact: bool) -> tuple[Array, Array]:
    """The whole counts within intervals of published values, zero or more."""
    room = _DECIMALS if exact else _NEAR
    with np.errstate(invalid="ignore"):
        low, high = low * units, high * units
        least = np.ceil(low - _room(np.maximum(np.abs(low), units), room))
        most = np.floor(high + _room(np.maximum(np.abs(high), units), room))
    return np.maximum(least, 0.0) + 0.0, most


def _joined(low: Array, high: Array) -> Bounds:
    """The hull of each column's intervals; whole numbers in none of them are gaps."""
    some = low <= high
    least = np.where(some, low, np.inf).min(axis=0)
    most = np.where(some, high, -np.inf).max(axis=0)
    none = ~some.any(axis=0)
    least[none] = 1.0
    most[none] = 0.0
    gaps: list[tuple[int, npt.NDArray[Any]]] = []
    for column in np.flatnonzero((some.sum(axis=0) > 1) & (most - least <= _WIDEST_GAPS)):
        counts = np.arange(least[column], most[column] + 1)
        ends = low[some[:, column], column], high[some[:, column], column]
        inside = (counts[:, None] >= ends[0]) & (counts[:, None] <= ends[1])
        outside = counts[~inside.any(axis=1)].astype(np.int64)
        if outside.size:
            gaps.append((int(column), outside))
    return Bounds(least, most, tuple(gaps))


def neighbour_sums(
    values: Array, tables: CellLayout, protections: Sequence[Protection], units: float
) -> NeighbourSums | None:
    """What controlled rounding of whole counts says about sums of neighbouring cells; None if nothing.

    Notes
    -----
    The published sum of any stretch of neighbouring cells is less than a base away from the true sum.
    Conversely, every secret whose tables meet all these limits can have led to the published tables (see
    `Rounding`), so together with the cells these are all the constraints. Used only if nothing but hiding
    follows the rounding. Sums with a hidden cell are left out.
    """
    within = protections[0].sums_within if protections else None
    if within is None or not len(tables):
        return None
    base = within * units
    if abs(base - round(base)) > _NEAR or any(one.law.bound for one in protections[1:]):
        return None
    start, stop = _neighbours(tables)
    total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values * units))])
    hidden = np.concatenate([[0], np.cumsum(np.isnan(values))])
    shown = hidden[stop + 1] == hidden[start]
    start, stop = start[shown], stop[shown]
    if not start.size:
        return None
    middle = np.rint(total[stop + 1] - total[start])
    return NeighbourSums(start, stop, Bounds(middle - round(base) + 1, middle + round(base) - 1))


def _neighbours(tables: CellLayout) -> tuple[IntArray, IntArray]:
    """The first and the last cell of every sum of neighbours, but whole tables of two cells."""
    start = [np.zeros(0, dtype=np.intp)]
    stop = [np.zeros(0, dtype=np.intp)]
    for shape, chosen, index in tables.alike():
        size = int(np.prod(shape))
        if size > 2 and chosen.size * size * size * size / 6 <= _MOST_SUMS:
            first, last = np.triu_indices(size, 1)
            start.append((index[:, 0][:, None] + first).ravel())
            stop.append((index[:, 0][:, None] + last).ravel())
    return np.concatenate(start), np.concatenate(stop)
