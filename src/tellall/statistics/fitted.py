"""Reading fits made elsewhere: statsmodels results and scikit-learn estimators, neither of them imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.errors import InvalidInput, invalid
from tellall.linops import Array

__all__ = ["INTERCEPTS", "Fitted", "read_fit"]

INTERCEPTS = ("intercept", "const", "(intercept)", "constant", "_cons")

_STATSMODELS = {"OLS": "linear", "Logit": "logistic", "Poisson": "poisson"}
_FAMILIES = {
    ("Gaussian", "Identity"): "linear",
    ("Binomial", "Logit"): "logistic",
    ("Poisson", "Log"): "poisson",
}
_SKLEARN = {
    "LinearRegression": "linear",
    "Ridge": "linear",
    "LogisticRegression": "logistic",
    "PoissonRegressor": "poisson",
}
_DIRECT = ("auto", "svd", "cholesky")
_NEWTON, _OTHER = 1e-8, 1e-5  # what statsmodels' solvers leave of a mean gradient, at their defaults
_PLAIN = "an unweighted, differentiable fit whose minimum is inside its domain"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model as far as its coefficients and the equation they solve go.

    Attributes
    ----------
    terms, coefficients
        The names of the columns (None where the object does not know them) and their coefficients.
    intercept
        The intercept, None where the model has none.
    penalty, penalty_each
        The ridge λ, and a further one per person.
    tolerance
        What the solver may have left of each entry of the mean gradient, estimated from its own settings.
    """

    loss: str
    terms: tuple[str, ...] | None
    coefficients: Array
    intercept: float | None
    penalty: float = 0.0
    penalty_each: float = 0.0
    penalise_intercept: bool = False
    tolerance: float = 0.0


def read_fit(results: Any) -> Fitted:
    """The fit that a statsmodels results object or a scikit-learn estimator holds.

    Notes
    -----
    statsmodels: OLS, Logit, Poisson, and GLM with the canonical link; scikit-learn: LinearRegression, Ridge,
    LogisticRegression and PoissonRegressor, with alpha or C, penalty and solver read from them. What does not
    solve Σ ∂ℓ + λθ = 0 is refused: weights, offsets, an L1 penalty, sign constraints, an unconverged fit.
    Sample weights given to scikit-learn's ``fit`` leave no trace and cannot be noticed.
    """
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
        raise _unfit(f"{_PLAIN} (OLS, Logit, Poisson or GLM with its canonical link)", kind)
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
        raise _unfit("converged", "a fit that is not")
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
    )


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
