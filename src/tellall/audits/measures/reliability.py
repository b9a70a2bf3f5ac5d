"""Reliability: of the guesses that an attack made with a confidence, how many were right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.counts import People, add_counts
from tellall.core.records import Meaning, Record
from tellall.linalg.operators.linear_operator import Array

__all__ = ["Bin", "add_bins", "count_bins", "mean_bins", "merge_bins"]

_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_FEWEST = 10  # guesses in a bin that is shown


@dataclass(frozen=True)
class Bin(Record):
    """The guesses with a confidence from low to high: how many were made, how many were right."""

    low: Annotated[float, Meaning(least=0, most=1)]
    high: Annotated[float, Meaning(least=0, most=1)]
    said: People
    right: People


def count_bins(confidence: Array, right: npt.NDArray[np.bool_]) -> tuple[Bin, ...]:
    """The guesses of one attack, by confidence; the last bin holds those that are certain.

    Examples
    --------
    >>> found = count_bins(np.array([0.55, 0.97, 1.0]), np.array([False, True, True]))
    >>> [(one.low, one.said, one.right) for one in found if one.said]
    [(0.5, 1, 0), (0.95, 1, 1), (0.99, 1, 1)]
    """
    last = len(_EDGES) - 2
    index = np.clip(np.searchsorted(_EDGES, confidence, side="right") - 1, 0, last)
    said = np.bincount(index, minlength=last + 1)
    hit = np.bincount(index[right], minlength=last + 1)
    return tuple(
        Bin(low, high, int(s), int(r)) for low, high, s, r in zip(_EDGES, _EDGES[1:], said, hit, strict=False)
    )


def mean_bins(draws: Sequence[Sequence[Bin]]) -> tuple[Bin, ...]:
    """The mean over draws, not rounded."""
    added = add_bins(draws)
    return tuple(Bin(one.low, one.high, one.said / len(draws), one.right / len(draws)) for one in added)


def add_bins(parts: Sequence[Sequence[Bin]]) -> tuple[Bin, ...]:
    """The guesses of several attacks, bin by bin."""
    return tuple(
        Bin(same[0].low, same[0].high, add_counts(b.said for b in same), add_counts(b.right for b in same))
        for same in zip(*parts, strict=True)
    )


def merge_bins(bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """The bins that may be shown, in whole guesses; neighbours are merged until each has ten.

    Examples
    --------
    >>> [(one.low, one.said) for one in merge_bins([Bin(0.5, 0.9, 12, 8), Bin(0.9, 1.0, 3, 3)])]
    [(0.5, 15)]
    """
    shown: list[Bin] = []
    for one in (each for each in bins if each.said):
        if shown and (shown[-1].said < _FEWEST or one.said < _FEWEST):
            shown[-1] = _joined(shown[-1], one)
        else:
            shown.append(one)
    return tuple(
        Bin(one.low, one.high, round(one.said), round(one.right)) for one in shown if one.said >= _FEWEST
    )


def _joined(one: Bin, other: Bin) -> Bin:
    return Bin(one.low, other.high, one.said + other.said, one.right + other.right)
