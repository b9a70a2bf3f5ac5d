"""Decoders: from what is undecided to an estimate of every count and the chance of every person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.compose import RowSelect
from tellall.algebra.posterior.counts import CountPrior, CountProblem
from tellall.algebra.posterior.solver import Posterior
from tellall.algebra.solvers.base import Solution
from tellall.algebra.solvers.exhaustive import Exhaustive, WholeProblem
from tellall.algebra.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.algebra.solvers.least_squares import BoxProblem, LeastSquares
from tellall.attack.reconstruct.undecided import Decoded, Undecided
from tellall.core.errors import invalid

__all__ = [
    "DECODERS",
    "decode",
    "nearest",
]

_LISTED = 24  # unknowns up to which "auto" lists every secret that fits
_PROPAGATED = 5000  # unknowns up to which "auto" can afford expectation propagation, O(unknowns³) a step
_AS_GOOD = 1.3  # times the LP's misfit, which fits some of the noise as well
_GROSS = 4.0  # a residual of so many of its usual size is a gross error
_LP_GRAM = 3000  # unknowns up to which the LP's confidences come from a factorised Gram matrix


def decode(name: str, undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """What the decoder of that name concludes; "auto" chooses one.

    Notes
    -----
    "auto", in this order:

    ======================================================== =======================================
    at most 24 unknowns, exact or rounded to the nearest     exhaustive, where it finds everything
    gross errors declared                                    posterior; LP too where it is not trusted
    entries of one size, or at most 5000 unknowns            posterior; where it fails its own checks, on
                                                             the values shown alone
    else, and where the posterior fails its own checks       least squares
    ======================================================== =======================================

    Where two were tried, the one whose whole counts miss the values by less (weighted absolute misfit beyond
    the rounding intervals) is kept; of posterior and LP, whose minimiser nothing beats at that, the posterior
    where it misses them by at most 1.3 times as much. A posterior that failed its checks, the rehearsal
    apart, is not kept unless it fits the values. The statistics say what was tried.
    """
    return _choose(undecided, rng) if name == "auto" else DECODERS[name](undecided, rng)


def _choose(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    shown, undecided = undecided, undecided.everything or undecided
    even = bool(
        (undecided.rows.bound <= undecided.rows.slack * (1 + 1e-9)).all()
    )  # exact, or anywhere in its interval
    if undecided.size.size <= _LISTED and even:
        listed = _exhaustive(undecided, rng)
        if listed.status.settled:
            return listed
    tried: list[Decoded] = []
    if undecided.contaminated or _posterior_is_affordable(undecided):
        tried.append(_posterior(undecided, rng))
        if tried[0].status.settled:
            return tried[0]
        # intervals of withheld values tell more, and are harder to be sure with; under noise it is chance
        # which values are withheld, and leaving them out would mislead
        if undecided is not shown and np.isfinite(shown.rows.bound).all():
            alone = _posterior(replace(shown, everything=None), rng)
            if alone.status.settled:
                return alone
    if undecided.contaminated:
        robust, loose = _least_absolute(undecided, rng), tried[0]
        misses = {each.name: _misfit(undecided, each.value) for each in (robust, loose)}
        best = loose if misses[loose.name] <= _AS_GOOD * misses[robust.name] else robust
    else:
        if tried and not _worth_keeping(tried[0], undecided):
            tried.clear()  # it is no better than least squares
        tried.append(_least_squares(shown, rng))
        misses = {each.name: _misfit(undecided, np.round(each.value)) for each in tried}
        best = min(tried, key=lambda each: misses[each.name])
    return replace(best, stats={**best.stats, **{f"misfit of {name}": miss for name, miss in misses.items()}})


def _worth_keeping(loose: Decoded, undecided: Undecided) -> bool:
    """Whether a posterior that is not trusted is: it settled, and passed its checks or fits the values.

    One that passed all checks but the rehearsal has a temperature. One whose residuals are not of the
    predicted size has locked into some secret: the right one, if that fits.
    """
    if loose.status.word != "uncalibrated":
        return False
    fits = _misfit(undecided, np.round(loose.value)) <= undecided.rows.target.size
    return "temperature" in loose.stats or fits


def _posterior_is_affordable(undecided: Undecided) -> bool:
    """Whether message passing applies, or expectation propagation takes seconds."""
    rows, unknowns = undecided.operator.shape
    if min(rows, unknowns) <= _PROPAGATED:
        return True
    squares = undecided.operator.squared()
    size = squares @ np.ones(unknowns)
    return bool(rows and np.all(size == unknowns))  # every entry is 1 or −1


def _misfit(undecided: Undecided, value: Array) -> float:
    """How far counts are from the values, beyond the intervals and in units of the noise."""
    off = np.abs(undecided.operator @ value - undecided.rows.target) - undecided.rows.slack
    return float(np.sum(np.maximum(off, 0.0) / undecided.rows.rest))


def nearest(undecided: Undecided, *, ridge: float = 1.0) -> Solution:
    """The counts within the box that come nearest to the values, by least squares; see :func:`_box`."""
    return LeastSquares().prepare(_box(undecided, ridge)).solve(undecided.rows.target)


def _box(undecided: Undecided, share: float = 1.0) -> BoxProblem:
    """Least squares within the box, with the ridge at the prior, or a share of it."""
    prior = undecided.prior
    weights, ridge = 1 / undecided.rows.spread**2, share / prior.variance
    return BoxProblem(undecided.operator, weights, ridge, prior.mean, undecided.lower, undecided.upper)


def _least_squares(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """Box least squares with the ridge at the prior; chances from its Gaussian posterior."""
    prepared = LeastSquares().prepare(_box(undecided))
    solution = prepared.solve(undecided.rows.target)
    chance = _gaussian_chance(undecided, prepared, rng)
    return Decoded(solution.value, chance, solution.status, "least-squares", dict(solution.stats))


def _gaussian_chance(undecided: Undecided, prepared: Any, rng: np.random.Generator) -> Array:
    """Each person's chance from the evidence's own Gaussian opinion: the posterior divided by the prior."""
    ridge, center = prepared.problem.ridge, prepared.problem.center
    mean, variance = prepared.posterior(undecided.rows.target, rng=rng)
    precision = np.maximum(1 / variance - ridge, 1e-12 * ridge)
    opinion = (mean / variance - ridge * center) / precision
    if undecided.rates.size == 1:
        return undecided.prior.chance(precision, opinion)
    # of several values the odds are divided by their sum later: they must be those of the rates themselves
    odds = undecided.rate / (1 + undecided.rate)
    return CountPrior(undecided.size, undecided.lower, undecided.upper, odds).chance(precision, opinion)


def _least_absolute(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """ℓ1 decoding with the box; chances from the Gaussian posterior on the rows that it explains.

    Rows missed by more than four times the usual (median) residual are taken for gross errors.
    """
    undecided = undecided.everything or undecided
    inside = np.minimum(
        undecided.rows.slack, undecided.rows.bound
    )  # of whole counts the interval ends at the last
    problem = AbsoluteProblem(
        undecided.operator, 1 / undecided.rows.rest, undecided.lower, undecided.upper, inside
    )
    # of several minimisers the steps find one within the box, the simplex method a corner of it
    solution = LeastAbsolute(exact_limit=0).prepare(problem).solve(undecided.rows.target)
    image = undecided.operator @ solution.value
    off = np.maximum(np.abs(image - undecided.rows.target) - undecided.rows.slack, 0.0) / undecided.rows.rest
    seen = off[~undecided.rows.unseen]
    usual = max(1.0, float(np.median(seen)) / 0.6745) if seen.size else 1.0
    spread = np.hypot(undecided.rows.rest * usual, undecided.rows.slack / np.sqrt(3))
    weights = np.where((off <= _GROSS * usual) & ~undecided.rows.unseen, 1 / spread**2, 0.0)
    prior = undecided.prior
    box = BoxProblem(
        undecided.operator, weights, 1 / prior.variance, prior.mean, undecided.lower, undecided.upper
    )
    chance = _gaussian_chance(undecided, LeastSquares(gram_limit=_LP_GRAM).prepare(box), rng)
    stats = {**solution.stats, "gross": float(np.mean(seen > _GROSS * usual)) if seen.size else 0.0}
    return Decoded(solution.value, chance, solution.status, "lp", stats)


def _posterior(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """The posterior mean of every count under prior, noise and all evidence."""
    undecided = undecided.everything or undecided
    operator, group, left = undecided.operator, None, None
    rows = slice(0, undecided.rows.target.size)
    if undecided.rates.size > 1:  # that everybody has one of the values is the prior's business, not a row's
        rows = slice(0, undecided.rows.target.size - undecided.groups)
        operator = RowSelect(operator, np.arange(rows.stop))
        group, left = undecided.index % undecided.groups, undecided.rows.target[rows.stop :]
    problem = CountProblem(
        operator,
        undecided.rows.rest[rows],
        undecided.size,
        undecided.lower,
        undecided.upper,
        undecided.rate,
        undecided.rows.slack[rows],
        undecided.contaminated,
        undecided.rows.unseen[rows] if undecided.rows.unseen.any() else None,
        group,
        left,
    )
    solution = Posterior().prepare(problem).solve(undecided.rows.target[rows], rng=rng)
    return Decoded(solution.value, solution.chance, solution.status, "posterior", dict(solution.stats))


def _exhaustive(undecided: Undecided, rng: np.random.Generator) -> Decoded:
    """Every secret that fits: chances are shares of them, each weighed by the prior's rate.

    That is the posterior where every error within its bound is as likely as any other.
    """
    undecided = undecided.everything or undecided
    if not np.isfinite(undecided.rows.bound).all():
        raise invalid(
            "decoder",
            "another than 'exhaustive', since the noise has no bound and every secret fits",
            "exhaustive",
        )
    problem = WholeProblem(undecided.operator, undecided.rows.bound, undecided.lower, undecided.upper)
    found = Exhaustive().prepare(problem).solve(undecided.rows.target, sizes=undecided.size)
    value = found.value if not found.count else _weighed(found.solutions, undecided)
    stats = {**found.stats, "solutions": float(found.count), "secrets": float(found.secrets)}
    chance = np.clip(value / undecided.size, 0.0, 1.0)
    return Decoded(value, chance, found.status, "exhaustive", stats, found.fixed)


def _weighed(solutions: Any, undecided: Undecided) -> Array:
    """The mean of the solutions, each as probable as the prior makes it."""
    from scipy.special import gammaln, softmax

    counts = solutions.astype(np.float64)
    if undecided.rates.size == 1:
        log_prior = np.array([undecided.prior.log_prior(solution) for solution in counts])
    else:  # multinomial over the values of each group
        log_prior = (counts * np.log(undecided.rate) - gammaln(counts + 1)).sum(axis=1)
    return np.asarray(softmax(log_prior) @ solutions)


DECODERS: dict[str, Callable[[Undecided, np.random.Generator], Decoded]] = {
    "least-squares": _least_squares,
    "lp": _least_absolute,
    "posterior": _posterior,
    "exhaustive": _exhaustive,
}
