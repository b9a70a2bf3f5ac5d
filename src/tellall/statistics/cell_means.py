"""CellMeans: the mean of a number in every cell of every table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.linear_operator import Array
from tellall.statistics.cells import CellNumbers

__all__ = ["CellMeans"]


@dataclass(frozen=True, init=False)
class CellMeans(CellNumbers):
    """The mean of the secret in every cell of every table of ways − 1 public columns.

    It takes the same parameters as `CellNumbers`. The mean of a cell without people is missing.

    Notes
    -----
        value(c) = (Σ_{i in c} w_i s_i)/(Σ_{i in c} w_i)

    is linear in everybody's number, since it is public who is in a cell:
    a row's entries are each person's share of the cell. There is no sensitivity, and noise promises nothing:
    a cell that loses its only person loses its mean, and no noise hides that it is missing.

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
