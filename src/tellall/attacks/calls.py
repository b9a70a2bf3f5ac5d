"""The values of everybody over a block of attributes, ready to be summed: two bits each, or a byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attacks.packed_calls import PackedCalls, worth_compiling
from tellall.attacks.tracing_blocks import Blocks, Coding, blocks_of, packed_of
from tellall.linops import Array

__all__ = ["Calls", "Codes", "blocks_for", "calls_of", "weighted_sums"]

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
