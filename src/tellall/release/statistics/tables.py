"""Tables: counts over public columns only, as published about people without a secret column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Never

import numpy as np

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.core.checks import whole
from tellall.core.errors import CannotLinearise, invalid
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Outline, Public
from tellall.release.statistics.base import (
    Statistic,
    check_scale,
    check_sets,
    check_weights,
    chosen_sets,
    column_sets,
)
from tellall.release.statistics.marginals import cell_counts, cells_of, weighted_cells

__all__ = ["Tables"]


@dataclass(frozen=True)
class Tables(Statistic):
    """Every `ways`-way table of the public columns, all cells.

    Parameters
    ----------
    ways
        The number of columns in each table.
    attributes
        The column sets to tabulate instead of all of that size: names or indices.
    scale
        "counts", or "fractions" of all people.
    weights
        A public column of weights above zero: cells add up weights instead of people.

    Notes
    -----
    Tables come in lexicographic order of their columns, cells in C order: all conjunctions of `ways` columns
    (contingency-tables, Sec. 1.4). They say nothing about a secret that is not among the columns, so they
    have no equations. They give away which rows there are; see `reconstruct_rows`. Replacing one
    person moves two cells of each table by one each: L1 sensitivity 2t, L2 √(2t) for t tables.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [1, 0]])
    >>> Tables(2).values(people).tolist()  # 00, 01, 10, 11
    [0.0, 1.0, 2.0, 1.0]
    """

    ways: int
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    scale: str = "counts"
    weights: str | None = None

    def __init__(
        self,
        ways: int,
        attributes: Sequence[Sequence[str | int]] | None = None,
        *,
        scale: str = "counts",
        weights: str | None = None,
    ) -> None:
        object.__setattr__(self, "ways", whole("ways", ways))
        object.__setattr__(self, "attributes", check_sets("attributes", attributes, self.ways))
        object.__setattr__(self, "scale", check_scale(scale))
        object.__setattr__(self, "weights", check_weights(weights))
        if weights is not None and scale != "counts":
            raise invalid("scale", "'counts' if there are weights", scale)
        object.__setattr__(self, "counts_people", weights is None)

    def describe(self) -> str:
        chosen = "every" if self.attributes is None else f"{len(self.attributes)} chosen"
        weighted = f" weighted by {self.weights}" if self.weights else ""
        one = self.attributes is None or len(self.attributes) == 1
        tables = f"{self.ways}-way table{'' if one else 's'}"
        return f"{chosen} {tables} of public columns{weighted}"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The columns of each table, by index."""
        if self.attributes is not None:
            return chosen_sets(public, self.attributes)
        d = len(public.columns) - (self.weights is not None)
        if self.ways > d:
            raise invalid("ways", f"at most {d}, the public columns", self.ways)
        return column_sets(public, self.ways + 1, None, self.weights)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public)

    def size(self, public: Outline) -> int:
        return sum(cells_of(public, columns) for columns in self.sets(public))

    def measured_in(self) -> str:
        return "units of weight" if self.weights else super().measured_in()

    def sensitivity(self, public: Outline) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities of the counts, one person replaced; None with weights."""
        if self.weights is not None:
            return None
        tables = len(self.sets(public))
        return 2.0 * tables, sqrt(2.0 * tables)

    def membership(self, public: Public) -> LinearOperator:
        """Cells × people: who is in which cell."""
        return cell_counts(public, self.sets(public))

    def units(self, public: Outline) -> float:
        return float(public.n) if self.scale == "fractions" else 1.0

    def values(self, dataset: Dataset | Stored) -> Array:
        if self.weights is not None:
            if isinstance(dataset, Stored):
                raise invalid("weights", "left out for people in a store", self.weights, "Load them first.")
            cells = weighted_cells(dataset.public, self.sets(dataset.public), self.weights)
            return np.asarray(cells @ np.ones(dataset.n))
        return dataset.tabulate(self.sets(dataset.public), secret=False) / self.units(dataset.public)

    def equations(self, public: Public, values: Array) -> Never:
        raise CannotLinearise(
            "Tables of public columns say nothing about a secret. They reveal which rows there are: "
            "use reconstruct_rows."
        )
