"""Layout: which columns people have and how many people there are, wherever the people themselves are."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tellall.core.checks import is_whole
from tellall.core.errors import invalid
from tellall.people.columns import Column

__all__ = [
    "Layout",
    "Outline",
    "told_left_out",
    "unknown_name",
]

_MOST_TOLD = 3  # columns named in a sentence


class Layout(ABC):
    """Columns with all their categories, and a number of people: what tables need to know of their shape."""

    columns: tuple[Column, ...]
    left_out: tuple[str, ...]

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
        if is_whole(name):
            if not 0 <= name < len(self.columns):
                last = f"{len(self.columns) - 1}{told_left_out(self)}"
                raise invalid("attribute", f"from 0 to {last}", int(name))
            return int(name)
        if name not in self.names:
            gone = next((reason for reason in self.left_out if reason.startswith(f"{name}: ")), None)
            if gone is not None:
                rule = "a column that differs between people"
                raise invalid("attribute", rule, f"'{name}'", f"Left out: {gone}.")
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


def told_left_out(people: Layout) -> str:
    """The columns that are not there because they say nothing, in brackets; empty where there is none."""
    gone = ", ".join(people.left_out[:_MOST_TOLD]) + (", ..." if len(people.left_out) > _MOST_TOLD else "")
    return f" (left out: {gone})" if gone else ""
