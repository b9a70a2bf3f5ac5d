"""Releases of coefficients that other programs fitted or other people printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.data import Dataset, Public, as_public, told_left_out
from tellall.data.columns import is_missing
from tellall.errors import invalid
from tellall.io import read_table
from tellall.linops import Array
from tellall.noise import Noise
from tellall.release import Release
from tellall.statistics import Estimator
from tellall.statistics.curvature import gradients
from tellall.statistics.fitted import INTERCEPTS, Fitted, read_fit
from tellall.statistics.losses import Loss, loss_of

__all__ = ["read_coefficients", "release_from_fits"]

_NOT_THESE = 0.01  # a share of the gradient this large is no rounding: other people, or another loss


def release_from_fits(
    results: Any,
    public: Public | Dataset | npt.ArrayLike,
    *,
    columns: Sequence[Any] | None = None,
    noise: Noise | None = None,
) -> Release:
    """The release of the coefficients of one or several fitted models.

    Parameters
    ----------
    results
        statsmodels results or scikit-learn estimators of one kind (loss, penalty, intercept).
    public
        The people they were fitted to. A dataset with its secret lets the curator measure what the solvers
        left of the gradient; otherwise it is estimated from their declared tolerances.
    columns
        The columns of each model, where the objects do not know their names.
    noise
        What was done to the coefficients, for example ``Rounding(1e-4)`` where four decimals are printed.

    Notes
    -----
    A fit made elsewhere does not end exactly where the gradient vanishes. What is left of it counts as a
    further error of the equations, n · tolerance in each entry of Xᵀ(...) = 0 as a standard deviation.
    scikit-learn's lbfgs and newton solvers stop at a mean gradient below ``tol``, so that bounds it; for
    liblinear, sag and saga the same number is an estimate, no bound.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = Dataset.from_arrays([[1, 0], [1, 1], [0, 1], [1, 0]], secret=[1, 0, 0, 1])
    >>> fit = LinearRegression(fit_intercept=False).fit(people.public.codes.T, people.secret)
    >>> release_from_fits(fit, people)
    Release of 1 linear fit on 2 columns: 2 values; exact
    """
    view = as_public(public)
    several = isinstance(results, Sequence) and not hasattr(results, "params")
    fits = [read_fit(one) for one in (results if several else [results])]
    if not fits:
        raise invalid("results", "one fitted model or more", "none")
    blocks = _columns_of(fits, view, columns, several)
    first = fits[0]
    for fit in fits[1:]:
        if _kind(fit) != _kind(first):
            raise invalid(
                "results", "of one loss, penalty and intercept", "several", "Make one release of each."
            )
    values = np.concatenate([_coefficients(fit) for fit in fits])
    statistic = Estimator(
        first.loss,
        blocks=blocks,
        intercept=first.intercept is not None,
        penalty=first.penalty + first.penalty_each * view.n,
        penalise_intercept=first.penalise_intercept,
        tolerance=max(fit.tolerance for fit in fits),
    )
    if isinstance(public, Dataset) and public.secret is not None:
        statistic = _measured(statistic, public, values)
    return Release.from_values(statistic, values, public=view, noise=noise, levels=_levels(public))


def read_coefficients(
    table: str | Path | Mapping[str, Any] | Any,
    public: Public | Dataset | npt.ArrayLike,
    loss: str | Loss = "linear",
    *,
    intercept: bool | None = None,
    penalty: float = 0.0,
    penalise_intercept: bool = False,
    tolerance: float = 0.0,
    noise: Noise | None = None,
    levels: int | None = None,
) -> Release:
    """The release of a printed table of coefficients: a row per coefficient with block, term and value.

    Parameters
    ----------
    table
        A CSV, TSV or Parquet file, a frame or a mapping with columns ``block`` (which model), ``term`` (a
        public column, or "intercept") and ``value`` (empty where it was not printed).
    public
        The people.
    loss, penalty, penalise_intercept, tolerance
        How the models were fitted; see :class:`tellall.Estimator`.
    intercept
        Whether the models have one; by default, whether the table has. True with none in the table says that
        it was fitted and not printed, which linear models forgive.
    noise
        What was done to the values, for example ``Rounding(1e-4)`` where four decimals are printed.
    levels
        2 where the answer is a bit, 0 where it is a real number; read off the dataset where it has a secret.
    """
    view = as_public(public)
    models = _models(read_table(table) if isinstance(table, str | Path) else table)
    printed = {any(_is_intercept(term) for term in terms) for terms in models.values()}
    if len(printed) > 1:
        raise invalid("table", "with an intercept in every block or in none", "some blocks with one")
    has = printed == {True}
    if intercept is False and has:
        raise invalid("intercept", "True or left out, as the table has one", intercept)
    wanted = has if intercept is None else bool(intercept)
    blocks, values = [], []
    for terms in models.values():
        names = [term for term in terms if not _is_intercept(term)]
        last = [value for term, value in terms.items() if _is_intercept(term)]
        blocks.append(names)
        values += [terms[name] for name in names] + (last or [np.nan] if wanted else [])
    statistic = Estimator(
        loss,
        blocks=blocks,
        intercept=wanted,
        penalty=penalty,
        penalise_intercept=penalise_intercept,
        tolerance=tolerance,
    )
    wanted_levels = _levels(public) if levels is None else levels
    return Release.from_values(statistic, values, public=view, noise=noise, levels=wanted_levels)


def _levels(public: object) -> int:
    """How many values the secret has, where the people come with one; else it is taken for a bit."""
    return public.levels if isinstance(public, Dataset) and public.secret is not None else 2


def _columns_of(
    fits: Sequence[Fitted], public: Public, columns: Sequence[Any] | None, several: bool
) -> list[tuple[Any, ...]]:
    """The columns of each fit: as given, as it says, or all of them."""
    if columns is not None:
        given = list(columns) if several else [columns]
        if len(given) != len(fits):
            raise invalid("columns", f"one set per fit ({len(fits)})", f"{len(given)} sets")
    else:
        given = [fit.terms or public.names for fit in fits]
    blocks = [tuple(names) for names in given]
    for fit, names in zip(fits, blocks, strict=True):
        if len(names) != fit.coefficients.size:
            rule = f"the columns of the fit's {fit.coefficients.size} coefficients"
            got = f"{len(names)} columns{told_left_out(public)}"
            raise invalid("columns", rule, got, "Name them with columns=[...].")
    return blocks


def _kind(fit: Fitted) -> tuple[Any, ...]:
    settings = (fit.loss, fit.penalty, fit.penalty_each, fit.penalise_intercept)
    return (*settings, fit.intercept is None)


def _coefficients(fit: Fitted) -> Array:
    return fit.coefficients if fit.intercept is None else np.append(fit.coefficients, fit.intercept)


def _measured(statistic: Estimator, people: Dataset, values: Array) -> Estimator:
    """The statistic with the tolerance that the fits themselves show."""
    assert people.secret is not None
    models, loss = statistic.models(people.public), loss_of(statistic.loss)
    answers = people.secret.astype(np.float64)
    thetas = np.split(values, np.cumsum(models.sizes)[:-1])
    ridges = models.ridges(statistic.penalty, statistic.penalise_intercept)
    left = 0.0
    for j, (theta, ridge) in enumerate(zip(thetas, ridges, strict=True)):
        each = gradients(loss, theta, models.design(j), answers)
        total = np.abs(each.sum(axis=0) + ridge * theta)
        share = float((total / np.maximum(np.abs(each).sum(axis=0), 1e-300)).max())
        if share > _NOT_THESE:
            rule = "fits of these people's secret, where the gradient vanishes"
            raise invalid("results", rule, f"{share:.1%} of it left in model {j + 1} ({models.name(j)})")
        left = max(left, float(total.max()) / people.n)
    return replace(statistic, tolerance=left if left > 1e-12 else 0.0)


def _models(table: Any) -> dict[str, dict[str, float]]:
    """The coefficients by block and term, in the order of the table."""
    columns = table.keys() if isinstance(table, Mapping) else getattr(table, "columns", None)
    if columns is None:
        raise invalid("table", "a file, a frame or a mapping of columns", type(table).__name__)
    keys = {str(name).strip().lower(): name for name in columns}
    for name in ("block", "term", "value"):
        if name not in keys:
            raise invalid("table", "with columns block, term and value", ", ".join(keys))
    blocks, terms, raw = (_listed(table[keys[name]]) for name in ("block", "term", "value"))
    if not len(blocks) == len(terms) == len(raw):
        raise invalid("table", "with columns of one length", f"{len(blocks)}, {len(terms)}, {len(raw)}")
    models: dict[str, dict[str, float]] = {}
    for block, term, value in zip(blocks, terms, raw, strict=True):
        model = models.setdefault(str(block), {})
        name = str(term).strip()
        if name in model or (_is_intercept(name) and any(map(_is_intercept, model))):
            raise invalid("table", "with each term once in a block", f"'{name}' twice in block {block}")
        model[name] = _number(name, block, value)
    if not models:
        raise invalid("table", "with a coefficient or more", "no rows")
    return models


def _listed(column: Any) -> list[Any]:
    if isinstance(column, np.ma.MaskedArray):
        return [
            None if gone else value
            for value, gone in zip(column.data, np.ma.getmaskarray(column), strict=True)
        ]
    return list(column) if isinstance(column, Iterable) else [column]


def _number(term: str, block: Any, value: Any) -> float:
    if is_missing(value) or value == "":
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise invalid("value", "a number, or empty where none was printed", f"{value} for {term}") from None
    if np.isinf(number):
        raise invalid(
            "value", "finite, or empty where none was printed", f"{value} for {term} in block {block}"
        )
    return number


def _is_intercept(term: str) -> bool:
    return term.lower() in INTERCEPTS
