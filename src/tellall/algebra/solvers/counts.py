"""The law of counts where people have one of several values: multinomial, times a Gaussian opinion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import IntArray, LinearOperator
from tellall.algebra.operators.device import HOST, Device
from tellall.algebra.solvers.base import Array, Solution
from tellall.core.errors import invalid

__all__ = [
    "CategoryPrior",
    "CountPrior",
    "CountProblem",
    "PosteriorSolution",
    "PriorOnDevice",
    "count_moments",
]

# The law of a count of people: binomial, within bounds, times a Gaussian opinion about it.

_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _SameSize:
    """The groups of one size: their indices, the counts 0 … c, and the log-prior of each."""

    index: npt.NDArray[np.intp]
    counts: Array
    log_prior: Array


@final
class CountPrior:
    """t_p ~ Binomial(size_p, rate_p) given lower_p ≤ t_p ≤ upper_p, for every group p.

    Notes
    -----
    With a Gaussian opinion of the given precision, P(t = j) ∝ C(c, j) π^j (1−π)^(c−j) exp(−precision
    (j − opinion)²/2). For a person alone these are the log-odds logit(π) + precision (opinion − 1/2).
    O(people) for all groups together.

    Examples
    --------
    >>> prior = CountPrior(np.array([1.0, 4.0]), np.zeros(2), np.array([1.0, 4.0]), rate=0.5)
    >>> prior.mean.tolist(), prior.variance.tolist()
    ([0.5, 2.0], [0.25, 1.0])
    """

    def __init__(self, size: Array, lower: Array, upper: Array, rate: Array | float) -> None:
        self.size, self.lower, self.upper = size, lower, upper
        self.rate: Array = np.broadcast_to(np.asarray(rate, dtype=np.float64), size.shape)
        self.alone = bool(((size == 1) & (lower == 0) & (upper == 1)).all())
        self._log_odds: Array = np.log(self.rate) - np.log1p(-self.rate)
        self._sizes = [] if self.alone else [self._same_size(c) for c in np.unique(size)]
        nothing = np.zeros(size.size)
        self.mean, self.variance = self.moments(nothing, nothing)

    def on(self, device: Device) -> PriorOnDevice:
        """The moments for opinions on another device."""
        return PriorOnDevice(self, device)

    def moments(self, precision: Array | float, opinion: Array) -> tuple[Array, Array]:
        """Mean and variance of each count; precision zero gives the prior."""
        if self.alone:
            chance = self.chance(precision, opinion)
            return chance, np.maximum(chance * (1 - chance), _LEAST_VARIANCE)
        mean, variance = np.empty(self.size.size), np.empty(self.size.size)
        for group, law in self._laws(precision, opinion):
            mean[group.index] = law @ group.counts
            deviation = group.counts - mean[group.index, None]
            variance[group.index] = np.einsum("ij,ij->i", deviation**2, law)
        return mean, np.maximum(variance, _LEAST_VARIANCE)

    def chance(self, precision: Array | float, opinion: Array) -> Array:
        """The chance that one member of each group has the secret, E[t]/c."""
        from scipy.special import expit

        out: Array = expit(self.log_odds(precision, opinion))
        return out

    def log_odds(self, precision: Array | float, opinion: Array) -> Array:
        """log E[t] − log E[c − t], without loss where the chance is all but certain."""
        if self.alone:
            return self._log_odds + precision * (opinion - 0.5)
        out = np.empty(self.size.size)
        for group, law in self._laws(precision, opinion):
            yes, no = law @ group.counts, law @ (group.counts[-1] - group.counts)
            with np.errstate(divide="ignore"):
                out[group.index] = np.log(yes) - np.log(no)
        return out

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw of every count."""
        if self.alone:
            return (rng.random(self.size.size) < self.rate).astype(np.float64)
        out = np.empty(self.size.size)
        nothing = np.zeros(self.size.size)
        for group, law in self._laws(nothing, nothing):
            level = rng.random(group.index.size)
            steps = (np.cumsum(law, axis=1) < level[:, None]).sum(axis=1)
            out[group.index] = group.counts[np.minimum(steps, group.counts.size - 1)]
        return np.clip(out, self.lower, self.upper)

    def log_prior(self, counts: Array) -> float:
        """The log-probability of these whole counts, up to a constant."""
        from scipy.special import gammaln

        choose = gammaln(self.size + 1) - gammaln(counts + 1) - gammaln(self.size - counts + 1)
        return float(np.sum(choose + counts * self._log_odds))

    def _same_size(self, size: Any) -> _SameSize:
        from scipy.special import gammaln

        index = np.flatnonzero(self.size == size)
        j: Array = np.arange(float(size) + 1)
        log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
        rate = self.rate[index, None]
        log_prior = log_prior + j * np.log(rate) + (size - j) * np.log1p(-rate)
        possible = (j >= self.lower[index, None]) & (j <= self.upper[index, None])
        return _SameSize(index, j, np.where(possible, log_prior, -np.inf))

    def _laws(self, precision: Array | float, opinion: Array) -> list[tuple[_SameSize, Array]]:
        from scipy.special import softmax

        out: list[tuple[_SameSize, Array]] = []
        for group in self._sizes:
            sure = np.asarray(precision)[group.index, None] if np.ndim(precision) else precision
            away = group.counts - opinion[group.index, None]
            out.append((group, softmax(group.log_prior - 0.5 * sure * away**2, axis=1)))
        return out


@final
class PriorOnDevice:
    """The moments of counts for opinions on another device."""

    def __init__(self, prior: CountPrior, device: Device) -> None:
        self.prior, self.device = prior, device
        self.mean, self.variance = device.put(prior.mean), device.put(prior.variance)
        self._log_odds = device.put(prior._log_odds) if prior.alone else None

    def moments(self, precision: Any, opinion: Any) -> tuple[Any, Any]:
        """Mean and variance of each count; people alone in their group are reckoned where they are."""
        device, xp = self.device, self.device.xp
        if device is HOST or self._log_odds is None:
            mean, variance = self.prior.moments(device.get(precision), device.get(opinion))
            return device.put(mean), device.put(variance)
        odds = self._log_odds + precision * (opinion - 0.5)
        chance = 0.5 + 0.5 * xp.tanh(0.5 * odds)
        return chance, xp.clip(chance * (1 - chance), _LEAST_VARIANCE, None)


def count_moments(
    size: Array, lower: Array, upper: Array, rate: Array | float, precision: Array, opinion: Array
) -> tuple[Array, Array]:
    """Mean and variance of each group's count under its prior and a Gaussian opinion."""
    return CountPrior(size, lower, upper, rate).moments(precision, opinion)


_MOST_WAYS = 300  # in which a group's people can be divided among values; above, values are independent


@dataclass(frozen=True, eq=False)
class _Alike:
    """The groups with as many people left and as many open values: their unknowns, and what is possible."""

    index: IntArray  # groups × values
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
            taken[alike.index.ravel()] = True
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
            mean[alike.index] = law @ alike.ways
            variance[alike.index] = law @ alike.ways**2 - mean[alike.index] ** 2
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
                people = self.size[alike.index[:, :1]]
                gone = people - self.left[self.group[alike.index[:, :1]]]  # have another value for sure
                no = law @ (alike.ways.sum(axis=1, keepdims=True) - alike.ways) + gone
                out[alike.index] = np.log(law @ alike.ways) - np.log(no)
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
            out[alike.index] = alike.ways[np.minimum(drawn, alike.ways.shape[0] - 1)]
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
            index = order[start[chosen][:, None] + np.arange(open_)]
            ways = _divisions(people, open_)
            log_prior = np.log(self.rate)[index] @ ways.T - gammaln(ways + 1).sum(axis=1)
            possible = (ways >= self.lower[index][:, None, :]) & (ways <= self.upper[index][:, None, :])
            log_prior = np.where(possible.all(axis=2), log_prior, -np.inf)
            sound = np.isfinite(log_prior).any(axis=1)  # elsewhere the evidence contradicts itself
            if sound.any():
                yield _Alike(index[sound], ways, log_prior[sound])

    def _laws(self, precision: Array, opinion: Array) -> Iterator[tuple[_Alike, Array]]:
        from scipy.special import softmax

        for alike in self._alike:
            sure = self._each(precision)[alike.index]
            # (t − r)² = t² − 2 t r + …: what does not depend on t drops out
            fit = (sure * opinion[alike.index]) @ alike.ways.T - 0.5 * sure @ (alike.ways**2).T
            yield alike, softmax(alike.log_prior + fit, axis=1)


def _divisions(people: int, values: int) -> npt.NDArray[np.float64]:
    """Every way to divide the people among the values."""
    rows = []
    for bars in combinations(range(people + values - 1), values - 1):
        ends = (-1, *bars, people + values - 1)
        rows.append([ends[k + 1] - ends[k] - 1 for k in range(values)])
    return np.array(rows, dtype=np.float64)


# What the posterior decoder takes and gives: equations about counts, and chances.


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Rows A t = z + error about the counts t_p of groups, t_p ~ Binomial(size_p, rate) in lower_p … upper_p.

    Parameters
    ----------
    operator
        A, one column per group.
    std
        The standard deviation of the Gaussian part of each row's error, above zero.
    size, lower, upper
        The number of people in each group and what is known of the count; lower below upper.
    rate
        The chance of the secret before the evidence, one or one per group.
    slack
        The half-width of a uniform error on top of the Gaussian one (rounding), per row; None for none.
    contaminated
        Whether a share of the rows may have gross errors; None to find out.
    unseen
        Rows of which no value is known, only that A t is within ``slack`` of z (but for the Gaussian error);
        None where all are seen.
    group, left
        Where the secret has several values: the group that each unknown's people are of, and for each group
        how many of its people are divided among its unknowns. The rows need not say that they are.
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
    def prior(self) -> CountPrior | CategoryPrior:
        """What is believed of the counts before the evidence."""
        if self.group is None or self.left is None:
            return CountPrior(self.size, self.lower, self.upper, self.rate)
        rate = np.broadcast_to(np.asarray(self.rate, dtype=np.float64), self.size.shape)
        return CategoryPrior(self.group, self.left, self.size, rate, self.lower, self.upper)

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        columns = (("std", m), ("size", n), ("lower", n), ("upper", n), ("slack", m))
        for name, length in columns:
            value: Array | None = getattr(self, name)
            if value is not None and (value.shape != (length,) or not np.isfinite(value).all()):
                raise invalid(name, f"{length} finite numbers", f"shape {value.shape}")
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
