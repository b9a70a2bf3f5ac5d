"""Patterns: the distinct rows of a table of people, and who has which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data.bits import Bits, IntArray, sum_tokens

__all__ = ["Patterns", "group_rows"]


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct public rows: people with equal rows cannot be told apart by any public statistic.

    Attributes
    ----------
    codes
        Columns × people.
    counts
        How many people share each pattern.
    index
        The pattern of each person.
    first
        One person of each pattern.
    """

    codes: IntArray | Bits
    counts: IntArray
    index: IntArray
    first: IntArray

    @property
    def rows(self) -> IntArray:
        """One row of codes per pattern."""
        return np.asarray(self.codes)[:, self.first].T

    def __len__(self) -> int:
        return self.counts.size


def group_rows(codes: IntArray | Bits, sums: npt.NDArray[np.uint64] | None = None) -> Patterns:
    """The distinct columns of a codes matrix (columns × people), in the order of their first person.

    ``sums`` is a number for each person, the same for equal codes, where such are known.

    Notes
    -----
    People are hashed by a random integer combination of their codes, and the grouping is then checked
    person by person, so that a collision costs time and never correctness.
    """
    hashed = _hashed(codes) if sums is None else sums
    _, first, index, counts = np.unique(hashed, return_index=True, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[index] > 1)  # different numbers are different codes
    leader = first[index[shared]]
    if shared.size and any((row[leader] != row[shared]).any() for row in codes):
        _, first, index, counts = np.unique(
            np.asarray(codes), axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        index = index.ravel()
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return Patterns(codes, counts[order], place[index], first[order])


def _hashed(codes: IntArray | Bits) -> npt.NDArray[Any]:
    key = np.random.default_rng(0).integers(1, 2**62, size=(codes.shape[0],), dtype=np.int64)
    if isinstance(codes, Bits):
        return sum_tokens(codes, [np.array([0, one], dtype=np.uint64) for one in key])
    hashed = np.zeros(codes.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        for j, row in enumerate(codes):
            hashed += key[j] * row.astype(np.int64)
    return hashed
