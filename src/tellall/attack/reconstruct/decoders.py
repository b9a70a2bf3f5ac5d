"""Decoders: an estimate of the counts that the bounds leave open, and the chance of every person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tellall.attack.secret import Code, Secret, Undecided
from tellall.core.errors import invalid
from tellall.evidence.evidence import Evidence
from tellall.linalg.operators.compose import RowSelect
from tellall.linalg.operators.linear_operator import Array
from tellall.linalg.posterior.model import CountPrior
from tellall.linalg.posterior.solver import CountProblem, Posterior
from tellall.linalg.solvers.exhaustive import Exhaustive, WholeProblem
from tellall.linalg.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from tellall.linalg.solvers.nearest import Nearest, NearestProblem
from tellall.linalg.solvers.solution import Solution, Status

__all__ = [
    "CONTRADICTION",
    "DECODERS",
    "TRIED",
    "Decode",
    "Decoded",
    "DecodedCounts",
    "Misfit",
    "decode",
    "find_misfit",
    "gaussian_chance",
    "linear_groups",
    "misfitting_share",
    "nearest",
    "proved_groups",
    "with_misfit",
]

_LISTED = 24  # unknowns up to which "auto" lists every secret that fits
_PROPAGATED = 5000  # unknowns up to which "auto" can afford expectation propagation, O(unknowns³) a step
_AS_GOOD = 1.3  # times the LP's misfit; the LP also fits some of the noise
_GROSS = 4.0  # a residual this many times its usual size is a gross error
_FEW_ODD = 0.01  # share of gross errors that heavy-tailed noise alone may show
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
        Which counts are the same in everything that fits, if the decoder found out.
    """

    value: Array
    status: Status
    name: str
    stats: dict[str, float] = field(default_factory=dict)
    proved: npt.NDArray[np.bool_] | None = None


AnyDecoded = TypeVar("AnyDecoded", bound=Decoded)


@dataclass(frozen=True, eq=False)
class DecodedCounts(Decoded):
    """Each unknown is a count; ``chance`` is the probability that a person of the group is counted.

    ``members`` are the log-odds of each person of each count, where people have chances of their own and the
    decoder tells them apart.
    """

    chance: Array = field(kw_only=True)
    members: Array | None = None


Used = npt.NDArray[np.bool_] | bool  # which rows are used
Decode = Callable[[Undecided, np.random.Generator], DecodedCounts]


def decode(decoder: str | Decode, undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """Returns what the decoder, a function or the name of one, concludes; "auto" chooses one.

    Notes
    -----
    Complete tables are solved in contrasts: see `tellall.evidence.contrasts` for when. "auto", in this order:

    ======================================================== =======================================
    at most 24 unknowns, exact or rounded to the nearest     exhaustive, where it finds everything
    gross errors declared or found out                       posterior; LP too where it is not trusted
    entries of one size, or at most 5000 unknowns or rows    posterior; where it fails its own checks, on
                                                             the values shown alone
    else, and where the posterior fails its own checks       least squares
    ======================================================== =======================================

    If two were tried, the one whose whole counts miss the values by less is kept (weighted absolute misfit
    beyond the rounding intervals). Nothing beats the LP at that, so the posterior is kept if it misses the
    values by at most 1.3 times as much as the LP. A posterior that failed any check but the rehearsal is kept
    only if it fits the values. The statistics say what was tried.
    """
    if isinstance(decoder, str):
        decoder = _choose if decoder == "auto" else DECODERS[decoder]
    return decoder(undecided, rng)


def _choose(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    whole = undecided.whole
    even = bool((whole.rows.bound <= whole.rows.slack * (1 + 1e-9)).all())  # exact, or in its interval
    if undecided.size.size <= _LISTED and even and not undecided.contaminated:
        listed = _exhaustive(undecided, rng)
        if listed.status.settled:
            return listed
    tried: list[DecodedCounts] = []
    if undecided.contaminated or _posterior_is_affordable(undecided.contrasts.whole):
        tried.append(_posterior(undecided, rng))
        if tried[0].status.settled:
            return tried[0]
        # intervals of withheld values say more but make it harder to be sure; under noise, chance decides
        # which values are withheld, and leaving them out would mislead
        if whole is not undecided and np.isfinite(undecided.rows.bound).all():
            alone = _posterior(replace(undecided, everything=None), rng)
            if alone.status.settled:
                return alone
    if undecided.contaminated:
        robust, loose = _least_absolute(undecided, rng), tried[0]
        misses = {each.name: _misfit(whole, each.value, most=_GROSS) for each in (robust, loose)}
        best = loose if misses[loose.name] <= _AS_GOOD * misses[robust.name] else robust
    else:
        if tried and not _worth_keeping(tried[0], whole):
            tried.clear()  # it is no better than least squares
        tried.append(_least_squares(undecided, rng))
        misses = {each.name: _misfit(whole, np.round(each.value)) for each in tried}
        best = min(tried, key=lambda each: misses[each.name])
    return replace(best, stats={**best.stats, **{f"misfit of {name}": miss for name, miss in misses.items()}})


def _worth_keeping(loose: Decoded, undecided: Undecided) -> bool:
    """Whether to keep a posterior that is not trusted: it settled, and passed its checks or fits the values.

    One that passed all checks but the rehearsal has a temperature. One whose residuals do not have the
    predicted size has locked onto some secret; if that secret fits, it is the right one.
    """
    if loose.status.word != "uncalibrated":
        return False
    fits = _misfit(undecided, np.round(loose.value)) <= undecided.rows.target.size
    return "temperature" in loose.stats or fits


def _posterior_is_affordable(undecided: Undecided) -> bool:
    """Whether message passing applies, or expectation propagation takes only seconds."""
    rows, unknowns = undecided.operator.shape
    if min(rows, unknowns) <= _PROPAGATED:
        return True
    squares = undecided.operator.squared()
    size = squares @ np.ones(unknowns)
    return bool(rows and np.all(size == unknowns))  # every entry is 1 or −1


def _misfit(undecided: Undecided, value: Array, *, most: float = np.inf) -> float:
    """Returns how far counts are from all values, beyond intervals, in units of noise; each up to `most`."""
    return float(np.sum(np.minimum(_missed(undecided, value), most)))


def _missed(undecided: Undecided, value: Array) -> Array:
    """Returns how far counts are from each value, beyond its interval and in units of the noise."""
    off = np.abs(undecided.operator @ value - undecided.rows.target) - undecided.rows.slack
    return np.asarray(np.maximum(off, 0.0) / undecided.rows.rest)


def nearest(undecided: Undecided, *, ridge: float = 1.0, used: Used = True) -> Solution:
    """Returns the counts within the box that come nearest to the values, by least squares; see `_box`."""
    return LeastSquares().prepare(_box(undecided, ridge, used)).solve(undecided.rows.target)


def _box(undecided: Undecided, share: float = 1.0, used: Used = True) -> BoxProblem:
    """Returns the problem of least squares within the box, with `share` times the ridge of the prior.

    Rows that are not `used` have no weight.
    """
    prior = undecided.prior
    weights, ridge = np.where(used, 1 / undecided.rows.spread**2, 0.0), share / prior.variance
    return BoxProblem(undecided.operator, weights, ridge, prior.mean, undecided.lower, undecided.upper)


def _least_squares(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """Box least squares with the ridge at the prior; chances from its Gaussian posterior."""
    undecided = undecided.contrasts
    prepared = LeastSquares().prepare(_box(undecided))
    solution = prepared.solve(undecided.rows.target)
    chance, members = gaussian_chance(undecided, *prepared.posterior(undecided.rows.target, rng=rng))
    stats = dict(solution.stats)
    return DecodedCounts(
        solution.value, solution.status, "least-squares", stats, chance=chance, members=members
    )


def gaussian_chance(undecided: Undecided, mean: Array, variance: Array) -> tuple[Array, Array | None]:
    """Returns each count's chance from the evidence's own Gaussian opinion: posterior divided by prior.

    ``mean`` and ``variance`` are those of the posterior without the box. Also returns the log-odds of each
    person, where people have chances of their own.
    """
    ridge, center = 1 / undecided.prior.variance, undecided.prior.mean
    precision = np.maximum(1 / variance - ridge, 1e-12 * ridge)
    opinion = (mean / variance - ridge * center) / precision
    rate, members = undecided.secret.rate_of_odds(undecided.rate), undecided.members
    if members is not None:
        members = replace(members, chance=undecided.secret.rate_of_odds(members.chance))
    prior = CountPrior(undecided.size, undecided.lower, undecided.upper, rate, members=members)
    own = None if members is None else prior.member_log_odds(precision, opinion)
    return prior.chance(precision, opinion), own


def _least_absolute(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """ℓ1 decoding with the box; complete tables are decoded on their contrasts.

    If gross errors are declared or show up, cells are decoded too, and the nearer answer is kept.
    """
    cells, contrasts = undecided.cells, undecided.orthogonal
    found = _least_absolute_of(contrasts.whole, rng)
    if contrasts is cells:
        return found
    odd = float(np.mean(_missed(cells.whole, np.round(found.value)) > _GROSS))
    if not undecided.contaminated and odd <= _FEW_ODD:
        return found
    return _nearer(cells.whole, [found, _least_absolute_of(cells.whole, rng)])


def _nearer(undecided: Undecided, tried: list[DecodedCounts]) -> DecodedCounts:
    """Returns the answer whose whole counts miss the values by least; gross errors all count alike."""
    return min(tried, key=lambda each: _misfit(undecided, np.round(each.value), most=_GROSS))


def _least_absolute_of(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """ℓ1 decoding of these rows; chances from the Gaussian posterior on the rows that it explains.

    Rows missed by more than four times the usual (median) residual count as gross errors.
    """
    inside = np.minimum(
        undecided.rows.slack, undecided.rows.bound
    )  # for whole counts the interval ends at the last one
    problem = AbsoluteProblem(
        undecided.operator, 1 / undecided.rows.rest, undecided.lower, undecided.upper, inside
    )
    # if there are several minimisers, the steps find one inside the box, the simplex method a corner of it
    solution = LeastAbsolute(exact_limit=0).prepare(problem).solve(undecided.rows.target)
    off = _missed(undecided, solution.value)
    seen = off[~undecided.rows.unseen]
    usual = max(1.0, float(np.median(seen)) / 0.6745) if seen.size else 1.0
    spread = np.hypot(undecided.rows.rest * usual, undecided.rows.slack / np.sqrt(3))
    weights = np.where((off <= _GROSS * usual) & ~undecided.rows.unseen, 1 / spread**2, 0.0)
    prior = undecided.prior
    box = BoxProblem(
        undecided.operator, weights, 1 / prior.variance, prior.mean, undecided.lower, undecided.upper
    )
    posterior = LeastSquares(gram_limit=_LP_GRAM).prepare(box).posterior(undecided.rows.target, rng=rng)
    chance, members = gaussian_chance(undecided, *posterior)
    stats = {**solution.stats, "gross": float(np.mean(seen > _GROSS * usual)) if seen.size else 0.0}
    return DecodedCounts(solution.value, solution.status, "lp", stats, chance=chance, members=members)


def _posterior(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """The posterior mean of every count under prior, noise and all evidence.

    With gross errors, cells and contrasts are both tried until one is trusted; if neither is, the nearer one
    is kept. The yes and the no cell of a table stay two rounding intervals: one would say as much, but with
    it expectation propagation finds a secret that fits far less often.
    """
    undecided = replace(undecided, pairs=True)
    first, cells = undecided.contrasts, undecided.cells
    found = _posterior_of(first.whole, rng)
    other = undecided.orthogonal if first is cells else cells
    if found.status.settled or not undecided.contaminated or other is first:
        return found
    if not _posterior_is_affordable(other.whole):
        return found
    second = _posterior_of(other.whole, rng)
    return second if second.status.settled else _nearer(cells.whole, [found, second])


def _posterior_of(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """The posterior from these rows."""
    operator, group, left = undecided.operator, None, None
    rows = slice(0, undecided.rows.target.size)
    if undecided.secret.exclusive:  # the prior, not a row, says that everybody has one value
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
        undecided.members,
    )
    solution = Posterior().prepare(problem).solve(undecided.rows.target[rows], rng=rng)
    return DecodedCounts(
        solution.value,
        solution.status,
        "posterior",
        dict(solution.stats),
        chance=solution.chance,
        members=solution.members,
    )


def _exhaustive(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """Lists every secret that fits; chances are shares of these, each weighted by the prior's rate.

    This is the posterior if all errors within their bounds are equally likely.
    """
    problem, target = _whole_problem(undecided)
    undecided = undecided.whole
    if not np.isfinite(undecided.rows.bound).all():
        raise invalid(
            "decoder",
            "other than 'exhaustive', since the noise has no bound and every secret fits",
            "exhaustive",
        )
    found = Exhaustive().prepare(problem).solve(target, sizes=undecided.size)
    value, members = found.value, None
    if found.count:
        weights = _weights(found.solutions, undecided)
        value = np.asarray(weights @ found.solutions)
        if undecided.members is not None:
            members = undecided.prior.member_log_odds_of(found.solutions, weights)
    secrets = float(found.secrets) if found.secrets < 10**300 else np.inf  # of many people alike
    stats = {**found.stats, "solutions": float(found.count), "secrets": secrets}
    chance = np.clip(value / undecided.size, 0.0, 1.0)
    return DecodedCounts(
        value, found.status, "exhaustive", stats, found.fixed, chance=chance, members=members
    )


def _whole_problem(undecided: Undecided) -> tuple[WholeProblem, Array]:
    """Returns the open counts with everything that is certain about them, and the middles of the rows."""
    assert undecided.evidence is not None
    certain, box = undecided.evidence.certain, undecided.evidence.enclosure
    decided = np.where(box.lower < box.upper, 0.0, box.lower)
    low, high = (side - certain.operator @ decided for side in (certain.low, certain.high))
    operator = certain.operator.take(undecided.index)
    net, reach = operator @ undecided.upper, operator.squared() @ undecided.upper
    # a row with only one end counts people: it gets the other from the most that they can add up to
    no_low, no_high = np.isinf(low) & np.isfinite(high), np.isfinite(low) & np.isinf(high)
    low, high = np.where(no_low, (net - reach) / 2, low), np.where(no_high, (net + reach) / 2, high)
    said = np.isfinite(low) & np.isfinite(high)
    shift = certain.operator @ decided
    gaps = tuple((row, counts - round(shift[row])) for row, counts in certain.gaps)
    middle = np.where(said, (np.where(said, low, 0.0) + np.where(said, high, 0.0)) / 2, 0.0)
    half = np.where(said, (np.where(said, high, 0.0) - np.where(said, low, 0.0)) / 2, np.inf)
    problem = WholeProblem(operator, np.maximum(half, 0.0), undecided.lower, undecided.upper, gaps)
    return problem, middle


def _weights(solutions: Any, undecided: Undecided) -> Array:
    """Returns the weight of each solution: its prior probability, as a share of all."""
    from scipy.special import softmax

    return np.asarray(softmax(undecided.secret.log_prior(solutions, undecided.prior)))


def _likeliest(undecided: Undecided, rng: np.random.Generator) -> DecodedCounts:
    """The whole counts that values, normal noise and prior make most probable: nearest, and proved so.

    Chances are those of least squares. Members with chances of their own count with their mean chance.
    """
    whole = undecided.whole
    rows = whole.rows
    start = nearest(undecided)
    problem = NearestProblem(
        whole.operator, rows.rest, rows.slack, rows.bound, whole.lower, whole.upper, _prices(whole)
    )
    found = Nearest().prepare(problem).solve(rows.target, start=start.value)
    contrasts = undecided.contrasts
    posterior = LeastSquares().prepare(_box(contrasts)).posterior(contrasts.rows.target, rng=rng)
    chance, members = gaussian_chance(contrasts, *posterior)
    return DecodedCounts(found.value, found.status, "likeliest", found.stats, chance=chance, members=members)


def _prices(undecided: Undecided) -> tuple[Array, ...]:
    """Returns minus the log-probability of every whole number that each count can be, up to a constant."""
    from scipy.special import gammaln, logit

    rate, lower, upper, size = undecided.rate, undecided.lower, undecided.upper, undecided.size
    several = undecided.secret.exclusive
    worth = np.log(rate) if several else logit(rate)
    out = []
    for j in range(size.size):
        count = np.arange(lower[j], upper[j] + 1)
        others = 0.0 if several else gammaln(size[j] - count + 1)
        out.append(np.asarray(gammaln(count + 1) + others - worth[j] * count))
    return tuple(out)


def linear_groups(evidence: Evidence) -> npt.NDArray[np.bool_]:
    """Whether the equations alone determine each group's secret; only for groups of one person."""
    size = evidence.system.size
    if size.size > LeastSquares().gram_limit:
        return np.zeros(len(evidence.groups), dtype=bool)
    return np.asarray((evidence.determined & (size == 1)).reshape(evidence.values, -1).all(axis=0))


def proved_groups(evidence: Evidence, secret: Secret, decoded: Decoded | None) -> npt.NDArray[np.bool_]:
    """Whether the bounds, or the list of all secrets, leave each group only one value."""
    if not isinstance(secret, Code) or evidence.enclosure.empty:
        return np.zeros(len(evidence.groups), dtype=bool)
    box, size = evidence.enclosure, evidence.system.size
    lower, upper = box.lower, box.upper
    if decoded is not None and decoded.proved is not None:
        lower, upper = (np.where(decoded.proved, np.rint(decoded.value), side) for side in (lower, upper))
    settled = secret.settles(lower == size, upper == 0)
    return np.asarray(settled.reshape(evidence.values, -1).any(axis=0))


# Misfits: published values that no secret near the others can have.

CONTRADICTION = 5.0  # residuals this many times the declared noise are not bad luck
_BEYOND_LUCK = 20.0  # nor is one this large, even among millions, under any law without gross errors
_SUSPECT = 1.5  # exact counts are usually met within half their spread
_LOOSE = 1e-3  # of the ridge, where only the equations should count
_ADVICE = "declare the noise they have, or supply the people they are about"


@dataclass(frozen=True)
class Misfit:
    """How badly the values are met: root mean square residual in spreads, and how many misfit the others."""

    excess: float
    values: int = 0


def find_misfit(decoded: Decoded, evidence: Evidence, undecided: Undecided | None = None) -> Misfit:
    """Returns how far the published values are from any secret; no misfits if that was not found out.

    Notes
    -----
    A value whose error has a bound (zero for exact ones) misfits if it is missed by more than that bound plus
    five times its spread, half a person for an exact count; any other value if it is missed by more than
    twenty times its spread. The mean square of all residuals would not show one wrong value among thousands.
    If gross errors are declared, no value is a misfit. Nor is one whose error has an unknown law: it may be
    off by any amount, and what the others say stands without it.

    A decoder's answer leans towards the prior, which alone can miss a value by that much if a rare secret is
    common in one group. So if something looks odd, the values are solved again with a thousandth of the ridge
    λ. Least squares spreads one error over many values, and each may then miss by little. But if a secret had
    all these exact values, the minimum of ‖A x − z‖²/σ² + λ ‖x − π‖² would be at most its value at that
    secret, at most λ Σ max(π, size − π)². If the minimum is larger, the values surely contradict each other;
    this counts as one misfit.
    """
    declared = _declared(evidence)
    missed = _residual(evidence, decoded.value)
    off, excess = _beyond(evidence, missed)[declared], _root_mean_square(missed[declared])
    odd = excess > CONTRADICTION or bool((off > CONTRADICTION).any())
    exact = bool((evidence.system.rows.bound[declared] <= 0).all())
    if undecided is None or not (odd or (exact and (off > _SUSPECT).any())):
        return Misfit(excess)
    solution = nearest(undecided, ridge=_LOOSE, used=declared)
    if not solution.status.settled:  # values of unknown law may have drawn the answer away from the others
        return Misfit(excess if declared.all() else 0.0)
    value = decoded.value.copy()
    value[undecided.index] = solution.value
    missed = _residual(evidence, value)
    excess = min(excess, _root_mean_square(missed[declared]))
    if evidence.contaminated:
        return Misfit(excess)
    misfits = int((_beyond(evidence, missed)[declared] > CONTRADICTION).sum())
    return Misfit(excess, misfits or int(exact and _contradict(undecided, solution.value, declared)))


def _declared(evidence: Evidence) -> npt.NDArray[np.bool_]:
    """Returns whether the law of each row's error is known; that everybody has one value is exact."""
    parts = [np.full(len(part.shown.rows), part.noise.known) for part in evidence.parts]
    more = len(evidence.system.rows) - len(evidence.rows)
    return np.concatenate([*parts, np.ones(more, dtype=bool)])


def with_misfit(decoded: AnyDecoded, misfit: Misfit, values: int, *, empty: bool = False) -> AnyDecoded:
    """Returns the decoder's answer, "contradictory" if no secret comes near the published values.

    ``empty`` says that the bounds leave no secret at all.
    """
    stats = {**decoded.stats, "misfit": misfit.excess, "misfits": float(misfit.values)}
    minimises = decoded.name not in ("posterior", "exhaustive")
    said = ""
    if empty and not misfit.values:
        said = f"no secret of these people satisfies the published values; {_ADVICE}"
    elif misfit.excess > CONTRADICTION and minimises:
        missed = f"the best secret misses the values by {misfit.excess:.1f} times the declared noise"
        said = f"{missed}; {_ADVICE}"
    elif misfit.values and decoded.status.word != "contradictory":
        do, it = ("does", "it has") if misfit.values == 1 else ("do", "they have")
        some = f"{misfit.values:,} of {values:,} values {do} not fit the others"
        said = f"{some}; look for a mistake, declare the noise {it}, or supply the people they are about"
    return replace(decoded, status=Status("contradictory", said) if said else decoded.status, stats=stats)


def misfitting_share(evidence: Evidence, value: Array) -> Array:
    """Returns the share of the values about each group that whole counts miss by more than noise explains.

    That is more than four spreads if errors have no bound, otherwise more than one spread beyond the bound.
    Values of unknown law are left out.
    """
    system, declared = evidence.system, _declared(evidence)
    wrong = declared & (_beyond(evidence, _residual(evidence, np.round(value))) > 1)
    about, dtype = system.operator.squared(), system.operator.dtype
    every = np.maximum(about.rmatvec(declared.astype(dtype)), 1e-9)
    return np.asarray(about.rmatvec(wrong.astype(dtype)) / every, dtype=np.float64)


def _residual(evidence: Evidence, value: Array) -> Array:
    """Returns how far each published value is from the one that these counts give, in spreads."""
    system = evidence.system
    out: Array = (system.operator @ value - system.rows.target) / system.rows.spread
    return out


def _beyond(evidence: Evidence, missed: Array) -> Array:
    """Returns how far each value is missed beyond its bound, in spreads; without a bound, a quarter of it."""
    rows = evidence.system.rows
    bounded = np.isfinite(rows.bound)
    allowed = np.where(bounded, np.maximum(rows.bound, 0.0), 0.0) / rows.spread
    beyond: Array = np.maximum(np.abs(missed) - allowed, 0.0)
    return beyond / np.where(bounded, 1.0, _BEYOND_LUCK / CONTRADICTION)


def _root_mean_square(missed: Array) -> float:
    return float(np.sqrt(np.mean(missed**2))) if missed.size else 0.0


def _contradict(undecided: Undecided, value: Array, used: Used = True) -> bool:
    """Whether no secret within the bounds has all these exact values; ``value`` is near the minimiser.

    The objective lies above its tangent at any point, and the tangent's least value in the box is exact. So a
    solver that stopped early cannot make a false contradiction.
    """
    box = _box(undecided, _LOOSE, used)
    residual, away = box.operator @ value - undecided.rows.target, value - box.center
    slope = box.operator.rmatvec(box.weights * residual) + box.ridge * away
    here = float(box.weights @ residual**2 + box.ridge @ away**2) / 2
    least = here + float(np.minimum(slope * (box.lower - value), slope * (box.upper - value)).sum())
    furthest = np.maximum(box.center - box.lower, box.upper - box.center) ** 2
    return least > 1.01 * float(box.ridge @ furthest) / 2


DECODERS: dict[str, Decode] = {
    "least-squares": _least_squares,
    "lp": _least_absolute,
    "posterior": _posterior,
    "exhaustive": _exhaustive,
    "likeliest": _likeliest,
}

# The decoders that are tried where none is named, and on how many people at most. "auto" is tried as well.
TRIED: dict[str, float] = {"least-squares": np.inf, "lp": 1000}
