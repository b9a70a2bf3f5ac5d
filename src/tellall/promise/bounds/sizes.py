"""The sizes of a set of tables, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellall.core.checks import above_zero, whole
from tellall.core.errors import invalid

__all__ = [
    "TableSizes",
    "as_epsilon",
]

_MOST_PEOPLE, _MOST_LOG = 10**15, 345.0  # beyond these, squares leave the range of a double
_LEAST_EPSILON = 1e-12


@dataclass(frozen=True)
class TableSizes:
    """All tables of k out of d yes/no attributes, of n people; no attribute is set apart as secret."""

    n: int
    d: int
    k: int

    @classmethod
    def of(cls, n: int, d: int, k: int) -> TableSizes:
        """The sizes, if they are possible."""
        people, attributes = whole("n", n, most=_MOST_PEOPLE), whole("d", d)
        ways = whole("k", k, most=attributes, also=", the attributes d")
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


def as_epsilon(value: float) -> float:
    """An ε that bounds can be computed for."""
    if above_zero("epsilon", value) < _LEAST_EPSILON:
        raise invalid("epsilon", f"a finite number of {_LEAST_EPSILON:g} or more", value)
    return float(value)
