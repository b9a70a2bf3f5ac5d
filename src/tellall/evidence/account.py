"""Account: what equations about people can do before any attack, and what each release adds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Account", "Addition"]


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
        How many of each there are; people whom no release tells apart share their unknowns.
    rank
        The rank of the equations.
    condition
        The ratio of the largest to the smallest nonzero singular value.
    pinned
        How many people the equations pin down, whatever the published values are.
    adds
        What each release adds to the others; empty if there is only one.
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
            f"  release {number} adds rank {add.rank:,} and pins down {add.pinned:,} people"
            for number, add in enumerate(self.adds, start=1)
        ]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)
