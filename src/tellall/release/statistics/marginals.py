"""Marginals: tables of the secret with public columns, every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod, sqrt

import numpy as np

from tellall.algebra.operators.base import HOST, Array, Device, IntArray, LinearOperator
from tellall.algebra.operators.compose import OnDevice, Partition, RowScale, RowSelect
from tellall.algebra.operators.diagonal import BlockDiagonal
from tellall.algebra.operators.moments import Moments, subset_rank
from tellall.core.checks import whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.bits import group_rows
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Outline, Public
from tellall.release.equations import Equations
from tellall.release.statistics.base import (
    Statistic,
    check_scale,
    check_sets,
    counting_type,
    factor_bytes,
    packed_or_plain,
)

__all__ = ["Marginals", "cell_counts", "cells_of"]

_MOST_CELLS = 50_000_000
_MOST_MEMBERSHIPS = 500_000_000


@dataclass(frozen=True)
class Marginals(Statistic):
    """Every `ways`-way table of the secret with ways − 1 public columns, all cells.

    Parameters
    ----------
    ways
        The number of columns in each table, the secret among them. People without a secret publish
        :class:`Tables` of this many public columns instead.
    attributes
        The public column sets to tabulate instead of all of that size: names or indices.
    scale
        "counts", or "fractions" of all people.

    Notes
    -----
    Tables come in lexicographic order of their columns, cells in C order with the secret last, so the values
    alternate between secret = 0 and secret = 1. For the cell of public values c with N_c people,

        value(c, 1) = Σ_{i in c} s_i,        value(c, 0) = N_c − Σ_{i in c} s_i,

    and of a secret of more than two values every value has its own unknowns, value(c, v) = Σ_{i in c} s_iv:
    which is the attribute reduction of the contingency-tables paper (Sec. 2) with every cell
    pattern used, not only "all ones". One person replaced moves two cells of each table by one each:
    L1 sensitivity 2t, L2 sensitivity √(2t) for t tables.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> Marginals(2).values(people).tolist()
    [1.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0]
    """

    ways: int
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    scale: str = "counts"

    def __init__(
        self,
        ways: int,
        attributes: Sequence[Sequence[str | int]] | None = None,
        *,
        scale: str = "counts",
    ) -> None:
        object.__setattr__(self, "ways", whole("ways", ways, also=", the secret counted"))
        object.__setattr__(self, "attributes", check_sets("attributes", attributes, self.ways - 1))
        object.__setattr__(self, "scale", check_scale(scale))

    @property
    def adds_up(self) -> bool:
        return True

    def describe(self) -> str:
        count = None if self.attributes is None else len(self.attributes)
        chosen = "every" if count is None else f"{count} chosen"
        return f"{chosen} {self.ways}-way table{'' if count in (None, 1) else 's'}"

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The public columns of each table, by index."""
        d, k = len(public.columns), self.ways - 1
        if self.attributes is None:
            if k > d:
                raise invalid("ways", f"at most {d + 1}, the public columns and the secret", self.ways)
            return every_set(d, k)
        return chosen_sets(public, self.attributes)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public)

    def size(self, public: Outline) -> int:
        return 2 * sum(sizes_of(public, self.sets(public)))

    def sensitivity(self, public: Outline) -> tuple[float, float]:
        """The L1 and L2 sensitivities of the counts, one person replaced."""
        tables = len(self.sets(public))
        return 2.0 * tables, sqrt(2.0 * tables)

    def settle(self, public: Outline, *, secret: bool = True) -> Statistic:
        from tellall.release.statistics.tables import Tables

        if secret:
            return self
        if self.attributes is not None:
            raise invalid("attributes", "left out where there is no secret", "some", "Use Tables.")
        return Tables(self.ways, scale=self.scale)

    def units(self, public: Outline) -> float:
        return float(public.n) if self.scale == "fractions" else 1.0

    def values(self, dataset: Dataset | Stored) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to tabulate it", "no secret")
        if not dataset.levels:
            raise invalid("secret", "bits or categories, to be tabulated", "real numbers", "Cut it first.")
        return dataset.tabulate(self.sets(dataset.public), secret=True) / self.units(dataset.public)

    def size_for(self, public: Outline, levels: int) -> int:
        return self.size(public) // 2 * whole("levels", levels, 2, also=", for a table")

    def memory(self, public: Public, *, packed: bool = False) -> int:
        sets = self.sets(public)
        if not _products_are_cheaper(public, sets):
            return 4 * public.n * len(sets)
        return factor_bytes(sum(public.levels), public.n, packed=packed)

    def equations(self, public: Public, values: Array) -> Equations:
        return self.equations_on(HOST, public, values)

    def equations_on(self, device: Device, public: Public, values: Array) -> Equations:
        sets = self.sets(public)
        tables = OnDevice.move(cell_counts(public, sets), device)
        cells = tables.shape[0]
        levels = values.size // cells
        target = values.copy()
        operator: LinearOperator
        if levels == 2:
            rows, signs = np.repeat(np.arange(cells), 2), np.tile([-1.0, 1.0], cells)
            operator = RowScale(RowSelect(tables, rows), signs)
            target[0::2] -= tables @ np.ones(public.n, dtype=counting_type(public.n))
        else:  # one block of people per value; the cells of a table have the secret last
            order = np.arange(levels * cells).reshape(levels, cells).T.ravel()
            operator = RowSelect(BlockDiagonal([tables] * levels), order)
        used = sorted({column for columns in sets for column in columns})
        if len(used) == len(public.columns):
            return Equations(operator, target, public.patterns.index)
        alike = group_rows(public.codes[used]).index if used else np.zeros(public.n, dtype=np.intp)
        return Equations(operator, target, alike)


def every_set(d: int, k: int) -> list[tuple[int, ...]]:
    """All sets of k of d columns, where they can be listed."""
    if comb(d, k) > _MOST_CELLS:  # each has a cell or more
        raise _too_large("tables", comb(d, k))
    return list(combinations(range(d), k))


def chosen_sets(public: Outline, attributes: Sequence[Sequence[str | int]]) -> list[tuple[int, ...]]:
    """The chosen sets of columns, by index."""
    chosen = [tuple(public.position(name) for name in names) for names in attributes]
    for names, columns in zip(attributes, chosen, strict=True):
        if len(set(columns)) < len(columns):
            raise invalid("attributes", "sets of different columns", names)
    return chosen


def cells_of(public: Outline, columns: tuple[int, ...]) -> int:
    """How many cells the table of these columns has."""
    return prod(public.levels[column] for column in columns)


def sizes_of(public: Outline, sets: Sequence[tuple[int, ...]]) -> list[int]:
    """How many cells the table of each set of columns has."""
    levels = public.levels
    return [prod([levels[column] for column in columns]) for columns in sets]


def cell_counts(public: Public, sets: list[tuple[int, ...]]) -> LinearOperator:
    """The operator that counts people per cell, for every table."""
    sizes = sizes_of(public, sets)
    if 2 * sum(sizes) > _MOST_CELLS:
        raise _too_large("cells", 2 * sum(sizes))
    if _products_are_cheaper(public, sets):
        return _as_moments(public, sets)
    if len(sets) * public.n > _MOST_MEMBERSHIPS:
        raise _too_large("tables × people", len(sets) * public.n)
    offsets = np.cumsum([0, *sizes[:-1]])
    codes = np.empty((len(sets), public.n), dtype=np.int32)
    for row, columns, offset in zip(codes, sets, offsets, strict=True):
        row[:] = offset + _flat_codes(public, columns)
    k = len(sets[0]) if sets else 0
    every = (np.asarray(public.codes), k) if k and _is_every(sets, len(public.columns), k) else None
    return Partition(codes, sum(sizes), every=every)


def _flat_codes(public: Public, columns: tuple[int, ...]) -> IntArray:
    """The cell of each person in C order."""
    flat = np.zeros(public.n, dtype=np.int32)
    for column in columns:
        flat = flat * np.int32(public.levels[column]) + public.codes[column]
    return flat


def _products_are_cheaper(public: Public, sets: list[tuple[int, ...]]) -> bool:
    """Whether matrix products over indicators beat counting: all tables of few-valued columns.

    A product costs about 2 L^k/k! · n flops for L indicators, counting C(d, k) · n memory accesses of some
    hundred flops' time each; measured on this code, the two cross near a factor of 100.
    """
    k, d = (len(sets[0]) if sets else 0), len(public.columns)
    if k not in (2, 3) or not _is_every(sets, d, k):
        return False
    return bool(2 * sum(public.levels) ** k / factorial(k) < 100 * comb(d, k))


def _is_every(sets: list[tuple[int, ...]], d: int, k: int) -> bool:
    """Whether these are all sets of k of d columns, in lexicographic order."""
    return len(sets) == comb(d, k) and sets == list(combinations(range(d), k))


def _as_moments(public: Public, sets: list[tuple[int, ...]]) -> LinearOperator:
    """The cells as products of the indicators "column = value", in the order of the tables."""
    k = len(sets[0])
    starts = np.cumsum([0, *public.levels])
    levels = zip(public.codes, public.levels, strict=True)
    indicators = (codes == value for codes, count in levels for value in range(count))
    rows = _moment_rows(np.array(sets), np.array(public.levels), starts)
    return RowSelect(Moments(packed_or_plain(indicators, int(starts[-1]), public.n), k), rows)


def _moment_rows(sets: IntArray, levels: IntArray, starts: IntArray) -> IntArray:
    """The indices of the tables' cells among all products of indicators, in lexicographic order.

    One row of `sets` per table; all cells of all tables at once, by the digits of their numbers.
    """
    sizes = levels[sets].prod(axis=1)
    table = np.repeat(np.arange(len(sets)), sizes)
    rest = np.arange(table.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen: list[IntArray] = []
    for columns in sets.T[::-1]:  # the last column's value changes fastest
        here = columns[table]
        chosen.insert(0, starts[here] + rest % levels[here])
        rest = rest // levels[here]
    return subset_rank(np.stack(chosen, axis=-1), int(starts[-1]))


def _too_large(what: str, count: int) -> InvalidInput:
    return invalid(
        "tables",
        f"of a manageable size ({what})",
        f"{count:,}",
        "Use fewer columns, ways or bins, or choose tables.",
    )
