"""Suppression: hides small values, and other values that would reveal them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tellall.core.checks import at_least_zero
from tellall.core.errors import invalid
from tellall.protections.protection import (
    Array,
    Context,
    Exact,
    Noise,
    Protection,
    Rng,
    needs_people,
)
from tellall.statistics.marginals import Tables

__all__ = ["Hiding", "Suppression", "hide_single_gaps"]


class Hiding(Protection):
    """Some values are not published; those that are shown are exact.

    With ``complementary``, further cells are hidden, so that a table's totals do not give hidden cells away.
    """

    reads_cell_sizes = True

    complementary: bool

    def __post_init__(self) -> None:
        if not isinstance(self.complementary, bool):
            raise invalid("complementary", "true or false", self.complementary)

    @property
    def law(self) -> Noise:
        return Exact()  # of the values that are shown

    @property
    def random(self) -> bool:
        return False

    @property
    def hides(self) -> bool:
        return True

    @property
    def reads_people(self) -> bool:
        return self.complementary  # which cells have people decides what else is hidden

    @abstractmethod
    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values without those that are hidden."""

    def cover(self, shown: Array, context: Context, tables: int | None = None) -> None:
        """Hides further cells, in place, in the first so many tables or in all."""
        if not len(context.tables):
            return
        people = _cells_with_people(self, context)
        for shape, chosen, cells in context.tables.alike():
            own = cells if tables is None else cells[chosen < tables]
            block = shown[own].reshape(len(own), *shape)
            hide_single_gaps(block, people[own].reshape(block.shape))
            shown[own] = block.reshape(len(own), -1)


@dataclass(frozen=True)
class Suppression(Hiding):
    """Values under ``below`` are not published, zeros included.

    Elsewhere zeros are often shown, or cells without people are not listed. A zero that is read is a zero.

    Parameters
    ----------
    below
        The least value that is shown.
    complementary
        Whether further cells are hidden, so that no hidden cell follows from the totals of its table.

    Notes
    -----
    The attacker knows the public counts, so one shown cell of a yes/no pair gives the other: a pair is lost
    only if both are hidden. ``complementary`` looks at every line of a table along any of its columns,
    including the secret. If exactly one cell of a line is missing, it hides the least shown one too, until no
    line has exactly one missing. Then no total over a line gives a cell away. Cells without people do not
    count, missing or shown, since everybody knows that they are zero (in tables of public columns alone, this
    is what is published, and they count). A cell that is alone with people in a line equals the line's total.
    It is hidden to protect another only if there is no other choice, and does not help where that total is
    known. Tables that share columns may still give a cell away together; the attack finds that out.
    O(tables · n) to see which cells have people, and O(cells) for each of a few rounds.

    Examples
    --------
    >>> Suppression(5).perturb(np.array([3.0, 8.0])).tolist()
    [nan, 8.0]
    """

    not_on_means: ClassVar[str] = (
        "A suppressed mean has no accuracy; plan with the number of means that are published."
    )

    below: float
    complementary: bool = False

    def __post_init__(self) -> None:
        at_least_zero("below", self.below)
        super().__post_init__()

    @property
    def limit(self) -> float | None:
        return None if self.complementary else float(self.below)

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        # many publishers hide 1 to below - 1 only: a zero that is there nevertheless is one
        zero = (low <= 0) & (high >= 0) & (high < self.below)
        least = np.maximum(low, self.below)
        none = ~zero & (least > high)
        return (
            np.where(zero, 0.0, np.where(none, np.inf, least)),
            np.where(zero, 0.0, np.where(none, -np.inf, high)),
        )

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values without small ones and, if complementary, without others that would reveal them."""
        shown = np.where(values < self.below, np.nan, values)
        if self.complementary and context is not None and np.isnan(shown).any():
            self.cover(shown, context)
        return shown


def _cells_with_people(protection: Protection, context: Context) -> npt.NDArray[np.bool_]:
    """Which values are of cells that may have people, as far as an outsider knows."""
    if context.people is None:
        raise needs_people(protection)
    tables = context.tables
    if isinstance(context.statistic, Tables):  # who there is is what they say
        return np.ones(sum(map(prod, tables.shapes)), dtype=bool)
    counts = context.people.tabulate(tables.columns, secret=False)
    return np.repeat(counts > 0, tables.shapes[0][-1])


def hide_single_gaps(tables: Array, people: npt.NDArray[np.bool_]) -> None:
    """Hides, in place, the least shown cell of each line with exactly one missing, as far as there is one.

    Only cells with ``people`` count. The tables are stacked along the first axis.
    """
    axes = [axis for axis in range(1, tables.ndim) if tables.shape[axis] > 1]
    alone = np.zeros(tables.shape, dtype=bool)
    for axis in axes:
        alone |= people & (people.sum(axis=axis, keepdims=True) == 1)
    shown = tables[~np.isnan(tables)]
    last = np.where(alone, np.ptp(shown) + 1 if shown.size else 0.0, 0.0)  # comes after all others
    changed = True
    while changed:
        changed = False
        for axis in axes:
            gone = np.isnan(tables) & people
            free = ~np.isnan(tables) & people
            single = (gone.sum(axis=axis, keepdims=True) == 1) & free.any(axis=axis, keepdims=True)
            if not single.any():
                continue
            cost = np.where(free, tables + last, np.inf)
            least = np.expand_dims(np.argmin(cost, axis=axis), axis)
            kept = np.take_along_axis(tables, least, axis)
            np.put_along_axis(tables, least, np.where(single, np.nan, kept), axis)
            changed = True
