"""The attack on real secrets: no rounding, every person a number and how far it may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.solvers.base import Status
from tellall.algebra.solvers.least_squares import BoxProblem, LeastSquares
from tellall.attack.reconstruct.decoders import Decoded
from tellall.core.errors import invalid
from tellall.release.equations import Evidence, System

__all__ = [
    "DecodedReals",
    "Decompose",
    "Whitened",
    "check_bounds",
    "decode_reals",
    "fit_population",
    "whiten",
]

Decompose = Callable[["System"], "Whitened"]

_MOST_ENTRIES = 200_000_000
_WIDEST, _GRID, _NEAR = 25.0, 25, 1e-5  # of the logarithm of the variance over people
_SUPPORT = 2.0  # a smaller gain in log-likelihood does not tell a variance from none


def check_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """The least and the largest value of a real secret, as numbers."""
    if bounds is None:
        return None
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        raise invalid("bounds", "two numbers, the least and the largest value", bounds) from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise invalid("bounds", "two finite numbers, the first below the second", bounds)
    return low, high


@dataclass(frozen=True, eq=False)
class DecodedReals(Decoded):
    """Each unknown is a sum of numbers; ``std`` is the standard deviation of the number of one person."""

    std: Array = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Whitened:
    """The equations of a real secret in units of their noise, and their singular value decomposition.

    Attributes
    ----------
    operator, spread
        The equations, and the standard deviation of the error of each.
    rows
        A column per group, for its mean value times √size, whose variance is a person's; each row divided by
        its spread.
    left, singular, right
        rows = left · diag(singular) · right, as many singular values as there are rows or columns.
    """

    operator: LinearOperator
    spread: Array
    rows: Array
    left: Array
    singular: Array
    right: Array

    @classmethod
    def of(cls, system: System) -> Whitened:
        """The equations of a system; O(m n min(m, n))."""
        rows = whiten(system)
        left, singular, right = np.linalg.svd(rows, full_matrices=False)
        return cls(system.operator, system.rows.spread, rows, left, singular, right)


def whiten(system: System) -> Array:
    """The equations as a matrix, in units of their noise; see `Whitened`."""
    rows, groups = system.operator.shape
    if rows * groups > _MOST_ENTRIES:
        raise invalid(
            "releases",
            f"of at most {_MOST_ENTRIES:,} equations × people, where the secret is a real number",
            f"{rows} × {groups}",
        )
    return np.asarray(system.operator.to_dense() * np.sqrt(system.size) / system.rows.spread[:, None])


def decode_reals(
    evidence: Evidence, bounds: tuple[float, float] | None, decompose: Decompose = Whitened.of
) -> tuple[DecodedReals, Array]:
    """Each group's sum with its people's standard deviation, and the mean and spread over people.

    Notes
    -----
    People are taken as independent N(μ, v) before the evidence; μ and v maximise the likelihood of the
    published values, z ~ N(μ A1, v A Aᵀ + diag(spread²)) (empirical Bayes), and the estimate is the posterior
    mean: ridge regression about μ, which for an exact release is the least-squares solution nearest to
    "everybody at the mean". With bounds, the most probable point of the box. One singular value decomposition
    of the whitened operator, which ``decompose`` may know already; the rest is O(m n).
    """
    system = evidence.system
    known = decompose(system)
    root, singular, right = np.sqrt(system.size), known.singular, known.right
    values, everybody = known.left.T @ (system.rows.target / system.rows.spread), singular * (right @ root)
    mean, variance, support = fit_population(values, everybody, singular)
    precision = 1 / (variance * singular**2 + 1)
    deviation = right.T @ (variance * singular * precision * (values - mean * everybody))
    estimate: Array = mean + deviation / root
    shares = singular**2 * precision
    total_variance = np.maximum(variance - variance**2 * (shares @ right**2), 0.0)
    status = Status("solved")
    if support < _SUPPORT:
        reason = "the values do not show how much people differ; the standard deviations may be far too small"
        status = Status("uncalibrated", reason)
    if bounds is not None:
        estimate, boxed = _within(system, mean, variance, bounds)
        status = status if boxed.settled else boxed
    within_group = variance * (1 - 1 / system.size)  # people alike share a sum, not a value
    std = np.sqrt(within_group + total_variance / system.size)
    decoded = DecodedReals(estimate * system.size, status, "least-squares", std=std)
    return decoded, np.array([mean, np.sqrt(variance)])


def fit_population(values: Array, everybody: Array, singular: Array) -> tuple[float, float, float]:
    """The mean and variance over people that make the values most likely, and what a variance explains.

    values ~ N(mean · everybody, variance · singular² + 1). The third number is the gain in log-likelihood
    over no variance at all. The logarithm of the variance from a coarse grid, then to 1e-5.
    """
    from scipy.optimize import minimize_scalar

    if not values.size or not singular.max(initial=0.0):
        return 0.0, 1.0, 0.0
    # about a first mean, so that no digits are lost where the mean is large beside the spread
    ones = float(everybody @ everybody)
    about = float(everybody @ values) / ones if ones > 0 else 0.0
    rest = values - about * everybody

    def fit(variance: float) -> tuple[float, float]:
        precision = 1 / (variance * singular**2 + 1)
        weight, total = float(precision @ everybody**2), float(precision @ (everybody * rest))
        mean = total / weight if weight > 0 else 0.0
        return about + mean, 0.5 * float(precision @ rest**2 - mean * total - np.log(precision).sum())

    def loss(log: float) -> float:
        return fit(np.exp(log))[1]

    # how large the secrets must be, overall, to explain the published values
    scale = np.sqrt(np.mean(values**2) / np.mean(singular**2)) + 1e-300
    grid = 2 * np.log(scale) + np.linspace(-_WIDEST, _WIDEST, _GRID + 1)
    best, step = grid[int(np.argmin([loss(log) for log in grid]))], grid[1] - grid[0]
    within = (max(best - step, grid[0]), min(best + step, grid[-1]))
    log = minimize_scalar(loss, bounds=within, method="bounded", options={"xatol": _NEAR}).x
    mean, least = fit(float(np.exp(log)))
    return mean, float(np.exp(log)), fit(0.0)[1] - least


def _within(
    system: System, mean: float, variance: float, bounds: tuple[float, float]
) -> tuple[Array, Status]:
    """The most probable point of the box."""
    low, high = bounds
    size = system.size
    problem = BoxProblem(
        system.operator,
        1 / system.rows.spread**2,
        1 / (variance * size),
        mean * size,
        low * size,
        high * size,
    )
    solution = LeastSquares().prepare(problem).solve(system.rows.target)
    return solution.value / size, solution.status
