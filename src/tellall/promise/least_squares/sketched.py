"""Sketched least squares: private as it stands, exactly how much for this data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.core.errors import invalid
from tellall.promise.privacy.records import RecordInfluence, as_regression, influence, pareto_frontier
from tellall.promise.privacy.sketch import sketch_delta, sketch_pure_epsilon
from tellall.release.profile import (
    Floats,
    PrivacyProfile,
    as_numbers,
    as_probability,
    checked_epsilon,
    one_count,
)

__all__ = [
    "Chunks",
    "Sampler",
    "Seed",
    "SketchKind",
    "SketchedLeastSquares",
    "chunks",
    "gaussian_sketch",
    "hadamard_sketch",
    "sketched_profile",
]

# Random sketches of a regression: a few random combinations of all its records, in one pass.

Seed = int | np.random.Generator | None
SketchKind = Literal["gaussian", "hadamard"]
Chunks = Iterable[tuple[ArrayLike, ArrayLike]]
Sampler = Callable[[int, Seed], Floats]

# Records at a time; bounded so that the random block (records × sketch rows) stays near 32 MB.
_NUMBERS = 4_000_000


def chunks(features: ArrayLike | Chunks, response: ArrayLike | None) -> Iterator[tuple[Floats, Floats]]:
    """Pairs (features, response) of checked float64 blocks, from arrays or an iterator of pairs."""
    if response is not None:
        yield as_regression(features, response)  # type: ignore[arg-type]
        return
    if isinstance(features, np.ndarray) or not isinstance(features, Iterable):
        raise invalid("response", "given with an array of features", None)
    width = None
    for pair in features:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise invalid("features", "an iterator of (features, response) pairs", type(pair).__name__)
        table, target = as_regression(*pair)
        if width is not None and table.shape[1] != width:
            raise invalid("features", f"of {width} columns in every chunk", f"{table.shape[1]} columns")
        width = table.shape[1]
        yield table, target


def gaussian_sketch(
    blocks: Iterable[tuple[Floats, Floats]], rows: int, rng: np.random.Generator
) -> tuple[Floats, int]:
    """Π·[features, response] for a standard normal Π with `rows` rows, and the number of records seen.

    Each record draws its own `rows` normals, in order: the sketch does not depend on how records are grouped.
    O(n·rows·p) time, O(rows·p) memory beside one block.
    """
    total: Floats | None = None
    seen = 0
    for table, target in blocks:
        step = max(1, _NUMBERS // rows)
        for start in range(0, len(target), step):
            part = slice(start, start + step)
            joined = np.column_stack([table[part], target[part]])
            piece = rng.standard_normal((len(joined), rows)).T @ joined
            total = piece if total is None else total + piece
            seen += len(joined)
    if total is None:
        raise invalid("features", "a table with at least one row", "no rows")
    return total, seen


def hadamard_sketch(table: Floats, target: Floats, rows: int, rng: np.random.Generator) -> Floats:
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


def solve(sketch: Floats) -> Floats:
    """The least-squares coefficients of a sketch, by a singular value decomposition of scaled columns."""
    table, target = sketch[:, :-1], sketch[:, -1]
    scale = np.linalg.norm(table, axis=0)
    if (scale > 0.0).all():
        answer, _, rank, _ = np.linalg.lstsq(table / scale, target, rcond=None)
        if rank == table.shape[1]:
            return np.asarray(answer / scale, dtype=np.float64)
    raise invalid(
        "features", "of full column rank", "columns that are combinations of others", "Drop such columns."
    )


def student_sampler(fit: RecordInfluence, root: Floats, rows: int) -> Sampler:
    """Draws of the sketched solution with the law of the real algorithm, in O(p²) each.

    Notes
    -----
    A Gaussian matrix times the orthonormal factor of the data is a Gaussian matrix of p + 1 columns; its own
    triangular factor T (Bartlett: chi variables on the diagonal, normals above) is all that the solution
    needs: x̃ = x + ‖w‖ R⁻¹ T⁻¹ g. Same law as sketching all n records, without touching them.
    `root` is R⁻¹ with R the triangular factor of the features.
    """
    width = len(fit.coefficients)

    def sample(size: int, rng: Seed = None) -> Floats:
        generator = np.random.default_rng(rng)
        out = np.empty((size, width))
        step = max(1, _NUMBERS // width)
        for start in range(0, size, step):
            count = min(step, size - start)
            answer = np.empty((count, width))
            for j in range(width - 1, -1, -1):
                above = np.einsum(
                    "ij,ij->i", generator.standard_normal((count, width - 1 - j)), answer[:, j + 1 :]
                )
                diagonal = np.sqrt(generator.chisquare(rows - j, count))
                answer[:, j] = (generator.standard_normal(count) - above) / diagonal
            out[start : start + count] = fit.coefficients + fit.residual_norm * (answer @ root.T)
        return out

    return sample


@dataclass(frozen=True)
class SketchedLeastSquares:
    """Least squares on a random sketch of the data: `rows` random combinations of all records.

    Parameters
    ----------
    rows : int
        Rows of the sketch, at least the number of features. Fewer rows: more private, less accurate.
    sketch : {"gaussian", "hadamard"}
        A Gaussian sketch has an exact privacy profile. A subsampled randomised Hadamard sketch is faster; its
        profile is known by the black box only (`estimate_profile` on two `sampler`s).

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
        one_count("rows", self.rows)
        if self.sketch not in ("gaussian", "hadamard"):
            raise invalid("sketch", "'gaussian' or 'hadamard'", self.sketch)

    def fit(
        self, features: ArrayLike | Chunks, response: ArrayLike | None = None, rng: Seed = None
    ) -> Floats:
        """The released coefficients.

        `features` is an array (a memory map stays on disk), or an iterator of (features, response) chunks
        with `response` left out. One pass; O(n·rows·p) time for a Gaussian sketch, O(n log n·p) for a
        Hadamard one, which needs all records at once.
        """
        generator = np.random.default_rng(rng)
        if self.sketch == "gaussian":
            sketch, _ = gaussian_sketch(self._checked(features, response), self.rows, generator)
            return solve(sketch)
        if response is None:
            raise invalid("response", "given for a Hadamard sketch, which needs all records at once", None)
        table, target = next(self._checked(features, response))
        return solve(hadamard_sketch(table, target, self.rows, generator))

    def _checked(
        self, features: ArrayLike | Chunks, response: ArrayLike | None
    ) -> Iterator[tuple[Floats, Floats]]:
        for table, target in chunks(features, response):
            if self.rows < table.shape[1]:
                raise _too_few(self.rows, table.shape[1])
            yield table, target

    def profile(self, features: ArrayLike, response: ArrayLike, method: str = "exact") -> PrivacyProfile:
        """The privacy profile of `fit` on this data: δ(ε) of the worst record, one row zeroed.

        Notes
        -----
        Only the Pareto frontier of (leverage, residual share) is evaluated. O(n p²) once, then about a
        millisecond for each ε and frontier record.
        """
        self._exact_only()
        return sketched_profile(self._influence(features, response), rows=self.rows, method=method)

    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box.

        A Gaussian sketch draws from its triangular factor (same law, no pass over the records); a Hadamard
        sketch runs `fit` each time.
        """
        if self.sketch == "hadamard":

            def sample(size: int, rng: Seed = None) -> Floats:
                generator = np.random.default_rng(rng)
                return np.stack([self.fit(features, response, generator) for _ in range(size)])

            return sample
        fit = influence(features, response)
        if self.rows < len(fit.coefficients):
            raise _too_few(self.rows, len(fit.coefficients))
        table = np.asarray(features, dtype=np.float64).reshape(len(fit.residual), -1)
        return student_sampler(fit, np.linalg.inv(np.linalg.qr(table, mode="r")), self.rows)

    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data; infinite for rows ≤ features + 1.

        ‖w‖² tr(BᵀB)⁻¹/(r − p − 1): the variance of the Student t law.
        """
        self._exact_only()
        return _mean_error(self._influence(features, response, perfect=True), self.rows)

    @classmethod
    def calibrate(
        cls, features: ArrayLike, response: ArrayLike, *, epsilon: float, delta: float
    ) -> SketchedLeastSquares:
        """The sketch with the most rows (the least noise) that is (ε, δ)-private on this data.

        δ grows with the rows, so whole numbers are halved: about thirty profiles.
        """
        eps, goal = checked_epsilon(epsilon), as_probability("delta", delta)
        fit = cls(max(1, np.shape(features)[1] if np.ndim(features) > 1 else 1))._influence(
            features, response
        )
        width = len(fit.coefficients)

        def meets(rows: int) -> bool:
            return float(sketched_profile(fit, rows=rows).delta(eps)) <= goal

        if not meets(width):
            least = float(sketched_profile(fit, rows=width).delta(eps))
            raise invalid(
                "epsilon, delta",
                f"within reach of a sketch of this data (with {width} rows, the fewest, δ is {least:.3g})",
                f"epsilon {eps:g}, delta {goal:g}",
            )
        low, high = width, 2 * width + 2
        while meets(high):
            low, high = high, 2 * high
            if high > 2**40:
                return cls(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if meets(middle) else (low, middle)
        return cls(low)

    @classmethod
    def for_error(cls, features: ArrayLike, response: ArrayLike, *, error: float) -> SketchedLeastSquares:
        """The sketch with the fewest rows whose expected squared error on this data is at most `error`."""
        wanted = float(as_numbers("error", error, rule="above zero", least=0.0, above=True))
        fit = influence(features, response)
        width = len(fit.coefficients)
        return cls(width + 1 + max(1, int(np.ceil(fit.residual_norm**2 * fit.inverse_trace / wanted))))

    def _influence(
        self, features: ArrayLike, response: ArrayLike, *, perfect: bool = False
    ) -> RecordInfluence:
        fit = influence(features, response)
        if self.rows < len(fit.coefficients):
            raise _too_few(self.rows, len(fit.coefficients))
        if fit.perfect and not perfect:
            raise invalid(
                "response",
                "not fitted exactly by the features",
                f"residuals of norm {fit.residual_norm:.3g}",
                "A sketch of a perfect fit returns the exact coefficients every time: it protects nobody.",
            )
        return fit

    def _exact_only(self) -> None:
        if self.sketch != "gaussian":
            raise invalid(
                "sketch",
                "'gaussian' for a profile or an error in closed form",
                self.sketch,
                "Estimate its profile with estimate_profile on two samplers.",
            )


def _too_few(rows: int, width: int) -> Exception:
    return invalid("rows", f"at least the number of features, {width}", rows, "Sketch to more rows.")


def _mean_error(fit: RecordInfluence, rows: int) -> float:
    spare = rows - len(fit.coefficients) - 1
    return fit.residual_norm**2 * fit.inverse_trace / spare if spare > 0 else float("inf")


def sketched_profile(
    fit: RecordInfluence,
    *,
    rows: int,
    method: str = "exact",
    records: int | None = None,
    mechanism: str = "sketched least squares",
) -> PrivacyProfile:
    """The profile of a Gaussian sketch of `rows` rows over the first `records` records of a fit."""
    if method not in ("exact", "asymptotic"):
        raise invalid("method", "'exact' or 'asymptotic'", method)
    width = len(fit.coefficients)
    leverage, share = fit.leverage[:records], fit.residual_share[:records]
    keep = pareto_frontier(leverage, share)
    lev, part = leverage[keep], share[keep]

    def curve(eps: Floats) -> Floats:
        return _largest(
            np.asarray(eps, dtype=np.float64),
            len(lev),
            lambda at, which: sketch_delta(at, lev[which], part[which], width, rows, method),
        )

    at_zero = sketch_delta(0.0, lev, part, width, rows, method)
    worst = int(keep[at_zero >= at_zero.max()].min())
    pure = float("inf")
    if method == "exact":
        pure = float(np.max(sketch_pure_epsilon(leverage, share, width, rows)))
    return PrivacyProfile(
        curve=curve,
        mechanism=f"{mechanism}, {rows} rows",
        method=method,
        pure_epsilon=pure,
        worst_record=worst,
        leverage=float(leverage[worst]),
        residual_share=float(share[worst]),
    )


def _largest(
    eps: Floats, records: int, delta: Callable[[Floats, NDArray[np.intp]], Floats], anchors: int = 8
) -> Floats:
    """max over records of δ at each ε, evaluating only the records that can be the largest.

    Each δ falls and is convex in e^ε. So between two anchors a record lies below its chord, and above both
    the chords of the neighbouring intervals, continued, and its value at the next anchor: a record whose
    chord lies below another's lower bound is not the largest there, for certain.
    """
    grid, back = np.unique(eps, return_inverse=True)
    everyone = np.arange(records)
    if records == 1 or grid.size <= anchors + 2:
        return np.asarray(delta(grid[:, None], everyone[None, :]).max(axis=1)[back])
    held = np.unique(np.linspace(0, grid.size - 1, anchors).round().astype(np.intp))
    known = delta(grid[held][:, None], everyone[None, :])
    out = np.empty(grid.size)
    out[held] = known.max(axis=1)
    # Measured from the largest ε, so that e^ε cannot overflow.
    place = np.exp(grid - grid[-1])
    rest = np.setdiff1d(np.arange(grid.size), held)
    right = np.searchsorted(held, rest)
    slopes = np.diff(known, axis=0) / np.maximum(np.diff(place[held]), 1e-300)[:, None]

    def line(interval: NDArray[np.intp]) -> Floats:
        start = held[interval]
        return np.asarray(known[interval] + slopes[interval] * (place[rest] - place[start])[:, None])

    chord = line(right - 1)
    floor = known[right]
    for shift in (-2, 0):
        beside = right + shift
        real = (beside >= 0) & (beside < len(slopes))
        floor = np.where(real[:, None], np.maximum(floor, line(np.clip(beside, 0, len(slopes) - 1))), floor)
    spot, which = np.nonzero(chord >= floor.max(axis=1, keepdims=True) - 1e-11)
    value = np.full((rest.size, records), -1.0)
    value[spot, which] = delta(grid[rest[spot]], which)
    out[rest] = value.max(axis=1)
    return out[back]
