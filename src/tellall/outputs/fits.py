"""Releases of the coefficients of models fitted by statsmodels or scikit-learn, which are not imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import percent
from tellall.core.errors import InvalidInput, invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.outputs.coefficients import INTERCEPTS, levels_of, people_of
from tellall.people.dataset import Dataset, Public, as_public, left_out_note
from tellall.protections.protection import Noise
from tellall.release.release import Release
from tellall.statistics.estimators import Estimator
from tellall.statistics.fitting import gradients
from tellall.statistics.losses import loss_of
from tellall.statistics.where import Where

__all__ = ["Fitted", "read_fit", "release_from_fits"]

_STATSMODELS = {"OLS": "linear", "Logit": "logistic", "Poisson": "poisson", "Probit": "probit"}
_FAMILIES = {
    ("Gaussian", "Identity"): "linear",
    ("Binomial", "Logit"): "logistic",
    ("Poisson", "Log"): "poisson",
    ("Binomial", "Probit"): "probit",
}
_SKLEARN = {
    "LinearRegression": "linear",
    "Ridge": "linear",
    "LogisticRegression": "logistic",
    "PoissonRegressor": "poisson",
}
_DIRECT = ("auto", "svd", "cholesky")
_NEWTON, _OTHER = 1e-8, 1e-5  # the mean gradient that statsmodels' solvers leave, at their defaults
_NOT_THESE = 0.01  # a share of the gradient this large is not rounding: other people, or another loss
_PLAIN = "an unweighted, differentiable fit whose minimum is inside its domain"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model: its coefficients and what is needed to write down the equation they solve.

    Attributes
    ----------
    terms, coefficients
        The names of the columns (None if the object does not know them) and their coefficients.
    intercept
        The intercept; None if the model has none.
    penalty, penalty_each
        The ridge λ, and a further one per person.
    tolerance
        How large the solver may have left each entry of the mean gradient, estimated from its settings.
    spread
        The residual spread behind the usual standard errors of a linear fit; None if it has none.
    """

    loss: str
    terms: tuple[str, ...] | None
    coefficients: Array
    intercept: float | None
    penalty: float = 0.0
    penalty_each: float = 0.0
    penalise_intercept: bool = False
    tolerance: float = 0.0
    spread: float | None = None


def read_fit(results: Any) -> Fitted:
    """The fit in a statsmodels results object or a scikit-learn estimator.

    Notes
    -----
    statsmodels, also by formula: OLS, Logit, Probit, Poisson, and GLM with the canonical link or probit's.
    scikit-learn: LinearRegression, Ridge, LogisticRegression and PoissonRegressor, whose alpha or C, penalty
    and solver are read, also at the end of a pipeline that selects columns and codes categories. Fits that do
    not solve Σ ∂ℓ + λθ = 0 are refused: those with weights, offsets, an L1 penalty or sign constraints, and
    those that did not converge. Sample weights given to scikit-learn's ``fit`` leave no trace, so they cannot
    be noticed.
    """
    if hasattr(results, "named_steps"):
        return _from_pipeline(results)
    if hasattr(results, "coef_"):
        return _from_sklearn(results)
    if hasattr(results, "params") and hasattr(getattr(results, "model", None), "exog_names"):
        return _from_statsmodels(results)
    raise _unfit("a fitted linear model of statsmodels or scikit-learn", type(results).__name__)


def _from_statsmodels(results: Any) -> Fitted:
    model = results.model
    kind = type(model).__name__
    loss = _STATSMODELS.get(kind)
    if kind == "GLM":
        loss = _FAMILIES.get((type(model.family).__name__, type(model.family.link).__name__))
    if loss is None or "egulari" in type(results).__name__ or "L1" in type(results).__name__:
        raise _unfit(f"{_PLAIN} (OLS, Logit, Probit, Poisson or GLM with its canonical link)", kind)
    for name in ("offset", "exposure", "_offset_exposure"):
        if (
            np.any(np.asarray(getattr(model, name, 0.0), dtype=object) != 0)
            and getattr(model, name) is not None
        ):
            raise _unfit("without offset or exposure", name)
    for name in ("freq_weights", "var_weights"):
        weights = getattr(model, name, None)
        if weights is not None and np.any(np.asarray(weights) != 1):
            raise _unfit(_PLAIN, name)
    settings, outcome = getattr(results, "mle_settings", {}), getattr(results, "mle_retvals", {})
    if not getattr(results, "converged", True) or not (outcome or {}).get("converged", True):
        raise _unfit("converged", "a fit that did not converge")
    solver = str((settings or {}).get("optimizer", "newton"))
    tolerance = 0.0 if kind == "OLS" else _NEWTON if solver.lower() in ("newton", "irls") else _OTHER
    names = [str(name) for name in model.exog_names]
    values = np.asarray(results.params, dtype=np.float64)
    at = [j for j, name in enumerate(names) if name.lower() in INTERCEPTS]
    kept = [j for j in range(len(names)) if j not in at]
    known = not all(names[j] == f"x{j + (0 if at else 1)}" for j in kept)  # arrays have no names of their own
    return Fitted(
        loss,
        tuple(names[j] for j in kept) if known else None,
        _finite(values)[kept],
        float(values[at[0]]) if at else None,
        tolerance=tolerance,
        spread=_spread(results) if kind == "OLS" else None,
    )


def _spread(results: Any) -> float | None:
    usual = getattr(results, "cov_type", "") == "nonrobust"
    return float(np.sqrt(results.scale)) if usual else None


def _from_sklearn(model: Any) -> Fitted:
    kind = type(model).__name__
    loss = _SKLEARN.get(kind)
    coefficients = _finite(np.asarray(model.coef_, dtype=np.float64))
    if loss is None:
        raise _unfit(f"one of {', '.join(_SKLEARN)}", kind)
    if coefficients.ndim == 2 and coefficients.shape[0] != 1:
        raise _unfit("a model of two classes or one answer", f"coefficients of shape {coefficients.shape}")
    setting = model.get_params()
    if setting.get("positive") or setting.get("class_weight") is not None:
        raise _unfit(_PLAIN, f"{kind} with positive or class_weight")
    if np.max(getattr(model, "n_iter_", 0) or 0) >= (setting.get("max_iter") or np.inf):
        raise _unfit("converged", f"{kind} at its last iteration", "Raise max_iter.")
    solver = setting.get("solver")
    direct = kind == "LinearRegression" or (kind == "Ridge" and solver in _DIRECT)
    has = bool(setting["fit_intercept"])
    scaled = has and solver == "liblinear"
    if scaled and setting.get("intercept_scaling", 1) != 1:
        raise _unfit("with intercept_scaling = 1", setting["intercept_scaling"])
    names = getattr(model, "feature_names_in_", None)
    return Fitted(
        loss,
        None if names is None else tuple(map(str, names)),
        coefficients.ravel(),
        float(np.ravel(model.intercept_)[0]) if has else None,
        penalty=_sklearn_penalty(kind, setting),
        penalty_each=float(setting["alpha"]) if kind == "PoissonRegressor" else 0.0,
        penalise_intercept=scaled,
        tolerance=0.0 if direct else float(setting.get("tol", 1e-4)),
    )


def _from_pipeline(pipeline: Any) -> Fitted:
    """The last step's fit; the steps before it name its terms and may only select and code columns."""
    *before, (_, last) = pipeline.steps
    for name, step in before:
        _refuse_change(name, step)
    fit = _from_sklearn(last)
    if not before:
        return fit
    return replace(fit, terms=tuple(map(str, pipeline[:-1].get_feature_names_out())))


def _refuse_change(name: str, step: Any) -> None:
    """Raises an error for a transformer that changes numbers: coefficients would not be of the columns."""
    kind = type(step).__name__
    if step in ("passthrough", "drop") or kind == "OneHotEncoder":
        return
    if kind == "FunctionTransformer" and step.func is None:  # what "passthrough" becomes
        return
    if kind != "ColumnTransformer":
        raise _unfit("a pipeline that only chooses columns and codes categories", f"{kind} in step {name}")
    for inner, part, _ in step.transformers_:
        _refuse_change(inner, part)


def _sklearn_penalty(kind: str, setting: dict[str, Any]) -> float:
    """λ in the summed loss: alpha of Ridge, 1/C of LogisticRegression."""
    if kind == "Ridge":
        if np.ndim(setting["alpha"]):
            raise _unfit("with one alpha", "several")
        return float(setting["alpha"])
    if kind != "LogisticRegression" or setting.get("penalty") in (None, "none"):
        return 0.0
    if setting.get("penalty") in ("l1", "elasticnet") or (setting.get("l1_ratio") or 0) > 0:
        raise _unfit(_PLAIN, "an L1 penalty")
    return 1 / float(setting["C"])


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise _unfit("with finite coefficients", "NaN or infinite ones")
    return values


def _unfit(rule: str, value: object, advice: str = "") -> InvalidInput:
    return invalid("results", rule, value, advice)


def release_from_fits(
    results: Any,
    public: Public | Dataset | npt.ArrayLike,
    *,
    columns: Sequence[Any] | None = None,
    noise: Noise | None = None,
    where: Where | None = None,
    standard_errors: bool = False,
) -> Release:
    """The release of the coefficients of one or several fitted models.

    Parameters
    ----------
    results
        statsmodels results or scikit-learn estimators of one kind (loss, penalty, intercept).
    public
        The people they were fitted to. With the secret in the dataset, the gradient that the solvers left is
        measured; otherwise it is estimated from their declared tolerances.
    columns
        The columns of each model, if the objects do not know their names.
    noise
        What was done to the coefficients, for example ``Rounding(1e-4)`` if four decimals are printed.
    where
        Which of these people they were fitted to: a condition such as ``"sex = 'f'"``, or a mask (of the
        complete cases, for example). By default everybody.
    standard_errors
        Whether their standard errors are published too: the usual ones of statsmodels' OLS. By default only
        the coefficients are attacked.

    Notes
    -----
    A fit made elsewhere does not end exactly where the gradient vanishes. The gradient that is left counts as
    a further error of the equations, with a standard deviation of n · tolerance in each entry of
    Xᵀ(...) = 0. scikit-learn's lbfgs and newton solvers stop at a mean gradient below ``tol``, which is thus
    a bound; for liblinear, sag and saga the same number is only an estimate.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = Dataset.from_arrays([[1, 0], [1, 1], [0, 1], [1, 0]], secret=[1, 0, 0, 1])
    >>> fit = LinearRegression(fit_intercept=False).fit(people.public.codes.T, people.secret)
    >>> release_from_fits(fit, people)
    Release of 1 linear fit on 2 columns: 2 values; exact
    """
    if where is not None:
        some = people_of(public, where)
        told = release_from_fits(results, some, columns=columns, noise=noise, standard_errors=standard_errors)
        return told.about(where)
    view = as_public(public)
    several = isinstance(results, Sequence) and not hasattr(results, "params")
    fits = [read_fit(one) for one in (results if several else [results])]
    if not fits:
        raise invalid("results", "one fitted model or more", "none")
    first = fits[0]
    blocks = _columns_of(fits, view, columns, several)
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
        standard_errors=standard_errors,
    )
    if isinstance(public, Dataset) and public.secret is not None:
        statistic = _measured(statistic, public, values)
    if standard_errors:
        spreads = [fit.spread for fit in fits]
        if None in spreads:
            rule = "linear fits of statsmodels with the usual standard errors"
            raise _unfit(rule, "another", "Leave standard_errors out to attack the coefficients alone.")
        values = np.append(values, np.array(spreads, dtype=np.float64))
    return Release.from_values(statistic, values, public=view, noise=noise, levels=levels_of(public))


def _columns_of(
    fits: Sequence[Fitted], public: Public, columns: Sequence[Any] | None, several: bool
) -> list[tuple[Any, ...]]:
    """The columns of each fit: those given, else those it names, else all public columns."""
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
            got = f"{len(names)} columns{left_out_note(public)}"
            raise invalid("columns", rule, got, "Name them with columns=[...].")
    return blocks


def _kind(fit: Fitted) -> tuple[Any, ...]:
    settings = (fit.loss, fit.penalty, fit.penalty_each, fit.penalise_intercept)
    return (*settings, fit.intercept is None)


def _coefficients(fit: Fitted) -> Array:
    return fit.coefficients if fit.intercept is None else np.append(fit.coefficients, fit.intercept)


def _measured(statistic: Estimator, people: Dataset, values: Array) -> Estimator:
    """The statistic with the tolerance measured on the fits themselves."""
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
            rule = "fits of these people's secret, at which the gradient vanishes"
            raise invalid("results", rule, f"{percent(share)} of it left in model {j + 1} ({models.name(j)})")
        left = max(left, float(total.max()) / people.n)
    return replace(statistic, tolerance=left if left > 1e-12 else 0.0)
