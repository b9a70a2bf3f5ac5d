"""Evidence: equations about people, A s ≈ z, with how far each may be off."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import Partition, RowSelect, Stack
from tellall.algebra.operators.device import HOST, Device
from tellall.algebra.operators.packed import OnDevice
from tellall.algebra.solvers.base import row_space
from tellall.algebra.solvers.intervals import Enclosure, enclose
from tellall.core.errors import TellallError, invalid
from tellall.people.bits import Patterns, group_rows
from tellall.release.protections.law import Noise

__all__ = [
    "COUNT_FLOOR",
    "Account",
    "Addition",
    "Block",
    "Evidence",
    "Intervals",
    "System",
]

# The spread that exact counts are given, so that the evidence never counts as infinitely sure of a rounding
# to whole people; chosen among 0.3, 0.2, 0.1, 0.05 on two data sets of statsmodels (fair, randhie).
COUNT_FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class Intervals:
    """Rows of which no value is known, only where it lies: a value withheld because it is small, say.

    Attributes
    ----------
    operator, target, slack
        A s is within ``slack`` of ``target``, the middle of the interval,
    rest
        but for an error of this standard deviation, never below the floor of an attack;
    bound
        and further than this from ``target`` it cannot be at all (below zero: what is said cannot be).
    """

    operator: LinearOperator
    target: Array
    slack: Array
    rest: Array
    bound: Array


@dataclass(frozen=True, eq=False)
class Block:
    """The equations of one release.

    Attributes
    ----------
    operator, target
        A and z: on an exact release ``operator @ secret == target``.
    noise
        The law of the error of a published value, on the count scale.
    alike
        A label per person; equal labels promise equal columns of the operator.
    std, bound, slack, rest
        The standard deviation of each row's error, the largest it can be, the half-width of the interval
        that rounding leaves it (zero where nothing was rounded), and the standard deviation of what is left
        of its error beside rounding and gross errors.
    floor
        The least spread that each row is given in an attack.
    skipped
        Values that give no equation, and why.
    rows
        Which of the release's values each equation comes from.
    notes
        What is odd about the values, which are used all the same.
    intervals
        What is known of values that are not shown; no rows of ``operator``.
    """

    operator: LinearOperator
    target: Array
    noise: Noise
    alike: IntArray
    rows: IntArray
    std: Array
    bound: Array
    slack: Array
    rest: Array
    floor: Array
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    intervals: Intervals | None = None

    @property
    def everything(self) -> LinearOperator:
        """The operator with the rows of the intervals after its own."""
        if self.intervals is None:
            return self.operator
        shown, hidden = self.operator, self.intervals.operator
        if not isinstance(shown, RowSelect) or not isinstance(hidden, RowSelect):
            return Stack([shown, hidden])
        if shown.operator is not hidden.operator:
            return Stack([shown, hidden])
        # two choices of rows of one operator cost no more than one
        return RowSelect(shown.operator, np.concatenate([shown.index, hidden.index]))


@dataclass(frozen=True, eq=False)
class Evidence:
    """All equations that one or several releases give about the same people.

    ``device`` is where products with the system's operator are computed; ``consistent`` is False where the
    values were found to contradict each other, so that no bound follows from them.
    """

    blocks: tuple[Block, ...]
    device: Device = HOST
    consistent: bool = True

    def __post_init__(self) -> None:
        people = {block.alike.size for block in self.blocks}
        if len(people) != 1:
            raise invalid("releases", "one or more, about the same people", f"people: {sorted(people)}")
        unknowns = {block.operator.shape[1] for block in self.blocks}
        if len(unknowns) != 1:
            values = sorted(count // people.copy().pop() for count in unknowns)
            raise invalid(
                "releases", "about the same secret", f"secrets of different numbers of values {values}"
            )

    @classmethod
    def together(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of several releases at once."""
        return cls(tuple(block for part in parts for block in part.blocks))

    def on(self, device: Device) -> Evidence:
        """The same with its products computed on that device; here, with a warning, where they cannot be."""
        moved = replace(self, device=device)
        try:
            _ = moved.system
        except TellallError as reason:
            warnings.warn(f"{reason}; running on the CPU instead", RuntimeWarning, stacklevel=3)
            return self
        return moved

    @property
    def n(self) -> int:
        """How many people."""
        return self.blocks[0].alike.size

    @property
    def values(self) -> int:
        """How many unknowns each person has: one, or one per value of a categorical secret."""
        return self.blocks[0].operator.shape[1] // self.n

    @cached_property
    def operator(self) -> LinearOperator:
        """A: a row per published value, a column per person in file order (a block of them per value)."""
        if len(self.blocks) == 1:
            return self.blocks[0].operator
        return Stack([block.operator for block in self.blocks])

    @cached_property
    def target(self) -> Array:
        """z, each published value less the part that does not depend on the secret."""
        return np.concatenate([block.target for block in self.blocks])

    @property
    def noise(self) -> Noise | tuple[Noise, ...]:
        """The law of the errors: one, or one per release."""
        laws = tuple(block.noise for block in self.blocks)
        return laws[0] if len(laws) == 1 else laws

    @cached_property
    def std(self) -> Array:
        """The standard deviation of each row's error."""
        return np.concatenate([block.std for block in self.blocks])

    @cached_property
    def bound(self) -> Array:
        """The largest error each row can have."""
        return np.concatenate([block.bound for block in self.blocks])

    @cached_property
    def slack(self) -> Array:
        """Half the width of the interval that rounding leaves each row, zero where nothing was rounded."""
        return np.concatenate([block.slack for block in self.blocks])

    @cached_property
    def spread(self) -> Array:
        """The standard deviation of each row's error that an attack reckons with, never below the floor."""
        floor: Array = np.concatenate([block.floor for block in self.blocks])
        return np.maximum(self.std, floor)

    @cached_property
    def rest(self) -> Array:
        """The spread of each row's error beside rounding and gross errors, never below the floor."""
        return np.concatenate([np.maximum(block.rest, block.floor) for block in self.blocks])

    @property
    def contaminated(self) -> bool | None:
        """Whether some rows have gross errors, as far as the declared laws say; None where they may."""
        if any(block.noise.ordinary != block.noise for block in self.blocks):
            return True
        return False if np.isfinite(self.bound).all() else None

    @property
    def skipped(self) -> tuple[str, ...]:
        """Published values that give no equation, and why."""
        return tuple(reason for block in self.blocks for reason in block.skipped)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the published values, which are used all the same."""
        return tuple(note for block in self.blocks for note in block.notes)

    @cached_property
    def groups(self) -> Patterns:
        """The people no release tells apart."""
        return group_rows(np.stack([block.alike for block in self.blocks]))

    @cached_property
    def system(self) -> System:
        """The same equations about groups of people instead of persons."""
        rows = (self.target, self.spread, self.bound, self.slack, self.rest)
        return self._grouped(self.operator, rows, np.zeros(self.target.size, dtype=bool))

    @cached_property
    def everything(self) -> System:
        """The system, with a row for each interval that a value not shown lies in."""
        if all(block.intervals is None for block in self.blocks):
            return self.system
        operator = Stack([block.everything for block in self.blocks])
        parts, unseen = [], []
        for block in self.blocks:
            spread, rest = np.maximum(block.std, block.floor), np.maximum(block.rest, block.floor)
            parts.append((block.target, spread, block.bound, block.slack, rest))
            unseen.append(np.zeros(block.target.size, dtype=bool))
            if block.intervals is not None:
                more = block.intervals
                wide = np.hypot(more.rest, more.slack / np.sqrt(3))
                parts.append((more.target, wide, more.bound, more.slack, more.rest))
                unseen.append(np.ones(more.target.size, dtype=bool))
        target, wide, bound, slack, rest = map(np.concatenate, zip(*parts, strict=True))
        return self._grouped(operator, (target, wide, bound, slack, rest), np.concatenate(unseen))

    def _grouped(
        self,
        operator: LinearOperator,
        rows: tuple[Array, Array, Array, Array, Array],
        unseen: npt.NDArray[np.bool_],
    ) -> System:
        first, counts = self.groups.first, self.groups.counts.astype(np.float64)
        places = (np.arange(self.values)[:, None] * self.n + first).ravel()
        if not np.array_equal(places, np.arange(operator.shape[1])):  # else everybody is a group
            operator = operator.take(places)
        size, value = np.tile(counts, self.values), np.repeat(np.arange(self.values), counts.size)
        if self.values == 1:
            return System(OnDevice.move(operator, self.device), *rows, size, value, unseen)
        # everybody has exactly one of the values
        once = Partition(np.tile(np.arange(counts.size), self.values)[None, :], counts.size)
        exact = np.zeros(counts.size)
        floor = np.full(counts.size, COUNT_FLOOR)
        more = (counts, floor, exact, exact, floor)
        target, spread, bound, slack, rest = map(np.concatenate, zip(rows, more, strict=True))
        unseen = np.concatenate([unseen, np.zeros(counts.size, dtype=bool)])
        both = OnDevice.move(Stack([operator, once]), self.device)
        return System(both, target, spread, bound, slack, rest, size, value, unseen)

    @property
    def grouped(self) -> LinearOperator:
        """A with one column per group; it acts on the number of people in each who have the secret."""
        return self.system.operator

    @cached_property
    def enclosure(self) -> Enclosure:
        """What every possible secret must satisfy: bounds on each group's count."""
        system = self.everything
        if not self.consistent:
            return Enclosure(np.zeros(system.size.size), system.size.astype(np.float64), empty=True)
        return enclose(system.operator, system.target, bound=system.bound, upper=system.size)

    @property
    def bounded(self) -> bool:
        """Whether some count has bounds beyond those of its group's size."""
        box = self.enclosure
        return not box.empty and bool((box.lower > 0).any() or (box.upper < self.system.size).any())

    def unbounded(self) -> Evidence:
        """The same without the bounds, which are none where values contradict each other."""
        return replace(self, consistent=False)

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
        """How many people the equations alone pin down: those determined who are alone in their group."""
        fixed = (self.determined & (self.system.size == 1)).reshape(self.values, -1).all(axis=0)
        return int(fixed.sum())

    def account(self) -> Account:
        """What these equations can do, before any attack, and what each release adds.

        O(P³) for P groups of people alike, once per release.
        """
        from scipy.linalg import eigvalsh

        energy = eigvalsh(self.grouped.gram()).clip(min=0)
        least = energy[energy.size - self.rank] if self.rank else 0.0
        condition = float(np.sqrt(energy[-1] / least)) if least > 0 else float("inf")
        adds = []
        for place in range(len(self.blocks)) if len(self.blocks) > 1 else ():
            rest = Evidence((*self.blocks[:place], *self.blocks[place + 1 :]))
            adds.append(Addition(self.rank - rest.rank, self.pinned - rest.pinned))
        size = self.grouped.shape
        found = (size[0], self.n, size[1], self.rank, condition, self.pinned)
        return Account(*found, tuple(adds), self.notes)


@dataclass(frozen=True)
class Addition:
    """What is lost when one release is left out: rank, and people pinned down."""

    rank: int
    pinned: int


@dataclass(frozen=True)
class Account:
    """What equations about people can do, before any attack.

    Attributes
    ----------
    equations, people, unknowns
        How many; people whom no release tells apart share their unknowns.
    rank
        Of the equations.
    condition
        The ratio of the largest to the least singular value that is not zero.
    pinned
        How many people the equations alone pin down, whatever the values.
    adds
        What each release adds to the others; empty where there is only one.
    notes
        What is odd about the published values.
    """

    equations: int
    people: int
    unknowns: int
    rank: int
    condition: float
    pinned: int
    adds: tuple[Addition, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.equations:,} equations about {self.people:,} people ({self.unknowns:,} unknowns): "
            f"rank {self.rank:,}, condition {self.condition:.3g}, {self.pinned:,} people pinned down"
        ]
        lines += [
            f"  release {place} adds rank {add.rank:,} and pins down {add.pinned:,} people"
            for place, add in enumerate(self.adds, start=1)
        ]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class System:
    """operator @ count ≈ target, an unknown count per group of people alike (and per value of the secret).

    Attributes
    ----------
    spread, bound, slack, rest
        Of each row's error: the standard deviation reckoned with, the most it can be, the half-width of the
        interval that rounding leaves, and the standard deviation of what comes on top of that.
    size
        The people of each unknown: no count is above it.
    value
        Which value of the secret each unknown counts; all zero for bits.
    unseen
        Which rows have no value of their own, only an interval: ``target`` is its middle.
    """

    operator: LinearOperator
    target: Array
    spread: Array
    bound: Array
    slack: Array
    rest: Array
    size: Array
    value: IntArray
    unseen: npt.NDArray[np.bool_]
