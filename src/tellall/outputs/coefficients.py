"""Releases of printed tables of coefficients, and helpers that models fitted elsewhere need too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.outputs.grids import last_digit
from tellall.people.columns import is_missing
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.readers import read_printed
from tellall.protections.protection import Noise, Protection, as_protections, noise_of
from tellall.protections.rounding import Rounding
from tellall.release.release import Release
from tellall.statistics.estimators import Estimator
from tellall.statistics.losses import FitLoss, Squared, loss_of
from tellall.statistics.residuals import spread_of_errors
from tellall.statistics.where import Where, people_where

__all__ = ["INTERCEPTS", "levels_of", "people_of", "read_coefficients", "says_all"]

NumberReader = Callable[[str, Any, Any], float]
INTERCEPTS = ("intercept", "const", "(intercept)", "constant", "_cons")


def read_coefficients(
    table: str | Path | Mapping[str, Any] | Any,
    public: Public | Dataset | npt.ArrayLike,
    loss: str | FitLoss = "linear",
    *,
    intercept: bool | None = None,
    penalty: float = 0.0,
    penalise_intercept: bool = False,
    tolerance: float = 0.0,
    noise: Noise | None = None,
    protect: Sequence[Protection] | None = None,
    levels: int | None = None,
    where: Where | None = None,
) -> Release:
    """The release of a printed table of coefficients, with a row of block, term and value for each.

    Parameters
    ----------
    table
        A CSV, TSV or Parquet file, a frame or a mapping with columns ``block`` (which model), ``term`` (a
        public column, or "intercept") and ``value`` (empty if it was not printed). Linear models may have
        ``std_error`` too: the usual standard errors, not robust ones. They count as exact to their last
        digit, and show how far people are from the line. Text keeps the digits as printed; of a number, zeros
        at its end do not count (44400.0 is taken as exact to 100).
    public
        The people.
    loss, penalty, penalise_intercept, tolerance
        How the models were fitted; see `Estimator`.
    intercept
        Whether the models have one; by default, whether the table has one. True without one in the table
        says that it was fitted and not printed; linear models can still be used.
    noise, protect
        What was done to the values, for example ``Rounding(1e-4)`` if four decimals are printed, or a list
        of protections in order. Standard errors are read only if the error is bounded.
    levels
        2 if the secret is a bit, 0 if it is a real number; by default taken from the dataset's secret.
    where
        Which of these people they were fitted to; see `release_from_fits`.
    """
    view = as_public(public) if where is None else as_public(people_of(public, where))
    columns = read_printed(table) if isinstance(table, str | Path) else table
    models = _models(columns, "value")
    printed = {any(_is_intercept(term) for term in terms) for terms in models.values()}
    if len(printed) > 1:
        raise invalid("table", "with an intercept in every block or in none", "some blocks with one")
    has = printed == {True}
    if intercept is False and has:
        raise invalid("intercept", "True or left out, since the table has one", intercept)
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
    if "std_error" in _names(columns):
        told = as_protections(protect if noise is None else noise)
        error = noise_of(told)
        spreads, within = _spreads(columns, statistic, view, error.bound if error.known else np.inf)
        spreads, moved = _as_rounded(spreads, told)
        statistic = replace(statistic, standard_errors=True, spread_within=within + moved)
        values += spreads
    wanted_levels = levels_of(public) if levels is None else levels
    release = Release.from_values(
        statistic, values, public=view, noise=noise, protect=protect, levels=wanted_levels
    )
    return release if where is None else release.about(where)


def says_all(release: Release) -> bool:
    """Whether the standard errors of this fit add nothing to the release.

    They add nothing if the release has them already, if the loss is not linear, or if the secret is a bit and
    the fit has an intercept: then the coefficients already say how many people have the secret, which is all
    that standard errors add.
    """
    fit = release.statistic
    assert isinstance(fit, Estimator)
    linear = isinstance(loss_of(fit.loss), Squared)
    return not linear or fit.standard_errors or (release.levels == 2 and fit.intercept)


def people_of(public: Public | Dataset | npt.ArrayLike, where: Where) -> Public | Dataset:
    """The people who satisfy a condition or are in a mask."""
    people = public if isinstance(public, Dataset) else as_public(public)
    return people.take(people_where(where, as_public(people)))


def levels_of(public: object) -> int:
    """How many values the people's secret has; two if they come without a secret."""
    return public.levels if isinstance(public, Dataset) and public.secret is not None else 2


def _spreads(table: Any, statistic: Estimator, public: Public, most: float) -> tuple[list[float], float]:
    """The residual spread of each model, worked out from its standard errors, and how far off it may be.

    A printed number is off by at most half a unit of its last digit, or by ``most`` if that is more.
    """
    if not np.isfinite(most):
        raise invalid("std_error", "given only if values are exact or only rounded", "other noise")
    models, errors, found = statistic.models(public), _models(table, "std_error"), []
    for j, (block, of_terms) in enumerate(errors.items()):
        if len(of_terms) != models.sizes[j] or not np.isfinite(list(of_terms.values())).all():
            raise invalid("std_error", "a number for every coefficient", f"fewer in block {block}")
    digits = _models(table, "std_error", lambda term, block, value: last_digit(value))
    for j, (block, of_terms) in enumerate(errors.items()):
        order = sorted(of_terms, key=_is_intercept)  # the intercept last, as in the design
        printed, unit = (np.array([each[name] for name in order]) for each in (of_terms, digits[block]))
        found.append(spread_of_errors(models.design(j), printed, np.maximum(unit / 2, most)))
    return [spread for spread, _ in found], max(within for _, within in found)


def _as_rounded(spreads: list[float], protections: Sequence[Protection]) -> tuple[list[float], float]:
    """Spreads as the release's rounding would have them, and how far that moves one.

    They are worked out, not printed: as they are, no rounding could have produced them.
    """
    last = protections[-1] if protections else None
    if not isinstance(last, Rounding) or last.mode == "midpoint":
        return spreads, 0.0
    near = [last.base * max(1, round(one / last.base)) for one in spreads]
    return near, max(abs(one - other) for one, other in zip(near, spreads, strict=True))


def _names(table: Any) -> dict[str, Any]:
    """The columns of a table by their names in lower case."""
    columns = table.keys() if isinstance(table, Mapping) else getattr(table, "columns", None)
    if columns is None:
        raise invalid("table", "a file, a frame or a mapping of columns", type(table).__name__)
    return {str(name).strip().lower(): name for name in columns}


def _models(table: Any, column: str, read: NumberReader | None = None) -> dict[str, dict[str, float]]:
    """The numbers of a column by block and term, in the order of the table."""
    keys, number = _names(table), read or _number
    for name in ("block", "term", "value"):
        if name not in keys:
            raise invalid("table", "with columns block, term and value", ", ".join(keys))
    blocks, terms, raw = (_listed(table[keys[name]]) for name in ("block", "term", column))
    if not len(blocks) == len(terms) == len(raw):
        raise invalid("table", "with columns of one length", f"{len(blocks)}, {len(terms)}, {len(raw)}")
    models: dict[str, dict[str, float]] = {}
    for block, term, value in zip(blocks, terms, raw, strict=True):
        model = models.setdefault(str(block), {})
        name = str(term).strip()
        if name in model or (_is_intercept(name) and any(map(_is_intercept, model))):
            raise invalid("table", "with each term once in a block", f"'{name}' twice in block {block}")
        model[name] = number(name, block, value)
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
        raise invalid("value", "a number, or empty if none was printed", f"{value} for {term}") from None
    if np.isinf(number):
        raise invalid("value", "finite, or empty if none was printed", f"{value} for {term} in block {block}")
    return number


def _is_intercept(term: str) -> bool:
    return term.lower() in INTERCEPTS
