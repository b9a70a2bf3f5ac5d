"""Errors: how far each equation may be off, given the law of the published values' errors."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tellall.evidence.evidence import Rows
from tellall.linalg.operators.linear_operator import Array
from tellall.protections.protection import Noise
from tellall.statistics.statistic import Equations

__all__ = ["rows_of", "whole_rounding"]


def rows_of(equations: Equations, noise: Noise, counts: Array, *, whole: bool) -> Rows:
    """What is known about each equation, given the law of the errors; ``whole``: values are whole counts."""
    size = equations.target.size
    std = _spread(noise, equations, counts)
    bound = _times(noise.bound, equations.reach, size)
    bound[np.broadcast_to(equations.doubt, size) > 0] = np.inf  # a further error has no certain bound
    near = np.where(np.isinf(equations.reach), equations.gain, equations.reach)  # to first order, if need be
    slack = _times(noise.half_width, near, size)
    if whole:
        std, bound, slack = whole_rounding(noise, counts, std, bound, slack)
    ordinary = std if noise.ordinary == noise else _spread(noise.ordinary, equations, counts)
    rest = np.sqrt(np.maximum(ordinary**2 - slack**2 / 3, 0.0))
    return Rows(
        target=equations.target,
        std=std,
        spread=np.maximum(std, equations.floor),
        bound=bound,
        slack=slack,
        rest=np.maximum(rest, equations.floor),
        unseen=np.zeros(size, dtype=bool),
    )


def _spread(law: Noise, equations: Equations, counts: Array) -> Array:
    """The standard deviation of each equation's error."""
    std = law.spread(counts, equations) if law.varies else law.std
    return np.hypot(_times(std, equations.gain, equations.target.size), equations.doubt)


def _times(size: Array | float, factor: Array | float, rows: int) -> Array:
    """The size times each row's factor; zero times infinity is zero."""
    sizes, factors = np.broadcast_arrays(np.asarray(size, dtype=np.float64), np.broadcast_to(factor, rows))
    some = (sizes != 0) & (factors != 0)
    return np.asarray(np.multiply(sizes, factors, out=np.zeros(rows), where=some))


def whole_rounding(
    noise: Noise, counts: Array, error: Array, bound: Array, slack: Array
) -> tuple[Array, Array, Array]:
    """Standard deviation, bound and slack of each row if whole counts were published; see `Noise.of_whole`.

    The intervals end half-way to the next count.
    """
    most = noise.of_whole(np.nan_to_num(counts))
    if most is None:
        return error, bound, slack
    rounded = slack > 0
    slack = np.where(rounded, most + 0.5, slack)
    return np.where(rounded, slack / sqrt(3), error), np.where(rounded, most, bound), slack
