"""The methods side by side on one data set: what each promises, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import wrap
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.checks import share
from tellall.core.errors import NoAnswer, invalid
from tellall.core.records import ENDLESS, Meaning, Record
from tellall.privacy.impossibility import RELATIVE_NOTE, least_error, unbounded_neighbour
from tellall.privacy.least_squares.interface import PrivateLeastSquares
from tellall.privacy.least_squares.noisy import GaussianLeastSquares
from tellall.privacy.least_squares.noisy_moments import AnalyzeGaussLeastSquares, WishartLeastSquares
from tellall.privacy.least_squares.projected import ProjectedLeastSquares
from tellall.privacy.least_squares.sketched import SketchedLeastSquares
from tellall.privacy.record_influence import influence
from tellall.protections.profile import as_epsilons

__all__ = [
    "ProfileRow",
    "ProfileTable",
    "profile_table",
    "standard_methods",
]

_WIDTH = 80  # letters in a line of a terminal
_RISKS = (
    "Advantage: the most by which any attack names the most exposed record more often when it is there (TPR) "
    "than when it is not (FPR). Belief: of the attack with the most advantage, about somebody whom it names."
)


@dataclass(frozen=True)
class ProfileRow(Record):
    """One method on one data set."""

    name: str
    advantage: Annotated[
        float,
        Meaning("The most by which any attack's true-positive rate exceeds its false one.", least=0, most=1),
    ]
    tpr: Annotated[
        float, Meaning("The largest true-positive rate at the table's false one.", least=0, most=1)
    ]
    posterior: Annotated[
        float,
        Meaning("How sure the attack with the most advantage can be of somebody it names.", least=0, most=1),
    ]
    deltas: Annotated[tuple[float, ...], Meaning("δ at each ε of the table.")]
    epsilons: Annotated[tuple[Annotated[float, ENDLESS], ...], Meaning("ε at each δ of the table.")]
    pure_epsilon: Annotated[float, Meaning("Where δ reaches 0 exactly."), ENDLESS]
    error: Annotated[float, Meaning("E‖x̃ − x‖², the squared distance to the exact coefficients."), ENDLESS]
    worst_record: int | None
    leverage: float | None
    residual_share: float | None


@dataclass(frozen=True)
class ProfileTable(Record):
    """What each method promises and costs on one data set; `str` gives the table."""

    at_fpr: Annotated[float, Meaning("The false-positive rate of each row's `tpr`.", above=0, most=1)]
    at_prior: Annotated[float, Meaning("What was believed before each row's `posterior`.", least=0, most=1)]
    at_epsilons: tuple[float, ...]
    at_deltas: tuple[float, ...]
    rows: tuple[ProfileRow, ...]
    records: int
    features: int
    coefficient_norm: float
    note: str

    def __str__(self) -> str:
        deltas, epsilons = [f"δ(ε={e:g})" for e in self.at_epsilons], [f"ε(δ={d:g})" for d in self.at_deltas]
        risks = ["advantage", f"TPR at FPR={self.at_fpr:g}", f"belief from {self.at_prior:g}"]
        numbers = [[*row.deltas, *row.epsilons, row.pure_epsilon, row.error] for row in self.rows]
        shown = [
            [*risks, *deltas, *epsilons, "pure ε", "error²"],
            *(
                [f"{v:.3f}" for v in (row.advantage, row.tpr, row.posterior)] + [f"{v:.3g}" for v in one]
                for row, one in zip(self.rows, numbers, strict=True)
            ),
        ]
        columns = [[cell.rjust(max(map(len, one))) for cell in one] for one in zip(*shown, strict=True)]
        lines = [f"{self.records:,} records, {self.features} features, ‖x‖² = {self.coefficient_norm**2:.3g}"]
        for some in _side_by_side(columns):
            head, *body = ("  ".join(line) for line in zip(*some, strict=True))
            lines += ["", f"  {head}"]
            for row, line in zip(self.rows, body, strict=True):
                lines += [_named(row), f"  {line}"]
        return "\n".join([*lines, "", *wrap(_RISKS, _WIDTH), "", *wrap(self.note, _WIDTH)])


def _named(row: ProfileRow) -> str:
    """Returns the method's name, and the record that it protects least."""
    return row.name if row.worst_record is None else f"{row.name}; worst record: row {row.worst_record}"


def _side_by_side(columns: Sequence[Sequence[str]]) -> list[list[Sequence[str]]]:
    """Returns the columns in several tables, each narrow enough for a terminal."""
    tables: list[list[Sequence[str]]] = [[]]
    for column in columns:
        if sum(len(one[0]) + 2 for one in tables[-1]) + 2 + len(column[0]) > _WIDTH:
            tables.append([])
        tables[-1].append(column)
    return tables


def profile_table(
    features: ArrayLike,
    response: ArrayLike,
    methods: Sequence[PrivateLeastSquares],
    *,
    epsilons: Sequence[float] = (0.1, 0.5, 1.0, 2.0),
    deltas: Sequence[float] = (1e-3, 1e-6),
    fpr: float = 0.01,
    prior: float = 0.1,
) -> ProfileTable:
    """Returns the methods side by side: the risk, δ at each ε, ε at each δ, expected error, worst record.

    The risk is what any attack on the worst record can achieve at most: its advantage, its true-positive rate
    at the false-positive rate `fpr`, and what it can make of a belief `prior` that the record is there.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([np.ones(300), rng.standard_normal(300)])
    >>> y = x @ [1, 2] + rng.standard_normal(300)
    >>> table = profile_table(x, y, [SketchedLeastSquares(20)], epsilons=[0.1])
    >>> len(table.rows), len(table.rows[0].deltas)
    (1, 1)
    """
    eps = tuple(float(e) for e in as_epsilons(list(epsilons)))
    goals = tuple(share("delta", d, zero=False, one=False) for d in deltas)
    rate, before = share("fpr", fpr, zero=False), share("prior", prior)
    if not methods:
        raise invalid("methods", "at least one method", "none")
    fit = influence(features, response)
    rows = []
    for method in methods:
        profile = method.profile(features, response)
        rows.append(
            ProfileRow(
                name=method.name,
                advantage=profile.advantage(),
                tpr=float(profile.tpr(rate)),
                posterior=float(profile.posterior(before)),
                deltas=tuple(float(value) for value in profile.delta(np.array(eps))),
                epsilons=tuple(profile.epsilon(goal) for goal in goals),
                pure_epsilon=profile.pure_epsilon,
                error=method.expected_error(features, response),
                worst_record=profile.worst_record,
                leverage=profile.leverage,
                residual_share=profile.residual_share,
            )
        )
    norm = float(np.linalg.norm(fit.coefficients))
    apart = 10.0 * norm if norm > 0.0 else 1.0
    found = unbounded_neighbour(features, response, apart)
    floor = float(least_error(1.0, 1e-6, found.moved))
    note = (
        f"{RELATIVE_NOTE} Here one more record, features (1, 0, …, 0) and response {found.response:.3g}, "
        f"moves a coefficient by {found.moved:.3g}: a release private for both data sets at ε = 1, δ = 1e-6 "
        f"has a mean squared error of at least {floor:.3g} on one of them."
    )
    records, width = len(fit.residual), len(fit.coefficients)
    return ProfileTable(rate, before, eps, goals, tuple(rows), records, width, norm, note)


def standard_methods(
    features: ArrayLike,
    response: ArrayLike,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    rows: int | None = None,
    row_bound: float | None = None,
) -> tuple[PrivateLeastSquares, ...]:
    """Returns each method calibrated to (ε, δ) on this data, ready for `profile_table`.

    The sketch takes the most rows that keep the promise (or `rows`); the noise is the least that keeps it.
    Three more are included if a public `row_bound` is given: projected least squares, with at least as many
    rows as the sketch, and noisy second moments, Wishart and normal. A sketch that cannot keep the promise on
    this data is left out.
    """
    sketched = None if rows is None else SketchedLeastSquares(rows)
    if sketched is None:
        with suppress(NoAnswer):
            sketched = SketchedLeastSquares.calibrate(features, response, epsilon=epsilon, delta=delta)
    methods: list[PrivateLeastSquares] = [] if sketched is None else [sketched]
    methods.append(GaussianLeastSquares(epsilon=epsilon, delta=delta))
    if row_bound is not None:
        width = np.shape(features)[1] if np.ndim(features) > 1 else 1
        count = max(0 if sketched is None else sketched.rows, width + 10)
        methods.append(ProjectedLeastSquares(count, epsilon, delta, row_bound))
        methods.append(WishartLeastSquares(epsilon, delta, row_bound))
        methods.append(AnalyzeGaussLeastSquares(epsilon, delta, row_bound))
    return tuple(methods)
