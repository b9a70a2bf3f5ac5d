"""The posterior of counts: the strongest decoder. A rehearsal on simulated secrets checks its confidences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.core.work import about
from tellall.linalg.operators.linear_operator import IntArray, LinearOperator, written_out
from tellall.linalg.posterior.expectation import GaussianSteps, propagate
from tellall.linalg.posterior.members import Members
from tellall.linalg.posterior.message_passing import Spread, pass_messages
from tellall.linalg.posterior.model import Channel, CountPrior, Opinion
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares, PreparedLeastSquares
from tellall.linalg.solvers.solution import Array, Solution, Status, check_vector

__all__ = ["CountProblem", "Posterior", "PosteriorSolution", "PreparedPosterior", "Rehearsal", "rehearse"]

_AGREES = 1.25  # predicted and actual residuals, as a ratio of mean squares
_NOISE_AGREES = 1.4  # estimated and declared noise variance
_MOST_GROSS = 0.6  # above this share of gross errors the "ordinary" rows are not the majority
_CONTRADICTION = 5.0  # residuals this many times the declared noise are not bad luck
_SETTLED = 5.0  # times the tolerance: what still counts as converged
_NOTICED = 3.0  # standard errors of the number of wrong guesses: the log-odds are corrected
_ALARM = 4.0  # and this many: a correction is not enough to be trusted,
_TOLERATED = 0.1  # unless the excess is this small a share of them
_MENDABLE = 0.5  # log-odds off by a larger factor are wrong, not just too bold
_ENOUGH = 3000  # people guessed in rehearsal
_MOST_DRAWS = 30
_LOOKS = (10, 20, 40)  # draws after which a decoder that has already failed is given up
_STRATA = (0.0, np.log(3), np.log(19))  # log-odds of chances 1/2, 3/4 and 0.95: each part is judged by itself


@dataclass(frozen=True, eq=False)
class CountProblem:
    """Rows A t = z + error about the counts t of groups of people; see `CountPrior`.

    Parameters
    ----------
    operator
        A, one column per unknown.
    std
        The standard deviation of the Gaussian part of each row's error, above zero.
    size, lower, upper, rate, group, left, members
        As in `CountPrior`; lower must be below upper.
    slack
        The half-width of a uniform error on top of the Gaussian one (rounding), per row; None for none.
    contaminated
        Whether a share of the rows may have gross errors; None to find out.
    unseen
        Rows without a known value: A t is only known to be within ``slack`` of z (apart from the Gaussian
        error). None if every row has a value.
    """

    operator: LinearOperator
    std: Array
    size: Array
    lower: Array
    upper: Array
    rate: Array | float
    slack: Array | None = None
    contaminated: bool | None = None
    unseen: npt.NDArray[np.bool_] | None = None
    group: IntArray | None = None
    left: Array | None = None
    members: Members | None = None

    @property
    def prior(self) -> CountPrior:
        """The law of the counts before the evidence."""
        return CountPrior(
            self.size,
            self.lower,
            self.upper,
            self.rate,
            group=self.group,
            left=self.left,
            members=self.members,
        )

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        for name, length in (("std", m), ("size", n), ("lower", n), ("upper", n), ("slack", m)):
            if getattr(self, name) is not None:
                check_vector(name, getattr(self, name), length)
        if m and self.std.min() <= 0:
            raise invalid("std", "above zero", float(self.std.min()))
        if self.slack is not None and m and self.slack.min() < 0:
            raise invalid("slack", "zero or more", float(self.slack.min()))
        if self.unseen is not None and (self.unseen.shape != (m,) or self.slack is None):
            raise invalid("unseen", "one per row, with slack", f"shape {self.unseen.shape}")
        if not n:
            raise invalid("operator", "over one group or more", "no columns")
        if (self.lower < 0).any() or (self.upper > self.size).any() or (self.lower >= self.upper).any():
            raise invalid("lower", "from 0, below upper, and upper at most size", "bounds that are not")
        rate = np.asarray(self.rate)
        if rate.shape not in ((), (n,)) or not ((rate > 0) & (rate < 1)).all():
            raise invalid("rate", "strictly between 0 and 1, one or one per group", self.rate)


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
        Its log-odds, which keep their digits if the chance is almost 0 or 1.
    members
        The log-odds of each member, if members have chances of their own.
    status
        "trusted": converged, residuals as predicted, and calibrated in rehearsal. "uncalibrated": the guesses
        are valid, but confidences may be off. "not converged", "contradictory": the best found, with advice.
    """

    chance: Array = field(default_factory=lambda: np.zeros(0))
    log_odds: Array = field(default_factory=lambda: np.zeros(0))
    members: Array | None = None

    @property
    def confidence(self) -> Array:
        """The chance that the likelier bit is right, in [1/2, 1]."""
        return np.maximum(self.chance, 1 - self.chance)


@dataclass(frozen=True)
class Posterior:
    """Options of the posterior decoder.

    Parameters
    ----------
    method
        "message-passing", "expectation", or "auto": message passing if all entries of the operator have the
        same size and there are many unknowns, expectation propagation otherwise or if the first fails.
    gram_limit
        Up to this many unknowns (or rows, if there are fewer) expectation propagation is used; above, only
        products: message passing, or one linear-Gaussian step if entries differ in size.
    small
        Below this many unknowns message passing, which is exact only in the limit, is not tried.
    rehearsal
        Whether the decoder is tried on a simulated release with the same operator, which doubles the time;
        without it the status is "solved" instead of "trusted".
    damping, iterations, tolerance
        Of the first try of message passing; a second one takes damping 0.2 and four times the iterations.

    Notes
    -----
    Least squares minimises a norm and rounds; this averages over all secrets, weighing each by how well it
    explains the values. Costs are those of `pass_messages` and `propagate`. What is returned has passed four
    checks or says which it failed: the iteration settled, the residual fell, its size is the predicted one,
    and on a simulated secret with the same operator and noise the confidences were right.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
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
        """Prepares the problem, to be solved for many targets."""
        return PreparedPosterior(replace(problem, operator=written_out(problem.operator)), self)


@final
class PreparedPosterior:
    """A problem whose prior, operator and Gram matrix are ready."""

    def __init__(self, problem: CountProblem, options: Posterior) -> None:
        self.problem = problem
        self.options = options
        self.prior = problem.prior
        std: Array | float = problem.std
        if problem.std.size and np.all(problem.std == problem.std[0]):
            std = float(problem.std[0])
        slack = problem.slack if problem.slack is not None and problem.slack.any() else None
        unseen = problem.unseen if problem.unseen is not None and problem.unseen.any() else None
        self.channel = Channel(std**2, slack, unseen=unseen)
        self.seen = problem.std.size if unseen is None else int((~unseen).sum())
        self.steps = GaussianSteps(problem.operator)

    @cached_property
    def spread(self) -> Spread:
        """The squares of the entries, which only message passing looks at."""
        return Spread(self.problem.operator)

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
        members = self._of_members(opinion, 1.0 if rehearsal is None else rehearsal.temperature)
        solution = self._solution(log_odds, self._status(opinion, rehearsal), opinion, name, members)
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
        wanted = counted and (n >= self.options.small or not affordable) and self.spread.even
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
        """Zero if the run passes its own checks, else how far it is off."""
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
            return Status("uncalibrated", rehearsal.advice, ("failed-rehearsal",))
        if not 1 / _NOISE_AGREES < scale < _NOISE_AGREES:
            seen = f"the noise looks {np.sqrt(scale):.2g} times as large as declared"
            return Status("uncalibrated", f"{seen}; declare what it is", ("noise-not-as-declared",))
        return Status("solved" if rehearsal is None else "trusted")

    @cached_property
    def _boxed(self) -> PreparedLeastSquares:
        prior = self.prior
        problem = self.problem
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
        """The solution if no run passed its checks: the best run or box-constrained least squares.

        The one with the smaller ℓ1 misfit of whole counts is taken. No guess is surer than it is by the run
        and by one Gaussian step, which does not lock into anything.
        """
        from scipy.special import expit

        boxed = self._boxed.solve(target).value
        size = self.problem.size
        guess = np.where(log_odds >= 0, 1.0, -1.0)
        if self._misfit(boxed, target) < self._misfit(size * expit(log_odds), target):
            guess = np.where(2 * boxed >= size, 1.0, -1.0)
            name = "least-squares"
        step = self._one_step(target, rng)
        cautious = self.prior.log_odds(step.precision, step.center)
        log_odds = guess * np.maximum(np.minimum(guess * log_odds, guess * cautious), 1e-9)
        members = self._of_members(opinion)
        careful = self._of_members(step)
        if members is not None and careful is not None:
            likely = np.where(members >= 0, 1.0, -1.0)
            members = likely * np.maximum(np.minimum(likely * members, likely * careful), 1e-9)
        return self._solution(log_odds, self._failure(opinion, name), opinion, name, members)

    def _of_members(self, opinion: Opinion, factor: float = 1.0) -> Array | None:
        """The log-odds of each member times the factor; None if members have no chances of their own."""
        if self.prior.members is None:
            return None
        return factor * self.prior.member_log_odds(opinion.precision, opinion.center)

    def _failure(self, opinion: Opinion, name: str) -> Status:
        """Which check failed, and what was returned instead."""
        kept = f"the guesses are those of {name}, confidences may be off"
        if opinion.change > _SETTLED * self.options.tolerance:
            return Status("not converged", f"the posterior still moves by {opinion.change:.1e}; {kept}")
        if opinion.agreement > _CONTRADICTION**2:
            missed = f"the values are missed by {opinion.agreement**0.5:.1f} times the declared noise"
            return Status("contradictory", f"{missed}; declare the noise they have; {kept}")
        odd = f"the residuals are not of the predicted size; {kept}"
        return Status("uncalibrated", odd, ("odd-residuals",))

    def _misfit(self, value: Array, target: Array) -> float:
        whole = np.round(value)
        gap = np.abs(self.problem.operator @ whole - target)
        if self.problem.slack is not None:
            gap = np.maximum(gap - self.problem.slack, 0)
        return float(np.sum(gap / self.problem.std)) - self.prior.log_prior(whole)

    def _solution(
        self, log_odds: Array, status: Status, opinion: Opinion, name: str, members: Array | None = None
    ) -> PosteriorSolution:
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
        return PosteriorSolution(value, status, stats, value / problem.size, log_odds, members)


@dataclass(frozen=True)
class Rehearsal:
    """How many guesses were `wrong`, how many were `expected` to be, and the factor on the log-odds."""

    wrong: float = 0.0
    expected: float = 0.0
    temperature: float = 1.0
    calibrated: bool = True

    @property
    def advice(self) -> str:
        """What happened, if the confidences did not hold."""
        return (
            f"on simulated secrets with the same equations {self.wrong:.0f} guesses were wrong where "
            f"{self.expected:.0f} were expected; log-odds were scaled by {self.temperature:.2f}"
        )


def rehearse(
    prior: CountPrior,
    operator: LinearOperator,
    channel: Channel,
    target: Array,
    decode: Callable[[Array], Opinion],
    rng: np.random.Generator,
) -> Rehearsal:
    """The decoder's record on counts drawn from the prior and errors drawn from the channel.

    Notes
    -----
    If the posterior were exact, the number of wrong guesses would have mean Σ min(p, 1−p) over people. A
    decoder that locks into one of many equally likely secrets has far more. The log-odds are then multiplied
    by the number that makes the simulated secrets likeliest. If they are far off, they are trusted only if
    the factor is below two and a correction fitted on one half holds on the other. This is checked for
    all people together and separately for the sure, the fairly sure and the unsure, so that the doubtful do
    not hide the others. With several values the likeliest one of each group is guessed, so that everybody
    counts once. Costs one more run of the decoder; up to 30 if there are few people, fewer if it fails.
    """
    draws = int(np.clip(np.ceil(_ENOUGH / max(prior.people, 1.0)), 1, _MOST_DRAWS))
    strength = list[Array]()
    right = list[Array]()
    members = list[Array]()
    for draw in range(draws):
        if draw in _LOOKS:
            sofar = _judge(np.concatenate(strength), np.concatenate(right), np.concatenate(members))
            if not sofar.calibrated:
                return sofar
        truth = prior.sample(rng)
        image = np.asarray(operator.matvec(truth.astype(operator.dtype)), dtype=np.float64)
        with about(f"rehearsal {draw + 1} of {draws}"):
            found = decode(channel.publish(image, target, rng))
        log_odds = np.clip(prior.log_odds(found.precision, found.center), -700, 700)
        asked = slice(None) if prior.group is None else _likeliest(prior.group, log_odds)
        log_odds = log_odds[asked]
        truth = truth[asked]
        size = prior.size[asked]
        strength.append(np.abs(log_odds))
        right.append(np.where(log_odds >= 0, truth, size - truth))
        members.append(size)
    return _judge(np.concatenate(strength), np.concatenate(right), np.concatenate(members))


def _likeliest(group: IntArray, log_odds: Array) -> IntArray:
    """The index of the largest log-odds of each group."""
    order = np.lexsort((-log_odds, group))
    _, first = np.unique(group[order], return_index=True)
    return np.asarray(order[first])


def _judge(strength: Array, right: Array, size: Array) -> Rehearsal:
    """Whether as many guesses were wrong as the strength of the log-odds predicts."""
    missed = size - right
    wrong = float(missed.sum())
    foreseen = float(size @ _doubt(strength))
    noticed, calibrated = _off(strength, missed, size)
    if not noticed:
        return Rehearsal(wrong, foreseen)
    if not calibrated:  # does a correction of one half hold on the other?
        half = strength.size // 2
        factor = _temperature(strength[:half], right[:half], missed[:half])
        if _MENDABLE <= factor <= 1 / _MENDABLE:
            calibrated = _off(factor * strength[half:], missed[half:], size[half:])[1]
    return Rehearsal(wrong, foreseen, _temperature(strength, right, missed), calibrated)


def _off(strength: Array, missed: Array, size: Array) -> tuple[bool, bool]:
    """Whether the log-odds are noticeably off, and whether they are near enough to be trusted."""
    doubt = _doubt(strength)
    expected = size * doubt
    variance = size * doubt * (1 - doubt)
    excess = abs(float((missed - expected).sum()))
    noticed = bool(excess > _NOTICED * np.sqrt(variance.sum()) + 1)
    calibrated = excess <= _room(float(expected.sum()), float(variance.sum()))
    part = np.digitize(strength, _STRATA)
    for stratum in range(1, len(_STRATA) + 1):
        here = part == stratum
        over = float((missed - expected)[here].sum())
        spread = float(variance[here].sum())
        noticed |= bool(over > _NOTICED * np.sqrt(spread) + 0.5)  # one sure and wrong is one too many
        calibrated &= over <= _room(float(expected[here].sum()), spread)
    return noticed, calibrated


def _doubt(strength: Array) -> Array:
    """The chance that a guess with these log-odds is wrong."""
    from scipy.special import expit

    return expit(-strength)


def _room(expected: float, variance: float) -> float:
    """How far the number of wrong guesses may be from what was expected."""
    return _ALARM * float(np.sqrt(variance)) + _TOLERATED * expected + 1


def _temperature(strength: Array, right: Array, wrong: Array) -> float:
    """The factor on the log-odds that makes the right and wrong guesses likeliest."""
    from scipy.optimize import minimize_scalar

    def cost(log_factor: float) -> float:
        scaled = np.exp(log_factor) * strength
        return float(right @ np.logaddexp(0, -scaled) + wrong @ np.logaddexp(0, scaled))

    return float(np.exp(minimize_scalar(cost, bounds=(-6, 3), method="bounded").x))
