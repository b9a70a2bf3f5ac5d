"""Sketched least squares: private without added noise, and exactly how private on this data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.core.checks import above_zero, at_least_zero, share, whole
from tellall.core.errors import NoAnswer, invalid
from tellall.privacy.least_squares.interface import Chunks, Sampler, Seed, SketchSolver, solve_sketch
from tellall.privacy.record_influence import RecordInfluence, influence, pareto_frontier
from tellall.privacy.sketch import sketch_delta, sketch_pure_epsilon
from tellall.protections.profile import Floats, PrivacyProfile

__all__ = [
    "MOST_ROWS",
    "SketchKind",
    "SketchedLeastSquares",
    "sketched_profile",
]

SketchKind = Literal["gaussian", "hadamard"]
MOST_ROWS = 10**9  # an array can have this many rows


@dataclass(frozen=True)
class SketchedLeastSquares(SketchSolver):
    """Least squares on a random sketch of the data: `rows` random combinations of all records.

    Parameters
    ----------
    rows : int
        Rows of the sketch, at least the number of features. Fewer rows are more private and less accurate.
    sketch : {"gaussian", "hadamard"}
        A Gaussian sketch has an exact privacy profile. A subsampled randomised Hadamard sketch is faster; its
        profile can only be estimated as a black box (`estimate_profile` on two `sampler`s).

    Notes
    -----
    x̃ = (ΠB)⁺Πb: private-ols, Algorithm 1 ("ALS"). `fit` adds no intercept: give a column of ones.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([np.ones(500), rng.standard_normal(500)])
    >>> y = x @ [1.0, 2.0] + rng.standard_normal(500)
    >>> method = SketchedLeastSquares(20)
    >>> method.fit(x, y, rng=1).shape
    (2,)
    >>> profile = method.profile(x, y)
    >>> bool(0 < profile.delta(0.1) < profile.delta(0.0) < 1)
    True
    >>> float(profile.delta(profile.pure_epsilon))
    0.0
    """

    rows: int
    sketch: SketchKind = "gaussian"

    def __post_init__(self) -> None:
        whole("rows", self.rows, most=MOST_ROWS)
        if self.sketch not in ("gaussian", "hadamard"):
            raise invalid("sketch", "'gaussian' or 'hadamard'", self.sketch)

    @property
    def name(self) -> str:
        return f"sketched, {self.rows} rows"

    def fit(
        self, features: ArrayLike | Chunks, response: ArrayLike | None = None, rng: Seed = None
    ) -> Floats:
        """The released coefficients, from arrays, memory maps or (features, response) chunks in one pass.

        O(n·rows·p) time for a Gaussian sketch; O(n log n·p) for a Hadamard one, which needs all records at
        once.
        """
        if self.sketch == "gaussian":
            return super().fit(features, response, rng)
        if response is None:
            raise invalid("response", "given for a Hadamard sketch, which needs all records at once", None)
        table, target = next(self._chunks(features, response))
        return solve_sketch(_hadamard_sketch(table, target, self.rows, np.random.default_rng(rng)))

    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box.

        A Gaussian sketch draws from its triangular factor (same law, no pass over the records); a Hadamard
        sketch runs `fit` each time.
        """
        if self.sketch == "gaussian":
            return super().sampler(features, response)

        def sample(size: int, rng: Seed = None) -> Floats:
            generator = np.random.default_rng(rng)
            return np.stack([self.fit(features, response, generator) for _ in range(size)])

        return sample

    def profile(self, features: ArrayLike, response: ArrayLike, method: str = "exact") -> PrivacyProfile:
        """The privacy profile of `fit` on this data: δ(ε) of the worst record, one row zeroed.

        Notes
        -----
        Only the Pareto frontier of (leverage, residual share) is evaluated. The exact δ is largest there. The
        "asymptotic" one, which is an approximation in any case, can be larger at another record. O(n p²)
        once, then about a millisecond for each ε and frontier record.
        """
        fit = _imperfect(self._influence(features, response))
        return sketched_profile(fit, rows=self.rows, method=method)

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data: ‖w‖² tr(BᵀB)⁻¹/(r − p − 1), infinite for rows ≤ features + 1."""
        return self._variance(self._influence(features, response))

    @classmethod
    def calibrate(
        cls, features: ArrayLike, response: ArrayLike, *, epsilon: float, delta: float
    ) -> SketchedLeastSquares:
        """Returns the sketch with the most rows (the least noise) that is (ε, δ)-private on this data.

        δ grows with the rows, so the number of rows is found by bisection, with about thirty profiles.
        """
        eps, goal = at_least_zero("epsilon", epsilon), share("delta", delta, zero=False, one=False)
        fit = _imperfect(influence(features, response))
        width = len(fit.coefficients)

        def meets(rows: int) -> bool:
            return bool(sketched_profile(fit, rows=rows).delta(eps) <= goal)

        if not meets(width):
            least = float(sketched_profile(fit, rows=width).delta(eps))
            rule = f"within reach of a sketch of this data (with {width} rows, the fewest, δ is {least:.3g})"
            raise NoAnswer(str(invalid("epsilon, delta", rule, f"epsilon {eps:g}, delta {goal:g}")))
        low, high = width, min(2 * width + 2, MOST_ROWS)
        while meets(high):
            if high == MOST_ROWS:
                return cls(high)
            low, high = high, min(2 * high, MOST_ROWS)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if meets(middle) else (low, middle)
        return cls(low)

    @classmethod
    def for_error(cls, features: ArrayLike, response: ArrayLike, *, error: float) -> SketchedLeastSquares:
        """The sketch with the fewest rows whose expected squared error on this data is at most `error`."""
        fit = influence(features, response)
        spare = fit.residual_norm**2 * fit.inverse_trace / above_zero("error", error)
        return cls(len(fit.coefficients) + 1 + max(1, int(np.ceil(spare))))

    def _influence(self, features: ArrayLike, response: ArrayLike) -> RecordInfluence:
        if self.sketch != "gaussian":
            raise invalid(
                "sketch",
                "'gaussian' for a profile or an error in closed form",
                self.sketch,
                "Estimate its profile with estimate_profile on two samplers.",
            )
        return influence(*self._data(features, response))


def _imperfect(fit: RecordInfluence) -> RecordInfluence:
    if fit.perfect:
        raise invalid(
            "response",
            "not fitted exactly by the features",
            f"residuals of norm {fit.residual_norm:.3g}",
            "A sketch of a perfect fit returns the exact coefficients every time: it protects nobody.",
        )
    return fit


def _hadamard_sketch(table: Floats, target: Floats, rows: int, rng: np.random.Generator) -> Floats:
    """`rows` random rows of H·signs·[features, response], H the Walsh–Hadamard matrix of the next power of 2.

    O(n log n · p) time and O(n·p) memory, against O(n·rows·p) for a Gaussian sketch.
    """
    size = 1 << max(0, (len(target) - 1).bit_length())
    if rows > size:
        raise invalid("rows", f"at most {size} for a Hadamard sketch of {len(target)} records", rows)
    padded = np.zeros((size, table.shape[1] + 1))
    signs = rng.choice([-1.0, 1.0], size=len(target))
    padded[: len(target), :-1] = table * signs[:, None]
    padded[: len(target), -1] = target * signs
    span = 1
    while span < size:
        pairs = padded.reshape(size // (2 * span), 2, span, -1)
        upper, lower = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = upper, lower
        span *= 2
    picked = rng.choice(size, size=rows, replace=False)
    # The scale is that of a Gaussian sketch: E ‖sketch·x‖² = rows·‖x‖² (the solution does not depend on it).
    return padded[picked]


def sketched_profile(
    fit: RecordInfluence,
    *,
    rows: int,
    method: str = "exact",
    records: int | None = None,
    mechanism: str = "sketched least squares",
) -> PrivacyProfile:
    """The profile of a Gaussian sketch of `rows` rows over the first `records` records of a fit."""
    width = len(fit.coefficients)
    leverage, shares = fit.leverage[:records], fit.residual_share[:records]
    keep = pareto_frontier(leverage, shares)

    def delta(eps: ArrayLike, which: NDArray[np.intp]) -> Floats:
        return sketch_delta(eps, leverage[keep[which]], shares[keep[which]], width, rows, method)

    at_zero = delta(0.0, np.arange(keep.size))
    worst = int(keep[at_zero >= at_zero.max()].min())
    pure = float("inf")
    if method == "exact":
        pure = float(np.max(sketch_pure_epsilon(leverage, shares, width, rows)))
    return PrivacyProfile(
        curve=lambda eps: _largest(np.asarray(eps, dtype=np.float64), keep.size, delta),
        mechanism=f"{mechanism}, {rows} rows",
        method=method,
        pure_epsilon=pure,
        worst_record=worst,
        leverage=float(leverage[worst]),
        residual_share=float(shares[worst]),
    )


def _largest(
    eps: Floats, records: int, delta: Callable[[Floats, NDArray[np.intp]], Floats], anchors: int = 8
) -> Floats:
    """Returns the largest δ over records at each ε, evaluating only the records that can be the largest.

    Each δ falls and is convex in e^ε. So between two anchors a record lies below its chord and above its
    value at the next anchor. A record whose chord lies below another's value there is not the largest.
    """
    grid, back = np.unique(eps, return_inverse=True)
    everyone = np.arange(records)
    if records == 1 or grid.size <= anchors + 2:
        return np.asarray(delta(grid[:, None], everyone[None, :]).max(axis=1)[back])
    held = np.unique(np.linspace(0, grid.size - 1, anchors).round().astype(np.intp))
    known = delta(grid[held][:, None], everyone[None, :])
    out = np.empty(grid.size)
    out[held] = known.max(axis=1)
    rest = np.setdiff1d(np.arange(grid.size), held)
    right = np.searchsorted(held, rest)
    low = grid[held[right - 1]]
    at = grid[rest]
    high = grid[held[right]]
    # (e^at − e^low)/(e^high − e^low), written so that nothing overflows or cancels.
    way = np.exp(at - high) * np.expm1(low - at) / np.expm1(low - high)
    chord = known[right - 1] + (known[right] - known[right - 1]) * way[:, None]
    value = known[right]
    spot, which = np.nonzero(chord >= value.max(axis=1, keepdims=True) - 1e-11)
    value[spot, which] = delta(grid[rest[spot]], which)
    out[rest] = value.max(axis=1)
    return out[back]
