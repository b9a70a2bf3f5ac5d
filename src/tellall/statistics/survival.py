"""SurvivalCurve: Kaplan-Meier estimates of an event that is the secret, with public follow-up times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.operators.sparse import Sparse
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.statistic import COUNT_FLOOR, Equations, Statistic, numbers_of

__all__ = ["SurvivalCurve"]

_WHOLE = 1e-6  # how far an exact number of events may be from a whole number
_ROOM = 1e-9
_SMALL = 0.01  # errors of a curve up to which their squares can be ignored


@dataclass(frozen=True)
class SurvivalCurve(Statistic):
    """The Kaplan-Meier curve of an event, which is the secret bit; the follow-up times are public.

    Parameters
    ----------
    time
        The public column of follow-up times: until the event, or until the person was last seen.
    by
        A public column; each of its values has its own curve.
    grid
        The times at which the curve is published; by default all distinct follow-up times.

    Notes
    -----
    S(t) = Π_{t_k ≤ t} (1 − d_k/n_k): n_k people were seen at least until t_k, which is public, and d_k of
    those last seen at t_k had the event. So d_k = n_k (1 − S(t_k)/S(t_{k−1})) as long as the curve is above
    zero: a count of the secret among the people of one time, exact on an exact curve. To first order, errors
    in S(t_k) and S(t_{k−1}) move it by n_k/S(t_{k−1}) and n_k S(t_k)/S(t_{k−1})² times their size. That is
    no bound, so only an exact curve proves anything. On a coarser grid, the ratio of S over an interval with
    D events is a product of D factors 1 − 1/m, where m is between the number of people seen until its first
    time and one more than the number seen beyond its last. That bounds D from both sides; if the curve is
    exact and only one whole number fits, it is an equation. How far one person can move a curve is not known.

    Examples
    --------
    >>> people = Dataset.from_arrays([[1.0], [2.0], [2.0], [3.0]], secret=[1, 0, 1, 0], names=["months"])
    >>> SurvivalCurve("months").values(people).tolist()
    [0.75, 0.5, 0.5]
    """

    scale = "counts"  # the only scale of a curve
    counts_people = False

    time: str
    by: str | None = None
    grid: tuple[float, ...] | None = None

    def __init__(self, time: str, by: str | None = None, *, grid: Sequence[float] | None = None) -> None:
        for name, column in (("time", time), ("by", by)):
            if not (isinstance(column, str) or (name == "by" and column is None)):
                raise invalid(name, "the name of a public column", column)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "grid", None if grid is None else _check_grid(grid))

    def describe(self) -> str:
        each = f" for each {self.by}" if self.by else ""
        where = "" if self.grid is None else f" at {len(self.grid)} times"
        return f"survival curve over {self.time}{each}{where}"

    def measured_in(self) -> str:
        return "shares of the people under observation"

    def size(self, public: Public) -> int:
        return sum(curve.shown.size for curve in self._curves(public))

    def size_for(self, public: Public, levels: int) -> int:
        if levels != 2:
            raise invalid("secret", "a bit, whether the event was seen", f"{levels} values")
        return self.size(public)

    def needs(self, columns: Outline) -> set[str]:
        return {self.time} | ({self.by} if self.by else set())

    def memory(self, public: Public, *, packed: bool = False) -> int:
        return 16 * public.n

    def _curves(self, public: Public) -> list[_Curve]:
        """The curves, each with its people."""
        times = numbers_of(public, public.position(self.time, "time"), "to be a follow-up time")
        groups = np.zeros(public.n, dtype=np.intp)
        count = 1
        if self.by is not None:
            place = public.position(self.by, "by")
            groups = np.asarray(public.codes[place], dtype=np.intp)
            count = public.levels[place]
        return [_Curve.of(np.flatnonzero(groups == group), times, self.grid) for group in range(count)]

    def values(self, dataset: Dataset) -> Array:
        if dataset.secret is None or dataset.levels != 2:
            raise invalid("secret", "a bit, whether the event was seen", f"{dataset.levels} values")
        return np.concatenate([curve.estimate(dataset.bits) for curve in self._curves(dataset.public)])

    def approximate(self, public: Public, std: float) -> str:
        return "the errors of a curve are taken to first order" if std > _SMALL else ""

    def equations(self, public: Public, values: Array) -> Equations:
        from scipy.sparse import csr_array

        curves = self._curves(public)
        parts = np.split(values, np.cumsum([curve.shown.size for curve in curves])[:-1])
        rows = [curve.rows(part) for curve, part in zip(curves, parts, strict=True)]
        target, gain, doubt = (np.concatenate([row[side] for row in rows]) for side in range(3))
        first = np.cumsum([0, *(curve.shown.size for curve in curves)])
        row_of = np.concatenate([start + curve.step for start, curve in zip(first, curves, strict=False)])
        who = np.concatenate([curve.people for curve in curves])
        seen = np.concatenate([curve.step < curve.shown.size for curve in curves])
        entries = (np.ones(int(seen.sum())), (row_of[seen], who[seen]))
        operator = Sparse(csr_array(entries, shape=(values.size, public.n)))
        place = np.full(public.n, -1, dtype=np.intp)
        place[who[seen]] = row_of[seen]
        # an exact curve has whole numbers of events; without them it proves nothing, whatever is declared
        exact = bool((np.abs(target - np.rint(target))[~np.isnan(target) & (doubt == 0)] < _WHOLE).all())
        if exact:
            target = np.where(doubt == 0, np.rint(target), target)
        else:
            doubt = np.maximum(doubt, _ROOM)
        alike = group_rows(place[None, :]).index
        return Equations(operator, target, alike, gain, np.inf, doubt, COUNT_FLOOR)


def _check_grid(grid: Sequence[float]) -> tuple[float, ...]:
    rule = "times in ascending order, each once"
    try:
        times = tuple(float(time) for time in grid)
    except (TypeError, ValueError):
        raise invalid("grid", rule, grid) from None
    if not times or not np.isfinite(times).all() or list(times) != sorted(set(times)):
        raise invalid("grid", rule, grid)
    return times


@dataclass(frozen=True, eq=False)
class _Curve:
    """The people of one curve.

    Attributes
    ----------
    people, place
        Their indices, and at which of the distinct times each was last seen.
    at_risk
        How many were seen until each of those times.
    shown
        The last of the times that each published value covers; −1 if it covers none.
    """

    people: IntArray
    place: IntArray
    at_risk: Array
    shown: IntArray

    @classmethod
    def of(cls, people: IntArray, times: Array, grid: tuple[float, ...] | None) -> _Curve:
        """The curve of these people, published at all their times or on a grid."""
        own = times[people]
        distinct, place = np.unique(own, return_inverse=True)
        at_risk = (own.size - np.searchsorted(np.sort(own), distinct)).astype(np.float64)
        shown = np.arange(distinct.size)
        if grid is not None:
            shown = np.searchsorted(distinct, np.array(grid), side="right") - 1
        return cls(people, place.ravel(), at_risk, shown)

    @property
    def step(self) -> IntArray:
        """The first published value that counts each person's time; the number of values if none does."""
        return np.asarray(np.searchsorted(self.shown, self.place))

    def estimate(self, bits: IntArray) -> Array:
        """The curve at its published times."""
        events = np.bincount(self.place, bits[self.people].astype(np.float64), minlength=self.at_risk.size)
        curve = np.append(1.0, np.cumprod(1 - events / self.at_risk))
        return np.asarray(curve[self.shown + 1])

    def rows(self, values: Array) -> tuple[Array, Array, Array]:
        """For each published value the number of events, its gain, and a further standard deviation."""
        before = np.append(1.0, values[:-1])
        first = np.append(0, self.shown[:-1] + 1)
        last = self.shown
        target, gain, doubt = (np.full(values.size, fill) for fill in (np.nan, 1.0, 0.0))
        for row in range(values.size):
            if not (before[row] > 0 and values[row] <= before[row] + _WHOLE) or last[row] < first[row]:
                continue  # the curve is at zero, not shown or rises because of noise, or no time is covered
            ratio = min(float(values[row] / before[row]), 1.0)
            if first[row] == last[row]:
                people = self.at_risk[last[row]]
                target[row] = people * (1 - ratio)
                gain[row] = people / before[row] * np.hypot(1.0, ratio)
            elif values[row] > 0:
                most = self.at_risk[first[row]]
                least = self._beyond(int(last[row])) + 1
                low, high = _events_between(ratio, most, least)
                target[row] = (low + high) / 2
                doubt[row] = (high - low) / np.sqrt(12)
                gain[row] = most / before[row] * np.hypot(1.0, ratio)
        return target, gain, doubt

    def _beyond(self, time: int) -> float:
        """How many were seen beyond a time."""
        return float(self.at_risk[time + 1]) if time + 1 < self.at_risk.size else 0.0


def _events_between(ratio: float, most: float, least: float) -> tuple[float, float]:
    """The least and the largest whole number of events for which the curve falls by that ratio.

    Each event is a factor 1 − 1/m with m from ``least`` to ``most``. If no whole number fits, those on both
    sides, so that none of them is certain.
    """
    fall = -np.log(ratio)
    slowest = -np.log1p(-1 / most) if most > 1 else np.inf
    fastest = -np.log1p(-1 / least) if least > 1 else np.inf
    low = np.ceil(fall / fastest - _WHOLE) if np.isfinite(fastest) else float(fall > _WHOLE)
    high = np.floor(fall / slowest + _WHOLE) if np.isfinite(slowest) else float(fall > _WHOLE)
    return float(min(low, high)), float(max(low, high))
