"""What the reader of a protected statistic loses: errors, withheld values, wrong tables, wrong signs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tellall.audits.measures.chance_intervals import NORMAL
from tellall.audits.measures.guesses import filled_in
from tellall.core.amounts import percent
from tellall.core.errors import invalid
from tellall.core.records import UNKNOWN, Meaning, Record
from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Dataset
from tellall.release.release import Release
from tellall.statistics.estimators import Estimator
from tellall.statistics.statistic import tables_of

__all__ = [
    "CoefficientUtility",
    "Coefficients",
    "Reader",
    "ReaderLoss",
    "Utility",
    "coefficient_utility",
    "cramers_v",
    "readers_of",
    "utility",
]


@dataclass(frozen=True)
class Utility(Record):
    """What was lost between the exact release and the protected one, in the units of what is published.

    Averages over tables leave out those with a missing cell.
    """

    values: Annotated[int, Meaning("How many values there are.", least=0)]
    missing: Annotated[float, Meaning("The share that is not shown.", least=0, most=1)]
    mean_error: Annotated[
        float, Meaning("The mean absolute error of the values that are shown.", least=0), UNKNOWN
    ]
    max_error: Annotated[float, Meaning("The largest.", least=0), UNKNOWN]
    total_variation: Annotated[
        float,
        Meaning(
            "Half the absolute differences between a table's shares before and after, averaged over tables: "
            "0 where they look alike, 1 where they have nothing in common."
        ),
        UNKNOWN,
    ]
    association: Annotated[
        float,
        Meaning("Cramér's V between the secret and a table's public cells, exact; averaged over tables."),
        UNKNOWN,
    ]
    association_change: Annotated[float, Meaning("By how much it changed, absolutely."), UNKNOWN]
    risk_change: Annotated[
        float,
        Meaning("By how much the share with it in a cell changed, absolutely, averaged over people."),
        UNKNOWN,
    ]
    tables: Annotated[int, Meaning("How many tables there are.", least=0)]
    incomplete: Annotated[int, Meaning("How many of them have a missing cell.", least=0)]

    def __str__(self) -> str:
        shown = f"mean error {self.mean_error:.3g}, largest {self.max_error:.3g}"
        gone = f", {percent(self.missing)} missing" if self.missing else ""
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
    Negative cells count as zero in shares and associations. The averages over tables are NaN if no table is
    complete or the values are not tables. Values that nobody can compute, such as the mean of a cell without
    people, do not count. O(values).

    Examples
    --------
    >>> from tellall.protections.rounding import Rounding
    >>> from tellall.release.release import publish
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0], [0, 0]], secret=[0, 1, 1, 0])
    >>> exact, rounded = (publish(people, Marginals(2), protect) for protect in (None, Rounding(2)))
    >>> print(utility(exact, rounded, people))
    8 values: mean error 0.5, largest 1; total variation 0.5, Cramér's V off by 0 of 0.5
    """
    same = clean.statistic == noisy.statistic and clean.where == noisy.where
    if not same or clean.values.shape != noisy.values.shape:
        raise invalid("noisy", "a release of the same statistic as clean", noisy)
    there = ~np.isnan(clean.values)
    if not there.all() and not np.array_equal(np.isnan(clean.exact(dataset)), ~there):  # some are withheld
        raise invalid("clean", "a release with every value shown", clean)
    error = np.abs(noisy.values - clean.values)[there]
    shown = error[~np.isnan(error)]
    layout = tables_of(noisy.statistic, dataset.public, dataset.levels)
    compared = [_compare(clean.values, noisy.values, shape[-1], cells) for shape, _, cells in layout.alike()]
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
        tables=len(layout),
        incomplete=len(by_table) - len(complete),
    )


def _compare(clean: Array, noisy: Array, levels: int, cells: npt.NDArray[np.generic]) -> Array:
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


@dataclass(frozen=True, eq=False)
class Reader:
    """Whoever reads one model's coefficients, ready for any noise on them; see :func:`coefficient_utility`.

    Attributes
    ----------
    clean, features, response
        The fitted coefficients, and the people they were fitted to.
    model
        "linear" or "logistic".
    mae, standard
        The mean absolute error of the clean model's predictions, and the standard errors of its coefficients,
        None where they have none.
    """

    clean: Array
    features: Array
    response: Array
    model: str
    mae: float
    standard: Array | None

    @classmethod
    def of(
        cls, theta_clean: npt.ArrayLike, features: npt.ArrayLike, response: npt.ArrayLike, model: str
    ) -> Reader:
        """The reader of these coefficients."""
        clean, matrix, truth = _check_model(theta_clean, features, response)
        if model not in ("linear", "logistic"):
            raise invalid("model", "'linear' or 'logistic'", model)
        fitted = _predict(matrix @ clean, model)
        standard = _standard_errors(matrix, truth, fitted, model)
        return cls(clean, matrix, truth, model, float(np.mean(np.abs(truth - fitted))), standard)

    def loses(self, theta_noisy: npt.ArrayLike) -> CoefficientUtility:
        """The losses if these values are published instead, a row for each draw of the noise."""
        noisy = np.atleast_2d(np.asarray(theta_noisy, dtype=float))
        if noisy.ndim != 2 or noisy.shape[1] != self.clean.size or not noisy.size:
            raise invalid("theta_noisy", f"rows of {self.clean.size} coefficients", f"shape {noisy.shape}")
        if not np.isfinite(noisy).all():
            raise invalid("theta_noisy", "finite", "NaN or infinite values")
        error = noisy - self.clean
        predicted = _predict(self.features @ noisy.T, self.model)
        new = float(np.mean(np.abs(self.response[:, None] - predicted)))
        settled = self.clean != 0
        flips = (np.sign(noisy) != np.sign(self.clean))[:, settled]
        return CoefficientUtility(
            error=float(np.sqrt(np.mean(error**2))),
            max_error=float(np.abs(error).max()),
            mae=self.mae,
            mae_ratio=new / self.mae if self.mae > 0 else (1.0 if new == 0 else math.inf),
            sign_flips=float(flips.mean()) if settled.any() else math.nan,
            coverage=_coverage(error, self.standard),
        )


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
        n × p, with a column of ones if the model has an intercept.
    response
        The n values predicted.
    model
        "linear", or "logistic" (predictions are probabilities).

    Notes
    -----
    The standard error of coefficient j is √[(XᵀWX)⁻¹]_jj times the residual's standard deviation (linear, W =
    I) or 1 (logistic, W = p(1 − p)). If a clean coefficient is normal around the truth with that standard
    error, an interval shifted by e covers with probability Φ(1.96 − e/se) − Φ(−1.96 − e/se), without
    simulation. NaN if X does not have full rank or n ≤ p. O(n p² + draws n p).

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> found = coefficient_utility([1.0], [[1.5], [-0.5]], x, [1.1, 1.9, 3.2, 3.9])
    >>> found.sign_flips, found.max_error
    (0.5, 1.5)
    """
    return Reader.of(theta_clean, features, response, model).loses(theta_noisy)


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
    theta_clean: npt.ArrayLike, features: npt.ArrayLike, response: npt.ArrayLike
) -> tuple[Array, Array, Array]:
    clean = np.asarray(theta_clean, dtype=float)
    matrix, truth = np.asarray(features, dtype=float), np.asarray(response, dtype=float)
    if clean.ndim != 1 or not clean.size:
        raise invalid("theta_clean", "one model's coefficients", f"shape {clean.shape}")
    if matrix.ndim != 2 or matrix.shape[1] != clean.size:
        raise invalid("features", f"n × {clean.size}", f"shape {matrix.shape}")
    if truth.shape != (matrix.shape[0],) or not truth.size:
        raise invalid("response", f"one value per row of features ({matrix.shape[0]})", f"{truth.shape}")
    for name, array in (("theta_clean", clean), ("features", matrix), ("response", truth)):
        if not np.isfinite(array).all():
            raise invalid(name, "finite", "NaN or infinite values")
    return clean, matrix, truth


@dataclass(frozen=True)
class Coefficients(Record):
    """What the reader of coefficients loses, averaged over models and draws; see ``CoefficientUtility``."""

    mae_ratio: Annotated[
        float,
        Meaning("How many times larger the mean absolute error of a model's predictions is.", least=0),
        UNKNOWN,
    ]
    sign_flips: Annotated[float, Meaning("The share of coefficients whose sign is wrong."), UNKNOWN]
    coverage: Annotated[
        float,
        Meaning("How often a 95 % interval around the published coefficient covers the truth."),
        UNKNOWN,
    ]

    @classmethod
    def of(cls, readers: Sequence[Reader], noisy: Array) -> Coefficients | None:
        """The averages, from a row of all models' coefficients for each draw; None where some are missing."""
        if not readers or not np.isfinite(noisy).all():
            return None
        starts = np.cumsum([reader.clean.size for reader in readers])
        parts = np.split(noisy, starts, axis=1)[: len(readers)]
        found = [reader.loses(part) for reader, part in zip(readers, parts, strict=True)]
        return cls(*(float(np.mean([getattr(one, field.name) for one in found])) for field in fields(cls)))

    def __str__(self) -> str:
        return (
            f"predictions {self.mae_ratio:.3g} times as far off, {percent(self.sign_flips)} of signs wrong, "
            f"95 % intervals cover {percent(self.coverage)}"
        )


@dataclass(frozen=True)
class ReaderLoss(Record):
    """What the reader of a release loses, averaged over draws of the noise."""

    error: Annotated[
        float,
        Meaning(
            "The mean absolute error of a published value. A withheld one counts with the error of what a "
            "reader would put in its place.",
            least=0,
        ),
    ]
    interval: Annotated[tuple[float, float], Meaning("Its 95 % interval over draws.")]
    utility: Annotated[Utility, Meaning("Errors of what is shown, the share withheld, how tables look.")]
    coefficients: Annotated[
        Coefficients | None, Meaning("What is lost of predictions, where coefficients are published.")
    ] = None

    @classmethod
    def of(
        cls, clean: Release, drawn: Sequence[Release], dataset: Dataset, readers: Sequence[Reader] = ()
    ) -> ReaderLoss:
        """The loss of several draws of one release."""
        losses = [mean_error(clean, release, dataset) for release in drawn]
        mean = float(np.mean(losses))
        half = NORMAL * float(np.std(losses, ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else 0.0
        found = [utility(clean, release, dataset) for release in drawn]
        return cls(
            mean,
            (mean - half, mean + half),
            _mean_utility(found),
            Coefficients.of(readers, np.stack([release.values for release in drawn])),
        )

    @classmethod
    def mean(cls, parts: Sequence[ReaderLoss]) -> ReaderLoss | None:
        """The mean over areas, each of which publishes the same number of values."""
        if not parts:
            return None
        error = float(np.mean([part.error for part in parts]))
        halves = [(part.interval[1] - part.interval[0]) / 2 for part in parts]
        half = math.sqrt(math.fsum(half**2 for half in halves)) / len(parts)
        read = [part.coefficients for part in parts if part.coefficients is not None]
        coefficients = None
        if len(read) == len(parts):
            coefficients = Coefficients(
                *(float(np.mean([getattr(one, f.name) for one in read])) for f in fields(Coefficients))
            )
        whole = _mean_utility([part.utility for part in parts])
        return cls(error, (error - half, error + half), whole, coefficients)


def mean_error(clean: Release, noisy: Release, dataset: Dataset) -> float:
    """The mean absolute error of the values, withheld ones counted at what a reader would put there.

    Notes
    -----
    A reader puts what `filled_in` says: in a table the cell's number of people, which is public, times the
    rate, or the mean number of a person, that the shown cells have. Values that nobody can compute do not
    count.
    """
    values, there = noisy.values, ~np.isnan(clean.values)
    hidden = there & np.isnan(values)
    if not there.any():
        return 0.0
    if hidden.any():
        values = np.where(hidden, filled_in(clean.values, values, noisy, dataset), values)
    return float(np.mean(np.abs(values - clean.values)[there]))


def _mean_utility(found: Sequence[Utility]) -> Utility:
    means: dict[str, Any] = {
        field.name: float(np.mean([getattr(one, field.name) for one in found])) for field in fields(Utility)
    }
    for name in ("values", "tables", "incomplete"):
        means[name] = round(means[name])
    return Utility(**means)


def readers_of(clean: Release, dataset: Dataset) -> list[Reader]:
    """A reader for each model's coefficients; none for other statistics and other losses."""
    statistic, exact = clean.statistic, clean.values
    if not isinstance(statistic, Estimator) or statistic.loss not in ("linear", "logistic"):
        return []
    if not np.isfinite(exact).all() or dataset.secret is None:
        return []
    models = statistic.models(dataset.public)
    thetas = np.split(exact, np.cumsum(models.sizes))[: len(models.sizes)]  # standard errors follow
    answers = dataset.secret.astype(np.float64)
    return [
        Reader.of(theta, models.design(index), answers, str(statistic.loss))
        for index, theta in enumerate(thetas)
    ]
