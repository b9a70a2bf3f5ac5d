"""Whole solutions at random: chains weighted by the prior, from two starts that must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.linalg.solvers.constraints import Constraints
from tellall.linalg.solvers.solution import Array, Component, Walker, moved

__all__ = ["SampledPart", "SoftRows", "sample_part"]

_CHAINS = 32  # from each of the two starts
_ROUNDS = 12  # of walks that look for moves
_MOVES = 3000  # at most
_LEAST, _MOST_STEPS = 1_000, 30_000  # of every chain
_SNAPSHOTS = 100
_FIRST = 1 / 3  # of the steps are thrown away
_EFFORT = 300.0  # of CP-SAT for a start that walks do not find

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SoftRows:
    """Rows whose errors have a law within their bounds, taken as normal: matrix @ x ≈ target."""

    matrix: Any
    target: Array
    std: Array


@final
@dataclass(frozen=True, eq=False)
class SampledPart:
    """Solutions of a part drawn by chains, start × draws × unknowns.

    Attributes
    ----------
    draws
        The first start is near the counts that were given, the second is drawn from the prior. None if a
        start found no solution.
    starts
        How many solutions each start found.
    accepted
        The share of the steps that moved a chain.
    """

    draws: npt.NDArray[np.int64] | None
    starts: tuple[int, int]
    accepted: float = 0.0


def sample_part(
    part: Component,
    log_weight: Array,
    near: Array,
    far: Array,
    soft: SoftRows | None,
    work: float,
    rng: np.random.Generator,
) -> SampledPart:
    """Returns solutions of a part at random, if walks or CP-SAT find some from both starts.

    Parameters
    ----------
    log_weight
        For each unknown the log-probability of 0, 1, …, before the evidence: independent unknowns.
    near, far
        Points at which walks to the solutions begin, one per row: two starts.
    soft
        Rows whose errors are not even within their bounds, if there are any.
    work
        How many numbers all steps may touch.

    Notes
    -----
    Walks that move one count of a solution and mend what that breaks end at other solutions (`Walker`). Their
    differences, and those of pairs of solutions, are the moves of a Metropolis chain: one is drawn at random,
    with a random sign, and taken with the usual probability. The moves do not depend on where a chain is, so
    the chain leaves the weights unchanged. Whether it reaches every solution is not known; that is why there
    are two starts. O(entries of a move) per step and chain.
    """
    walker = Walker(replace(part, gaps=()), rng)
    if not walker.able:
        return SampledPart(None, (0, 0))
    starts = [_starts(part, walker, points, rng) for points in (near, far)]
    found = len(starts[0]), len(starts[1])
    if not all(found):
        return SampledPart(None, found)
    moves = _Moves(part, soft, _find_moves(part, walker, starts, rng))
    if not moves.count:  # every walk from anywhere ended at the same solution
        return SampledPart(np.tile(starts[0][0].astype(np.int64), (2, 1, 1)), found)
    chains = _Chains(part, log_weight, soft, moves, [_fill(each, rng) for each in starts], rng)
    draws, accepted = chains.run(work)
    return SampledPart(draws, found, accepted)


def _starts(part: Component, walker: Walker, points: Array, rng: np.random.Generator) -> Array:
    """Returns solutions that walks from these points end at; if there are none, one that CP-SAT finds."""
    ends, solved = walker.mend(np.clip(points, part.lower, part.upper))
    found = [x for x in ends[solved] if part.fits(x)]
    if not found:
        middle = (part.lower + part.upper) / 2
        answer = Constraints(part).find(_EFFORT, direction=points.mean(axis=0) - middle + 1e-3 * rng.normal())
        found = [] if answer.solution is None else [answer.solution]
    return np.array(found).reshape(len(found), part.columns.size)


def _fill(starts: Array, rng: np.random.Generator) -> Array:
    return starts[np.resize(rng.permutation(len(starts)), _CHAINS)]


def _find_moves(part: Component, walker: Walker, starts: list[Array], rng: np.random.Generator) -> Array:
    """Returns differences of solutions, each once up to its sign, those of few unknowns first."""
    pool, n = [x for each in starts for x in each], part.columns.size
    found = []
    for _ in range(_ROUNDS):
        state = pool[int(rng.integers(len(pool)))]
        chosen = rng.permutation(n)[:_CHAINS]
        change = np.where(rng.random(chosen.size) < 0.5, 1.0, -1.0)
        change = np.where(state[chosen] + change > part.upper[chosen], -1.0, change)
        change = np.where(state[chosen] + change < part.lower[chosen], 1.0, change)
        ends, solved = walker.mend(*moved(state, chosen, change))
        fits = [x for x in ends[solved] if part.fits(x)]
        found += [x - state for x in fits]
        pool += fits
    apart = rng.integers(len(pool), size=(4 * len(pool), 2))
    found += [pool[one] - pool[other] for one, other in apart.tolist()]
    differences = np.array(found)
    first = np.take_along_axis(differences, (differences != 0).argmax(axis=1)[:, None], axis=1)
    distinct = np.unique(differences * np.sign(first), axis=0)
    length = (distinct != 0).sum(axis=1)
    order = np.argsort(length, kind="stable")
    return np.asarray(distinct[order][length[order] > 0][:_MOVES])


@final
class _Moves:
    """Moves by the unknowns and the rows that they change."""

    def __init__(self, part: Component, soft: SoftRows | None, moves: Array) -> None:
        from scipy.sparse import vstack

        self.count = len(moves)
        matrix = part.matrix if soft is None else vstack([part.matrix, soft.matrix]).tocsr()
        image = (matrix @ moves.T).T if self.count else moves
        self.unknowns = [np.flatnonzero(each) for each in moves]
        self.changes = [each[at] for each, at in zip(moves, self.unknowns, strict=True)]
        self.rows = [np.flatnonzero(each) for each in image]
        self.shifts = [each[at] for each, at in zip(image, self.rows, strict=True)]

    @cached_property
    def entries(self) -> float:
        """How many numbers a move touches on average."""
        touched = sum(map(len, self.unknowns)) + sum(map(len, self.rows))
        return touched / self.count


@final
class _Chains:
    """Chains of both starts, all of which are offered the same moves with signs and luck of their own."""

    def __init__(
        self,
        part: Component,
        log_weight: Array,
        soft: SoftRows | None,
        moves: _Moves,
        starts: list[Array],
        rng: np.random.Generator,
    ) -> None:
        self.part, self.weight, self.moves, self.rng = part, log_weight, moves, rng
        self.x = np.concatenate(starts).T.astype(np.int64)
        self.lower, self.upper = part.lower.astype(np.int64), part.upper.astype(np.int64)
        image, low, high = part.matrix @ self.x, part.low, part.high
        self.target, self.precision = np.zeros(low.size), np.zeros(low.size)
        if soft is not None:
            none = np.full(soft.target.size, np.inf)
            image = np.concatenate([image, soft.matrix @ self.x])
            low, high = np.concatenate([low, -none]), np.concatenate([high, none])
            self.target = np.concatenate([self.target, soft.target])
            self.precision = np.concatenate([self.precision, soft.std**-2.0])
        self.image, self.low, self.high = image.astype(np.float64), low - 1e-6, high + 1e-6
        self.gaps = dict(part.gaps)

    def run(self, work: float) -> tuple[npt.NDArray[np.int64], float]:
        """Returns the draws of both starts, and the share of the steps that were taken."""
        chains = self.x.shape[1]
        steps = int(np.clip(work / (self.moves.entries * chains), _LEAST, _MOST_STEPS))
        taken, begin = 0, int(_FIRST * steps)
        every = max(1, (steps - begin) // _SNAPSHOTS)
        kept = []
        for step, move in enumerate(self.rng.integers(self.moves.count, size=steps).tolist()):
            taken += self._step(move)
            if step >= begin and (step - begin) % every == 0:
                kept.append(self.x.T.copy())
        draws = np.array(kept)  # snapshots × chains × unknowns
        sets = [each.reshape(-1, self.x.shape[0]) for each in np.split(draws, 2, axis=1)]
        return np.stack(sets), taken / (steps * chains)

    def _step(self, move: int) -> int:
        """Offers one move to every chain; returns how many took it."""
        moves, x = self.moves, self.x
        at, change = moves.unknowns[move], moves.changes[move].astype(np.int64)
        sign = np.where(self.rng.random(x.shape[1]) < 0.5, 1, -1)
        now = x[at]
        then = now + change[:, None] * sign
        fits = ((then >= self.lower[at, None]) & (then <= self.upper[at, None])).all(axis=0)
        some = np.flatnonzero(fits)
        if not some.size:
            return 0
        now, then, sign = now[:, some], then[:, some], sign[some]
        gain = (self.weight[at[:, None], then] - self.weight[at[:, None], now]).sum(axis=0)
        rows, shift = moves.rows[move], moves.shifts[move]
        image = None
        if rows.size:
            before = self.image[rows[:, None], some]
            image = before + shift[:, None] * sign
            fits = ((image >= self.low[rows, None]) & (image <= self.high[rows, None])).all(axis=0)
            for place in self._with_gaps(rows):
                fits &= ~np.isin(np.rint(image[place]), self.gaps[int(rows[place])])
            if self.precision.any():
                off = (image - self.target[rows, None]) ** 2 - (before - self.target[rows, None]) ** 2
                gain = gain - 0.5 * self.precision[rows] @ off
            gain = np.where(fits, gain, -np.inf)
        goes = np.log(self.rng.random(some.size)) < gain
        some = some[goes]
        x[at[:, None], some] = then[:, goes]
        if image is not None:
            self.image[rows[:, None], some] = image[:, goes]
        return int(some.size)

    def _with_gaps(self, rows: npt.NDArray[np.intp]) -> Iterator[int]:
        if self.gaps:
            yield from (place for place, row in enumerate(rows.tolist()) if row in self.gaps)
