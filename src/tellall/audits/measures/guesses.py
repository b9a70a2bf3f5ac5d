"""Guesses: what a reader would put in place of published values that are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np

from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Dataset
from tellall.release.release import Release
from tellall.statistics.cells import CellNumbers
from tellall.statistics.marginals import Marginals
from tellall.statistics.statistic import CellLayout, tables_of

__all__ = ["dropped_error", "filled_in", "from_smaller"]


def dropped_error(clean: Release, dataset: Dataset, instead: Release | None = None) -> float:
    """The mean absolute error for a reader who sees nothing of a release and knows its overall rates.

    With ``instead``, tables of fewer columns that are published in its place, their rates are known as well.
    """
    guess = None if instead is None else from_smaller(clean, instead, dataset)
    if guess is None:
        guess = filled_in(clean.values, clean.values, clean, dataset)
    off = np.abs(guess - clean.values)
    return float(np.nanmean(off)) if (~np.isnan(off)).any() else 0.0


def filled_in(clean: Array, shown: Array, release: Release, dataset: Dataset) -> Array:
    """What a reader would put in place of each withheld value.

    In a table of counts the cell's number of people, which is public, times the rate that the shown cells
    have; in a table of sums or means what these people would have if everybody were like those in the shown
    cells; elsewhere the mean of the shown values; zero if nothing is shown.
    """
    statistic = release.statistic
    if isinstance(statistic, CellNumbers):
        return _numbers(statistic, shown, dataset)
    tables = tables_of(release.statistic, dataset.public, dataset.levels)
    if not len(tables):
        return np.full(shown.shape, float(np.nanmean(shown)) if not np.isnan(shown).all() else 0.0)
    people, levels = np.empty(shown.size), tables.shapes[0][-1]
    for shape, _, cells in tables.alike():
        exact = clean[cells].reshape(len(cells), -1, shape[-1])
        everybody = np.broadcast_to(exact.sum(axis=2, keepdims=True), exact.shape)
        people[cells.ravel()] = everybody.reshape(len(cells), -1).ravel()
    value = np.arange(shown.size) % levels  # the secret is the last axis of every table
    guess = np.zeros(shown.size)
    for level in range(levels):
        seen = (value == level) & ~np.isnan(shown)
        total = float(people[seen].sum())
        guess[value == level] = people[value == level] * (float(shown[seen].sum()) / total if total else 0.0)
    return guess


def _numbers(statistic: CellNumbers, shown: Array, dataset: Dataset) -> Array:
    """The number of every cell if everybody in it were like those in the cells that are shown."""
    both = replace(statistic, counts=True).values(dataset)
    people = both[both.size // 2 :]
    numbers = shown[: people.size]
    seen = ~np.isnan(numbers) & (people > 0)
    factor = np.asarray(statistic.factors(np.maximum(people, 1.0)))
    total = float(people[seen].sum())
    usual = float((numbers[seen] / factor[seen]).sum()) / total if total else 0.0
    guess = np.where(people > 0, usual * people * factor, np.nan_to_num(numbers))
    return np.concatenate([guess, people]) if shown.size > people.size else guess


def from_smaller(clean: Release, smaller: Release, dataset: Dataset) -> Array | None:
    """The counts of larger tables guessed from published smaller ones; None if these are no parts of them.

    In each cell, its number of people, which is public, times the mean of the rates that the smaller tables
    have for people with these values. A rate that is not shown is that of all shown cells together.
    """
    own, other = clean.statistic, smaller.statistic
    if not isinstance(own, Marginals) or not isinstance(other, Marginals):
        return None
    large, small = (tables_of(one, dataset.public, dataset.levels) for one in (own, other))
    rates = {columns: _rates(table) for columns, table in _tables(small, smaller.values)}
    out = []
    for columns, table in _tables(large, clean.values):
        parts = [
            _spread(rate, used, columns) for used, rate in rates.items() if used and set(used) <= set(columns)
        ]
        if not parts:
            return None
        out.append((table.sum(axis=-1, keepdims=True) * np.mean(np.broadcast_arrays(*parts), axis=0)).ravel())
    return np.concatenate(out) if out else None


def _tables(layout: CellLayout, values: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
    ends = np.cumsum([0, *(prod(shape) for shape in layout.shapes)])
    for columns, shape, (begin, end) in zip(layout.columns, layout.shapes, pairwise(ends), strict=True):
        yield columns, values[begin:end].reshape(shape)


def _rates(table: Array) -> Array:
    """The share of each value of the secret in every cell."""
    counts = np.maximum(table, 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    known = np.nansum(counts.reshape(-1, counts.shape[-1]), axis=0)
    usual = known / known.sum() if known.sum() else np.full(known.size, 1 / known.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isfinite(total) & (total > 0), counts / total, usual)


def _spread(rate: Array, used: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """The rates of a smaller table along the axes of a larger one, the secret last."""
    at = [columns.index(column) for column in used]
    order = np.argsort(at)
    turned = np.transpose(rate, (*order.tolist(), rate.ndim - 1))
    shape = [1] * len(columns) + [rate.shape[-1]]
    for axis, size in zip(sorted(at), turned.shape, strict=False):
        shape[axis] = size
    return turned.reshape(shape)
