"""Contrasts: complete tables expressed as sums and differences of their cells, each of them once.

This table says how decoders see each table. Bounds, intervals and proofs always use cells.

================================================================= =============== =====================
a table with                                                      least squares,  LP
                                                                  posterior
================================================================= =============== =====================
a hidden cell, or a value that gives no equation                  cells           cells
errors whose size depends on the value, or that cells share       cells           cells
rounding that is larger than its noise                            cells           cells
more than three columns                                           cells           cells
gross errors, declared or detected                                both            both
a column of more than two values                                  cells           contrasts
none of these                                                     contrasts       contrasts
================================================================= =============== =====================

The contrasts of two-valued columns are products of signs, which suit message passing. With more values,
contrasts have no zeros, while rows of cells are mostly zeros. A contrast combines all cells of a table and
all their errors, so one wrong cell spoils every contrast of its table. If gross errors hit whole tables,
contrasts isolate them; if they are scattered, cells do. With gross errors both are therefore tried, and the
answer that agrees with more of the cells is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from tellall.evidence.evidence import Contrasts, Evidence, InContrasts, ReleaseEquations, Rows, System
from tellall.linalg.operators.compose import RowSelect, Stack, first_of_each
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.operators.moments import Moments, Packed, subset_rank
from tellall.people.dataset import Public
from tellall.statistics.statistic import COUNT_FLOOR, CellLayout, packed_or_plain

__all__ = ["CELLS", "EVERY", "SIGNS", "CompleteTables", "meet_intervals", "orthogonal", "say"]

CELLS, SIGNS, EVERY = "cells", "signs", "every"  # no contrasts, those of two-valued columns, all of them

_MOST_COLUMNS = 3  # of a table: products of more columns have no operator
_SAME = 1e-9  # relative: spreads this near are one
_ODD = 5.0  # a contrast this many standard deviations from the median is not averaged with the others

Mask = npt.NDArray[np.bool_]


def say(evidence: Evidence, tables: str, *, intervals: bool, pairs: bool = False) -> System | None:
    """The equations in the form that decoders take; None if that changes nothing.

    Complete tables become contrasts, as far as ``tables`` says. Rounded counts of the same people share one
    interval; with ``pairs``, counts of those with and of those without the secret keep separate ones.
    ``intervals`` says whether to include the intervals of hidden values.
    """
    parts = [part if intervals else part.shown for part in evidence.parts]
    said = [_in_contrasts(part, tables) for part in parts]
    operator = said[0][0] if len(said) == 1 else Stack([each for each, _ in said])
    rows = Rows.concat([each for _, each in said])
    met = meet_intervals(operator, rows, pairs=pairs)
    if met is None and all(part.contrasts(tables) is None for part in evidence.parts):
        return None
    return evidence.grouped_system(*(met or (operator, rows)))


def _in_contrasts(part: ReleaseEquations, tables: str) -> tuple[LinearOperator, Rows]:
    """Operator and rows with complete tables as contrasts and the other values unchanged."""
    said = part.contrasts(tables)
    if said is None:
        return part.operator, part.rows
    others = np.flatnonzero(~said.covered[part.index] | part.rows.unseen)
    if not others.size:
        return said.operator, said.rows
    cells = RowSelect(part.source, part.index[others])
    return Stack([said.operator, cells]), Rows.concat([said.rows, part.rows.take(others)])


def meet_intervals(
    operator: LinearOperator, rows: Rows, *, pairs: bool = False
) -> tuple[LinearOperator, Rows] | None:
    """The same with one interval for all rounded counts of the same people; None if no two can be merged.

    Notes
    -----
    A value that was only rounded to the nearest multiple lies in a certain interval, and so does a value
    hidden under a threshold. The yes and the no cell of a table give two such intervals for one count, and a
    table of the same people under other names repeats them. Their errors are not independent and do not
    average out. Rows equal up to sign are found by two random projections. Intervals that exclude each other
    are unchanged. With ``pairs``, rows of different sign are not merged.
    """
    sharp = (rows.slack > 0) & (rows.bound <= rows.slack * (1 + _SAME)) & (rows.rest <= COUNT_FLOOR)
    if not sharp.any():
        return None
    draws = np.random.default_rng(0).normal(size=(operator.shape[1], 2))
    prints = np.asarray(operator @ draws, dtype=np.float64)[sharp]
    sign = np.where((prints[:, 0] < 0) & (not pairs), -1.0, 1.0)
    keys = np.round(sign[:, None] * prints, 7)
    first, index = first_of_each(keys)
    chosen = np.flatnonzero(sharp)
    if first.size == chosen.size:
        return None
    low = np.full(first.size, -np.inf)
    high = np.full(first.size, np.inf)
    middle = sign * rows.target[chosen]
    half = rows.slack[chosen]
    np.maximum.at(low, index, middle - half)
    np.minimum.at(high, index, middle + half)
    possible = high > low
    keep = np.flatnonzero(~sharp)
    apart = chosen[~possible[index]]
    seen = np.zeros(first.size, dtype=bool)
    np.logical_or.at(seen, index, ~rows.unseen[chosen])
    met = chosen[first][possible]
    turned = sign[first][possible]
    slack = (high - low)[possible] / 2
    spread = np.hypot(rows.rest[met], slack / np.sqrt(3))
    merged = Rows(
        turned * (high + low)[possible] / 2,
        spread,
        spread,
        slack - (rows.slack[met] - rows.bound[met]),
        slack,
        rows.rest[met],
        ~seen[possible],
    )
    others = np.concatenate([keep, apart])
    index = np.concatenate([others, met])
    return RowSelect(operator, index), Rows.concat([rows.take(others), merged])


@dataclass(frozen=True, eq=False)
class _Terms:
    """Contrasts of single tables.

    ``key`` says which product of columns each one is; ``assumed`` and ``declared`` are variances of its
    error, ``reach`` is its largest possible error.
    """

    key: IntArray
    value: Array
    assumed: Array
    declared: Array
    reach: Array

    @classmethod
    def concat(cls, parts: list[_Terms]) -> _Terms:
        names = ("key", "value", "assumed", "declared", "reach")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def orthogonal(levels: int) -> Array:
    """A square matrix F with F Fᵀ = levels · I whose first row is ones; each further row is a contrast.

    For two values, the signs (−1, 1); for more, each value against the mean of those before it (Helmert).

    Examples
    --------
    >>> orthogonal(2).tolist()
    [[1.0, 1.0], [-1.0, 1.0]]
    """
    rows = [np.ones(levels)]
    for j in range(1, levels):
        row = np.where(np.arange(levels) < j, -1.0, np.where(np.arange(levels) == j, float(j), 0.0))
        rows.append(row * np.sqrt(levels / (j * (j + 1))))
    return np.array(rows)


@dataclass(frozen=True, eq=False)
class CompleteTables(InContrasts):
    """Published tables that can be expressed as contrasts.

    Attributes
    ----------
    layout, rows
        Where the tables lie, and a row for every published value.
    gross
        Whether some values have gross errors; the errors of contrasts are then computed without them.

    Notes
    -----
    Let y_b be the number of people with the secret in cell b of a table, estimated from its two published
    values as (yes − no + people)/2. For every set S of the table's columns and a contrast f_j of each,
    w = Σ_b Π_{j ∈ S} f_j(b_j) y_b = Σ_people s Π_{j ∈ S} f_j(x_j), with an error of variance Σ var(y_b):
    Π_{j ∈ S} (2 x_j − 1) where columns have two values (Walsh). Under independent normal errors of one size
    nothing is lost, since the transform is orthogonal. Tables with the same S give the same w: these are
    averaged by their variances, without those that are five standard deviations off the median.
    """

    public: Public
    layout: CellLayout
    rows: Rows
    gross: bool = False

    def contrasts(self, tables: str) -> Contrasts | None:
        """The contrasts of every table, or with SIGNS only of two-valued columns without gross errors."""
        if tables == CELLS or (tables == SIGNS and self.gross):
            return None
        return self._signs if tables == SIGNS else self._every

    @cached_property
    def _signs(self) -> Contrasts | None:
        return self._contrasts(2)

    @cached_property
    def _every(self) -> Contrasts | None:
        return self._contrasts(None)

    def _contrasts(self, levels: int | None) -> Contrasts | None:
        public = self.public
        rows = self._errors
        values = self.layout.shapes[0][-1]
        covered = np.zeros(len(rows), dtype=bool)
        starts = np.cumsum([0, *(each - 1 for each in public.levels)])
        terms: dict[tuple[int, int], list[_Terms]] = {}  # by value of the secret and number of columns
        for shape, tables, cells in self.layout.alike():
            if len(shape) > _MOST_COLUMNS + 1 or (levels and set(shape[:-1]) != {levels}):
                continue
            good = _complete(rows, cells)
            columns = np.array([self.layout.columns[table] for table in tables[good]], dtype=np.intp)
            if not columns.size:
                continue
            covered[cells[good]] = True
            for value, said in enumerate(_counts(rows, cells[good], values)):
                for order, found in _transformed(starts[columns], said, shape[:-1], int(starts[-1])):
                    terms.setdefault((value, order), []).append(found)
        if not terms:
            return None
        factor = _factor(public)
        operators: list[list[LinearOperator]] = [[] for _ in range(1 if values == 2 else values)]
        parts: list[list[Rows]] = [[] for _ in operators]
        for (value, order), each in terms.items():
            key, averaged = _average(_Terms.concat(each))
            operators[value].append(_products(factor, order, key))
            parts[value].append(averaged)
        stacks = [Stack(each) for each in operators]
        operator = stacks[0] if len(stacks) == 1 else BlockDiagonal(stacks)
        return Contrasts(operator, Rows.concat([rows for part in parts for rows in part]), covered)

    @property
    def _errors(self) -> Rows:
        """The rows with the errors that contrasts add up; without gross errors, if there are some."""
        if not self.gross:
            return self.rows
        usual = np.hypot(self.rows.rest, self.rows.slack / np.sqrt(3))
        return replace(self.rows, std=usual, spread=usual)


def _complete(rows: Rows, cells: IntArray) -> Mask:
    """Which tables are shown completely, with errors of one size that are mostly not rounding."""
    spread = rows.spread[cells]
    rest = rows.rest[cells]
    slack = rows.slack[cells]
    shown = ~np.isnan(rows.target[cells]).any(axis=1) & np.isfinite(rows.std[cells]).all(axis=1)
    even = spread.max(axis=1) <= (1 + _SAME) * spread.min(axis=1)  # true where all are infinite
    out: Mask = shown & even & (slack <= rest).all(axis=1)
    return out


def _counts(rows: Rows, cells: IntArray, values: int) -> list[list[Array]]:
    """For each unknown of a person, the cells' counts, assumed and declared variances, and bounds."""
    # the values of a table alternate between those of the secret
    bound = np.maximum(rows.bound[cells], 0.0)
    each = (rows.target[cells], rows.spread[cells] ** 2, rows.std[cells] ** 2, bound)
    if values > 2:
        return [[part[:, value::values] for part in each] for value in range(values)]
    no, yes = ([part[:, value::2] for part in each] for value in range(2))
    variances = [(yes[part] + no[part]) / 4 for part in (1, 2)]
    return [[(yes[0] - no[0]) / 2, *variances, (yes[3] + no[3]) / 2]]


def _transformed(
    first: IntArray, said: list[Array], shape: tuple[int, ...], total: int
) -> Iterator[tuple[int, _Terms]]:
    """The contrasts of tables of one shape, by the number of columns in each.

    ``first`` is the first factor row of each table's columns (tables × columns); there are ``total`` rows.
    """
    matrices = [orthogonal(levels) for levels in shape]
    value = _along(said[0], matrices)
    bounded = np.isfinite(said[3])
    reach = _along(np.where(bounded, said[3], 0.0), [np.abs(matrix) for matrix in matrices])
    reach[~bounded.all(axis=1)] = np.inf
    cells = float(np.prod(shape))
    variances = [cells * part.mean(axis=1) for part in said[1:3]]  # each row has squares of sum `cells`
    for chosen in product((False, True), repeat=len(shape)):
        part = (slice(None), *(slice(1, None) if inside else slice(0, 1) for inside in chosen))
        size = [levels - 1 if inside else 1 for levels, inside in zip(shape, chosen, strict=True)]
        steps = np.indices(size).reshape(len(size), -1).T  # entries × columns
        inside = np.flatnonzero(chosen)
        index = np.sort(first[:, None, inside] + steps[None, :, inside], axis=2)
        assumed, declared = (np.repeat(variance, steps.shape[0]) for variance in variances)
        key = subset_rank(index, total).ravel()
        found = _Terms(key, value[part].ravel(), assumed, declared, reach[part].ravel())
        yield inside.size, found


def _along(counts: Array, matrices: list[Array]) -> Array:
    """The matrices applied to the axes of each table."""
    out = counts.reshape(-1, *(matrix.shape[1] for matrix in matrices))
    for axis, matrix in enumerate(matrices, start=1):
        out = np.moveaxis(np.tensordot(matrix, out, axes=(1, axis)), 0, axis)
    return out


def _average(terms: _Terms) -> tuple[IntArray, Rows]:
    """The key of each distinct contrast, and its row averaged over all tables that have it."""
    order = np.lexsort((terms.value, terms.key))
    key, first, index, count = np.unique(
        terms.key[order], return_index=True, return_inverse=True, return_counts=True
    )
    value = terms.value[order]
    assumed = terms.assumed[order]
    middle = value[first + count // 2]  # within a key values are sorted
    near = np.abs(value - middle[index]) <= _ODD * np.sqrt(assumed)
    weight = np.where(near | (count[index] < 3), 1 / assumed, 0.0)
    total = _sums(index, weight)
    share = weight / total[index]
    std = np.sqrt(_sums(index, share**2 * terms.declared[order]))
    bounded = np.isfinite(terms.reach[order])
    bound = _sums(index, share * np.where(bounded, terms.reach[order], 0.0))
    bound[index[~bounded]] = np.inf
    spread = 1 / np.sqrt(total)
    none = np.zeros(key.size)
    return key, Rows(_sums(index, share * value), std, spread, bound, none, spread, none.astype(bool))


def _sums(index: IntArray, values: Array) -> Array:
    return np.bincount(index, values).astype(np.float64, copy=False)


def _factor(public: Public) -> Array | Packed:
    """The contrasts of every column for every person; rows of signs if all columns have two values."""
    if set(public.levels) == {2}:
        bits = packed_or_plain((codes == 1 for codes in public.codes), len(public.levels), public.n)
        return replace(bits, low=-1.0) if isinstance(bits, Packed) else 2 * bits - 1
    coded = zip(public.codes, public.levels, strict=True)
    return np.vstack([orthogonal(levels)[1:, codes] for codes, levels in coded])


def _products(factor: Array | Packed, order: int, key: IntArray) -> LinearOperator:
    """The products of ``order`` factor rows, chosen by rank."""
    if order == 0:
        return Moments(Packed.ones(1, factor.shape[1]), 1)
    everything = Moments(factor, order)
    return everything if key.size == everything.shape[0] else RowSelect(everything, key)
