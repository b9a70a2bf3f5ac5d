"""What least squares promises before anyone has scored it: how many bits rounding can get wrong."""

from __future__ import annotations

import math

from tellall.errors import invalid

__all__ = ["hamming_certificate", "hamming_from_image"]


def hamming_certificate(
    n: int,
    least_singular_value: float,
    *,
    error_norm: float | None = None,
    bound: float | None = None,
    m: int = 0,
) -> int:
    """The most bits that least squares, rounded at 1/2, can get wrong.

    Parameters
    ----------
    n
        The number of unknown bits, which caps the answer.
    least_singular_value
        σ of the operator; zero where it has not full column rank.
    error_norm
        ‖e‖₂ of the errors in the target.
    bound, m
        Instead of the norm: the largest error β = ‖e‖∞, and the number of rows.

    Notes
    -----
    A bit is wrong only where the estimate is off by 1/2 or more, so d_H ≤ 4‖x − s‖² = 4‖A⁺e‖² ≤ 4‖e‖²/σ²
    ≤ 4 m β²/σ² (linear-reconstruction, Theorem 2.1, with its constant), rounded down, at most n. No errors
    give 0 where σ > 0; σ = 0 gives n, never 0/0.

    Examples
    --------
    >>> hamming_certificate(100, 2.0, bound=0.9, m=5)
    4
    >>> hamming_certificate(100, 0.0, error_norm=0.0)
    100
    """
    if least_singular_value < 0 or not math.isfinite(least_singular_value):
        raise invalid("least_singular_value", "zero or more and finite", least_singular_value)
    if (error_norm is None) == (bound is None):
        raise invalid("error_norm", "given, or else bound and m, not both", (error_norm, bound))
    if error_norm is None:
        assert bound is not None
        if not bound >= 0 or m < 0:
            raise invalid("bound", "zero or more, on zero rows or more", (bound, m))
        error_norm = bound * math.sqrt(m)
    elif not error_norm >= 0:
        raise invalid("error_norm", "zero or more", error_norm)
    if least_singular_value == 0:
        return n
    return hamming_from_image(n, error_norm / least_singular_value)


def hamming_from_image(n: int, image_norm: float) -> int:
    """The same from ‖A⁺e‖₂, the tightest of the three: ⌊4‖A⁺e‖²⌋, at most n.

    Examples
    --------
    >>> hamming_from_image(2, 0.6)
    1
    """
    if not image_norm >= 0:
        raise invalid("image_norm", "zero or more", image_norm)
    wrong = 4 * image_norm**2
    return n if wrong >= n else math.floor(wrong * (1 + 1e-12))  # a whole number must not fall below itself
