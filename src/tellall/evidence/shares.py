"""Shares as counts: a percentage of a known number of people leaves few whole counts possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.evidence.count_tables import CountTable
from tellall.evidence.undo import possible_counts, possible_values
from tellall.linalg.operators.linear_operator import Array
from tellall.people.bands import ColumnLabels, Refined
from tellall.protections.rounding import either_way

__all__ = ["base_bounds", "counts_of_shares"]

_FEW = 100  # people, up to which every number of them is tried
_WHOLE = 1e-6  # how far a count may be off if it was written as a share


def base_bounds(
    table: CountTable,
    counted: Sequence[tuple[CountTable, Array, Array]],
    people: int | None,
    columns: Mapping[str, Refined],
    gaps: Set[str],
) -> tuple[Array, Array]:
    """The least and the largest number of people behind each share of a table, for each cell of its base.

    ``counted`` has the tables of counts, with the least and the largest count of each of their cells;
    ``gaps`` the columns that people may have no value of. A share leaves such people out of its base, and a
    table of counts does too, which is then no largest number.
    """
    of = table.shares_of or ()
    sizes = [len(table.labels[table.columns.index(name)]) for name in of]
    low = np.zeros(prod(sizes))
    high = np.full(prod(sizes), np.inf)
    known = not of and people is not None and table.where is None
    if known:
        low[:] = high[:] = float(people or 0)
    for other, least, most in counted:
        if other.where == table.where and set(of) <= set(other.columns):
            nested = [_nested(columns[name], other.coding(name), table.coding(name)) for name in of]
            if any(each is None for each in nested):
                continue
            place = _project(other, of, nested)
            low = np.maximum(low, np.bincount(place, np.maximum(least, 0.0), low.size))
            if not gaps & (set(other.columns) - set(of)):
                high = np.minimum(high, np.bincount(place, most, low.size))
            known = True
    if not known:
        base = " × ".join(of) or "everybody"
        advice = f"Add a table with the counts of {base}, or counts in place of shares."
        raise invalid("releases", "shares of people whose counts are published too", table.describe(), advice)
    if gaps & (set(table.columns) - set(of)):
        shown = (
            possible_values(table.counts, table.protections)[0] > 0
        )  # a share that is not zero is of somebody
        low = np.minimum(np.bincount(_project(table, of), shown, low.size), 1.0)
    return low, high


def _nested(column: Refined, fine: ColumnLabels, coarse: ColumnLabels) -> npt.NDArray[np.intp] | None:
    """For each label of the finer coding, the label of the coarser that holds it; None if it is not finer."""
    parts = column.parts[fine]
    whole = column.parts[coarse]
    inside = np.array([[not (part & ~each).any() for each in whole] for part in parts])
    if not (inside.sum(axis=1) == 1).all() or not np.array_equal(parts.sum(axis=0), whole.sum(axis=0)):
        return None
    return np.asarray(inside.argmax(axis=1))


def counts_of_shares(table: CountTable, bases: tuple[Array, Array]) -> tuple[Array, Array]:
    """The least and the largest count of each cell of a table of shares.

    Notes
    -----
    A share s of N people stands for the whole counts x for which x/N can have become s. If N is only known to
    lie in an interval, x is at least the least share times its lower end, and at most the largest share times
    its upper end. Neither product need be a whole number, since N may be any number in between; up to 100
    people, every N is tried. A half may have been rounded either way, since a share that was divided is a
    half up to floating-point error only.
    """
    place = _project(table, table.shares_of or ())
    least = bases[0][place]
    most = bases[1][place]
    shares = possible_values(table.counts, table.protections)
    low = np.zeros(place.size)
    high = most.copy()
    some = least > 0
    limited = (most > 0) & np.isfinite(most)
    low[some] = np.ceil(shares[0][some] * table.units * least[some] - _WHOLE)
    high[limited] = np.floor(shares[1][limited] * table.units * most[limited] + _WHOLE)
    few = limited & ((least == most) | (most <= _FEW))
    for first, last in np.unique(np.stack([least[few], most[few]]), axis=1).T.tolist():
        at = (least == first) & (most == last)
        ends = [_ends(table, at, float(size)) for size in range(max(1, round(first)), round(last) + 1)]
        possible = [lowest <= highest for lowest, highest in ends]
        lows = [np.where(fits, each, np.inf) for fits, (each, _) in zip(possible, ends, strict=True)]
        highs = [np.where(fits, each, -np.inf) for fits, (_, each) in zip(possible, ends, strict=True)]
        low[at] = np.min(lows, axis=0) if first else 0.0
        high[at] = np.max(highs, axis=0)
    impossible = np.isinf(low) | (shares[0] > shares[1])
    low, high = np.where(impossible, 1.0, low), np.where(impossible, 0.0, high)
    high = np.maximum(np.minimum(high, most), 0.0)
    return np.minimum(np.maximum(low, 0.0), high + 1), high  # low is one above high where no count fits


def _ends(table: CountTable, at: npt.NDArray[np.bool_], size: float) -> tuple[Array, Array]:
    """The least and the largest counts of some cells, if their shares are of ``size`` people."""
    found = possible_counts(table.counts[at], either_way(table.protections), table.units * size)
    return found.low, found.high


def _project(
    table: CountTable, of: Sequence[str], nested: Sequence[npt.NDArray[np.intp] | None] = ()
) -> npt.NDArray[np.intp]:
    """For each cell of a table, the cell of these columns that contains it; in other labels if ``nested``."""
    shape = tuple(map(len, table.labels))
    codes = np.unravel_index(np.arange(prod(shape)), shape) if shape else ()
    flat = np.zeros(prod(shape), dtype=np.intp)
    for name, outer in zip(of, nested or [None] * len(of), strict=True):
        at = table.columns.index(name)
        inner = np.arange(shape[at]) if outer is None else outer
        flat = flat * (int(inner.max()) + 1) + inner[codes[at]]
    return flat
