"""Outline: which columns people have and how many people there are, wherever the people are kept."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.columns import Column

__all__ = [
    "Outline",
    "left_out_note",
    "unknown_name",
]

_MOST_NAMED = 3  # columns named in a sentence


class Outline(ABC):
    """Columns with all their categories, and a number of people: all that the shape of a table depends on."""

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

    def position(self, name: str | int, parameter: str = "attribute") -> int:
        """The index of a column given by name or index; errors name the parameter it came from."""
        if is_whole(name):
            if not 0 <= name < len(self.columns):
                rule = f"from 0 to {len(self.columns) - 1}{left_out_note(self)}"
                raise invalid(parameter, rule, int(name))
            return int(name)
        if name not in self.names:
            reason = next((reason for reason in self.left_out if reason.startswith(f"{name}: ")), None)
            if reason is not None:
                rule = "a column that differs between people"
                raise invalid(parameter, rule, f"'{name}'", f"Left out: {reason}.")
            raise unknown_name(parameter, name, self.names)
        return self.names.index(str(name))


def unknown_name(parameter: str, name: object, have: Sequence[str]) -> InvalidInput:
    """The error for a column that is not in the table; it suggests the nearest one that is."""
    near = difflib.get_close_matches(str(name), have, n=1)
    listing = ", ".join(have[:12]) + (", ..." if len(have) > 12 else "")
    advice = f"Did you mean '{near[0]}'?" if near else ""
    return invalid(parameter, f"a column of the table ({listing})", f"'{name}'", advice)


def left_out_note(people: Outline) -> str:
    """The columns left out because they say nothing, in brackets; empty if none was."""
    some = people.left_out[:_MOST_NAMED]
    more = ", ..." if len(people.left_out) > _MOST_NAMED else ""
    return f" (left out: {', '.join(some)}{more})" if some else ""
