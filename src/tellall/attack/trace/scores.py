"""How much each attribute of a person speaks for their having been in the data, summed block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.attack.trace.blocks import (
    CODINGS,
    Blocks,
    Calls,
    Codes,
    Coding,
    Some,
    blocks_for,
    blocks_of,
    calls_of,
    weighted_sums,
)
from tellall.attack.trace.contributions import Contribution, Truncated

__all__ = [
    "conformal_scores",
    "linear_scores",
    "spreads",
    "stretch",
]

# Reference people who lack calls, scored so that nobody is named for it.

_THIN = 0.1  # a reference person with less of the spread than this says too little to be stretched


def spreads(q: Array, total: Array, called: Array, coding: Coding, contribution: Contribution) -> Array:
    """The variance of what each attribute adds, over people drawn with the reference people's frequency.

    Notes
    -----
    Half a person is added to either side of the frequency, so that a few calls that are equal do not pass for
    no variance. Zero where no reference person has the call. With c calls the mean over them and the target
    takes 1/(c + 1) of a person's variance about it.
    """
    k = coding.ploidy
    w = np.where(called > 0, total / np.maximum(called, 1), q)
    share = (k * called * (1 + w) / 2 + 0.5) / (k * called + 1)
    chances = (1 - share, share) if k == 1 else ((1 - share) ** 2, 2 * share * (1 - share), share**2)
    adds = [contribution.of(sign, q, w, called) for sign in coding.signs]
    mean = sum(chance * add for chance, add in zip(chances, adds, strict=True))
    variance = sum(chance * (add - mean) ** 2 for chance, add in zip(chances, adds, strict=True))
    return np.asarray(variance * called / (called + 1))


def stretch(beside: Array, centre: Array | float, lost: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Scores filled in with means moved away from the centre, and whose say too little for that.

    Parameters
    ----------
    beside
        Scores in which an attribute that a person lacks stands at the mean.
    centre
        The score of somebody who is the mean in every attribute.
    lost
        The share of the score's variance at the attributes that the person lacks.

    Notes
    -----
    A score filled in with means has the right mean and too small a spread. Where calls are missing at random,
    a share m of them, its variance is (1 − m)²F + m(1 − m)V for the full score's variance F and the sum V of
    the attributes' variances: (1 − m)²F or more, however the attributes go together. Divided by 1 − m the
    spread is that of a full score (attributes that all go together) or more (independent ones, by √(1 − m)).
    """
    thin = lost > 1 - _THIN
    return centre + (beside - centre) / np.where(thin, 1.0, 1 - lost), thin


_DOUBLE_WORK = 2e10  # multiplications up to which double precision costs nothing worth saving
_BESIDE = 2**24  # scores of reference people beside targets that are held at once
_LEAST = 64  # targets together, however many the reference people
_TINY = 1e-300


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
) -> Iterator[tuple[slice, Array, Array, npt.NDArray[np.bool_]]]:
    """Group after group of targets: who, their scores, the reference people's beside each, and who lack much.

    Notes
    -----
    Among {target} ∪ reference, everybody's score uses the mean of all the *others* as the population's, so
    that target and reference people enter symmetrically. That mean depends on the target only through the
    target's own value, which is one of two or three: for each value v a table M_v (reference × attributes)
    holds what every reference person's attribute adds, and

        scores = Σ_v 1[targets = v] @ M_vᵀ

    is exact for all targets at once, in one matrix product per value but one. Cost: 2 · (values − 1) ·
    targets · reference · d operations. An attack that uses no population mean needs no table: the reference
    people's scores are the same beside every target. Memory: one block of attributes, and targets × reference
    scores of one group, at most 16 million; people are read once per group.

    Missing calls. An attribute that the target lacks counts for nobody beside that target; without a
    population mean it counts as the reference people's mean, which can only keep the target from being named.
    A reference person who lacks a call is given what those who have it add on average, which has the mean
    that a call would have, whatever the contribution; and the score is stretched, see
    `stretch`. Who lacks nine tenths of the score's spread or more counts
    as scoring no lower than the target. Costs one product more over the attributes with gaps, and as much
    memory again for what it gives.
    """
    people, pool = targets.shape[0], reference.shape[0]
    step = max(_LEAST, _BESIDE // pool // 4 * 4)
    for first in range(0, people, step):
        last = min(first + step, people)
        some = targets if last - first == people else Some(targets, first, last)
        yield slice(first, last), *_group(some, reference, q, coding, contribution)


def _group(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    if not coding.values:
        return *_real_scores(targets, reference, q), np.zeros(reference.shape[0], dtype=bool)
    if not contribution.uses_population:
        return _shared_scores(targets, reference, q, coding, contribution)
    people, pool = targets.shape[0], reference.shape[0]
    dtype = np.float64 if float(people) * pool * q.size <= _DOUBLE_WORK else np.float32
    scores, spread = np.zeros((people, 1 + pool)), np.zeros(people)
    lost: Array | None = None
    for block in blocks_of(q.size, 2 * max(people, pool)):
        part = _Block.of(calls_of("reference", reference, block, coding), q[block], coding, contribution)
        y = calls_of("targets", targets, block, coding)
        scores += y.totals(part.everybody, dtype)
        variance = spreads(q[block], part.total, part.called, coding, contribution)
        spread += variance.sum() - y.sums(_missing_only(variance, coding))
        gaps = part.called < pool
        if gaps.any():
            lost = np.zeros((people, pool)) if lost is None else lost
            lost += y.at(gaps).totals(part.lacking(gaps, variance), dtype)
    own, beside = scores[:, 0], scores[:, 1:]
    if lost is None:
        return own, beside, np.zeros(pool, dtype=bool)
    centre = scores.mean(axis=1)[:, None]
    stretched, thin = stretch(beside, centre, lost / np.maximum(spread, _TINY)[:, None])
    return own, np.where(thin, np.maximum(stretched, own[:, None]), stretched), np.asarray(thin.any(axis=0))


def _missing_only(adds: Array, coding: Coding) -> Array:
    """A table in which a missing call adds this, and any other call nothing."""
    return np.stack([*[np.zeros_like(adds)] * len(coding.values), adds])


def _shared_scores(
    targets: Blocks, reference: Blocks, q: Array, coding: Coding, contribution: Contribution
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """The scores without a population mean, where a missing call counts as the reference people's mean."""
    people, pool = targets.shape[0], reference.shape[0]
    shared, mean, thin = _reference_scores(reference, q, coding, contribution, float(people) * q.size)

    def table(block: slice) -> Array:
        return _values(q[block], mean[block], coding, contribution)

    own = weighted_sums(targets, coding, blocks_for(targets, coding, beside=pool), table)
    beside = np.broadcast_to(shared, (people, pool))
    if thin.any():
        beside = np.where(thin, np.maximum(beside, own[:, None]), beside)
    return own, beside, thin


def _reference_scores(
    reference: Blocks, q: Array, coding: Coding, contribution: Contribution, job: float
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Reference people's scores, the means they have (NaN where nobody has the call), and who lack much."""
    pool = reference.shape[0]
    shared, lost, mean = np.zeros(pool), np.zeros(pool), np.zeros(q.size)
    spread = centre = 0.0
    for block in blocks_for(reference, coding):
        z = calls_of("reference", reference, block, coding)
        total, called = z.counts()
        mean[block] = np.where(called > 0, total / np.maximum(called, 1), np.nan)
        table = _values(q[block], mean[block], coding, contribution)
        shared += z.sums(table, job=job)
        variance = spreads(q[block], total, called, coding, contribution)
        spread, centre = spread + float(variance.sum()), centre + float(table[-1].sum())
        gaps = called < pool
        if gaps.any():
            lost += z.at(gaps).sums(_missing_only(variance[gaps], coding))
    if not lost.any():
        return shared, mean, np.zeros(pool, dtype=bool)
    stretched, thin = stretch(shared, centre, lost / max(spread, _TINY))
    return stretched, mean, thin


def _values(q: Array, mean: Array, coding: Coding, contribution: Contribution) -> Array:
    """What each value adds, values × attributes, a missing call last; nothing where there is no mean."""
    values: list[Array | float] = [*coding.signs, mean]
    table = np.stack([contribution.of(x, q, mean, mean) for x in values])
    return np.where(np.isnan(mean), 0.0, table)


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
        return cls(calls.codes(), q, *calls.counts(), np.array(coding.signs), contribution)

    def everybody(self, target: int) -> Array:
        """What a target with this value everywhere adds to their own score and to the reference people's."""
        if target == self.signs.size:  # a missing call, which counts for nobody
            return np.zeros((1 + self.codes.shape[0], self.q.size))
        own = self._adds(target, self.total)
        # combinations that no person has are computed, in range, and never looked up
        total = self.total + self.signs[target]
        table = [self._adds(code, total - self.signs[code]) for code in range(self.signs.size)]
        table.append(self._average(own, table))
        found = np.take_along_axis(np.stack(table), self.codes.astype(np.intp), axis=0)
        return np.concatenate([own[None, :], found])

    def lacking(self, gaps: npt.NDArray[np.bool_], variance: Array) -> Callable[[int], Array]:
        """For each value of a target at the attributes with gaps: the variance of what each person lacks."""
        lacks = np.where(self.codes[:, gaps] == self.signs.size, variance[gaps], 0.0)
        return lambda target: np.zeros_like(lacks) if target == self.signs.size else lacks

    def _average(self, own: Array, table: list[Array]) -> Array:
        """What the target and the reference people who have the call add on average."""
        if (self.called == self.codes.shape[0]).all():
            return own
        counts = [(self.codes == code).sum(axis=0) for code in range(self.signs.size)]
        rest = sum(count * add for count, add in zip(counts, table, strict=True))
        return np.asarray((own + rest) / (self.called + 1))

    def _adds(self, code: int, total: Array) -> Array:
        others = self.called  # the target and those who have the call, less the one who is scored
        w = np.clip(np.where(others > 0, total / np.maximum(others, 1), self.q), -1, 1)
        return self.contribution.of(float(self.signs[code]), self.q, w, others)
