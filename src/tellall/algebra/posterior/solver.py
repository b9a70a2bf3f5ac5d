"""The posterior of counts: the strongest decoder, with confidences that it checks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

import numpy as np

from tellall.algebra.posterior.channel import Channel, Opinion
from tellall.algebra.posterior.counts import CountProblem, PosteriorSolution
from tellall.algebra.posterior.expectation import propagate
from tellall.algebra.posterior.gaussian import GaussianSteps
from tellall.algebra.posterior.message_passing import Spread, pass_messages
from tellall.algebra.posterior.rehearsal import Rehearsal, rehearse
from tellall.algebra.solvers.base import Array, Status, check_vector
from tellall.algebra.solvers.least_squares import BoxProblem, LeastSquares, PreparedLeastSquares
from tellall.core.errors import invalid

__all__ = [
    "Posterior",
    "PreparedPosterior",
]

_AGREES = 1.25  # predicted and actual residuals, as a ratio of mean squares
_NOISE_AGREES = 1.4  # learnt and declared noise variance
_MOST_GROSS = 0.6  # above this share of gross errors the "ordinary" rows are not the majority
_CONTRADICTION = 5.0  # residuals this many times the declared noise are not bad luck
_SETTLED = 5.0  # times the tolerance: what still counts as converged


@dataclass(frozen=True)
class Posterior:
    """Options of the posterior decoder.

    Parameters
    ----------
    method
        "message-passing", "expectation", or "auto": message passing where all entries of the operator have
        one size and there are many unknowns, expectation propagation elsewhere and where the first fails.
    gram_limit
        Up to this many unknowns (or rows, where there are fewer) expectation propagation is used; above, only
        products: message passing, or one linear-Gaussian step where entries differ in size.
    small
        Below this many unknowns message passing, which is exact only in the limit, is not tried.
    rehearsal
        Whether the decoder is tried on a simulated release with the same operator, which doubles the time;
        without it the status is "solved" where it would be "trusted".
    damping, iterations, tolerance
        Of message passing: the first try; a second one takes damping 0.2 and four times the iterations.

    Notes
    -----
    Least squares minimises a norm and rounds; this averages over all secrets, weighing each by how well it
    explains the values. Costs are those of `pass_messages` and `propagate`. What is returned has passed four
    checks or says which it failed: the iteration settled, the residual fell, its size is the predicted one,
    and on a simulated secret with the same operator and noise the confidences were right.

    Examples
    --------
    >>> from tellall.algebra.operators.dense import Dense
    >>> one = np.ones(3)
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    >>> problem = CountProblem(sums, np.full(3, 0.2), one, 0 * one, one, rate=0.5)
    >>> solution = Posterior().prepare(problem).solve(np.array([1.1, 0.0, 0.9]))
    >>> np.round(solution.value).tolist()
    [1.0, 0.0, 0.0]
    """

    method: str = "auto"
    gram_limit: int = 5000
    small: int = 200
    rehearsal: bool = True
    damping: float = 0.8
    iterations: int = 40
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if self.method not in ("auto", "message-passing", "expectation"):
            raise invalid("method", "'auto', 'message-passing' or 'expectation'", self.method)

    def prepare(self, problem: CountProblem) -> PreparedPosterior:
        """The problem made ready to be solved for many targets."""
        return PreparedPosterior(problem, self)


@final
class PreparedPosterior:
    """A problem whose prior, operator and Gram matrix are ready."""

    def __init__(self, problem: CountProblem, options: Posterior) -> None:
        self.problem, self.options = problem, options
        self.prior = problem.prior
        std: Array | float = problem.std
        if problem.std.size and np.all(problem.std == problem.std[0]):
            std = float(problem.std[0])
        slack = problem.slack if problem.slack is not None and problem.slack.any() else None
        unseen = problem.unseen if problem.unseen is not None and problem.unseen.any() else None
        self.channel = Channel(std**2, slack, unseen=unseen)
        self.seen = problem.std.size if unseen is None else int((~unseen).sum())
        self.spread = Spread(problem.operator)
        self.steps = GaussianSteps(problem.operator)

    def solve(self, target: Array, *, rng: np.random.Generator | None = None) -> PosteriorSolution:
        """The posterior given these values; the generator draws the rehearsal's secret."""
        m = self.problem.operator.shape[0]
        check_vector("target", target, m)
        generator = np.random.default_rng(0) if rng is None else rng
        best: tuple[Opinion, str, Callable[[Array], Opinion]] | None = None
        for name, attempt in self._attempts(generator):
            opinion = attempt(target)
            if best is None or self._trouble(opinion) < self._trouble(best[0]):
                best = opinion, name, attempt
            if not self._trouble(opinion):
                break
        assert best is not None
        opinion, name, attempt = best
        log_odds = self.prior.log_odds(opinion.precision, opinion.center)
        if self._trouble(opinion):
            return self._doubtful(opinion, name, log_odds, target, generator)
        rehearsal = None
        if self.options.rehearsal:
            rehearsal = rehearse(
                self.prior, self.problem.operator, opinion.channel, target, attempt, generator
            )
            log_odds = log_odds * rehearsal.temperature
        solution = self._solution(log_odds, self._status(opinion, rehearsal), opinion, name)
        if rehearsal is not None:
            solution.stats.update(
                temperature=rehearsal.temperature, rehearsed=rehearsal.wrong, expected=rehearsal.expected
            )
        return solution

    def _attempts(self, rng: np.random.Generator) -> list[tuple[str, Callable[[Array], Opinion]]]:
        """What to try, in order."""
        n = self.problem.operator.shape[1]
        counted = self.prior.group is None  # several values of a person go by propagation only
        auto = self.options.method == "auto" or not counted
        passing = self.options.method == "message-passing" and counted
        propagating = self.options.method == "expectation"
        affordable = self.steps.affordable(self.options.gram_limit)
        wanted = counted and self.spread.even and (n >= self.options.small or not affordable)
        run = partial(propagate, self.steps, self.prior)
        out: list[tuple[str, Callable[[Array], Opinion]]] = []
        if passing or (auto and wanted):
            out.append(("message-passing", lambda z: self._pass(z, self.options.damping, 1)))
        if passing or (auto and wanted and not affordable):
            out.append(("message-passing", lambda z: self._pass(z, 0.2, 4)))
        if propagating or (auto and affordable):
            if self.problem.contaminated is not True:
                out.append(("expectation", lambda z: run(self.channel, z)))
            if self.problem.contaminated is not False:
                out.append(("expectation", lambda z: run(self.channel, z, contaminated=True)))
            elif self.channel.slack is not None:  # intervals taken for variances, which settle more easily
                plain = self.channel.gaussian
                out.append(("expectation", lambda z: run(plain, z)))
        if auto and not affordable:
            out.append(("least-squares", lambda z: self._one_step(z, rng)))
        return out

    def _pass(self, target: Array, damping: float, patience: int) -> Opinion:
        return pass_messages(
            self.problem.operator,
            self.spread,
            self.prior,
            self.channel,
            target,
            damping=damping,
            limit=patience * self.options.iterations,
            tolerance=self.options.tolerance,
            contaminated=self.problem.contaminated is not False,
        )

    def _trouble(self, opinion: Opinion) -> float:
        """Zero where the run passes its own checks, else how far it is off."""
        room = _AGREES + 6 / np.sqrt(max(self.seen, 1))
        trouble = opinion.agreement / room if opinion.agreement > room else 0.0
        if opinion.change > _SETTLED * self.options.tolerance:
            trouble += opinion.change
        if opinion.channel.gross_variance is not None and opinion.channel.share > _MOST_GROSS:
            trouble += opinion.channel.share
        return trouble + (opinion.fall if opinion.fall > 1.05 else 0.0)

    def _status(self, opinion: Opinion, rehearsal: Rehearsal | None) -> Status:
        scale = opinion.channel.scale
        if rehearsal is not None and not rehearsal.calibrated:
            return Status("uncalibrated", rehearsal.advice)
        if not 1 / _NOISE_AGREES < scale < _NOISE_AGREES:
            seen = f"the noise looks {np.sqrt(scale):.2g} times as large as declared"
            return Status("uncalibrated", f"{seen}; declare what it is")
        return Status("solved" if rehearsal is None else "trusted")

    @cached_property
    def _boxed(self) -> PreparedLeastSquares:
        prior, problem = self.prior, self.problem
        weights = 1 / (self.channel.total + np.zeros(problem.std.size))
        box = BoxProblem(
            problem.operator, weights, 1 / prior.variance, prior.mean, problem.lower, problem.upper
        )
        return LeastSquares().prepare(box)

    def _one_step(self, target: Array, rng: np.random.Generator) -> Opinion:
        """The linear-Gaussian posterior divided by its prior: one step of propagation, by products."""
        box = self._boxed.problem
        mean, variance = self._boxed.posterior(target, rng=rng)
        precision = np.maximum(1 / variance - box.ridge, 1e-12 * box.ridge)
        opinion = (mean / variance - box.ridge * box.center) / precision
        image = box.operator.matvec(mean.astype(box.operator.dtype))
        used = float(np.sum(1 - box.ridge * variance))
        agreement = (float(box.weights @ (target - image) ** 2) + used) / max(self.seen, 1)
        return Opinion(precision, opinion, self.channel.gaussian, agreement, 0.0, 1)

    def _doubtful(
        self, opinion: Opinion, name: str, log_odds: Array, target: Array, rng: np.random.Generator
    ) -> PosteriorSolution:
        """Where no run passed its checks: the better, by the ℓ1 misfit of whole counts, of it and the box.

        Nobody is surer than both it and one Gaussian step, which does not lock into anything.
        """
        from scipy.special import expit

        boxed, size = self._boxed.solve(target).value, self.problem.size
        guess = np.where(log_odds >= 0, 1.0, -1.0)
        if self._misfit(boxed, target) < self._misfit(size * expit(log_odds), target):
            guess, name = np.where(2 * boxed >= size, 1.0, -1.0), "least-squares"
        step = self._one_step(target, rng)
        cautious = self.prior.log_odds(step.precision, step.center)
        log_odds = guess * np.maximum(np.minimum(guess * log_odds, guess * cautious), 1e-9)
        return self._solution(log_odds, self._failure(opinion, name), opinion, name)

    def _failure(self, opinion: Opinion, name: str) -> Status:
        """Which check failed, and what was returned instead."""
        kept = f"the guesses are those of {name}, confidences may be off"
        if opinion.change > _SETTLED * self.options.tolerance:
            return Status("not converged", f"the posterior still moves by {opinion.change:.1e}; {kept}")
        if opinion.agreement > _CONTRADICTION**2:
            missed = f"the values are missed by {opinion.agreement**0.5:.1f} times the declared noise"
            return Status("contradictory", f"{missed}; declare the noise they have; {kept}")
        return Status("uncalibrated", f"the residuals are not of the predicted size; {kept}")

    def _misfit(self, value: Array, target: Array) -> float:
        whole = np.round(value)
        gap = np.abs(self.problem.operator @ whole - target)
        if self.problem.slack is not None:
            gap = np.maximum(gap - self.problem.slack, 0)
        return float(np.sum(gap / self.problem.std)) - self.prior.log_prior(whole)

    def _solution(self, log_odds: Array, status: Status, opinion: Opinion, name: str) -> PosteriorSolution:
        from scipy.special import expit

        problem = self.problem
        value = np.clip(problem.size * expit(log_odds), problem.lower, problem.upper)
        stats = {
            "iterations": float(opinion.iterations),
            "change": opinion.change,
            "agreement": opinion.agreement,
            "gross": opinion.channel.share,
            "noise": float(np.sqrt(opinion.channel.scale)),
            "message-passing": float(name == "message-passing"),
            "expectation": float(name == "expectation"),
        }
        return PosteriorSolution(value, status, stats, value / problem.size, log_odds)
