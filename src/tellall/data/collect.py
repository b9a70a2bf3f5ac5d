"""Collect: columns one after the other become a table, those that say nothing left out, bits packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data.bits import PACKED, Bits, IntArray
from tellall.data.columns import Column, encode
from tellall.data.numbers import Array, Numbers, is_code
from tellall.errors import invalid

__all__ = ["Collected", "collect", "from_matrix", "telling"]

_ENTRIES = 2**24  # of an array looked at together

Collected = tuple[tuple[Column, ...], IntArray | Bits, Numbers, tuple[str, ...]]


def collect(encoded: Iterable[tuple[Column, IntArray, Array | None]], count: int) -> Collected:
    """Columns, codes, numbers and what was left out, of so many columns with their codes and numbers.

    Of many, columns of at most two values are packed as they come: no more than one is held unpacked.
    """
    columns: list[Column] = []
    others: dict[int, Array | None] = {}
    rows: list[npt.NDArray[Any]] = []
    many, people = False, 0
    for place, (column, codes, values) in enumerate(encoded):
        people = codes.size
        many = count * people >= PACKED
        columns.append(column)
        if not is_code(column, codes, values):
            others[place] = values
        rows.append(np.packbits(codes) if many and column.levels <= 2 else codes)
    found: IntArray | Bits
    if many and all(column.levels <= 2 for column in columns):
        found = Bits(np.stack(rows), people)
    elif many:
        pairs = zip(columns, rows, strict=True)
        found = np.stack([np.unpackbits(row, count=people) if c.levels <= 2 else row for c, row in pairs])
    else:
        found = np.stack(rows)
    return telling(columns, found, Numbers(found, others))


def from_matrix(array: npt.NDArray[Any], names: Sequence[str]) -> Collected:
    """The same of people × attributes."""
    if not all(bool(((some == 0) | (some == 1)).all()) for some in _some_people(array)):
        return collect((encode(name, array[:, j]) for j, name in enumerate(names)), len(names))
    columns = [Column(name, ("0", "1")) for name in names]  # bits need no search for their values
    if array.size < PACKED:
        codes = np.ascontiguousarray(array.T, dtype=np.uint8)
        return telling(columns, codes, Numbers(codes, {}))
    parts = [np.packbits(np.ascontiguousarray(some.T != 0), axis=1) for some in _some_people(array)]
    bits = Bits(np.concatenate(parts, axis=1), len(array))
    return telling(columns, bits, Numbers(bits, {}))


def telling(columns: Sequence[Column], codes: IntArray | Bits, numbers: Numbers) -> Collected:
    """The columns that say something; the rest are named as left out."""
    if isinstance(codes, Bits):
        varies = (~codes.constant).tolist()
    else:
        varies = [bool((row != row[0]).any()) for row in codes]
    if all(varies):
        return tuple(columns), codes, numbers, ()
    if not any(varies):
        raise invalid("public", "columns that differ between people", "constant columns only")
    kept = [j for j, keep in enumerate(varies) if keep]
    reasons = tuple(
        f"{column.name}: constant ({column.labels[int(codes[j][0])]})"
        for j, column in enumerate(columns)
        if not varies[j]
    )
    some = codes[kept]
    return tuple(columns[j] for j in kept), some, numbers.choose(some, kept), reasons


def _some_people(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """The array some rows at a time, as many as make whole bytes."""
    step = max(8, _ENTRIES // array.shape[1] // 8 * 8)
    return (array[begin : begin + step] for begin in range(0, len(array), step))
