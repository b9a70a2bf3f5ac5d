"""The values that attributes take, and the calls of a chunk of people ready to be counted and summed.

Scores work in the ±1 coding: bits x ↦ 2x − 1, genotypes g ↦ g − 1, means in [−1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunk, Chunked, chunk_slices, is_packed
from tellall.people.genomics.packed_calls import MISSING, PackedCalls

__all__ = [
    "CODINGS",
    "AttributeCoding",
    "ByteCalls",
    "Calls",
    "Codes",
    "calls_of",
    "reals_of",
    "slices_for",
]

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class AttributeCoding:
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

    def codes(self, name: str, chunk: npt.NDArray[Any]) -> Codes:
        """Returns the index of each value among the values; one past the last where the call is missing."""
        missing = len(self.values)
        if chunk.dtype == np.int8 and self.values == tuple(range(missing)):
            if chunk.view(np.uint8).max(initial=0) < missing:  # these bytes are codes already
                return chunk
            if self.ploidy == 2 and chunk.max() < missing:
                return np.where(chunk < 0, np.int8(missing), chunk)
        codes = np.full_like(chunk, -1, dtype=np.int8)
        for code, value in enumerate(self.values):
            codes[chunk == value] = code
        if (codes < 0).any():
            if chunk.dtype.kind == "f":
                codes[np.isnan(chunk)] = missing
            if self.ploidy == 2:  # readers of genotypes mark a missing call by a negative number
                codes[chunk < 0] = missing
        if (codes < 0).any():
            rule = f"{', '.join(map(str, self.values))} (coding='{self.name}')"
            raise invalid(name, rule, float(chunk[codes < 0].flat[0]), self._other_codings())
        return codes

    def _other_codings(self) -> str:
        others = [c for c in CODINGS.values() if c.values and c.name != self.name]
        each = (f"'{c.name}' for {', '.join(map(str, c.values))}" for c in others)
        return f"coding may be {'; '.join(each)}."


CODINGS = {
    "signs": AttributeCoding("signs", (-1, 1), (-1.0, 1.0)),
    "bits": AttributeCoding("bits", (0, 1), (-1.0, 1.0)),
    "genotypes": AttributeCoding("genotypes", (0, 1, 2), (-1.0, 0.0, 1.0), ploidy=2),
    "reals": AttributeCoding("reals", (), ()),
}


@dataclass(frozen=True, eq=False)
class ByteCalls:
    """The same as :class:`PackedCalls`, with a byte per call and any coding."""

    calls: Codes
    coding: AttributeCoding

    def some(self, first: int, last: int) -> ByteCalls:
        return ByteCalls(self.calls[first:last], self.coding)

    def at(self, attributes: npt.NDArray[np.generic]) -> ByteCalls:
        return ByteCalls(self.calls[:, attributes], self.coding)

    def codes(self) -> Codes:
        return self.calls

    def counts(self) -> tuple[Array, Array]:
        seen = [(self.calls == value).sum(axis=0) for value in range(len(self.coding.values))]
        return np.array(self.coding.signs) @ np.stack(seen), np.asarray(sum(seen), dtype=np.float64)

    def sums(self, table: Array, *, job: float = 0.0) -> Array:
        return self.totals(lambda value: table[value][None, :], np.float64)[:, 0]

    def totals(self, tables: Callable[[int], Array], dtype: type[np.float32] | type[np.float64]) -> Array:
        base, values = tables(0), len(self.coding.values)
        total = np.repeat(base.sum(axis=1)[None, :], self.calls.shape[0], axis=0)
        for value in range(1, values + 1):
            indicator = self.calls == value
            if value < values or indicator.any():
                total += indicator.astype(dtype) @ (tables(value) - base).astype(dtype).T
        return total


Calls = PackedCalls | ByteCalls


def calls_of(name: str, people: Chunked, part: slice, coding: AttributeCoding) -> Calls:
    """Returns the people's calls over some attributes; packed where source and coding are genotypes."""
    chunk = people.chunk(part.start, part.stop)
    if isinstance(chunk, PackedCalls):
        if coding.ploidy == 2:
            return chunk
        chunk = chunk.copies()
    return ByteCalls(coding.codes(name, chunk), coding)


def reals_of(name: str, people: Chunked, part: slice) -> Array:
    """Returns the people's real values over some attributes, all finite."""
    chunk: Chunk = people.chunk(part.start, part.stop)
    if isinstance(chunk, PackedCalls):
        codes = chunk.codes()
        chunk = np.where(codes == MISSING, np.nan, codes)
    array = np.asarray(chunk, dtype=np.float64)
    if not np.isfinite(array).all():
        raise invalid(name, "finite for attack='gaussian'", "NaN or infinite values")
    return array


def slices_for(people: Chunked, coding: AttributeCoding, *, beside: int = 0) -> Iterator[slice]:
    """Yields slices of attributes that fit the memory for these people, and for `beside` others."""
    count, attributes = people.shape
    packed = coding.ploidy == 2 and is_packed(people)
    return chunk_slices(attributes, max(count, beside), packed=packed)
