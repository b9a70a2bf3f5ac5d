"""CellTally: a plan of what to count; people pass by in chunks and none needs to stay in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.people.counting.kernels import Counts, Words, add_counts, choose, runs_of

__all__ = [
    "CellTally",
    "pack",
]

Codes = Sequence[npt.NDArray[np.integer[Any]]]
Indices = npt.NDArray[np.int64]
_Group = tuple[tuple[int, ...], Indices, Indices]  # a shape, the tables that have it, their columns

_CHUNK = 2**18  # people packed at a time
_MOST_KEYS = 2**62
# measured, in nanoseconds: an AND-count (for each person, and in any case), each of the 2^k parts of all
# tables of one shape, and one table by its codes (for each person and column, and in any case)
_BY_PLANES = {"numba": (0.004, 1000.0), "numpy": (0.023, 1000.0)}
_BY_SHAPE = 60_000.0
_BY_CODES = (1.5, 20_000.0)


class CellTally:
    """Counts of the cells of some tables over coded columns.

    Parameters
    ----------
    levels
        The number of categories of each column.
    sets
        The columns of each table, by index, each once.
    people
        How many will come, as far as known: it decides which kernel is worth its start.
    kernel
        "numba" or "numpy" instead of the one that :func:`choose` takes.

    Notes
    -----
    A column of L categories is L − 1 planes of bits, "code = v" for v ≥ 1. For a table, the number of people
    with nonzero codes v on some of its columns and anything on the others, M(v), is counted by AND and
    popcount; the cells follow by exclusion in whole numbers, one column after the other,

        N(0, rest) = M(any, rest) − Σ_{v ≥ 1} M(v, rest),

    so a k-way table of bits costs one AND-count, and lower ones are shared by all tables. A table with so
    many cells that their AND-counts cost more than a pass over the codes (hundreds of them, if people are
    many) is counted by its flat codes instead. Columns that are in most tables come first among the
    planes, so that a head goes with many others. Time Σ_tables Π(L−1) · n/64 words; memory: the counts and
    one chunk.
    """

    def __init__(
        self,
        levels: Sequence[int],
        sets: Sequence[tuple[int, ...]],
        people: float = 0,
        kernel: str | None = None,
    ) -> None:
        self.levels, self.people = tuple(levels), 0
        sizes, groups = _by_shape(np.array(self.levels, dtype=np.int64), sets)
        self.offsets = np.cumsum([0, *sizes], dtype=np.int64)
        self._firsts, self._planes = _in_planes(self.levels, [columns for *_, columns in groups])
        counted = sum(len(columns) * min(_and_counts(shape), 1000) for shape, _, columns in groups)
        self.kernel = kernel or choose(counted * max(people, 1) / 64)
        self._by_planes: list[_Group] = []
        self._by_codes: list[tuple[int, tuple[int, ...]]] = []
        for shape, numbers, columns in groups:
            keys = float(len(self._planes)) ** len(shape)
            if keys < _MOST_KEYS and _planes_are_cheaper(shape, len(columns), people, self.kernel):
                self._by_planes.append((shape, numbers, columns))
            else:
                self._by_codes += [(number, sets[number]) for number in numbers.tolist()]
        self._plan_planes()
        self._flat = {number: np.zeros(int(sizes[number]), np.int64) for number, _ in self._by_codes}

    def add(self, codes: Codes) -> None:
        """Count these people, a row of codes per column."""
        people = len(codes[0]) if len(codes) else 0
        for begin in range(0, people, _CHUNK):
            chunk = [row[begin : begin + _CHUNK] for row in codes]
            planes = pack(chunk, self.levels, [self._planes[plane] for plane in self._used.tolist()])
            for order, runs in self._runs.items():
                add_counts(self.kernel, planes, runs, self._found[order])
            for number, indices in self._by_codes:
                flat = _flat_codes(chunk, self.levels, indices)
                self._flat[number] += np.bincount(flat, minlength=self._flat[number].size)
        self.people += people

    def add_nameless(self, people: int) -> None:
        """Count people for tables without columns."""
        self.people += people

    def counts(self) -> Counts:
        """The cells of all tables one after the other, in C order."""
        out = np.empty(int(self.offsets[-1]), dtype=np.int64)
        for number, found in self._flat.items():
            out[self.offsets[number] : self.offsets[number + 1]] = found
        for shape, numbers, columns in self._by_planes:
            cells = self._cells(shape, columns).reshape(len(numbers), -1)
            out[self.offsets[numbers][:, None] + np.arange(cells.shape[1])] = cells
        return out

    def _plan_planes(self) -> None:
        """The AND-counts that the tables need, each once, in runs."""
        wanted: dict[int, list[Indices]] = defaultdict(list)
        for shape, _, columns in self._by_planes:
            for axes in _subsets(len(shape)):
                wanted[len(axes)].append(self._keys(shape, columns, axes).ravel())
        self._wanted = {order: _distinct(np.concatenate(keys)) for order, keys in wanted.items()}
        total = len(self._planes)
        sets = {order: _digits(keys, total, order) for order, keys in self._wanted.items()}
        used = np.unique(np.concatenate([indices.ravel() for indices in sets.values()] or [np.zeros(0, int)]))
        self._used = used.astype(np.int64)  # planes that no table asks for are not packed
        self._runs = {order: runs_of(np.searchsorted(self._used, indices)) for order, indices in sets.items()}
        self._found = {order: np.zeros(keys.size, np.int64) for order, keys in self._wanted.items()}

    def _keys(self, shape: tuple[int, ...], columns: Indices, axes: tuple[int, ...]) -> Indices:
        """The planes of each AND-count on these axes as one number: tables × nonzero codes, C order."""
        total = len(self._planes)
        chosen = self._firsts[columns[:, list(axes)]]
        planes = []
        for axis in axes:
            steps = [1] * len(axes)
            steps[axes.index(axis)] = -1
            levels = np.arange(max(shape[axis] - 1, 0)).reshape(1, *steps)
            start = chosen[:, axes.index(axis)].reshape(-1, *([1] * len(axes)))
            planes.append(start + levels)
        if (np.diff(chosen, axis=1) < 0).any():  # a set is counted once, in the order of its planes
            grid = np.stack(np.broadcast_arrays(*planes), axis=-1)
            order = np.argsort(chosen, axis=1).reshape(len(columns), *([1] * len(axes)), len(axes))
            planes = list(np.moveaxis(np.take_along_axis(grid, order, axis=-1), -1, 0))
        keys = planes[0]
        for plane in planes[1:]:
            keys = keys * total + plane
        return keys

    def _cells(self, shape: tuple[int, ...], columns: Indices) -> Counts:
        """The tables of one shape: AND-counts in their indices, then exclusion column by column."""
        out = np.zeros((len(columns), *shape), dtype=np.int64)
        out.reshape(len(columns), -1)[:, :1] = self.people
        for axes in _subsets(len(shape)):
            where = tuple(slice(1, None) if axis in axes else slice(1) for axis in range(len(shape)))
            keys = self._keys(shape, columns, axes)
            found = self._found[len(axes)][np.searchsorted(self._wanted[len(axes)], keys)]
            part = out[(slice(None), *where)]
            part[...] = found.reshape(part.shape)
        for axis in range(1, len(shape) + 1):
            turned = np.moveaxis(out, axis, 0)
            turned[0] -= turned[1:].sum(axis=0)
        return out


def _by_shape(levels: Indices, sets: Sequence[tuple[int, ...]]) -> tuple[Indices, list[_Group]]:
    """How many cells each table has, and the tables of each shape."""
    sizes, groups = np.ones(len(sets), dtype=np.int64), []
    lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    for length in np.unique(lengths).tolist():
        numbers = np.flatnonzero(lengths == length)
        chosen = sets if numbers.size == len(sets) else [sets[number] for number in numbers.tolist()]
        columns = np.array(chosen, dtype=np.int64).reshape(numbers.size, length)
        shapes = levels[columns]
        sizes[numbers] = shapes.prod(axis=1)
        if (shapes == shapes[:1]).all():  # often so, and sorting rows is slow
            groups.append((tuple(shapes[0].tolist()), numbers, columns))
            continue
        distinct, which = np.unique(shapes, axis=0, return_inverse=True)
        for index, shape in enumerate(distinct):
            same = np.flatnonzero(which.ravel() == index)
            groups.append((tuple(shape.tolist()), numbers[same], columns[same]))
    return sizes, groups


def _in_planes(levels: Sequence[int], tables: list[Indices]) -> tuple[Indices, list[tuple[int, int]]]:
    """The first plane of each column, and the column and code of each plane; the busiest columns first."""
    busy = np.zeros(len(levels), dtype=np.int64)
    for columns in tables:
        busy += np.bincount(columns.ravel(), minlength=len(levels))
    firsts = np.zeros(len(levels), dtype=np.int64)
    planes: list[tuple[int, int]] = []
    for column in np.argsort(-busy, kind="stable").tolist():
        firsts[column] = len(planes)
        planes += [(column, code) for code in range(1, levels[column])]
    return firsts, planes


def _and_counts(shape: Sequence[int]) -> int:
    """How many AND-counts a table needs, those it shares with others aside."""
    return prod(max(level - 1, 0) for level in shape)


def _planes_are_cheaper(shape: Sequence[int], tables: int, people: float, kernel: str) -> bool:
    """Whether tables of one shape cost less by AND-counts than by passes over the codes."""
    person, any_case = _BY_PLANES[kernel]
    code, table = _BY_CODES
    by_planes = tables * _and_counts(shape) * (person * people + any_case) + _BY_SHAPE * 2.0 ** len(shape)
    return by_planes <= tables * (code * (len(shape) + 1) * people + table)


def pack(codes: Codes, levels: Sequence[int], planes: Sequence[tuple[int, int]]) -> Words:
    """Planes "column = code": one row of 64-bit words each, people from the lowest bit up.

    Examples
    --------
    >>> pack([np.array([0, 1, 1]), np.array([2, 0, 1])], (2, 3), [(0, 1), (1, 1), (1, 2)]).ravel().tolist()
    [6, 4, 1]
    """
    people = len(codes[0]) if len(codes) else 0
    out = np.zeros((len(planes), -(-people // 64) * 8), dtype=np.uint8)
    for row, (column, code) in zip(out, planes, strict=True):
        have = codes[column] if levels[column] == 2 else codes[column] == code
        packed = np.packbits(np.asarray(have), bitorder="little")  # packs whatever is not zero as a one
        row[: packed.size] = packed
    return out.view(np.uint64)


def _distinct(keys: Indices) -> Indices:
    """The distinct keys in ascending order; those of all tables of one size come that way already."""
    return keys if (np.diff(keys) > 0).all() else np.unique(keys)


def _subsets(k: int) -> list[tuple[int, ...]]:
    """The sets of one axis or more."""
    return [axes for order in range(1, k + 1) for axes in combinations(range(k), order)]


def _digits(keys: Indices, base: int, count: int) -> Indices:
    """The numbers' digits, most significant first."""
    out = np.empty((keys.size, count), dtype=np.int64)
    for j in range(count - 1, -1, -1):
        keys, out[:, j] = np.divmod(keys, max(base, 1))
    return out


def _flat_codes(codes: Codes, levels: Sequence[int], indices: tuple[int, ...]) -> Indices:
    """The cell of each person in C order."""
    flat = np.zeros(len(codes[0]) if len(codes) else 0, dtype=np.int64)
    for index in indices:
        flat = flat * levels[index] + codes[index]
    return flat
