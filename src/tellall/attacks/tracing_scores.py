"""How much each attribute of a person speaks for their having been in the data, summed block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.attacks.calls import Calls, Codes, blocks_for, calls_of, weighted_sums
from tellall.attacks.tracing_blocks import CODINGS, Blocks, Coding, Some, blocks_of
from tellall.attacks.tracing_contributions import Contribution, Truncated
from tellall.linops import Array

__all__ = ["conformal_scores", "linear_scores"]

_DOUBLE_WORK = 2e10  # multiplications up to which double precision costs nothing worth saving
_BESIDE = 2**24  # scores of reference people beside targets that are held at once
_LEAST = 64  # targets together, however many the reference people


def linear_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, *, alpha: float | None = None
) -> tuple[Array, float]:
    """⟨y − z0, t⟩ of every target and ‖t‖², where t = q, or clip(q − w, ±2α) where α is given.

    Notes
    -----
    z0 is the first reference person and w the mean of the others. An attribute that the target or z0 lacks
    adds nothing, which keeps the sum one of centred terms. O(targets · d) time; memory a block and O(d).
    """
    if not coding.values:
        return _real_linear_scores(targets, reference, q)
    z0, weights = _first_and_weights(reference, q, coding, alpha)

    def table(block: slice) -> Array:
        adds = [(sign - z0[block]) * weights[block] for sign in coding.signs]
        return np.stack([*adds, np.zeros_like(weights[block])])

    scores = weighted_sums(targets, coding, blocks_for(targets, coding), table)
    return scores, float(weights @ weights)


def _first_and_weights(
    reference: Blocks, q: Array, coding: Coding, alpha: float | None
) -> tuple[Array, Array]:
    """The first reference person, zero where a call is missing, and the weights, zero there too."""
    signs, missing = np.array([*coding.signs, 0.0]), len(coding.values)
    z0, weights = np.zeros(q.size), q.copy()
    for block in blocks_for(reference, coding):
        calls = calls_of("reference", reference, block, coding)
        first = calls.some(0, 1).codes()[0]
        z0[block] = signs[first]
        if alpha is not None:
            total, called = calls.counts()
            others = called - (first != missing)
            w = (total - z0[block]) / np.maximum(others, 1)
            weights[block] = np.where(others > 0, Truncated(alpha).weights(q[block], w), 0.0)
        weights[block] = np.where(first == missing, 0.0, weights[block])
    return z0, weights


def _real_linear_scores(targets: Blocks, reference: Blocks, q: Array) -> tuple[Array, float]:
    reals, scores = CODINGS["reals"], np.zeros(targets.shape[0])
    for block in blocks_of(q.size, max(targets.shape[0], reference.shape[0])):
        z0 = reals.numbers("reference", reference.block(block.start, block.stop)[:1])[0]
        y = reals.numbers("targets", targets.block(block.start, block.stop))
        scores += y @ q[block] - z0 @ q[block]
    return scores, float(q @ q)


def conformal_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> Iterator[tuple[slice, Array, Array]]:
    """Group after group of targets: who, their scores, and the reference people's beside each of them.

    Notes
    -----
    Among {target} ∪ reference, everybody's score uses the mean of all the *others* as the population's, so
    that target and reference people enter symmetrically. That mean depends on the target only through the
    target's own value, which is one of two, three or (missing) four: for each value v a table M_v (reference
    × attributes) holds what every reference person's attribute adds, and

        scores = Σ_v 1[targets = v] @ M_vᵀ

    is exact for all targets at once, in one matrix product per value but one. A missing call counts as the
    mean of the others. Cost: 2 · (values − 1) · targets · reference · d operations. An attack that uses no
    population mean needs no table where the reference people have every call: their scores are the same
    beside every target. Memory: one block of attributes, and targets × reference scores of one group, at most
    16 million; people are read once per group.
    """
    people, pool = targets.shape[0], reference.shape[0]
    step = max(_LEAST, _BESIDE // pool // 4 * 4)
    for first in range(0, people, step):
        last = min(first + step, people)
        some = targets if last - first == people else Some(targets, first, last)
        yield slice(first, last), *_group(some, reference, q, coding, contribution)


def _group(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> tuple[Array, Array]:
    if not coding.values:
        return _real_scores(targets, reference, q)
    if not contribution.uses_population:
        return _shared_scores(targets, reference, q, coding, contribution)
    people, pool = targets.shape[0], reference.shape[0]
    dtype = np.float64 if float(people) * pool * q.size <= _DOUBLE_WORK else np.float32
    scores = np.zeros((people, 1 + pool))
    for block in blocks_of(q.size, 2 * max(people, pool)):
        part = _Block.of(calls_of("reference", reference, block, coding), q[block], coding, contribution)
        scores += calls_of("targets", targets, block, coding).totals(part.everybody, dtype)
    return scores[:, 0], scores[:, 1:]


def _shared_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> tuple[Array, Array]:
    """The scores without a population mean; it matters only where a call is missing."""
    people, pool = targets.shape[0], reference.shape[0]
    shared, mean, whole = _reference_scores(reference, q, coding, contribution, float(people) * q.size)
    beside = np.broadcast_to(shared, (people, pool)) if whole.all() else np.tile(shared, (people, 1))

    def table(block: slice) -> Array:
        return _values(q[block], mean[block], coding, contribution)

    own = weighted_sums(targets, coding, blocks_for(targets, coding, beside=pool), table)
    for block in blocks_for(targets, coding, beside=pool):
        gaps = ~whole[block]
        if gaps.any():  # a reference person who lacks the call gets the mean, which the target is part of
            y, z = (
                calls_of(name, who, block, coding).at(gaps)
                for name, who in (("targets", targets), ("reference", reference))
            )
            part = _Block.of(z, q[block][gaps], coding, contribution)
            beside += y.totals(part.reference_table, np.float64)
    return own, beside


def _reference_scores(
    reference: Blocks, q: Array, coding: Coding, contribution: Contribution, job: float
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Reference people's scores over the attributes that all of them have, their mean, and which those."""
    pool = reference.shape[0]
    shared, mean, whole = np.zeros(pool), np.zeros(q.size), np.zeros(q.size, dtype=bool)
    for block in blocks_for(reference, coding):
        z = calls_of("reference", reference, block, coding)
        total, called = z.counts()
        mean[block] = np.where(called > 0, total / np.maximum(called, 1), q[block])
        complete = called == pool
        whole[block] = complete
        table = _values(q[block], mean[block], coding, contribution)
        if not complete.all():
            z, table = z.at(complete), table[:, complete]
        shared += z.sums(table, job=job)
    return shared, mean, whole


def _values(q: Array, mean: Array, coding: Coding, contribution: Contribution) -> Array:
    """What each value adds, values × attributes, a missing call last."""
    values: list[Array | float] = [*coding.signs, mean]
    return np.stack([contribution.of(x, q, mean, mean) for x in values])


def _real_scores(targets: Blocks, reference: Blocks, q: Array) -> tuple[Array, Array]:
    """⟨x, q⟩ of real people."""
    reals = CODINGS["reals"]
    own, pool = np.zeros(targets.shape[0]), np.zeros(reference.shape[0])
    for block in blocks_of(q.size, max(targets.shape[0], reference.shape[0])):
        own += reals.numbers("targets", targets.block(block.start, block.stop)) @ q[block]
        pool += reals.numbers("reference", reference.block(block.start, block.stop)) @ q[block]
    return own, np.broadcast_to(pool, (own.size, pool.size))


@dataclass(frozen=True, eq=False)
class _Block:
    """The reference people over a block of attributes, ready to be scored beside any target."""

    codes: Codes
    q: Array
    total: Array
    called: Array
    signs: Array
    contribution: Contribution

    @classmethod
    def of(cls, calls: Calls, q: Array, coding: Coding, contribution: Contribution) -> _Block:
        return cls(calls.codes(), q, *calls.counts(), np.array([*coding.signs, 0.0]), contribution)

    def everybody(self, target: int) -> Array:
        """What a target with this value everywhere adds to their own score and to the reference people's."""
        own = self._adds(target, self.total, self.called)
        return np.concatenate([own[None, :], self.reference_table(target)])

    def reference_table(self, target: int) -> Array:
        """What each reference person's attributes add beside a target who has this value everywhere."""
        missing = self.signs.size - 1
        total = self.total + self.signs[target]
        called = self.called + (target != missing)
        table = np.stack(
            [
                self._adds(code, total - self.signs[code], called - (code != missing))
                for code in range(missing)
            ]
            + [self._adds(missing, total, called)]
        )
        return np.take_along_axis(table, self.codes.astype(np.intp), axis=0)

    def _adds(self, code: int, total: Array, others: Array) -> Array:
        # combinations that no person has are computed, in range, and never looked up
        others = np.maximum(others, 0)
        w = np.clip(np.where(others > 0, total / np.maximum(others, 1), self.q), -1, 1)
        x: Array | float = w if code == self.signs.size - 1 else float(self.signs[code])
        return self.contribution.of(x, self.q, w, others)
