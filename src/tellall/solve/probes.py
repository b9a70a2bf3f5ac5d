"""Probes: the diagonal of an inverse from products with random signs, each entry helped by all the others."""

from __future__ import annotations

import numpy as np

from tellall.solve.base import Array

__all__ = ["count_probes", "shrunk_variances"]

_ALL_PROBES = 2**20  # unknowns up to which all probes are affordable
_FEWEST = 4


def count_probes(probes: int, unknowns: int) -> int:
    """How many probes so many unknowns get: fewer where each takes long, four of those asked for at least.

    Examples
    --------
    >>> [count_probes(64, n) for n in (20_000, 1_000_000, 10_000_000, 10**9)]
    [64, 64, 6, 4]
    """
    return max(min(_FEWEST, probes), min(probes, probes * _ALL_PROBES // max(unknowns, 1)))


def shrunk_variances(total: Array, squares: Array, count: int, diagonal: Array, ridge: Array) -> Array:
    """The diagonal of H⁻¹ from sums over probes v of v ∘ H⁻¹v and of its squares.

    ``diagonal`` is that of H = Aᵀ W A + diag(ridge).

    Notes
    -----
    Hutchinson: the mean of v ∘ H⁻¹v over independent signs is the diagonal of H⁻¹, entry p with the variance
    Σ_{q≠p} (H⁻¹)_pq² / count. In units of 1/H_pp the entries of people alike are alike, so each is drawn
    towards the mean of all, the further the more of the spread between them is that variance (the estimator
    of James and Stein, with the variance estimated from the probes); where the entries differ by more than
    the probes' noise, little. 1/H_pp ≤ (H⁻¹)_pp ≤ 1/ridge_p always hold and are kept.
    """
    least, most = 1 / diagonal, 1 / ridge
    ratio = total / count * diagonal
    if count > 1 and ratio.size:
        noise = np.maximum(squares / count - (total / count) ** 2, 0.0) * diagonal**2 / (count - 1)
        usual, between = float(noise.mean()), float(ratio.var())
        kept = max(between - usual, 0.0) / between if between > 0 else 1.0
        ratio = ratio.mean() + kept * (ratio - ratio.mean())
    return np.clip(ratio * least, least, most)
