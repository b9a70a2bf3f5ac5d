"""Expectation propagation: the posterior of counts from exact linear-Gaussian steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.algebra.posterior.channel import LEARN_FROM, Channel, Opinion
from tellall.algebra.posterior.counts import CountPrior
from tellall.algebra.posterior.gaussian import GaussianPosterior, GaussianSteps
from tellall.algebra.solvers.base import Array

__all__ = [
    "propagate",
]

_LEAST_PRECISION = 1e-4  # of a site, in units of its prior's
_LEAST_DAMPING = 0.1
_HOLD_FROM = 4  # iterations before a count may be taken as known,
_KNOWN = 1e-7  # which it is when its variance has fallen below this
_WINDOW = 5  # iterations in which the change has to halve


@dataclass(frozen=True, eq=False)
class _RowSites:
    """A Gaussian stand-in for every row's error law: its weight, weight × target, chance of a gross error."""

    weights: Array
    pull: Array
    gross: Array | float = 0.0

    def toward(self, other: _RowSites, step: float) -> _RowSites:
        """The part of the way to the others."""
        weights = self.weights + step * (other.weights - self.weights)
        return _RowSites(weights, self.pull + step * (other.pull - self.pull), other.gross)


def propagate(
    steps: GaussianSteps,
    prior: CountPrior,
    channel: Channel,
    target: Array,
    *,
    damping: float = 0.7,
    limit: int = 60,
    tolerance: float = 1e-3,
    contaminated: bool = False,
) -> Opinion:
    """The evidence's opinion of every count, by expectation propagation.

    Notes
    -----
    Every prior is replaced by a Gaussian site of precision λ_p, every row whose error is not Gaussian by one
    of weight w_j. One step: the linear-Gaussian posterior (`GaussianSteps`); cavity = posterior divided by
    site; new sites match the mean and the variance of cavity × prior, or of cavity × error law. Unlike
    message passing it takes the operator as it is: 0/1 attributes, tables, correlated columns (Minka 2001;
    Rangan, Schniter and Fletcher 2019 for large matrices). `agreement` is near one where the residuals are
    as large as predicted, with standard deviation √(2/m). After the first steps, counts whose variance has
    fallen below 1e-7 are taken as known, and later steps are about the others only.
    """
    operator = steps.operator
    plain = channel.slack is None and not contaminated
    lam, eta = 1 / prior.variance, prior.mean / prior.variance
    if contaminated:
        spread, belief = operator.squared() @ prior.variance, operator @ prior.mean
        channel = channel.contaminated(target - belief, spread)
        rows = _row_sites(channel, target, spread, belief)
    else:
        weights = 1 / (channel.total + np.zeros(target.size))
        rows = _RowSites(weights, weights * target)
    mean, changes = prior.mean, list[float]()
    held = np.full(prior.size.size, np.nan)
    precision, opinion = np.zeros(held.size), np.zeros(held.size)
    for iteration in range(limit):
        belief_now = steps.step(lam, eta, rows.weights, rows.pull, fixed=plain, held=held)
        free = np.isnan(held)
        now_mean, now_variance = belief_now.mean[free], belief_now.variance[free]
        precision[free] = np.maximum(1 / now_variance - lam[free], 1e-9 * lam[free])
        opinion[free] = (now_mean / now_variance - eta[free]) / precision[free]
        previous, (mean, variance) = mean, prior.moments(precision, opinion)
        changes.append(float(np.sqrt(np.mean((mean - previous) ** 2 / prior.variance))))
        image = operator @ belief_now.mean
        if plain:
            seen = channel.seen(target).size
            agreement = _plain_agreement(belief_now, lam, rows.weights, target - image, seen)
        else:
            belief, spread = _row_cavities(rows, image, belief_now.shares())
            new_rows = _row_sites(channel, target, spread, belief)
            agreement = channel.agreement(target - belief, spread, new_rows.gross)
            if contaminated and iteration >= LEARN_FROM:
                channel = channel.learn(target - belief, spread, new_rows.gross)
            rows = rows.toward(new_rows, damping)
        new = np.maximum(1 / variance - precision, _LEAST_PRECISION / prior.variance)
        lam, eta = (
            lam + damping * (new - lam),
            eta + damping * (mean * (new + precision) - precision * opinion - eta),
        )
        if iteration >= _HOLD_FROM:
            held = np.where(free & (variance <= _KNOWN), mean, held)
        if changes[-1] <= tolerance:
            break
        if len(changes) > 2 * _WINDOW and min(changes[-_WINDOW:]) > 0.5 * min(changes[:-_WINDOW]):
            damping, changes = max(damping / 2, _LEAST_DAMPING), changes[-1:]
    return Opinion(precision, opinion, channel, agreement, changes[-1], iteration + 1)


def _plain_agreement(now: GaussianPosterior, lam: Array, weights: Array, residual: Array, rows: int) -> float:
    """(χ² of the residuals at the mean + the degrees of freedom it has used up) per row."""
    used = float(np.sum(np.where(now.variance > 0, 1 - lam * now.variance, 0.0)))  # none by what is known
    return (float(weights @ residual**2) + used) / max(rows, 1)


def _row_cavities(rows: _RowSites, image: Array, shares: Array) -> tuple[Array, Array]:
    """What the other equations believe of every row's value: mean and variance."""
    share = np.clip(shares, 1e-12, 1 - 1e-6)
    weights = np.maximum(rows.weights, 1e-300)
    return (image - share * rows.pull / weights) / (1 - share), share / weights / (1 - share)


def _row_sites(channel: Channel, target: Array, spread: Array, belief: Array) -> _RowSites:
    """The sites that match mean and variance of belief × error law."""
    score, curvature, gross = channel.respond(target - belief, spread)
    spread = np.maximum(spread, 1e-300)
    least, most = 1e-9 / (spread + channel.noise), (1 - 1e-6) / spread
    curvature = np.clip(curvature, least, most)
    left = 1 - spread * curvature
    return _RowSites(curvature / left, (score + belief * curvature) / left, gross)
