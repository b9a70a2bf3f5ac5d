"""Cells of a table computed again from people: counts, sums and squares by every combination of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from tellall.outputs.variables import Flags, TableVariable
from tellall.people.codes import Array, IntArray
from tellall.statistics.cell_counts import TOTAL

__all__ = ["LabelAxis", "Recount", "Sorted", "Whole"]


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """A line of labels read as values of a variable.

    Attributes
    ----------
    variable
        What it is about.
    labels
        The labels that are no totals.
    lines
        For each line of the table the place of its label; ``TOTAL`` for all of them.
    down
        Whether it labels rows.
    cost
        How many bits it cost to find.
    named
        Whether the table names it.
    """

    variable: TableVariable
    labels: tuple[str, ...]
    lines: tuple[int, ...]
    down: bool
    cost: float = 0.0
    named: bool = False

    @cached_property
    def masks(self) -> Flags:
        """Labels × distinct values: what each label holds; people without a value are last."""
        found = [self.variable.holds(label) for label in self.labels]
        return np.array([each for each in found if each is not None])

    @cached_property
    def classes(self) -> tuple[IntArray, IntArray]:
        """The class of each distinct value, and for each class one of its values: equal labels, one class."""
        listed = self.masks.any(axis=0)
        key = np.vstack([self.masks, ~listed & (np.arange(listed.size) == listed.size - 1)])
        _, first, inverse = np.unique(key, axis=1, return_index=True, return_inverse=True)
        return inverse.ravel(), first

    @cached_property
    def people(self) -> IntArray:
        """The class of each person."""
        return np.asarray(self.classes[0][self.variable.codes])

    @cached_property
    def held(self) -> Array:
        """Labels × classes, as numbers."""
        return self.masks[:, self.classes[1]].astype(np.float64)

    def total(self, whole: str) -> Array:
        """Which classes a total holds: "listed" values, all that are "known", or "all"."""
        listed = np.asarray(self.held.sum(axis=0) > 0)
        if whole == "known":
            listed = listed | (self.classes[1] != self.variable.size)
        elif whole == "all":
            listed = np.ones(listed.size, dtype=bool)
        return np.asarray(listed & self._occupied, dtype=np.float64)

    @cached_property
    def _occupied(self) -> Flags:
        """Which classes have people."""
        return np.bincount(self.people, minlength=self.classes[1].size) > 0

    @cached_property
    def identity(self) -> str:
        """What tells the people under each label from those of any other axis."""
        layers = self.held.T[self.people] if len(self.labels) > 1 else self.held[0][self.people][:, None]
        return sha256(np.packbits(layers.astype(bool)).tobytes()).hexdigest()


Whole = str


@dataclass(frozen=True, eq=False)
class Recount:
    """The people of a table by atoms: combinations of the classes of its axes.

    Parameters
    ----------
    axes
        The axes.
    people
        How many people.
    among
        Which of them the table is about; None for everybody.
    """

    axes: tuple[LabelAxis, ...]
    people: int
    among: Flags | None = None
    _kept: dict[Any, Array] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.classes[1].size for axis in self.axes)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) if self.axes else 1

    @cached_property
    def atoms(self) -> IntArray:
        """The atom of each person."""
        found = np.zeros(self.people, dtype=np.int64)
        for axis in self.axes:
            found *= axis.classes[1].size
            found += axis.people
        return found

    @cached_property
    def _chosen(self) -> IntArray:
        return self.atoms if self.among is None else self.atoms[self.among]

    def by_atom(self, target: TableVariable | None = None, power: int = 0, value: int | None = None) -> Array:
        """Atoms: how many people (of those with a known target), or sums of powers of the target."""
        key = (None if target is None else id(target), power, value)
        if key not in self._kept:
            self._kept[key] = self._by_atom(target, power, value).reshape(self.shape)
        return self._kept[key]

    def _by_atom(self, target: TableVariable | None, power: int, value: int | None) -> Array:
        if target is None:
            return np.bincount(self._chosen, minlength=self.size).astype(np.float64)
        codes = target.codes if self.among is None else target.codes[self.among]
        if value is not None:
            return np.bincount(self._chosen[codes == value], minlength=self.size).astype(np.float64)
        if power == 0:
            return np.bincount(self._chosen[codes >= 0], minlength=self.size).astype(np.float64)
        numbers = target.people_values if self.among is None else target.people_values[self.among]
        weights = np.where(codes >= 0, numbers, 0.0) ** power
        return np.asarray(np.bincount(self._chosen, weights=weights, minlength=self.size), dtype=np.float64)

    def cells(self, atoms: Array, codes: IntArray, whole: Whole) -> Array:
        """The sums of atoms in cells, given by the place of each axis's label or ``TOTAL``; cells × axes."""
        found = atoms
        for place, axis in enumerate(self.axes):
            matrix = np.vstack([axis.held, axis.total(whole)])
            found = np.moveaxis(np.tensordot(matrix, found, axes=(1, place)), 0, place)
        if not self.axes:
            return np.full(len(codes), float(found))
        return np.asarray(found[tuple(codes.T)])  # TOTAL is the last row

    def sorted_by(self, target: TableVariable) -> Sorted:
        """The people with a known target by atom, in ascending order of it."""
        codes = target.codes if self.among is None else target.codes[self.among]
        known = codes >= 0
        order = np.lexsort((codes[known], self._chosen[known]))
        assert target.numbers is not None
        ends = np.bincount(self._chosen[known], minlength=self.size).cumsum()
        return Sorted(self, target.numbers[codes[known][order]], ends)


@dataclass(frozen=True, eq=False)
class Sorted:
    """Everybody's number by atom, in ascending order."""

    recount: Recount
    numbers: Array
    ends: IntArray

    def quantiles(self, codes: IntArray, whole: Whole, shares: Sequence[float]) -> Array:
        """Shares × cells: quantiles as R's type 7 and pandas have them; NaN for nobody."""
        out = np.full((len(shares), len(codes)), np.nan)
        starts = np.concatenate([[0], self.ends[:-1]])
        for at, cell in enumerate(codes):
            inside = np.ones(self.recount.shape, dtype=bool)
            for place, axis in enumerate(self.recount.axes):
                row = axis.total(whole) if cell[place] == TOTAL else axis.held[cell[place]]
                shape = [1] * len(self.recount.axes)
                shape[place] = -1
                inside &= (row > 0).reshape(shape)
            parts = [self.numbers[starts[atom] : self.ends[atom]] for atom in np.flatnonzero(inside.ravel())]
            values = np.concatenate(parts) if parts else np.zeros(0)
            if values.size:
                out[:, at] = np.quantile(values, shares)
        return out
