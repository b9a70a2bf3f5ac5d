"""What the reader of a protected statistic loses: errors, tables that no longer look alike, wrong signs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import Dataset
from tellall.errors import invalid
from tellall.linops import Array
from tellall.noise import Layout
from tellall.protections.base import tables_of
from tellall.release import Release

__all__ = ["CoefficientUtility", "Utility", "coefficient_utility", "cramers_v", "utility"]


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
    >>> from tellall.noise import Rounding
    >>> from tellall.release import publish
    >>> from tellall.statistics import Marginals
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


@dataclass(frozen=True)
class CoefficientUtility:
    """What noise on one model's coefficients costs its reader, averaged over draws of the noise.

    Attributes
    ----------
    error, max_error
        The root mean square and the largest absolute error of a coefficient.
    mae, mae_ratio
        The mean absolute error of the predictions of the clean model, and how many times larger that of the
        noisy one is.
    sign_flips
        The share of coefficients whose sign is wrong, those that are zero in the clean model left out.
    coverage
        How often a 95 % confidence interval laid around the noisy coefficient, as wide as around the clean
        one, covers the truth.
    """

    error: float
    max_error: float
    mae: float
    mae_ratio: float
    sign_flips: float
    coverage: float


def coefficient_utility(
    theta_clean: npt.ArrayLike,
    theta_noisy: npt.ArrayLike,
    features: npt.ArrayLike,
    response: npt.ArrayLike,
    *,
    model: str = "linear",
) -> CoefficientUtility:
    """What the reader of noisy coefficients loses.

    Parameters
    ----------
    theta_clean
        The p fitted coefficients.
    theta_noisy
        The p published ones, or a row of them for each draw of the noise.
    features
        n × p, a column of ones where the model has an intercept.
    response
        The n values predicted.
    model
        "linear", or "logistic" (predictions are probabilities).

    Notes
    -----
    The standard error of coefficient j is √[(XᵀWX)⁻¹]_jj times the residual's standard deviation (linear,
    W = I) or 1 (logistic, W = p(1 − p)). A clean coefficient being normal around the truth with that standard
    error, an interval shifted by e covers with probability Φ(1.96 − e/se) − Φ(−1.96 − e/se): closed, no
    simulation. Not a number where X has not full rank or n ≤ p. O(n p² + draws n p).

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> found = coefficient_utility([1.0], [[1.5], [-0.5]], x, [1.1, 1.9, 3.2, 3.9])
    >>> found.sign_flips, found.max_error
    (0.5, 1.5)
    """
    clean, noisy, matrix, truth = _check_model(theta_clean, theta_noisy, features, response)
    if model not in ("linear", "logistic"):
        raise invalid("model", "'linear' or 'logistic'", model)
    error = noisy - clean
    exact = _predict(matrix @ clean, model)
    mae = float(np.mean(np.abs(truth - exact)))
    new = float(np.mean(np.abs(truth[:, None] - _predict(matrix @ noisy.T, model))))
    settled = clean != 0
    flips = (np.sign(noisy) != np.sign(clean))[:, settled]
    return CoefficientUtility(
        error=float(np.sqrt(np.mean(error**2))),
        max_error=float(np.abs(error).max()),
        mae=mae,
        mae_ratio=new / mae if mae > 0 else (1.0 if new == 0 else math.inf),
        sign_flips=float(flips.mean()) if settled.any() else math.nan,
        coverage=_coverage(error, _standard_errors(matrix, truth, exact, model)),
    )


def _predict(score: Array, model: str) -> Array:
    from scipy.special import expit

    return score if model == "linear" else np.asarray(expit(score))


def _standard_errors(matrix: Array, truth: Array, fitted: Array, model: str) -> Array | None:
    n, p = matrix.shape
    if n <= p or np.linalg.matrix_rank(matrix) < p:
        return None
    weight = np.ones(n) if model == "linear" else fitted * (1 - fitted)
    spread = float(np.sum((truth - fitted) ** 2)) / (n - p) if model == "linear" else 1.0
    inverse = np.linalg.pinv(matrix.T @ (matrix * weight[:, None]))
    return np.asarray(np.sqrt(np.maximum(spread * np.diag(inverse), 0.0)))


def _coverage(error: Array, standard: Array | None) -> float:
    from scipy.special import ndtr, ndtri

    if standard is None:
        return math.nan
    reach = float(ndtri(0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(error == 0, 0.0, error / standard)
    return float(np.mean(ndtr(reach - shift) - ndtr(-reach - shift)))


def _check_model(
    theta_clean: npt.ArrayLike, theta_noisy: npt.ArrayLike, features: npt.ArrayLike, response: npt.ArrayLike
) -> tuple[Array, Array, Array, Array]:
    clean, noisy = np.asarray(theta_clean, dtype=float), np.atleast_2d(np.asarray(theta_noisy, dtype=float))
    matrix, truth = np.asarray(features, dtype=float), np.asarray(response, dtype=float)
    if clean.ndim != 1 or not clean.size:
        raise invalid("theta_clean", "one model's coefficients", f"shape {clean.shape}")
    if noisy.ndim != 2 or noisy.shape[1] != clean.size or not noisy.size:
        raise invalid("theta_noisy", f"rows of {clean.size} coefficients", f"shape {noisy.shape}")
    if matrix.ndim != 2 or matrix.shape[1] != clean.size:
        raise invalid("features", f"n × {clean.size}", f"shape {matrix.shape}")
    if truth.shape != (matrix.shape[0],) or not truth.size:
        raise invalid("response", f"one value per row of features ({matrix.shape[0]})", f"{truth.shape}")
    for name, array in (("theta_clean", clean), ("theta_noisy", noisy), ("features", matrix)):
        if not np.isfinite(array).all():
            raise invalid(name, "finite", "NaN or infinite values")
    if not np.isfinite(truth).all():
        raise invalid("response", "finite", "NaN or infinite values")
    return clean, noisy, matrix, truth
