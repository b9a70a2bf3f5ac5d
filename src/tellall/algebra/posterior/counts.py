"""The law of counts of people: binomial or multinomial, within bounds, times a Gaussian opinion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import IntArray, LinearOperator
from tellall.algebra.operators.device import HOST, Device
from tellall.algebra.solvers.base import Array, Solution, check_vector
from tellall.core.errors import invalid

__all__ = [
    "CountPrior",
    "CountProblem",
    "PosteriorSolution",
]

_LEAST_VARIANCE = 1e-9
_MOST_WAYS = 300  # in which a group's people can be divided among values; above, values are independent


@dataclass(frozen=True, eq=False)
class _Alike:
    """Groups with the same number of people to divide: their unknowns, and every way to divide them."""

    index: IntArray  # groups × unknowns of a group
    ways: Array  # ways × unknowns of a group
    people: int  # divided among the unknowns; in a binomial law the others have no unknown of their own
    log_prior: Array  # groups × ways


@final
class CountPrior:
    """The law of every count before the evidence: binomial, or multinomial within a group.

    Parameters
    ----------
    size
        The people of each unknown's group; a member's chance of the value is E[t]/size.
    lower, upper
        The bounds of each count.
    rate
        The chance π of each unknown's value.
    group, left
        Where the secret has several values: the group of each unknown, and for each group how many of its
        people are divided among its unknowns.

    Notes
    -----
    t_p ~ Binomial(size_p, π_p), or with groups P(t) ∝ Π_v π_v^t_v / t_v! over Σ_v t_v = left, both given
    lower ≤ t ≤ upper. Gaussian opinions multiply this by exp(−precision_v (t_v − opinion_v)²/2). For one
    person and a bit these are the log-odds logit(π) + precision (opinion − 1/2). O(people) for all groups
    together. Groups that can be divided in more than 300 ways are treated value by value (binomial), which
    forgets that the counts exclude each other.

    Examples
    --------
    >>> prior = CountPrior(np.array([1.0, 4.0]), np.zeros(2), np.array([1.0, 4.0]), rate=0.5)
    >>> prior.mean.tolist(), prior.variance.tolist()
    ([0.5, 2.0], [0.25, 1.0])
    >>> one, rate = np.ones(3), np.array([0.5, 0.25, 0.25])
    >>> CountPrior(one, 0 * one, one, rate, group=np.zeros(3, int), left=np.ones(1)).mean.tolist()
    [0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        size: Array,
        lower: Array,
        upper: Array,
        rate: Array | float,
        *,
        group: IntArray | None = None,
        left: Array | None = None,
    ) -> None:
        self.size, self.lower, self.upper, self.group, self.left = size, lower, upper, group, left
        self.rate: Array = np.broadcast_to(np.asarray(rate, dtype=np.float64), size.shape)
        self.alone = group is None and bool(((size == 1) & (lower == 0) & (upper == 1)).all())
        self._log_odds: Array = np.log(self.rate) - np.log1p(-self.rate)
        self._alike = [] if self.alone else [*self._multinomial()]
        rest = np.ones(size.size, dtype=bool)
        for alike in self._alike:
            rest[alike.index.ravel()] = False
        if not self.alone:
            self._alike += [self._binomial(np.flatnonzero(rest & (size == c))) for c in np.unique(size[rest])]
        nothing = np.zeros(size.size)
        self.mean, self.variance = self.moments(nothing, nothing)

    @property
    def people(self) -> float:
        """How many people the counts are about."""
        return float(self.size.sum() if self.left is None else self.left.sum())

    def moments(self, precision: Array | float, opinion: Array) -> tuple[Array, Array]:
        """Mean and variance of each count; precision zero gives the prior."""
        if self.alone:
            chance = self.chance(precision, opinion)
            return chance, np.maximum(chance * (1 - chance), _LEAST_VARIANCE)
        mean, variance = np.empty(self.size.size), np.empty(self.size.size)
        for alike, law in self._laws(precision, opinion):
            mean[alike.index] = law @ alike.ways
            away = alike.ways - mean[alike.index][:, None, :]
            variance[alike.index] = np.einsum("gw,gwv->gv", law, away * away)
        return mean, np.maximum(variance, _LEAST_VARIANCE)

    def moments_on(self, device: Device) -> Callable[[Any, Any], tuple[Any, Any]]:
        """The moments as a function of precisions and opinions on a device."""
        if device is HOST:
            return self.moments
        if not self.alone:

            def there(precision: Any, opinion: Any) -> tuple[Any, Any]:
                mean, variance = self.moments(device.get(precision), device.get(opinion))
                return device.put(mean), device.put(variance)

            return there
        xp, log_odds = device.xp, device.put(self._log_odds)

        def alone(precision: Any, opinion: Any) -> tuple[Any, Any]:
            chance = 0.5 + 0.5 * xp.tanh(0.5 * (log_odds + precision * (opinion - 0.5)))
            return chance, xp.clip(chance * (1 - chance), _LEAST_VARIANCE, None)

        return alone

    def chance(self, precision: Array | float, opinion: Array) -> Array:
        """The chance that one member of each group has the value, E[t]/size."""
        from scipy.special import expit

        out: Array = expit(self.log_odds(precision, opinion))
        return out

    def log_odds(self, precision: Array | float, opinion: Array) -> Array:
        """log E[t] − log E[size − t], without loss where the chance is all but certain."""
        if self.alone:
            return self._log_odds + precision * (opinion - 0.5)
        out = np.empty(self.size.size)
        with np.errstate(divide="ignore"):
            for alike, law in self._laws(precision, opinion):
                certain = self.size[alike.index] - alike.people  # have another value for sure
                yes, no = law @ alike.ways, law @ (alike.people - alike.ways) + certain
                out[alike.index] = np.log(yes) - np.log(no)
        return out

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw of every count."""
        if self.alone:
            return (rng.random(self.size.size) < self.rate).astype(np.float64)
        out, nothing = np.empty(self.size.size), np.zeros(self.size.size)
        for alike, law in self._laws(nothing, nothing):
            level = rng.random((law.shape[0],))
            drawn = (np.cumsum(law, axis=1) < level[:, None]).sum(axis=1)
            out[alike.index] = alike.ways[np.minimum(drawn, len(alike.ways) - 1)]
        return np.clip(out, self.lower, self.upper)

    def log_prior(self, counts: Array) -> float:
        """The log-probability of these whole counts, up to a constant."""
        from scipy.special import gammaln

        if self.group is not None:
            return float(np.sum(counts * np.log(self.rate) - gammaln(counts + 1)))
        choose = gammaln(self.size + 1) - gammaln(counts + 1) - gammaln(self.size - counts + 1)
        return float(np.sum(choose + counts * self._log_odds))

    def _binomial(self, index: IntArray) -> _Alike:
        """The law of unknowns of one size, each by itself."""
        from scipy.special import gammaln

        size = float(self.size[index[0]])
        j: Array = np.arange(size + 1)
        rate = self.rate[index, None]
        log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
        log_prior = log_prior + j * np.log(rate) + (size - j) * np.log1p(-rate)
        possible = (j >= self.lower[index, None]) & (j <= self.upper[index, None])
        return _Alike(index[:, None], j[:, None], int(size), np.where(possible, log_prior, -np.inf))

    def _multinomial(self) -> Iterator[_Alike]:
        """The law of groups with as many people left and as many open values."""
        from scipy.special import gammaln

        if self.group is None or self.left is None:
            return
        order = np.argsort(self.group, kind="stable")
        present, start, values = np.unique(self.group[order], return_index=True, return_counts=True)
        left = self.left[present].astype(np.int64)
        for people, open_ in sorted(set(zip(left.tolist(), values.tolist(), strict=True))):
            if comb(people + open_ - 1, open_ - 1) > _MOST_WAYS:
                continue
            chosen = np.flatnonzero((left == people) & (values == open_))
            index = order[start[chosen][:, None] + np.arange(open_)]
            ways = _divisions(people, open_)
            log_prior = np.log(self.rate)[index] @ ways.T - gammaln(ways + 1).sum(axis=1)
            possible = (ways >= self.lower[index][:, None, :]) & (ways <= self.upper[index][:, None, :])
            log_prior = np.where(possible.all(axis=2), log_prior, -np.inf)
            sound = np.isfinite(log_prior).any(axis=1)  # elsewhere the evidence contradicts itself
            if sound.any():
                yield _Alike(index[sound], ways, people, log_prior[sound])

    def _laws(self, precision: Array | float, opinion: Array) -> Iterator[tuple[_Alike, Array]]:
        from scipy.special import softmax

        precision = np.broadcast_to(np.asarray(precision, dtype=np.float64), self.size.shape)
        for alike in self._alike:
            away = alike.ways - opinion[alike.index][:, None, :]
            misfit = np.einsum("gwv,gv->gw", away * away, precision[alike.index])
            yield alike, softmax(alike.log_prior - 0.5 * misfit, axis=1)


def _divisions(people: int, values: int) -> npt.NDArray[np.float64]:
    """Every way to divide the people among the values."""
    rows = []
    for bars in combinations(range(people + values - 1), values - 1):
        ends = (-1, *bars, people + values - 1)
        rows.append([ends[k + 1] - ends[k] - 1 for k in range(values)])
    return np.array(rows, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Rows A t = z + error about the counts t of groups of people; see `CountPrior`.

    Parameters
    ----------
    operator
        A, one column per unknown.
    std
        The standard deviation of the Gaussian part of each row's error, above zero.
    size, lower, upper, rate, group, left
        Of `CountPrior`; lower below upper.
    slack
        The half-width of a uniform error on top of the Gaussian one (rounding), per row; None for none.
    contaminated
        Whether a share of the rows may have gross errors; None to find out.
    unseen
        Rows without a known value: A t is only known to be within ``slack`` of z (apart from the Gaussian
        error). None where every row has a value.
    """

    operator: LinearOperator
    std: Array
    size: Array
    lower: Array
    upper: Array
    rate: Array | float
    slack: Array | None = None
    contaminated: bool | None = None
    unseen: npt.NDArray[np.bool_] | None = None
    group: IntArray | None = None
    left: Array | None = None

    @property
    def prior(self) -> CountPrior:
        """What is believed of the counts before the evidence."""
        return CountPrior(self.size, self.lower, self.upper, self.rate, group=self.group, left=self.left)

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        for name, length in (("std", m), ("size", n), ("lower", n), ("upper", n), ("slack", m)):
            if getattr(self, name) is not None:
                check_vector(name, getattr(self, name), length)
        if m and self.std.min() <= 0:
            raise invalid("std", "above zero", float(self.std.min()))
        if self.slack is not None and m and self.slack.min() < 0:
            raise invalid("slack", "zero or more", float(self.slack.min()))
        if self.unseen is not None and (self.unseen.shape != (m,) or self.slack is None):
            raise invalid("unseen", "one per row, with slack", f"shape {self.unseen.shape}")
        if not n:
            raise invalid("operator", "over one group or more", "no columns")
        if (self.lower < 0).any() or (self.upper > self.size).any() or (self.lower >= self.upper).any():
            raise invalid("lower", "from 0, below upper, and upper at most size", "bounds that are not")
        rate = np.asarray(self.rate)
        if rate.shape not in ((), (n,)) or not ((rate > 0) & (rate < 1)).all():
            raise invalid("rate", "strictly between 0 and 1, one or one per group", self.rate)


@dataclass(frozen=True, eq=False)
class PosteriorSolution(Solution):
    """The posterior mean of each count, and each member's chance of the secret.

    Attributes
    ----------
    value
        E[t], the expected count.
    chance
        E[t]/size: the chance that one member of the group has the secret.
    log_odds
        Its log-odds, which keep their digits where the chance is all but 0 or 1.
    status
        "trusted": converged, residuals as predicted, and calibrated in rehearsal. "uncalibrated": guesses
        stand, confidences may be off. "not converged", "contradictory": the best that was found, with advice.
    """

    chance: Array = field(default_factory=lambda: np.zeros(0))
    log_odds: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def confidence(self) -> Array:
        """The chance that the likelier bit is right, in [1/2, 1]."""
        out: Array = np.maximum(self.chance, 1 - self.chance)
        return out
