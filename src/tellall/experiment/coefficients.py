"""What the reader of noisy coefficients loses: predictions further off, wrong signs, intervals that miss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.core.errors import invalid

__all__ = [
    "CoefficientUtility",
    "Reader",
    "coefficient_utility",
]


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
        """What is lost where these are published instead, a row for each draw of the noise."""
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
