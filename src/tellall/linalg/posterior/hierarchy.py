"""A normal posterior with uncertain mean, effects of covariates and variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellall.linalg.operators.linear_operator import Array, IntArray

__all__ = ["Candidate", "Hierarchy", "HierarchyPosterior", "UnitMoments"]

SHARES = (0.0, 0.2, 0.5, 0.8, 0.95, 0.99)  # of the variance that covariates explain
_WIDEST, _POINTS, _ZOOMS = 14.0, 15, 8  # of the logarithm of the spread: range, grid, and how often narrowed
_KEPT = 8.0  # what is less likely than exp(−8) of the best is left out of the grid
_RARE = 2e-3  # of the best: too little to matter in a mean
_HARDLY = 1e-12
_ALIKE = 1e-6  # of the spread: practically none
_KNOWN_TO = 0.1  # relative error of a variance that is known


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """values = S V x + unit normal errors; x_i = covariates_i · β + e_i, e_i ~ N(0, spread² (1 − share)).

    Parameters
    ----------
    singular, right
        The singular values S and the right singular vectors V (rows) of the equations about groups of units
        alike; x of a group is the mean of its units times √size.
    size, index
        How many units each group has, and the group of each unit.
    covariates
        A row per unit: a one, then effects, whose squares sum to one on average.
    mean, mean_spread
        The normal prior of the constant's coefficient; with an infinite spread, nothing is known.
    spread
        The spread over units, if it is known.
    widest
        The largest spread that is possible.
    rest, line
        The root mean square of the units' distances from a line that was fitted to them, and an orthonormal
        basis of that fit's columns; by default the line is level and the rest is the spread.

    Notes
    -----
    β's constant is normal with the given mean and spread, its effects are N(0, spread² share) each. The prior
    of the spread is flat from zero on, so that noise that hides how much units differ leaves a wide interval
    and not a narrow one; that of the share is uniform over a few values. Given both,
    everything is normal: with D = spread² (1 − share) S² + 1, E = S V C and P = Eᵀ D⁻¹ E + prior, one
    evaluation costs O(r q²) for r values and q covariates, and the moments O(n (r + q²)) (Lindley and Smith
    1972).
    """

    singular: Array
    right: Array
    size: Array
    index: IntArray
    covariates: Array
    mean: float = 0.0
    mean_spread: float = np.inf
    spread: float | None = None
    widest: float = np.inf
    rest: float | None = None
    line: Array | None = None

    @cached_property
    def beyond(self) -> tuple[Array, float, float]:
        """The effects beyond the line, the share of the variance left about it, and that share's error.

        The mean square of n − k free distances has a relative error of √(2/(n − k)).
        """
        effects = self.covariates[:, 1:]
        n = self.index.size
        if self.line is None:
            return effects - effects.mean(axis=0), 1.0, _KNOWN_TO
        free = max(n - self.line.shape[1], 1)
        return effects - self.line @ (self.line.T @ effects), free / n, float(np.sqrt(2 / free))

    @cached_property
    def grouped(self) -> Array:
        """The covariates of each group's mean, times √size."""
        sums = np.zeros((self.size.size, self.covariates.shape[1]))
        np.add.at(sums, self.index, self.covariates)
        return np.asarray(sums / np.sqrt(self.size)[:, None])

    @cached_property
    def turned(self) -> Array:
        """V C."""
        return np.asarray(self.right @ self.grouped)

    @cached_property
    def image(self) -> Array:
        """E = S V C."""
        return np.asarray(self.singular[:, None] * self.turned)

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the variance that are tried."""
        return SHARES if self.covariates.shape[1] > 1 else SHARES[:1]

    def at(self, spread: float, share: float) -> Candidate:
        """The candidate with this spread and share, which does not depend on the values."""
        variance = spread**2 * (1 - share)
        effects = spread**2 * share
        noise = variance * self.singular**2 + 1
        used = self.covariates.shape[1] if share else 1
        image = self.image[:, :used]
        scaled = image / noise[:, None]
        prior = np.full(used, 1 / effects if share else 0.0)
        prior[0] = self.mean_spread**-2
        precision = image.T @ scaled + np.diag(prior)
        # if nothing is known about the constant, its prior is almost flat but proper
        most = float((self.singular**2 / noise).max(initial=0.0))
        precision[0, 0] += _HARDLY * (self.index.size * most if most else 1.0)
        unit = np.sqrt(precision.diagonal())
        even = precision / np.outer(unit, unit)
        inverse = np.linalg.inv(even) / np.outer(unit, unit)
        log = float(np.linalg.slogdet(even)[1]) + 2 * float(np.log(unit).sum())
        log += float(np.log(noise).sum()) - float(np.log(prior[1:]).sum())
        return Candidate(self, spread, share, variance, noise, prior, scaled, inverse, log)

    def posterior(self, values: Array) -> HierarchyPosterior:
        """What the values say, on an even grid of the spreads that are likely.

        These are found on a grid of logarithms, narrowed until several of its points are likely.
        """
        size = float(np.sqrt(np.mean(self.singular**2))) if self.singular.size else 1.0
        off = values - self.image[:, 0] * self.mean if np.isfinite(self.mean_spread) else values
        scale = max(float(np.sqrt(np.mean(off**2))), 1.0) / size if values.size else 1.0
        high = min(np.log(scale) + _WIDEST / 2, np.log(self.widest))
        low = min(np.log(scale) - _WIDEST, high - 1.0)
        for _ in range(_ZOOMS):
            logs, step = np.linspace(low, high, _POINTS, retstep=True)
            _, likely = self._weigh(np.exp(logs), values)
            best = likely.reshape(_POINTS, -1).max(axis=1) + logs  # as flat over spreads as the prior
            near = np.flatnonzero(best > best.max() - _KEPT)
            low, high = max(low, logs[near[0]] - step), min(high, logs[near[-1]] + step)
            if near.size > _POINTS // 3:
                break
        grid, likely = self._weigh(np.linspace(np.exp(low), np.exp(high), _POINTS), values)
        return HierarchyPosterior.of(grid, values, likely)

    def _weigh(self, spreads: Array, values: Array) -> tuple[list[Candidate], Array]:
        """A candidate for each spread and share, and how likely the values make it.

        If the rest is known, spreads are those about the line, so that every share has likely ones.
        """
        about = [1.0 if self.rest is None else np.sqrt(1 - share) for share in self.shares]
        pairs = list(zip(self.shares, about, strict=True))
        grid = [self.at(float(spread) / each, share) for spread in spreads for share, each in pairs]
        return grid, np.array([float(one.solve(values[:, None]).likely[0]) for one in grid])


@dataclass(frozen=True, eq=False)
class Solved:
    """For each column of values: coefficients, residuals, and the log-weight of the candidate."""

    beta: Array
    left: Array
    likely: Array


@dataclass(frozen=True, eq=False)
class Candidate:
    """One choice of what is uncertain: the spread over units and the share that covariates explain."""

    model: Hierarchy
    spread: float
    share: float
    variance: float
    noise: Array
    prior: Array
    scaled: Array
    inverse: Array
    log: float

    @property
    def used(self) -> int:
        """How many of the covariates it uses."""
        return self.prior.size

    def solve(self, values: Array) -> Solved:
        """The posterior of the coefficients for each column of values."""
        model = self.model
        image = model.image[:, : self.used]
        off = values - image[:, :1] * model.mean
        beta = self.inverse @ (self.scaled.T @ off)
        left = off - image @ beta
        # the squares that are left, written so that large constants lose no digits
        squares = (left**2 / self.noise[:, None]).sum(axis=0) + self.prior @ beta**2
        likely = -0.5 * (squares + self.log)
        if (known := model.rest or model.spread) is not None:  # what effects and the rest must make up
            beyond, share, doubt = model.beyond
            effects = ((beyond[:, : self.used - 1] @ beta[1:]) ** 2).mean(axis=0)
            likely = likely - 0.5 * (((share * self.variance + effects) / known**2 - 1) / doubt) ** 2
        beta[0] += model.mean
        return Solved(beta, left, likely)

    @cached_property
    def mixed(self) -> Array:
        """How the values' residuals move each group."""
        return np.asarray(self.variance * self.model.singular / self.noise)

    def mean(self, solved: Solved) -> Array:
        """The mean of each unit, with a column for each column of values."""
        model = self.model
        back = model.right.T @ (self.mixed[:, None] * solved.left) / np.sqrt(model.size)[:, None]
        return np.asarray(model.covariates[:, : self.used] @ solved.beta + back[model.index])

    @cached_property
    def deviations(self) -> Array:
        """The variance of each unit, which does not depend on the values."""
        model = self.model
        index = self.model.index
        known = (1 - 1 / self.noise) @ model.right**2
        turned = (self.mixed * model.singular)[:, None] * model.turned[:, : self.used]
        back = (model.right.T @ turned) / np.sqrt(model.size)[:, None]
        rest = model.covariates[:, : self.used] - back[index]
        own = self.variance * (np.maximum(1 - known, 0.0) / model.size + 1 - 1 / model.size)
        return np.asarray(own[index] + np.einsum("ij,jk,ik->i", rest, self.inverse, rest))


@dataclass(frozen=True, eq=False)
class UnitMoments:
    """Mean and standard deviation of each unit, with a column for each column of values."""

    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class HierarchyPosterior:
    """The candidates that are likely given the values, with their weights.

    ``grid`` has all candidates that were tried, so that other values can be weighed on it.
    """

    grid: Sequence[Candidate]
    values: Array
    candidates: Sequence[Candidate]
    weights: Array

    @classmethod
    def of(cls, grid: Sequence[Candidate], values: Array, likely: Array) -> HierarchyPosterior:
        """The posterior on a grid with these log-weights."""
        kept = _kept(likely)
        weights = np.exp(likely[kept] - likely[kept].max())
        return cls(grid, values, [grid[place] for place in kept], weights / weights.sum())

    @property
    def model(self) -> Hierarchy:
        """What all candidates share."""
        return self.candidates[0].model

    @cached_property
    def _solved(self) -> list[Solved]:
        return [one.solve(self.values[:, None]) for one in self.candidates]

    @property
    def mean(self) -> float:
        """The posterior mean of the constant."""
        return float(self.weights @ [float(one.beta[0, 0]) for one in self._solved])

    @property
    def spread(self) -> float:
        """The spread over units."""
        return float(np.sqrt(self.weights @ [one.spread**2 for one in self.candidates]))

    @cached_property
    def support(self) -> float:
        """By how much units that differ explain the values better than units alike, in log-likelihood."""
        best = max(float(solved.likely[0]) for solved in self._solved)
        alike = self.model.at(_ALIKE * self.spread, 0.0)
        return float(best - alike.solve(self.values[:, None]).likely[0])

    @cached_property
    def deviations(self) -> Array:
        """The standard deviation of each unit by every candidate: candidates × units."""
        return np.sqrt(np.stack([one.deviations for one in self.candidates]))

    @cached_property
    def _means(self) -> Array:
        """The mean of each unit by every candidate: candidates × units."""
        pairs = zip(self.candidates, self._solved, strict=True)
        return np.stack([one.mean(solved)[:, 0] for one, solved in pairs])

    @cached_property
    def _squares(self) -> Array:
        """The mean squared error of the overall mean by every candidate: candidates × units."""
        return np.asarray(self.deviations**2 + (self._means - self.weights @ self._means) ** 2)

    @cached_property
    def moments(self) -> UnitMoments:
        """Mean and standard deviation of each unit, over all candidates."""
        return UnitMoments(self.weights @ self._means, np.sqrt(self.weights @ self._squares))

    @property
    def widest(self) -> Array:
        """The error of each unit's mean under the candidate that makes it largest."""
        return np.asarray(np.sqrt(self._squares.max(axis=0)))

    def best(self) -> tuple[Candidate, Array]:
        """The most likely candidate and its coefficients."""
        place = int(np.argmax(self.weights))
        return self.candidates[place], self._solved[place].beta[:, 0]

    def imagine(
        self, times: int, rng: np.random.Generator, uneven: Array | float = 1.0
    ) -> tuple[Array, Array]:
        """Other units with the same effects, and the values that they would give, one column per draw.

        ``uneven`` is by how much the variance of each unit is larger than usual.
        """
        model = self.model
        units = []
        for place in rng.choice(self.weights.size, size=times, p=self.weights):
            one = self.candidates[place]
            beta = self._solved[place].beta[:, 0].copy()
            if beta.size > 1:
                beta[1:] = rng.multivariate_normal(beta[1:], one.inverse[1:, 1:], method="cholesky")
            rest = rng.normal(size=model.index.size) * np.sqrt(one.variance * uneven)
            units.append(model.covariates[:, : one.used] @ beta + rest)
        sums = np.stack([np.bincount(model.index, each, minlength=model.size.size) for each in units], axis=1)
        image = model.right @ (sums / np.sqrt(model.size)[:, None])
        noise = rng.normal(size=(model.singular.size, times))
        return np.stack(units, axis=1), model.singular[:, None] * image + noise

    def others(self, values: Array) -> UnitMoments:
        """The moments of other units with these values, one column each, weighed on the same grid."""
        solved = [one.solve(values) for one in self.grid]
        likely = np.stack([each.likely for each in solved])
        kept = sorted({int(place) for column in likely.T for place in _kept(column)})
        weights = np.exp(likely[kept] - likely[kept].max(axis=0))
        weights /= weights.sum(axis=0)
        means = np.stack([self.grid[place].mean(solved[place]) for place in kept])
        mean = (weights[:, None, :] * means).sum(axis=0)
        own = np.stack([self.grid[place].deviations for place in kept])
        variance = own.T @ weights + (weights[:, None, :] * (means - mean) ** 2).sum(axis=0)
        return UnitMoments(mean, np.sqrt(variance))


def _kept(likely: Array) -> IntArray:
    """The candidates that matter, the likeliest first."""
    order = np.argsort(-likely, kind="stable")
    return np.asarray(order[likely[order] > likely.max() + np.log(_RARE)])
