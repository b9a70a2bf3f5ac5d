"""People × attributes, read a chunk of attributes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.genomics.packed_calls import PackedCalls

__all__ = [
    "Chunk",
    "Chunked",
    "SomeAttributes",
    "SomePeople",
    "as_chunked",
    "chunk_slices",
    "is_packed",
]

Chunk = npt.NDArray[Any] | PackedCalls

_MOST = 16_384  # attributes at once: arrays of their numbers stay in the cache
_BYTES = 96 * 2**20  # of a chunk of numbers
_PACKED_BYTES = 4 * 2**20  # of a packed chunk, which stays in the cache between reading and scoring


@runtime_checkable
class Chunked(Protocol):
    """People × attributes that are read a chunk of attributes at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of attributes."""
        ...

    def chunk(self, start: int, stop: int) -> Chunk:
        """Returns the attributes from start to stop (not included), as an array or as packed calls."""
        ...


@dataclass(frozen=True, eq=False)
class _ArrayPeople:
    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    def chunk(self, start: int, stop: int) -> Chunk:
        return self.array[:, start:stop]


@dataclass(frozen=True, eq=False)
class SomePeople:
    """The people from the first, which is a multiple of four, to the last (not included)."""

    source: Chunked
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.last - self.first, self.source.shape[1]

    def chunk(self, start: int, stop: int) -> Chunk:
        found = self.source.chunk(start, stop)
        if isinstance(found, PackedCalls):
            return found.some(self.first, self.last)
        return found[self.first : self.last]


@dataclass(frozen=True, eq=False)
class SomeAttributes:
    """Some attributes of a source, given by a rising index."""

    source: Chunked
    index: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], int(self.index.size)

    def chunk(self, start: int, stop: int) -> Chunk:
        index = self.index[start:stop]
        first, last = int(index[0]), int(index[-1]) + 1
        found = self.source.chunk(first, last)
        if last - first == index.size:
            return found
        return found.at(index - first) if isinstance(found, PackedCalls) else found[:, index - first]


def as_chunked(name: str, people: Chunked | npt.ArrayLike) -> Chunked:
    """Returns people who can be read in chunks; a flat array is one person."""
    if isinstance(people, Chunked):
        return people
    try:
        array = np.asarray(people)
    except ValueError:
        raise invalid(name, "an array of people × attributes", "rows of different lengths") from None
    if np.ma.is_masked(people) and array.dtype.kind in "biuf":  # a masked call is a missing one
        array = np.ma.filled(np.ma.asarray(people, dtype=np.float64), np.nan)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] < 1:
        raise invalid(name, "an array of people × attributes with one person or more", f"shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise invalid(name, "an array of numbers", f"type {array.dtype}")
    return _ArrayPeople(array)


def is_packed(people: Chunked) -> bool:
    """Returns whether a source gives packed calls."""
    return people.shape[1] > 0 and isinstance(people.chunk(0, 1), PackedCalls)


def chunk_slices(attributes: int, people: int, *, packed: bool = False) -> Iterator[slice]:
    """Yields slices of attributes; a chunk of that many people fits the memory set aside for one."""
    if packed:
        width = _PACKED_BYTES // max((people + 3) // 4, 1)
    else:
        width = min(8192, _BYTES // (8 * max(people, 1)))
    width = int(max(16, min(_MOST, width))) // 16 * 16  # kernels take several attributes at once
    for start in range(0, attributes, width):
        yield slice(start, min(start + width, attributes))
