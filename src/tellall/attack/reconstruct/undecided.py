"""Undecided: the counts that the bounds of the evidence leave open, and what the equations say about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import RowSelect
from tellall.algebra.posterior.model import CountPrior, observation
from tellall.attack.secret import Code
from tellall.release.equations import Evidence, Rows, System

__all__ = ["Undecided", "leave_undecided"]

_RATE_ROUNDS, _RATE_SETTLED = 8, 1e-3


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
    evidence
        What all this follows from; None where tables cannot be said in contrasts.
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

    @property
    def rate(self) -> Array:
        """The prior probability, for each unknown, that a person is counted in it."""
        return self.rates[self.value]

    @cached_property
    def contrasts(self) -> Undecided | None:
        """The same with tables in contrasts where the posterior and least squares do better with them."""
        return self._in_contrasts(every=False)

    @cached_property
    def orthogonal(self) -> Undecided | None:
        """The same with every complete table in contrasts; None where there is none."""
        return self._in_contrasts(every=True)

    @property
    def whole(self) -> Undecided:
        """The same with the intervals of hidden values, where there are some."""
        return self.everything or self

    def _in_contrasts(self, *, every: bool) -> Undecided | None:
        """See `tellall.release.contrasts`."""
        if self.evidence is None:
            return None
        shown = self.evidence.in_contrasts(every=every, intervals=False)
        if shown is None:
            return None
        out = _open_rows(self.evidence, shown, self.secret, self.rates)
        whole = self.evidence.in_contrasts(every=every, intervals=True) if self.everything else None
        if whole is None:
            return out
        return replace(out, everything=_open_rows(self.evidence, whole, self.secret, self.rates))

    @cached_property
    def prior(self) -> CountPrior:
        """What is believed of each count before the evidence."""
        return CountPrior(self.size, self.lower, self.upper, self.rate)


def leave_undecided(evidence: Evidence, secret: Code, rates: Array | None) -> Undecided:
    """The evidence less what its bounds settle; the rates are read off it where they are not given."""
    system, everything, unknown = evidence.system, evidence.everything, np.ones(secret.unknowns)
    shown = _open_rows(evidence, system, secret, unknown)
    whole = shown if everything is system else _open_rows(evidence, everything, secret, unknown)
    if rates is None:
        rates = _rates(shown, whole)
    more = None if whole is shown else replace(whole, rates=rates)
    return replace(shown, rates=rates, everything=more, evidence=evidence)


def _open_rows(evidence: Evidence, system: System, secret: Code, rates: Array) -> Undecided:
    """The rows of a system less what the evidence's bounds decide."""
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
