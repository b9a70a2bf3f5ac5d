"""Evidence: equations about people, A s ≈ z, and how far each may be off."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from tellall.core.errors import TellallError, invalid
from tellall.core.not_done import NotDone
from tellall.evidence.bounds import Bounds, Certain, NeighbourSums, certain_rows
from tellall.linalg.operators.compose import OnDevice, Partition, RowSelect, Stack
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import HOST, Array, Device, IntArray, LinearOperator
from tellall.linalg.solvers.solution import Enclosure, enclose, row_space
from tellall.people.codes import Patterns, group_rows
from tellall.protections.protection import Noise
from tellall.statistics.numbers import NumberRange, narrowest, power_of_two
from tellall.statistics.statistic import COUNT_FLOOR, columns_of, labels_among

if TYPE_CHECKING:
    from tellall.evidence.account import Account

__all__ = [
    "Evidence",
    "ReleaseEquations",
    "Rows",
    "System",
]


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known about the value and the error of each equation.

    Attributes
    ----------
    target
        z, the published value minus the part that does not depend on the secret; if no value is shown, the
        middle of its interval.
    std
        The standard deviation of the error.
    spread
        The standard deviation that an attack assumes, never below the floor.
    bound
        The largest possible error; infinite if there is no bound, below zero if no value is possible at all.
    slack
        Half the width of the interval that rounding or hiding leaves; zero without one.
    rest
        The standard deviation of the error without that interval and without gross errors, never below the
        floor.
    unseen
        Whether no value is shown, so that only the interval is known.
    """

    target: Array
    std: Array
    spread: Array
    bound: Array
    slack: Array
    rest: Array
    unseen: npt.NDArray[np.bool_]

    @classmethod
    def exact(cls, target: Array) -> Rows:
        """Equations between counts that hold exactly."""
        none = np.zeros(target.size)
        floor = np.full(target.size, COUNT_FLOOR)
        return cls(target, none, floor, none, none, floor, np.zeros(target.size, dtype=bool))

    @classmethod
    def concat(cls, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts, one after the other."""
        columns = ([getattr(part, field.name) for part in parts] for field in fields(cls))
        return cls(*map(np.concatenate, columns))

    def times(self, factor: float) -> Rows:
        """The same about numbers that are ``factor`` times as large."""
        names = [each.name for each in fields(self) if each.name != "unseen"]
        return replace(self, **{name: factor * getattr(self, name) for name in names})

    def take(self, index: npt.NDArray[Any]) -> Rows:
        """Some of the rows, by index or by mask."""
        return Rows(*(getattr(self, field.name)[index] for field in fields(self)))

    def __len__(self) -> int:
        return self.target.size


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The equations of complete tables as contrasts.

    Attributes
    ----------
    operator, rows
        A row for every contrast, a column per person (and per value of a categorical secret).
    covered
        Which published values the contrasts replace; the others remain.
    """

    operator: LinearOperator
    rows: Rows
    covered: npt.NDArray[np.bool_]


class InContrasts(ABC):
    """Published values that can be expressed as contrasts."""

    @abstractmethod
    def contrasts(self, tables: str) -> Contrasts | None:
        """The contrasts of every table, or of as many as ``tables`` says; None if there are none."""


@dataclass(frozen=True, eq=False)
class ReleaseEquations:
    """The equations of one release.

    Attributes
    ----------
    source
        An operator with a row for every published value.
    index, rows
        Which value each equation comes from, and what is known about it. Rows that only give an interval
        (``rows.unseen``) come last; a value may have rows of both kinds.
    noise
        The law of the error of a published value, on the count scale.
    alike
        A label per person; people with equal labels have equal columns of the operator.
    bounds, sums
        What is certain about each row of ``source``, and about sums of neighbours: all that proofs use.
    skipped
        Values that give no equation, and why.
    notes
        What is odd about the values; they are used anyway.
    tables
        The tables among the values that can be expressed as contrasts; None if there are none.
    columns
        The columns of the people in the release; None if it is about everybody.
    numbers
        What is certain about real numbers in addition to the equations; None if nothing.
    unit
        About how much real numbers differ; 0 if the values do not show it.
    """

    source: LinearOperator
    index: IntArray
    rows: Rows
    noise: Noise
    alike: IntArray
    bounds: Bounds
    sums: NeighbourSums | None = None
    skipped: tuple[NotDone, ...] = ()
    notes: tuple[str, ...] = ()
    tables: InContrasts | None = None
    columns: IntArray | None = None
    numbers: NumberRange | None = None
    unit: float = 0.0

    def times(self, factor: float) -> ReleaseEquations:
        """The same about numbers that are ``factor`` times as large."""
        return replace(
            self,
            rows=self.rows.times(factor),
            noise=self.noise.scaled(factor),
            bounds=self.bounds.times(factor),
            numbers=self.numbers and self.numbers.times(factor),
            unit=factor * self.unit,
        )

    def among(self, people: IntArray, n: int) -> ReleaseEquations:
        """The same about some of n people, by index; the columns of the others are zero."""
        width = self.source.shape[1] // max(people.size, 1) * n
        columns = columns_of(people, n, width)
        source = BlockDiagonal([self.source], [columns], width)
        numbers = self.numbers and self.numbers.among(people, n)
        alike = labels_among(self.alike, people, n)
        return replace(self, source=source, alike=alike, columns=columns, numbers=numbers)

    @property
    def operator(self) -> LinearOperator:
        """A: a row per equation, a column per person (n columns per value of a categorical secret)."""
        whole = self.index.size == self.source.shape[0] and not self.rows.unseen.any()
        return self.source if whole else RowSelect(self.source, self.index)

    @cached_property
    def shown(self) -> Self:
        """The equations of the values that are shown."""
        if not self.rows.unseen.any():
            return self
        seen = ~self.rows.unseen
        return replace(self, index=self.index[seen], rows=self.rows.take(seen))

    def contrasts(self, tables: str) -> Contrasts | None:
        """The contrasts of its complete tables; see `InContrasts.contrasts`."""
        said = None if self.tables is None else self.tables.contrasts(tables)
        if said is None or self.columns is None:
            return said
        return replace(said, operator=BlockDiagonal([said.operator], [self.columns], self.source.shape[1]))

    @cached_property
    def hidden(self) -> Self | None:
        """The intervals of values that are not shown; None if nothing is known about them."""
        unseen = self.rows.unseen
        if not unseen.any():
            return None
        return replace(self, index=self.index[unseen], rows=self.rows.take(unseen))


@dataclass(frozen=True, eq=False)
class System:
    """operator @ count ≈ target, an unknown count per group of people alike (and per value of the secret).

    Attributes
    ----------
    rows
        What is known about each equation.
    size
        The number of people in each unknown's group; no count is above it.
    value
        Which value of the secret each unknown counts; all zero for bits.
    """

    operator: LinearOperator
    rows: Rows
    size: Array
    value: IntArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """All equations that one or several releases give about the same people.

    Attributes
    ----------
    parts
        The equations of each release.
    device
        The device on which products with the system's operator are computed.
    consistent
        False if the values contradict each other, so that no bound follows from them.
    """

    parts: tuple[ReleaseEquations, ...]
    device: Device = HOST
    consistent: bool = True

    def __post_init__(self) -> None:
        people = {part.alike.size for part in self.parts}
        if len(people) != 1:
            raise invalid("releases", "one or more, about the same people", f"people: {sorted(people)}")
        unknowns = {part.source.shape[1] for part in self.parts}
        if len(unknowns) != 1:
            values = sorted(count // people.copy().pop() for count in unknowns)
            raise invalid(
                "releases", "about the same secret", f"secrets of different numbers of values {values}"
            )

    @classmethod
    def together(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of several releases at once."""
        whole = cls(tuple(part for evidence in parts for part in evidence.parts))
        groups = [evidence.__dict__.get("groups") for evidence in parts]  # if already computed
        if groups[0] is not None and all(each is groups[0] for each in groups):
            whole.__dict__["groups"] = groups[0]
        return whole

    def at(self, target: Array) -> Evidence:
        """The same equations of one release with other values, keeping what does not depend on values."""
        (part,), system = self.parts, self.system
        moved = replace(self, parts=(replace(part, rows=replace(part.rows, target=target)),))
        known = {"operator": self.operator, "groups": self.groups}
        known["system"] = replace(system, rows=replace(system.rows, target=target))
        moved.__dict__.update(known)  # fills the cached properties
        return moved

    def on(self, device: Device) -> Evidence:
        """The same with products computed on that device; if it cannot, on the CPU and with a warning."""
        moved = self._with_groups(device=device)
        try:
            _ = moved.system
        except TellallError as reason:
            warnings.warn(f"{reason}; running on the CPU instead", RuntimeWarning, stacklevel=3)
            return self
        return moved

    def _with_groups(self, **changes: Any) -> Evidence:
        """The same but for these changes, with the groups in the same order: proofs go by their places."""
        moved = replace(self, **changes)
        moved.__dict__["groups"] = self.groups  # fills the cached property
        return moved

    @property
    def n(self) -> int:
        """How many people there are."""
        return self.parts[0].alike.size

    @cached_property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Which people the releases are about."""
        out = np.zeros(self.n, dtype=bool)
        for part in self.parts:
            out[slice(None) if part.columns is None else part.columns[part.columns < self.n]] = True
        return out

    @property
    def values(self) -> int:
        """How many unknowns each person has: one, or one per value of a categorical secret."""
        return self.parts[0].source.shape[1] // self.n

    @cached_property
    def operator(self) -> LinearOperator:
        """A: a row per shown value, a column per person in file order (n columns per value)."""
        if len(self.parts) == 1:
            return self.parts[0].shown.operator
        return Stack([part.shown.operator for part in self.parts])

    @cached_property
    def rows(self) -> Rows:
        """What is known about each row of the operator."""
        return Rows.concat([part.shown.rows for part in self.parts])

    @property
    def target(self) -> Array:
        """z, each published value minus the part that does not depend on the secret."""
        return self.rows.target

    @property
    def std(self) -> Array:
        """The standard deviation of each row's error."""
        return self.rows.std

    @property
    def noise(self) -> Noise | tuple[Noise, ...]:
        """The law of the errors: one, or one per release."""
        laws = tuple(part.noise for part in self.parts)
        return laws[0] if len(laws) == 1 else laws

    @property
    def contaminated(self) -> bool | None:
        """Whether some rows have gross errors according to the declared laws; None if they may.

        Values that contradict each other do.
        """
        if not self.consistent or any(part.noise.ordinary != part.noise for part in self.parts):
            return True
        return False if np.isfinite(self.rows.bound).all() else None

    @property
    def skipped(self) -> tuple[NotDone, ...]:
        """Published values that give no equation, and why."""
        return tuple(reason for part in self.parts for reason in part.skipped)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the published values; they are used anyway."""
        return tuple(note for part in self.parts for note in part.notes)

    @cached_property
    def numbers(self) -> NumberRange:
        """What is certain about real numbers in addition to the equations."""
        return narrowest((part.numbers for part in self.parts), self.n)

    @property
    def unit(self) -> float:
        """About how much real numbers differ, a power of two; 0 if the values do not show it."""
        return power_of_two(max(part.unit for part in self.parts))

    def in_unit(self, unit: float) -> Evidence:
        """The same about real numbers measured in this unit, a power of two."""
        if unit == 1:
            return self
        moved = replace(self, parts=tuple(part.times(1 / unit) for part in self.parts))
        kept = ("operator", "groups")
        moved.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        if "system" in self.__dict__:
            moved.__dict__["system"] = replace(self.system, rows=self.system.rows.times(1 / unit))
        return moved

    @cached_property
    def groups(self) -> Patterns:
        """The groups of people whom no release tells apart."""
        return group_rows(np.stack([part.alike for part in self.parts]))

    @cached_property
    def system(self) -> System:
        """The same equations, about groups of people instead of single people."""
        return self.grouped_system(self.operator, self.rows)

    @cached_property
    def everything(self) -> System:
        """The system, with a further row for the interval of each hidden value."""
        if all(part.hidden is None for part in self.parts):
            return self.system
        operator = Stack([part.operator for part in self.parts])
        return self.grouped_system(operator, Rows.concat([part.rows for part in self.parts]))

    def grouped_system(self, operator: LinearOperator, rows: Rows) -> System:
        """These equations about people as equations about groups of people alike."""
        counts = self.groups.counts.astype(np.float64)
        size = np.tile(counts, self.values)
        value = np.repeat(np.arange(self.values), counts.size)
        if self.values > 1:  # everybody has exactly one of the values
            rows = Rows.concat([rows, Rows.exact(counts)])
        return System(OnDevice.move(self._of_groups(operator), self.device), rows, size, value)

    def _of_groups(self, operator: LinearOperator) -> LinearOperator:
        """The operator on groups; if a person has several unknowns, with a further row for each group."""
        columns = (np.arange(self.values)[:, None] * self.n + self.groups.first).ravel()
        if not np.array_equal(columns, np.arange(operator.shape[1])):  # else each person is a group
            operator = operator.take(columns)
        if self.values == 1:
            return operator
        groups = len(self.groups)
        return Stack([operator, Partition(np.tile(np.arange(groups), self.values)[None, :], groups)])

    @cached_property
    def certain(self) -> Certain:
        """What every possible secret must satisfy, from single values and sums of neighbouring values."""
        each = (
            certain_rows(release, part.source, part.bounds, part.sums)
            for release, part in enumerate(self.parts)
        )
        said = Certain.stacked([one for several in each for one in several])
        bounds = said.bounds
        origin = said.origin
        if self.values > 1:  # everybody has exactly one of the values
            counts = self.groups.counts.astype(np.float64)
            bounds = Bounds.stacked([bounds, Bounds(counts, counts)])
            origin = np.concatenate([origin, np.full((counts.size, 2), -1)])
        return Certain(self._of_groups(said.operator), bounds, origin)

    @property
    def grouped(self) -> LinearOperator:
        """A with one column per group; it acts on the number of people in each who have the secret."""
        return self.system.operator

    @cached_property
    def enclosure(self) -> Enclosure:
        """Bounds on each group's count that hold for every possible secret."""
        size = self.system.size
        if not self.consistent:
            return Enclosure(np.zeros(size.size), size.astype(np.float64), empty=True)
        return enclose(self.certain.operator, self.certain.low, self.certain.high, upper=size)

    @property
    def bounded(self) -> bool:
        """Whether some count has tighter bounds than zero and its group's size."""
        box = self.enclosure
        return not box.empty and bool((box.lower > 0).any() or (box.upper < self.system.size).any())

    @property
    def leaves_open(self) -> bool:
        """Whether a search can add to the bounds: something is certain, and some count is not known yet."""
        box = self.enclosure
        if box.empty or not (box.lower < box.upper).any():
            return False
        certain = self.certain
        return bool((np.isfinite(certain.low) | np.isfinite(certain.high)).any() or certain.gaps)

    def within(self, enclosure: Enclosure) -> Evidence:
        """The same with tighter bounds than propagation finds."""
        known = replace(self)
        kept = ("operator", "rows", "groups", "system", "everything", "certain", "_row_space")
        known.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        known.__dict__["enclosure"] = enclosure  # fills the cached property
        return known

    def unbounded(self) -> Evidence:
        """The same without bounds, for values that contradict each other."""
        return self._with_groups(consistent=False)

    @cached_property
    def _row_space(self) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        return row_space(self.grouped)

    @property
    def rank(self) -> int:
        """The rank of A."""
        return self._row_space[0]

    @property
    def determined(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each group, whether the equations alone fix its count: its unit vector is in the row space."""
        return self._row_space[1]

    @property
    def pinned(self) -> int:
        """How many people the equations alone determine; each is the only person in their group."""
        fixed = (self.determined & (self.system.size == 1)).reshape(self.values, -1).all(axis=0)
        return int(fixed.sum())

    def account(self) -> Account:
        """What these equations can do, before any attack, and what each release adds.

        O(P³) for P groups of people alike, once per release.
        """
        from scipy.linalg import eigvalsh

        from tellall.evidence.account import Account, Addition

        energy = eigvalsh(self.grouped.gram()).clip(min=0)
        least = energy[energy.size - self.rank] if self.rank else 0.0
        condition = float(np.sqrt(energy[-1] / least)) if least > 0 else float("inf")
        adds = []
        for left_out in range(len(self.parts)) if len(self.parts) > 1 else ():
            rest = Evidence((*self.parts[:left_out], *self.parts[left_out + 1 :]))
            adds.append(Addition(self.rank - rest.rank, self.pinned - rest.pinned))
        size = self.grouped.shape
        found = (size[0], self.n, size[1], self.rank, condition, self.pinned)
        return Account(*found, tuple(adds), self.notes)
