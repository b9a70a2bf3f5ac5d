"""Members: people of one count who are not equally likely to be in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tellall.linalg.operators.linear_operator import Array, IntArray

__all__ = ["Members"]

WRITTEN = 500  # members up to which the law of their count is written out, O(members²) for each count
_HALVINGS = 60
_FURTHEST = 60.0  # log-odds by which chances are moved, at most


@final
@dataclass(frozen=True, eq=False)
class Members:
    """People with chances of their own, in counts of which only the sums are seen.

    Attributes
    ----------
    count
        The count that each member is in, from 0.
    chance
        Each member's own chance to be counted, before the evidence, above 0 and below 1.
    counts
        How many counts there are; each has a member.

    Notes
    -----
    The count of independent members has a Poisson-binomial law, found by adding one member after the other.
    Given a law of the count t, a member's chance is Σ_t P(t) p Q(t − 1)/F(t), with F the law of all members'
    count and Q that of the others', which is F divided by the member's own law. That quotient is found from
    the side on which it is stable, with all log-odds moved alike first, which changes no chance given t but
    makes the likely t likely under F. With more than 500 members the law of the count is taken as
    Binomial(c, mean chance), and each member's chance is the one at log-odds moved alike, so far that the
    chances add up to the expected count.

    Examples
    --------
    >>> two = Members(np.zeros(2, dtype=int), np.array([0.9, 0.5]), 1)
    >>> two.given(np.array([1.0])).round(6).tolist()
    [0.9, 0.1]
    """

    count: IntArray
    chance: Array
    counts: int

    @cached_property
    def size(self) -> Array:
        """How many members each count has."""
        return np.bincount(self.count, minlength=self.counts).astype(np.float64)

    @cached_property
    def rate(self) -> Array:
        """The mean chance of each count's members."""
        return np.asarray(np.bincount(self.count, self.chance, minlength=self.counts) / self.size)

    @property
    def single(self) -> bool:
        """Whether every count is one member, in the order of the members."""
        return self.count.size == self.counts and bool((self.count == np.arange(self.counts)).all())

    def take(self, counts: IntArray) -> Members:
        """The members of some of the counts, in the order of these members."""
        place = np.full(self.counts, -1, dtype=np.intp)
        place[counts] = np.arange(counts.size)
        own = place[self.count]
        return Members(own[own >= 0], self.chance[own >= 0], counts.size)

    def inside(self, counts: IntArray) -> IntArray:
        """Which members are in these counts, in the order of :meth:`take`."""
        chosen = np.zeros(self.counts, dtype=bool)
        chosen[counts] = True
        return np.flatnonzero(chosen[self.count])

    def log_law(self, counts: IntArray) -> Array:
        """The log-probability of t = 0, …, c for each of these counts, which have c members each."""
        chance = self._of(counts)
        law = np.zeros((counts.size, 1))
        never = np.log1p(-chance)
        always = np.log(chance)
        for member in range(chance.shape[1]):
            without = np.pad(law, ((0, 0), (0, 1)), constant_values=-np.inf) + never[:, member, None]
            within = np.pad(law, ((0, 0), (1, 0)), constant_values=-np.inf) + always[:, member, None]
            law = np.logaddexp(without, within)
        return law

    def given(self, expected: Array) -> Array:
        """The chance of each member if the counts are known; of counts that are not whole, a mixture."""
        out = np.empty(self.count.size)
        for counts, own in self._alike:
            below = np.floor(expected[counts])
            if own.shape[1] > WRITTEN:
                out[own] = self._moved(counts, expected[counts])
                continue
            law = np.zeros((counts.size, own.shape[1] + 1))
            rest = expected[counts] - below
            each = np.arange(counts.size)
            law[each, below.astype(np.intp)] = 1 - rest
            some = rest > 0
            law[each[some], below[some].astype(np.intp) + 1] = rest[some]
            out[own] = self._within(counts, law)
        return out

    def moved(self, expected: Array) -> Array:
        """The chance of each member, all log-odds moved alike so that they add up to the expected counts."""
        out = np.empty(self.count.size)
        for counts, own in self._alike:
            out[own] = self._moved(counts, expected[counts])
        return out

    def under(self, counts: IntArray, law: Array) -> tuple[IntArray, Array]:
        """The members of these counts of one size, and their chances under laws of t = 0, …, c."""
        if law.shape[1] - 1 > WRITTEN:
            return self._places(counts), self._moved(counts, law @ np.arange(law.shape[1]))
        return self._places(counts), self._within(counts, law)

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.count, kind="stable")
        return order, np.searchsorted(self.count[order], np.arange(self.counts))

    @cached_property
    def _alike(self) -> list[tuple[IntArray, IntArray]]:
        """For each size, the counts that have it and their members (counts × members)."""
        sizes = [np.flatnonzero(self.size == size) for size in np.unique(self.size)]
        return [(counts, self._places(counts)) for counts in sizes]

    def _places(self, counts: IntArray) -> IntArray:
        order, start = self._order
        return np.asarray(order[start[counts][:, None] + np.arange(int(self.size[counts[0]]))])

    def _of(self, counts: IntArray) -> Array:
        return np.asarray(self.chance[self._places(counts)])

    def _moved(self, counts: IntArray, expected: Array) -> Array:
        """The members' chances, their log-odds moved alike until they add up to the expected counts."""
        from scipy.special import expit, logit

        own = logit(self._of(counts))
        low = np.full(counts.size, -_FURTHEST)
        high = np.full(counts.size, _FURTHEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            few = expit(own + middle[:, None]).sum(axis=1) < expected
            low, high = np.where(few, middle, low), np.where(few, high, middle)
        return np.asarray(expit(own + ((low + high) / 2)[:, None]))

    def _within(self, counts: IntArray, law: Array) -> Array:
        """The chance of each member (counts × members) under these laws of t."""
        most = law.shape[1] - 1
        expected = law @ np.arange(most + 1)
        if most == 1:
            return np.asarray(law[:, 1:])
        chance = self._moved(counts, np.clip(expected, 0.25, most - 0.25))
        out = np.empty(chance.shape)
        for chunk in _chunks(counts.size, most):
            out[chunk] = _quotients(chance[chunk], law[chunk])
        # what rounding took away: the chances of a count add up to what is expected of it
        total = out.sum(axis=1)
        scale = np.divide(expected, total, out=np.ones_like(total), where=total > 0)
        return np.asarray(np.clip(out * scale[:, None], 0, 1))


def _chunks(counts: int, most: int) -> Iterator[slice]:
    step = max(1, 2_000_000 // max(most, 1))
    return (slice(start, start + step) for start in range(0, counts, step))


def _quotients(chance: Array, law: Array) -> Array:
    """Σ_t law(t) p Q(t − 1)/F(t) for each member; see `Members`."""
    counts, most = chance.shape
    whole = np.ones((counts, 1))
    for member in range(most):
        p = chance[:, member, None]
        whole = np.pad(whole * (1 - p), ((0, 0), (0, 1))) + np.pad(whole * p, ((0, 0), (1, 0)))
    whole = np.maximum(whole, 1e-300)
    rare = chance <= 0.5
    small = np.where(rare, chance, 1 - chance)
    large = np.where(rare, 1 - chance, chance)
    out = np.zeros(chance.shape)
    others = np.zeros(chance.shape)
    upward = np.zeros(chance.shape)
    for t in range(most + 1):
        # Q(t − 1) of a member who is rarely counted: from below
        out += law[:, t, None] * np.clip(chance * others / whole[:, t, None], 0, 1) * rare
        if t < most:
            others = np.maximum((whole[:, t, None] - small * others) / large, 0.0)
    for t in range(most, 0, -1):
        # and of one who mostly is: from above, F(t) = p Q(t − 1) + (1 − p) Q(t)
        upward = np.maximum((whole[:, t, None] - small * upward) / large, 0.0)
        out += law[:, t, None] * np.clip(chance * upward / whole[:, t, None], 0, 1) * ~rare
    return out
