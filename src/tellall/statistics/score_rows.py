"""Score rows: the equations that the coefficients of one model give, and the conditions of the theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellall.linalg.operators.linear_operator import Array
from tellall.statistics.fitting import COLLINEAR, expected_hessian, gradients, hessian, trouble_at
from tellall.statistics.losses import FitLoss, ScoreLoss, Squared

__all__ = ["Conditions", "PublishedModel", "ScoreRows", "conditions", "score_rows"]

_LOST = "not published (suppressed, or there is no such fit)"


@dataclass(frozen=True, eq=False)
class PublishedModel:
    """One model as published.

    Attributes
    ----------
    theta
        Its coefficients; suppressed ones are missing (NaN).
    x, counts
        The distinct rows of its columns and how many people have each.
    ridge
        The penalty of each coefficient.
    tolerance
        The standard deviation of each entry of the mean gradient that its solver left.
    """

    theta: Array
    x: Array
    counts: Array
    ridge: Array
    tolerance: float = 0.0

    @property
    def everybody(self) -> Array:
        """The rows of all people, in no particular order."""
        return np.repeat(self.x, self.counts.astype(np.intp), axis=0)


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The equations of one model over distinct rows of people: see `Equations`."""

    operator: Array
    target: Array
    gain: Array
    reach: Array
    doubt: Array
    trouble: str = ""


def score_rows(loss: FitLoss, model: PublishedModel, weighting: str) -> ScoreRows:
    """The equations that the coefficients of one model give about people.

    Notes
    -----
    At the fit the gradient vanishes: Σ_i ∂ℓ(θ; x_i, s_i) + Λθ = 0. With ℓ₀ = ∂ℓ(·, 0) and
    ℓ₂ = ∂ℓ(·, 1) − ∂ℓ(·, 0) this becomes, for bits and for real s_i in which ∂ℓ is affine,

        −Σ_i ℓ₂(θ; x_i) s_i = Σ_i ℓ₀(θ; x_i) + Λθ          (linear-reconstruction, Eqs. 11 to 15).

    Weighting "paper" uses these rows at the published θ~ = θ + e; their error is H e to first order. "noise"
    multiplies them by H⁻¹, so that each row's error is that of its own coefficient. For squared loss this is
    exactly θ~ = (XᵀX + Λ)⁻¹ Xᵀ s + e, and a missing coefficient costs only its own row.
    """
    if isinstance(loss, Squared):
        return _plain_squares(model) if weighting == "paper" else _whitened_squares(model)
    theta = np.where(np.isnan(model.theta), 0.0, model.theta)
    no = np.zeros(model.counts.size)
    yes = np.ones(model.counts.size)
    with np.errstate(over="ignore", invalid="ignore"):
        at_no = gradients(loss, theta, model.x, no)
        scores = (at_no - gradients(loss, theta, model.x, yes)).T
        right = at_no.T @ model.counts + model.ridge * theta
    trouble = _LOST if np.isnan(model.theta).any() else trouble_at(loss, theta, model.everybody, model.ridge)
    if trouble or not (np.isfinite(scores).all() and np.isfinite(right).all()):
        return _nothing(np.where(np.isfinite(scores), scores, 0.0), trouble or "the gradient is not finite")
    matrix = expected_hessian(loss, theta, model.everybody) + np.diag(model.ridge)
    left = model.tolerance * model.counts.sum()
    if weighting == "paper":
        return _plain(scores, right, matrix, left)
    scale = np.sqrt(np.abs(matrix.diagonal()))
    inverse = np.linalg.inv(matrix / np.outer(scale, scale)) / np.outer(scale, scale)
    return _white(inverse @ scores, inverse @ right, inverse, left)


def _plain_squares(model: PublishedModel) -> ScoreRows:
    """The rows Xᵀ s = (XᵀX + Λ) θ~."""
    matrix = model.x.T @ (model.counts[:, None] * model.x) + np.diag(model.ridge)
    rows = _plain(model.x.T, matrix @ model.theta, matrix, model.tolerance * model.counts.sum())
    return replace(rows, trouble=_LOST if np.isnan(model.theta).any() else "")


def _whitened_squares(model: PublishedModel) -> ScoreRows:
    """The rows (XᵀX + Λ)⁻¹ Xᵀ s = θ~, from an orthogonal factorisation of unit columns."""
    from scipy.linalg import solve_triangular

    root = np.sqrt(model.counts)[:, None]
    tall = np.vstack([root * model.x, np.diag(np.sqrt(model.ridge))])
    norms = np.linalg.norm(tall, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    orthogonal, triangle = np.linalg.qr(tall / scale)
    spread = np.linalg.svd(triangle, compute_uv=False)
    if spread[-1] <= COLLINEAR * spread[0]:
        return _rotated_squares(model, tall)
    people = model.counts.size
    back = solve_triangular(triangle, np.eye(scale.size)) / scale[:, None]  # the inverse of R, unscaled
    operator = back @ (orthogonal[:people] / root).T
    rows = _white(operator, model.theta, back @ back.T, model.tolerance * model.counts.sum())
    lost = int(np.isnan(model.theta).sum())
    if 0 < lost < model.theta.size:
        return replace(rows, trouble=f"{lost} of {model.theta.size} coefficients are not published")
    return replace(rows, trouble=_LOST if lost else "")


def _rotated_squares(model: PublishedModel, tall: Array) -> ScoreRows:
    """The rows Vᵀθ~ = S⁻¹ Uᵀ s for dependent columns, with X = U S Vᵀ cut at its rank.

    Independent errors of the coefficients stay independent, but there are fewer rows. Every least-squares
    solution satisfies XᵀX θ = Xᵀ s, so these rows hold whichever solution was published.
    """
    left, singular, right = np.linalg.svd(tall, full_matrices=False)
    kept = singular > COLLINEAR * singular[0] if singular[0] > 0 else np.zeros(singular.size, dtype=bool)
    people = model.counts.size
    k = model.theta.size
    operator = np.zeros((k, people))
    target = np.full(k, np.nan)
    gain = np.ones(k)
    reach = np.ones(k)
    doubt = np.zeros(k)
    rank = int(kept.sum())
    operator[:rank] = (left[:people, :rank] / np.sqrt(model.counts)[:, None]).T / singular[:rank, None]
    target[:rank] = right[:rank] @ model.theta
    reach[:rank] = np.abs(right[:rank]).sum(axis=1)
    doubt[:rank] = model.tolerance * model.counts.sum() / singular[:rank] ** 2
    if np.isnan(model.theta).any():
        return ScoreRows(operator, np.full(k, np.nan), gain, reach, doubt, _LOST)
    reason = f"dependent columns, {k} coefficients are worth {rank} equations"
    return ScoreRows(operator, target, gain, reach, doubt, reason)


def _plain(operator: Array, target: Array, matrix: Array, left: float) -> ScoreRows:
    sizes = (np.linalg.norm(matrix, axis=1), np.abs(matrix).sum(axis=1))
    return ScoreRows(operator, target, *sizes, np.full(target.size, left))


def _white(operator: Array, target: Array, inverse: Array, left: float) -> ScoreRows:
    one = np.ones(target.size)
    return ScoreRows(operator, target, one, one, left * np.linalg.norm(inverse, axis=1))


def _nothing(operator: Array, trouble: str) -> ScoreRows:
    k = operator.shape[0]
    return ScoreRows(operator, np.full(k, np.nan), np.ones(k), np.ones(k), np.zeros(k), trouble)


@dataclass(frozen=True)
class Conditions:
    """The Lipschitz constant and the variance condition of a release of coefficients.

    Attributes
    ----------
    lipschitz
        λ: the Lipschitz constant of one person's gradient, the largest over people and models
        (linear-reconstruction, Definition 9).
    everywhere
        Whether it holds for all coefficients; otherwise only at the published ones.
    lipschitz_total
        Λ ≤ λ n: the largest eigenvalue of a model's summed Hessian at the published coefficients.
    variance
        The least variance over people of an entry of ℓ₂, intercepts aside (Definition 10: above zero).
    noise
        1/(λ √n): noise far below this in each coefficient does not protect, given twice as many
        one-column models as people (Theorem 4.2).
    """

    lipschitz: float
    everywhere: bool
    lipschitz_total: float
    variance: float
    noise: float

    @property
    def holds(self) -> bool:
        """Whether every coefficient tells people apart."""
        return self.variance > 0

    def __str__(self) -> str:
        where = "for all coefficients" if self.everywhere else "at the published coefficients"
        verdict = "holds" if self.holds else "fails for a coefficient that weighs everybody alike"
        return (
            f"Lipschitz constant {self.lipschitz:.4g} a person {where} ({self.lipschitz_total:.4g} in all); "
            f"variance condition {verdict} (least variance {self.variance:.3g}); "
            f"noise far below {self.noise:.2g} per coefficient does not protect"
        )


def conditions(loss: FitLoss, models: Sequence[PublishedModel], intercept: bool) -> Conditions:
    """The conditions at the published coefficients; models with a missing coefficient are skipped."""
    shown = [model for model in models if not np.isnan(model.theta).any()]
    people = float(models[0].counts.sum()) if models else 0.0
    each = max((_largest_each(loss, model) for model in shown), default=np.nan)
    total = max((_largest_total(loss, model) for model in shown), default=np.nan)
    variance = min((_least_variance(loss, model, intercept) for model in shown), default=np.nan)
    everywhere = isinstance(loss, ScoreLoss) and bool(np.isfinite(loss.steepest))
    noise = 1 / (each * np.sqrt(people)) if each > 0 else np.inf
    return Conditions(each, everywhere, total, variance, float(noise))


def _largest_each(loss: FitLoss, model: PublishedModel) -> float:
    """The Lipschitz constant of the worst person's gradient."""
    answers = [np.zeros(model.counts.size), np.ones(model.counts.size)]
    if isinstance(loss, ScoreLoss):
        square = np.einsum("ij,ij->i", model.x, model.x)
        if np.isfinite(loss.steepest):
            return float(loss.steepest * square.max())
        return float(max((loss.bend(model.x @ model.theta, y) * square).max() for y in answers))
    worst = 0.0
    for row in model.x:
        for y in (0.0, 1.0):
            own = hessian(loss, model.theta, row[None, :], np.array([y]))
            worst = max(worst, float(np.abs(np.linalg.eigvalsh(own)).max()))
    return worst


def _largest_total(loss: FitLoss, model: PublishedModel) -> float:
    matrix: Array = expected_hessian(loss, model.theta, model.everybody)
    return float(np.abs(np.linalg.eigvalsh(matrix)).max())


def _least_variance(loss: FitLoss, model: PublishedModel, intercept: bool) -> float:
    no = np.zeros(model.counts.size)
    yes = np.ones(model.counts.size)
    slopes = gradients(loss, model.theta, model.x, yes) - gradients(loss, model.theta, model.x, no)
    slopes = slopes[:, : slopes.shape[1] - intercept]
    share = model.counts / model.counts.sum()
    mean = share @ slopes
    return float((share @ (slopes - mean) ** 2).min(initial=np.inf))
