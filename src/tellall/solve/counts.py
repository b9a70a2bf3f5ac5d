"""The law of a count of people: binomial, within bounds, times a Gaussian opinion about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.linops import HOST, Place
from tellall.solve.base import Array

__all__ = ["CountPrior", "PlacedPrior", "count_moments"]

_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _SameSize:
    """The groups of one size: their places, the counts 0 … c, and the log-prior of each."""

    place: npt.NDArray[np.intp]
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

    def on(self, place: Place) -> PlacedPrior:
        """The moments for opinions of another place."""
        return PlacedPrior(self, place)

    def moments(self, precision: Array | float, opinion: Array) -> tuple[Array, Array]:
        """Mean and variance of each count; precision zero gives the prior."""
        if self.alone:
            chance = self.chance(precision, opinion)
            return chance, np.maximum(chance * (1 - chance), _LEAST_VARIANCE)
        mean, variance = np.empty(self.size.size), np.empty(self.size.size)
        for group, law in self._laws(precision, opinion):
            mean[group.place] = law @ group.counts
            deviation = group.counts - mean[group.place, None]
            variance[group.place] = np.einsum("ij,ij->i", deviation**2, law)
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
                out[group.place] = np.log(yes) - np.log(no)
        return out

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw of every count."""
        if self.alone:
            return (rng.random(self.size.size) < self.rate).astype(np.float64)
        out = np.empty(self.size.size)
        nothing = np.zeros(self.size.size)
        for group, law in self._laws(nothing, nothing):
            level = rng.random(group.place.size)
            steps = (np.cumsum(law, axis=1) < level[:, None]).sum(axis=1)
            out[group.place] = group.counts[np.minimum(steps, group.counts.size - 1)]
        return np.clip(out, self.lower, self.upper)

    def log_prior(self, counts: Array) -> float:
        """The log-probability of these whole counts, up to a constant."""
        from scipy.special import gammaln

        choose = gammaln(self.size + 1) - gammaln(counts + 1) - gammaln(self.size - counts + 1)
        return float(np.sum(choose + counts * self._log_odds))

    def _same_size(self, size: Any) -> _SameSize:
        from scipy.special import gammaln

        place = np.flatnonzero(self.size == size)
        j: Array = np.arange(float(size) + 1)
        log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
        rate = self.rate[place, None]
        log_prior = log_prior + j * np.log(rate) + (size - j) * np.log1p(-rate)
        possible = (j >= self.lower[place, None]) & (j <= self.upper[place, None])
        return _SameSize(place, j, np.where(possible, log_prior, -np.inf))

    def _laws(self, precision: Array | float, opinion: Array) -> list[tuple[_SameSize, Array]]:
        from scipy.special import softmax

        out: list[tuple[_SameSize, Array]] = []
        for group in self._sizes:
            sure = np.asarray(precision)[group.place, None] if np.ndim(precision) else precision
            away = group.counts - opinion[group.place, None]
            out.append((group, softmax(group.log_prior - 0.5 * sure * away**2, axis=1)))
        return out


@final
class PlacedPrior:
    """The moments of counts for opinions that live in some place."""

    def __init__(self, prior: CountPrior, place: Place) -> None:
        self.prior, self.place = prior, place
        self.mean, self.variance = place.put(prior.mean), place.put(prior.variance)
        self._log_odds = place.put(prior._log_odds) if prior.alone else None

    def moments(self, precision: Any, opinion: Any) -> tuple[Any, Any]:
        """Mean and variance of each count; people alone in their group are reckoned where they are."""
        place, xp = self.place, self.place.xp
        if place is HOST or self._log_odds is None:
            mean, variance = self.prior.moments(place.get(precision), place.get(opinion))
            return place.put(mean), place.put(variance)
        odds = self._log_odds + precision * (opinion - 0.5)
        chance = 0.5 + 0.5 * xp.tanh(0.5 * odds)
        return chance, xp.clip(chance * (1 - chance), _LEAST_VARIANCE, None)


def count_moments(
    size: Array, lower: Array, upper: Array, rate: Array | float, precision: Array, opinion: Array
) -> tuple[Array, Array]:
    """Mean and variance of each group's count under its prior and a Gaussian opinion."""
    return CountPrior(size, lower, upper, rate).moments(precision, opinion)
