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
from tellall.core.errors import invalid
from tellall.release.equations import Evidence, Rows, System

__all__ = [
    "DECODERS",
    "Decoded",
    "Undecided",
    "decode",
    "estimate_rates",
    "leave_undecided",
    "nearest",
    "rates_of_bits",
]

# What is believed of a bit's rate before any evidence: Beta(1/2, 1), mean 1/3. Secrets tend to be rare,
# so an attacker who learns nothing says no. Of the rates of K values: 1/K each, as firmly.
RATE_MEAN, RATE_PRECISION = 1 / 3, 11.25
_RATE_ROUNDS, _RATE_SETTLED = 8, 1e-3
_MOST_ROWS, _MOST_FLOPS = 500, 1_000_000_000  # of a covariance of rows that is formed
_LISTED = 24  # unknowns up to which "auto" lists every secret that fits
_PROPAGATED = 5000  # unknowns up to which "auto" can afford expectation propagation, O(unknowns³) a step
_AS_GOOD = 1.3  # times the LP's misfit, which fits some of the noise as well
_GROSS = 4.0  # a residual of so many of its usual size is a gross error
_LP_GRAM = 3000  # unknowns up to which the LP's confidences come from a factorised Gram matrix


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder concludes about each unknown count.

    Attributes
    ----------
    value
        The decoder's own minimiser.
    chance
        The probability that a person of the group is one of those counted; of real numbers, the standard
        deviation of a person's.
    name
        The decoder that it came from.
    proved
        Which counts are the same in everything that fits, where the decoder found out.
    """

    value: Array
    chance: Array
    status: Status
    name: str
    stats: dict[str, float] = field(default_factory=dict)
    proved: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Undecided:
    """The unknown counts whose bounds are apart, and what the equations say about them.

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
    groups
        How many groups of people alike there are; of several values, the last so many rows say that
        everybody has exactly one.
    everything
        The same with a row for each interval in which a value that is not shown lies, None where there is
        none; least squares, which has no use for them, does without.
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
    groups: int
    everything: Undecided | None = None

    @property
    def rate(self) -> Array:
        """The chance, before the evidence, that a person is one of those each unknown counts."""
        return self.rates[self.value]

    @cached_property
    def prior(self) -> CountPrior:
        """What is believed of each count before the evidence."""
        return CountPrior(self.size, self.lower, self.upper, self.rate)


def leave_undecided(evidence: Evidence, rates: Array | None) -> Undecided:
    """The evidence less what its bounds settle; the rates are read off it where they are not given."""
    system, everything, box = evidence.system, evidence.everything, evidence.enclosure
    lower, upper = (np.zeros(system.size.size), system.size) if box.empty else (box.lower, box.upper)
    index = np.flatnonzero(lower < upper)
    unknown = np.ones(evidence.values)  # rates to come
    shown = _open_rows(system, evidence.contaminated, lower, upper, index, unknown)
    whole = shown
    if everything is not system:
        whole = _open_rows(everything, evidence.contaminated, lower, upper, index, unknown)
    if rates is None:
        rates = _rates(shown, whole, evidence.values)
    shown = replace(shown, rates=rates)
    return shown if everything is system else replace(shown, everything=replace(whole, rates=rates))


def _open_rows(
    system: System,
    contaminated: bool | None,
    lower: Array,
    upper: Array,
    index: IntArray,
    rates: Array,
) -> Undecided:
    """The rows of a system less what is decided."""
    operator, target = system.operator, system.rows.target
    if index.size < system.size.size:
        target = target - operator @ np.where(lower < upper, 0.0, lower)
        operator = operator.take(index)
    rows = replace(system.rows, target=target, bound=np.maximum(system.rows.bound, 0.0))
    box = (lower[index], upper[index], system.size[index], system.value[index])
    groups = system.size.size // rates.size
    return Undecided(index, operator, rows, contaminated, *box, rates, groups)


def _rates(shown: Undecided, whole: Undecided, values: int) -> Array:
    """The rates that the shown values tell, and where some are not shown, their intervals with them.

    Notes
    -----
    Values that are shown because they are large say too much by themselves. At the rates so far a row that is
    not shown is normal with mean Σ_p A_jp size_p π and variance Σ_p A_jp² size_p π (1 − π); cut to its
    interval it has another mean and variance, and the row is taken for the normal observation that makes
    the one into the other (a step of expectation propagation). Repeated until the rates settle.
    """
    rates = estimate_rates(
        shown.operator, shown.rows.target, shown.rows.spread, shown.size, shown.value, values
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
        rates = estimate_rates(whole.operator, target, spread, whole.size, whole.value, values)
        if np.abs(rates - last).max() <= _RATE_SETTLED:
            break
    return rates


def estimate_rates(
    operator: LinearOperator, target: Array, spread: Array, size: Array, value: IntArray, values: int = 1
) -> Array:
    """The rate of the secret, or of each of its values, among the people of the unknowns.

    Notes
    -----
    If everybody had value v at rate π_v, row j would have mean Σ_v π_v R_jv, R_v = A (size of the unknowns of
    v), and variance Σ_p π_v(p) (1 − π_v(p)) A_jp² size_p + spread_j²; the rates solve that weighted
    regression through the origin, with RATE_MEAN (1/K for K values) and RATE_PRECISION as prior.
    For bits and where the rows are few enough, their covariance π (1 − π) A diag(size) Aᵀ + diag(spread²) is
    used whole: rows that are mixtures of each other, as regression coefficients are, then count once. Of many
    rows of that kind (entries other than 0, 1 and −1) as many as are few enough, evenly spaced. A rate keeps
    its own standard error away from zero and one: it is used as if it were certain, which it is not.
    """
    if values == 1:
        return rates_of_bits(operator, target[:, None], spread, size)
    reach = np.stack([operator @ np.where(value == v, size, 0.0) for v in range(values)], axis=1)
    squares = operator.squared()
    energy = np.stack([squares @ np.where(value == v, size, 0.0) for v in range(values)], axis=1)
    margin = 0.5 / (float(size.sum()) / values + 1)
    rates = believed = np.full(values, 1 / values)
    for _ in range(8):
        weight = 1 / (energy @ (rates * (1 - rates)) + spread**2)
        left = reach.T @ (reach * weight[:, None]) + RATE_PRECISION * np.eye(values)
        rates = np.linalg.solve(left, reach.T @ (weight * target) + RATE_PRECISION * believed)
        least = np.clip(np.sqrt(np.linalg.inv(left).diagonal()), margin, 1 / values)
        rates = np.clip(rates, least, 1 - least)
    return rates


def rates_of_bits(operator: LinearOperator, targets: Array, spread: Array, size: Array) -> Array:
    """The rate of the secret bit for each column of targets; see :func:`estimate_rates`.

    One eigendecomposition of the rows' covariance, where it is used whole, for all targets together.
    """
    reach, squares = operator @ size, operator.squared()
    rows, unknowns = operator.shape
    few = min(_MOST_ROWS, int(np.sqrt(_MOST_FLOPS / max(unknowns, 1))))
    if rows and (rows <= few or not _counts_people(squares)):
        some = np.unique(np.linspace(0, rows - 1, min(rows, few)).astype(np.intp))
        chosen = RowSelect(operator, some)
        energy, reach, targets = _uncorrelated(chosen, targets[some], spread[some], size, reach[some])
    else:
        energy, reach, targets = (squares @ size) / spread**2, reach / spread, targets / spread[:, None]
    margin = 0.5 / (float(size.sum()) + 1)
    rates = np.full(targets.shape[1], RATE_MEAN)
    for _ in range(8):
        weight = 1 / (energy[:, None] * (rates * (1 - rates)) + 1)
        top, total = (
            reach @ (weight * targets) + RATE_PRECISION * RATE_MEAN,
            reach**2 @ weight + RATE_PRECISION,
        )
        # a rate known no better than this is no reason to be sure of anybody
        least = np.clip(1 / np.sqrt(total), margin, 0.5)
        rates = np.clip(top / total, least, 1 - least)
    return rates


def _counts_people(squares: LinearOperator) -> bool:
    """Whether all entries, of which these are the squares, are 0, 1 or −1."""
    everybody = np.ones(squares.shape[1])
    return bool(np.array_equal(squares.squared() @ everybody, squares @ everybody))


def _uncorrelated(
    operator: LinearOperator, targets: Array, spread: Array, size: Array, reach: Array
) -> tuple[Array, Array, Array]:
    """Mixtures of the rows, of unit noise, whose people's part is uncorrelated: energy, reach, targets."""
    from scipy.linalg import eigh

    rows = operator.to_dense().astype(np.float64) * (np.sqrt(size) / spread[:, None])
    energy, vectors = eigh(rows @ rows.T)
    mixed = vectors.T @ np.column_stack([reach / spread, targets / spread[:, None]])
    return np.maximum(energy, 0.0), mixed[:, 0], mixed[:, 1:]


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
