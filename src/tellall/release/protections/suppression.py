"""Suppression: hides small values, and other values that would reveal them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from tellall.core.checks import at_least_zero
from tellall.core.errors import invalid
from tellall.release.protections.protection import Array, Context, Exact, Noise, Protection, Rng

__all__ = ["Hiding", "Suppression", "hide_single_gaps"]


class Hiding(Protection):
    """Some values are not published; those that are shown are exact.

    With ``complementary``, further cells are hidden, so that a table's totals do not give hidden cells away.
    """

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

    @abstractmethod
    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values without those that are hidden."""


@dataclass(frozen=True)
class Suppression(Hiding):
    """Values under ``below`` are not published, zeros included.

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
    line has exactly one missing. Then no total over a line gives a cell away. Tables that share columns may
    still do so together; the attack finds that out. O(cells) per round, with a few rounds.

    Examples
    --------
    >>> Suppression(5).perturb(np.array([3.0, 8.0])).tolist()
    [nan, 8.0]
    """

    below: float
    complementary: bool = False

    def __post_init__(self) -> None:
        at_least_zero("below", self.below)
        super().__post_init__()

    @property
    def limit(self) -> float | None:
        return None if self.complementary else float(self.below)

    def before(self, low: Array, high: Array, step: float) -> tuple[Array, Array]:
        return np.maximum(low, self.below), high

    def perturb(self, values: Array, rng: Rng = None, context: Context | None = None) -> Array:
        """The values without small ones and, if complementary, without others that would reveal them."""
        shown = np.where(values < self.below, np.nan, values)
        if not self.complementary or context is None:
            return shown
        for shape, chosen, cells in context.tables.alike():
            tables = shown[cells].reshape(chosen.size, *shape)
            hide_single_gaps(tables)
            shown[cells] = tables.reshape(chosen.size, -1)
        return shown


def hide_single_gaps(tables: Array) -> None:
    """Hides, in place, the least shown cell of each line with exactly one missing, until no line has one."""
    axes = [axis for axis in range(1, tables.ndim) if tables.shape[axis] > 1]
    changed = True
    while changed:
        changed = False
        for axis in axes:
            gone = np.isnan(tables)
            single = np.expand_dims(gone.sum(axis=axis) == 1, axis)
            if not single.any():
                continue
            least = np.expand_dims(np.argmin(np.where(gone, np.inf, tables), axis=axis), axis)
            kept = np.take_along_axis(tables, least, axis)
            np.put_along_axis(tables, least, np.where(single, np.nan, kept), axis)
            changed = True
