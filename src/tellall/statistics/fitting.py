"""Fitting: the coefficients at which the gradient of a summed loss vanishes, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.linops import Array
from tellall.statistics.curvature import COLLINEAR, gradients, hessian, is_collinear, is_flat, is_kinked
from tellall.statistics.losses import Loss, Squared

__all__ = ["Fit", "fit", "trouble_at"]

_SETTLED = 1e-9  # what is left of the gradient, as a share of everybody's gradients added up in size
_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Fit:
    """The coefficients of one model; ``trouble`` says why they are no solution, empty where they are."""

    theta: Array
    trouble: str = ""


def fit(loss: Loss, x: Array, y: Array, ridge: Array) -> Fit:
    """The minimiser of Σ_i ℓ(θ; x_i, y_i) + ½ Σ_j ridge_j θ_j².

    Notes
    -----
    Squared loss by an orthogonal factorisation of unit columns, one of the solutions where they are
    dependent. Any other loss by Newton steps, shortened until they improve, until the gradient is as small
    as rounding lets it be; O(rounds · n k²).
    """
    if isinstance(loss, Squared):
        return Fit(_least_squares(x, y, ridge))
    if not ridge.any() and is_collinear(x):
        return Fit(np.full(x.shape[1], np.nan), "dependent columns, the coefficients are not unique")
    theta, left = _newton(loss, x, y, ridge)
    if left > _SETTLED:
        if is_flat(loss, theta, x, ridge):
            return Fit(theta, _FLAT)
        return Fit(theta, "the gradient does not vanish (a kink, a boundary, or no minimum)")
    return Fit(theta, trouble_at(loss, theta, x, ridge))


_FLAT = "no finite fit (separable answers); its signs may tell them all the same, they are not used"


def trouble_at(loss: Loss, theta: Array, x: Array, ridge: Array) -> str:
    """Why the gradient at these coefficients gives no equations, as far as one without the answers can see.

    Empty where nothing speaks against it. A minimum on the boundary of a constraint cannot be seen.
    """
    if isinstance(loss, Squared):
        return ""
    if not ridge.any() and is_collinear(x):
        return "dependent columns, the coefficients are not unique"
    if is_kinked(loss, theta, x):
        return "the loss has a kink there, its gradient need not vanish"
    if is_flat(loss, theta, x, ridge):
        return _FLAT
    return ""


def _least_squares(x: Array, y: Array, ridge: Array) -> Array:
    scale = np.sqrt(np.einsum("ij,ij->j", x, x) + ridge)
    scale = np.where(scale > 0, scale, 1.0)
    tall = np.vstack([x, np.diag(np.sqrt(ridge))[ridge > 0]]) / scale
    right = np.concatenate([y, np.zeros(int((ridge > 0).sum()))])
    solution: Array = np.linalg.lstsq(tall, right, rcond=COLLINEAR)[0]
    return solution / scale


def _newton(loss: Loss, x: Array, y: Array, ridge: Array) -> tuple[Array, float]:
    """Where damped Newton steps from zero end, and the share of the gradient that is left there."""
    theta: Array = np.zeros(x.shape[1])
    merit = _merit(loss, x, y, ridge)
    left, best = _left(loss, theta, x, y, ridge), theta
    for _ in range(_ROUNDS):
        step = _newton_step(loss, theta, x, y, ridge)
        if not np.isfinite(step).all():
            break
        moved = _shorten(merit, theta, step)
        if moved is None:
            break
        theta = moved
        share = _left(loss, theta, x, y, ridge)
        if share < left:
            left, best = share, theta
        elif left <= _SETTLED:  # rounding is all that moves it now
            break
        if left == 0 or (left > _SETTLED and np.abs(x @ theta).max(initial=0.0) > 1e4):
            break
    return best, left


def _newton_step(loss: Loss, theta: Array, x: Array, y: Array, ridge: Array) -> Array:
    """−|H|⁻¹ G: downhill also where the loss is not convex."""
    from scipy.linalg import eigh

    gradient = gradients(loss, theta, x, y).sum(axis=0) + ridge * theta
    matrix = hessian(loss, theta, x, y) + np.diag(ridge)
    scale = np.sqrt(np.abs(matrix.diagonal()))
    scale = np.where(scale > 0, scale, 1.0)
    if not np.isfinite(matrix).all() or not np.isfinite(gradient).all():
        return np.full_like(theta, np.nan)
    values, vectors = eigh(matrix / np.outer(scale, scale))
    sizes = np.maximum(np.abs(values), 1e-14 * max(float(np.abs(values).max()), 1e-300))
    out: Array = -(vectors @ ((vectors.T @ (gradient / scale)) / sizes)) / scale
    return out


def _merit(loss: Loss, x: Array, y: Array, ridge: Array) -> Callable[[Array], float]:
    """What a step must not raise: the summed loss where it is known, else the size of its gradient."""
    value = getattr(loss, "value", None)

    def of_value(theta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(value(theta, x, y)) + 0.5 * np.sum(ridge * theta**2))  # type: ignore[misc]

    def of_gradient(theta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(gradients(loss, theta, x, y).sum(axis=0) + ridge * theta))

    return of_gradient if value is None else of_value


def _shorten(merit: Callable[[Array], float], theta: Array, step: Array) -> Array | None:
    """The longest of the halved steps that does not raise the merit beyond rounding."""
    now = merit(theta)
    room = 1e-13 * max(abs(now), 1e-300)
    for halvings in range(40):
        moved = theta + step * 0.5**halvings
        there = merit(moved)
        if np.isfinite(there) and there <= now + room:
            return moved
    return None


def _left(loss: Loss, theta: Array, x: Array, y: Array, ridge: Array) -> float:
    """The largest entry of the gradient as a share of the sizes it is a sum of."""
    with np.errstate(over="ignore", invalid="ignore"):
        each = gradients(loss, theta, x, y)
        total = np.abs(each.sum(axis=0) + ridge * theta)
        size = np.abs(each).sum(axis=0) + np.abs(ridge * theta)
        share = np.where(size > 0, total / np.where(size > 0, size, 1.0), 0.0)
    return float(share.max(initial=0.0)) if np.isfinite(share).all() else np.inf
