"""Decoders: from the counts that the bounds leave open to an estimate and the chance of every person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect
from tellall.algebra.posterior.model import CountPrior, observation
from tellall.algebra.posterior.solver import CountProblem, Posterior
from tellall.algebra.solvers.base import Solution, Status
from tellall.algebra.solvers.exhaustive import Exhaustive, WholeProblem
from tellall.algebra.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.algebra.solvers.least_squares import BoxProblem, LeastSquares
from tellall.attack.secret import Code
from tellall.core.errors import invalid
from tellall.release.equations import Evidence, Rows, System

__all__ = [
    "CONTRADICTION",
    "DECODERS",
    "Decoded",
    "DecodedCounts",
    "Misfit",
    "Undecided",
    "decode",
    "find_misfit",
    "leave_undecided",
    "nearest",
]

_RATE_ROUNDS, _RATE_SETTLED = 8, 1e-3
_LISTED = 24  # unknowns up to which "auto" lists every secret that fits
_PROPAGATED = 5000  # unknowns up to which "auto" can afford expectation propagation, O(unknowns³) a step
_AS_GOOD = 1.3  # times the LP's misfit, which fits some of the noise as well
_GROSS = 4.0  # a residual this many times its usual size is a gross error
_LP_GRAM = 3000  # unknowns up to which the LP's confidences come from a factorised Gram matrix


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder concludes about each unknown.

    Attributes
    ----------
    value
        The decoder's own minimiser.
    name
        The decoder that it came from.
    proved
        Which counts are the same in everything that fits, where the decoder found out.
    """

    value: Array
    status: Status
    name: str
    stats: dict[str, float] = field(default_factory=dict)
    proved: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class DecodedCounts(Decoded):
    """Each unknown is a count; ``chance`` is the probability that a person of the group is counted."""

    chance: Array = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Undecided:
    """The counts that the bounds leave open, and what the equations say about them.

    Attributes
    ----------
    index
        Which unknowns of the evidence's system these are.
    operator, rows
        Their equations, less what is decided; no bound is below zero.
    contaminated
        Whether a share of the rows has gross errors; None where that is not known.
    lower, upper, size
        Bounds on each count, and the people it is a count of.
    value
        The value of the secret each counts.
    rates
        The chance of each value before the evidence.
    secret
        The kind of secret; a category has a row for each group at the end, which says that everybody in it
        has exactly one value.
    groups
        How many groups of people alike there are.
    everything
        The same with a row for the interval of each value that is not shown, or None. Least squares cannot
        use such rows.
    """

    index: IntArray
    operator: LinearOperator
    rows: Rows
    contaminated: bool | None
    lower: Array
    upper: Array
    size: Array
    value: IntArray
    rates: Array
    secret: Code
    groups: int
    everything: Undecided | None = None

    @property
    def rate(self) -> Array:
        """The prior probability, for each unknown, that a person is counted in it."""
        return self.rates[self.value]

    @cached_property
    def prior(self) -> CountPrior:
        """What is believed of each count before the evidence."""
        return CountPrior(self.size, self.lower, self.upper, self.rate)


def leave_undecided(evidence: Evidence, secret: Code, rates: Array | None) -> Undecided:
    """The evidence less what its bounds settle; the rates are read off it where they are not given."""
    system, everything, box = evidence.system, evidence.everything, evidence.enclosure
    lower, upper = (np.zeros(system.size.size), system.size) if box.empty else (box.lower, box.upper)
    index = np.flatnonzero(lower < upper)
    shown = _open_rows(system, evidence.contaminated, lower, upper, index, secret)
    whole = shown
    if everything is not system:
        whole = _open_rows(everything, evidence.contaminated, lower, upper, index, secret)
    if rates is None:
        rates = _rates(shown, whole)
    shown = replace(shown, rates=rates)
    return shown if everything is system else replace(shown, everything=replace(whole, rates=rates))


def _open_rows(
    system: System,
    contaminated: bool | None,
    lower: Array,
    upper: Array,
    index: IntArray,
    secret: Code,
) -> Undecided:
    """The rows of a system less what is decided, the rates still to come."""
    operator, target = system.operator, system.rows.target
    if index.size < system.size.size:
        target = target - operator @ np.where(lower < upper, 0.0, lower)
        operator = operator.take(index)
    rows = replace(system.rows, target=target, bound=np.maximum(system.rows.bound, 0.0))
    box = (lower[index], upper[index], system.size[index], system.value[index])
    groups = system.size.size // secret.unknowns
    return Undecided(index, operator, rows, contaminated, *box, np.ones(secret.unknowns), secret, groups)


def _rates(shown: Undecided, whole: Undecided) -> Array:
    """The rates that the shown values tell, and where some are not shown, their intervals with them.

    Notes
    -----
    Values that are shown because they are large say too much by themselves. At the rates so far a row that is
    not shown is normal with mean Σ_p A_jp size_p π and variance Σ_p A_jp² size_p π (1 − π); cut to its
    interval it has another mean and variance, and the row is taken for the normal observation that makes
    the one into the other (a step of expectation propagation). Repeated until the rates settle.
    """
    secret = shown.secret
    rates = secret.estimate_rates(
        shown.operator, shown.rows.target, shown.rows.spread, shown.size, shown.value
    )
    if whole is shown:
        return rates
    known, unseen = whole.rows, whole.rows.unseen
    target, spread = known.target.copy(), known.spread.copy()
    rows = RowSelect(whole.operator, np.flatnonzero(unseen))
    squares = RowSelect(whole.operator.squared(), np.flatnonzero(unseen))
    interval = (known.target[unseen], known.slack[unseen], known.rest[unseen] ** 2)
    for _ in range(_RATE_ROUNDS):
        each = rates[whole.value]
        mean, variance = rows @ (whole.size * each), squares @ (whole.size * each * (1 - each))
        target[unseen], spread[unseen] = observation(mean, variance, *interval)
        last = rates
        rates = secret.estimate_rates(whole.operator, target, spread, whole.size, whole.value)
        if np.abs(rates - last).max() <= _RATE_SETTLED:
            break
    return rates


def decode(name: str, undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
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


def _choose(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    shown, undecided = undecided, undecided.everything or undecided
    even = bool(
        (undecided.rows.bound <= undecided.rows.slack * (1 + 1e-9)).all()
    )  # exact, or anywhere in its interval
    if undecided.size.size <= _LISTED and even:
        listed = _exhaustive(undecided, rng)
        if listed.status.settled:
            return listed
    tried: list[DecodedCounts] = []
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


def _least_squares(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """Box least squares with the ridge at the prior; chances from its Gaussian posterior."""
    prepared = LeastSquares().prepare(_box(undecided))
    solution = prepared.solve(undecided.rows.target)
    chance = _gaussian_chance(undecided, prepared, rng)
    return DecodedCounts(
        solution.value, solution.status, "least-squares", dict(solution.stats), chance=chance
    )


def _gaussian_chance(undecided: Undecided, prepared: Any, rng: np.random.Generator) -> Array:
    """Each person's chance from the evidence's own Gaussian opinion: the posterior divided by the prior."""
    ridge, center = prepared.problem.ridge, prepared.problem.center
    mean, variance = prepared.posterior(undecided.rows.target, rng=rng)
    precision = np.maximum(1 / variance - ridge, 1e-12 * ridge)
    opinion = (mean / variance - ridge * center) / precision
    rate = undecided.secret.rate_of_odds(undecided.rate)
    return CountPrior(undecided.size, undecided.lower, undecided.upper, rate).chance(precision, opinion)


def _least_absolute(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
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
    return DecodedCounts(solution.value, solution.status, "lp", stats, chance=chance)


def _posterior(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """The posterior mean of every count under prior, noise and all evidence."""
    undecided = undecided.everything or undecided
    operator, group, left = undecided.operator, None, None
    rows = slice(0, undecided.rows.target.size)
    if undecided.secret.exclusive:  # the prior says that everybody has one value, no row does
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
    return DecodedCounts(
        solution.value, solution.status, "posterior", dict(solution.stats), chance=solution.chance
    )


def _exhaustive(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
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
    return DecodedCounts(value, found.status, "exhaustive", stats, found.fixed, chance=chance)


def _weighed(solutions: Any, undecided: Undecided) -> Array:
    """The mean of the solutions, each as probable as the prior makes it."""
    from scipy.special import softmax

    return np.asarray(softmax(undecided.secret.log_prior(solutions, undecided.prior)) @ solutions)


# Misfits: published values that no secret near the others can have.

CONTRADICTION = 5.0  # residuals this many times the declared noise are not bad luck
_BEYOND_LUCK = 20.0  # nor is a single one this large, of millions and under any law without gross errors
_SUSPECT = 1.5  # exact counts are usually met within half their spread
_LOOSE = 1e-3  # of the ridge, where only the equations should count


@dataclass(frozen=True)
class Misfit:
    """How badly the values are met: the root mean square in spreads, and how many do not fit the others."""

    excess: float
    values: int = 0


def find_misfit(decoded: Decoded, evidence: Evidence, undecided: Undecided | None = None) -> Misfit:
    """How far the published values are from any secret; no value misfits where that was not found out.

    Notes
    -----
    A value whose error has a bound (zero for exact ones) misfits beyond that bound and five times the spread
    it is given, half a person for an exact count; another beyond twenty times its spread. The mean square of
    all residuals would not show one wrong value of thousands. Where gross errors are declared none is odd.

    A decoder's answer leans towards the prior, which alone can miss a value by that much where a rare secret
    is common in one group. So what looks odd is solved again, with the ridge λ a thousandth. Least squares
    spreads one error over many values, where these are few: if a secret had all of some exact values, the
    minimum of ‖A x − z‖²/σ² + λ ‖x − π‖² would be no more than at that secret, λ Σ max(π, size − π)². What
    misses by more contradicts itself, for sure; it counts as one misfit, whichever it is.
    """
    off, excess = _off(evidence, decoded.value), _excess(evidence, decoded.value)
    odd = excess > CONTRADICTION or bool((off > CONTRADICTION).any())
    exact = bool((evidence.system.rows.bound <= 0).all())
    if undecided is None or not (odd or (exact and (off > _SUSPECT).any())):
        return Misfit(excess)
    solution = nearest(undecided, ridge=_LOOSE)
    if not solution.status.settled:
        return Misfit(excess)
    value = decoded.value.copy()
    value[undecided.index] = solution.value
    excess = min(excess, _excess(evidence, value))
    if evidence.contaminated:
        return Misfit(excess)
    misfits = int((_off(evidence, value) > CONTRADICTION).sum())
    return Misfit(excess, misfits or int(exact and _contradict(evidence, undecided, value)))


def _off(evidence: Evidence, value: Array) -> Array:
    """How far each value is missed beyond its bound, in spreads; a quarter of that where it has none."""
    system = evidence.system
    off = np.abs(system.operator @ value - system.rows.target)
    bounded = np.isfinite(system.rows.bound)
    beyond: Array = np.maximum(off - np.where(bounded, np.maximum(system.rows.bound, 0.0), 0.0), 0.0)
    return beyond / (system.rows.spread * np.where(bounded, 1.0, _BEYOND_LUCK / CONTRADICTION))


def _excess(evidence: Evidence, value: Array) -> float:
    system = evidence.system
    missed = (system.operator @ value - system.rows.target) / system.rows.spread
    return float(np.sqrt(np.mean(missed**2))) if missed.size else 0.0


def _contradict(evidence: Evidence, undecided: Undecided, value: Array) -> bool:
    """Whether no secret within the bounds has all these exact values; ``value`` is their minimiser."""
    system, prior = evidence.system, undecided.prior
    missed = (system.operator @ value - system.rows.target) / system.rows.spread
    furthest = np.maximum(prior.mean - undecided.lower, undecided.upper - prior.mean) ** 2
    return float(np.sum(missed**2)) > 1.01 * _LOOSE * float(np.sum(furthest / prior.variance))


DECODERS: dict[str, Callable[[Undecided, np.random.Generator], DecodedCounts]] = {
    "least-squares": _least_squares,
    "lp": _least_absolute,
    "posterior": _posterior,
    "exhaustive": _exhaustive,
}
