"""Likely rows: how often each is in random solutions of published tables, and in a model of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attack.prove.ranges import Ranges
from tellall.evidence.joint import Joint
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.linalg.solvers.constraints import Constraints
from tellall.linalg.solvers.solution import Component, Walker

__all__ = ["maximum_entropy", "random_starts", "share_of_solutions"]

_ROUNDS = 500  # of fitting
_NEAR = 1e-6  # fitting ends when no row moves by more
_LITTLE = 0.1  # replaces smaller noisy counts, so that the model rules nothing out
_FEW = 10  # solutions of a part; if walks find fewer, CP-SAT is asked for more
_EFFORT = 1000.0  # of that


def maximum_entropy(joint: Joint) -> Array:
    """Returns how often each row is expected in the model of largest entropy that has these tables.

    Notes
    -----
    Iterative proportional fitting: every table in turn scales the rows of its cells to its counts, until
    nothing moves; a table of some of the people scales only their rows. A count that is only known to lie in
    an interval is replaced by its middle, and tables of everybody are scaled to the same number of people.
    """
    targets = [_target(joint, number) for number in range(len(joint.tables))]
    places = [_Place.of(members) for members in joint.members]
    whole = [table.where is None and place.full for table, place in zip(joint.tables, places, strict=True)]
    told = [each for each, all_ in zip(targets, whole, strict=True) if all_ and not np.isnan(each).any()]
    totals = [float(each.sum()) for each in told]
    total = float(joint.people) if joint.people is not None else float(np.mean(totals)) if totals else 1.0
    allowed = joint.upper > 0
    model = np.where(allowed, total / max(1, int(allowed.sum())), 0.0)
    for _ in range(_ROUNDS):
        before = model
        for place, target, all_ in zip(places, targets, whole, strict=True):
            fitted = place.members @ model
            wanted = target * (total / target.sum()) if all_ and target.sum() > 0 else target
            ratio = np.divide(wanted, fitted, out=np.zeros_like(fitted), where=fitted > 0)
            model = model * place.factor(np.where(np.isnan(ratio), 1.0, ratio))
        if np.abs(model - before).max(initial=0.0) <= _NEAR:
            break
    return model


@dataclass(frozen=True, eq=False)
class _Place:
    """Which rows are in which cells of a table, and in at most how many."""

    members: Any
    cells: IntArray
    most: int

    @classmethod
    def of(cls, members: Any) -> _Place:
        cells = np.asarray(members.sum(axis=0)).astype(np.intp)
        return cls(members, cells, int(cells.max(initial=0)))

    @property
    def full(self) -> bool:
        """Whether every row is in exactly one cell."""
        return bool((self.cells == 1).all())

    def factor(self, ratio: Array) -> Array:
        """Returns by how much each row is scaled; by roots if rows are in several cells."""
        if self.most <= 1:
            return np.where(self.cells > 0, self.members.T @ ratio, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(self.members.T @ np.log(ratio) / self.most))


def _target(joint: Joint, number: int) -> Array:
    """Returns what the model's cells of a table should add up to; NaN where nothing is known."""
    at = np.flatnonzero((joint.certain.origin == number)[:, 0] & (joint.certain.origin[:, 1] >= 0))
    low, high, value = joint.certain.low[at], joint.certain.high[at], joint.target[at]
    bounded = np.isfinite(high) & (low <= high)
    middle = (np.maximum(low, 0.0) + np.where(bounded, high, 0.0)) / 2
    return np.where(bounded, middle, np.maximum(value, _LITTLE))


def random_starts(model: Array, draws: int, rng: np.random.Generator) -> Array:
    """Returns draws from the model, one per row: independent Poisson counts."""
    return rng.poisson(model, (draws, model.size)).astype(np.float64)


def share_of_solutions(
    joint: Joint, found: Ranges, model: Array, draws: int, rng: np.random.Generator
) -> Array:
    """Returns, for each row, the share of random solutions that hold it.

    A solution has all tables. If some tables have unbounded noise, each draw comes as near as it can to one
    draw of the tables before the noise. Shares are the model's own for rows of which no draws were found.

    Notes
    -----
    Each draw starts at people drawn from the maximum-entropy model and is mended by a random walk of single
    steps until it has all tables (see `Walker`). So solutions near the model are found more often, as are
    solutions that many walks lead to: a share is not a probability, but it ranks well.
    """
    starts = random_starts(model, draws, rng)
    soft = ~np.isfinite(joint.certain.high) & ~np.isnan(joint.target)
    share = np.where(found.lower > 0, 1.0, np.where(found.upper > 0, 1 - np.exp(-model), 0.0))
    if soft.any():
        return _from_fits(joint, found, share, starts, np.flatnonzero(soft), rng)
    for part, place in found.parts:
        solutions = _solutions(part, starts[:, place], rng)
        if len(solutions):
            share[place] = (np.array(solutions) > 0).mean(axis=0)
    return share


def _solutions(part: Component, starts: Array, rng: np.random.Generator) -> Sequence[Array]:
    """Returns random solutions of a part: by walks, and if these find few, by CP-SAT."""
    walker, found = Walker(part, rng), []
    if walker.able:
        ends, solved = walker.mend(np.clip(starts, part.lower, part.upper))
        found = [x for x in ends[solved] if part.fits(x)]
    engine, spent = Constraints(part), 0.0
    while len(found) < min(_FEW, len(starts)) and spent < _EFFORT:
        answer = engine.find(_EFFORT - spent, direction=rng.normal(size=part.columns.size))
        spent += answer.cost
        if answer.solution is None:
            break
        found.append(answer.solution)
    return found


def _from_fits(
    joint: Joint, found: Ranges, share: Array, starts: Array, soft: IntArray, rng: np.random.Generator
) -> Array:
    """Returns the shares among draws that come nearest to noisy tables, each with its own draw of noise."""
    certain, open_ = joint.certain, np.flatnonzero(found.lower < found.upper)
    if not open_.size:  # other tables settle every row
        return share
    hard = np.flatnonzero(np.isfinite(certain.high))
    rows = np.concatenate([hard, soft])
    matrix = certain.operator.to_sparse()
    held = (matrix @ np.where(found.lower < found.upper, 0.0, found.lower))[rows]
    upper = np.minimum(found.upper[open_], float(starts.max(initial=1.0)) + 1)
    lower, none = found.lower[open_], np.zeros(rows.size)
    part = Component(matrix[rows][:, open_], none, none, lower, upper, (), open_, rows)
    walker = Walker(part, rng)
    if not walker.able:
        return share
    noise = rng.normal(size=(len(starts), soft.size)) * joint.spread[soft]
    drawn = np.maximum(np.rint(joint.target[soft] - noise), 0.0)
    ends: list[npt.NDArray[np.floating]] = []
    for side in (certain.low, certain.high):
        ends.append(np.hstack([np.tile(side[hard], (len(starts), 1)), drawn]) - held)
    nearest, _ = walker.mend(np.clip(starts[:, open_], lower, upper), None, (ends[0], ends[1]))
    share[open_] = (nearest > 0).mean(axis=0)
    return share
