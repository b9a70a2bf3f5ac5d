"""Branch and bound for whole numbers in a box: a solution, or a refutation checked in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Component

__all__ = ["Answer", "Branching"]

_NEAR = 1e-7  # floating-point room of a bound
_TINY = 1e-9  # a smaller coefficient of the tableau is none
_GRAIN = 2.0**20  # numbers nearer to each other than 1 / this are equal, so that rounding chooses no pivot
_SCALE = 2.0**20  # weights of rows are whole numbers up to this
_EXACT = 2.0**52  # below this a sum of whole numbers in floating point is exact
_AFRESH = 100  # pivots after which the tableau is computed afresh
_MOST_ENTRIES = 400_000  # of the tableau


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found: a solution, or that there is ``none``; neither where it was given up."""

    solution: Array | None = None
    none: bool = False


class _GivenUp(Exception):
    """The pivots are used up, or rounding spoilt the tableau."""


@final
class Branching:
    """Solutions of a part with some of its bounds moved, one question after the other.

    Attributes
    ----------
    least, most
        Bounds on the unknowns and then on the rows, to be narrowed as more is known.
    pivots
        How many were made so far; nothing else takes time.

    Notes
    -----
    Every row is an unknown too, s = A x, and a tableau x_B = T x_N writes some unknowns by the others. A
    basic unknown beyond its bound is brought there by a pivot (the dual simplex method without a cost). Where
    the others cannot move it so far, its line is a sum of rows that shows that nothing fits: Farkas' weights.
    They are rounded to whole numbers and checked in whole numbers, so that rounding loses a refutation at
    most, and never makes one. A point that is not whole is cut into two boxes, depth first, the nearer
    first. The tableau stays as it is from one box and one question to the next, which differ by few bounds.
    """

    def __init__(self, part: Component) -> None:
        self.part = part
        self.matrix: Array = part.matrix.toarray()
        self.m, self.n = self.matrix.shape
        self.least = np.concatenate([part.lower, part.low])
        self.most = np.concatenate([part.upper, part.high])
        self.pivots = 0
        self._table = self.matrix.copy()
        self._basic, self._others = np.arange(self.n, self.n + self.m), np.arange(self.n)
        self._at = part.lower.astype(np.float64)
        self._limit = 0

    @classmethod
    def takes(cls, part: Component) -> bool:
        """Whether a part is small enough and has whole numbers alone."""
        m, n = part.matrix.shape
        ends = (part.low, part.high, part.lower, part.upper)
        if m * n > _MOST_ENTRIES or not m or not n:
            return False
        if not all(bool((np.isfinite(each) & (each == np.rint(each))).all()) for each in ends):
            return False
        weights, widest = part.matrix.data, max(float(np.abs(each).max()) for each in ends)
        largest = _SCALE * m * float(np.abs(weights).max(initial=1.0)) * n * max(widest, 1.0)
        return bool((weights == np.rint(weights)).all()) and largest < _EXACT

    def find(self, pivots: int, unknown: int | None = None, least: float = 0.0, most: float = 0.0) -> Answer:
        """A solution within some pivots, with an unknown between two bounds of its own if one is given."""
        low, high = self.least.copy(), self.most.copy()
        if unknown is not None:
            low[unknown], high[unknown] = max(low[unknown], least), min(high[unknown], most)
        self._limit = self.pivots + pivots
        boxes, looked = [(low, high)], 0
        try:
            while boxes:
                low, high = boxes.pop()
                looked += 1
                if looked > 2 * pivots + 2:  # a box that is cut takes a pivot, unless rounding spoilt it
                    return Answer()
                if (low > high).any():
                    continue
                point = self.relaxed(low, high)
                if point is None:
                    continue
                halves = self._halves(point, low, high)
                if halves is None:
                    return Answer(self._checked(point))
                boxes += halves
        except _GivenUp:
            return Answer()
        return Answer(none=True)

    def _checked(self, point: Array) -> Array:
        """The point as whole numbers, if they fit."""
        x: Array = np.rint(point[: self.n])
        part = self.part
        if not (part.fits(x) and (x >= part.lower).all() and (x <= part.upper).all()):
            raise _GivenUp
        return x

    def _halves(self, point: Array, low: Array, high: Array) -> list[tuple[Array, Array]] | None:
        """Two boxes without the point, the nearer last; None where the point is a solution."""
        x = point[: self.n]
        off = np.rint(np.abs(x - np.rint(x)) * _GRAIN)
        cut = int(off.argmax())
        below = float(np.floor(x[cut]))
        above = below + 1
        if not off[cut]:
            gap = self._gap(point)
            if gap is None:
                return None
            cut, below, above = gap
        left, right = high.copy(), low.copy()
        left[cut], right[cut] = below, above
        halves = [(low, left), (right, high)]
        return halves if point[cut] - below > above - point[cut] else halves[::-1]

    def _gap(self, point: Array) -> tuple[int, float, float] | None:
        """A row that comes to a number it cannot come to, and the numbers beside the gap."""
        for row, counts in self.part.gaps:
            value = round(point[self.n + row])
            if value in counts:
                below = above = value
                while below in counts:
                    below -= 1
                while above in counts:
                    above += 1
                return self.n + row, float(below), float(above)
        return None

    def relaxed(self, low: Array, high: Array) -> Array | None:
        """Numbers, whole or not, for the unknowns and the rows of a box; None where it is certain of none."""
        table, basic, others = self._table, self._basic, self._others
        least, most, floor, roof = low[basic], high[basic], low[others], high[others]
        at = np.clip(self._at, floor, roof)
        value = table @ at
        patience = self.pivots + 4 * self.m + 100
        while True:
            short, over = least - value, value - most
            beyond = np.maximum(short, over)
            worst = int(np.rint(beyond * _GRAIN).argmax())
            if beyond[worst] <= _NEAR:
                self._at = at
                point = np.empty(self.n + self.m)
                point[others], point[basic] = at, value
                return point
            rises = bool(short[worst] > 0)
            line = table[worst]
            size = np.abs(line)
            size[size < _TINY] = 0.0
            room = np.where((line > 0) == rises, roof - at, at - floor)
            if float(size @ room) < beyond[worst] - _NEAR:
                self._at = at
                self._refute(worst, rises, low, high)
                return None
            size[room <= 0] = 0.0
            enter = int(np.rint(size * _GRAIN).argmax())
            if self.pivots > patience:  # it may be going in circles: the first that can move (Bland)
                waiting = np.flatnonzero(beyond > _NEAR)
                worst = int(waiting[basic[waiting].argmin()])
                line, rises = table[worst], bool(short[worst] > 0)
                free = np.where((line > 0) == rises, roof - at, at - floor) > 0
                able = np.flatnonzero(free & (np.abs(line) > _TINY))
                if not able.size:
                    self._at = at
                    self._refute(worst, rises, low, high)
                    return None
                enter = int(able[others[able].argmin()])
            if self.pivots >= self._limit or self.pivots > patience + 20 * self.m + 1000:
                self._at = at
                raise _GivenUp
            end = float(least[worst] if rises else most[worst])
            move = (end - value[worst]) / line[enter]
            value += table[:, enter] * move
            entered = at[enter] + move
            self._pivot(worst, enter)
            floor[enter], least[worst] = least[worst], floor[enter]
            roof[enter], most[worst] = most[worst], roof[enter]
            value[worst], at[enter] = entered, end
            if not self.pivots % _AFRESH:
                self._refresh()
                table = self._table
                value = table @ at

    def _pivot(self, row: int, column: int) -> None:
        """Makes the unknown of a row one of the others, and the unknown of a column basic."""
        table = self._table
        through = table[:, column].copy()
        line = table[row] / -through[row]
        line[column] = 1 / through[row]
        through[row] = 0.0
        table[:, column] = 0.0
        table += through[:, None] * line
        table[row] = line
        self._basic[row], self._others[column] = self._others[column], self._basic[row]
        self.pivots += 1

    def _refresh(self) -> None:
        """Computes the tableau from the matrix, without the rounding of earlier pivots."""
        whole = np.concatenate([self.matrix, -np.eye(self.m)], axis=1)
        try:
            self._table = -np.linalg.solve(whole[:, self._basic], whole[:, self._others])
        except np.linalg.LinAlgError:
            raise _GivenUp from None

    def _refute(self, row: int, rises: bool, low: Array, high: Array) -> None:
        """Checks in whole numbers that this line of the tableau shows the box to be empty.

        By the ends of the rows Σ y_i row_i is more than it can be by the bounds on the unknowns. All numbers
        are whole and below 2⁵², so that floating point adds them without rounding.
        """
        weights = np.zeros(self.n + self.m)
        weights[self._others], weights[self._basic[row]] = self._table[row], -1.0
        y = weights[self.n :] * (-1.0 if rises else 1.0)
        largest = float(np.abs(y).max())
        if not largest:
            raise _GivenUp
        y = np.rint(y / largest * _SCALE)
        together = y @ self.matrix
        n = self.n
        least = np.where(y > 0, y * low[n:], y * high[n:]).sum()
        most = np.where(together > 0, together * high[:n], together * low[:n]).sum()
        if not least > most:
            raise _GivenUp
