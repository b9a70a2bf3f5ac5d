"""CellMeans: the mean of a number in every cell of every table."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.people.dataset import Outline
from tellall.release.statistics.cells import CellNumbers

__all__ = ["CellMeans"]


@dataclass(frozen=True, init=False)
class CellMeans(CellNumbers):
    """The mean of the secret in every cell of every table of ways − 1 public columns.

    It takes the same parameters as `CellNumbers`. The mean of a cell without people is missing.

    Notes
    -----
        value(c) = (Σ_{i in c} w_i s_i)/(Σ_{i in c} w_i)

    is linear in everybody's number, since it is public who is in a cell:
    a row's entries are each person's share of the cell. Replacing one person changes one cell that loses and
    one that gains a person in each of t tables, and moves both means by at most 2·largest (a cell that
    empties has no mean): L1 sensitivity 4 t largest, L2 2 √(2t) largest. It is unknown if ``largest`` is not
    given.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 4.0])
    >>> CellMeans(2).values(people).tolist()
    [2.5, 2.5]
    """

    @property
    def noun(self) -> str:
        return "means"

    def factors(self, totals: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(1 / totals)

    def sensitivity(self, public: Outline) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities, one person replaced; None without ``largest``, or with counts."""
        if self.largest is None or self.counts:
            return None
        tables = len(self.sets(public))
        return 4.0 * tables * self.largest, 2 * sqrt(2.0 * tables) * self.largest
