"""Which public columns each of several fitted models uses, and people's numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from tellall.data import Patterns, Public, group_rows
from tellall.errors import invalid
from tellall.linops import Array

__all__ = ["Blocks", "Models", "check_blocks", "numbers_of"]

Blocks = tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True, eq=False)
class Models:
    """The columns of each model by place, the intercept last where there is one.

    Attributes
    ----------
    places
        The public columns of each model.
    intercept
        Whether each model has a column of ones after them.
    """

    public: Public
    places: tuple[tuple[int, ...], ...]
    intercept: bool

    @property
    def sizes(self) -> list[int]:
        """How many coefficients each model has."""
        return [len(chosen) + self.intercept for chosen in self.places]

    @cached_property
    def numbers(self) -> dict[int, Array]:
        """The numbers of every column that some model uses."""
        used = sorted({place for chosen in self.places for place in chosen})
        return {place: numbers_of(self.public, place) for place in used}

    @cached_property
    def alike(self) -> Patterns:
        """The people with equal numbers in every column that some model uses."""
        known, key = self.public.memory, ("equal numbers", *self.numbers)
        if key not in known:
            labels = [np.unique(column, return_inverse=True)[1].ravel() for column in self.numbers.values()]
            known[key] = group_rows(np.stack(labels))
        return cast("Patterns", known[key])

    def design(self, model: int) -> Array:
        """The n × k matrix of one model."""
        columns = [self.numbers[place] for place in self.places[model]]
        ones = [np.ones(self.public.n)] if self.intercept else []
        return np.stack([*columns, *ones], axis=1)

    def ridges(self, penalty: float, with_intercept: bool) -> list[Array]:
        """The ridge of each coefficient, model by model."""
        bare = self.intercept and not with_intercept
        return [np.where(np.arange(size) < size - bare, penalty, 0.0) for size in self.sizes]

    def name(self, model: int) -> str:
        """The model by its columns."""
        names = [self.public.names[place] for place in self.places[model]]
        return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def numbers_of(public: Public, place: int) -> Array:
    """A column as numbers; text and missing numbers are refused."""
    column = public.columns[place]
    numbers = public.numbers[place] if public.numbers else None
    if numbers is None and column.labels == ("0", "1"):
        return np.asarray(public.codes[place], dtype=np.float64)
    what = f"column '{column.name}'"
    if numbers is None:
        advice = "Leave it out, or turn each value into a 0/1 column."
        raise invalid(what, "a column of numbers, to be used in a regression", "text", advice)
    out = np.asarray(numbers, dtype=np.float64)
    missing = int(np.isnan(out).sum())
    if missing:
        advice = "Leave out the column or the people."
        raise invalid(
            what, "without missing numbers, to be used in a regression", f"{missing} missing", advice
        )
    return out


def check_blocks(blocks: Sequence[Sequence[str | int]] | None) -> Blocks | None:
    """The column sets, if they are such."""
    if blocks is None:
        return None
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise invalid("blocks", "a list of sets of columns", blocks)
    loose = [[names] if isinstance(names, str | int | np.integer) else names for names in blocks]
    if not loose or not all(isinstance(names, Iterable) for names in loose):
        raise invalid("blocks", "one set of columns or more", blocks)
    sets = tuple(tuple(int(n) if isinstance(n, np.integer) else n for n in names) for names in loose)
    for names in sets:
        if not names or not all(isinstance(name, str | int) for name in names):
            raise invalid("blocks", "sets of one column or more, by name or place", names)
    return sets
