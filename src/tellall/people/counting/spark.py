"""People in Spark, or in any database that Ibis supports: the database does the counting."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from tellall.core.work import Progress
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.people.counting.coding import Coding, StoredSubset, Values
from tellall.people.counting.engine import Engine, changed

__all__ = [
    "BehindIbis",
    "cover",
    "fold",
    "from_spark",
]

# A few larger tables from which many smaller ones follow, for engines where each query costs a pass.


def cover(
    levels: Sequence[int], sets: Sequence[tuple[int, ...]], most: int
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Larger sets of columns that contain the given ones, each of at most `most` cells where possible.

    Notes
    -----
    Greedy: takes the first set that is not covered and adds the columns of later sets while they fit.

    Examples
    --------
    >>> cover([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3)], 8)
    [((0, 1, 2), [0, 1]), ((2, 3), [2])]
    """
    masks = [sum(1 << index for index in indices) for indices in sets]
    waiting, found = list(range(len(sets))), []
    while waiting:
        whole = set(sets[waiting[0]])
        cells = prod(levels[index] for index in whole)
        for number in waiting:
            more = set(sets[number]) - whole
            larger = cells * prod(levels[index] for index in more)
            if larger <= most:
                whole, cells = whole | more, larger
        mask = sum(1 << index for index in whole)
        inside = [number for number in waiting if not masks[number] & ~mask]
        found.append((tuple(sorted(whole)), inside))
        taken = set(inside)
        waiting = [number for number in waiting if number not in taken]
    return found


def fold(
    keys: npt.NDArray[np.int64],
    people: npt.NDArray[np.int64],
    shape: Sequence[int],
    axes: Sequence[int],
) -> npt.NDArray[Any]:
    """The table over some axes of a larger table, which is given by its nonempty cells.

    Examples
    --------
    >>> fold(np.array([0, 3]), np.array([5, 7]), (2, 2), [1]).tolist()
    [5, 7]
    """
    codes = np.unravel_index(keys, tuple(shape)) if len(shape) else ()
    sizes = tuple(shape[axis] for axis in axes)
    out = np.zeros(prod(sizes), dtype=np.int64)
    flat = np.ravel_multi_index(tuple(codes[axis] for axis in axes), sizes) if axes else np.zeros_like(keys)
    np.add.at(out, flat, people)
    return out


_MOST_GROUPS = 2**21  # most cells of one query's table, which come to this machine


@dataclass(frozen=True, eq=False)
class BehindIbis(Engine):
    """An Ibis table.

    Notes
    -----
    Each query groups the people by the joint code of as many columns as have at most 2²¹ cells together;
    smaller tables are summed from it here. Only :meth:`rows` fetches single people.
    """

    table: Any
    kept: Any = field(default=None, repr=False)  # the Spark frame behind the table, kept alive with it

    @property
    def source_name(self) -> str:
        return f"a table of {self.table.get_backend().name}"

    @cached_property
    def types(self) -> Mapping[str, str]:
        return {str(name): _kind(kind) for name, kind in self.table.schema().items()}

    @cached_property
    def people(self) -> int:
        return int(self.table.count().execute())

    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        asked = {f"c{index}": self.table[name].approx_nunique() for index, name in enumerate(names)}
        row = self.table.aggregate(**asked).execute()
        return {name: int(row[f"c{index}"].iloc[0]) for index, name in enumerate(names)}

    def values(self, name: str) -> Values:
        grouped = self.table.group_by(value=self.table[name]).aggregate(people=self.table.count())
        found = grouped.execute()
        return Values(found["value"].to_numpy(), found["people"].to_numpy().astype(np.int64))

    def gaps(self, name: str) -> tuple[int, int]:
        number = self._number(name)
        infinite = number.isinf().sum() if self.types[name] == "real" else (number != number).sum()
        row = self.table.aggregate(gone=self._missing(name).sum(), infinite=infinite).execute()
        gone, infinities = (int(np.nan_to_num(row[key].iloc[0])) for key in ("gone", "infinite"))
        return gone, infinities

    def count(
        self,
        codings: Sequence[Coding],
        sets: Sequence[tuple[int, ...]],
        progress: Progress | None,
        part: StoredSubset | None = None,
    ) -> npt.NDArray[np.int64]:
        levels = [coding.column.levels for coding in codings]
        found: dict[int, npt.NDArray[np.int64]] = {}
        if progress:
            progress(0, self.people)
        for whole, inside in cover(levels, sets, _MOST_GROUPS):
            keys, people = self._grouped([codings[index] for index in whole], part)
            expected = self.people if part is None else part.people
            if expected is not None and people.sum() != expected:
                raise changed(self.source_name)
            shape = [levels[index] for index in whole]
            for number in inside:
                found[number] = fold(keys, people, shape, [whole.index(index) for index in sets[number]])
            if progress:
                progress(self.people * len(found) // len(sets), self.people)
        return np.concatenate([found[number] for number in range(len(sets))] or [np.zeros(0, np.int64)])

    def rows(
        self, codings: Sequence[Coding], having: Sequence[tuple[Coding, int]], equal: Mapping[str, object]
    ) -> tuple[list[IntArray], list[Array | None]]:
        chosen = {f"c{index}": self._code(coding) for index, coding in enumerate(codings)}
        numeric = [index for index, coding in enumerate(codings) if coding.above is not None]
        chosen |= {f"n{index}": self._number(codings[index].name) for index in numeric}
        wanted = [self._code(coding) == code for coding, code in having]
        wanted += [self.table[name] == value for name, value in equal.items()]
        frame = self.table.filter(*wanted) if wanted else self.table
        found = frame.select(**chosen).execute()
        codes = [
            _known(found[f"c{index}"], coding.name).astype(
                np.min_scalar_type(max(coding.column.levels - 1, 0))
            )
            for index, coding in enumerate(codings)
        ]
        numbers: list[npt.NDArray[Any] | None] = [None] * len(codings)
        for index in numeric:
            numbers[index] = found[f"n{index}"].to_numpy().astype(np.float64)
        return codes, numbers

    def _grouped(
        self, codings: Sequence[Coding], part: StoredSubset | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The joint codes that occur among people of the part, with the number of people who have each."""
        if part is not None:
            keys, people = self._grouped([*codings, *part.codings], None)
            others, place = divmod(keys, part.holds.size)
            inside = part.holds.ravel()[place]
            distinct, index = np.unique(others[inside], return_inverse=True)
            total = np.zeros(distinct.size, dtype=np.int64)
            np.add.at(total, index, people[inside])
            return distinct, total
        if not codings:
            return np.zeros(1, np.int64), np.array([self.people], dtype=np.int64)
        coded = self.table.select(key=self._key(codings))
        found = coded.group_by("key").aggregate(people=coded.count()).execute()
        names = ", ".join(coding.name for coding in codings)
        return _known(found["key"], names), found["people"].to_numpy().astype(np.int64)

    def _key(self, codings: Sequence[Coding]) -> Any:
        """The joint code of a person."""
        import ibis

        key = ibis.literal(0, "int64")
        for coding in codings:
            key = key * coding.column.levels + self._code(coding)
        return key

    def _number(self, name: str) -> Any:
        column = self.table[name]
        if self.types[name] == "date":
            return column.cast("timestamp").epoch_seconds().cast("float64") / 86400.0
        return column.cast("float64")

    def _missing(self, name: str) -> Any:
        absent = self.table[name].isnull()
        return absent | self._number(name).isnan() if self.types[name] == "real" else absent

    def _code(self, coding: Coding) -> Any:
        """The code of a person; NULL for a value that the first scan did not see."""
        import ibis

        nothing = ibis.null("int64")
        if coding.texts is not None:
            column = self.table[coding.name].cast("string")
            indices = [
                (column == text, ibis.literal(index, "int64")) for index, text in enumerate(coding.texts)
            ]
            code = ibis.cases(*indices, else_=nothing) if indices else nothing
        else:
            number, code = self._number(coding.name), ibis.literal(0, "int64")
            for point in coding.above or ():
                code = code + ibis.ifelse(number > point, 1, 0).cast("int64")
            if coding.known is not None and self.types[coding.name] != "date":
                code = ibis.ifelse(number.isin(coding.known), code, nothing)
        absent = ibis.literal(coding.column.levels - 1, "int64") if coding.column.gaps else nothing
        return ibis.ifelse(self._missing(coding.name), absent, code).cast("int64")


def _known(codes: Any, names: str) -> npt.NDArray[np.int64]:
    """The codes, if every person has one; otherwise an error."""
    if codes.isna().any():
        raise changed(f"column '{names}'" if "," not in names else f"columns {names}")
    return np.asarray(codes.to_numpy(), dtype=np.int64)


def from_spark(frame: Any) -> BehindIbis:
    """A Spark frame as an Ibis table: a view with a unique name, dropped when the table is no longer used."""
    import ibis

    connection = ibis.pyspark.connect(frame.sparkSession)
    name = f"tellall_{uuid4().hex}"
    frame.createOrReplaceTempView(name)
    engine = BehindIbis(connection.table(name), frame)
    # a session that ends drops its views itself, and must not be asked for anything then
    weakref.finalize(engine, _drop, frame.sparkSession, name).atexit = False
    return engine


def _drop(session: Any, view: str) -> None:
    with suppress(Exception):  # the session may have been stopped
        session.catalog.dropTempView(view)


def _kind(kind: Any) -> str:
    if kind.is_boolean() or kind.is_integer():
        return "whole"
    if kind.is_floating() or kind.is_decimal():
        return "real"
    if kind.is_date() or kind.is_timestamp():
        return "date"
    return "text" if kind.is_string() else str(kind)
