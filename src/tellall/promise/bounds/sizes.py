"""The sizes that the bounds speak of, checked once: people, attributes, ways, privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid

__all__ = [
    "TableSizes",
    "as_epsilon",
    "nonnegative",
    "whole",
]

_MOST_PEOPLE, _MOST_LOG = 10**15, 345.0  # beyond these, squares leave the range of a double
_LEAST_EPSILON = 1e-12


@dataclass(frozen=True)
class TableSizes:
    """All k-attribute tables of n people with d bits each.

    Attributes
    ----------
    n, d, k
        People, attributes and attributes per table; no attribute is set apart as secret here.
    """

    n: int
    d: int
    k: int

    @classmethod
    def of(cls, n: int, d: int, k: int) -> TableSizes:
        """The sizes, if they are possible."""
        people, attributes, ways = whole("n", n), whole("d", d), whole("k", k)
        if people > _MOST_PEOPLE:
            raise invalid("n", f"at most {_MOST_PEOPLE:.0e}", n)
        if ways > attributes:
            raise invalid("k", f"at most d = {attributes}", k)
        if ways * math.log(2 * attributes) > _MOST_LOG:
            raise invalid("k", "such that (2d)^k is below 1e150", f"d = {d}, k = {k}")
        return cls(people, attributes, ways)

    @property
    def tables(self) -> int:
        """m_k = C(d, k)."""
        return math.comb(self.d, self.k)

    @property
    def cells(self) -> int:
        """|C_k| = 2^k C(d, k)."""
        return int(2**self.k) * self.tables

    @property
    def log_cells(self) -> float:
        """ln |C_k|."""
        return self.k * math.log(2) + math.log(self.tables)


def whole(name: str, value: int, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise invalid(name, f"a whole number of {least} or more", value)
    return int(value)


def nonnegative(name: str, value: float, *, below: float = math.inf, zero: bool = True) -> float:
    """A number from zero (above zero with ``zero=False``) to below `below`."""
    rule = "zero or more" if zero else "above zero"
    rule += "" if below == math.inf else f" and below {below:g}"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise invalid(name, rule, value)
    number = float(value)
    if not 0 <= number <= below or (number == below != math.inf) or (number == 0 and not zero):
        raise invalid(name, rule, value)
    return number


def as_epsilon(value: float) -> float:
    """An ε that bounds can be computed for."""
    number = nonnegative("epsilon", value, zero=False)
    if not _LEAST_EPSILON <= number < math.inf:
        raise invalid("epsilon", f"a finite number of {_LEAST_EPSILON:g} or more", value)
    return number
