"""Public columns as 0/1 attributes: bits as they are, any other column by its indicators "column = value"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import PACKED, Bits, Public
from tellall.errors import invalid
from tellall.linops import Packed

__all__ = ["Indicators", "counting_type", "factor_bytes", "packed_or_plain"]

Factor = npt.NDArray[np.float32] | Packed


@dataclass(frozen=True, eq=False)
class Indicators:
    """The 0/1 attributes of a public table.

    A column of bits is one attribute under its own name; any other column has one attribute per category,
    named "column = category", the columns in their order and the categories in that of their codes.

    Examples
    --------
    >>> from tellall.data import Dataset
    >>> people = Dataset.from_frame({"smokes": [0, 1, 1], "sex": ["f", "m", "f"]})
    >>> Indicators(people.public).names
    ('smokes', 'sex = f', 'sex = m')
    """

    public: Public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each attribute is called."""
        names: list[str] = []
        for column in self.public.columns:
            if _is_bit(column.labels):
                names.append(column.name)
            else:
                names += [f"{column.name} = {label}" for label in column.labels]
        return tuple(names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def factor(self) -> Factor:
        """Attributes × people, for products: packed where they are many."""
        codes = self.public.codes
        if isinstance(codes, Bits) and len(self) == len(codes):
            return Packed(codes.packed, codes.people)
        return packed_or_plain(self._rows(range(len(self))), len(self), self.public.n)

    def chosen(self, places: Sequence[int]) -> Bits | npt.NDArray[np.uint8]:
        """Some of the attributes × people, by place."""
        if isinstance(self.public.codes, Bits):
            return Bits(np.stack([np.packbits(row) for row in self._rows(places)]), self.public.n)
        return np.array(list(self._rows(places)), dtype=np.uint8).reshape(len(places), self.public.n)

    def _rows(self, places: Iterable[int]) -> Iterator[npt.NDArray[np.bool_]]:
        for place in places:
            column, value = self._meaning[place]
            yield self.public.codes[column] == value

    @cached_property
    def _meaning(self) -> tuple[tuple[int, int], ...]:
        """The column and the code that each attribute stands for."""
        found: list[tuple[int, int]] = []
        for place, column in enumerate(self.public.columns):
            wanted = (1,) if _is_bit(column.labels) else range(column.levels)
            found += [(place, value) for value in wanted]
        return tuple(found)

    def position(self, name: str | int) -> int:
        """The place of an attribute given by name or place."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not 0 <= name < len(self):
                raise invalid("attributes", f"places from 0 to {len(self) - 1}", int(name))
            return int(name)
        if name not in self.names:
            gone = next((reason for reason in self.public.left_out if reason.startswith(f"{name}: ")), None)
            if gone is not None:
                rule = "of columns that differ between people"
                raise invalid("attributes", rule, f"'{name}'", f"Left out: {gone}.")
            near = difflib.get_close_matches(str(name), self.names, n=1)
            listing = ", ".join(self.names[:12]) + (", ..." if len(self) > 12 else "")
            advice = f"Did you mean '{near[0]}'?" if near else ""
            raise invalid("attributes", f"among {listing}", f"'{name}'", advice)
        return self.names.index(str(name))


def packed_or_plain(rows: Iterable[npt.NDArray[Any]], count: int, people: int) -> Factor:
    """So many rows of bits as a factor of products: packed from :data:`PACKED` bits on.

    Single precision below, in which counts are exact up to 2^24 people.
    """
    if count * people < PACKED:
        plain = np.empty((count, people), dtype=np.float32)
        for place, row in enumerate(rows):
            plain[place] = row
        return plain
    packed = np.empty((count, -(-people // 8)), dtype=np.uint8)
    for place, row in enumerate(rows):
        packed[place] = np.packbits(row)
    return Packed(packed, people)


def counting_type(people: int) -> type[np.floating[Any]]:
    """A number type in which sums of 0, 1 and −1 over so many people are exact, and of halves of them."""
    return np.float32 if people < 2**24 else np.float64  # sums of halves stay below 2^23, in steps of 1/2


def factor_bytes(count: int, people: int, *, packed: bool = False) -> int:
    """Bytes of so many attributes of these people as a factor of products; ``packed`` in any case."""
    bits = count * people
    return -(-bits // 8) if packed or bits >= PACKED else 2 * 4 * bits  # as they are and turned round


def _is_bit(labels: tuple[str, ...]) -> bool:
    return labels == ("0", "1")
