"""The attribute attack: from releases and public columns to a guess at everybody's secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import Dataset, Public, as_public
from tellall.errors import invalid
from tellall.evidence import Evidence
from tellall.linops import Array
from tellall.noise import Rng, as_rng
from tellall.release import Release, linearise
from tellall.solve import BoxProblem, LeastSquares, Solution, Status
from tellall.solve.intervals import enclose

__all__ = ["DECODERS", "Reconstruction", "reconstruct"]

DECODERS = ("auto", "least-squares")

# The spread that exact counts are given, so that the evidence never counts as infinitely sure of a rounding
# to whole people; chosen among 0.3, 0.2, 0.1, 0.05 on two data sets of statsmodels (fair, randhie).
NOISE_FLOOR = 0.1
# What is believed of the secret's rate before any evidence: Beta(1/2, 1), mean 1/3. Secrets tend to be rare,
# so an attacker who learns nothing says no.
RATE_MEAN, RATE_PRECISION = 1 / 3, 11.25
# A residual this many times what the declared noise explains is a contradiction, not bad luck.
CONTRADICTION = 5.0


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
        The rate of the secret that the attack assumed or read off the release.
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
        """"proved", "linear" or "no" for each person, computed when first asked for.

        Notes
        -----
        "proved": the same bit in every 0/1 secret consistent with the evidence, by bound propagation (valid
        but not complete: some provable people are missed). "linear": the person's unit vector lies in the row
        space of the operator. METHODS F2. O(P³) for P groups of equal people; where P is beyond the Gram
        limit the row space is not computed and "linear" is not claimed.
        """
        groups = self.evidence.groups
        alone = groups.counts == 1
        linear = np.zeros(len(groups), dtype=bool)
        if len(groups) <= LeastSquares().gram_limit:
            linear = self.evidence.determined & alone
        box = enclose(
            self.evidence.grouped,
            self.evidence.target,
            bound=self.evidence.bound,
            upper=groups.counts.astype(np.float64),
        )
        proved = (box.lower == box.upper) & ((box.upper == 0) | (box.lower == groups.counts))
        if box.empty:  # nothing follows from evidence that contradicts itself
            proved[:] = False
        return np.where(proved, "proved", np.where(linear, "linear", "no"))[groups.index]

    def __repr__(self) -> str:
        sure = int((self.confidence >= 0.95).sum())
        return (
            f"Reconstruction of {self.n} people from {self.evidence.target.size} equations by {self.decoder}: "
            f"{self.status}; {sure} guessed with confidence 0.95 or more"
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
    Weighted least squares on groups of people whom no release tells apart, ridge at the prior, box
    0 ≤ s ≤ 1 (linear-reconstruction, Theorem 2.1, with ridge and box added). The guess is the estimate
    rounded at 1/2. The confidence is METHODS F2: the evidence's own Gaussian opinion of a group's count t
    (posterior divided by prior: mean r, variance τ) times a Binomial(c, π) prior,
    P(t = j) ∝ C(c, j) π^j (1−π)^(c−j) exp(−(j − r)²/(2τ)), and P(s_i = 1) = E[t]/c; for a person alone in
    the group these are the log-odds logit(π) + (2r − 1)/(2τ). Where the box and this model disagree about a
    person, the confidence is 1/2.
    """
    chosen = (releases,) if isinstance(releases, Release) else tuple(releases)
    if not chosen or not all(isinstance(release, Release) for release in chosen):
        raise invalid("releases", "a Release or a list of them", releases)
    if decoder not in DECODERS:
        raise invalid("decoder", f"one of {', '.join(map(repr, DECODERS))}", decoder)
    view = as_public(public)
    evidence = Evidence.together([linearise(release, view) for release in chosen])
    rate = _rate(evidence) if prior is None else _check_prior(prior)
    solution, probability = _least_squares(evidence, rate, as_rng(rng))
    index, counts = evidence.groups.index, evidence.groups.counts
    estimate = (solution.value / counts)[index]
    guess = (estimate >= 0.5).astype(np.int8)
    right = np.where(guess == 1, probability[index], 1 - probability[index])
    return Reconstruction(
        estimate=estimate,
        guess=guess,
        confidence=np.maximum(right, 0.5),
        status=solution.status,
        decoder="least-squares",
        prior=rate,
        evidence=evidence,
        public=view,
        releases=chosen,
        stats=solution.stats,
    )


def _least_squares(evidence: Evidence, rate: float, rng: np.random.Generator) -> tuple[Solution, Array]:
    """The boxed estimate of each group's count, and the probability that one of its people has the secret."""
    counts = evidence.groups.counts.astype(np.float64)
    std = np.maximum(evidence.std, NOISE_FLOOR)
    problem = BoxProblem(
        operator=evidence.grouped,
        weights=1 / std**2,
        ridge=1 / (counts * rate * (1 - rate)),
        center=counts * rate,
        upper=counts,
    )
    prepared = LeastSquares().prepare(problem)
    solution = prepared.solve(evidence.target)
    mean, variance = prepared.posterior(evidence.target, rng=rng)
    probability = _count_posterior(mean, variance, problem, rate)
    return _with_contradictions(solution, evidence, std), probability


def _count_posterior(mean: Array, variance: Array, problem: BoxProblem, rate: float) -> Array:
    """P(s_i = 1) in each group, from the Gaussian posterior of its count and the Binomial prior (F2)."""
    from scipy.special import gammaln, logsumexp

    precision = np.maximum(1 / variance - problem.ridge, 1e-12 * problem.ridge)  # of the evidence alone
    opinion = (mean / variance - problem.ridge * problem.center) / precision
    out = np.empty(mean.size)
    for size in np.unique(problem.upper):
        members = problem.upper == size
        j = np.arange(size + 1)
        log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
        log_prior += j * np.log(rate) + (size - j) * np.log1p(-rate)
        distance = j - opinion[members, None]
        log_weight = log_prior - 0.5 * precision[members, None] * distance**2
        log_weight -= logsumexp(log_weight, axis=1, keepdims=True)
        out[members] = np.exp(log_weight) @ j / size
    return np.clip(out, 0.0, 1.0)


def _rate(evidence: Evidence) -> float:
    """The secret's rate, from the evidence itself.

    Notes
    -----
    If everybody had the secret at rate π, row j would have mean π (A 1)_j and variance π(1−π) (A∘A 1)_j +
    std_j²; π solves that weighted regression through the origin, with RATE_MEAN and RATE_PRECISION as prior.
    """
    counts = evidence.groups.counts.astype(np.float64)
    reach, energy = evidence.grouped @ counts, evidence.grouped.squared() @ counts
    variance = 0.25
    rate = RATE_MEAN
    for _ in range(8):
        weight = 1 / (variance * energy + np.maximum(evidence.std, NOISE_FLOOR) ** 2)
        top = float(weight @ (reach * evidence.target)) + RATE_PRECISION * RATE_MEAN
        rate = top / (float(weight @ reach**2) + RATE_PRECISION)
        margin = 0.5 / (evidence.n + 1)
        rate = min(max(rate, margin), 1 - margin)
        variance = rate * (1 - rate)
    return rate


def _with_contradictions(solution: Solution, evidence: Evidence, std: Array) -> Solution:
    """The solution, its status changed where no secret comes near the published values."""
    if solution.status.word != "solved" or not evidence.target.size:
        return solution
    misfit = (evidence.grouped @ solution.value - evidence.target) / std
    excess = float(np.sqrt(np.mean(misfit**2)))
    stats: dict[str, Any] = {**solution.stats, "misfit": excess}
    if excess <= CONTRADICTION:
        return Solution(solution.value, solution.status, stats)
    advice = f"values miss the best secret by {excess:.1f} times the declared noise; declare the noise they have"
    return Solution(solution.value, Status("contradictory", advice), stats)


def _check_prior(prior: float) -> float:
    if isinstance(prior, bool) or not isinstance(prior, int | float | np.number) or not 0 < prior < 1:
        raise invalid("prior", "a rate strictly between 0 and 1", prior)
    return float(prior)
