"""Depth-first search for whole numbers that keep every row within its bounds, many boxes at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.linops import IntArray
from tellall.solve.base import Array

__all__ = ["Found", "Rows", "rows_within", "search"]

_ROUND = 1e-7  # a bound this far past a whole number is that number
_NUMBERS = 1 << 19  # matrix entries times boxes, in one batch
_SMALLEST_SCALE = 1e-3  # of a row in the ball: exact rows count a thousandfold, not infinitely
_ROUNDS = 4  # of propagation before a box is halved


@dataclass(frozen=True, eq=False)
class Rows:
    """low ≤ A x ≤ high, together with ‖R x − q‖² ≤ budget, which follows from it (see `rows_within`)."""

    matrix: Array
    low: Array
    high: Array
    triangle: Array
    center: Array
    budget: float


def rows_within(matrix: Array, target: Array, bound: Array) -> Rows:
    """The rows of |A x − z| ≤ bound, and the ball that holds all their solutions.

    Notes
    -----
    With W = diag(1 / scale), scale_j ≥ bound_j, every solution has ‖W (A x − z)‖² ≤ Σ (bound_j / scale_j)².
    By W A = Q R the left side is ‖R x − Qᵀ W z‖² + ‖(1 − Q Qᵀ) W z‖², whose second term is known: what it
    takes is gone from the budget of the first. The rows of R hold fewer and fewer unknowns, so that a few
    wrong ones use up the budget, where no single row of A notices (sphere decoding).
    """
    from scipy.linalg import qr

    scale = np.maximum(bound, _SMALLEST_SCALE)
    total = float(((bound / scale) ** 2).sum())
    m, n = matrix.shape
    if not m or not n:
        return Rows(matrix, target - bound, target + bound, np.zeros((0, n)), np.zeros(0), np.inf)
    orthogonal, triangle, order = qr(matrix / scale[:, None], mode="economic", pivoting=True)
    rank = int((np.abs(triangle.diagonal()) > 1e-9 * max(abs(triangle[0, 0]), 1e-30)).sum())
    orthogonal, unordered = orthogonal[:, :rank], np.zeros((rank, n))
    unordered[:, order] = triangle[:rank]
    scaled = target / scale
    center = orthogonal.T @ scaled
    rest = float(((scaled - orthogonal @ center) ** 2).sum())
    room = total - rest + _ROUND * (1 + rest)
    return Rows(matrix, target - bound, target + bound, unordered, center, room)


@dataclass(frozen=True, eq=False)
class Found:
    """Solutions, whether they are all, the boxes looked at, and a box that holds every solution."""

    solutions: Array
    complete: bool
    nodes: int
    box: tuple[Array, Array]


def search(rows: Rows, lower: Array, upper: Array, *, cap: int, nodes: int) -> Found:
    """All whole-numbered x in the box that keep the rows; stops past ``cap`` solutions, ``nodes`` boxes."""
    network = _Network(rows)
    root = network.propagate(lower[None, :].astype(float), upper[None, :].astype(float), rounds=100)
    if not root[0].shape[0]:
        return Found(np.zeros((0, lower.size)), True, 1, (lower, upper))
    box = (root[0][0], root[1][0])
    stack, found, count, looked = [root], [], 0, 1
    width = max(1, _NUMBERS // max(1, network.sizes.size))
    while stack:
        low, high = stack.pop()
        if low.shape[0] > width:
            stack.append((low[width:], high[width:]))
            low, high = low[:width], high[:width]
        single = (low == high).all(axis=1)
        whole = low[single]
        whole = whole[network.kept(whole)]
        found.append(whole)
        count += whole.shape[0]
        if count > cap or looked > nodes:
            break
        low, high = low[~single], high[~single]
        if low.shape[0]:
            low, high = network.propagate(*network.halve(low, high), rounds=_ROUNDS)
            looked += 2 * int((~single).sum())
            if low.shape[0]:
                stack.append((low, high))
    else:
        return Found(np.concatenate(found), True, looked, box)
    return Found(np.concatenate(found), False, looked, box)


class _Network:
    """The rows and the ball, ready for propagation in many boxes at once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        A = np.concatenate([rows.matrix, rows.triangle])
        self.plus, self.minus = np.maximum(A, 0).T.copy(), np.minimum(A, 0).T.copy()
        self.sizes = np.abs(A)
        inverse = np.divide(1.0, self.sizes, out=np.zeros_like(A), where=A != 0)
        # a row gives an unknown of positive entry room / entry; to the others it says nothing
        self.rise = np.where(A > 0, inverse, 0.0), np.where(A > 0, 0.0, np.inf)
        self.fall = np.where(A < 0, inverse, 0.0), np.where(A < 0, 0.0, np.inf)

    def kept(self, x: Array) -> npt.NDArray[np.bool_]:
        """Which whole-numbered points keep every row."""
        image = x @ self.rows.matrix.T
        return np.asarray(((image >= self.rows.low) & (image <= self.rows.high)).all(axis=1))

    def propagate(self, low: Array, high: Array, rounds: int) -> tuple[Array, Array]:
        """The boxes shrunk by what the rows imply; those in which some row cannot be kept are gone."""
        for _ in range(rounds):
            above, below, span = self.room(low, high)
            alive = (above >= 0).all(axis=1) & (below >= 0).all(axis=1)
            low, high, above, below, span = (part[alive] for part in (low, high, above, below, span))
            if not low.shape[0]:
                break
            up, down = high - low, high - low
            span = np.minimum(span, (self.sizes * up.max(axis=0)).max(axis=1))
            for room, forth, back in ((above, up, down), (below, down, up)):
                box, row = np.nonzero(room < span)  # only rows this tight can shrink anything
                if box.size:
                    _tighten(forth, box, room[box, row], row, self.rise)
                    _tighten(back, box, room[box, row], row, self.fall)
            new_low, new_high = high - down, low + up
            alive = (new_low <= new_high).all(axis=1)
            settled = np.array_equal(new_low, low) and np.array_equal(new_high, high)
            low, high = new_low[alive], new_high[alive]
            if settled:
                break
        return low, high

    def room(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """How far each row may rise from its least and fall from its most value, and how far these are apart.

        Room below zero says that a row cannot be kept.
        """
        least = low @ self.plus + high @ self.minus
        most = high @ self.plus + low @ self.minus
        rows, m = self.rows, self.rows.low.size
        q = rows.center
        spent = np.maximum(np.maximum(least[:, m:] - q, q - most[:, m:]), 0) ** 2
        left = rows.budget - spent.sum(axis=1, keepdims=True)
        reach = np.sqrt(np.maximum(left + spent, 0))
        above = np.concatenate([rows.high - least[:, :m], q + reach - least[:, m:]], axis=1)
        below = np.concatenate([most[:, :m] - rows.low, most[:, m:] - q + reach], axis=1)
        above[left[:, 0] < 0] = -1
        return above, below, most - least

    def halve(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Both halves of every box, cut at the unknown in the tightest rows."""
        above, below, _ = self.room(low, high)
        tight = (1 / (1 + np.maximum(np.minimum(above, below), 0))) @ self.sizes
        chosen = np.where(high > low, tight, -1.0).argmax(axis=1)
        at = np.arange(low.shape[0])
        middle = np.floor((low[at, chosen] + high[at, chosen]) / 2)
        first, second = high.copy(), low.copy()
        first[at, chosen] = middle
        second[at, chosen] = middle + 1
        return np.concatenate([low, second]), np.concatenate([first, high])


def _tighten(moves: Array, box: IntArray, room: Array, row: IntArray, share: tuple[Array, Array]) -> None:
    """Lower, in place, how far the unknowns of each box can move by what its rows leave them."""
    limit = room[:, None] * share[0][row] + share[1][row]
    starts = np.flatnonzero(np.diff(box, prepend=-1))
    least = np.floor(np.minimum.reduceat(limit, starts, axis=0) + _ROUND)
    moves[box[starts]] = np.minimum(moves[box[starts]], least)
