"""Exact confidence limits of a rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["clopper_pearson"]

Floats = npt.NDArray[np.float64]


def clopper_pearson(hits: npt.ArrayLike, total: int, miss: float = 0.05) -> tuple[Floats, Floats]:
    """Returns Clopper–Pearson limits for `hits` in `total`; each fails with probability miss/2 at most.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 5], 10)
    >>> [float(end) for end in np.round([*low, *high], 3)]
    [0.0, 0.187, 0.308, 0.813]
    """
    from scipy.special import betaincinv

    seen = np.asarray(hits, dtype=np.float64)
    some, rest = np.where(seen > 0, seen, 1.0), np.where(seen < total, total - seen, 1.0)
    low = np.where(seen > 0, betaincinv(some, total - some + 1, miss / 2), 0.0)
    high = np.where(seen < total, betaincinv(seen + 1, rest, 1 - miss / 2), 1.0)
    return low, high
