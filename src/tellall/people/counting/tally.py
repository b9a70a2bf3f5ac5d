"""CellTally: counts cells from bits by AND and popcount, a chunk of people at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.core.work import Progress

__all__ = [
    "KERNELS",
    "MOST_CELLS",
    "CellTally",
    "Counts",
    "Runs",
    "Words",
    "add_counts",
    "choose",
    "count_ones",
    "pack",
    "refuse_too_many",
    "runs_of",
    "tabulate",
    "with_secret",
]

Codes = Sequence[npt.NDArray[np.integer[Any]]]
Indices = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
_Group = tuple[tuple[int, ...], Indices, Indices]  # a shape, the tables that have it, their columns

MOST_CELLS = 50_000_000
_CHUNK = 2**18  # people packed at a time
_STEP = 2**20  # people between two calls of progress, at most
_ENTRIES = 2**27  # codes unpacked at once
_MOST_KEYS = 2**62
# measured, in nanoseconds: an AND-count (per person, and fixed), each of the 2^k parts of all tables of one
# shape, and one table by its codes (per person and column, and fixed)
_BY_PLANES = {"numba": (0.004, 1000.0), "numpy": (0.023, 1000.0)}
_BY_SHAPE = 60_000.0
_BY_CODES = (1.5, 20_000.0)
KERNELS = ("numba", "numpy")
# ANDs of words: a quarter of a second for NumPy, less than numba takes to start
WORTH_COMPILING = 200_000_000
_IN_CACHE = 2**15  # words of all planes together that stay in a core's cache
_IN_CACHE_NUMPY = 2**17  # the same where each call costs microseconds


def tabulate(
    codes: Any,
    secret: npt.NDArray[Any] | None,
    levels: Sequence[int],
    sets: Sequence[tuple[int, ...]],
    progress: Progress | None = None,
) -> Counts:
    """The cells of all tables of people in memory, one table after the other, in C order.

    ``codes`` is columns × people, an array or Bits; the secret, if given, is the last column.
    """
    n = codes.shape[1]
    tally = CellTally(levels, sets, n)
    step = max(2**14, min(_STEP, _ENTRIES // max(len(levels), 1) // 64 * 64))
    for begin in range(0, n, step):
        rows = list(np.asarray(codes[:, begin : begin + step]))
        tally.add(rows if secret is None else [*rows, secret[begin : begin + step]])
        if progress:
            progress(min(begin + step, n), n)
    return tally.counts()


def with_secret(
    public: Sequence[int], sets: Sequence[tuple[int, ...]], secret: int
) -> tuple[tuple[int, ...], Sequence[tuple[int, ...]]]:
    """How many categories each column has, and the columns of each table, with a secret of this many values.

    Refuses tables with too many cells.
    """
    levels = (*public, secret) if secret else tuple(public)
    sets = [(*chosen, len(public)) for chosen in sets] if secret else sets
    refuse_too_many(_count_of_cells(levels, sets))
    return levels, sets


def refuse_too_many(cells: int) -> None:
    """Refuses tables with more cells than can be counted."""
    if cells > MOST_CELLS:
        advice = "Use fewer columns, ways or bins, or choose tables."
        raise invalid("tables", "of a manageable size (cells)", f"{cells:,}", advice)


def _count_of_cells(levels: Sequence[int], sets: Sequence[tuple[int, ...]]) -> int:
    """About how many cells all tables have: floats are exact enough for a limit."""
    logs = np.log2(np.array([*levels, 1], dtype=np.float64))
    lengths = np.fromiter(map(len, sets), dtype=np.intp, count=len(sets))
    longest = int(lengths.max(initial=0))
    padded = np.full((len(sets), longest), len(levels), dtype=np.intp)
    padded[np.arange(longest) < lengths[:, None]] = np.fromiter(chain.from_iterable(sets), dtype=np.intp)
    return int(np.rint(np.minimum(np.exp2(logs[padded].sum(axis=1)), 2.0**62).sum()))


class CellTally:
    """Counts of the cells of some tables over coded columns.

    Parameters
    ----------
    levels
        The number of categories of each column.
    sets
        The columns of each table, by index, each once.
    people
        How many people will be added, as far as known; this decides which kernel is worth its start.
    kernel
        "numba" or "numpy" instead of the one that :func:`choose` picks.

    Notes
    -----
    A column of L categories is L − 1 planes of bits, "code = v" for v ≥ 1. For a table, the number of people
    with nonzero codes v on some of its columns and anything on the others, M(v), is counted by AND and
    popcount; the cells follow by exclusion in whole numbers, one column after the other,

        N(0, rest) = M(any, rest) − Σ_{v ≥ 1} M(v, rest),

    so a k-way table of bits costs one AND-count, and lower ones are shared by all tables. A table whose
    AND-counts would cost more than a pass over the codes (hundreds of them, if there are many people) is
    counted by its flat codes instead. The planes of columns that are in many tables come first, so that one
    head serves many last planes. Time Σ_tables Π(L−1) · n/64 words; memory: the counts and one chunk.
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
        for number, _ in self._by_codes:
            self._flat[number] += people
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
        """The tables of one shape: AND-counts put in place, then exclusion column by column."""
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
    """How many AND-counts a table needs that it does not share with others."""
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
    """The distinct keys in ascending order, in which the keys of all tables of one size come already."""
    return keys if (np.diff(keys) > 0).all() else np.unique(keys)


def _subsets(k: int) -> list[tuple[int, ...]]:
    """All sets of one or more of k axes."""
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


@dataclass(frozen=True, eq=False)
class Runs:
    """Sets of planes in lexicographic order; a run is sets that differ only in consecutive last planes.

    Attributes
    ----------
    heads
        Runs × (order − 1): the planes before the last.
    starts, stops
        The range of the last plane.
    offsets
        Where the counts of each run begin among all counts.
    """

    heads: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many counts there are."""
        return int((self.stops - self.starts).sum())


def runs_of(sets: npt.NDArray[np.int64]) -> Runs:
    """The runs of distinct sets of planes (one per row), given in lexicographic order.

    Examples
    --------
    >>> runs = runs_of(np.array([[0, 1], [0, 2], [0, 4], [1, 2]]))
    >>> runs.heads.ravel().tolist(), runs.starts.tolist(), runs.stops.tolist()
    ([0, 0, 1], [1, 4, 2], [3, 5, 3])
    """
    head, last = sets[:, :-1], sets[:, -1]
    goes_on = (head[1:] == head[:-1]).all(axis=1) & (last[1:] == last[:-1] + 1)
    offsets = np.flatnonzero(np.r_[True, ~goes_on]) if len(sets) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[offsets, len(sets)])
    starts = last[offsets]
    return Runs(np.ascontiguousarray(head[offsets]), starts, starts + lengths, offsets)


def choose(words: float) -> str:
    """The kernel for this many ANDs of words.

    Notes
    -----
    Measured, all 3-way counts of 100 planes over 10⁶ people on one core: numba 0.3 s, NumPy 3.5 s; 2-way:
    0.01 s, 0.10 s. So numba is quicker once its start (about a second) is repaid.
    """
    return "numba" if words >= WORTH_COMPILING and _can_compile() else "numpy"


def _can_compile() -> bool:
    """Whether numba works: it refuses a NumPy newer than it knows, and folders it cannot write to."""
    try:
        import tellall.people.counting.compiled  # noqa: F401  add_counts uses it
    except (ImportError, RuntimeError):
        return False
    return True


def add_counts(kernel: str, planes: Words, runs: Runs, counts: Counts) -> None:
    """Adds to the count of each set in the runs the people of these planes who have all bits of the set."""
    if not runs.starts.size or not planes.shape[1]:
        return
    if kernel == "numba":
        from tellall.people.counting.compiled import add_all

        width = max(64, _IN_CACHE // planes.shape[0])
        add_all(planes, runs.heads, runs.starts, runs.stops, runs.offsets, width, counts)
    else:
        _add_by_numpy(planes, runs, counts)


def _add_by_numpy(planes: Words, runs: Runs, counts: Counts) -> None:
    """Adds the counts by AND and population count, in chunks of words that stay in the cache."""
    longest = int((runs.stops - runs.starts).max())
    width = max(256, min(2**15, _IN_CACHE_NUMPY // longest))
    listed = [array.tolist() for array in (runs.heads, runs.starts, runs.stops, runs.offsets)]
    both = np.empty((longest, width), np.uint64)
    for begin in range(0, planes.shape[1], width):
        chunk = np.ascontiguousarray(planes[:, begin : begin + width])
        w = chunk.shape[1]
        before: list[int] = []
        common = [np.full(w, np.uint64(2**64 - 1))]  # common[j]: the AND of the first j planes of the head
        for head, start, stop, offset in zip(*listed, strict=True):
            kept = _shared(before, head)
            del common[kept + 1 :]
            for plane in head[kept:]:
                common.append(common[-1] & chunk[plane])
            before, many = head, stop - start
            found = np.bitwise_and(chunk[start:stop], common[-1], out=both[:many, :w])
            counts[offset : offset + many] += count_ones(found).sum(axis=1, dtype=np.int64)


def _shared(one: list[int], other: list[int]) -> int:
    """How many planes two heads have in common at their beginning."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _count_ones_by_shifts(words: Words) -> Words:
    """The number of ones of each word by sums of two, four and eight bits: NumPy 1 has no other way."""
    twos, fours = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    pairs: Words = words - ((words >> np.uint64(1)) & twos)
    nibbles: Words = (pairs & fours) + ((pairs >> np.uint64(2)) & fours)
    eights: Words = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    total: Words = (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return total


count_ones: Callable[[Words], npt.NDArray[Any]] = getattr(np, "bitwise_count", _count_ones_by_shifts)
