"""Walks: further solutions from a known one, by moving one count and mending what that breaks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.prove.system import Mask, Part

__all__ = ["Walker", "moved"]

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

    def __init__(self, part: Part) -> None:
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
