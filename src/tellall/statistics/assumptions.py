"""What the theorem about M-estimators asks of a loss, measured at the published coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellall.linops import Array
from tellall.statistics.curvature import expected_hessian, gradients, hessian
from tellall.statistics.losses import Loss, ScoreLoss
from tellall.statistics.score_rows import Published

__all__ = ["Conditions", "conditions"]


@dataclass(frozen=True)
class Conditions:
    """The Lipschitz constant and the variance condition of a release of coefficients.

    Attributes
    ----------
    lipschitz
        λ: the largest over people and models of the Lipschitz constant of one person's gradient
        (linear-reconstruction, Definition 9).
    everywhere
        Whether it holds for all coefficients; otherwise it is taken at the published ones.
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


def conditions(loss: Loss, models: Sequence[Published], intercept: bool) -> Conditions:
    """The conditions at the published coefficients; models with a missing one are passed over."""
    shown = [model for model in models if not np.isnan(model.theta).any()]
    people = float(models[0].counts.sum()) if models else 0.0
    each = max((_largest_each(loss, model) for model in shown), default=np.nan)
    total = max((_largest_total(loss, model) for model in shown), default=np.nan)
    variance = min((_least_variance(loss, model, intercept) for model in shown), default=np.nan)
    everywhere = isinstance(loss, ScoreLoss) and bool(np.isfinite(loss.steepest))
    noise = 1 / (each * np.sqrt(people)) if each > 0 else np.inf
    return Conditions(each, everywhere, total, variance, float(noise))


def _largest_each(loss: Loss, model: Published) -> float:
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


def _largest_total(loss: Loss, model: Published) -> float:
    matrix: Array = expected_hessian(loss, model.theta, model.everybody)
    return float(np.abs(np.linalg.eigvalsh(matrix)).max())


def _least_variance(loss: Loss, model: Published, intercept: bool) -> float:
    no, yes = np.zeros(model.counts.size), np.ones(model.counts.size)
    slopes = gradients(loss, model.theta, model.x, yes) - gradients(loss, model.theta, model.x, no)
    slopes = slopes[:, : slopes.shape[1] - intercept]
    share = model.counts / model.counts.sum()
    mean = share @ slopes
    return float((share @ (slopes - mean) ** 2).min(initial=np.inf))
