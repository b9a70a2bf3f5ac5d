"""The kinds of secret (a bit, a category, a real number), and what the evidence leaves open about one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.evidence.contrasts import CELLS, EVERY, SIGNS, say
from tellall.evidence.evidence import Evidence, Rows, System
from tellall.linalg.operators.compose import RowSelect
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.posterior.members import Members
from tellall.linalg.posterior.model import CountPrior, observation

__all__ = [
    "Bit",
    "Category",
    "Code",
    "Prior",
    "Real",
    "Secret",
    "Undecided",
    "leave_undecided",
    "members_of",
    "rates_of_bits",
]

# The belief about a bit's rate before any evidence: Beta(1/2, 1), mean 1/3. Secrets tend to be rare,
# so an attacker who learns nothing says no. For the rates of K values: 1/K each, with the same precision.
RATE_MEAN, RATE_PRECISION = 1 / 3, 11.25
_MOST_ROWS, _MOST_FLOPS = 500, 1_000_000_000  # for a covariance of rows that is formed

Prior = float | Sequence[float] | Array  # a rate, one per value, or one per person (people × values)
Truth = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Secret(ABC):
    """A kind of secret: its unknowns, how it is guessed, and how good a guess is.

    ``levels`` is how many values the secret has (0: real numbers), ``unknowns`` how many numbers per person
    the equations are about: one, or one per value of a category.
    """

    levels: int
    noun: ClassVar[str]
    shared_decoders: ClassVar[tuple[str, ...]] = (
        "least-squares",
    )  # decoders that can solve several draws together

    @property
    def unknowns(self) -> int:
        """How many unknowns each person has."""
        return self.levels if self.levels > 2 else 1

    @staticmethod
    def of(levels: int) -> Secret:
        """Returns the kind of secret with this many values; 0 for real numbers, as in `Dataset.levels`.

        Examples
        --------
        >>> Secret.of(2), Secret.of(5).unknowns, Secret.of(0)
        (Bit(), 5, Real())
        """
        if levels in (0, 2):
            return Bit() if levels else Real()
        return Category(int(levels))

    def check(self, truth: npt.ArrayLike, n: int) -> Truth:
        """Returns the true secrets of n people; refuses anything else."""
        rule = f"one {self.noun} per person ({n})"
        try:
            array = np.asarray(truth)
        except ValueError:
            raise invalid("secret", rule, "rows of different lengths") from None
        if array.shape != (n,):
            raise invalid("secret", rule, f"shape {array.shape}")
        if array.dtype.kind not in "biuf":
            raise invalid("secret", rule, array)
        return self._check_values(array)

    @abstractmethod
    def _check_values(self, array: Truth) -> Truth: ...

    @abstractmethod
    def targets(self, truth: Truth) -> Array:
        """Returns the unknowns of each person, people × unknowns."""

    @abstractmethod
    def guess(self, estimate: Array) -> Truth:
        """Returns the guess for each person's estimate."""

    @abstractmethod
    def error(self, guess: Truth, truth: Truth) -> Array:
        """Returns how far off each guess is: 0 or 1 for bits and categories, the absolute error otherwise."""

    @abstractmethod
    def conclude(self, share: Array, sure: Array) -> tuple[Array, Truth, Array]:
        """Returns each person's estimate and guess, and the confidence, or a number's standard deviation.

        ``share`` is what a decoder says about each unknown; ``sure`` is the probability that the person is
        counted, or the standard deviation of a real number. Both are people × unknowns.
        """

    def right(self, guess: Truth, truth: Truth) -> Mask:
        """Returns who is guessed right; real numbers have an `error` instead."""
        raise TypeError("a real number is guessed with an error; ask for error(guess, truth)")


class Code(Secret):
    """A secret with finitely many values, 0 to levels − 1: each unknown is a count of people."""

    exclusive: ClassVar[bool] = False  # whether several unknowns count everybody exactly once

    @abstractmethod
    def estimate_rates(
        self, operator: LinearOperator, target: Array, spread: Array, size: Array, value: IntArray
    ) -> Array:
        """Returns the rate of the secret, or of each of its values, among the people of the unknowns.

        Notes
        -----
        If everybody had value v at rate π_v, row j would have mean Σ_v π_v R_jv, R_v = A (size of the
        unknowns of v), and variance Σ_p π_v(p) (1 − π_v(p)) A_jp² size_p + spread_j². The rates solve that
        weighted regression through the origin, with RATE_MEAN (1/K for K values) and RATE_PRECISION as prior.
        A rate stays at least its own standard error away from zero and one, because it is then used as if it
        were certain.
        """

    def settles(self, everybody: Mask, nobody: Mask) -> Mask:
        """Returns which counts settle their people's secret: everybody in the group is counted, or nobody."""
        return everybody if self.exclusive else everybody | nobody

    @abstractmethod
    def rate_of_odds(self, rate: Array) -> Array:
        """Returns the rate at which a count's prior has the odds that `conclude` expects."""

    @abstractmethod
    def log_prior(self, counts: npt.NDArray[Any], prior: CountPrior) -> Array:
        """Returns the log-probability of each list of counts, up to a constant."""

    def _check_values(self, array: Truth) -> Truth:
        if not np.isin(array, np.arange(self.levels)).all():
            rule = "bits, 0 or 1" if self.levels == 2 else f"the codes of categories, 0 to {self.levels - 1}"
            raise invalid("secret", rule, array)
        return array.astype(np.int8 if self.levels <= 127 else np.int64)

    def right(self, guess: Truth, truth: Truth) -> Mask:
        return np.asarray(guess == truth)

    def error(self, guess: Truth, truth: Truth) -> Array:
        return np.asarray(guess != truth, dtype=np.float64)

    def check_prior(self, prior: Prior, people: int) -> Array:
        """Returns what an attacker knows beforehand: a rate per unknown, or a row of them per person."""
        one = self.unknowns == 1
        usual = f"{self.levels} rates between 0 and 1, summing to one"
        rule = f"{'a rate strictly between 0 and 1' if one else usual}, or that for each of {people:,} people"
        try:
            rates = np.atleast_1d(np.asarray(prior, dtype=np.float64))
        except (TypeError, ValueError):
            raise invalid("prior", rule, prior) from None
        inside = not isinstance(prior, bool) and bool(((rates > 0) & (rates < 1)).all())
        several = rates.ndim == 2 or not one
        if inside and several and rates.shape[-1] == self.levels and (np.abs(rates.sum(-1) - 1) > 1e-6).any():
            raise invalid("prior", rule, "rates with another sum")  # and of people, nobody's are told
        if inside and rates.shape == (self.unknowns,):
            return rates
        if inside and rates.shape == (people, self.levels):
            return rates[:, -self.unknowns :]
        if inside and one and rates.shape == (people,):
            return rates[:, None]
        raise invalid("prior", rule, prior if rates.size < 2 else f"numbers of shape {rates.shape}")


@final
@dataclass(frozen=True)
class Bit(Code):
    """Yes or no: one unknown, 0 or 1."""

    levels: int = field(default=2, init=False, repr=False)
    noun: ClassVar[str] = "bit"

    def targets(self, truth: Truth) -> Array:
        return truth[:, None].astype(np.float64)

    def guess(self, estimate: Array) -> Truth:
        return (estimate >= 0.5).astype(np.int8)

    def estimate_rates(
        self, operator: LinearOperator, target: Array, spread: Array, size: Array, value: IntArray
    ) -> Array:
        return rates_of_bits(operator, target[:, None], spread, size)

    def rate_of_odds(self, rate: Array) -> Array:
        return rate

    def log_prior(self, counts: npt.NDArray[Any], prior: CountPrior) -> Array:
        return np.array([prior.log_prior(each) for each in counts.astype(np.float64)])

    def conclude(self, share: Array, sure: Array) -> tuple[Array, Truth, Array]:
        guess, chance = self.guess(share[:, 0]), sure[:, 0]
        return share[:, 0], guess, np.maximum(np.where(guess == 1, chance, 1 - chance), 0.5)


@final
@dataclass(frozen=True)
class Category(Code):
    """One of several values: one unknown for each, exactly one of which is 1."""

    noun: ClassVar[str] = "code"
    exclusive: ClassVar[bool] = True

    def targets(self, truth: Truth) -> Array:
        return np.asarray(truth[:, None] == np.arange(self.levels), dtype=np.float64)

    def guess(self, estimate: Array) -> Truth:
        return np.asarray(estimate.argmax(axis=1))

    def estimate_rates(
        self, operator: LinearOperator, target: Array, spread: Array, size: Array, value: IntArray
    ) -> Array:
        reach = np.stack([operator @ np.where(value == v, size, 0.0) for v in range(self.levels)], axis=1)
        squares = operator.squared()
        energy = np.stack([squares @ np.where(value == v, size, 0.0) for v in range(self.levels)], axis=1)
        margin = 0.5 / (float(size.sum()) / self.levels + 1)
        rates = believed = np.full(self.levels, 1 / self.levels)
        for _ in range(8):
            weight = 1 / (energy @ (rates * (1 - rates)) + spread**2)
            left = reach.T @ (reach * weight[:, None]) + RATE_PRECISION * np.eye(self.levels)
            rates = np.linalg.solve(left, reach.T @ (weight * target) + RATE_PRECISION * believed)
            least = np.clip(np.sqrt(np.linalg.inv(left).diagonal()), margin, 1 / self.levels)
            rates = np.clip(rates, least, 1 - least)
        return rates

    def rate_of_odds(self, rate: Array) -> Array:
        # the chances are divided by their sum later, so their odds must be the rates themselves
        return rate / (1 + rate)

    def log_prior(self, counts: npt.NDArray[Any], prior: CountPrior) -> Array:
        """Multinomial over the values of each group."""
        from scipy.special import gammaln

        many = counts.astype(np.float64)
        return np.asarray((many * np.log(prior.rate) - gammaln(many + 1)).sum(axis=1))

    def conclude(self, share: Array, sure: Array) -> tuple[Array, Truth, Array]:
        guess = self.guess(share)
        chosen = np.take_along_axis(sure, guess[:, None], axis=1)[:, 0]
        return share, guess, np.maximum(chosen / np.maximum(sure.sum(axis=1), 1e-300), 1 / self.levels)


@final
@dataclass(frozen=True)
class Real(Secret):
    """A number: one unknown, never rounded."""

    levels: int = field(default=0, init=False, repr=False)
    noun: ClassVar[str] = "finite number"
    shared_decoders: ClassVar[tuple[str, ...]] = ("auto", "least-squares")  # it has no other

    def _check_values(self, array: Truth) -> Truth:
        if not np.isfinite(array).all():
            raise invalid("secret", "one finite number per person", array)
        return array.astype(np.float64)

    def targets(self, truth: Truth) -> Array:
        return truth[:, None].astype(np.float64)

    def guess(self, estimate: Array) -> Truth:
        return estimate

    def conclude(self, share: Array, sure: Array) -> tuple[Array, Truth, Array]:
        return share[:, 0], share[:, 0], sure[:, 0]

    def error(self, guess: Truth, truth: Truth) -> Array:
        return np.abs(np.asarray(guess - truth, dtype=np.float64))


def rates_of_bits(operator: LinearOperator, targets: Array, spread: Array, size: Array) -> Array:
    """Returns the rate of the secret bit for each column of targets; see `Code.estimate_rates`.

    Notes
    -----
    If there are few enough rows, their full covariance π (1 − π) A diag(size) Aᵀ + diag(spread²) is used, so
    rows that are mixtures of each other, as regression coefficients are, count once. If there are too many
    rows of that kind (entries other than 0, 1 and −1), only some of them are used, evenly spaced. One
    eigendecomposition of that covariance serves all targets.
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
        # a rate with this standard error must not make anybody certain
        least = np.clip(1 / np.sqrt(total), margin, 0.5)
        rates = np.clip(top / total, least, 1 - least)
    return rates


def _counts_people(squares: LinearOperator) -> bool:
    """Whether all entries are 0, 1 or −1, given their squares."""
    everybody = np.ones(squares.shape[1], dtype=squares.dtype)
    return bool(np.array_equal(squares.squared() @ everybody, squares @ everybody))


def _uncorrelated(
    operator: LinearOperator, targets: Array, spread: Array, size: Array, reach: Array
) -> tuple[Array, Array, Array]:
    """Returns energy, reach and targets of mixtures of the rows that are uncorrelated and have unit noise."""
    from scipy.linalg import eigh

    rows = operator.to_dense().astype(np.float64) * (np.sqrt(size) / spread[:, None])
    energy, vectors = eigh(rows @ rows.T)
    mixed = vectors.T @ np.column_stack([reach / spread, targets / spread[:, None]])
    return np.maximum(energy, 0.0), mixed[:, 0], mixed[:, 1:]


# What the bounds of the evidence leave open about a secret with finitely many values.

_RATE_ROUNDS, _RATE_SETTLED = 8, 1e-3


@dataclass(frozen=True, eq=False)
class Undecided:
    """The counts that the bounds leave open, and what the equations say about them.

    Attributes
    ----------
    index
        Which unknowns of the evidence's system these are.
    operator, rows
        Their equations, minus what is decided; no bound is below zero.
    contaminated
        Whether some of the rows have gross errors; None if that is not known.
    lower, upper, size
        Bounds on each count, and the number of people in its group.
    value
        The value of the secret that each counts.
    rates
        The chance of each value before the evidence.
    secret
        The kind of secret; for a category, the last rows, one per group, say that everybody in the group has
        exactly one value.
    groups
        How many groups of people alike there are.
    everything
        The same counts with a further row for the interval of each value that is not shown, or None. Least
        squares cannot use such rows.
    evidence
        The evidence behind all this; None if tables cannot be written in contrasts.
    pairs
        Whether the rounded yes and no cells of a table stay two rows when rows are rewritten.
    members
        The people of each count with chances of their own, if the attacker knows them.
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
    evidence: Evidence | None = None
    pairs: bool = False
    members: Members | None = None

    @property
    def rate(self) -> Array:
        """The prior probability, for each unknown, that a person is counted in it."""
        return self.rates[self.value] if self.members is None else self.members.rate

    @property
    def whole(self) -> Undecided:
        """The same counts with the intervals of hidden values, if there are any."""
        return self.everything or self

    @cached_property
    def cells(self) -> Undecided:
        """The same counts, with rounded counts of the same people in one interval."""
        return self._said(CELLS)

    @cached_property
    def contrasts(self) -> Undecided:
        """The cells, with tables in contrasts if the posterior and least squares do better with them."""
        return self._said(SIGNS) if self._has(SIGNS) else self.cells

    @cached_property
    def orthogonal(self) -> Undecided:
        """The cells, with every complete table in contrasts."""
        return self._said(EVERY) if self._has(EVERY) else self.cells

    def _has(self, tables: str) -> bool:
        parts = () if self.evidence is None else self.evidence.parts
        return any(part.contrasts(tables) is not None for part in parts)

    def _said(self, tables: str) -> Undecided:
        """Returns the counts with their tables rewritten; see `tellall.evidence.contrasts`."""
        if self.evidence is None:
            return self
        shown = say(self.evidence, tables, intervals=False, pairs=self.pairs)
        whole = None
        if self.everything is not None:
            whole = say(self.evidence, tables, intervals=True, pairs=self.pairs)
        out = self if shown is None else self._with(_open_rows(self.evidence, shown, self.secret, self.rates))
        if whole is None:
            return out
        rows = self._with(_open_rows(self.evidence, whole, self.secret, self.rates))
        return replace(out, everything=rows)

    def _with(self, other: Undecided) -> Undecided:
        """Returns other rows about the same counts, of the same people."""
        return replace(other, members=self.members)

    @cached_property
    def prior(self) -> CountPrior:
        """The prior law of each count, before the evidence."""
        return CountPrior(self.size, self.lower, self.upper, self.rate, members=self.members)


def members_of(evidence: Evidence, own: Array) -> Members:
    """Returns the people of each count of the evidence's system, with their own chances (people × unknowns).

    The order of the members is that of the people, one unknown after the other.
    """
    groups = len(evidence.groups)
    count = (np.arange(evidence.values)[:, None] * groups + evidence.groups.index).ravel()
    return Members(count, np.ascontiguousarray(own.T).ravel(), evidence.values * groups)


def leave_undecided(
    evidence: Evidence, secret: Code, rates: Array | None, members: Members | None = None
) -> Undecided:
    """Returns the evidence minus what its bounds settle; estimates the rates if they are not given.

    ``members`` are the people of all counts, if they have chances of their own.
    """
    system, everything, unknown = evidence.system, evidence.everything, np.ones(secret.unknowns)
    shown = _open_rows(evidence, system, secret, unknown)
    whole = shown if everything is system else _open_rows(evidence, everything, secret, unknown)
    if rates is None:
        rates = _rates(shown, whole)
    inside = None if members is None else members.take(shown.index)
    more = None if whole is shown else replace(whole, rates=rates, members=inside)
    return replace(shown, rates=rates, everything=more, evidence=evidence, members=inside)


def _open_rows(evidence: Evidence, system: System, secret: Code, rates: Array) -> Undecided:
    """Returns the rows of a system minus what the evidence's bounds decide."""
    box = evidence.enclosure
    lower, upper = (np.zeros(system.size.size), system.size) if box.empty else (box.lower, box.upper)
    index = np.flatnonzero(lower < upper)
    operator, target = system.operator, system.rows.target
    if index.size < system.size.size:
        target = target - operator @ np.where(lower < upper, 0.0, lower)
        operator = operator.take(index)
    rows = replace(system.rows, target=target, bound=np.maximum(system.rows.bound, 0.0))
    counts = (lower[index], upper[index], system.size[index], system.value[index])
    groups = system.size.size // secret.unknowns
    return Undecided(index, operator, rows, evidence.contaminated, *counts, rates, secret, groups)


def _rates(shown: Undecided, whole: Undecided) -> Array:
    """Returns the rates estimated from the shown values, and from the intervals of hidden values if any.

    Notes
    -----
    Values that are shown because they are large give rates that are too high. At the current rates a hidden
    row is normal with mean Σ_p A_jp size_p π and variance Σ_p A_jp² size_p π (1 − π). Cut to its interval it
    has another mean and variance, and the row is replaced by the normal observation that turns the one into
    the other (a step of expectation propagation). This is repeated until the rates settle.
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
