"""The attribute attack: from releases and public columns to a guess at everybody's secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellall.data import Dataset, Public, as_public
from tellall.errors import invalid
from tellall.evidence import Evidence
from tellall.linops import Array, LinearOperator
from tellall.noise import Rng, as_rng
from tellall.protections import Suppression
from tellall.release import Release, linearise
from tellall.solve import BoxProblem, LeastSquares, Solution, Status

__all__ = ["DECODERS", "NOISE_FLOOR", "Reconstruction", "estimate_rate", "reconstruct"]

DECODERS = ("auto", "least-squares")

# The spread that exact counts are given, so that the evidence never counts as infinitely sure of a rounding
# to whole people; chosen among 0.3, 0.2, 0.1, 0.05 on two data sets of statsmodels (fair, randhie).
NOISE_FLOOR = 0.1
# What is believed of the secret's rate before any evidence: Beta(1/2, 1), mean 1/3. Secrets tend to be rare,
# so an attacker who learns nothing says no.
RATE_MEAN, RATE_PRECISION = 1 / 3, 11.25
# A residual this many times what the declared noise explains is a contradiction, not bad luck.
CONTRADICTION = 5.0
_DECLARE = "declare the noise they have"


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction:
    """What an attacker concludes about each person, in file order.

    Attributes
    ----------
    estimate
        The decoder's own minimiser, in [0, 1] under the box.
    guess
        The bit guessed for each person.
    confidence
        The model's probability that the guess is right, in [0.5, 1].
    status
        How the decoder ended; anything but "solved" comes with advice.
    prior
        The rate of the secret that the attack assumed, or read off the release, among the people whose bit
        the bounds leave open.
    """

    estimate: Array
    guess: npt.NDArray[np.int8]
    confidence: Array
    status: Status
    decoder: str
    prior: float
    evidence: Evidence
    public: Public
    releases: tuple[Release, ...]
    stats: dict[str, float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many people."""
        return self.guess.size

    @cached_property
    def identified(self) -> npt.NDArray[np.str_]:
        """ "proved", "linear" or "no" for each person, computed when first asked for.

        Notes
        -----
        "proved": the same bit in every 0/1 secret consistent with the evidence, by bound propagation (valid
        but not complete: some provable people are missed). "linear": the person's unit vector lies in the row
        space of the operator. O(P³) for P groups of equal people; where P is beyond the Gram
        limit the row space is not computed and "linear" is not claimed.
        """
        groups = self.evidence.groups
        alone = groups.counts == 1
        linear = np.zeros(len(groups), dtype=bool)
        if len(groups) <= LeastSquares().gram_limit:
            linear = self.evidence.determined & alone
        box = self.evidence.enclosure
        proved = ~np.full(len(groups), box.empty) & ((box.upper == 0) | (box.lower == groups.counts))
        return np.where(proved, "proved", np.where(linear, "linear", "no"))[groups.index]

    def __repr__(self) -> str:
        sure = int((self.confidence >= 0.95).sum())
        return (
            f"Reconstruction of {self.n} people from {self.evidence.target.size} equations "
            f"by {self.decoder}: {self.status}; {sure} guessed with confidence 0.95 or more"
        )


def reconstruct(
    releases: Release | Sequence[Release],
    public: Public | Dataset | npt.ArrayLike,
    decoder: str = "auto",
    prior: float | None = None,
    rng: Rng = None,
) -> Reconstruction:
    """The best guess at everybody's secret from one or several releases and the public columns.

    Parameters
    ----------
    releases
        One release, or several of any kinds to be solved together.
    public
        The attacker's view of the people.
    decoder
        "least-squares", or "auto" to let tellall choose (today the same).
    prior
        The rate of the secret, if the attacker knows it; estimated from the releases otherwise.
    rng
        For the variance estimates of large problems.

    Notes
    -----
    Exact and rounded values bound counts, and bounds are propagated first: what they settle is proved. The
    rest is weighted least squares on groups of people whom no release tells apart, ridge at the prior, box
    at the bounds (linear-reconstruction, Theorem 2.1, with ridge and box added). The guess is the estimate
    rounded at 1/2. The confidence is the evidence's own Gaussian opinion of a group's count t (posterior
    divided by prior: mean r, variance τ) times a Binomial(c, π) prior within the bounds,
    P(t = j) ∝ C(c, j) π^j (1−π)^(c−j) exp(−(j − r)²/(2τ)), and P(s_i = 1) = E[t]/c; for a person alone in
    the group these are the log-odds logit(π) + (2r − 1)/(2τ). Where the box and this model disagree about a
    person, the confidence is 1/2.
    """
    if not isinstance(releases, Release | Iterable):
        raise invalid("releases", "a Release or a list of them", releases)
    chosen = (releases,) if isinstance(releases, Release) else tuple(releases)
    if not chosen or not all(isinstance(release, Release) for release in chosen):
        raise invalid("releases", "a Release or a list of them", releases)
    if decoder not in DECODERS:
        raise invalid("decoder", f"one of {', '.join(map(repr, DECODERS))}", decoder)
    view = as_public(public)
    evidence = Evidence.together([linearise(release, view) for release in chosen])
    solution, probability, rate = _least_squares(evidence, prior, as_rng(rng))
    index, counts = evidence.groups.index, evidence.groups.counts
    estimate = (solution.value / counts)[index]
    guess = (estimate >= 0.5).astype(np.int8)
    right = np.where(guess == 1, probability[index], 1 - probability[index])
    return Reconstruction(
        estimate=estimate,
        guess=guess,
        confidence=np.maximum(right, 0.5),
        status=_with_selection(solution.status, chosen),
        decoder="least-squares",
        prior=rate,
        evidence=evidence,
        public=view,
        releases=chosen,
        stats=solution.stats,
    )


@dataclass(frozen=True, eq=False)
class _Open:
    """The groups whose count the bounds leave open, and what the equations say about them."""

    groups: npt.NDArray[np.intp]
    operator: LinearOperator
    target: Array
    std: Array
    lower: Array
    upper: Array
    size: Array

    def rate(self) -> float:
        """The rate of the secret among their people."""
        return estimate_rate(self.operator, self.target, self.std, self.size)


def _least_squares(
    evidence: Evidence, prior: float | None, rng: np.random.Generator
) -> tuple[Solution, Array, float]:
    """The boxed estimate of each group's count, each group's chance of the secret, and the rate."""
    counts = evidence.groups.counts.astype(np.float64)
    left = _leave_open(evidence, counts)
    value = evidence.enclosure.lower.copy()
    if not left.groups.size:
        share = float(value.sum() / counts.sum()) if prior is None else _check_prior(prior)
        return _with_contradictions(Solution(value, Status("solved")), evidence), value / counts, share
    rate = _check_prior(prior) if prior is not None else left.rate()
    nothing = np.zeros(left.size.size)
    center, spread = _count_moments(left, rate, nothing, nothing)
    problem = BoxProblem(left.operator, 1 / left.std**2, 1 / spread, center, left.lower, left.upper)
    prepared = LeastSquares().prepare(problem)
    solution = prepared.solve(left.target)
    mean, variance = prepared.posterior(left.target, rng=rng)
    # the evidence's own opinion: the posterior divided by the prior
    precision = np.maximum(1 / variance - problem.ridge, 1e-12 * problem.ridge)
    opinion = (mean / variance - problem.ridge * center) / precision
    chance = value / counts
    chance[left.groups] = _count_moments(left, rate, precision, opinion)[0] / left.size
    value[left.groups] = solution.value
    whole = Solution(value, solution.status, solution.stats)
    return _with_contradictions(whole, evidence), np.clip(chance, 0, 1), rate


def _leave_open(evidence: Evidence, counts: Array) -> _Open:
    """The evidence less what its bounds already settle."""
    box = evidence.enclosure
    lower, upper = (np.zeros(counts.size), counts) if box.empty else (box.lower, box.upper)
    open_ = np.flatnonzero(lower < upper)
    settled = np.where(lower < upper, 0.0, lower)
    operator, target = evidence.grouped, evidence.target
    if open_.size < counts.size:
        target = target - operator @ settled
        operator = operator.take(open_)
    std = np.maximum(evidence.std, NOISE_FLOOR)
    return _Open(open_, operator, target, std, lower[open_], upper[open_], counts[open_])


def _count_moments(left: _Open, rate: float, precision: Array, opinion: Array) -> tuple[Array, Array]:
    """Mean and variance of each group's count under P(t = j) ∝ Binomial(j) exp(−precision (j − opinion)²/2).

    Within the group's bounds; precision zero gives the prior. O(n) for all groups together.
    """
    from scipy.special import gammaln, softmax

    mean, variance = np.empty(left.size.size), np.empty(left.size.size)
    for size in np.unique(left.size):
        group = left.size == size
        j = np.arange(size + 1)
        log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
        log_prior += j * np.log(rate) + (size - j) * np.log1p(-rate)
        log_law = log_prior - 0.5 * precision[group, None] * (j - opinion[group, None]) ** 2
        possible = (j >= left.lower[group, None]) & (j <= left.upper[group, None])
        law = softmax(np.where(possible, log_law, -np.inf), axis=1)
        mean[group] = law @ j
        variance[group] = ((j - mean[group, None]) ** 2 * law).sum(axis=1)
    return mean, np.maximum(variance, 1e-9)


def estimate_rate(operator: LinearOperator, target: Array, std: Array, size: Array) -> float:
    """The secret's rate among the groups, from their equations.

    Notes
    -----
    If everybody had the secret at rate π, row j would have mean π (A 1)_j and variance π(1−π) (A∘A 1)_j +
    std_j²; π solves that weighted regression through the origin, with RATE_MEAN and RATE_PRECISION as prior.
    """
    reach, energy = operator @ size, operator.squared() @ size
    margin = 0.5 / (float(size.sum()) + 1)
    rate = RATE_MEAN
    for _ in range(8):
        weight = 1 / (rate * (1 - rate) * energy + std**2)
        top = float(weight @ (reach * target)) + RATE_PRECISION * RATE_MEAN
        rate = top / (float(weight @ reach**2) + RATE_PRECISION)
        rate = min(max(rate, margin), 1 - margin)
    return rate


def _with_contradictions(solution: Solution, evidence: Evidence) -> Solution:
    """The solution, its status changed where no secret comes near the published values."""
    std = np.maximum(evidence.std, NOISE_FLOOR)
    misfit = (evidence.grouped @ solution.value - evidence.target) / std
    excess = float(np.sqrt(np.mean(misfit**2))) if misfit.size else 0.0
    status, stats = solution.status, {**solution.stats, "misfit": excess}
    if evidence.enclosure.empty:
        status = Status("contradictory", f"no secret satisfies the published values; {_DECLARE}")
    elif excess > CONTRADICTION:
        missed = f"the best secret misses the values by {excess:.1f} times the declared noise"
        status = Status("contradictory", f"{missed}; {_DECLARE}")
    return Solution(solution.value, status, stats)


def _with_selection(status: Status, releases: Sequence[Release]) -> Status:
    """The status, changed where which values are shown depends on their noise or on the secret."""
    chosen_and_noisy = any(
        any(isinstance(protection, Suppression) for protection in release.protections)
        and release.noise.bound == np.inf
        for release in releases
    )
    if status.word != "solved" or not chosen_and_noisy:
        return status
    return Status(
        "uncalibrated", "noise and suppression together select what is shown; confidence may be too high"
    )


def _check_prior(prior: float) -> float:
    if isinstance(prior, bool) or not isinstance(prior, int | float | np.number) or not 0 < prior < 1:
        raise invalid("prior", "a rate strictly between 0 and 1", prior)
    return float(prior)
