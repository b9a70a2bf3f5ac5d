"""Layout: which columns people have and how many people there are, wherever the people themselves are."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellall.data.columns import Column
from tellall.errors import invalid

__all__ = ["Layout", "Outline", "unknown_name"]


class Layout(ABC):
    """Columns with all their categories, and a number of people: what tables need to know of their shape."""

    columns: tuple[Column, ...]

    @property
    @abstractmethod
    def n(self) -> int:
        """How many people."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The number of categories of each column."""
        return tuple(column.levels for column in self.columns)

    def position(self, name: str | int) -> int:
        """The place of a column given by name or place."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not 0 <= name < len(self.columns):
                raise invalid("attribute", f"from 0 to {len(self.columns) - 1}", int(name))
            return int(name)
        if name not in self.names:
            raise unknown_name("attribute", name, self.names)
        return self.names.index(str(name))


@dataclass(frozen=True)
class Outline(Layout):
    """The layout of people who are not here.

    Attributes
    ----------
    columns
        What each column is called and what its codes mean.
    people
        How many.
    left_out
        Columns that say nothing, and why.
    """

    columns: tuple[Column, ...]
    people: int
    left_out: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many people."""
        return self.people


def unknown_name(parameter: str, name: object, have: Sequence[str]) -> Exception:
    """The error for a column that is not there, with the nearest one that is."""
    near = difflib.get_close_matches(str(name), have, n=1)
    listing = ", ".join(have[:12]) + (", ..." if len(have) > 12 else "")
    advice = f"Did you mean '{near[0]}'?" if near else ""
    return invalid(parameter, f"a column of the table ({listing})", f"'{name}'", advice)
