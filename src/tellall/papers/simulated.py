"""What the simulations of the papers share: how many attributes, and means over runs with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.report.paper import Statement
from tellall.report.plot import Kind, Series

__all__ = [
    "attributes_for",
    "interval_series",
    "mean_of",
    "share_at_least",
    "share_at_most",
    "share_of",
]


def attributes_for(sets: int, order: int = 2) -> int:
    """The fewest attributes with so many sets of `order` of them.

    Examples
    --------
    >>> attributes_for(800, 1), attributes_for(800, 2), attributes_for(800, 3)
    (800, 41, 18)
    """
    d = order
    while math.comb(d, order) < sets:
        d += 1
    return d


def share_of(rates: npt.ArrayLike) -> tuple[float, tuple[float, float]]:
    """The mean of rates, one per run, with its 95 % interval over runs.

    Notes
    -----
    Student's interval, cut to [0, 1]. Where all runs gave 0 or all gave 1 it would be empty, and
    Clopper–Pearson's for a run that gives anything else stands in: wider than needed.

    Examples
    --------
    >>> value, (low, high) = share_of([1.0] * 10)
    >>> value, round(low, 3), high
    (1.0, 0.692, 1.0)
    """
    from scipy.special import stdtrit

    values = np.asarray(rates, dtype=np.float64)
    mean, runs = float(values.mean()), values.size
    blank = 0.025 ** (1 / runs)
    if mean in (0.0, 1.0):
        return mean, ((blank, 1.0) if mean else (0.0, 1 - blank))
    if runs == 1:
        return mean, (0.0, 1.0)
    margin = float(stdtrit(runs - 1, 0.975) * values.std(ddof=1) / math.sqrt(runs))
    return mean, (max(0.0, mean - margin), min(1.0, mean + margin))


def share_at_least(
    what: str, where: str, setting: str, rates: list[float], theorem: str, bound: float
) -> Statement:
    """A statement that the mean of rates over runs is at or above the bound."""
    value, interval = share_of(rates)
    return Statement.at_least(what, where, theorem, value, bound, setting=setting, interval=interval)


def share_at_most(
    what: str, where: str, setting: str, rates: list[float], theorem: str, bound: float
) -> Statement:
    """A statement that the mean of rates over runs is at or below the bound."""
    value, interval = share_of(rates)
    return Statement.at_most(what, where, theorem, value, bound, setting=setting, interval=interval)


def mean_of(runs: Array) -> tuple[float, tuple[float, float] | None]:
    """The mean over runs with its 95 % interval; no interval where all runs agree.

    Examples
    --------
    >>> mean_of(np.ones(5))
    (1.0, None)
    """
    value, interval = share_of(runs)
    return value, None if bool(np.all(runs == runs[0])) else interval


def interval_series(label: str, x: Sequence[float], runs: Sequence[Array], kind: Kind = "points") -> Series:
    """The means of some runs at each x, with their 95 % intervals."""
    found = [mean_of(values) for values in runs]
    ends = [(value, value) if interval is None else interval for value, interval in found]
    low, high = zip(*ends, strict=True)
    return Series(label, x, [value for value, _ in found], low=low, high=high, kind=kind)
