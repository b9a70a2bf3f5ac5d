"""What each record does to a least-squares fit (leverage, residual, influence), and which records matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.core.errors import invalid
from tellall.protections.profile import Floats

__all__ = [
    "RecordInfluence",
    "as_regression",
    "influence",
    "pareto_frontier",
]

_BATCH = 65_536
# A leverage this close to one is one: the record alone decides a coefficient.
_ALONE = 1e-10


@dataclass(frozen=True)
class RecordInfluence:
    """A least-squares fit and what each of its n records does to the p coefficients."""

    coefficients: Floats
    leverage: Floats  # vᵀ(BᵀB)⁻¹v of each row v of the features; exactly 1 if removing the row loses rank
    residual: Floats
    pull: Floats  # ‖(BᵀB)⁻¹v‖ of each row: how far the coefficients move for a unit of its residual
    residual_norm: float
    inverse_trace: float  # tr (BᵀB)⁻¹
    perfect: bool  # whether the features fit the response exactly, up to rounding

    @property
    def residual_share(self) -> Floats:
        """Each squared residual divided by their sum (zeros for a perfect fit)."""
        if self.perfect:
            return np.zeros_like(self.residual)
        return np.minimum((self.residual / self.residual_norm) ** 2, 1.0 - self.leverage)

    @property
    def sensitivity(self) -> Floats:
        """How far the coefficients move when each row is zeroed; infinite if that loses rank."""
        alone = self.leverage >= 1.0
        left = np.where(alone, 1.0, 1.0 - self.leverage)
        return np.where(alone, np.inf, np.abs(self.residual) * self.pull / left)


def as_regression(features: ArrayLike, response: ArrayLike) -> tuple[Floats, Floats]:
    """Returns features (n × p) and response (n) as float64 arrays, finite and of equal length.

    A memory map of float64 stays a memory map: it is checked batch by batch and never read whole.
    """
    table, target = _floats("features", "a table", features), _floats("response", "a column", response)
    if table.ndim == 1:
        table = table[:, None]
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if table.ndim != 2 or table.shape[1] < 1:
        raise invalid("features", "a table with one row for each record", f"an array of shape {table.shape}")
    if target.shape != (table.shape[0],):
        rule = f"of length {table.shape[0]}, like the features"
        raise invalid("response", rule, f"an array of shape {target.shape}")
    for span in _spans(table.shape[0]):
        for name, values in (("features", table[span]), ("response", target[span, None])):
            wrong = ~np.isfinite(values).all(axis=1)
            if wrong.any():
                seen = f"NaN or infinity in row {span.start + int(np.argmax(wrong))}"
                raise invalid(name, "finite numbers", seen, "Drop or fill such rows first.")
    return table, target


def _floats(name: str, shape: str, value: ArrayLike) -> Floats:
    if np.ma.is_masked(value):
        raise invalid(name, f"{shape} of numbers", "masked values", "Drop or fill such rows first.")
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, f"{shape} of numbers", type(value).__name__) from None


def _spans(size: int) -> Iterator[slice]:
    return (slice(start, start + _BATCH) for start in range(0, size, _BATCH))


def influence(features: ArrayLike, response: ArrayLike) -> RecordInfluence:
    """Returns the fit, and leverage, residual and pull of every record.

    Notes
    -----
    Columns are scaled to norm one, and batches of rows go through QR twice; the second pass restores the
    orthogonality that a large condition number takes away. The normal equations are never formed. O(n p²)
    time, O(batch·p + n) memory besides the data.

    Examples
    --------
    >>> fit = influence([[1, 0], [1, 1], [1, 2], [1, 4]], [1, 3, 2, 5])
    >>> fit.leverage.round(6)
    array([0.6     , 0.314286, 0.257143, 0.828571])
    >>> fit.sensitivity.round(6)
    array([0.316228, 0.545441, 0.264194, 0.488647])
    """
    table, target = as_regression(features, response)
    size, width = table.shape
    if size < width:
        raise invalid("features", f"at least as many rows as columns ({width})", f"{size} rows")
    scale = np.sqrt(sum((table[span] ** 2).sum(axis=0) for span in _spans(size)))
    if not (scale > 0.0).all():
        seen = f"column {int(np.argmin(scale))}, all zeros"
        raise invalid("features", "of full column rank", seen, "Drop that column.")
    first = _triangle((table[span] / scale for span in _spans(size)), width)
    _check_rank(first, size)
    inverse = np.linalg.inv(first)
    second = _triangle(((table[span] / scale) @ inverse for span in _spans(size)), width)
    # Rows of an orthonormal basis: (row/scale)·inverse·fix. The second factor is near the identity.
    basis = (inverse @ np.linalg.inv(second)) / scale[:, None]
    rotated, correction = np.zeros(width), np.zeros(width)
    for span in _spans(size):
        rotated += (table[span] @ basis).T @ target[span]
    leverage = np.empty(size)
    residual = np.empty(size)
    pull = np.empty(size)
    for span in _spans(size):
        rows = table[span] @ basis
        leverage[span] = (rows**2).sum(axis=1)
        residual[span] = target[span] - rows @ rotated
        correction += rows.T @ residual[span]
        pull[span] = np.linalg.norm(rows @ basis.T, axis=1)
    # One step of refinement: a small residual of a large response would otherwise keep its rounding.
    for span in _spans(size):
        residual[span] -= (table[span] @ basis) @ correction
    leverage = np.where(leverage > 1.0 - _ALONE, 1.0, leverage)
    residual = np.where(leverage >= 1.0, 0.0, residual)
    norm = float(np.linalg.norm(residual))
    return RecordInfluence(
        coefficients=basis @ (rotated + correction),
        leverage=leverage,
        residual=residual,
        pull=pull,
        residual_norm=norm,
        inverse_trace=float((basis**2).sum()),
        perfect=norm <= 1e-13 * size**0.5 * float(np.linalg.norm(target)) or norm == 0.0,
    )


def _triangle(batches: Iterator[Floats], width: int) -> Floats:
    """Returns the triangular factor of all batches stacked on top of each other."""
    stacked: Floats = np.empty((0, width))
    for part in batches:
        stacked = np.asarray(np.linalg.qr(np.concatenate([stacked, part]), mode="r"), dtype=np.float64)
    return stacked


def _check_rank(triangle: Floats, size: int) -> None:
    values = np.linalg.svd(triangle, compute_uv=False)
    if values[-1] > values[0] * np.finfo(float).eps * max(size**0.5, triangle.shape[1]) * 8.0:
        return
    seen = f"column {int(np.argmin(np.abs(np.diag(triangle))))}, a combination of the others"
    advice = "Drop one of them (two constant columns count as one)."
    raise invalid("features", "of full column rank", seen, advice)


def pareto_frontier(leverage: ArrayLike, residual_share: ArrayLike) -> NDArray[np.intp]:
    """Returns the records that no other exceeds in leverage and residual share, largest leverage first.

    Notes
    -----
    The larger direction of the exact `sketch_delta` grows in both arguments (on every grid tried; not
    proved), so the worst record over all ε is among these few. The "asymptotic" δ does not grow everywhere.
    O(n log n). Of several equal records the first is kept.

    Examples
    --------
    >>> pareto_frontier([0.1, 0.5, 0.3, 0.5], [0.4, 0.1, 0.3, 0.1]).tolist()
    [1, 2, 0]
    """
    lev, share = np.asarray(leverage, dtype=np.float64), np.asarray(residual_share, dtype=np.float64)
    order = np.lexsort((np.arange(lev.size), -share, -lev))
    best = np.maximum.accumulate(share[order])
    kept = np.concatenate([[True], best[1:] > best[:-1]]) if lev.size else np.zeros(0, dtype=bool)
    return np.asarray(order[kept], dtype=np.intp)
