"""How a summed loss bends: Hessians, and the places where its gradient says nothing about people."""

from __future__ import annotations

import numpy as np

from tellall.errors import invalid
from tellall.linops import Array
from tellall.statistics.losses import Loss, ScoreLoss

__all__ = [
    "COLLINEAR",
    "expected_hessian",
    "gradients",
    "hessian",
    "is_affine",
    "is_collinear",
    "is_flat",
    "is_kinked",
]

COLLINEAR = 1e-10  # singular values of unit columns below this share of the largest count as zero
_FLAT = 1e-6  # curvature below this share of that at zero: the fit ran away
_NEAR, _FAR = 1e-7, 1e-4


def gradients(loss: Loss, theta: Array, x: Array, y: Array) -> Array:
    """The gradient of each person's loss, n × k, its shape checked."""
    out = np.asarray(loss.gradient(theta, x, y), dtype=np.float64)
    if out.shape != x.shape:
        raise invalid("loss.gradient", f"one row per person ({x.shape[0]} × {x.shape[1]})", out.shape)
    return out


def hessian(loss: Loss, theta: Array, x: Array, y: Array) -> Array:
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


def expected_hessian(loss: Loss, theta: Array, x: Array) -> Array:
    """The Hessian as one who does not know the answers reckons it: half that of all no, half of all yes.

    It is the Hessian itself for squared, logistic and Poisson loss, where it does not depend on the answers.
    """
    no, yes = np.zeros(x.shape[0]), np.ones(x.shape[0])
    return 0.5 * (hessian(loss, theta, x, no) + hessian(loss, theta, x, yes))


def is_collinear(x: Array) -> bool:
    """Whether the columns, scaled to unit length, are dependent up to rounding."""
    norms = np.linalg.norm(x, axis=0)
    if x.shape[0] < x.shape[1] or (norms == 0).any():
        return True
    singular = np.linalg.svd(x / norms, compute_uv=False)
    return bool(singular[-1] < COLLINEAR * singular[0])


def is_flat(loss: Loss, theta: Array, x: Array, ridge: Array) -> bool:
    """Whether the summed loss hardly bends at theta, in some direction, compared with theta = 0.

    Notes
    -----
    The least eigenvalue of H(θ) relative to H(0) is compared with 1e-6. Where no finite minimiser exists
    (separable answers), solvers run along a direction in which the loss flattens out until they give up; for
    the logistic loss the comparison is with XᵀX/4, so it means that along some direction all fitted
    probabilities are within about 3e-7 of 0 or 1. A solver that gave up earlier than that did so because
    the gradient was below its tolerance, so the equation holds to that tolerance and the row may stay.
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


def is_kinked(loss: Loss, theta: Array, x: Array) -> bool:
    """Whether somebody's gradient jumps at theta for one of the two answers.

    Notes
    -----
    Over a step a thousand times shorter a differentiable gradient changes a thousand times less, a jump does
    not. Losses of tellall are smooth and are not looked at.
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


def is_affine(loss: Loss, theta: Array, x: Array) -> bool:
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
    """A natural length of each coefficient: its own size, or what moves a typical score by one."""
    root = np.sqrt(np.mean(x**2, axis=0))
    return np.maximum(np.abs(theta), 1 / np.where(root > 0, root, 1.0))
