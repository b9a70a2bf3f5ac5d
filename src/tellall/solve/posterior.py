"""The posterior of counts: the strongest decoder, with confidences that it checks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from tellall.errors import invalid
from tellall.linops import LinearOperator
from tellall.solve.base import Array, Solution, Status
from tellall.solve.channel import Channel
from tellall.solve.counts import CountPrior
from tellall.solve.expectation import Propagated, propagate
from tellall.solve.gaussian_steps import GaussianSteps
from tellall.solve.least_squares import BoxProblem, LeastSquares
from tellall.solve.message_passing import Passed, Spread, pass_messages
from tellall.solve.self_check import Rehearsal, rehearse

__all__ = ["CountProblem", "Posterior", "PosteriorSolution", "PreparedPosterior"]

_AGREES = 1.25  # predicted and actual residuals, as a ratio of mean squares
_NOISE_AGREES = 1.4  # learnt and declared noise variance
_MOST_GROSS = 0.6  # above this share of gross errors the "ordinary" rows are not the majority
_SETTLED = 5.0  # times the tolerance: what still counts as converged


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Rows A t = z + error about the counts t_p of groups, t_p ~ Binomial(size_p, rate) in lower_p … upper_p.

    Parameters
    ----------
    operator
        A, one column per group.
    std
        The standard deviation of the Gaussian part of each row's error, above zero.
    size, lower, upper
        The number of people in each group and what is known of the count; lower below upper.
    rate
        The chance of the secret before the evidence.
    slack
        The half-width of a uniform error on top of the Gaussian one (rounding), per row; None for none.
    contaminated
        Whether a share of the rows may have gross errors; None to find out.
    """

    operator: LinearOperator
    std: Array
    size: Array
    lower: Array
    upper: Array
    rate: float
    slack: Array | None = None
    contaminated: bool | None = None

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        columns = (("std", m), ("size", n), ("lower", n), ("upper", n), ("slack", m))
        for name, length in columns:
            value: Array | None = getattr(self, name)
            if value is not None and (value.shape != (length,) or not np.isfinite(value).all()):
                raise invalid(name, f"{length} finite numbers", f"shape {value.shape}")
        if m and self.std.min() <= 0:
            raise invalid("std", "above zero", float(self.std.min()))
        if self.slack is not None and m and self.slack.min() < 0:
            raise invalid("slack", "zero or more", float(self.slack.min()))
        if not n:
            raise invalid("operator", "over one group or more", "no columns")
        if (self.lower < 0).any() or (self.upper > self.size).any() or (self.lower >= self.upper).any():
            raise invalid("lower", "from 0, below upper, and upper at most size", "bounds that are not")
        if not 0 < self.rate < 1:
            raise invalid("rate", "strictly between 0 and 1", self.rate)


@dataclass(frozen=True, eq=False)
class PosteriorSolution(Solution):
    """The posterior mean of each count, and each member's chance of the secret.

    Attributes
    ----------
    value
        E[t], the expected count.
    chance
        E[t]/size: the chance that one member of the group has the secret.
    log_odds
        Its log-odds, which keep their digits where the chance is all but 0 or 1.
    status
        "trusted": converged, residuals as predicted, and calibrated in rehearsal. "uncalibrated": guesses
        stand, confidences may be off. "not converged": the best that was found, with advice.
    """

    chance: Array = field(default_factory=lambda: np.zeros(0))
    log_odds: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def confidence(self) -> Array:
        """The chance that the likelier bit is right, in [1/2, 1]."""
        out: Array = np.maximum(self.chance, 1 - self.chance)
        return out


@dataclass(frozen=True)
class Posterior:
    """Options of the posterior decoder.

    Parameters
    ----------
    method
        "message-passing", "expectation", or "auto": message passing where all entries of the operator have
        one size and there are many unknowns, expectation propagation elsewhere and where the first fails.
    gram_limit
        Up to this many unknowns expectation propagation is used; above, only products.
    small
        Below this many unknowns message passing, which is exact only in the limit, is not tried.
    rehearsal_limit
        Up to this many unknowns the decoder is tried on a simulated release with the same operator.
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
    >>> from tellall.linops import Dense
    >>> one = np.ones(3)
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    >>> problem = CountProblem(sums, np.full(3, 0.2), one, 0 * one, one, rate=0.5)
    >>> solution = Posterior().prepare(problem).solve(np.array([1.1, 0.0, 0.9]))
    >>> np.round(solution.value).tolist(), str(solution.status)
    ([1.0, 0.0, 0.0], 'trusted')
    """

    method: str = "auto"
    gram_limit: int = 5000
    small: int = 200
    rehearsal_limit: int = 20_000
    damping: float = 0.8
    iterations: int = 40
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if self.method not in ("auto", "message-passing", "expectation"):
            raise invalid("method", "'auto', 'message-passing' or 'expectation'", self.method)

    def prepare(self, problem: CountProblem) -> PreparedPosterior:
        """The problem made ready to be solved for many targets."""
        return PreparedPosterior(problem, self)


Opinion = Passed | Propagated


@final
class PreparedPosterior:
    """A problem whose prior, operator and Gram matrix are ready."""

    def __init__(self, problem: CountProblem, options: Posterior) -> None:
        self.problem, self.options = problem, options
        self.prior = CountPrior(problem.size, problem.lower, problem.upper, problem.rate)
        std: Array | float = problem.std
        if problem.std.size and np.all(problem.std == problem.std[0]):
            std = float(problem.std[0])
        slack = problem.slack if problem.slack is not None and problem.slack.any() else None
        self.channel = Channel(std**2, slack)
        self.spread = Spread(problem.operator)
        self.steps = GaussianSteps(problem.operator)

    def solve(self, target: Array, *, rng: np.random.Generator | None = None) -> PosteriorSolution:
        """The posterior given these values; the generator draws the rehearsal's secret."""
        m, n = self.problem.operator.shape
        if target.shape != (m,) or not np.isfinite(target).all():
            raise invalid("target", f"{m} finite numbers", f"shape {target.shape}")
        generator = np.random.default_rng(0) if rng is None else rng
        best: tuple[Opinion, str, Callable[[Array], Opinion]] | None = None
        for name, attempt in self._attempts(target):
            opinion = attempt(target)
            if best is None or self._trouble(opinion) < self._trouble(best[0]):
                best = opinion, name, attempt
            if not self._trouble(opinion):
                break
        assert best is not None
        opinion, name, attempt = best
        log_odds = self.prior.log_odds(opinion.precision, opinion.opinion)
        if self._trouble(opinion):
            return self._doubtful(opinion, name, log_odds, target, generator)
        rehearsal = Rehearsal()
        if n <= self.options.rehearsal_limit and m:
            rehearsal = rehearse(self.prior, self.problem.operator, opinion.channel, attempt, generator)
        return self._solution(
            log_odds * rehearsal.temperature, self._status(opinion, rehearsal), opinion, name
        )

    def _attempts(self, target: Array) -> list[tuple[str, Callable[[Array], Opinion]]]:
        """What to try, in order."""
        n = self.problem.operator.shape[1]
        auto = self.options.method == "auto"
        passing = self.options.method == "message-passing"
        propagating = self.options.method == "expectation"
        affordable = n <= self.options.gram_limit
        wanted = (n >= self.options.small and self.spread.even) or not affordable
        out: list[tuple[str, Callable[[Array], Opinion]]] = []
        if passing or (auto and wanted):
            out.append(("message-passing", lambda z: self._pass(z, self.options.damping, 1)))
        if passing or (auto and wanted and not affordable):
            out.append(("message-passing", lambda z: self._pass(z, 0.2, 4)))
        if propagating or (auto and affordable):
            if self.problem.contaminated is not True:
                out.append(("expectation", lambda z: propagate(self.steps, self.prior, self.channel, z)))
            if self.problem.contaminated is not False:
                out.append(("expectation", self._propagate_contaminated))
            elif self.channel.slack is not None:  # intervals taken for variances, which settle more easily
                plain = Channel(self.channel.total)
                out.append(("expectation", lambda z: propagate(self.steps, self.prior, plain, z)))
        return out

    def _pass(self, target: Array, damping: float, patience: int) -> Passed:
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

    def _propagate_contaminated(self, target: Array) -> Propagated:
        return propagate(self.steps, self.prior, self.channel, target, contaminated=True)

    def _trouble(self, opinion: Opinion) -> float:
        """Zero where the run passes its own checks, else how far it is off."""
        room = _AGREES + 6 / np.sqrt(max(self.problem.operator.shape[0], 1))
        trouble = opinion.agreement / room if opinion.agreement > room else 0.0
        if opinion.change > _SETTLED * self.options.tolerance:
            trouble += opinion.change
        if opinion.channel.gross_variance is not None and opinion.channel.share > _MOST_GROSS:
            trouble += opinion.channel.share
        if isinstance(opinion, Passed) and opinion.fall > 1.05:
            trouble += opinion.fall
        return trouble

    def _status(self, opinion: Opinion, rehearsal: Rehearsal) -> Status:
        scale = opinion.channel.scale
        if not rehearsal.calibrated:
            return Status("uncalibrated", rehearsal.advice)
        if not 1 / _NOISE_AGREES < scale < _NOISE_AGREES:
            seen = f"the noise looks {np.sqrt(scale):.2g} times as large as declared"
            return Status("uncalibrated", f"{seen}; declare what it is")
        return Status("trusted")

    def _doubtful(
        self, opinion: Opinion, name: str, log_odds: Array, target: Array, rng: np.random.Generator
    ) -> PosteriorSolution:
        """Where no run passed its checks: the better, by the ℓ1 misfit of whole counts, of it and the box."""
        prior, problem = self.prior, self.problem
        weights = 1 / (self.channel.total + np.zeros(target.size))
        box = BoxProblem(
            problem.operator, weights, 1 / prior.variance, prior.mean, problem.lower, problem.upper
        )
        prepared = LeastSquares().prepare(box)
        boxed = prepared.solve(target)
        from scipy.special import expit

        ours = problem.size * expit(log_odds)
        if self._misfit(boxed.value, target) < self._misfit(ours, target):
            mean, variance = prepared.posterior(target, rng=rng)
            precision = np.maximum(1 / variance - box.ridge, 1e-12 * box.ridge)
            own = (mean / variance - box.ridge * box.center) / precision
            log_odds, name = prior.log_odds(precision, own), "least-squares"
        advice = (
            f"the posterior did not pass its checks; {name} gave the better fit, confidences may be too high"
        )
        word = "not converged" if opinion.change > _SETTLED * self.options.tolerance else "uncalibrated"
        return self._solution(log_odds, Status(word, advice), opinion, name)

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
