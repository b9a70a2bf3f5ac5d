"""Imprint: what a release remembers of its public table, so that it is never matched with another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.people.bits import Bits, sum_tokens
from tellall.people.columns import Bins, Column

__all__ = [
    "Imprint",
    "digests",
    "tokens_of",
]

_MIXERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_CHUNK = 2**16  # people whose sums stay in the cache


@dataclass(frozen=True)
class Imprint:
    """The shape of a public table and a fingerprint of its rows; no person in it.

    Attributes
    ----------
    names, levels, cuts
        What each column is called, how many categories it has, where it was cut (None: not cut).
    people
        How many rows.
    fingerprint
        32 hexadecimal digits; the same for the same rows in any order.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    cuts: tuple[tuple[float, ...] | None, ...]
    people: int
    fingerprint: str

    @classmethod
    def of(cls, columns: Sequence[Column], people: int, sums: Sequence[int]) -> Imprint:
        """The imprint of a table from its columns and the :func:`digests` of its people.

        Examples
        --------
        >>> columns = [Column("x", ("0", "1"))]
        >>> one, same, other = (
        ...     Imprint.of(columns, 3, digests(columns, np.array([codes])))
        ...     for codes in ([0, 1, 1], [1, 0, 1], [0, 0, 1])
        ... )
        >>> one == same, one == other
        (True, False)
        """
        return cls(
            names=tuple(column.name for column in columns),
            levels=tuple(column.levels for column in columns),
            cuts=tuple(column.cuts for column in columns),
            people=people,
            fingerprint="".join(f"{total % 2**64:016x}" for total in sums),
        )

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins with which a reader cuts the same table in the same way."""
        return {
            name: list(cuts) if cuts else max(2, levels + 1)
            for name, levels, cuts in zip(self.names, self.levels, self.cuts, strict=True)
        }


def digests(
    columns: Sequence[Column],
    codes: Sequence[npt.NDArray[np.integer[Any]]] | npt.NDArray[np.integer[Any]] | Bits,
    numbers: Sequence[npt.NDArray[np.floating[Any]] | None] = (),
    sums: npt.NDArray[np.uint64] | None = None,
) -> tuple[int, ...]:
    """Sums over these people that add up, modulo 2⁶⁴, to those of the table they are part of.

    ``sums`` are those of each person's tokens, if they are known.

    Notes
    -----
    Each (column, category) gets 64 bits from BLAKE2; a row is the mixed sum of its own, the table the sum of
    its rows, twice with different mixing. That notices an accident, not a forger. O(columns × people).
    """
    whole = sum_tokens(codes, tokens_of(columns)) if sums is None else sums
    measured = []
    for index in range(len(numbers)):
        values = None if columns[index].cuts is None else numbers[index]  # else the category says it all
        if values is not None:
            measured.append((np.uint64(2 * index + 1), values))
    totals = [0] * len(_MIXERS)
    for begin in range(0, whole.size, _CHUNK):
        some = slice(begin, begin + _CHUNK)
        rows = whole[some]
        for mixer, values in measured:
            rows = rows + _mix(np.nan_to_num(values[some] + 0.0).view(np.uint64), mixer)
        for index, mixing in enumerate(_MIXERS):
            totals[index] += int(np.sum(_mix(rows, np.uint64(mixing)), dtype=np.uint64))
    return tuple(total % 2**64 for total in totals)


def tokens_of(columns: Sequence[Column]) -> list[npt.NDArray[np.uint64]]:
    """64 bits for each category of each column."""
    return [_tokens(column) for column in columns]


def _tokens(column: Column) -> npt.NDArray[np.uint64]:
    texts = (f"{len(column.name)}:{column.name}:{code}:{text}" for code, text in enumerate(column.labels))
    raw = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(raw), dtype="<u8").astype(np.uint64)


def _mix(rows: npt.NDArray[np.uint64], mixer: np.uint64) -> npt.NDArray[np.uint64]:
    """Mixes each row, so that every bit depends on every other and sums do not cancel."""
    mixed = (rows ^ (rows >> np.uint64(30))) * mixer
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIXERS[1])
    return mixed ^ (mixed >> np.uint64(31))
