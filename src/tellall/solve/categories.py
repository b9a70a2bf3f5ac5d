"""The law of counts where people have one of several values: multinomial, times a Gaussian opinion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.linops import IntArray
from tellall.solve.base import Array
from tellall.solve.counts import CountPrior

__all__ = ["CategoryPrior"]

_MOST_WAYS = 300  # in which a group's people can be divided among values; above, values are independent
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _Alike:
    """The groups with as many people left and as many open values: their unknowns, and what is possible."""

    places: IntArray  # groups × values
    ways: Array  # divisions × values
    log_prior: Array  # groups × divisions


@final
class CategoryPrior:
    """Counts t_pv ≥ 0 with Σ_v t_pv = left_p, multinomial with rates π_v, within lower and upper.

    Parameters
    ----------
    group, left
        The group of each unknown, and how many of its people are divided among its unknowns.
    size
        The people of each unknown's group; a member's chance of a value is E[t_pv] / size.
    rate, lower, upper
        The chance of each unknown's value, and the bounds of its count.

    Notes
    -----
    With Gaussian opinions of given precisions, P(t) ∝ Π_v π_v^t_v / t_v! · exp(−precision_v (t_v −
    opinion_v)²/2) over all divisions of the group: for a person alone the softmax of log π_v + precision_v
    (opinion_v − 1/2). Groups that can be divided in more than 300 ways are taken value by value
    (binomial, as `CountPrior`), which forgets that the counts exclude each other.

    Examples
    --------
    >>> one = np.ones(3)
    >>> prior = CategoryPrior(np.zeros(3, int), np.ones(1), one, np.array([0.5, 0.25, 0.25]), 0 * one, one)
    >>> prior.mean.tolist()
    [0.5, 0.25, 0.25]
    """

    alone = False

    def __init__(
        self, group: IntArray, left: Array, size: Array, rate: Array, lower: Array, upper: Array
    ) -> None:
        self.group, self.left, self.size = group, left, size
        self.rate, self.lower, self.upper = rate, lower, upper
        self._alike = list(self._sorted())
        taken = np.zeros(size.size, dtype=bool)
        for alike in self._alike:
            taken[alike.places.ravel()] = True
        self._others = np.flatnonzero(~taken)
        self._by_value: CountPrior | None = None
        if self._others.size:
            some = self._others
            self._by_value = CountPrior(size[some], lower[some], upper[some], rate[some])
        nothing = np.zeros(size.size)
        self.mean, self.variance = self.moments(nothing, nothing)

    def moments(self, precision: Array, opinion: Array) -> tuple[Array, Array]:
        """Mean and variance of each count; precision zero gives the prior."""
        mean, variance = np.empty(self.size.size), np.empty(self.size.size)
        for alike, law in self._laws(precision, opinion):
            mean[alike.places] = law @ alike.ways
            variance[alike.places] = law @ alike.ways**2 - mean[alike.places] ** 2
        if self._by_value is not None:
            some = self._others
            mean[some], variance[some] = self._by_value.moments(self._each(precision)[some], opinion[some])
        return mean, np.maximum(variance, _LEAST_VARIANCE)

    def chance(self, precision: Array, opinion: Array) -> Array:
        """The chance that one member of the group has the value."""
        from scipy.special import expit

        out: Array = expit(self.log_odds(precision, opinion))
        return out

    def log_odds(self, precision: Array, opinion: Array) -> Array:
        """log E[t] − log E[size − t]."""
        out = np.empty(self.size.size)
        with np.errstate(divide="ignore"):
            for alike, law in self._laws(precision, opinion):
                people = self.size[alike.places[:, :1]]
                gone = people - self.left[self.group[alike.places[:, :1]]]  # have another value for sure
                no = law @ (alike.ways.sum(axis=1, keepdims=True) - alike.ways) + gone
                out[alike.places] = np.log(law @ alike.ways) - np.log(no)
        if self._by_value is not None:
            some = self._others
            out[some] = self._by_value.log_odds(self._each(precision)[some], opinion[some])
        return out

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw of every count."""
        out, nothing = np.empty(self.size.size), np.zeros(self.size.size)
        for alike, law in self._laws(nothing, nothing):
            level = rng.random((law.shape[0],))
            drawn = (np.cumsum(law, axis=1) < level[:, None]).sum(axis=1)
            out[alike.places] = alike.ways[np.minimum(drawn, alike.ways.shape[0] - 1)]
        if self._by_value is not None:
            out[self._others] = self._by_value.sample(rng)
        return out

    def log_prior(self, counts: Array) -> float:
        """The log-probability of these whole counts, up to a constant."""
        from scipy.special import gammaln

        return float(np.sum(counts * np.log(self.rate) - gammaln(counts + 1)))

    def _each(self, precision: Array | float) -> Array:
        return np.broadcast_to(np.asarray(precision, dtype=np.float64), self.size.shape)

    def _sorted(self) -> Iterator[_Alike]:
        from scipy.special import gammaln

        order = np.argsort(self.group, kind="stable")
        present, start, values = np.unique(self.group[order], return_index=True, return_counts=True)
        left = self.left[present].astype(np.int64)
        for people, open_ in sorted(set(zip(left.tolist(), values.tolist(), strict=True))):
            if comb(people + open_ - 1, open_ - 1) > _MOST_WAYS:
                continue
            chosen = np.flatnonzero((left == people) & (values == open_))
            places = order[start[chosen][:, None] + np.arange(open_)]
            ways = _divisions(people, open_)
            log_prior = np.log(self.rate)[places] @ ways.T - gammaln(ways + 1).sum(axis=1)
            possible = (ways >= self.lower[places][:, None, :]) & (ways <= self.upper[places][:, None, :])
            log_prior = np.where(possible.all(axis=2), log_prior, -np.inf)
            sound = np.isfinite(log_prior).any(axis=1)  # elsewhere the evidence contradicts itself
            if sound.any():
                yield _Alike(places[sound], ways, log_prior[sound])

    def _laws(self, precision: Array, opinion: Array) -> Iterator[tuple[_Alike, Array]]:
        from scipy.special import softmax

        for alike in self._alike:
            sure = self._each(precision)[alike.places]
            # (t − r)² = t² − 2 t r + …: what does not depend on t drops out
            fit = (sure * opinion[alike.places]) @ alike.ways.T - 0.5 * sure @ (alike.ways**2).T
            yield alike, softmax(alike.log_prior + fit, axis=1)


def _divisions(people: int, values: int) -> npt.NDArray[np.float64]:
    """Every way to divide the people among the values."""
    rows = []
    for bars in combinations(range(people + values - 1), values - 1):
        ends = (-1, *bars, people + values - 1)
        rows.append([ends[k + 1] - ends[k] - 1 for k in range(values)])
    return np.array(rows, dtype=np.float64)
