"""What a store of people must be able to do for its tables to be counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.cells.coding import Coding, Values
from tellall.errors import InvalidInput, invalid

__all__ = ["MOST_VALUES", "Engine", "Progress", "changed"]

Progress = Callable[[int, int], object]
MOST_VALUES = 1_000_000  # of one column; beyond, it is a name or a measurement and no group


class Engine(ABC):
    """A table of people somewhere: on disk, on a cluster.

    Notes
    -----
    Law, tested: whatever the engine, the same people give the same numbers.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the people are, in a few words."""

    @property
    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Each column's kind: "whole", "real", "date", "text"; anything else cannot be counted."""

    @property
    @abstractmethod
    def people(self) -> int:
        """How many rows."""

    @abstractmethod
    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """Roughly how many distinct values each of these columns has; small columns may be left out."""

    @abstractmethod
    def values(self, name: str) -> Values:
        """The distinct values of a column, missing ones among them."""

    def ends(self, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """The least and greatest value of whole numbers, and how many are missing, where that is cheap."""
        return {}

    @abstractmethod
    def gaps(self, name: str) -> tuple[int, int]:
        """How many values of a column of numbers are missing, and how many infinite."""

    @abstractmethod
    def count(
        self, codings: Sequence[Coding], sets: Sequence[tuple[int, ...]], progress: Progress | None
    ) -> npt.NDArray[np.int64]:
        """The cells of tables over the coded columns, one table after the other, in C order."""

    @abstractmethod
    def digests(self, codings: Sequence[Coding], progress: Progress | None) -> tuple[int, ...] | None:
        """The sums that make the imprint of these columns; None where reading every row is out of reach."""

    @abstractmethod
    def rows(
        self, codings: Sequence[Coding], having: Sequence[tuple[Coding, int]], equal: Mapping[str, Any]
    ) -> tuple[list[npt.NDArray[np.integer[Any]]], list[npt.NDArray[np.floating[Any]] | None]]:
        """The codes and numbers of the people who have these codes and whose columns equal these values."""


def changed(what: str) -> InvalidInput:
    """The refusal to count people who are not those that were scanned."""
    return invalid("source", "the same as when it was scanned", f"other values in {what}", "Scan it again.")
