"""People as sources of blocks of attributes, and the codings of their values.

Inside the scores everybody is in the ±1 coding: bits x ↦ 2x − 1, genotypes g ↦ g − 1, means in [−1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.core.errors import invalid
from tellall.people.genomics.packed_calls import PackedCalls, worth_compiling

__all__ = [
    "CODINGS",
    "Blocks",
    "Calls",
    "Codes",
    "Coding",
    "Some",
    "as_blocks",
    "blocks_for",
    "blocks_of",
    "calls_of",
    "packed_of",
    "weighted_sums",
]

_MOST = 16_384  # attributes at once: arrays of their numbers stay in the cache
_BLOCK_BYTES = 96 * 2**20
_PACKED_BYTES = 4 * 2**20  # stays near in the cache between the reading and the scoring


@runtime_checkable
class Blocks(Protocol):
    """People × attributes, read a block of attributes at a time: what streams through the scores.

    A source may offer ``packed(start, stop)`` beside this: the same as :class:`PackedCalls`, or None.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of attributes."""
        ...

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        """The attributes from start to stop (not included), people × attributes, in the data's coding."""
        ...


@dataclass(frozen=True, eq=False)
class _InMemory:
    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self.array[:, start:stop]


@dataclass(frozen=True, eq=False)
class Some:
    """Some people of a source, from the first to the last (not included); the first is a multiple of four."""

    source: Blocks
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.last - self.first, self.source.shape[1]

    def block(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self.source.block(start, stop)[self.first : self.last]

    def packed(self, start: int, stop: int) -> PackedCalls | None:
        calls = packed_of(self.source, start, stop)
        return None if calls is None else calls.some(self.first, self.last)


def packed_of(source: Blocks, start: int, stop: int) -> PackedCalls | None:
    """The packed calls from start to stop (not included) of a source that has them."""
    packed = getattr(source, "packed", None)
    calls: PackedCalls | None = None if packed is None else packed(start, stop)
    return calls


def as_blocks(name: str, people: Blocks | npt.ArrayLike) -> Blocks:
    """The people as a source of blocks; one person may be a flat array."""
    if isinstance(people, Blocks):
        return people
    try:
        array = np.asarray(people)
    except ValueError:
        raise invalid(name, "an array of people × attributes", "rows of different lengths") from None
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] < 1:
        raise invalid(name, "an array of people × attributes with one person or more", f"shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise invalid(name, "an array of numbers", f"type {array.dtype}")
    return _InMemory(array)


@dataclass(frozen=True)
class Coding:
    """The values that an attribute of a person can take, and where they lie in [−1, 1].

    Attributes
    ----------
    values
        The values in the data; empty for reals, which are taken as they are.
    signs
        The same in the ±1 coding.
    ploidy
        How many independent draws one value stands for.
    """

    name: str
    values: tuple[int, ...]
    signs: tuple[float, ...]
    ploidy: int = 1

    def codes(self, name: str, block: npt.NDArray[Any]) -> Codes:
        """The place of each value among the values; one past the last where the call is missing."""
        missing = len(self.values)
        if block.dtype == np.int8 and self.values == tuple(range(missing)):
            # bytes that are codes already, as readers of genotypes give them
            if block.view(np.uint8).max(initial=0) < missing:
                return block
            if self.ploidy == 2 and block.max() < missing:
                return np.where(block < 0, np.int8(missing), block)
        codes = np.full_like(block, -1, dtype=np.int8)
        for code, value in enumerate(self.values):
            codes[block == value] = code
        if (codes < 0).any():
            if block.dtype.kind == "f":
                codes[np.isnan(block)] = missing
            if self.ploidy == 2:  # PLINK readers mark a missing call by a negative number
                codes[block < 0] = missing
        if (codes < 0).any():
            seen = block[codes < 0].flat[0]
            rule = f"{', '.join(map(str, self.values))} (coding='{self.name}')"
            raise invalid(name, rule, float(seen), _other_coding(self.name))
        return codes

    def numbers(self, name: str, block: npt.NDArray[Any]) -> Array:
        """The ±1 coding of a block, NaN where the call is missing."""
        if not self.values:
            array = np.asarray(block, dtype=np.float64)
            if not np.isfinite(array).all():
                raise invalid(name, "finite for attack='gaussian'", "NaN or infinite values")
            return array
        return np.array([*self.signs, np.nan])[self.codes(name, block)]


CODINGS = {
    "signs": Coding("signs", (-1, 1), (-1.0, 1.0)),
    "bits": Coding("bits", (0, 1), (-1.0, 1.0)),
    "genotypes": Coding("genotypes", (0, 1, 2), (-1.0, 0.0, 1.0), ploidy=2),
    "reals": Coding("reals", (), ()),
}


def _other_coding(name: str) -> str:
    others = [f"'{other}' for {', '.join(map(str, c.values))}" for other, c in CODINGS.items() if c.values]
    return f"coding may be {'; '.join(other for other in others if not other.startswith(repr(name)))}."


def blocks_of(attributes: int, people: int, *, packed: bool = False) -> Iterator[slice]:
    """Slices of attributes whose block of that many people fits the memory set aside for one."""
    if packed:
        width = _PACKED_BYTES // max((people + 3) // 4, 1)
    else:
        width = min(8192, _BLOCK_BYTES // (8 * max(people, 1)))
    width = int(max(16, min(_MOST, width))) // 16 * 16  # kernels take several attributes at once
    for start in range(0, attributes, width):
        yield slice(start, min(start + width, attributes))


# The values of everybody over a block of attributes, ready to be summed: two bits each, or a byte.

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class _ByteCalls:
    """What :class:`PackedCalls` is, with a byte a call and any coding."""

    calls: Codes
    coding: Coding

    def some(self, first: int, last: int) -> _ByteCalls:
        return _ByteCalls(self.calls[first:last], self.coding)

    def at(self, places: npt.NDArray[Any]) -> _ByteCalls:
        return _ByteCalls(self.calls[:, places], self.coding)

    def codes(self) -> Codes:
        return self.calls

    def counts(self) -> tuple[Array, Array]:
        seen = [(self.calls == value).sum(axis=0) for value in range(len(self.coding.values))]
        return np.array(self.coding.signs) @ np.stack(seen), np.asarray(sum(seen), dtype=np.float64)

    def sums(self, table: Array, *, job: float = 0.0) -> Array:
        return self.totals(lambda value: table[value][None, :], np.float64)[:, 0]

    def totals(self, tables: Callable[[int], Array], dtype: type[np.floating[Any]]) -> Array:
        base, values = tables(0), len(self.coding.values)
        total = np.repeat(base.sum(axis=1)[None, :], self.calls.shape[0], axis=0)
        for value in range(1, values + 1):
            indicator = self.calls == value
            if value < values or indicator.any():
                total += indicator.astype(dtype) @ (tables(value) - base).astype(dtype).T
        return total


Calls = PackedCalls | _ByteCalls


def calls_of(name: str, people: Blocks, block: slice, coding: Coding) -> Calls:
    """The people's values over a block of attributes; packed where their source and their coding are."""
    packed = packed_of(people, block.start, block.stop) if coding.ploidy == 2 else None
    if packed is not None:
        return packed
    return _ByteCalls(coding.codes(name, people.block(block.start, block.stop)), coding)


def blocks_for(people: Blocks, coding: Coding, *, beside: int = 0) -> Iterator[slice]:
    """Slices of attributes that fit the memory for these people, and as many others beside them."""
    count, attributes = people.shape
    packed = coding.ploidy == 2 and attributes > 0 and packed_of(people, 0, 1) is not None
    return blocks_of(attributes, max(count, beside), packed=packed)


def weighted_sums(
    people: Blocks, coding: Coding, blocks: Iterator[slice], table: Callable[[slice], Array]
) -> Array:
    """For every target the sum over all blocks of what their calls add, by a table of values per block.

    Notes
    -----
    Large packed sources are shared out over as many threads as matrix products may use, every so-manieth
    block to each, so that the same number of threads gives the same sums.
    """
    job = float(people.shape[0]) * people.shape[1]
    parts, count = list(blocks), 1
    if worth_compiling(job) and coding.ploidy == 2 and parts and packed_of(people, 0, 1) is not None:
        count = min(_product_threads(), len(parts))

    def some(first: int) -> Array:
        total = np.zeros(people.shape[0])
        for block in parts[first::count]:
            total += calls_of("targets", people, block, coding).sums(table(block), job=job)
        return total

    if count == 1:
        return some(0)
    with ThreadPoolExecutor(count) as pool:
        return np.asarray(sum(pool.map(some, range(count))))


def _product_threads() -> int:
    """How many threads a matrix product takes: what the user, or the one who called us, has set."""
    from threadpoolctl import threadpool_info

    return max(
        (int(found["num_threads"]) for found in threadpool_info() if found["user_api"] == "blas"), default=1
    )
