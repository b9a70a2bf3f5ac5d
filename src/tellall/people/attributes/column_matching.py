"""Matches people to the columns of published means: by name if both have names, otherwise by position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.attributes.chunks import Chunked, SomeAttributes, as_chunked
from tellall.people.dataset import Public

__all__ = [
    "match_columns",
    "names_of_means",
]

Names = tuple[str, ...]


def match_columns(
    values: Array, names: Names, targets: object, reference: object
) -> tuple[Array, list[Chunked], list[str]]:
    """Returns the means, targets and reference people over the attributes that all of them have, and notes.

    Notes
    -----
    Names are used if both the means and the people have them: releases, datasets, frames, mappings, and
    series with an index do. Names that only number the columns (``a0`` of an array's dataset, 0, 1, ... of a
    frame) stand for positions.
    """
    sides = [_Side.of("targets", targets), _Side.of("reference", reference)]
    if not names:
        _check_one_order(*sides)
        return values, [side.in_order(values.size, ()) for side in sides], []
    named = [side for side in sides if side.goes_by(names)]
    known = [set(side.names) for side in named]
    shared = np.array([j for j, name in enumerate(names) if all(name in one for one in known)], dtype=np.intp)
    if shared.size == 0:
        for side in named:
            if not set(side.names) & set(names):
                raise invalid(
                    side.name, f"people with columns of the release ({_few(names)})", _few(side.names)
                )
        rule = "people with columns that the release and the targets have too"
        raise invalid("reference", rule, _few(sides[1].names))
    wanted = [names[index] for index in shared]
    people = [
        as_chunked(side.name, side.read(wanted))
        if side in named
        else _at(side.in_order(values.size, names), shared)
        for side in sides
    ]
    return values[shared], people, _left_out(named, names, shared.size)


def names_of_means(means: object) -> Names:
    """Returns the names that published means come with: a series' index, a mapping's keys, or none."""
    if isinstance(means, Mapping):
        return _each_once("means", means)
    index = getattr(means, "index", None)
    if index is None or callable(index) or _counts_up(index):
        return ()
    return _each_once("means", index)


@dataclass(frozen=True, eq=False)
class _Side:
    """Targets or reference people: their column names, if they have any, and how to read columns by name.

    `numbered` means that the names only number the columns. `fixed` means that they count as names all the
    same if the means have names: a dataset leaves out constant columns of its array, so numbers have gaps.
    """

    name: str
    people: Any
    names: Names = ()
    numbered: bool = False
    fixed: bool = False
    columns: Callable[[Sequence[str]], npt.NDArray[Any]] | None = None

    @classmethod
    def of(cls, name: str, people: Any) -> _Side:
        if hasattr(people, "collect"):  # a lazy frame
            people = people.collect()
        if isinstance(people, Public):
            numbered = _from_array(people.names)
            return cls(name, people, people.names, numbered, True, partial(_of_public, people))
        index = getattr(people, "index", None)
        if hasattr(people, "to_frame") and not (index is None or callable(index) or _counts_up(index)):
            values = people.to_numpy()  # a series: one person
            people = {key: values[j : j + 1] for j, key in enumerate(_each_once(name, index))}
        if isinstance(people, Mapping):
            names = _each_once(name, people)
            return cls(
                name,
                people,
                names,
                columns=partial(_of_mapping, name, dict(zip(names, people.values(), strict=True))),
            )
        if hasattr(people, "columns") and hasattr(people, "to_numpy"):
            names = _each_once(name, people.columns)
            numbered = _counts_up(people.columns) or all(c == f"column_{j}" for j, c in enumerate(names))
            keys = dict(zip(names, people.columns, strict=True))
            return cls(name, people, names, numbered, columns=partial(_of_frame, name, people, keys))
        return cls(name, people)

    def goes_by(self, names: Names) -> bool:
        """Returns whether these people are matched to the means by name."""
        if not self.names or self.fixed:
            return bool(self.names)
        mine = set(self.names)
        only_numbered = self.numbered and not set(names) <= mine
        return not only_numbered and not (_from_array(names) and not set(names) & mine)

    def read(self, wanted: Sequence[str]) -> Any:
        return self.people if self.columns is None else self.columns(wanted)

    def in_order(self, width: int, names: Names) -> Chunked:
        """Returns the people by position, without the constant columns that an array's dataset left out."""
        people = as_chunked(self.name, self.read(self.names))
        found = people.shape[1]
        if found > width and _from_array(names):
            index = np.array([int(name[1:]) for name in names])
            if index[-1] < found:
                return SomeAttributes(people, index)
        if found != width:
            advice = (
                "Pass people with names, such as a frame or a Dataset, to match by name." if names else ""
            )
            rule = f"people with the {width} attributes of the means"
            raise invalid(self.name, rule, f"{found} attributes", advice)
        return people


def _at(people: Chunked, index: npt.NDArray[np.intp]) -> Chunked:
    return people if index.size == people.shape[1] else SomeAttributes(people, index)


def _check_one_order(first: _Side, second: _Side) -> None:
    """Means without names go by position, so people who have names must agree on the order."""
    if first.numbered or second.numbered or not first.names or not second.names:
        return
    if first.names != second.names and set(first.names) == set(second.names):
        raise invalid(
            "reference",
            "in the targets' order of columns, since the means have no names",
            _few(second.names),
            "Or give the means names: a release, or a series with the columns as its index.",
        )


def _of_public(people: Public, wanted: Sequence[str]) -> npt.NDArray[Any]:
    index = [people.position(name) for name in wanted]
    numbers = [(people.numbers[j], people.codes[j]) for j in index]
    return np.stack([codes if value is None else value for value, codes in numbers], axis=1)


def _of_frame(side: str, frame: Any, keys: Mapping[str, Any], wanted: Sequence[str]) -> npt.NDArray[Any]:
    some = frame[[keys[name] for name in wanted]]
    array = np.asarray(some.to_numpy())
    if array.dtype.kind in "biuf":
        return array
    return _of_mapping(side, {name: some[keys[name]] for name in wanted}, wanted)


def _of_mapping(side: str, columns: Mapping[str, object], wanted: Sequence[str]) -> Array:
    """Columns as one array of floats, NaN where a value is missing."""
    try:
        return np.stack([_numbers(columns[name]) for name in wanted], axis=1)
    except (TypeError, ValueError):
        raise invalid(side, "columns of numbers, of one length", _few(wanted)) from None


def _numbers(column: Any) -> Array:
    """A column as floats, NaN where masked, null or missing."""
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(np.float64), np.nan)
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    missing = [value is None or type(value).__name__ in ("NAType", "NaTType") for value in values]
    array = np.asarray([np.nan if gone else value for gone, value in zip(missing, values, strict=True)])
    if array.dtype.kind not in "biuf":
        raise TypeError
    return array.astype(np.float64)


def _each_once(side: str, names: Any) -> Names:
    found = tuple(str(name) for name in names)
    if len(set(found)) < len(found):
        twice = next(a for a, b in pairwise(sorted(found)) if a == b)
        raise invalid(side, "with each name once", f"'{twice}' twice")
    return found


def _counts_up(index: Any) -> bool:
    """Returns whether labels are 0, 1, 2, ... as pandas gives them by default."""
    return all(not isinstance(label, str) and label == j for j, label in enumerate(index))


def _from_array(names: Sequence[str]) -> bool:
    """Returns whether a dataset made from an array could have these names: a0, a1, ..., rising."""
    if not names or not all(name[:1] == "a" and name[1:].isdecimal() for name in names):
        return False
    return all(int(a[1:]) < int(b[1:]) for a, b in pairwise(names))


def _left_out(named: Sequence[_Side], names: Names, shared: int) -> list[str]:
    """A sentence on the columns that were left out; none if all sides have the same columns."""
    extra = {side.name: len(side.names) - shared for side in named}
    if shared == len(names) and not any(extra.values()):
        return []
    beside = ", ".join(f"{count:,} of the {side}" for side, count in extra.items())
    return [
        f"{shared:,} of {len(names):,} published means have a column in the targets and the reference; "
        f"columns left out: {beside}."
    ]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
