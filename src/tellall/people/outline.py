"""Outline: which columns people have and how many people there are, wherever the people are kept."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.people.columns import Bins, Column

__all__ = [
    "Outline",
    "bins_by_column",
    "choose_columns",
    "left_out_note",
    "unique_names",
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


def unique_names(parameter: str, value: Iterable[str]) -> list[str]:
    """Names of columns as a list, each once; one name alone is a list of one."""
    if not isinstance(value, Iterable):
        raise invalid(parameter, "a list of names", value)
    names = [value] if isinstance(value, str) else [str(name) for name in value]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise invalid(parameter, "each column once", f"'{repeated[0]}' twice")
    return names


def choose_columns(have: Sequence[str], secret: str | None, public: Iterable[str] | None) -> list[str]:
    """The public columns of a table: those asked for, or all but the secret."""
    if secret is not None and secret not in have:
        raise unknown_name("secret", secret, have)
    chosen = [name for name in have if name != secret] if public is None else unique_names("public", public)
    for name in chosen:
        if name not in have:
            raise unknown_name("public", name, have)
    if secret in chosen:
        raise invalid("public", "columns other than the secret", f"'{secret}' among them")
    return chosen


def bins_by_column(
    bins: Bins | Mapping[str, Bins] | None, chosen: Sequence[str], is_number: Callable[[str], bool]
) -> dict[str, Bins | None]:
    """The bins of each column; one list of cut points is for all columns of numbers."""
    if isinstance(bins, Mapping):
        for name in bins:
            if str(name) not in chosen:
                raise unknown_name("bins", name, chosen)
        return {str(name): cut for name, cut in bins.items()}
    points = bins is not None and not is_whole(bins) and not isinstance(bins, bool)
    return {name: bins for name in chosen if not points or is_number(name)}
