"""Shape: what a release says about its public table: names, categories, cut points and how many people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tellall.people.codes import Column
from tellall.people.columns import Bins
from tellall.people.dates import date_text

__all__ = ["Shape"]


@dataclass(frozen=True)
class Shape:
    """The shape of a public table: what its tables look like, and nothing computed from a row.

    Attributes
    ----------
    names, levels, cuts
        What each column is called, how many categories it has, where it was cut (None: not cut).
    people
        How many rows.
    dates
        Which columns are dates, cut at days since 1970-01-01.

    Examples
    --------
    >>> one, other = (Shape.of([Column("x", labels)], 3) for labels in (("0", "1"), ("0", "1", "2")))
    >>> one.difference(other)
    '3 categories of x, not 2'
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    cuts: tuple[tuple[float, ...] | None, ...]
    people: int
    dates: tuple[bool, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, columns: Sequence[Column], people: int) -> Shape:
        """The shape of a table of these columns and that many people."""
        return cls(
            names=tuple(column.name for column in columns),
            levels=tuple(column.levels for column in columns),
            cuts=tuple(column.cuts for column in columns),
            people=people,
            dates=tuple(column.dates for column in columns),
        )

    @property
    def cuts_shown(self) -> tuple[list[float] | list[str] | None, ...]:
        """The cut points of each column as a document shows them: dates as text."""
        dates = self.dates or (False,) * len(self.names)
        return tuple(
            None if cut is None else list(map(date_text, cut)) if dated else list(cut)
            for cut, dated in zip(self.cuts, dates, strict=True)
        )

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins with which a reader cuts the same table in the same way."""
        return {
            name: list(cuts) if cuts else max(2, levels + 1)
            for name, levels, cuts in zip(self.names, self.levels, self.cuts, strict=True)
        }

    def difference(self, other: Shape) -> str:
        """The first difference of the other table, in words; empty if the shapes agree."""
        if other.names != self.names:
            return f"the columns {', '.join(other.names[:12])}, not {', '.join(self.names[:12])}"
        if other.people != self.people:
            return f"{other.people:,} people, not {self.people:,}"
        for index, name in enumerate(self.names):
            if other.cuts[index] != self.cuts[index]:
                return f"other cut points of {name}"
            if other.levels[index] != self.levels[index]:
                return f"{other.levels[index]:,} categories of {name}, not {self.levels[index]:,}"
        return ""
