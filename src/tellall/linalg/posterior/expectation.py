"""Expectation propagation: the posterior of counts from exact linear-Gaussian steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.core.work import doing
from tellall.linalg.operators.compose import MOST_ENTRIES, DistinctRows, RowFactor
from tellall.linalg.operators.linear_operator import LinearOperator
from tellall.linalg.posterior.model import LEARN_FROM, Channel, CountPrior, Opinion
from tellall.linalg.solvers.solution import Array

__all__ = [
    "GaussianPosterior",
    "GaussianSteps",
    "propagate",
]

Indices = npt.NDArray[np.intp]

_NARROW = 0.8  # rows per unknown below which the factorisation is on the rows' side
_REPEATED = 4  # rows per unknown up to which distinct rows are looked for
_LEAST_PRECISION = 1e-4  # of a site, in units of its prior's
_LEAST_DAMPING = 0.1
_HOLD_FROM = 4  # iterations before a count may be taken as known,
_KNOWN = 1e-7  # which it is when its variance has fallen below this
_WINDOW = 5  # iterations in which the change has to halve


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """Mean and variances of the unknowns, and for each row its share w_j a_j C a_jᵀ when asked for."""

    mean: Array
    variance: Array
    shares: Callable[[], Array]


@final
class GaussianSteps:
    """C = (Aᵀ W A + diag λ)⁻¹, its diagonal, C (Aᵀ b + η) and the shares w_j a_j C a_jᵀ.

    Notes
    -----
    With more rows than unknowns: Gram matrix and Cholesky, n³ flops, and 2 m n² for the shares. With fewer,
    on the rows' side (`RowFactor`). Rows equal up to sign (a table's yes and no cells) count once. If
    the matrix is too large to be written out, the shares are approximate: sums of a_jp² C_pp, scaled so that
    their total is right.
    """

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator
        self._kept: tuple[Array, Array] | None = None

    def affordable(self, limit: int) -> bool:
        """Whether the shorter side is at most this long, short enough to be factorised many times."""
        n = self.operator.shape[1]
        rows = None if n <= limit else self._distinct
        return n <= limit or (rows is not None and len(rows) <= min(limit, _NARROW * n))

    @property
    def _written(self) -> bool:
        """Whether the matrix is small enough to be written out."""
        return self.operator.entries <= MOST_ENTRIES

    def step(
        self,
        precision: Array,
        pull: Array,
        weights: Array,
        row_pull: Array,
        *,
        fixed: bool,
        held: Array | None = None,
    ) -> GaussianPosterior:
        """The posterior for site precisions λ, pulls η, row weights w and row pulls b.

        ``fixed`` means that the weights are the same in every step, so that their Gram matrix is kept.
        ``held`` has the values of unknowns that are taken as known and NaN for the others; held values come
        back as means, with variance zero.
        """
        if held is None or np.isnan(held).all():
            return self._among(np.arange(precision.size), precision, pull, weights, row_pull, fixed)
        free = np.flatnonzero(np.isnan(held))
        known = np.where(np.isnan(held), 0.0, held)
        if not free.size:
            return GaussianPosterior(known, np.zeros(known.size), lambda: np.zeros(weights.size))
        settled = np.asarray(self.operator.matvec(known), dtype=np.float64)
        part = self._among(free, precision, pull, weights, row_pull - weights * settled, fixed)
        mean = known
        variance = np.zeros(known.size)
        mean[free] = part.mean
        variance[free] = part.variance
        return GaussianPosterior(mean, variance, part.shares)

    def _among(
        self, free: Indices, precision: Array, pull: Array, weights: Array, row_pull: Array, fixed: bool
    ) -> GaussianPosterior:
        """The posterior of these unknowns, the others absent."""
        right = self.operator.rmatvec(row_pull) + pull
        m, n = self.operator.shape
        if not m or not free.size:  # LAPACK prints its complaints about matrices of no size
            nothing = np.zeros_like(weights)
            return GaussianPosterior(right[free] / precision[free], 1 / precision[free], lambda: nothing)
        rows = self._distinct if m <= _REPEATED * n else None
        if rows is not None and len(rows) <= _NARROW * free.size:
            return self._by_rows(rows, free, precision[free], right[free], weights)
        return self._by_unknowns(free, precision[free], right[free], weights, fixed)

    def _by_unknowns(
        self, free: Indices, precision: Array, right: Array, weights: Array, fixed: bool
    ) -> GaussianPosterior:
        from scipy.linalg import lapack

        def factorised(more: float = 0.0) -> tuple[Array, int]:
            hessian = self._gram(free, weights, fixed)
            diagonal = np.einsum("ii->i", hessian)  # a view
            diagonal += precision
            diagonal += more * float(diagonal.max())
            # symmetric, so that its transpose is the same and in the order that LAPACK takes without a copy
            factor, failed, *_ = lapack.dpotrf(hessian.T, lower=1, clean=1, overwrite_a=1)
            return factor, failed

        factor, failed = factorised()
        if failed:  # a gram matrix so large compared with the sites that its rounding errors show
            factor, _ = factorised(1e-10)
        mean, _ = lapack.dpotrs(factor, right, lower=1)
        half, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
        variance = np.einsum("ij,ij->j", half, half)

        def shares() -> Array:
            if self._written and self._distinct is not None:
                image = np.asarray(self._distinct.take(free).matrix @ half.T)
                each = np.einsum("ij,ij->i", image, image)[self._distinct.index]
                exact: Array = weights * each
                return exact
            dtype = self.operator.dtype
            everybody = np.zeros(self.operator.shape[1], dtype=dtype)
            everybody[free] = variance
            alone = self.operator.squared().matvec(everybody)
            total = free.size - float(precision @ variance)  # tr(C Aᵀ W A)
            return weights * alone * (total / max(float(weights @ alone), 1e-300))

        return GaussianPosterior(mean, variance, shares)

    def _by_rows(
        self, distinct: DistinctRows, free: Indices, precision: Array, right: Array, weights: Array
    ) -> GaussianPosterior:
        merged = distinct.gather(weights)
        factor = RowFactor(distinct.take(free), merged, precision)

        def shares() -> Array:
            own = np.divide(weights, merged[distinct.index], where=weights > 0, out=np.zeros_like(weights))
            return own * factor.shares[distinct.index]

        return GaussianPosterior(factor.solve(right), factor.diagonal, shares)

    def _gram(self, free: Indices, weights: Array, fixed: bool) -> Array:
        """Aᵀ W A over these unknowns, as a new array."""
        n = self.operator.shape[1]
        if fixed:
            if self._kept is None or not np.array_equal(self._kept[0], weights):
                self._kept = weights, self.operator.gram(weights)
            kept = self._kept[1]
            return kept.copy() if free.size == n else kept[np.ix_(free, free)]
        if not self._written or self._distinct is None:
            operator = self.operator if free.size == n else self.operator.take(free)
            return operator.gram(weights)
        matrix = self._distinct.take(free).matrix
        merged = self._distinct.gather(weights)
        if not self._distinct.sparse:
            return np.asarray(matrix.T @ (matrix * merged[:, None]))
        return np.asarray((matrix.T @ matrix.multiply(merged[:, None]).tocsr()).toarray())

    @cached_property
    def _distinct(self) -> DistinctRows | None:
        return DistinctRows.within_reach(self.operator)


@dataclass(frozen=True, eq=False)
class _RowSites:
    """A Gaussian stand-in for every row's error law: its weight, weight × target, chance of a gross error."""

    weights: Array
    pull: Array
    gross: Array | float = 0.0

    def toward(self, other: _RowSites, step: float) -> _RowSites:
        """The sites a part `step` of the way to the others."""
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
    message passing it works with any operator: 0/1 attributes, tables, correlated columns (Minka 2001;
    Rangan, Schniter and Fletcher 2019 for large matrices). `agreement` is near one if the residuals are
    as large as predicted, with standard deviation √(2/m). After the first steps, counts whose variance has
    fallen below 1e-7 are taken as known, and later steps are about the others only.
    """
    operator = steps.operator
    plain = channel.slack is None and not contaminated
    lam = 1 / prior.variance
    eta = prior.mean / prior.variance
    if contaminated:
        spread = operator.squared() @ prior.variance
        belief = operator @ prior.mean
        channel = channel.contaminated(target - belief, spread)
        rows = _row_sites(channel, target, spread, belief)
    else:
        weights = 1 / (channel.total + np.zeros(target.size))
        rows = _RowSites(weights, weights * target)
    mean = prior.mean
    changes = list[float]()
    held = np.full(prior.size.size, np.nan)
    precision = np.zeros(held.size)
    opinion = np.zeros(held.size)
    for iteration in range(limit):
        doing(f"posterior, step {iteration + 1}")
        belief_now = steps.step(lam, eta, rows.weights, rows.pull, fixed=plain, held=held)
        free = np.isnan(held)
        now_mean = belief_now.mean[free]
        now_variance = belief_now.variance[free]
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
    """The mean and variance of every row's value according to the other equations."""
    share = np.clip(shares, 1e-12, 1 - 1e-6)
    weights = np.maximum(rows.weights, 1e-300)
    return (image - share * rows.pull / weights) / (1 - share), share / weights / (1 - share)


def _row_sites(channel: Channel, target: Array, spread: Array, belief: Array) -> _RowSites:
    """The sites that match mean and variance of belief × error law."""
    score, curvature, gross = channel.respond(target - belief, spread)
    spread = np.maximum(spread, 1e-300)
    least = 1e-9 / (spread + channel.noise)
    most = (1 - 1e-6) / spread
    curvature = np.clip(curvature, least, most)
    left = 1 - spread * curvature
    return _RowSites(curvature / left, (score + belief * curvature) / left, gross)
