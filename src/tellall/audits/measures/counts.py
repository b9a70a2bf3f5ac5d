"""Counts of people, as means over draws: added up and judged as they are, rounded only where shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from tellall.core.records import MAYBE_WHOLE, Meaning

__all__ = ["SMALL", "Counts", "People", "add_counts", "mean_count", "mean_counts", "sum_counts"]

People = Annotated[float, MAYBE_WHOLE, Meaning(unit="people", least=0)]
SMALL = 10  # people from which a cell is not small, unless a plan or a policy says otherwise
Counts = dict[str, People]  # by the value of their secret
_PLACES = 9  # beyond these decimals a sum of means differs from the true one only by floating point


def mean_count(counts: Sequence[int]) -> float:
    """The mean of a count over draws, not rounded.

    Examples
    --------
    >>> mean_count([0, 0, 1, 0]), mean_count([2, 4])
    (0.25, 3)
    """
    whole, rest = divmod(sum(counts), len(counts))
    return sum(counts) / len(counts) if rest else whole


def add_counts(counts: Iterable[float]) -> float:
    """The sum of mean counts, free of the errors of floating point, so that it can be compared with a limit.

    Examples
    --------
    >>> 0.1 + 0.2 == 0.3, add_counts([0.1, 0.2]) == 0.3, add_counts(10 * [0.1])
    (False, True, 1)
    """
    total = round(math.fsum(counts), _PLACES)
    return int(total) if total.is_integer() else total


def mean_counts(rows: Sequence[Mapping[str, int]]) -> Counts:
    """Each count's mean over draws.

    Examples
    --------
    >>> mean_counts([{"0": 1, "1": 4}, {"0": 2, "1": 4}])
    {'0': 1.5, '1': 4}
    """
    return {value: mean_count([row[value] for row in rows]) for value in rows[0]}


def sum_counts(rows: Sequence[Counts]) -> Counts:
    """The sum of each count over areas."""
    return {value: add_counts(row[value] for row in rows) for value in rows[0]}
