"""Marginals: tables of the secret with public columns, with every cell. Tables: of public columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod, sqrt
from typing import Never

import numpy as np

from tellall.core.checks import whole
from tellall.core.errors import CannotLinearise, invalid
from tellall.linalg.operators.compose import OnDevice, Partition, RowScale, RowSelect
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import HOST, Array, Device, IntArray, LinearOperator
from tellall.linalg.operators.moments import Moments, subset_rank
from tellall.linalg.operators.sparse import Sparse
from tellall.people.codes import group_rows
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Outline, Public
from tellall.statistics.statistic import (
    MOST_CELLS,
    SCALES,
    Equations,
    Statistic,
    Ways,
    check_scale,
    check_sets,
    check_ways,
    check_weights,
    chosen_sets,
    column_sets,
    counting_type,
    factor_bytes,
    numbers_of,
    packed_or_plain,
    say_ways,
    too_large,
)

__all__ = [
    "RATES",
    "Marginals",
    "Tables",
    "alike_in",
    "cell_counts",
    "cells_of",
    "sizes_of",
    "weighted_cells",
    "weights_of",
]

RATES = "rates"
_WHOLE = 1e-6  # how far a rate times its number of people may be from a whole number
_MOST_MEMBERSHIPS = 500_000_000


@dataclass(frozen=True)
class Marginals(Statistic):
    """Every `ways`-way table of the secret with ways − 1 public columns, all cells.

    Parameters
    ----------
    ways
        The number of columns in each table, including the secret; a list of numbers such as ``[1, 2, 3]`` for
        tables with their totals and subtotals. For people without a secret, :class:`Tables` of this many
        public columns are published instead.
    attributes
        The public column sets to tabulate instead of all of that size: names or indices.
    scale
        "counts", "fractions" of all people, or "rates": the share of each cell's people who have each value
        (percentages are rates after ``Rounding(0.01)``).
    weights
        A public column of weights above zero: cells add up weights instead of people.

    Notes
    -----
    Tables come in lexicographic order of their columns, cells in C order with the secret last, so the values
    alternate between secret = 0 and secret = 1. For the cell of public values c with N_c people,

        value(c, 1) = Σ_{i in c} s_i,        value(c, 0) = N_c − Σ_{i in c} s_i,

    and if the secret has more than two values, each has its own unknowns, value(c, v) = Σ_{i in c} s_iv.
    This is the attribute reduction of the contingency-tables paper (Sec. 2) with every cell
    pattern used, not only "all ones". Replacing one person moves two cells of each table by one each:
    L1 sensitivity 2t, L2 sensitivity √(2t) for t tables. It is public who is in a cell, so a rate times N_c
    is a count whose error is N_c times the rate's. The rates of a cell without people are missing, so that
    one person may decide whether they are: rates have no sensitivity. With weights, s_i is multiplied by w_i
    and N_c becomes W_c = Σ w_i; sums of weights prove nothing.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> Marginals(2).values(people).tolist()
    [1.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0]
    """

    counted_in_stores = True

    ways: Ways
    attributes: tuple[tuple[str | int, ...], ...] | None = None
    scale: str = "counts"
    weights: str | None = None

    def __init__(
        self,
        ways: int | Sequence[int],
        attributes: Sequence[Sequence[str | int]] | None = None,
        *,
        scale: str = "counts",
        weights: str | None = None,
    ) -> None:
        chosen, sets = check_ways(ways, attributes)
        object.__setattr__(self, "ways", chosen)
        object.__setattr__(self, "attributes", sets)
        object.__setattr__(self, "scale", check_scale(scale, (*SCALES, RATES)))
        object.__setattr__(self, "weights", check_weights(weights))
        if weights is not None and scale == "fractions":
            raise invalid("scale", "'counts' or 'rates' if there are weights", scale)
        object.__setattr__(self, "counts_people", scale != RATES and weights is None)

    @property
    def adds_up(self) -> bool:
        return self.counts_people

    @property
    def in_contrasts(self) -> bool:
        return self.counts_people

    def describe(self) -> str:
        rates = "rates in " if self.scale == RATES else ""
        weighted = f" weighted by {self.weights}" if self.weights else ""
        return f"{rates}{say_ways(self.ways, self.attributes)}{weighted}"

    def measured_in(self) -> str:
        if self.scale == RATES:
            return "shares of a cell's people"
        return "units of weight" if self.weights else super().measured_in()

    def sets(self, public: Outline) -> list[tuple[int, ...]]:
        """The public columns of each table, by index."""
        return column_sets(public, self.ways, self.attributes, self.weights)

    def tables(self, public: Outline) -> list[tuple[int, ...]]:
        return self.sets(public)

    def size(self, public: Outline) -> int:
        return 2 * sum(sizes_of(public, self.sets(public)))

    def sensitivity(self, public: Outline) -> tuple[float, float] | None:
        """The L1 and L2 sensitivities of the published numbers, one person replaced; None if unknown.

        They are unknown with weights, since the new person's weight is. Rates have none: a cell that loses
        its only person loses its rates, and no noise hides that they are missing.
        """
        if self.weights is not None or self.scale == RATES:
            return None
        tables = len(self.sets(public))
        return 2.0 * tables, sqrt(2.0 * tables)

    def settle(self, public: Outline, *, secret: bool = True) -> Statistic:
        if secret:
            return self
        if self.attributes is not None or not isinstance(self.ways, int):
            raise invalid("attributes", "left out if there is no secret", "some", "Use Tables.")
        if self.scale == RATES:
            raise invalid("scale", "'counts' or 'fractions' if there is no secret", self.scale)
        return Tables(self.ways, scale=self.scale, weights=self.weights)

    def units(self, public: Outline) -> float:
        return float(public.n) if self.scale == "fractions" else 1.0

    def values(self, dataset: Dataset | Stored) -> Array:
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to tabulate it", "no secret")
        if not dataset.levels:
            raise invalid("secret", "bits or categories, to be tabulated", "real numbers", "Cut it first.")
        sets = self.sets(dataset.public)
        counts: Array
        if self.weights is None:
            counts = dataset.tabulate(sets, secret=True) / self.units(dataset.public)
        else:
            counts = self._weighted(dataset, sets)
        if self.scale != RATES:
            return counts
        each = counts.reshape(-1, dataset.levels)
        with np.errstate(invalid="ignore"):  # a cell without people has no rates
            return np.asarray((each / each.sum(axis=1, keepdims=True)).ravel())

    def _weighted(self, dataset: Dataset | Stored, sets: list[tuple[int, ...]]) -> Array:
        """The total weight of the people in each cell, the secret last."""
        if isinstance(dataset, Stored):
            raise invalid("weights", "left out for people in a store", self.weights, "Load them first.")
        assert dataset.secret is not None, "values asked for it"
        cells = weighted_cells(dataset.public, sets, self.weights)
        own = dataset.secret[:, None] == np.arange(dataset.levels)
        return np.asarray((cells @ own.astype(np.float64)).ravel())

    def serves(self, levels: int) -> str:
        return ""  # numbers are refused when they are tabulated, with what to do

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
        tables = OnDevice.move(weighted_cells(public, sets, self.weights), device)
        cells = tables.shape[0]
        levels = values.size // cells
        people = tables @ np.ones(public.n, dtype=counting_type(public.n) if self.weights is None else float)
        whole_cells = np.repeat(people.astype(np.float64), levels)
        target = values.copy()
        gain: Array | float = 1.0
        if self.scale == RATES:
            gain = whole_cells
            target = values * whole_cells
            near = np.rint(target)
            target = np.where((np.abs(target - near) < _WHOLE) & (self.weights is None), near, target)
        operator: LinearOperator
        if levels == 2:
            rows = np.repeat(np.arange(cells), 2)
            signs = np.tile([-1.0, 1.0], cells)
            operator = RowScale(RowSelect(tables, rows), signs)
            target[0::2] -= people
        else:  # one block of people per value; the cells of a table have the secret last
            order = np.arange(levels * cells).reshape(levels, cells).T.ravel()
            operator = RowSelect(BlockDiagonal([tables] * levels), order)
        if not self.counts_people:  # a cell without people has no rate and no weight
            target = np.where(whole_cells > 0, target, np.nan)
        # sums of weights are inexact in their last digits, so they prove nothing
        doubt = 0.0 if self.weights is None else _WHOLE * np.maximum(whole_cells, 1e-300)
        alike = alike_in(public, sets, self.weights)
        return Equations(operator, target, alike, gain, gain, doubt)


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

    counted_in_stores = True

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


def weights_of(public: Public, weights: str) -> Array:
    """The weights of people: a public column of numbers above zero."""
    numbers = numbers_of(public, public.position(weights, "weights"), "to be used as weights")
    if not (numbers > 0).all():
        raise invalid("weights", "a column of numbers above zero", f"{int((numbers <= 0).sum())} others")
    return numbers


def weighted_cells(public: Public, sets: list[tuple[int, ...]], weights: str | None) -> LinearOperator:
    """The operator that adds up people, or their weights, in every cell of every table."""
    counts = cell_counts(public, sets)
    if weights is None:
        return counts
    return Sparse(counts.to_sparse().multiply(weights_of(public, weights)[None, :]))


def alike_in(public: Public, sets: Sequence[tuple[int, ...]], weights: str | None) -> IntArray:
    """A label per person; people in the same cells with the same weight have equal labels."""
    used = sorted({column for columns in sets for column in columns})
    if len(used) == len(public.columns) and weights is None:
        return public.patterns.index
    labels = [np.asarray(public.codes[column]) for column in used]
    if weights is not None:
        labels.append(np.unique(weights_of(public, weights), return_inverse=True)[1].ravel())
    return group_rows(np.stack(labels)).index if labels else np.zeros(public.n, dtype=np.intp)


def cells_of(public: Outline, columns: tuple[int, ...]) -> int:
    """How many cells the table of these columns has."""
    return prod(public.levels[column] for column in columns)


def sizes_of(public: Outline, sets: Sequence[tuple[int, ...]]) -> list[int]:
    """How many cells the table of each set of columns has."""
    levels = public.levels
    return [prod([levels[column] for column in columns]) for columns in sets]


def cell_counts(public: Public, sets: list[tuple[int, ...]]) -> LinearOperator:
    """The operator that counts the people in every cell of every table."""
    sizes = sizes_of(public, sets)
    if 2 * sum(sizes) > MOST_CELLS:
        raise too_large("cells", 2 * sum(sizes))
    if _products_are_cheaper(public, sets):
        return _as_moments(public, sets)
    if len(sets) * public.n > _MOST_MEMBERSHIPS:
        raise too_large("tables × people", len(sets) * public.n)
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
    """Whether matrix products over indicators beat counting, as for all tables of columns with few values.

    A product costs about 2 L^k/k! · n flops for L indicators. Counting costs C(d, k) · n memory accesses,
    each as slow as some hundred flops; measured on this code, the two cross near a factor of 100.
    """
    k = len(sets[0]) if sets else 0
    d = len(public.columns)
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

    `sets` has one row per table. All cells of all tables are done at once, by the digits of their indices.
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
