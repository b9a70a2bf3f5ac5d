"""Estimator: fitted coefficients of many small models, each giving equations about the secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from tellall.core.checks import at_least_zero, whole
from tellall.core.errors import invalid
from tellall.core.not_done import NotDone
from tellall.linalg.operators.linear_operator import Array, Dense, IntArray
from tellall.people.codes import Patterns, group_rows
from tellall.people.dataset import Dataset, Outline, Public, left_out_note
from tellall.statistics.fitting import Fit, fit, is_affine
from tellall.statistics.formulas import check_formula, terms_in
from tellall.statistics.losses import FitLoss, Squared, loss_name, loss_of
from tellall.statistics.residuals import LinearFit, Residuals, residual_spread
from tellall.statistics.score_rows import (
    Conditions,
    PublishedModel,
    ScoreRows,
    conditions,
    score_rows,
)
from tellall.statistics.statistic import COUNT_FLOOR, Equations, Statistic, check_sets
from tellall.statistics.terms import Term, find_term

__all__ = ["WEIGHTINGS", "Blocks", "Estimator", "Models"]

Blocks = tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True, eq=False)
class Models:
    """The terms of each model, the intercept (if any) last.

    Attributes
    ----------
    terms
        The terms of each model: public columns, or categories of them.
    intercept
        Whether each model has a column of ones after them.
    """

    public: Public
    terms: tuple[tuple[Term, ...], ...]
    intercept: bool

    @property
    def sizes(self) -> list[int]:
        """How many coefficients each model has."""
        return [len(chosen) + self.intercept for chosen in self.terms]

    @cached_property
    def numbers(self) -> dict[Term, Array]:
        """The numbers of every term in any of the models."""
        used = {term for chosen in self.terms for term in chosen}
        ordered = sorted(used, key=lambda term: (term.columns, term.name))
        return {term: term.numbers(self.public) for term in ordered}

    @cached_property
    def alike(self) -> Patterns:
        """The groups of people with equal numbers in every term of all models."""
        known = self.public.memory
        key = ("equal numbers", *self.numbers)
        if key not in known:
            labels = [np.unique(column, return_inverse=True)[1].ravel() for column in self.numbers.values()]
            known[key] = group_rows(np.stack(labels))
        return cast("Patterns", known[key])

    def design(self, model: int) -> Array:
        """The n × k matrix of one model."""
        columns = [self.numbers[term] for term in self.terms[model]]
        ones = [np.ones(self.public.n)] if self.intercept else []
        return np.stack([*columns, *ones], axis=1)

    def ridges(self, penalty: float, with_intercept: bool) -> list[Array]:
        """The ridge of each coefficient, model by model."""
        bare = self.intercept and not with_intercept
        return [np.where(np.arange(size) < size - bare, penalty, 0.0) for size in self.sizes]

    def name(self, model: int) -> str:
        """The model by its terms."""
        names = [term.name for term in self.terms[model]]
        return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


WEIGHTINGS = ("noise", "paper")

# The spread that exact coefficients are given, as a share of a row's typical entry. A coefficient is a real
# number, so an exact one fixes a hyperplane, and unlike with counts nothing is lost to rounding to whole
# people. The smaller the better, until the normal equations of the attack lose their digits: their condition
# is about (people × rows) / share², 1e11 for a thousand people and rows, which leaves five digits in double
# precision.
FLOOR_SHARE = 1e-3
_FIRST_ORDER = 0.5  # how far noise may move a linear predictor before its square matters
_ROUNDOFF = 1e-10  # relative error assumed in the last digits of an exact coefficient
_PROOF_ROOM = 1e-7  # errors too small for bound propagation to notice
_MOST_ENTRIES = 250_000_000


@dataclass(frozen=True)
class Estimator(Statistic):
    """The fitted coefficients of a model of the secret on each block of public columns.

    Parameters
    ----------
    loss
        "linear", "logistic", "log-cosh", "poisson", "probit", or an object with ``gradient(theta, x, y)``.
    block
        How many consecutive public columns each model uses (the last may have fewer).
    intercept
        Whether each model has an intercept.
    penalty
        λ of the ridge ½ λ ‖θ‖² added to the summed loss ("linear": ½ Σ (s − ⟨x, θ⟩)²). scikit-learn's
        ``Ridge(alpha)`` is λ = alpha, its ``LogisticRegression(C)`` λ = 1/C.
    weighting
        "noise": rows are weighted so that each has the noise of its own coefficient. "paper": the rows as in
        the papers.
    blocks
        The columns of each model instead of `block`, by name or index; they may overlap. Categories as other
        tools name them ("C(sex)[T.m]", "sex_m") and products ("sex_m:age") can be terms too.
    penalise_intercept
        Whether the ridge includes the intercept, as in scikit-learn's liblinear and in statsmodels; by
        default it does not, as elsewhere in scikit-learn.
    tolerance
        For fits made elsewhere: the standard deviation of each entry of the mean gradient that the solver
        left. It becomes a further error of the equations.
    formula
        One model written as a formula instead, ``"y ~ age + C(sex)"``: columns, categories as ``C(column)``
        (text columns are categories without it), ``+``, products with ``:`` and ``*``, ``0`` for no
        intercept. Coefficients come in formulaic's order, the intercept last. Publishing writes the terms
        out. Needs the extra ``formulas``.
    standard_errors
        Whether the standard errors of "linear" fits without a penalty are published too. All those of a model
        follow from one number, its residual spread, which comes after the coefficients of all models (see
        `Residuals` for what it gives away).
    spread_within
        How far that number may be off because it was worked out from printed standard errors.

    Notes
    -----
    Values come model by model, coefficients in the order of the columns, intercept last; they are missing if
    a model has no finite fit. The fit satisfies Σ_i ∂ℓ(θ; x_i, s_i) + λθ = 0, which is linear in the bits s
    for any differentiable ℓ, and in real s if ∂ℓ is affine in it (linear-reconstruction, Sec. 4; E-LR-2,
    E-LR-3, E-LR-7). Noise e on θ leaves the rows Xᵀs = XᵀXθ~ with the correlated error XᵀX e. Weighting
    "noise" multiplies by the inverse Hessian H⁻¹ at θ~. That is exact for squared loss; for others the error
    is e to first order only, so their rows never prove anything. If H depends on the answers, it is computed
    as if half of all answers were yes. Memory rows × n.

    Exact coefficients are given a spread of 1e-3 of their row's typical entry, far below anybody's weight in
    it: unlike counts they lose nothing to whole numbers, and the attack's equations stay solvable.

    The equation does not hold at separable or otherwise unbounded fits, at a kink of the loss, or if
    dependent columns leave the coefficients undetermined; those are left out and named in ``skipped``. An
    outsider cannot recognise a minimum on the boundary of a constraint, so such fits must not be given.

    Examples
    --------
    >>> people = Dataset.from_arrays([[1, 0], [1, 1], [0, 1], [1, 0]], secret=[1, 0, 0, 1])
    >>> Estimator("linear", block=2).values(people).round(3).tolist()
    [0.8, -0.4]
    """

    scale = "counts"  # the only scale of coefficients
    counts_people = False
    filled = ("spread_within",)  # only for printed standard errors

    loss: Any
    block: int = 1
    intercept: bool = False
    penalty: float = 0.0
    weighting: str = "noise"
    blocks: Blocks | None = None
    penalise_intercept: bool = False
    tolerance: float = 0.0
    formula: str | None = None
    standard_errors: bool = False
    spread_within: float = 0.0

    def __init__(
        self,
        loss: str | FitLoss,
        block: int = 1,
        intercept: bool = False,
        penalty: float = 0.0,
        weighting: str = "noise",
        *,
        blocks: Sequence[Sequence[str | int]] | None = None,
        penalise_intercept: bool = False,
        tolerance: float = 0.0,
        formula: str | None = None,
        standard_errors: bool = False,
        spread_within: float = 0.0,
    ) -> None:
        plain = isinstance(loss_of(loss), Squared) and not penalty
        if formula is not None and (blocks is not None or block != 1 or intercept is not False):
            raise invalid("formula", "given without block, blocks and intercept", formula)
        block = whole("block", block)
        if blocks is not None and block != 1:
            raise invalid("block", "left out if blocks are given", block)
        for name, flag in (
            ("intercept", intercept),
            ("penalise_intercept", penalise_intercept),
            ("standard_errors", standard_errors),
        ):
            if not isinstance(flag, bool | np.bool_):
                raise invalid(name, "True or False", flag)
        if standard_errors and not plain:
            raise invalid("standard_errors", "given only for linear fits without a penalty", True)
        if spread_within and not standard_errors:
            raise invalid("spread_within", "given only with standard errors", spread_within)
        if weighting not in WEIGHTINGS:
            raise invalid("weighting", "'noise' or 'paper'", weighting)
        settled = {
            "loss": loss,
            "block": block,
            "intercept": bool(intercept),
            "penalty": at_least_zero("penalty", penalty),
            "weighting": weighting,
            "blocks": check_sets("blocks", blocks, None),
            "penalise_intercept": bool(penalise_intercept),
            "tolerance": at_least_zero("tolerance", tolerance),
            "formula": check_formula(formula),
            "standard_errors": bool(standard_errors),
            "spread_within": at_least_zero("spread_within", spread_within),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def describe(self) -> str:
        name = self.loss if isinstance(self.loss, str) else type(self.loss).__name__
        if self.formula is not None:
            return f"{name} fit of {self.formula}" + (f", ridge {self.penalty:g}" if self.penalty else "")
        sizes = {len(names) for names in self.blocks} if self.blocks else {self.block}
        width = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{min(sizes)}"
        columns = "column" if width == "1" else "columns"
        many = "" if self.blocks and len(self.blocks) == 1 else "s"
        count = f"{len(self.blocks)} {name} fit{many} on" if self.blocks else f"{name} fits on every block of"
        more = " with an intercept" if self.intercept else ""
        more += " and standard errors" if self.standard_errors else ""
        return f"{count} {width} {columns}{more}" + (f", ridge {self.penalty:g}" if self.penalty else "")

    def models(self, public: Public) -> Models:
        """The terms of each model."""
        if self.formula is not None:
            return self.settle(public).models(public)
        d = len(public.columns)
        if self.blocks is None:
            if self.block > d:
                raise invalid("block", f"at most {d}, the public columns{left_out_note(public)}", self.block)
            every = [find_term(public, place) for place in range(d)]
            starts = range(0, d, self.block)
            return Models(public, tuple(tuple(every[i : i + self.block]) for i in starts), self.intercept)
        chosen = tuple(tuple(find_term(public, name) for name in names) for names in self.blocks)
        for names, terms in zip(self.blocks, chosen, strict=True):
            if len({frozenset(term.factors) for term in terms}) < len(terms):
                raise invalid("blocks", "sets of different columns", names)
        return Models(public, chosen, self.intercept)

    def settle(self, public: Public, *, secret: bool = True) -> Estimator:
        """The same with the formula's terms written out, so that the formula is never read again."""
        if self.formula is None:
            return self
        names, intercept = terms_in(self.formula, public)
        return replace(self, blocks=(names,), intercept=intercept, formula=None)

    def size(self, public: Public) -> int:
        models = self.models(public)
        return sum(models.sizes) + self.standard_errors * len(models.terms)

    def without(self, unknown: Sequence[str], columns: Outline) -> tuple[Statistic, IntArray] | None:
        models = self.models(cast(Public, columns))  # which uses only the names
        gone = {columns.names.index(name) for name in unknown if name in columns.names}
        kept = [all(gone.isdisjoint(term.columns) for term in terms) for terms in models.terms]
        if not any(kept):
            return None
        blocks = tuple(
            tuple(term.name for term in terms) for terms, keep in zip(models.terms, kept, strict=True) if keep
        )
        left = replace(self, block=1, blocks=blocks)
        own = np.repeat(kept, models.sizes)
        return left, np.flatnonzero(np.append(own, kept) if self.standard_errors else own)

    def fits(self, dataset: Dataset) -> list[Fit]:
        """The fit of each model, with the reason if it does not solve its equations."""
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to be modelled", "no secret")
        if len(dataset.meaning) > 2:
            raise invalid(
                "secret", "bits or real numbers, to be modelled", f"{len(dataset.meaning)} categories"
            )
        models = self.models(dataset.public)
        loss = loss_of(self.loss)
        answers = dataset.secret.astype(np.float64)
        ridges = models.ridges(self.penalty, self.penalise_intercept)
        found = [fit(loss, models.design(j), answers, ridge) for j, ridge in enumerate(ridges)]
        if not dataset.meaning and not is_affine(loss, np.nan_to_num(found[0].theta), models.design(0)):
            rule = "one whose gradient is affine in the answer, since the secret is a real number"
            raise invalid("loss", rule, self.describe(), "Use linear, logistic or poisson.")
        return found

    def values(self, dataset: Dataset) -> Array:
        found = self.fits(dataset)
        thetas = [np.full_like(f.theta, np.nan) if f.trouble else f.theta for f in found]
        if not self.standard_errors:
            return np.concatenate(thetas)
        models = self.models(dataset.public)
        answers = np.asarray(dataset.secret, dtype=np.float64)
        spreads = [residual_spread(models.design(j), answers, theta) for j, theta in enumerate(thetas)]
        return np.concatenate([*thetas, spreads])

    def approximate(self, public: Public, std: float) -> str:
        if isinstance(loss_of(self.loss), Squared) or not std:
            return ""
        # the equations assume that a coefficient's error moves nobody's predictor by much
        models = self.models(public)
        designs = map(models.design, range(len(models.terms)))
        reach = max(float(np.sqrt((design**2).sum(axis=1).mean())) for design in designs)
        if std * reach <= _FIRST_ORDER:
            return ""
        return "noisy coefficients of this loss are linearised, and their noise is too large for that"

    def in_unit(self, unit: float, values: Array, *, exact: bool) -> tuple[Statistic, Array] | None:
        if not isinstance(loss_of(self.loss), Squared):
            return None  # an answer twice as large has no coefficients twice as large
        left = replace(self, tolerance=self.tolerance / unit, spread_within=self.spread_within / unit)
        return left, values / unit

    def equations(self, public: Public, values: Array) -> Equations:
        models = self.models(public)
        if sum(models.sizes) * public.n > _MOST_ENTRIES:
            what = f"{sum(models.sizes) * public.n:,} coefficients × people"
            raise invalid(
                "models", f"of a manageable size (at most {_MOST_ENTRIES:,})", what, "Use fewer models."
            )
        loss = loss_of(self.loss)
        groups = models.alike
        found = [score_rows(loss, model, self.weighting) for model in self._published(models, values)]
        operator = np.concatenate([rows.operator for rows in found])
        target, gain, reach, doubt = (
            np.concatenate([getattr(rows, name) for rows in found])
            for name in ("target", "gain", "reach", "doubt")
        )
        typical = np.sqrt(operator**2 @ groups.counts / public.n)
        target = np.where(typical > 0, target, np.nan)
        floor = np.where(typical > 0, FLOOR_SHARE * typical, 1.0)
        if isinstance(loss, Squared):  # certain, unless roundoff is so large that bounds would notice it
            roundoff = _ROUNDOFF * (np.abs(operator) @ groups.counts + np.abs(np.nan_to_num(target)))
            doubt = np.hypot(doubt, np.where(roundoff > _PROOF_ROOM, roundoff, 0.0))
        else:  # first order only: nothing is certain
            doubt = np.hypot(doubt, FLOOR_SHARE * floor)
        skipped = _skipped(models, found, typical)
        numbers = None
        if self.standard_errors:
            numbers = self._residuals(models, values)
            many = len(models.terms)
            operator = np.concatenate([operator, np.ones((many, operator.shape[1]))])
            target, gain, reach, doubt, floor = (
                np.append(part, np.full(many, own))
                for part, own in (
                    (target, np.nan),
                    (gain, 1.0),
                    (reach, 1.0),
                    (doubt, 0.0),
                    (floor, COUNT_FLOOR),
                )
            )
        rows = Dense(operator[:, groups.index])
        return Equations(rows, target, groups.index, gain, reach, doubt, floor, skipped, numbers)

    def _residuals(self, models: Models, values: Array) -> Residuals:
        """What the standard errors say in addition to the equations."""
        thetas = np.split(values, np.cumsum(models.sizes))
        fits = [LinearFit(models.design(j), thetas[j], float(spread)) for j, spread in enumerate(thetas[-1])]
        return Residuals(fits, self.intercept, self.spread_within)

    def conditions(self, public: Public, values: Array) -> Conditions:
        """The Lipschitz constant and the variance condition at these coefficients."""
        models = self.models(public)
        return conditions(loss_of(self.loss), self._published(models, values), self.intercept)

    def comparable(self) -> Estimator:
        """The same with the papers' rows: the inverse Hessian would mix everybody into a person's column."""
        return replace(self, weighting="paper", standard_errors=False, spread_within=0.0)

    def as_plain(self) -> dict[str, object]:
        return {"loss": loss_name(self.loss)}

    def _published(self, models: Models, values: Array) -> list[PublishedModel]:
        thetas = np.split(
            np.asarray(values, dtype=np.float64)[: sum(models.sizes)], np.cumsum(models.sizes)[:-1]
        )
        ridges = models.ridges(self.penalty, self.penalise_intercept)
        first = models.alike.first
        counts = models.alike.counts.astype(np.float64)
        return [
            PublishedModel(theta, models.design(j)[first], counts, ridge, self.tolerance)
            for j, (theta, ridge) in enumerate(zip(thetas, ridges, strict=True))
        ]


def _skipped(models: Models, found: Sequence[ScoreRows], typical: Array) -> tuple[NotDone, ...]:
    """The models that give no equation or fewer, counted by reason."""
    silent = np.split(typical == 0, np.cumsum(models.sizes)[:-1])
    reasons = [
        rows.trouble or ("a column of it is zero for everybody" if none.any() else "")
        for rows, none in zip(found, silent, strict=True)
    ]
    out = []
    for reason, count in Counter(filter(None, reasons)).items():
        names = [models.name(j) for j, other in enumerate(reasons) if other == reason][:3]
        more = "; ..." if count > 3 else ""
        some = f"{count} of {len(found)} models ({'; '.join(names)}{more})"
        out.append(NotDone(some, reason, "use"))
    return tuple(out)
