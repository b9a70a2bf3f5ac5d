"""Numbers: the real values of columns, those of bits made from their codes when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final, overload

import numpy as np
import numpy.typing as npt

from tellall.data.bits import Bits, IntArray
from tellall.data.columns import Column

__all__ = ["Array", "Numbers"]

Array = npt.NDArray[np.floating[Any]]


@final
class Numbers(Sequence[Array | None]):
    """The real values of each column, None for text.

    Parameters
    ----------
    codes
        Columns × people.
    others
        The values of the columns whose codes are not their values, None for text, by place.

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
        """The same without the values of bits, which are their codes."""
        if isinstance(values, Numbers) and values._codes is codes:
            return values
        pairs = enumerate(zip(columns, values, strict=True))
        return cls(codes, {j: kept for j, (column, kept) in pairs if not is_code(column, codes[j], kept)})

    @property
    def nbytes(self) -> int:
        """Bytes that they take beside the codes."""
        return sum(values.nbytes for values in self._others.values() if values is not None)

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, place: int) -> Array | None: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Array | None]: ...
    def __getitem__(self, place: int | slice) -> Array | Sequence[Array | None] | None:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        one = range(len(self))[place]
        return self._others[one] if one in self._others else self._codes[one].astype(np.float64)

    def take(self, codes: IntArray | Bits, people: IntArray) -> Numbers:
        """Those of some of the people, whose codes are given."""
        some = {j: None if values is None else values[people] for j, values in self._others.items()}
        return Numbers(codes, some)

    def choose(self, codes: IntArray | Bits, places: Sequence[int]) -> Numbers:
        """Those of some of the columns, whose codes are given."""
        return Numbers(codes, {k: self._others[j] for k, j in enumerate(places) if j in self._others})


def is_code(column: Column, codes: IntArray, values: Array | None) -> bool:
    """Whether these are bits whose values are their codes."""
    return values is not None and column.labels == ("0", "1") and np.array_equal(codes, values)
