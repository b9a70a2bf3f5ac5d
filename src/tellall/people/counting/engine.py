"""Engine: what a store of people must be able to do for its tables to be counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.core.work import Progress
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.counting.coding import Coding, StoredSubset, Values

__all__ = [
    "LONGEST_TEXT",
    "MOST_VALUES",
    "Engine",
    "changed",
]

LONGEST_TEXT = 2**14  # bytes of a category
MOST_VALUES = 1_000_000  # distinct values of one column; a column with more is a name or a measurement


class Engine(ABC):
    """A table of people on disk or on a cluster.

    Notes
    -----
    Law, tested: the same people give the same numbers with every engine.
    """

    @property
    @abstractmethod
    def source_name(self) -> str:
        """Where the people are, in a few words."""

    @property
    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Each column's kind: "whole", "real", "date", "text"; any other kind cannot be counted."""

    @property
    @abstractmethod
    def people(self) -> int:
        """How many rows."""

    @abstractmethod
    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """Roughly how many distinct values each of these columns has; small columns may be left out."""

    def longest(self, names: Sequence[str]) -> dict[str, int]:
        """The bytes of the longest text of columns of text, if it is not known to be short."""
        return {}

    @abstractmethod
    def values(self, name: str) -> Values:
        """The distinct values of a column, including missing."""

    def ends(self, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """The least and greatest whole number of columns and how many are missing, if cheap to find."""
        return {}

    @abstractmethod
    def gaps(self, name: str) -> tuple[int, int]:
        """How many values of a column of numbers are missing, and how many infinite."""

    @abstractmethod
    def count(
        self,
        codings: Sequence[Coding],
        sets: Sequence[tuple[int, ...]],
        progress: Progress | None,
        part: StoredSubset | None = None,
    ) -> npt.NDArray[np.int64]:
        """The cells of tables over the coded columns, one table after the other, in C order.

        ``part`` is the people they are about; None: everybody.
        """

    @abstractmethod
    def rows(
        self, codings: Sequence[Coding], having: Sequence[tuple[Coding, int]], equal: Mapping[str, object]
    ) -> tuple[list[IntArray], list[Array | None]]:
        """The codes and numbers of the people who have these codes and whose columns equal these values."""


def changed(what: str) -> InvalidInput:
    """The error for people who changed since they were scanned."""
    return invalid("source", "the same as when it was scanned", f"other values in {what}", "Scan it again.")
