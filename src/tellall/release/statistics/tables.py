"""Tables: counts over public columns alone, what people without a secret column publish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Never

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.core.checks import whole
from tellall.core.errors import CannotLinearise, invalid
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Outline, Public
from tellall.release.statistics.base import Statistic, check_scale, check_sets
from tellall.release.statistics.marginals import cell_counts, cells_of, chosen_sets, every_set

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

    Notes
    -----
    Tables come in lexicographic order of their columns, cells in C order: all conjunctions of `ways` columns
    (contingency-tables, Sec. 1.4). They say nothing about a secret that is not among the columns, so they
    have no equations; what they give away is which rows are there: `reconstruct_rows`. One
    person replaced moves two cells of each table by one each: L1 sensitivity 2t, L2 √(2t) for t tables.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [1, 0]])
    >>> Tables(2).values(people).tolist()  # 00, 01, 10, 11
    [0.0, 1.0, 2.0, 1.0]
    """

    ways: int
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    scale: str = "counts"

    def __init__(
        self, ways: int, attributes: Sequence[Sequence[str | int]] | None = None, *, scale: str = "counts"
    ) -> None:
        object.__setattr__(self, "ways", whole("ways", ways))
        object.__setattr__(self, "attributes", check_sets("attributes", attributes, self.ways))
        object.__setattr__(self, "scale", check_scale(scale))

    def describe(self) -> str:
        chosen = "every" if self.attributes is None else f"{len(self.attributes)} chosen"
        return f"{chosen} {self.ways}-way table{'' if self.attributes is None else 's'} of public columns"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The columns of each table, by index."""
        d = len(public.columns)
        if self.attributes is None:
            if self.ways > d:
                raise invalid("ways", f"at most {d}, the public columns", self.ways)
            return every_set(d, self.ways)
        return chosen_sets(public, self.attributes)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public)

    def size(self, public: Outline) -> int:
        return sum(cells_of(public, columns) for columns in self.sets(public))

    def sensitivity(self, public: Outline) -> tuple[float, float]:
        """The L1 and L2 sensitivities of the counts, one person replaced."""
        tables = len(self.sets(public))
        return 2.0 * tables, sqrt(2.0 * tables)

    def membership(self, public: Public) -> LinearOperator:
        """Cells × people: who is in which cell."""
        return cell_counts(public, self.sets(public))

    def units(self, public: Outline) -> float:
        return float(public.n) if self.scale == "fractions" else 1.0

    def values(self, dataset: Dataset | Stored) -> Array:
        return dataset.tabulate(self.sets(dataset.public), secret=False) / self.units(dataset.public)

    def equations(self, public: Public, values: Array) -> Never:
        raise CannotLinearise(
            "Tables of public columns say nothing about a secret. They tell which rows are there: "
            "use reconstruct_rows."
        )
