"""From scores to decisions: printed and sound thresholds, conformal p-values, false discoveries."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tellall.core.checks import share
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array

__all__ = [
    "THRESHOLDS",
    "conformal",
    "discoveries",
    "gaussian_exact",
    "sound",
]

THRESHOLDS = ("paper", "hoeffding", "empirical")
_TIE = 1e-6  # relative: sums of equal rows in single precision differ by this much; a tie raises p


def sound(
    scores: Array,
    attack: str,
    rule: str,
    delta: float,
    *,
    d: int,
    squares: float,
    alpha: float | None = None,
    sigma_max: float | None = None,
) -> tuple[float, Array]:
    """Returns the threshold and the p-values for independent attributes; `squares` is ‖weights‖².

    Notes
    -----
    Every threshold here is c·√ln(1/δ), so the smallest δ at which a score s > 0 passes is exp(−(s/c)²), the
    p-value; c is √(8d) as printed for Fig. 1, 4α√d for Fig. 2, 2σ√d for Fig. 3, and 2‖weights‖ (times σ) by
    Hoeffding's inequality for 2d centred terms of range at most 2·|weight| (E-RT-1).
    """
    spread = sigma_max if attack == "gaussian" and sigma_max is not None else 1.0
    if rule == "hoeffding":
        factor = 2 * spread * math.sqrt(squares)
    elif attack == "pool":
        factor = 4 * (alpha or 0.0) * math.sqrt(d)
    else:
        factor = 2 * spread * math.sqrt(d) if attack == "gaussian" else math.sqrt(8 * d)
    limit = factor * math.sqrt(math.log(1 / delta))
    ratio = np.maximum(scores, 0.0) / factor if factor > 0 else np.zeros_like(scores)
    return limit, np.exp(-(ratio**2))


def gaussian_exact(norm: float, sigma_max: float, delta: float) -> float:
    """The threshold of Fig. 3 whose level is delta exactly where every σ_j is σ_max: √2 σ_max ‖q‖ z_(1−δ).

    Examples
    --------
    >>> round(gaussian_exact(10.0, 1.0, 0.05), 10)
    23.2617430735
    """
    from scipy.special import ndtri

    if not 0 < delta < 0.5:
        raise invalid("delta", "between 0 and 1/2", delta)
    return float(-math.sqrt(2.0) * sigma_max * norm * ndtri(delta))


def conformal(own: Array, beside: Array, delta: float) -> tuple[float | Array, Array]:
    """Returns the empirical threshold and the p-values, from each target's own score and reference scores.

    Notes
    -----
    p = (1 + number of reference scores ≥ the target's)/(R + 1). For any R, p ≤ a with probability at most a,
    and with probability exactly a if a(R + 1) is whole and no scores tie. The threshold is the
    ⌊δ(R + 1)⌋-th largest reference score, infinite if that rank is 0; one number if all targets share it.

    Examples
    --------
    >>> conformal(np.array([5.0, 1.0]), np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), 0.25)
    (3.0, array([0.25, 1.  ]))
    """
    pool = beside.shape[1]
    slack = _TIE * np.maximum(1e-300, np.maximum(np.abs(own), np.abs(beside).max(axis=1)))
    p_values = (1 + (beside >= (own - slack)[:, None]).sum(axis=1)) / (pool + 1)
    rank = math.floor(delta * (pool + 1) + 1e-9)
    if rank < 1:
        return math.inf, p_values
    limits = np.partition(beside, pool - rank, axis=1)[:, pool - rank]
    return (float(limits[0]) if (limits == limits[0]).all() else limits), p_values


def discoveries(p_values: Array, rate: float) -> npt.NDArray[np.bool_]:
    """Returns which targets Benjamini and Hochberg's rule names at this false-discovery rate.

    Notes
    -----
    Names everybody up to p_(k), for the largest k with p_(k) ≤ k·rate/T among the sorted p-values.
    O(T log T).

    Examples
    --------
    >>> discoveries(np.array([0.01, 0.04, 0.5, 0.02]), 0.05)
    array([ True, False, False,  True])
    """
    rate = share("rate", rate, zero=False, one=False)
    order = np.sort(p_values)
    passed = np.flatnonzero(order <= rate * np.arange(1, order.size + 1) / order.size + 1e-15)
    return p_values <= (order[passed[-1]] if passed.size else -1.0)
