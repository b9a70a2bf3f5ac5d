"""Sums: the sum of a number in every cell of every table."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Outline
from tellall.statistics.cells import CellNumbers

__all__ = ["Sums"]


@dataclass(frozen=True, init=False)
class Sums(CellNumbers):
    """The sum of the secret in every cell of every table of ways − 1 public columns.

    It takes the same parameters as `CellNumbers`.

    Notes
    -----
        value(c) = Σ_{i in c} w_i s_i

    with w_i = 1 without weights, is linear in everybody's number. Tables come in
    lexicographic order of their columns, cells in C order; counts, if published, follow all sums. Replacing
    one person moves each of t tables by at most 2·largest: one cell from −largest to largest, or two cells
    by largest each. L1 sensitivity 2 t largest, L2 2 √t largest; unknown if ``largest`` is not given.

    Examples
    --------
    >>> from tellall.people.dataset import Dataset
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 4.0])
    >>> Sums(2).values(people).tolist(), Sums([1, 2], counts=True).values(people).tolist()
    ([2.5, 5.0], [7.5, 2.5, 5.0, 3.0, 1.0, 2.0])
    """

    @property
    def noun(self) -> str:
        return "sums"

    def factors(self, totals: Array) -> Array:
        return np.ones(totals.size)

    def sensitivity(self, public: Outline) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities, one person replaced; None unless ``largest`` is known.

        Also None with weights or counts.
        """
        if self.largest is None or self.weights is not None or self.counts:
            return None
        tables = len(self.sets(public))
        return 2.0 * tables * self.largest, 2 * sqrt(tables) * self.largest
