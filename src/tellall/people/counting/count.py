"""count_cells: how many people are in each cell of each table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.core.work import Progress
from tellall.people.counting.stored import Stored, scan
from tellall.people.counting.tally import refuse_too_many, with_secret
from tellall.people.dataset import Dataset, Outline, Public

__all__ = [
    "Cells",
    "count_cells",
]


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The cells of some tables.

    Attributes
    ----------
    names, levels
        The columns and how many categories each has; the secret, if tabulated, comes last.
    sets
        The columns of each table, by index.
    counts
        People per cell: the tables one after the other, cells in C order.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    sets: Sequence[tuple[int, ...]]
    counts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def _found(self) -> dict[tuple[int, ...], tuple[tuple[int, ...], int]]:
        """By the sorted columns of a table: their order in it, and where it begins among the counts."""
        starts = accumulate((prod(self._shape(chosen)) for chosen in self.sets), initial=0)
        return {tuple(sorted(chosen)): (chosen, at) for chosen, at in zip(self.sets, starts, strict=False)}

    def _shape(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.levels[index] for index in chosen)

    def table(self, *names: str) -> npt.NDArray[np.int64]:
        """The table over these columns, with one axis for each in this order."""
        asked = tuple(self.names.index(name) if name in self.names else -1 for name in names)
        if tuple(sorted(asked)) not in self._found:
            raise invalid("names", "the columns of a table that was counted", ", ".join(names))
        chosen, begin = self._found[tuple(sorted(asked))]
        shape = self._shape(chosen)
        table = self.counts[begin : begin + prod(shape)].reshape(shape)
        return table.transpose([chosen.index(index) for index in asked])

    def __repr__(self) -> str:
        return f"Cells({len(self)} tables, {self.counts.size} cells)"


def count_cells(
    people: Dataset | Public | Stored | str | Path | Any,
    ways: int | None = None,
    attributes: Sequence[Sequence[str | int]] | None = None,
    *,
    secret: bool | None = None,
    progress: Progress | None = None,
) -> Cells:
    """The number of people in every cell of every `ways`-way table.

    Parameters
    ----------
    people
        People in memory, people in a store (`scan`), or anything that ``scan`` accepts: the path of
        Parquet files, an Ibis table, a Spark frame.
    ways
        The number of columns in each table, including the secret if it is tabulated.
    attributes
        The sets of public columns to tabulate instead of all of that size: names or indices.
    secret
        Whether the secret is the last column of every table; by default, if it can be tabulated.
    progress
        Called with (people counted, people in all).

    Notes
    -----
    Tables come in lexicographic order of their columns, cells in C order. People in memory and in Parquet
    files are read in chunks of bits and counted by AND and popcount (:class:`CellTally`); a cluster groups
    them itself. The numbers are the same either way.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1], names=["old", "rich"])
    >>> cells = count_cells(people, 2)
    >>> cells.table("old", "secret").tolist()
    [[1, 0], [0, 2]]
    >>> count_cells(people, 2, secret=False).counts.tolist()  # 00, 01, 10, 11
    [0, 1, 1, 1]
    """
    if not isinstance(people, Dataset | Public | Stored):
        people = scan(people)
    layout: Outline = people if isinstance(people, Public) else people.public
    levels, name = _secret_levels(people, secret)
    sets = _sets(layout, ways, attributes, int(levels > 0))
    holder = Dataset(people) if isinstance(people, Public) else people
    counts = holder.tabulate(sets, secret=levels > 0, progress=progress)
    names = (*layout.names, name) if levels else layout.names
    return Cells(names, *with_secret(layout.levels, sets, levels), counts)


def _cells_of_all(levels: Sequence[int], k: int) -> int:
    """How many cells all k-way tables have: the k-th elementary symmetric polynomial of the levels."""
    sums = [1] + [0] * k
    for level in levels:
        for size in range(k, 0, -1):
            sums[size] += level * sums[size - 1]
    return sums[k]


def _secret_levels(people: Dataset | Public | Stored, secret: bool | None) -> tuple[int, str]:
    """How many values the secret has, and its name; zero if it is in no table."""
    if isinstance(people, Public) or people.secret is None:
        if secret:
            raise invalid("people", "people with a secret, to tabulate it", "no secret")
        return 0, ""
    if secret is False or (secret is None and not people.levels):
        return 0, ""
    if not people.levels:
        raise invalid("secret", "bits or categories, to be tabulated", "real numbers", "Cut it first.")
    return people.levels, people.secret_name


def _sets(
    layout: Outline, ways: int | None, attributes: Sequence[Sequence[str | int]] | None, with_secret: int
) -> list[tuple[int, ...]]:
    """The public columns of each table, by index."""
    d = len(layout.columns)
    if attributes is None:
        least, most = with_secret, d + with_secret
        k = whole("ways", ways, least, most) - with_secret
        refuse_too_many(_cells_of_all(layout.levels, k))  # before the sets are listed
        return list(combinations(range(d), k))
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        raise invalid("attributes", "a list of sets of columns", attributes)
    sets = []
    for names in attributes:
        listed = [names] if isinstance(names, str | int | np.integer) else list(names)
        chosen = tuple(layout.position(name) for name in listed)
        if len(set(chosen)) < len(chosen):
            raise invalid("attributes", "sets of different columns", names)
        if ways is not None and len(chosen) != ways - with_secret:
            raise invalid("attributes", f"sets of {ways - with_secret} public columns", names)
        sets.append(chosen)
    return sets
