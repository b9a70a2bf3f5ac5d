"""Limits of real secrets: the least and the largest number of each person, by linear programmes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tellall.attack.prove.proof import EFFORT, Budget
from tellall.evidence.evidence import Evidence
from tellall.linalg.operators.linear_operator import Array
from tellall.linalg.solvers.solution import Mask
from tellall.statistics.numbers import power_of_two

__all__ = ["Contributions", "NumberLimits", "find_limits"]

_ROOM = 1e-9  # for floating point, as a share of a value
_SLACK = 1e-6  # for the solver, as a share of an end
_LEAST, _CALL = 3.0, 10.0  # steps of a linear programme: at least, and per thousand entries
_MOST_ENTRIES = 5_000_000


@dataclass(frozen=True, eq=False)
class NumberLimits:
    """The least and the largest number of each person.

    Attributes
    ----------
    low, high
        Infinite if nothing limits the number; NaN if the values contradict each other.
    open
        People whose limits may be tighter, since the steps were used up.
    """

    low: Array
    high: Array
    open: Mask

    @property
    def empty(self) -> bool:
        """Whether no numbers fit what was published."""
        return bool(np.isnan(self.low).any())


def find_limits(evidence: Evidence, low: float, high: float, effort: int = EFFORT) -> NumberLimits:
    """Returns the limits of every number, given that all lie from low to high and published values hold.

    Notes
    -----
    With t_g the sum over a group of k people alike, low k ≤ t_g ≤ high k, and each value whose error has a
    bound is a row l ≤ A t ≤ h. The least and the largest t_g are linear programmes, two per group (HiGHS in
    SciPy); a solution of one settles others that it takes to their ends. One person of a group has at most
    the largest sum minus the least that the others can have. Rows are widened by 1e-9 of their size and
    limits by 1e-6, so that rounding in floating point excludes nothing.
    """
    unit = _unit_of(evidence, low, high)
    found = _limits_of(evidence.in_unit(unit), low / unit, high / unit, effort)
    return NumberLimits(unit * found.low, unit * found.high, found.open)


def _unit_of(evidence: Evidence, *ends: float) -> float:
    """Returns a power of two near which numbers are, for solvers that work in floating point."""
    finite = [abs(end) for end in ends if np.isfinite(end)]
    return evidence.unit or power_of_two(max(finite, default=0.0)) or 1.0


def _limits_of(evidence: Evidence, low: float, high: float, effort: int) -> NumberLimits:
    """Returns the limits of numbers that differ by about one."""
    size = evidence.system.size.astype(np.float64)
    lower: Array = low * size
    upper: Array = high * size
    certain = evidence.certain
    rows = np.flatnonzero(np.isfinite(certain.low) | np.isfinite(certain.high))
    open_ = np.zeros(size.size, dtype=bool)
    if rows.size * size.size > _MOST_ENTRIES:
        open_[:] = True
    elif rows.size:
        programme = _Programme.of(evidence, lower, upper)
        found = programme.extremes(Budget(effort))
        if found is None:
            nothing = np.full(evidence.n, np.nan)
            return NumberLimits(nothing, nothing, np.zeros(evidence.n, dtype=bool))
        lower, upper, open_ = found
    others = size - 1
    with np.errstate(invalid="ignore"):
        most = np.where(others == 0, upper, upper - np.where(others == 0, 0.0, others * low))
        least = np.where(others == 0, lower, lower - np.where(others == 0, 0.0, others * high))
    least = np.maximum(np.nan_to_num(least, nan=-np.inf, neginf=-np.inf, posinf=np.inf), low)
    most = np.minimum(np.nan_to_num(most, nan=np.inf, neginf=-np.inf, posinf=np.inf), high)
    index, told = evidence.groups.index, evidence.numbers
    least, most = np.maximum(least[index], told.low), np.minimum(most[index], told.high)
    if (least > most + _SLACK * (1 + np.abs(most))).any():
        least = most = np.full(evidence.n, np.nan)
    return NumberLimits(least, most, open_[index])


@dataclass(frozen=True, eq=False)
class Contributions:
    """Numbers of zero or more with these published values, seen by somebody who knows some of them."""

    evidence: Evidence

    @cached_property
    def _unit(self) -> float:
        return _unit_of(self.evidence)

    @cached_property
    def _programme(self) -> _Programme:
        size = self.evidence.system.size
        evidence = self.evidence.in_unit(self._unit)
        return _Programme.of(evidence, np.zeros(size.size), np.full(size.size, np.inf))

    def most(self, person: int, known: Mapping[int, float]) -> float:
        """Returns the largest number that a person can have, infinite if nothing limits it.

        A group's sum is at least what is known of its people; the person has at most the rest of the group's
        largest sum.
        """
        size, index = self.evidence.system.size, self.evidence.groups.index
        people = np.fromiter(known, dtype=np.intp, count=len(known))
        values = np.fromiter(known.values(), dtype=np.float64, count=len(known)) / self._unit
        told = np.asarray(np.bincount(index[people], values, minlength=size.size), dtype=np.float64)
        whole = np.bincount(index[people], minlength=size.size) == size
        programme = replace(self._programme, lower=told, upper=np.where(whole, told, np.inf))
        found = programme.solve(int(index[person]), -1.0)
        most = -float(found.fun) - float(told[index[person]]) if found.status == 0 else np.inf
        return self._unit * most


@dataclass(frozen=True, eq=False)
class _Programme:
    """low ≤ matrix @ t ≤ high with t from lower to upper."""

    matrix: Any
    low: Array
    high: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, evidence: Evidence, lower: Array, upper: Array) -> _Programme:
        certain = evidence.certain
        ends = []
        for side, sign in ((certain.low, -1.0), (certain.high, 1.0)):
            finite = np.where(np.isfinite(side), side, 0.0)
            ends.append(side + sign * _ROOM * (1 + np.abs(finite)))
        return cls(certain.operator.to_sparse(), ends[0], ends[1], lower, upper)

    def solve(self, unknown: int, sign: float) -> Any:
        """Returns SciPy's answer for the least (sign 1) or the largest (−1) value of an unknown.

        Status 0: solved. 2: there is no solution. 3: it is unbounded.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        cost = np.zeros(self.lower.size)
        cost[unknown] = sign
        constraints = LinearConstraint(self.matrix, self.low, self.high)
        return milp(cost, constraints=constraints, bounds=Bounds(self.lower, self.upper))

    def extremes(self, budget: Budget) -> tuple[Array, Array, Mask] | None:
        """Returns the least and largest of each unknown, and which are left open; None without a solution."""
        n = self.lower.size
        least, most = self.lower.copy(), self.upper.copy()
        done = np.zeros((2, n), dtype=bool)
        step = max(_LEAST, _CALL * self.matrix.nnz / 1000)
        for unknown in range(n):
            for side, (sign, ends) in enumerate(((1.0, least), (-1.0, most))):
                if done[side, unknown] or budget.left < step:
                    continue
                budget.take(step)
                found = self.solve(unknown, sign)
                if found.status == 2:
                    return None
                if found.status == 3:
                    done[side, unknown] = True
                elif found.status == 0:
                    end = found.fun * sign
                    ends[unknown] = np.clip(
                        end - sign * _SLACK * (1 + abs(end)), self.lower[unknown], self.upper[unknown]
                    )
                    done[side, unknown] = True
                    done[0] |= found.x <= self.lower
                    done[1] |= found.x >= self.upper
        return least, most, np.asarray(~done.all(axis=0))
