"""The least scale that passes, in few tries: a bracket on the log scale, then bisection."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["STRIDE", "least_scale"]

STRIDE = 4.0  # between two tries of the bracket
_DOWN = 3  # strides down before it is asked whether nothing at all would do


def least_scale(
    passes: Callable[[float], bool], start: float, *, most: float, tolerance: float, tries: int
) -> float | None:
    """A scale that passes while one at most ``1 + tolerance`` times smaller does not; None where none passes.

    Notes
    -----
    From the start by factors of four until one scale fails and one passes, then halving the interval on the
    log scale: a factor of four takes log₂(ln 4/ln(1 + tolerance)) tries, five for 5 %. Zero is tried once
    three strides down have all passed. Where the tries run out first, the least scale that passed. Whatever
    is returned has passed; that it is the least needs that larger scales pass where smaller ones do.

    Examples
    --------
    >>> round(least_scale(lambda scale: scale >= 7.3, 1.0, most=1e9, tolerance=0.05, tries=15), 2)
    7.34
    """
    left = tries - math.ceil(math.log2(max(2.0, math.log(STRIDE) / math.log1p(tolerance))))
    low, high = 0.0, math.inf
    scale, strides = min(start, most), 0
    while left > 0:
        left -= 1
        if passes(scale):
            high, strides = scale, strides + 1
            if low:
                break
            if strides == _DOWN + 1:
                left -= 1
                if passes(0.0):
                    return 0.0
            scale /= STRIDE
        else:
            low = scale
            if high < math.inf or scale >= most:
                break
            scale = min(scale * STRIDE, most)
    if not math.isfinite(high):
        return None
    halvings = (
        tries if not low else math.ceil(math.log2(max(1.0, math.log(high / low) / math.log1p(tolerance))))
    )
    for _ in range(halvings if low else 0):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
