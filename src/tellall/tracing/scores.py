"""The evidence that each person was in the data, summed over their attributes chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked, SomePeople, chunk_slices, is_packed
from tellall.people.attributes.codings import AttributeCoding, Calls, Codes, calls_of, reals_of, slices_for
from tellall.people.genomics.packed_calls import worth_compiling
from tellall.tracing.inputs import Input
from tellall.tracing.score_terms import Contribution, clipped

__all__ = [
    "centred_scores",
    "conformal_scores",
    "linear_scores",
]

_THIN = 0.1  # with less than this share of its variance left, a reference person's score is not stretched
_DOUBLE_WORK = 2e10  # up to this many multiplications double precision is cheap enough
_BESIDE = 2**24  # reference scores held at once, one per target and reference person
_LEAST = 64  # fewest targets in a batch, however many reference people there are
_TINY = 1e-300

Flags = npt.NDArray[np.bool_]


def linear_scores(given: Input, *, alpha: float | None = None) -> tuple[Array, float]:
    """Returns ⟨y − z0, t⟩ of every target, and ‖t‖², where t is q, or clip(q − w, ±2α) if α is given.

    Notes
    -----
    z0 is the first reference person and w the mean of the others. An attribute that the target or z0 lacks
    adds nothing, so every term of the sum is still centred. O(targets · d) time; memory a chunk and O(d).
    """
    if not given.coding.values:
        own, first = _real_scores(replace(given, reference=SomePeople(given.reference, 0, 1)))
        return own - first, float(given.q @ given.q)
    z0, weights = _first_and_weights(given, alpha)
    return centred_scores(given.targets, given.coding, z0, weights), float(weights @ weights)


def centred_scores(targets: Chunked, coding: AttributeCoding, centre: Array, weights: Array) -> Array:
    """Returns ⟨y − centre, weights⟩ of every target; a missing call adds nothing. O(targets · d) time."""

    def table(part: slice) -> Array:
        adds = [(sign - centre[part]) * weights[part] for sign in coding.signs]
        return np.stack([*adds, np.zeros_like(weights[part])])

    return _weighted_sums(targets, coding, slices_for(targets, coding), table)


def _first_and_weights(given: Input, alpha: float | None) -> tuple[Array, Array]:
    """Returns the first reference person and the weights, both zero where that person lacks a call."""
    reference = given.reference
    q = given.q
    coding = given.coding
    signs, missing = np.array([*coding.signs, 0.0]), len(coding.values)
    z0, weights = np.zeros(q.size), q.copy()
    for part in slices_for(reference, coding):
        calls = calls_of("reference", reference, part, coding)
        first = calls.some(0, 1).codes()[0]
        z0[part] = signs[first]
        if alpha is not None:
            total, called = calls.counts()
            others = called - (first != missing)
            w = (total - z0[part]) / np.maximum(others, 1)
            weights[part] = np.where(others > 0, clipped(q[part], w, alpha), 0.0)
        weights[part] = np.where(first == missing, 0.0, weights[part])
    return z0, weights


def _real_scores(given: Input) -> tuple[Array, Array]:
    """Returns ⟨x, q⟩ of real targets and of real reference people."""
    own, pool = np.zeros(given.targets.shape[0]), np.zeros(given.reference.shape[0])
    for part in chunk_slices(given.q.size, max(own.size, pool.size)):
        own += reals_of("targets", given.targets, part) @ given.q[part]
        pool += reals_of("reference", given.reference, part) @ given.q[part]
    return own, pool


def _weighted_sums(
    people: Chunked, coding: AttributeCoding, slices: Iterator[slice], table: Callable[[slice], Array]
) -> Array:
    """Returns the sum of what each target's calls add, from a table of values × attributes for each chunk.

    Notes
    -----
    The chunks of large packed sources are dealt out in turn to as many threads as matrix products use, so the
    same number of threads gives the same sums.
    """
    job = float(people.shape[0]) * people.shape[1]
    parts, count = list(slices), 1
    if worth_compiling(job) and coding.ploidy == 2 and parts and is_packed(people):
        count = min(_product_threads(), len(parts))

    def some(first: int) -> Array:
        total = np.zeros(people.shape[0])
        for part in parts[first::count]:
            total += calls_of("targets", people, part, coding).sums(table(part), job=job)
        return total

    if count == 1:
        return some(0)
    with ThreadPoolExecutor(count) as pool:
        return np.asarray(sum(pool.map(some, range(count))))


def _product_threads() -> int:
    """Returns how many threads a matrix product uses, as set by the user or the caller."""
    from threadpoolctl import threadpool_info

    return max(
        (int(found["num_threads"]) for found in threadpool_info() if found["user_api"] == "blas"), default=1
    )


def conformal_scores(given: Input, contribution: Contribution) -> Iterator[tuple[slice, Array, Array, Flags]]:
    """Yields batches of targets: their slice, scores, reference scores for each, reference people in doubt.

    Notes
    -----
    Among {target} ∪ reference, everybody's score uses the mean of all the *others* as the population's, so
    target and reference people enter symmetrically. That mean depends on the target only through the target's
    own value, one of two or three: for each value v a table M_v (reference × attributes) holds what every
    reference person's attribute adds, and

        scores = Σ_v 1[targets = v] @ M_vᵀ

    is exact for all targets at once, in one matrix product for each value but one. Cost: 2 · (values − 1) ·
    targets · reference · d operations. An attack without a population mean needs no table: the reference
    people's scores are the same for every target. Memory: one chunk of attributes, and targets × reference
    scores of one batch, at most 16 million; people are read once per batch.

    Missing calls. An attribute that the target lacks adds nothing to any score for that target; without a
    population mean it counts as the reference people's mean, which can only keep the target from being named.
    A reference person who lacks a call gets what those who have it add on average, which is right in the mean
    for every attack; then the score is stretched (`_stretch`). A reference person who lacks more than nine
    tenths of the score's variance is in doubt: they count as scoring no lower than the target. This costs one
    more product over the attributes with gaps, and as much memory again.
    """
    people, pool = given.targets.shape[0], given.reference.shape[0]
    step = max(_LEAST, _BESIDE // pool // 4 * 4)
    for first in range(0, people, step):
        last = min(first + step, people)
        group = (
            given
            if last - first == people
            else replace(given, targets=SomePeople(given.targets, first, last))
        )
        yield slice(first, last), *_group(group, contribution)


def _group(given: Input, contribution: Contribution) -> tuple[Array, Array, Flags]:
    people, pool = given.targets.shape[0], given.reference.shape[0]
    if not given.coding.values:
        own, others = _real_scores(given)
        return own, np.broadcast_to(others, (people, pool)), np.zeros(pool, dtype=bool)
    if not contribution.uses_population:
        return _shared_scores(given, contribution)
    q, coding = given.q, given.coding
    dtype = np.float64 if float(people) * pool * q.size <= _DOUBLE_WORK else np.float32
    scores, spread = np.zeros((people, 1 + pool)), np.zeros(people)
    lost: Array | None = None
    for part in chunk_slices(q.size, 2 * max(people, pool)):
        beside = _Beside.of(
            calls_of("reference", given.reference, part, coding), q[part], coding, contribution
        )
        y = calls_of("targets", given.targets, part, coding)
        scores += y.totals(beside.everybody, dtype)
        variance = _variances(q[part], beside.total, beside.called, coding, contribution)
        spread += variance.sum() - y.sums(_missing_only(variance, coding))
        gaps = beside.called < pool
        if gaps.any():
            lost = np.zeros((people, pool)) if lost is None else lost
            lost += y.at(gaps).totals(beside.lacking(gaps, variance), dtype)
    own, others = scores[:, 0], scores[:, 1:]
    if lost is None:
        return own, others, np.zeros(pool, dtype=bool)
    centre = scores.mean(axis=1)[:, None]
    stretched, thin = _stretch(others, centre, lost / np.maximum(spread, _TINY)[:, None])
    return own, np.where(thin, np.maximum(stretched, own[:, None]), stretched), np.asarray(thin.any(axis=0))


def _missing_only(adds: Array, coding: AttributeCoding) -> Array:
    """Returns a table in which a missing call adds `adds` and every other call adds nothing."""
    return np.stack([*[np.zeros_like(adds)] * len(coding.values), adds])


def _variances(
    q: Array, total: Array, called: Array, coding: AttributeCoding, contribution: Contribution
) -> Array:
    """Returns the variance of what each attribute adds, over people with the reference people's frequency.

    Notes
    -----
    Half a person is added to either side of the frequency, so that a few equal calls do not pass for no
    variance. Zero where no reference person has the call. With c calls, a person's variance about the mean of
    these and the target is c/(c + 1) of the full variance.
    """
    k = coding.ploidy
    w = np.where(called > 0, total / np.maximum(called, 1), q)
    share = (k * called * (1 + w) / 2 + 0.5) / (k * called + 1)
    chances = (1 - share, share) if k == 1 else ((1 - share) ** 2, 2 * share * (1 - share), share**2)
    adds = [contribution.of(sign, q, w, called) for sign in coding.signs]
    mean = sum(chance * add for chance, add in zip(chances, adds, strict=True))
    variance = sum(chance * (add - mean) ** 2 for chance, add in zip(chances, adds, strict=True))
    return np.asarray(variance * called / (called + 1))


def _stretch(beside: Array, centre: Array | float, lost: Array) -> tuple[Array, Flags]:
    """Moves scores that were filled in with means away from the centre; flags those with too little left.

    Parameters
    ----------
    beside
        Scores in which an attribute that a person lacks counts as the mean.
    centre
        The score of somebody who has the mean in every attribute.
    lost
        The share of the score's variance at the attributes that the person lacks.

    Notes
    -----
    A score filled in with means has the right mean and too small a spread. If a share m of the calls is
    missing at random, its variance is (1 − m)²F + m(1 − m)V for the full score's variance F and the sum V of
    the attributes' variances. This is (1 − m)²F or more, however dependent the attributes are. After division
    by 1 − m the spread is that of a full score if F is much larger than V (strongly dependent attributes),
    and 1/√(1 − m) times as large if the attributes are independent.
    """
    thin = lost > 1 - _THIN
    return centre + (beside - centre) / np.where(thin, 1.0, 1 - lost), thin


def _shared_scores(given: Input, contribution: Contribution) -> tuple[Array, Array, Flags]:
    """Returns scores that use no population mean; a missing call counts as the reference people's mean."""
    targets = given.targets
    q = given.q
    coding = given.coding
    shared, mean, thin = _reference_scores(given, contribution)
    parts = slices_for(targets, coding, beside=shared.size)
    own = _weighted_sums(
        targets, coding, parts, lambda part: _adds_per_value(q[part], mean[part], coding, contribution)
    )
    beside = np.broadcast_to(shared, (own.size, shared.size))
    if thin.any():
        beside = np.where(thin, np.maximum(beside, own[:, None]), beside)
    return own, beside, thin


def _reference_scores(given: Input, contribution: Contribution) -> tuple[Array, Array, Flags]:
    """Returns the reference people's scores, means (NaN where nobody has the call) and who is in doubt."""
    reference = given.reference
    q = given.q
    coding = given.coding
    pool, job = reference.shape[0], float(given.targets.shape[0]) * q.size
    shared = np.zeros(pool)
    lost = np.zeros(pool)
    mean = np.zeros(q.size)
    spread = centre = 0.0
    for part in slices_for(reference, coding):
        z = calls_of("reference", reference, part, coding)
        total, called = z.counts()
        mean[part] = np.where(called > 0, total / np.maximum(called, 1), np.nan)
        table = _adds_per_value(q[part], mean[part], coding, contribution)
        shared += z.sums(table, job=job)
        variance = _variances(q[part], total, called, coding, contribution)
        spread, centre = spread + float(variance.sum()), centre + float(table[-1].sum())
        gaps = called < pool
        if gaps.any():
            lost += z.at(gaps).sums(_missing_only(variance[gaps], coding))
    if not lost.any():
        return shared, mean, np.zeros(pool, dtype=bool)
    stretched, thin = _stretch(shared, centre, lost / max(spread, _TINY))
    return stretched, mean, thin


def _adds_per_value(q: Array, mean: Array, coding: AttributeCoding, contribution: Contribution) -> Array:
    """Returns what each value adds, values × attributes, a missing call last; zero where the mean is NaN."""
    values: list[Array | float] = [*coding.signs, mean]
    table = np.stack([contribution.of(x, q, mean, mean) for x in values])
    return np.where(np.isnan(mean), 0.0, table)


@dataclass(frozen=True, eq=False)
class _Beside:
    """The reference people over a chunk of attributes, ready to be scored together with any target."""

    codes: Codes
    q: Array
    total: Array
    called: Array
    signs: Array
    contribution: Contribution

    @classmethod
    def of(cls, calls: Calls, q: Array, coding: AttributeCoding, contribution: Contribution) -> _Beside:
        return cls(calls.codes(), q, *calls.counts(), np.array(coding.signs), contribution)

    def everybody(self, target: int) -> Array:
        """Returns what attributes add to everybody's score, target first, if the target has this code."""
        if target == self.signs.size:  # a missing call, which counts for nobody
            return np.zeros((1 + self.codes.shape[0], self.q.size))
        own = self._adds(target, self.total)
        # combinations that no person has are computed, in range, and never looked up
        total = self.total + self.signs[target]
        table = [self._adds(code, total - self.signs[code]) for code in range(self.signs.size)]
        table.append(self._average(own, table))
        found = np.take_along_axis(np.stack(table), self.codes.astype(np.intp), axis=0)
        return np.concatenate([own[None, :], found])

    def lacking(self, gaps: Flags, variance: Array) -> Callable[[int], Array]:
        """Returns, for each value of a target, the variance each person lacks at the attributes with gaps."""
        lacks = np.where(self.codes[:, gaps] == self.signs.size, variance[gaps], 0.0)
        return lambda target: np.zeros_like(lacks) if target == self.signs.size else lacks

    def _average(self, own: Array, table: list[Array]) -> Array:
        """Returns what the target and the reference people who have the call add on average."""
        if (self.called == self.codes.shape[0]).all():
            return own
        counts = [(self.codes == code).sum(axis=0) for code in range(self.signs.size)]
        rest = sum(count * add for count, add in zip(counts, table, strict=True))
        return np.asarray((own + rest) / (self.called + 1))

    def _adds(self, code: int, total: Array) -> Array:
        others = self.called  # the target and those who have the call, less the one who is scored
        w = np.clip(np.where(others > 0, total / np.maximum(others, 1), self.q), -1, 1)
        return self.contribution.of(float(self.signs[code]), self.q, w, others)
