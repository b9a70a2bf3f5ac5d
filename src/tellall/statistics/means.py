"""Means: the mean of every public column, the statistic that tracing attacks use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Never

import numpy as np

from tellall.core.errors import CannotLinearise
from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Dataset, Public
from tellall.statistics.statistic import Statistic, check_scale, numbers_of

__all__ = ["Means"]


@dataclass(frozen=True)
class Means(Statistic):
    """The mean of every public column, in the data's own coding.

    Parameters
    ----------
    scale
        "fractions" for means, "counts" for sums.

    Notes
    -----
    Bits give their frequency, genotypes 0/1/2 the mean number of alleles (twice the allele frequency), reals
    their mean; people whose value is missing are left out of that column's mean. Means of public columns say
    nothing about the secret bit, so they have no equations. They give away who took part; see `trace`.
    Replacing one person moves each mean by at most the column's range over n. O(n·d).

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [1, 0]])
    >>> Means().values(people).tolist()
    [0.75, 0.5]
    """

    scale: str = "fractions"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def describe(self) -> str:
        return f"the {'mean' if self.scale == 'fractions' else 'sum'} of every public column"

    def size(self, public: Public) -> int:
        return len(public.columns)

    def values(self, dataset: Dataset) -> Array:
        public = dataset.public
        every = range(len(public.columns))
        columns = (numbers_of(public, index, "to take its mean", missing=True) for index in every)
        if self.scale == "counts":
            return np.array([np.nansum(column) for column in columns])
        return np.array([np.nanmean(column) for column in columns])

    def equations(self, public: Public, values: Array) -> Never:
        raise CannotLinearise(
            "Means of public columns say nothing about the secret. They reveal who took part: use trace."
        )
