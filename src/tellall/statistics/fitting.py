"""Fitting: finds the coefficients at which the gradient of a summed loss vanishes, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.statistics.losses import FitLoss, ScoreLoss, Squared

__all__ = [
    "COLLINEAR",
    "Fit",
    "expected_hessian",
    "fit",
    "gradients",
    "hessian",
    "is_affine",
    "is_collinear",
    "is_flat",
    "is_kinked",
    "trouble_at",
]

COLLINEAR = 1e-10  # singular values of unit columns below this share of the largest count as zero
_FLAT = 1e-6  # a fit with curvature below this share of that at zero ran away
_NEAR = 1e-7
_FAR = 1e-4


def gradients(loss: FitLoss, theta: Array, x: Array, y: Array) -> Array:
    """The gradient of each person's loss, n × k; its shape is checked."""
    out = np.asarray(loss.gradient(theta, x, y), dtype=np.float64)
    if out.shape != x.shape:
        raise invalid("loss.gradient", f"one row per person ({x.shape[0]} × {x.shape[1]})", out.shape)
    return out


def hessian(loss: FitLoss, theta: Array, x: Array, y: Array) -> Array:
    """The Hessian of the summed loss: the loss's own, or central differences of its gradient."""
    own = getattr(loss, "hessian", None)
    if own is not None:
        return np.asarray(own(theta, x, y), dtype=np.float64)
    step = 6e-6 * _lengths(theta, x)
    columns = [
        (gradients(loss, theta + move, x, y) - gradients(loss, theta - move, x, y)).sum(axis=0) / (2 * size)
        for move, size in zip(np.diag(step), step, strict=True)
    ]
    matrix = np.stack(columns, axis=1)
    out: Array = 0.5 * (matrix + matrix.T)
    return out


def expected_hessian(loss: FitLoss, theta: Array, x: Array) -> Array:
    """The Hessian without knowing the answers: the mean of those for all answers no and all answers yes.

    For squared, logistic and Poisson loss the Hessian does not depend on the answers, so this is exact.
    """
    no = np.zeros(x.shape[0])
    yes = np.ones(x.shape[0])
    return 0.5 * (hessian(loss, theta, x, no) + hessian(loss, theta, x, yes))


def is_collinear(x: Array) -> bool:
    """Whether the columns, scaled to unit length, are dependent up to rounding."""
    norms = np.linalg.norm(x, axis=0)
    if x.shape[0] < x.shape[1] or (norms == 0).any():
        return True
    singular = np.linalg.svd(x / norms, compute_uv=False)
    return bool(singular[-1] < COLLINEAR * singular[0])


def is_flat(loss: FitLoss, theta: Array, x: Array, ridge: Array) -> bool:
    """Whether the summed loss is nearly flat at theta in some direction, compared with theta = 0.

    Notes
    -----
    The least eigenvalue of H(θ) relative to H(0) is compared with 1e-6. If no finite minimiser exists
    (separable answers), solvers run along a direction in which the loss flattens out until they give up. For
    the logistic loss the comparison is with XᵀX/4, so it means that along some direction all fitted
    probabilities are within about 3e-7 of 0 or 1. A solver that gave up earlier did so because the gradient
    was below its tolerance, so the equation holds to that tolerance and the row may stay.
    """
    from scipy.linalg import eigh

    with np.errstate(over="ignore", invalid="ignore"):
        here = expected_hessian(loss, theta, x) + np.diag(ridge)
        start = expected_hessian(loss, np.zeros_like(theta), x) + np.diag(ridge)
    size = np.sqrt(np.abs(start.diagonal()))
    if not (np.isfinite(here).all() and np.isfinite(start).all()) or (size == 0).any():
        return True
    scale = np.outer(size, size)
    try:
        shares = eigh(here / scale, start / scale, eigvals_only=True)
    except np.linalg.LinAlgError:  # no curvature at zero: compare with the scale alone
        shares = eigh(here / scale, eigvals_only=True)
    return bool(np.abs(shares).min() < _FLAT)


def is_kinked(loss: FitLoss, theta: Array, x: Array) -> bool:
    """Whether somebody's gradient jumps at theta for one of the two answers.

    Notes
    -----
    Over a step a thousand times shorter, a differentiable gradient changes a thousand times less; a jump does
    not. tellall's own losses are smooth and are not checked.
    """
    if isinstance(loss, ScoreLoss):
        return False
    length = _lengths(theta, x)
    for y in (np.zeros(x.shape[0]), np.ones(x.shape[0])):
        here = float(np.abs(gradients(loss, theta, x, y)).max(initial=0.0))
        for move in np.diag(length):
            near, far = (
                float(
                    np.abs(
                        gradients(loss, theta + h * move, x, y) - gradients(loss, theta - h * move, x, y)
                    ).max()
                )
                for h in (_NEAR, _FAR)
            )
            if near > 0.1 * far and near > 1e-8 * here:
                return True
    return False


def is_affine(loss: FitLoss, theta: Array, x: Array) -> bool:
    """Whether the gradient is affine in the answer, so that real answers give linear equations."""
    levels = (gradients(loss, theta, x, np.full(x.shape[0], y)) for y in (-1.5, 0.0, 1.0, 3.0))
    low, zero, one, high = levels
    size = max(float(np.abs(zero).max()), float(np.abs(one).max()), float(np.abs(high).max()))
    off = max(
        float(np.abs(high - zero - 3 * (one - zero)).max()),
        float(np.abs(low - zero + 1.5 * (one - zero)).max()),
    )
    return off <= 1e-9 * size


def _lengths(theta: Array, x: Array) -> Array:
    """A natural length of each coefficient: its own size, or the change that moves a typical score by one."""
    root = np.sqrt(np.mean(x**2, axis=0))
    return np.maximum(np.abs(theta), 1 / np.where(root > 0, root, 1.0))


_SETTLED = 1e-9  # the remaining gradient, as a share of the sum of everybody's absolute gradients
_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Fit:
    """The coefficients of one model; ``trouble`` says why they do not solve its equations, or is empty."""

    theta: Array
    trouble: str = ""


def fit(loss: FitLoss, x: Array, y: Array, ridge: Array) -> Fit:
    """The minimiser of Σ_i ℓ(θ; x_i, y_i) + ½ Σ_j ridge_j θ_j².

    Notes
    -----
    Squared loss is solved by least squares on unit columns; if they are dependent, the result is one of the
    solutions. Any other loss is minimised by Newton steps, shortened until they improve, until the gradient
    is as small as rounding allows; O(rounds · n k²).
    """
    if isinstance(loss, Squared):
        return Fit(_least_squares(x, y, ridge))
    if not ridge.any() and is_collinear(x):
        return Fit(np.full(x.shape[1], np.nan), "dependent columns, the coefficients are not unique")
    theta, left = _newton(loss, x, y, ridge)
    if left > _SETTLED:
        if is_flat(loss, theta, x, ridge):
            return Fit(theta, _FLAT_FITTING)
        return Fit(theta, "the gradient does not vanish (a kink, a boundary, or no minimum)")
    return Fit(theta, trouble_at(loss, theta, x, ridge))


_FLAT_FITTING = "no finite fit (separable answers); its signs may still give answers away, but are not used"


def trouble_at(loss: FitLoss, theta: Array, x: Array, ridge: Array) -> str:
    """Why the gradient at these coefficients gives no equations, as far as that shows without the answers.

    Empty if no reason is found. A minimum on the boundary of a constraint is not detected.
    """
    if isinstance(loss, Squared):
        return ""
    if not ridge.any() and is_collinear(x):
        return "dependent columns, the coefficients are not unique"
    if is_kinked(loss, theta, x):
        return "the loss has a kink there, its gradient need not vanish"
    if is_flat(loss, theta, x, ridge):
        return _FLAT_FITTING
    return ""


def _least_squares(x: Array, y: Array, ridge: Array) -> Array:
    scale = np.sqrt(np.einsum("ij,ij->j", x, x) + ridge)
    scale = np.where(scale > 0, scale, 1.0)
    tall = np.vstack([x, np.diag(np.sqrt(ridge))[ridge > 0]]) / scale
    right = np.concatenate([y, np.zeros(int((ridge > 0).sum()))])
    solution: Array = np.linalg.lstsq(tall, right, rcond=COLLINEAR)[0]
    return solution / scale


def _newton(loss: FitLoss, x: Array, y: Array, ridge: Array) -> tuple[Array, float]:
    """The best point of damped Newton steps from zero, and the share of the gradient that is left there."""
    theta: Array = np.zeros(x.shape[1])
    merit = _merit(loss, x, y, ridge)
    left = _left(loss, theta, x, y, ridge)
    best = theta
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
            left = share
            best = theta
        elif left <= _SETTLED:  # only rounding moves it now
            break
        if left == 0 or (left > _SETTLED and np.abs(x @ theta).max(initial=0.0) > 1e4):
            break
    return best, left


def _newton_step(loss: FitLoss, theta: Array, x: Array, y: Array, ridge: Array) -> Array:
    """The step −|H|⁻¹ G, which goes downhill even if the loss is not convex."""
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


def _merit(loss: FitLoss, x: Array, y: Array, ridge: Array) -> Callable[[Array], float]:
    """What a step must not increase: the summed loss if it is known, else the size of its gradient."""
    value = getattr(loss, "value", None)

    def of_value(theta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(value(theta, x, y)) + 0.5 * np.sum(ridge * theta**2))  # type: ignore[misc]

    def of_gradient(theta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(gradients(loss, theta, x, y).sum(axis=0) + ridge * theta))

    return of_gradient if value is None else of_value


def _shorten(merit: Callable[[Array], float], theta: Array, step: Array) -> Array | None:
    """The point after the longest halved step that does not increase the merit; None if there is none."""
    now = merit(theta)
    room = 1e-13 * max(abs(now), 1e-300)
    for halvings in range(40):
        moved = theta + step * 0.5**halvings
        there = merit(moved)
        if np.isfinite(there) and there <= now + room:
            return moved
    return None


def _left(loss: FitLoss, theta: Array, x: Array, y: Array, ridge: Array) -> float:
    """The largest entry of the gradient, as a share of the absolute values that it sums."""
    with np.errstate(over="ignore", invalid="ignore"):
        each = gradients(loss, theta, x, y)
        total = np.abs(each.sum(axis=0) + ridge * theta)
        size = np.abs(each).sum(axis=0) + np.abs(ridge * theta)
        share = np.where(size > 0, total / np.where(size > 0, size, 1.0), 0.0)
    return float(share.max(initial=0.0)) if np.isfinite(share).all() else np.inf
