"""The agencies' rules for tables of sums: cells dominated by few contributors are withheld."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, share, whole
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.dataset import Dataset, Public
from tellall.protections.protection import Array, Context, Protection, Rng, needs_people
from tellall.protections.suppression import Hiding
from tellall.statistics.cells import CellNumbers
from tellall.statistics.statistic import Statistic

Mask = npt.NDArray[np.bool_]

__all__ = ["Concentration", "Dominance", "PPercent", "cells_of_people", "contributions_of", "largest_of"]


def contributions_of(statistic: CellNumbers, people: Dataset) -> Array:
    """Each person's contribution to a cell, as an absolute value."""
    assert people.secret is not None, "the statistic was computed from one"
    numbers = np.abs(np.asarray(people.secret, dtype=np.float64))
    return numbers if statistic.weights is None else numbers * statistic.own_weights(people.public)


def cells_of_people(statistic: CellNumbers, public: Public) -> list[tuple[IntArray, int]]:
    """For each table, the cell of each person and the number of cells."""
    return [(one.cell, one.size) for one in statistic.number_tables(public).tables]


def largest_of(cell: IntArray, cells: int, contributions: Array, count: int) -> Array:
    """The ``count`` largest contributions to each cell, cells × count; zeros if there are fewer."""
    order = np.lexsort((-contributions, cell))
    sizes = np.bincount(cell, minlength=cells)
    rank = np.arange(cell.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = np.zeros((cells, count))
    few = rank < count
    out[cell[order][few], rank[few]] = contributions[order][few]
    return out


class Concentration(Hiding):
    """A rule that withholds cells of sums or means that few contributors dominate.

    Only the sums or means are withheld; counts published with them are shown.
    """

    @abstractmethod
    def breaks(self, total: Array, largest: Array) -> Mask:
        """Which cells break the rule, given their totals and their largest contributions."""

    @abstractmethod
    def margin(self, total: Array, largest: Array) -> Array:
        """How far an outsider's interval for a cell has to reach beyond its total, on either side.

        With an interval that ends there, an outsider who takes its end for the total breaks the rule no more.
        """

    @property
    @abstractmethod
    def looked_at(self) -> int:
        """How many of the largest contributions the rule looks at."""

    @property
    def reads_people(self) -> bool:
        return True

    def prepare(self, statistic: Statistic, public: Public) -> Protection:
        """The protection itself; an error unless the statistic is of sums or means by cell."""
        if not isinstance(statistic, CellNumbers):
            rule = f"one that fits the statistic; {type(self).__name__} fits Sums and CellMeans"
            raise invalid("protect", rule, type(statistic).__name__)
        return self

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values without those of cells that break the rule."""
        if context is None or context.people is None:
            raise needs_people(self)
        assert isinstance(context.statistic, CellNumbers), "prepare checked it"
        shown = values.copy()
        people = context.people
        broken = self.broken(context.statistic, people)
        shown[: broken.size][broken] = np.nan
        if self.complementary:  # tables of counts come after those of numbers
            self.cover(shown, context, len(context.statistic.sets(people.public)))
        return shown

    def broken(self, statistic: CellNumbers, people: Dataset) -> Mask:
        """Which cells of which tables, in their order, break the rule."""
        own = contributions_of(statistic, people)
        parts = []
        for cell, cells in cells_of_people(statistic, people.public):
            total = np.bincount(cell, own, minlength=cells).astype(np.float64)
            parts.append(self.breaks(total, largest_of(cell, cells, own, self.looked_at)))
        return np.concatenate(parts)


@dataclass(frozen=True)
class Dominance(Concentration):
    """The (n, k) rule: a cell is withheld if its ``n`` largest contributors have more than ``share`` of it.

    Parameters
    ----------
    n
        The number of contributors.
    share
        The share of a cell that they may have together: 0.85 is k = 85 %.
    complementary
        Whether further cells are withheld, so that totals do not give away the withheld ones.

    Examples
    --------
    >>> Dominance(1, 0.8).breaks(np.array([10.0, 10.0]), np.array([[9.0], [5.0]])).tolist()
    [True, False]
    """

    n: int
    share: float
    complementary: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole("n", self.n))
        object.__setattr__(self, "share", share("share", self.share, zero=False))
        super().__post_init__()

    @property
    def looked_at(self) -> int:
        return self.n

    def breaks(self, total: Array, largest: Array) -> Mask:
        return np.asarray(largest.sum(axis=1) > self.share * total)

    def margin(self, total: Array, largest: Array) -> Array:
        return np.asarray(np.maximum(largest.sum(axis=1) / self.share - total, 0.0))


@dataclass(frozen=True)
class PPercent(Concentration):
    """The p % rule: a cell is withheld if one contributor can estimate another to within ``p`` percent.

    Parameters
    ----------
    p
        Percent of the largest contribution.
    complementary
        Whether further cells are withheld, so that totals do not give away the withheld ones.

    Notes
    -----
    The second largest contributor knows their own x₂ and that no contribution is negative, so the largest
    contribution x₁ is at most T − x₂. That estimate is too high by T − x₁ − x₂. The rule withholds a cell if
    this is at most p % of x₁. Cells of one or two contributors always break it.

    Examples
    --------
    >>> PPercent(10).breaks(np.array([10.0, 10.0]), np.array([[6.0, 3.5], [5.0, 3.0]])).tolist()
    [True, False]
    """

    p: float
    complementary: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", above_zero("p", self.p))
        super().__post_init__()

    @property
    def looked_at(self) -> int:
        return 2

    def breaks(self, total: Array, largest: Array) -> Mask:
        first, second = largest.T
        return np.asarray((first > 0) & (total - first - second <= self.p / 100 * first))

    def margin(self, total: Array, largest: Array) -> Array:
        first, second = largest.T
        return np.asarray(np.maximum(self.p / 100 * first - (total - first - second), 0.0))
