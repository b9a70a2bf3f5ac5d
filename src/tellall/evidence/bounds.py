"""Bounds: what is certain about values, and about rows of an operator on people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.compose import RowSelect, Stack
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.operators.sparse import Sparse
from tellall.linalg.solvers.solution import Gaps

__all__ = ["Bounds", "Certain", "NeighbourSums", "certain_rows", "sums_of"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the largest that each value can be; ``low > high`` if nothing is possible.

    ``gaps`` lists whole numbers between the two that it cannot be, by the index of the value.
    """

    low: Array
    high: Array
    gaps: Gaps = ()

    def __len__(self) -> int:
        return self.low.size

    @property
    def limited(self) -> IntArray:
        """The values about which something is certain, by index."""
        return np.flatnonzero(np.isfinite(self.low) | np.isfinite(self.high))

    def moved(self, offset: Array) -> Bounds:
        """The bounds of the values plus an offset; nothing is certain where that is missing (NaN)."""
        lost = np.isnan(offset)
        offset = np.nan_to_num(offset)
        low = np.where(lost, -np.inf, self.low) + offset
        high = np.where(lost, np.inf, self.high) + offset
        gaps = tuple((row, counts + round(offset[row])) for row, counts in self.gaps if not lost[row])
        return Bounds(low, high, gaps)

    def times(self, factor: float) -> Bounds:
        """The same about numbers that are ``factor`` times as large."""
        return Bounds(factor * self.low, factor * self.high, self.gaps)

    def widened(self, more: Array, fewer: Array) -> Bounds:
        """The bounds if values may be this much too large, or too small."""
        if not (more.any() or fewer.any()):
            return self
        kept = tuple((row, counts) for row, counts in self.gaps if not more[row] and not fewer[row])
        return Bounds(self.low - more, self.high + fewer, kept)

    def take(self, index: IntArray) -> Bounds:
        """Some of the bounds, by index in rising order."""
        place = {row: at for at, row in enumerate(index.tolist())} if self.gaps else {}
        gaps = tuple((place[row], counts) for row, counts in self.gaps if row in place)
        return Bounds(self.low[index], self.high[index], gaps)

    @classmethod
    def stacked(cls, parts: Sequence[Bounds]) -> Bounds:
        """The bounds of all parts, one after the other."""
        starts = np.cumsum([0, *map(len, parts)])
        gaps = [
            (row + int(start), counts)
            for start, part in zip(starts, parts, strict=False)
            for row, counts in part.gaps
        ]
        low, high = (np.concatenate([getattr(part, side) for part in parts]) for side in ("low", "high"))
        return cls(low, high, tuple(gaps))


@dataclass(frozen=True, eq=False)
class NeighbourSums:
    """Sums of neighbouring values, from ``start`` to ``stop`` inclusive, and what is certain about them."""

    start: IntArray
    stop: IntArray
    bounds: Bounds

    def moved(self, offset: Array) -> NeighbourSums:
        """The sums of the values plus an offset; one that is missing (NaN) counts as zero."""
        total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(offset))])
        shift = total[self.stop + 1] - total[self.start]
        return NeighbourSums(self.start, self.stop, self.bounds.moved(shift))


@dataclass(frozen=True, eq=False)
class Certain:
    """Bounds that hold for every possible secret, on the rows of operator @ unknowns.

    ``origin`` has the index of the release and of the value that each row comes from; −1 for a sum of values,
    or for no value at all.
    """

    operator: LinearOperator
    bounds: Bounds
    origin: IntArray

    @property
    def low(self) -> Array:
        """The least of each row."""
        return self.bounds.low

    @property
    def high(self) -> Array:
        """The largest of each row."""
        return self.bounds.high

    @property
    def gaps(self) -> Gaps:
        """Whole numbers in between that do not occur, by row."""
        return self.bounds.gaps

    @classmethod
    def stacked(cls, parts: Sequence[Certain]) -> Certain:
        """What is certain from all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            Stack([part.operator for part in parts]),
            Bounds.stacked([part.bounds for part in parts]),
            np.concatenate([part.origin for part in parts]),
        )


def certain_rows(
    release: int, operator: LinearOperator, bounds: Bounds, sums: NeighbourSums | None
) -> list[Certain]:
    """What is certain about the rows of one release, and about sums of neighbouring rows."""
    said = bounds.limited
    rows = operator if said.size == len(bounds) else RowSelect(operator, said)
    found = [Certain(rows, bounds.take(said), np.column_stack([np.full(said.size, release), said]))]
    if sums is not None:
        nowhere = np.column_stack([np.full(len(sums.bounds), release), np.full(len(sums.bounds), -1)])
        found.append(Certain(sums_of(operator, sums.start, sums.stop), sums.bounds, nowhere))
    return found


def sums_of(operator: LinearOperator, start: IntArray, stop: IntArray) -> LinearOperator:
    """The operator whose rows are sums of neighbouring rows, from start up to stop."""
    from scipy.sparse import csr_array

    lengths = stop - start + 1
    ends = np.cumsum(lengths)
    columns = np.arange(ends[-1]) - np.repeat(ends - lengths - start, lengths)
    shape = (start.size, operator.shape[0])
    mix = csr_array((np.ones(columns.size), columns, np.concatenate([[0], ends])), shape)
    return Sparse(mix @ operator.to_sparse())
