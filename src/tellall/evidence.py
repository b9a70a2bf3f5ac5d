"""Evidence: equations about people, A s ≈ z, with how far each may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellall.data import Patterns, group_rows
from tellall.errors import invalid
from tellall.linops import Array, IntArray, LinearOperator, Stack
from tellall.noise import Noise
from tellall.solve.intervals import Enclosure, enclose
from tellall.solve.row_space import row_space

__all__ = ["Block", "Evidence"]


@dataclass(frozen=True, eq=False)
class Block:
    """The equations of one release.

    Attributes
    ----------
    operator, target
        A and z: on an exact release ``operator @ secret == target``.
    noise
        The law of each target's error, on the scale of the target.
    alike
        A label per person; equal labels promise equal columns of the operator.
    """

    operator: LinearOperator
    target: Array
    noise: Noise
    alike: IntArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """All equations that one or several releases give about the same people."""

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        people = {block.operator.shape[1] for block in self.blocks}
        if len(people) != 1:
            raise invalid("releases", "one or more, about the same people", f"people: {sorted(people)}")

    @classmethod
    def together(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of several releases at once."""
        return cls(tuple(block for part in parts for block in part.blocks))

    @property
    def n(self) -> int:
        """How many people."""
        return self.blocks[0].operator.shape[1]

    @cached_property
    def operator(self) -> LinearOperator:
        """A, one row per published value, one column per person in file order."""
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
        return np.concatenate([np.full(block.target.size, block.noise.std) for block in self.blocks])

    @cached_property
    def bound(self) -> Array:
        """The largest error each row can have."""
        return np.concatenate([np.full(block.target.size, block.noise.bound) for block in self.blocks])

    @cached_property
    def groups(self) -> Patterns:
        """The people no release tells apart."""
        return group_rows(np.stack([block.alike for block in self.blocks]))

    @cached_property
    def grouped(self) -> LinearOperator:
        """A with one column per group; it acts on the number of people in each who have the secret."""
        return self.operator.take(self.groups.first)

    @cached_property
    def enclosure(self) -> Enclosure:
        """What every possible secret must satisfy: bounds on each group's count."""
        upper = self.groups.counts.astype(np.float64)
        return enclose(self.grouped, self.target, bound=self.bound, upper=upper)

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
