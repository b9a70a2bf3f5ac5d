"""Conditions on public columns, written as text: "age >= 40 and sex == 'f'"."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import Column, Public, unknown_name
from tellall.errors import InvalidInput, invalid
from tellall.statistics.condition_text import Compare, In, read_condition

__all__ = ["Condition", "parse_condition"]

Mask = npt.NDArray[np.bool_]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A condition that has been read: its text, and who satisfies it.

    Notes
    -----
    Numbers are compared as they are, also where tables cut them into bins; text by its value, with ==, != and
    in. A missing value satisfies no comparison (so ``not age < 40`` holds for people whose age is missing,
    ``age >= 40`` does not). O(n) per comparison.

    Examples
    --------
    >>> from tellall.data import Dataset
    >>> people = Dataset.from_frame({"age": [31, 45, 62], "sex": ["f", "m", "f"]})
    >>> parse_condition("age >= 40 and sex == 'f'").mask(people.public).tolist()
    [False, False, True]
    """

    text: str
    root: Any

    def mask(self, public: Public) -> Mask:
        """Who satisfies it."""
        return _evaluate(self.root, public)


def parse_condition(text: str) -> Condition:
    """The condition that the text says."""
    return Condition(text, read_condition(text))


def _evaluate(node: Any, public: Public) -> Mask:
    if isinstance(node, Compare):
        return _compare(node, public)
    if isinstance(node, In):
        parts = [_compare(Compare(node.name, "==", value), public) for value in node.values]
        return np.asarray(np.logical_or.reduce(parts))
    masks = [_evaluate(part, public) for part in node.parts]
    if node.word == "not":
        return ~masks[0]
    return np.asarray((np.logical_and if node.word == "and" else np.logical_or).reduce(masks))


def _compare(node: Compare, public: Public) -> Mask:
    place = _place(node.name, public)
    column = public.columns[place]
    numbers = _numbers(public, place)
    if numbers is not None:
        if isinstance(node.value, str):
            raise invalid("condition", f"a number beside the column '{column.name}'", f"'{node.value}'")
        with np.errstate(invalid="ignore"):
            holds = _COMPARE[node.sign](numbers, node.value)
        return np.asarray(holds & ~np.isnan(numbers))
    if not isinstance(node.value, str):
        raise invalid(
            "condition", f"a quoted text beside the column '{column.name}'", f"{node.value:g}", "Quote it."
        )
    if node.sign not in ("==", "!="):
        raise invalid("condition", f"==, != or in beside the text column '{column.name}'", f"'{node.sign}'")
    known = column.labels[: _known(column)]
    if node.value not in known:
        raise _unknown_value(column, node.value, known)
    codes = public.codes[place]
    return np.asarray(_COMPARE[node.sign](codes, known.index(node.value)) & (codes < len(known)))


def _unknown_value(column: Column, value: str, known: tuple[str, ...]) -> InvalidInput:
    """The error for a text that a column does not have."""
    listing = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return invalid("condition", f"a value of the column '{column.name}' ({listing})", f"'{value}'")


def _place(name: str, public: Public) -> int:
    if name in public.names:
        return public.names.index(name)
    gone = next((reason for reason in public.left_out if reason.startswith(f"{name}: ")), None)
    if gone is not None:
        raise invalid("condition", "about columns that differ between people", gone)
    raise unknown_name("condition", name, public.names)


def _known(column: Column) -> int:
    """How many of a text column's categories are values; the last may stand for missing ones."""
    return column.levels - int(column.gaps)


def _numbers(public: Public, place: int) -> npt.NDArray[np.floating[Any]] | None:
    """The column's numbers, NaN where missing; None for text."""
    kept = public.numbers[place] if public.numbers else None
    if kept is not None or public.columns[place].cuts is None:
        return kept
    raise invalid("condition", "about columns whose numbers are known", public.columns[place].name)
