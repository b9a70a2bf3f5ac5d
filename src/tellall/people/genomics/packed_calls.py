"""Genotypes at two bits per call, scored without being unpacked to bytes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array, IntArray

__all__ = [
    "Bytes",
    "Copies",
    "PackedCalls",
    "pack",
    "worth_compiling",
]

Bytes = npt.NDArray[np.uint8]
Copies = npt.NDArray[np.int8]
Table = Callable[[int], Array]

MISSING = 3  # the code of a missing call, after 0, 1 and 2 copies
_LOW = np.uint8(0x55)  # the lower bit of each of the four calls
_PAIRS, _FOURS, _EIGHTS, _EVERY = (
    np.uint64(int.from_bytes([byte] * 8, "little")) for byte in (0x55, 0x33, 0x0F, 1)
)
_WORDS = {0: 3, 1: 2, 2: 0}  # copies of the first allele, as two bits; 1 is a missing call
_CACHED = 640 * 2**10  # bytes of a plane of numbers that stay in the cache
_COMPILED = 500_000_000  # calls of a job from which loading the compiled kernel is worth its second


@dataclass(frozen=True, eq=False)
class PackedCalls:
    """Calls of everybody at some sites, as PLINK's .bed files hold them.

    Attributes
    ----------
    rows
        Sites × bytes, four people per byte, the first in the lowest bits: 00 two copies of the file's first
        allele, 10 one, 11 none, 01 missing.
    turned
        The sites where the other allele is counted.
    people
        How many people; the last byte of a row may hold fewer than four.
    """

    rows: Bytes
    turned: npt.NDArray[np.bool_]
    people: int

    def some(self, first: int, last: int) -> PackedCalls:
        """Returns the people from first, a multiple of four, to last (not included)."""
        return PackedCalls(self.rows[:, first // 4 : (last + 3) // 4], self.turned, last - first)

    def at(self, sites: npt.NDArray[np.generic]) -> PackedCalls:
        """Returns the calls at some of the sites, given by a mask or by index."""
        return PackedCalls(self.rows[sites], self.turned[sites], self.people)

    def copies(self) -> Copies:
        """People × sites: copies of the counted allele, -1 where the call is missing."""
        codes = self.codes()
        return np.where(codes == MISSING, np.int8(-1), codes)

    def codes(self) -> Copies:
        """People × sites: copies of the counted allele, 3 where the call is missing."""
        unpacked = _UNPACKED[self.rows].view(np.int8)[:, : self.people]
        turn = self.turned
        if turn.any():
            unpacked[turn] = _TURN[unpacked[turn]]
        return np.ascontiguousarray(unpacked.T)

    def counts(self) -> tuple[Array, Array]:
        """For every site: the sum of copies − 1 over the people who have the call, and their number."""
        width = self.rows.shape[1]
        rows = np.zeros((len(self.rows), -(-width // 8) * 8), dtype=np.uint8)
        rows[:, :width] = self.rows
        if self.people % 4:  # further bits of the last byte belong to nobody
            rows[:, width - 1] &= np.uint8(4 ** (self.people % 4) - 1)
        words = rows.view(np.uint64)
        signs = self.people - _set_bits(words)  # 1 − bits, 0 for a missing call
        missing = words & ~(words >> np.uint64(1)) & _PAIRS
        called = self.people - _set_bits(missing) if missing.any() else np.full(len(rows), float(self.people))
        return np.where(self.turned, -signs, signs), called

    def sums(self, table: Array, *, job: float = 0.0) -> Array:
        """For each person: the sum over the sites of what their call adds, which is linear in the copies.

        Parameters
        ----------
        table
            4 × sites: what 0, 1 and 2 copies and a missing call add; table[1] is the mean of table[0] and
            table[2].
        job
            How many calls the whole job has. Large jobs use single precision within some hundred sites, and
            the compiled kernel if numba works.

        Notes
        -----
        With h and l the two bits of a call, t = h + l is 0, 1, 2 and, for a missing call, 1. So the sum is
        Σ table[first] + slope·t + gap·[missing], and t of four people is b − ((b >> 1) & 0x55) of their byte
        b. Masks separate the four; each stays in its place (an exact factor 4^i), becomes a number, and is
        multiplied by the slope.
        """
        first = np.where(self.turned, table[0], table[2])
        slope = table[1] - first
        gap = table[MISSING] - table[1]
        if worth_compiling(job):
            from tellall.people.genomics.packed_kernel import add_sums

            added = add_sums(self.rows, slope.astype(np.float32), gap.astype(np.float32))
            return np.asarray(added[: self.people] + first.sum())
        dtype = np.float32 if job > _COMPILED else np.float64
        counts: Bytes = self.rows - ((self.rows >> np.uint8(1)) & _LOW)
        total = _weigh(counts, slope[:, None], 3, dtype)
        missing, some = self._missing()
        if some.any():
            total += _weigh(missing[some], gap[some, None], 1, dtype)
        return self._apart(total[:, :, 0], float(first.sum()))

    def totals(self, tables: Table, dtype: type[np.float32] | type[np.float64]) -> Array:
        """People × columns: the sum over the sites of what a call adds to each column.

        Parameters
        ----------
        tables
            For the values 0, 1, 2 and 3 (a missing call): columns × sites, what the value adds.

        Notes
        -----
        With h and l the two bits of a call, the sum is Σ first + h·(one − first) + l·(last − one), and for a
        missing call, whose bits are 0 and 1, the rest. One matrix product over both bits of each of the four
        people in a byte.
        """
        none = tables(0)
        one = tables(1)
        two = tables(2)
        first, last = np.where(self.turned, none, two), np.where(self.turned, two, none)
        changes = np.concatenate([(one - first).T / 2, (last - one).T])
        planes: Bytes = np.concatenate([self.rows & ~_LOW, self.rows & _LOW])
        total = _weigh(planes, changes, 3, dtype)
        missing, some = self._missing()
        if some.any():
            rest = tables(MISSING) - first - last + one
            total += _weigh(missing[some], rest.T[some], 1, dtype)
        return self._apart(total, first.sum(axis=1))

    def _missing(self) -> tuple[Bytes, npt.NDArray[np.bool_]]:
        """Returns the lower bit of every missing call, and the sites that have one."""
        missing: Bytes = self.rows & ~(self.rows >> np.uint8(1)) & _LOW
        return missing, np.asarray(missing.any(axis=1))

    def _apart(self, total: Array, base: Array | float) -> Array:
        """Puts people in order, from four rows that each hold every fourth person, and adds the base."""
        ordered = np.swapaxes(total, 0, 1).reshape(-1, *total.shape[2:])[: self.people]
        return np.asarray(ordered + base)


def worth_compiling(job: float) -> bool:
    """Returns whether a job of this many calls goes to the compiled kernel: it is large, and numba works."""
    return job > _COMPILED and _numba()


@cache
def _numba() -> bool:
    """Returns whether numba works: it refuses a NumPy newer than it knows, and folders it cannot write to."""
    try:
        import tellall.people.genomics.packed_kernel  # noqa: F401  used where the sums are
    except (ImportError, RuntimeError):
        return False
    return True


def pack(calls: IntArray) -> Bytes:
    """Packs people × sites (copies, negative where missing) into sites × bytes, as PackedCalls has them.

    Examples
    --------
    >>> pack(np.array([[2], [1], [0], [-1], [0]]))
    array([[120,   3]], dtype=uint8)
    """
    words = np.ones((calls.shape[1], -(-calls.shape[0] // 4) * 4), dtype=np.uint8)
    words[:, calls.shape[0] :] = 0
    for copies, word in _WORDS.items():
        words[:, : calls.shape[0]][copies == calls.T] = word
    quads = words.reshape(words.shape[0], -1, 4)
    packed: Bytes = quads[:, :, 0] | quads[:, :, 1] << 2 | quads[:, :, 2] << 4 | quads[:, :, 3] << 6
    return packed


def _weigh(planes: Bytes, weights: Array, bits: int, dtype: type[np.float32] | type[np.float64]) -> Array:
    """4 × bytes × columns: Σ over rows of weight times the number that each of a byte's four pairs holds."""
    height, width = planes.shape
    total = np.zeros((4, weights.shape[1], width))
    few: Array = np.ascontiguousarray(weights.T, dtype=dtype)
    for part in _parts(height, width, weights.shape[1]):
        masked = np.empty_like(planes[part])
        numbers: Array = np.empty(masked.shape, dtype=dtype)
        for pair in range(4):
            np.bitwise_and(planes[part], np.uint8(bits << 2 * pair), out=masked)
            np.copyto(numbers, masked)
            total[pair] += (few[:, part] @ numbers) / 4.0**pair
    return np.swapaxes(total, 1, 2)


def _parts(height: int, width: int, columns: int) -> Iterator[slice]:
    """Yields slices of rows: as many as stay in the cache or, for four columns or more, 512."""
    step = max(16, _CACHED // (4 * max(width, 1))) if columns < 4 else 512
    for start in range(0, height, step):
        yield slice(start, start + step)


def _set_bits(words: npt.NDArray[np.uint64]) -> Array:
    """Counts the bits set in every row: by twos, fours and eights, then over a word."""
    pairs = words - ((words >> np.uint64(1)) & _PAIRS)
    fours = (pairs & _FOURS) + ((pairs >> np.uint64(2)) & _FOURS)
    eights = (fours + (fours >> np.uint64(4))) & _EIGHTS
    found = (eights * _EVERY) >> np.uint64(56)
    # a product with ones is the quickest sum of short rows
    return np.asarray(found.astype(np.float64) @ np.ones(words.shape[1]))


def _unpacked() -> npt.NDArray[np.uint32]:
    pairs = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
    return np.asarray(np.array([2, MISSING, 1, 0], dtype=np.int8)[pairs].view(np.uint32)[:, 0])


_UNPACKED = _unpacked()
_TURN = np.array([2, 1, 0, MISSING], dtype=np.int8)
