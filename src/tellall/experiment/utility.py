"""What the reader of protected values loses: errors, and tables that no longer look alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset
from tellall.release.protections.base import tables_of
from tellall.release.protections.law import Layout
from tellall.release.release import Release

__all__ = [
    "Utility",
    "cramers_v",
    "utility",
]


@dataclass(frozen=True)
class Utility:
    """What was lost between the exact release and the protected one, in the units of what is published.

    Attributes
    ----------
    values, missing
        How many values there are, and the share that is not shown.
    mean_error, max_error
        The mean and the largest absolute error of the values that are shown; not a number where none is.
    total_variation
        Half the absolute differences between a table's shares before and after, averaged over tables: 0
        where tables look alike, 1 where they have nothing in common.
    association, association_change
        Cramér's V between the secret and a table's public cells in the exact release, and by how much it
        changed (absolutely), averaged over tables.
    risk_change
        By how much the share with the secret in a cell changed (absolutely), averaged over the people.
    tables, incomplete
        How many tables there are, and how many lack a cell; these are left out of the three averages.
    """

    values: int
    missing: float
    mean_error: float
    max_error: float
    total_variation: float
    association: float
    association_change: float
    risk_change: float
    tables: int
    incomplete: int

    def __str__(self) -> str:
        shown = f"mean error {self.mean_error:.3g}, largest {self.max_error:.3g}"
        gone = f", {self.missing:.0%} missing" if self.missing else ""
        if not self.tables:
            return f"{self.values} values: {shown}{gone}"
        return (
            f"{self.values} values: {shown}{gone}; total variation {self.total_variation:.3g}, "
            f"Cramér's V off by {self.association_change:.3g} of {self.association:.3g}"
        )


def utility(clean: Release, noisy: Release, dataset: Dataset) -> Utility:
    """What the reader of ``noisy`` loses against ``clean``, two releases of one statistic of these people.

    Notes
    -----
    Negative cells count as zero in shares and associations. The averages over tables are not a number where
    no table is complete or the values are no tables. O(values).

    Examples
    --------
    >>> from tellall.release.protections.rounding import Rounding
    >>> from tellall.release.release import publish
    >>> from tellall.release.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]], secret=[0, 1, 1, 0])
    >>> exact, rounded = (publish(people, Marginals(2), protect) for protect in (None, Rounding(2)))
    >>> print(utility(exact, rounded, people))
    8 values: mean error 0.5, largest 1; total variation 0.5, Cramér's V off by 0 of 0.5
    """
    if clean.statistic != noisy.statistic or clean.values.shape != noisy.values.shape:
        raise invalid("noisy", "a release of the same statistic as clean", noisy)
    if np.isnan(clean.values).any():
        raise invalid("clean", "a release with every value shown", clean)
    error = np.abs(noisy.values - clean.values)
    shown = error[~np.isnan(error)]
    places = tables_of(noisy.statistic, dataset.public, dataset.levels)
    compared = [_compare(clean.values, noisy.values, *block) for block in _blocks(places)]
    by_table = np.concatenate(compared) if compared else np.zeros((0, 4))
    complete = by_table[~np.isnan(by_table).any(axis=1)]
    averages = complete.mean(axis=0) if len(complete) else np.full(4, np.nan)
    return Utility(
        values=error.size,
        missing=1 - shown.size / error.size if error.size else 0.0,
        mean_error=float(shown.mean()) if shown.size else math.nan,
        max_error=float(shown.max()) if shown.size else math.nan,
        total_variation=float(averages[0]),
        association=float(averages[1]),
        association_change=float(averages[2]),
        risk_change=float(averages[3]),
        tables=len(places),
        incomplete=len(by_table) - len(complete),
    )


def _blocks(places: Layout) -> Sequence[tuple[int, npt.NDArray[Any]]]:
    return [(shape[-1], cells) for shape, _, cells in places.alike()]


def _compare(clean: Array, noisy: Array, levels: int, cells: npt.NDArray[Any]) -> Array:
    """Total variation, association before, its change and the change of risk, a row per table."""
    exact = np.maximum(clean[cells], 0.0).reshape(len(cells), -1, levels)
    given = np.where(np.isnan(noisy[cells]), np.nan, np.maximum(noisy[cells], 0.0)).reshape(exact.shape)
    total = exact.sum(axis=(1, 2), keepdims=True)
    new_total = given.sum(axis=(1, 2), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        variation = 0.5 * np.abs(exact / total - given / new_total).sum(axis=(1, 2))
        variation = np.where(new_total[:, 0, 0] == 0, 1.0, variation)  # emptied: nothing in common
        people = exact.sum(axis=2)
        risk = np.where(people > 0, exact[..., -1] / people, 0.0)
        held = given.sum(axis=2)
        shown = np.where(held > 0, given[..., -1] / held, 0.0)
        # an emptied cell shows no risk at all; a missing one stays missing
        moved = np.where(np.isnan(held), np.nan, np.abs(shown - risk)) * people / total[..., 0]
    before, after = cramers_v(exact), cramers_v(given)
    return np.stack([variation, before, np.abs(after - before), moved.sum(axis=1)], axis=1)


def cramers_v(tables: npt.ArrayLike) -> Array:
    """Cramér's V of each table of counts (tables × rows × columns): 0 no association, 1 complete.

    Notes
    -----
    V² = χ²/(N min(r − 1, c − 1)) over the r rows and c columns that have any count; 0 where one of them is
    alone.

    Examples
    --------
    >>> cramers_v([[[5, 0], [0, 5]], [[2, 2], [3, 3]]]).tolist()
    [1.0, 0.0]
    """
    counts = np.asarray(tables, dtype=np.float64)
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    total = counts.sum(axis=(-2, -1), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = rows * columns / total
        chi2 = np.where(expected == 0, 0.0, (counts - expected) ** 2 / expected).sum(axis=(-2, -1))
        least = np.minimum((rows > 0).sum(axis=(-2, -1)), (columns > 0).sum(axis=(-2, -1))) - 1
        square = np.where(least > 0, chi2 / (total[..., 0, 0] * np.maximum(least, 1)), 0.0)
    unknown = np.isnan(total[..., 0, 0])
    return np.where(unknown, np.nan, np.sqrt(np.clip(np.nan_to_num(square), 0.0, 1.0)))
