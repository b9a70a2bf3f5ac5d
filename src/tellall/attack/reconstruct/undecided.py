"""What a decoder is given, and what it returns: the counts that the bounds leave open, and their values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect
from tellall.algebra.posterior.channel import observation
from tellall.algebra.posterior.counts import CountPrior
from tellall.algebra.solvers.base import Status
from tellall.release.equations import Evidence, Rows, System

__all__ = [
    "Decoded",
    "Undecided",
    "estimate_rates",
    "leave_undecided",
    "rates_of_bits",
]

# What is believed of a bit's rate before any evidence: Beta(1/2, 1), mean 1/3. Secrets tend to be rare,
# so an attacker who learns nothing says no. Of the rates of K values: 1/K each, as firmly.
RATE_MEAN, RATE_PRECISION = 1 / 3, 11.25
_RATE_ROUNDS, _RATE_SETTLED = 8, 1e-3
_MOST_ROWS, _MOST_FLOPS = 500, 1_000_000_000  # of a covariance of rows that is formed


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
