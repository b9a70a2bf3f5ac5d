"""The whole counts that published values leave possible: what was done to them, undone step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect, Stack
from tellall.algebra.operators.sparse import Sparse
from tellall.algebra.solvers.base import Gaps
from tellall.release.protections.protection import Protection
from tellall.release.protections.rounding import Rounding
from tellall.release.statistics.base import CellLayout

if TYPE_CHECKING:
    from tellall.release.equations import ReleaseEquations

__all__ = ["Certain", "Facts", "Possible", "Stretches", "join_facts", "possible_counts", "stretches_of"]

_NEAR = 1e-9  # floating-point room of a bound on counts
_DECIMALS = 1e-6  # how far an exact count may be off because it was written down as a share
_WIDEST_GAPS = 1000  # counts between the least and the largest, up to which gaps are listed
_MOST_STRETCHES = 200_000  # cells in all stretches of all tables


@dataclass(frozen=True, eq=False)
class Possible:
    """The least and the largest count possible for each value; ``low > high`` where none is.

    ``gaps`` lists, by the index of a value, counts between these that are not possible.
    """

    low: Array
    high: Array
    gaps: Gaps = ()


@dataclass(frozen=True, eq=False)
class Stretches:
    """Neighbouring values whose sum is known better than each: from ``start`` up to ``stop``, both inside."""

    start: IntArray
    stop: IntArray
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Facts:
    """What is certain about each row of a release's operator: low ≤ A s ≤ high, for every possible secret.

    Attributes
    ----------
    low, high
        One for every published value, shown or hidden; infinite where nothing is certain.
    gaps
        By row: whole numbers between these that A s cannot be.
    stretches
        Sums of neighbouring rows that are certain too; None without such.
    """

    low: Array
    high: Array
    gaps: Gaps = ()
    stretches: Stretches | None = None

    @classmethod
    def of(cls, possible: Possible, offset: Array, stretches: Stretches | None = None) -> Facts:
        """The facts about rows, A s being the count and an offset; none where the offset is NaN."""
        lost = np.isnan(offset)
        possible = Possible(
            np.where(lost, -np.inf, possible.low), np.where(lost, np.inf, possible.high), possible.gaps
        )
        offset = np.nan_to_num(offset)
        gaps = tuple((row, counts + round(offset[row])) for row, counts in possible.gaps)
        moved = None
        if stretches is not None and stretches.start.size:
            total = np.concatenate([[0.0], np.cumsum(offset)])
            shift = total[stretches.stop + 1] - total[stretches.start]
            moved = Stretches(stretches.start, stretches.stop, stretches.low + shift, stretches.high + shift)
        return cls(possible.low + offset, possible.high + offset, gaps, moved)


def possible_counts(values: Array, protections: Sequence[Protection], units: float) -> Possible:
    """Every whole count that the protections can turn into each published value (NaN: hidden).

    Notes
    -----
    The last protection is undone first (`Protection.before`): each gives the interval of what it may have
    turned into a value of the interval so far, ends on whole counts as long as values are whole. A hidden
    value was under the limit of one of the protections that hide, and was shown by those before it. Errors
    from a table may leave gaps. Equal values have equal answers, so the cost is that of the distinct ones.
    ``units`` is what a published value is multiplied with to be a count.

    Examples
    --------
    >>> from tellall.release.protections import Rounding, Suppression
    >>> found = possible_counts(np.array([3.0, 6.0]), [Rounding(3, "random")], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([1.0, 4.0], [5.0, 8.0])
    >>> found = possible_counts(np.array([np.nan, 10.0]), [Rounding(5), Suppression(10)], 1.0)
    >>> found.low.tolist(), found.high.tolist()
    ([0.0, 8.0], [7.0, 12.0])
    """
    distinct, index = np.unique(values, return_inverse=True)  # NaN is one value, the last
    low, high, gaps = _undone(distinct, protections, units)
    odd = _not_rounded(distinct, protections)
    low, high, gaps = np.where(odd, 0.0, low), np.where(odd, np.inf, high), _without(gaps, odd)
    index = index.reshape(values.shape)
    missing = dict(gaps)
    listed: Gaps = ()
    if missing:
        rows = np.flatnonzero(np.isin(index, list(missing)))
        listed = tuple((int(row), missing[int(index[row])]) for row in rows)
    return Possible(low[index], high[index], listed)


def _not_rounded(values: Array, protections: Sequence[Protection]) -> npt.NDArray[np.bool_]:
    """Values that the last rounding does not give: they came about otherwise, and say nothing for sure."""
    last = next((one for one in reversed(protections) if not one.hides), None)
    if not isinstance(last, Rounding):
        return np.zeros(values.size, dtype=bool)
    return ~np.isnan(values) & ~last.rounds_to(values)


def _without(gaps: Gaps, which: npt.NDArray[np.bool_]) -> Gaps:
    return tuple((row, counts) for row, counts in gaps if not which[row])


def _undone(values: Array, protections: Sequence[Protection], units: float) -> tuple[Array, Array, Gaps]:
    """The possible counts of distinct values."""
    pieces = _counts(*_back(values, protections, 1 / units), units, exact=_is_exact(protections))
    if any(protection.keeps_zero for protection in protections):
        others = [protection for protection in protections if not protection.keeps_zero]
        nobody = _counts(*_back(values, others, 1 / units), units, exact=_is_exact(others))
        empty = ((nobody[0] <= 0) & (nobody[1] >= 0)).any(axis=0)
        low, high = np.maximum(pieces[0], 1.0), pieces[1]
        zero = np.where(empty, 0.0, 1.0), np.zeros(values.size)  # from 1 to 0 is nothing
        pieces = np.vstack([low, zero[0]]), np.vstack([high, zero[1]])
    return _joined(*pieces)


def _is_exact(protections: Sequence[Protection]) -> bool:
    """Whether shown values are counts without an error."""
    return all(protection.law.known and protection.law.bound == 0 for protection in protections)


def _back(values: Array, protections: Sequence[Protection], step: float) -> tuple[Array, Array]:
    """Intervals of what was there before any protection, several for each value where there are gaps.

    ``step`` is one person: exact values are multiples of it.
    """
    steps = [step]
    for protection in protections:
        steps.append(protection.step_after(steps[-1]))

    def undo(last: int, low: Array, high: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):  # where nothing is possible, from ∞ to −∞
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
            top = np.inf if limit is None else _last_below(limit, steps[number])
            parts.append((~shown, undo(number, least, np.full(least.shape, top))))
        if not hiding:  # nobody said why
            parts.append((~shown, (least, -least)))
    lows: list[Array] = []
    highs: list[Array] = []
    for which, (low, high) in parts:
        for side, ends, fill in ((lows, low, np.inf), (highs, high, -np.inf)):
            wide = np.full((ends.shape[0], values.size), fill)
            wide[:, which] = ends
            side.append(wide)
    return np.vstack(lows), np.vstack(highs)


def _last_below(limit: float, step: float) -> float:
    """The largest multiple of the step below the limit; just below it where values are anything."""
    if not step:
        return limit - 4 * _NEAR * max(1.0, abs(limit))
    return float((np.ceil(limit / step - _NEAR) - 1) * step)


def _counts(low: Array, high: Array, units: float, *, exact: bool) -> tuple[Array, Array]:
    """The whole counts within intervals of published values, zero or more."""
    room = _DECIMALS if exact else _NEAR
    with np.errstate(invalid="ignore"):
        least, most = np.ceil(low * units - room), np.floor(high * units + room)
    return np.maximum(least, 0.0) + 0.0, most


def _joined(low: Array, high: Array) -> tuple[Array, Array, Gaps]:
    """The hull of each column's intervals, and the whole numbers that lie in none of them."""
    some = low <= high
    least = np.where(some, low, np.inf).min(axis=0)
    most = np.where(some, high, -np.inf).max(axis=0)
    none = ~some.any(axis=0)
    least[none], most[none] = 1.0, 0.0
    gaps: list[tuple[int, npt.NDArray[Any]]] = []
    for column in np.flatnonzero((some.sum(axis=0) > 1) & (most - least <= _WIDEST_GAPS)):
        counts = np.arange(least[column], most[column] + 1)
        ends = low[some[:, column], column], high[some[:, column], column]
        inside = (counts[:, None] >= ends[0]) & (counts[:, None] <= ends[1])
        outside = counts[~inside.any(axis=1)].astype(np.int64)
        if outside.size:
            gaps.append((int(column), outside))
    return least, most, tuple(gaps)


def stretches_of(
    values: Array, tables: CellLayout, protections: Sequence[Protection], units: float
) -> Stretches | None:
    """What controlled rounding of whole counts says of neighbouring cells; None where it says nothing.

    Notes
    -----
    The cells of any stretch of neighbours add up to less than a base above or below their true sum, and a
    secret whose tables have all these sums can have led to the published ones (see `Rounding`): together
    with the cells these are all the constraints there are. Used where nothing but hiding follows; a stretch
    with a hidden cell is left out.
    """
    first = protections[0] if protections else None
    if not isinstance(first, Rounding) or first.mode != "controlled" or not len(tables):
        return None
    base = first.base * units
    if abs(base - round(base)) > _NEAR or any(one.law.bound for one in protections[1:]):
        return None
    start, stop = [], []
    for shape, chosen, index in tables.alike():
        size = int(np.prod(shape))
        if size > 2 and chosen.size * size * size * size / 6 <= _MOST_STRETCHES:
            a, b = np.triu_indices(size, 1)
            start.append((index[:, 0][:, None] + a).ravel())
            stop.append((index[:, 0][:, None] + b).ravel())
    if not start:
        return None
    first_cell, last_cell = np.concatenate(start), np.concatenate(stop)
    total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values * units))])
    gone = np.concatenate([[0], np.cumsum(np.isnan(values))])
    seen = gone[last_cell + 1] == gone[first_cell]
    first_cell, last_cell = first_cell[seen], last_cell[seen]
    middle = np.rint(total[last_cell + 1] - total[first_cell])
    return Stretches(first_cell, last_cell, middle - round(base) + 1, middle + round(base) - 1)


@dataclass(frozen=True, eq=False)
class Certain:
    """low ≤ operator @ unknowns ≤ high for every secret that is possible.

    ``gaps`` lists, by row, whole numbers between these that do not occur. ``origin`` has the index of the
    release and of the value that each row comes from; −1 for a sum of values, or for no value at all.
    """

    operator: LinearOperator
    low: Array
    high: Array
    gaps: Gaps
    origin: IntArray


def join_facts(parts: Sequence[ReleaseEquations]) -> Certain:
    """What is certain from all of these releases, a column of the operator per person."""
    found: list[Certain] = []
    for release, part in enumerate(parts):
        facts = part.facts
        said = np.flatnonzero(np.isfinite(facts.low) | np.isfinite(facts.high))
        operator = part.source if said.size == facts.low.size else RowSelect(part.source, said)
        row = np.cumsum(np.isin(np.arange(facts.low.size), said)) - 1 if facts.gaps else said
        gaps = tuple((int(row[each]), counts) for each, counts in facts.gaps)
        origin = np.column_stack([np.full(said.size, release), said])
        found.append(Certain(operator, facts.low[said], facts.high[said], gaps, origin))
        if (more := facts.stretches) is not None:
            sums, nowhere = _sums(part.source, more.start, more.stop), np.full((more.low.size, 2), -1)
            nowhere[:, 0] = release
            found.append(Certain(sums, more.low, more.high, (), nowhere))
    starts = np.cumsum([0, *(each.low.size for each in found)])
    return Certain(
        found[0].operator if len(found) == 1 else Stack([each.operator for each in found]),
        np.concatenate([each.low for each in found]),
        np.concatenate([each.high for each in found]),
        tuple(
            (row + int(start), counts)
            for start, each in zip(starts, found, strict=False)
            for row, counts in each.gaps
        ),
        np.concatenate([each.origin for each in found]),
    )


def _sums(operator: LinearOperator, start: IntArray, stop: IntArray) -> LinearOperator:
    """The operator whose rows are sums of neighbouring rows, from start up to stop."""
    from scipy.sparse import csr_array

    lengths = stop - start + 1
    ends = np.cumsum(lengths)
    columns = np.arange(ends[-1]) - np.repeat(ends - lengths - start, lengths)
    shape = (start.size, operator.shape[0])
    mix = csr_array((np.ones(columns.size), columns, np.concatenate([[0], ends])), shape)
    return Sparse(mix @ operator.to_sparse())
