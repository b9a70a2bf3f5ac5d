"""People in codes: columns and their numbers, columns of bits that are packed, and the distinct rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, final, overload

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.cuts import number_text
from tellall.people.dates import date_text

__all__ = [
    "PACKED",
    "Array",
    "Bits",
    "Column",
    "Numbers",
    "Patterns",
    "group_rows",
    "is_code",
    "keys_of_rows",
    "some_rows",
    "take_people",
]

# Bits: columns of bits, packed eight people to a byte, that can be read like an array of codes.

Array = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

PACKED = 2**24  # tables with this many bits or more are packed; smaller ones are quicker unpacked
_CHUNK = 2**16  # people whose sums stay in the cache
_FIRST = 128  # columns that are usually enough to tell people apart
_SWAPS = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))


@final
@dataclass(frozen=True, eq=False)
class Bits:
    """Codes of columns of bits (columns × people), kept as `numpy.packbits` makes them.

    Parameters
    ----------
    packed
        Columns × ⌈people/8⌉ bytes, the first person in the highest bit.
    people
        How many people; further bits of the last byte are ignored.

    Notes
    -----
    One column, ``bits[j]``, is an array of bytes; several columns, ``bits[[0, 3]]``, are Bits again. As an
    array (``np.asarray(bits)``) they take eight times the memory.

    Examples
    --------
    >>> bits = Bits.of([[1, 0, 1], [0, 0, 1]])
    >>> bits.shape, bits[0].tolist(), bits[[1, 0]].take(np.array([2, 1]))[0].tolist()
    ((2, 3), [1, 0, 1], [1, 0])
    """

    packed: Bytes
    people: int

    def __post_init__(self) -> None:
        array, width = self.packed, -(-self.people // 8)
        if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 2:
            seen = f"{array.dtype} of shape {array.shape}"
            raise invalid("bits", "a two-dimensional array of bytes, as numpy.packbits makes it", seen)
        if array.shape[1] != width:
            raise invalid(
                "bits", f"rows of ⌈{self.people}/8⌉ = {width} bytes, for {self.people} people", array.shape
            )

    @classmethod
    def of(cls, codes: npt.ArrayLike | Bits) -> Bits:
        """Columns × people of zeros and ones, packed."""
        if isinstance(codes, Bits):
            return codes
        array = np.asarray(codes)
        return cls(np.packbits(array, axis=1), array.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Columns, people."""
        return (len(self.packed), self.people)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """The type of a column's codes."""
        return np.dtype(np.uint8)

    @property
    def nbytes(self) -> int:
        """The memory in bytes."""
        return self.packed.nbytes

    @property
    def T(self) -> Bytes:
        """People × columns, a byte each."""
        return np.asarray(self).T

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[Bytes]:
        return (self._row(row) for row in self.packed)

    def __getitem__(self, indices: Any) -> Any:
        if isinstance(indices, int | np.integer):
            return self._row(self.packed[indices])
        if isinstance(indices, tuple):  # columns, and a range of people that begins at a multiple of 8
            columns, people = indices
            return self[columns].between(people.start, people.stop)
        return Bits(self.packed[indices], self.people)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        whole = np.unpackbits(self.packed, axis=1, count=self.people)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which columns are the same for everybody."""
        if not self.people:
            return np.ones(len(self), dtype=bool)
        tail = np.uint8(255 << -self.people % 8 & 255)  # the bits of the last byte that belong to people
        same = np.empty(len(self), dtype=bool)
        for index, row in enumerate(self.packed):
            ones = np.uint8(255 * (row[0] >> 7))
            same[index] = not ((row[-1] ^ ones) & tail) and bool((row[:-1] == ones).all())
        return same

    def take(self, people: IntArray) -> Bits:
        """Some of the people, in this order; by index or by mask."""
        indices = np.arange(self.people)[people]
        byte, shift = indices >> 3, (7 - (indices & 7)).astype(np.uint8)
        out = np.empty((len(self), -(-indices.size // 8)), dtype=np.uint8)
        for row, packed in zip(out, self.packed, strict=True):
            row[:] = np.packbits(packed[byte] >> shift & 1)
        return Bits(out, indices.size)

    def between(self, start: int, stop: int) -> Bits:
        """The people from start, a multiple of 8, to stop; their bytes are not copied."""
        stop = max(start, min(stop, self.people))
        return Bits(self.packed[:, start // 8 : -(-stop // 8)], stop - start)

    def bytes_of(self, first: int, start: int, stop: int) -> Bytes:
        """Eight columns, from `first` on, as one byte per person; start is a multiple of 8.

        The first column is the lowest bit. Transposes 8 × 8 bits for eight people at a time.
        """
        some = self.packed[first : first + 8, start // 8 : -(-stop // 8)]
        square = np.zeros((some.shape[1], 8), dtype=np.uint8)
        square[:, : len(some)] = some.T
        words = square.view("<u8")[:, 0]
        for shift, mask in _SWAPS:
            moved = (words ^ (words >> np.uint64(shift))) & np.uint64(mask)
            words = words ^ moved ^ (moved << np.uint64(shift))
        # the first person was the highest bit, and is the last byte now
        turned = words.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, ::-1]
        return turned.reshape(-1)[: stop - start]

    def _row(self, packed: Bytes) -> Bytes:
        return np.unpackbits(packed, count=self.people)


def take_people(codes: IntArray | Bits, people: IntArray) -> IntArray | Bits:
    """The codes (columns × people) of some of the people."""
    return codes.take(people) if isinstance(codes, Bits) else np.ascontiguousarray(codes[:, people])


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct public rows: people with equal rows cannot be told apart by any public statistic.

    Attributes
    ----------
    codes
        Columns × people.
    counts
        How many people share each pattern.
    index
        The pattern of each person.
    first
        One person of each pattern.
    """

    codes: IntArray | Bits
    counts: IntArray
    index: IntArray
    first: IntArray

    @property
    def rows(self) -> IntArray:
        """One row of codes per pattern."""
        return np.asarray(self.codes)[:, self.first].T

    def __len__(self) -> int:
        return self.counts.size


def some_rows(people: IntArray | Sequence[int], n: int) -> IntArray:
    """The rows of some of n people, given as rows or as a mask."""
    chosen: npt.NDArray[Any] = np.asarray(people)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen)
    if not chosen.size:
        chosen = chosen.astype(np.intp)
    inside = chosen.ndim == 1 and chosen.dtype.kind in "iu"
    if not inside or (chosen.size and not (chosen.min() >= -n and chosen.max() < n)):
        raise invalid("rows", f"rows from 0 to {n - 1}, or a mask of {n} bits", people)
    return chosen


def group_rows(codes: IntArray | Bits) -> Patterns:
    """The distinct columns of a codes matrix (columns × people), in an order that hangs on their codes alone.

    Notes
    -----
    The order of the people decides nothing: solvers that meet the groups in this order give the same numbers.
    People are hashed by a random combination of their codes, and the grouping is then checked person by
    person, so a collision costs time but never correctness. People who differ from everybody else in the
    first columns are not examined further; with many columns, that is most people.
    """
    hashed = _hashed(codes[:_FIRST], 0)
    if len(codes) > _FIRST:
        again = _shared(hashed)
        hashed[again] += _hashed(take_people(codes[_FIRST:], again), 1)
    _, first, index, counts = np.unique(hashed, return_index=True, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[index] > 1)  # different hashes are different codes
    leader = first[index[shared]]
    if shared.size and any((row[leader] != row[shared]).any() for row in codes):
        _, first, index, counts = np.unique(
            np.asarray(codes), axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        index = index.ravel()
    return Patterns(codes, counts, index, first)


def _shared(hashed: Words) -> IntArray:
    """The people who share a hash with somebody else."""
    ordered = np.sort(hashed)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(hashed, twice)) if twice.size else np.zeros(0, dtype=np.intp)


def keys_of_rows(names: Sequence[str], codes: IntArray | Bits) -> Words:
    """A number for each person that hangs on the codes of their row alone, in whatever order columns are.

    Rows that differ have different numbers but for chances of about 2⁻⁶⁴ for each pair.
    """
    told = [int.from_bytes(sha256(name.encode()).digest()[:8], "little") | 1 for name in names]
    return _sum_of_codes(codes, np.array(told, dtype=np.uint64))


def _hashed(codes: IntArray | Bits, seed: int) -> Words:
    """A number for each person by random keys of the columns."""
    key = np.random.default_rng(seed).integers(1, 2**62, size=len(codes), dtype=np.int64).astype(np.uint64)
    return _sum_of_codes(codes, key)


def _sum_of_codes(codes: IntArray | Bits, key: Words) -> Words:
    """Σ_j key_j × the code of column j for each person, modulo 2⁶⁴.

    For bits, eight columns take one lookup in a table of 256 sums: O(people × columns / 8).
    """
    if not isinstance(codes, Bits):
        hashed = np.zeros(codes.shape[1], dtype=np.uint64)
        for one, row in zip(key, codes, strict=True):
            hashed += one * row.astype(np.uint64)
        return hashed
    out = np.zeros(codes.people, dtype=np.uint64)
    tables = [_sums_of_eight(key[first : first + 8]) for first in range(0, key.size, 8)]
    for begin in range(0, codes.people, _CHUNK):
        end = min(begin + _CHUNK, codes.people)
        for index, table in enumerate(tables):
            out[begin:end] += table[codes.bytes_of(8 * index, begin, end)]
    return out


def _sums_of_eight(key: Words) -> Words:
    """The sum of the keys of up to eight columns of bits for each of the 256 choices of bits."""
    chosen = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.asarray(chosen[:, : key.size].astype(np.uint64) @ key)


# Columns: what codes mean, and the numbers behind them.


@dataclass(frozen=True)
class Column:
    """What the codes of one column mean.

    Attributes
    ----------
    labels
        The text of each category, in the order of the codes; missing values are a category of their own.
    cuts
        The cut points where a number was binned: category i holds cuts[i−1] < x ≤ cuts[i]; None otherwise.
    gaps
        Whether the last category stands for missing values.
    parts
        If categories were merged: for each finer category, its code here.
    dates
        Whether the numbers are dates, as days since 1970-01-01.
    """

    name: str
    labels: tuple[str, ...]
    cuts: tuple[float, ...] | None = None
    gaps: bool = False
    parts: tuple[int, ...] | None = None
    dates: bool = False

    @property
    def cut_texts(self) -> tuple[str, ...]:
        """The cut points as one would write them; none if nothing was cut."""
        return tuple(map(date_text if self.dates else number_text, self.cuts or ()))

    @property
    def levels(self) -> int:
        """The number of categories."""
        return len(self.labels)


@final
class Numbers(Sequence[Array | None]):
    """The real values of each column, None for text.

    Parameters
    ----------
    codes
        Columns × people.
    others
        The values of the columns whose codes are not their values, None for text, by index.

    Examples
    --------
    >>> numbers = Numbers(Bits.of([[0, 1, 1], [1, 0, 0]]), {1: None})
    >>> numbers[0].tolist(), numbers[1], len(numbers)
    ([0.0, 1.0, 1.0], None, 2)
    """

    def __init__(self, codes: IntArray | Bits, others: Mapping[int, Array | None]) -> None:
        self._codes, self._others = codes, dict(others)

    @classmethod
    def of(cls, columns: Sequence[Column], codes: IntArray | Bits, values: Sequence[Array | None]) -> Numbers:
        """The values of each column, leaving out bits, whose values are their codes."""
        if isinstance(values, Numbers) and values._codes is codes:
            return values
        pairs = enumerate(zip(columns, values, strict=True))
        return cls(codes, {j: kept for j, (column, kept) in pairs if not is_code(column, codes[j], kept)})

    @property
    def nbytes(self) -> int:
        """The memory in bytes, without the codes."""
        return sum(values.nbytes for values in self._others.values() if values is not None)

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, index: int) -> Array | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Array | None]: ...
    def __getitem__(self, index: int | slice) -> Array | Sequence[Array | None] | None:
        if isinstance(index, slice):
            return [self[one] for one in range(len(self))[index]]
        one = range(len(self))[index]
        return self._others[one] if one in self._others else self._codes[one].astype(np.float64)

    def take(self, codes: IntArray | Bits, people: IntArray) -> Numbers:
        """The values of some of the people, given their codes."""
        some = {j: None if values is None else values[people] for j, values in self._others.items()}
        return Numbers(codes, some)

    def choose(self, codes: IntArray | Bits, indices: Sequence[int]) -> Numbers:
        """The values of some of the columns, given their codes."""
        return Numbers(codes, {k: self._others[j] for k, j in enumerate(indices) if j in self._others})


def is_code(column: Column, codes: IntArray, values: Array | None) -> bool:
    """Whether these are bits whose values are their codes."""
    return values is not None and column.labels == ("0", "1") and np.array_equal(codes, values)
