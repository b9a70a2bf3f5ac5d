"""profile_of_file: what differential privacy promises for a regression on a file of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tellall.audits.measures.profile_curves import ProfileCurve, profile_curves
from tellall.core.errors import invalid
from tellall.core.made import Made
from tellall.core.records import ALWAYS, IF_KNOWN, NOT_WRITTEN, Meaning
from tellall.people.dataset import unknown_name
from tellall.people.readers import read_table
from tellall.privacy.least_squares.side_by_side import ProfileTable, profile_table, standard_methods
from tellall.privacy.least_squares.sketched import SketchedLeastSquares
from tellall.protections.promises import budget

__all__ = ["ProfileFound", "profile_of_file"]


@dataclass(frozen=True, kw_only=True)
class _Asked(Made):
    """The first fields of the document of a profile: what was asked."""

    command: Annotated[str, ALWAYS] = "profile"
    response: Annotated[str, Meaning("The column that is regressed on the others.")]
    columns: Annotated[tuple[str, ...], Meaning("The features.")]


@dataclass(frozen=True)
class ProfileFound(ProfileTable, _Asked):
    """What each method promises and costs for a regression; with curves, for a page, at every ε too."""

    repeat: Annotated[str | None, Meaning("The command that makes the page again."), IF_KNOWN] = field(
        default=None, kw_only=True
    )
    seed: Annotated[int | None, Meaning("Of the attack on draws."), IF_KNOWN] = field(
        default=None, kw_only=True
    )
    curves: Annotated[tuple[ProfileCurve, ...] | None, IF_KNOWN] = field(default=None, kw_only=True)
    notes: Annotated[tuple[str, ...], NOT_WRITTEN] = field(default=(), kw_only=True)
    assumed: Annotated[str, NOT_WRITTEN] = field(default="", kw_only=True)


@dataclass(frozen=True, eq=False)
class NumbersOfFile:
    """Numbers to regress on each other, as a file has them."""

    features: Any
    response: Any
    names: tuple[str, ...]
    left_out: int
    records: int
    assumed: str


def profile_of_file(
    data: str | Path,
    response: str,
    features: Sequence[str] | None = None,
    *,
    constant: bool = True,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    rows: int | None = None,
    row_bound: float | None = None,
    epsilons: Sequence[float] = (0.1, 0.5, 1.0, 2.0),
    deltas: Sequence[float] = (1e-3, 1e-6),
    advantage: float | None = None,
    tpr: float | None = None,
    fpr: float = 0.01,
    prior: float = 0.1,
    reveal: bool = False,
    curves: bool = False,
    rng: int = 0,
) -> ProfileFound:
    """What differential privacy promises for a regression on the people in a file.

    Parameters
    ----------
    data
        CSV, TSV or Parquet, one record a row; records with a missing value are left out.
    response, features
        The column to regress on the others; by default on all columns of numbers.
    constant
        Whether a constant column is added.
    epsilon, delta, rows, row_bound
        As for `standard_methods`.
    epsilons, deltas
        Where the table shows δ and ε.
    advantage, tpr
        Given instead of `epsilon` and `delta`: the most that any attack may achieve, as an advantage or as a
        true-positive rate at `fpr`.
    fpr, prior
        Where the table shows the true-positive rate, and the belief that an attacker starts with.
    reveal
        Whether the table says which record is promised least, which points at a person.
    curves
        Whether the promise at every ε is found too, and how much of it an attack on draws achieves.
    """
    given = read_regression(Path(data), response, features, constant=constant)
    matrix, target = given.features, given.response
    if advantage is not None or tpr is not None:
        rate = None if tpr is None else fpr
        epsilon, delta = budget(advantage=advantage, tpr=tpr, fpr=rate)
    methods = standard_methods(matrix, target, epsilon=epsilon, delta=delta, rows=rows, row_bound=row_bound)
    notes = []
    if advantage is not None or tpr is not None:
        notes.append(f"calibrated to ε = {epsilon:.4g}, δ = {delta:.4g}, which keeps attacks to what you ask")
    if given.left_out:
        notes.append(f"left out {given.left_out} of {given.records} records with a missing value")
    notes.append(f"{response} on {', '.join(given.names)}")
    if not any(isinstance(method, SketchedLeastSquares) for method in methods):
        notes.append(f"no sketch keeps ({epsilon:g}, {delta:g}) on this data: left out")
    table = profile_table(matrix, target, methods, epsilons=epsilons, deltas=deltas, fpr=fpr, prior=prior)
    shown = table.rows if reveal else tuple(replace(row, worst_record=None) for row in table.rows)
    numbers = {part.name: getattr(table, part.name) for part in fields(table)} | {"rows": shown}
    found = ProfileFound(
        **numbers,
        response=response,
        columns=given.names,
        notes=tuple(notes),
        assumed=given.assumed,
    )
    if not curves:
        return found
    drawn = profile_curves(matrix, target, methods, largest=max(table.at_epsilons), fpr=fpr, rng=rng)
    return replace(found, seed=rng, curves=drawn)


def read_regression(
    data: Path, response: str, features: Sequence[str] | None, *, constant: bool
) -> NumbersOfFile:
    """The features and the response as numbers; records with a missing value are left out."""
    table = read_table(data)
    names = [str(name) for name in table]
    numeric = [name for name in names if np.ma.asarray(table[name]).dtype.kind in "biuf"]
    chosen = list(features or [name for name in numeric if name != response])
    for parameter, name in [("--response", response), *(("--feature", name) for name in chosen)]:
        if name not in names:
            raise unknown_name(parameter, name, names)
        if name not in numeric:
            raise invalid(parameter, "a column of numbers", f"'{name}'")
    if not chosen:
        raise invalid("--feature", "one column of numbers or more", "none")
    numbers = np.column_stack(
        [np.ma.filled(np.ma.asarray(table[name]).astype(float), np.nan) for name in [*chosen, response]]
    )
    known = np.isfinite(numbers).all(axis=1)
    matrix = numbers[known, :-1]
    if constant:
        matrix = np.column_stack([np.ones(len(matrix)), matrix])
    return NumbersOfFile(
        matrix,
        numbers[known, -1],
        (*(["constant"] if constant else []), *chosen),
        int((~known).sum()),
        known.size,
        getattr(table, "assumed", ""),
    )
