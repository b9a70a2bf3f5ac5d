"""Whole-numbered systems: what bounds leave open, in parts that have nothing in common, and walks in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.solvers.base import Enclosure
from tellall.release.possible import Certain, Gaps

__all__ = ["Component", "Walker", "WholeSystem", "moved"]

_NEAR = 1e-6  # floating-point room of an end
_HASHES = 2  # 64-bit fingerprints of a row

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WholeSystem:
    """low ≤ matrix @ x ≤ high with whole-numbered x from lower to upper.

    Attributes
    ----------
    matrix
        A scipy CSR array.
    gaps
        By row: whole numbers that it does not come to.
    columns, rows
        Which unknowns and which rows of the original system these are.
    """

    matrix: Any
    low: Array
    high: Array
    lower: Array
    upper: Array
    gaps: Gaps
    columns: IntArray
    rows: IntArray

    @classmethod
    def left_open(cls, certain: Certain, box: Enclosure, which: Mask | None = None) -> WholeSystem:
        """What the box leaves open; ``which`` rows may be used, all where not said."""
        matrix = certain.operator.to_sparse().tocsr()
        open_ = np.flatnonzero(box.lower < box.upper)
        held = matrix @ np.where(box.lower < box.upper, 0.0, box.lower)
        low, high = certain.low - held, certain.high - held
        matrix = matrix[:, open_]
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        lower, upper = box.lower[open_], box.upper[open_]
        plus, minus = matrix.maximum(0), matrix.minimum(0)
        least, most = plus @ lower + minus @ upper, plus @ upper + minus @ lower
        useful = (least < low - _NEAR) | (most > high + _NEAR)
        gaps = tuple((row, counts - round(held[row])) for row, counts in certain.gaps)
        useful[[row for row, _ in gaps]] = True
        if which is not None:
            useful &= which
        rows = np.flatnonzero(useful)
        place = dict(zip(rows.tolist(), range(rows.size), strict=True))
        kept = tuple((place[row], counts) for row, counts in gaps if row in place)
        low, high = np.maximum(low, least)[rows], np.minimum(high, most)[rows]
        system = cls(matrix[rows], low, high, lower, upper, kept, open_, rows)
        return system._whole()._distinct()

    @property
    def entries(self) -> int:
        """How many coefficients there are."""
        return int(self.matrix.nnz)

    def _whole(self) -> WholeSystem:
        """Rows of whole coefficients have whole ends; others keep a little room."""
        data, starts = self.matrix.data, self.matrix.indptr
        broken = np.concatenate([[0], np.cumsum(data != np.rint(data))])
        whole = broken[starts[1:]] == broken[starts[:-1]]
        low = np.where(whole, np.ceil(self.low - _NEAR), self.low - _NEAR)
        high = np.where(whole, np.floor(self.high + _NEAR), self.high + _NEAR)
        return self._with(self.matrix, low, high, self.gaps, self.rows)

    def _with(self, matrix: Any, low: Array, high: Array, gaps: Gaps, rows: IntArray) -> WholeSystem:
        return WholeSystem(matrix, low, high, self.lower, self.upper, gaps, self.columns, rows)

    def _distinct(self) -> WholeSystem:
        """Rows that are equal up to sign as one, with the ends that all of them have in common.

        Rows are compared by 128 bits of fingerprint. Rows with gaps stay as they are.
        """
        m, n = self.matrix.shape
        if m < 2 or not self.entries:
            return self
        starts, data = self.matrix.indptr, self.matrix.data
        first = np.where(np.diff(starts) > 0, data[np.minimum(starts[:-1], data.size - 1)], 1.0)
        sign = np.where(first < 0, -1.0, 1.0)
        rng = np.random.default_rng(0)
        draws = rng.integers(0, 2**64, (_HASHES, n), dtype=np.uint64)
        kinds, kind = np.unique(data * np.repeat(sign, np.diff(starts)), return_inverse=True)
        turned = (rng.integers(0, 2**64, kinds.size, dtype=np.uint64) | np.uint64(1))[kind.reshape(-1)]
        keys = np.zeros((_HASHES, m), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for key, weights in zip(keys, draws, strict=True):
                terms = turned * weights[self.matrix.indices]
                sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
                key[:] = sums[starts[1:]] - sums[starts[:-1]]
        if self.gaps:
            apart = [row for row, _ in self.gaps]
            keys[:, apart] = np.arange(1, len(apart) + 1, dtype=np.uint64)
        _, leader, index = np.unique(keys.T, axis=0, return_index=True, return_inverse=True)
        index = index.reshape(-1)
        if leader.size == m:
            return self
        low, high = np.full(leader.size, -np.inf), np.full(leader.size, np.inf)
        alike = sign == sign[leader][index]
        np.maximum.at(low, index, np.where(alike, self.low, -self.high))
        np.minimum.at(high, index, np.where(alike, self.high, -self.low))
        place = {int(row): number for number, row in enumerate(leader)}
        gaps = tuple((place[row], counts) for row, counts in self.gaps)
        return self._with(self.matrix[leader], low, high, gaps, self.rows[leader])

    def parts(self) -> list[Component]:
        """The systems that share no unknown, smallest first; unknowns in no row are left out."""
        from scipy.sparse import block_array
        from scipy.sparse.csgraph import connected_components

        m = self.matrix.shape[0]
        if not m:
            return []
        links = block_array([[None, self.matrix], [self.matrix.T, None]]).tocsr()
        _, label = connected_components(links, directed=False)
        of_rows, of_columns = label[:m], label[m:]
        order = np.argsort(of_rows, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(of_rows[order])) + 1)
        by_label = np.argsort(of_columns, kind="stable")
        at = np.searchsorted(of_columns[by_label], [of_rows[rows[0]] for rows in groups], side="left")
        to = np.searchsorted(of_columns[by_label], [of_rows[rows[0]] for rows in groups], side="right")
        gaps = dict(self.gaps)
        found = []
        for rows, start, stop in zip(groups, at, to, strict=True):
            columns = np.sort(by_label[start:stop])
            inside = tuple((place, gaps[row]) for place, row in enumerate(rows.tolist()) if row in gaps)
            found.append(
                Component(
                    self.matrix[rows][:, columns].tocsr(),
                    self.low[rows],
                    self.high[rows],
                    self.lower[columns],
                    self.upper[columns],
                    inside,
                    columns,
                    rows,
                )
            )
        return sorted(
            found, key=lambda part: (part.entries, int(part.columns[0]) if part.columns.size else 0)
        )


class Component(WholeSystem):
    """Some unknowns of a system with all rows about them; ``columns`` and ``rows`` are the system's."""

    def fits(self, x: Array) -> bool:
        """Whether whole numbers satisfy every row."""
        image = self.matrix @ x
        if ((image < self.low - _NEAR) | (image > self.high + _NEAR)).any():
            return False
        return all(round(image[row]) not in counts for row, counts in self.gaps)

    def movable(self, x: Array) -> tuple[Mask, Mask]:
        """Which unknowns alone can fall, and which rise, by one from a solution; rows with gaps stay."""
        image, matrix = self.matrix @ x, self.matrix.tocsc()
        up, down = self.high - image + _NEAR, image - self.low + _NEAR
        for row, _ in self.gaps:
            up[row] = down[row] = 0.0
        lengths = np.diff(matrix.indptr)
        used = np.flatnonzero(lengths)
        weight, row = matrix.data, matrix.indices
        rises = np.where(weight > 0, weight <= up[row], -weight <= down[row])
        falls = np.where(weight > 0, weight <= down[row], -weight <= up[row])
        can_rise, can_fall = (side.copy() for side in (x < self.upper, x > self.lower))
        for can, each in ((can_rise, rises), (can_fall, falls)):
            can[used] &= np.logical_and.reduceat(each, matrix.indptr[used])
        return can_fall, can_rise


# Walks: further solutions from a known one, by moving one count and mending what that breaks.

_STRIDES = 150  # moves after which a walk is given up
_TABU = 8  # moves for which a count that moved stays where it is
_MOST = 400_000  # rows × unknowns of a part that is walked in


class Walker:
    """Many walks at once in one part, whose coefficients are 1 and −1.

    Notes
    -----
    Every walk makes the move, up or down by one, that lowers the sum of what rows are beyond their ends by
    most (or raises it by least), at random among equals, and does not touch a count again for some moves
    (tabu search). Moves are whole numbers, so that the walks are the same on every machine.
    """

    def __init__(self, part: Component) -> None:
        self.part = part
        self.rng = np.random.default_rng(0)
        size = part.matrix.shape[0] * part.matrix.shape[1]
        self.able = bool(size <= _MOST and not part.gaps and (np.abs(part.matrix.data) == 1).all())
        if self.able:
            dense = part.matrix.toarray().astype(np.float32)
            self.plus, self.minus = np.maximum(dense, 0), np.maximum(-dense, 0)
            self.matrix = dense

    def mend(self, start: Array, held: Mask) -> tuple[Array, Mask]:
        """Where walks from each start end, and which of them at a solution; ``held`` counts never move."""
        part, rng = self.part, self.rng
        low, high = part.low.astype(np.float32), part.high.astype(np.float32)
        x = start.astype(np.float32)
        walks, n = x.shape
        image = x @ self.matrix.T
        until = np.where(held, np.inf, 0.0).astype(np.float32)
        going, at = np.arange(walks), np.arange(walks)
        solved = np.zeros(walks, dtype=bool)
        for step in range(_STRIDES):
            here = image[going]
            right = ((here >= low) & (here <= high)).all(axis=1)
            solved[going[right]] = True
            going = going[~right]
            if not going.size:
                break
            here, now = here[~right], x[going]
            up = (here >= high).astype(np.float32) - (here < low)
            down = (here <= low).astype(np.float32) - (here > high)
            rise, fall = up @ self.plus + down @ self.minus, down @ self.plus + up @ self.minus
            tabu = until[going] > step
            rise[tabu | (now >= part.upper)] = np.inf
            fall[tabu | (now <= part.lower)] = np.inf
            cost = (
                np.concatenate([rise, fall], axis=1) + rng.random((going.size, 2 * n), dtype=np.float32) / 2
            )
            move = cost.argmin(axis=1)
            column, change = move % n, np.where(move < n, 1.0, -1.0).astype(np.float32)
            stuck = ~np.isfinite(cost[at[: going.size], move])
            change[stuck] = 0.0
            x[going, column] += change
            image[going] += change[:, None] * self.matrix[:, column].T
            until[going, column] = np.maximum(until[going, column], step + 1 + _TABU)
        return x.astype(np.float64), solved


def moved(x: Array, chosen: npt.NDArray[np.intp], change: Array) -> tuple[Array, Mask]:
    """Starts of walks from one solution, each with one count moved and held."""
    start = np.tile(x, (chosen.size, 1))
    at = np.arange(chosen.size)
    start[at, chosen] += change
    held = np.zeros(start.shape, dtype=bool)
    held[at, chosen] = True
    return start, held
