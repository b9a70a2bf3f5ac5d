"""The interface of private least squares, and the random sketches that two methods solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from tellall.core.errors import invalid
from tellall.privacy.record_influence import RecordInfluence, as_regression, influence
from tellall.protections.profile import Floats, PrivacyProfile

__all__ = [
    "Chunks",
    "PrivateLeastSquares",
    "Sampler",
    "Seed",
    "SketchSolver",
    "solve_sketch",
]

Seed = int | np.random.Generator | None
Chunks = Iterable[tuple[ArrayLike, ArrayLike]]
Sampler = Callable[[int, Seed], Floats]

# Records at a time; bounded so that the random matrix (records × sketch rows) stays near 32 MB.
_NUMBERS = 4_000_000


class PrivateLeastSquares(ABC):
    """A way to release least-squares coefficients, with its privacy profile on given data."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The method and its parameters, for tables."""

    @abstractmethod
    def fit(self, features: ArrayLike, response: ArrayLike, rng: Seed = None) -> Floats:
        """The released coefficients; no intercept is added."""

    @abstractmethod
    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box."""

    @abstractmethod
    def profile(self, features: ArrayLike, response: ArrayLike, method: str = "exact") -> PrivacyProfile:
        """The privacy profile of `fit` on this data: δ(ε) of the worst record, one row zeroed."""

    @abstractmethod
    def expected_error(self, features: ArrayLike, response: ArrayLike) -> float:
        """E‖x̃ − x‖² on this data, x the exact coefficients."""


class SketchSolver(PrivateLeastSquares):
    """Least squares on `rows` random normal combinations of all records: what the two sketches share."""

    rows: int

    def fit(
        self, features: ArrayLike | Chunks, response: ArrayLike | None = None, rng: Seed = None
    ) -> Floats:
        """The released coefficients.

        `features` is an array (a memory map stays on disk), or an iterator of (features, response) chunks
        with `response` left out. Each record draws its own normals, in order: the answer does not depend on
        how records are grouped. One pass; O(n·rows·p) time, O(rows·p) memory besides one chunk.
        """
        generator = np.random.default_rng(rng)
        total: Floats | None = None
        for table, target in self._chunks(features, response):
            step = max(1, _NUMBERS // self.rows)
            for start in range(0, len(target), step):
                joined = np.column_stack([table[start : start + step], target[start : start + step]])
                piece = generator.standard_normal((len(joined), self.rows)).T @ joined
                total = piece if total is None else total + piece
        if total is None:
            raise invalid("features", "a table with at least one row", "no rows")
        return solve_sketch(total)

    def sampler(self, features: ArrayLike, response: ArrayLike) -> Sampler:
        """A function (size, rng) that draws releases on this data, for the black box; O(p²) a draw.

        Notes
        -----
        A Gaussian matrix times the orthonormal factor of the data is a Gaussian matrix of p + 1 columns. The
        solution needs only its triangular factor T (Bartlett: chi variables on the diagonal, normals above):
        x̃ = x + ‖w‖ R⁻¹ T⁻¹ g, R the triangular factor of the features. The law is the same as for sketching
        all n records, but these are not touched.
        """
        table, target = self._data(features, response)
        fit, root = influence(table, target), np.linalg.inv(np.linalg.qr(table, mode="r"))
        width = table.shape[1]

        def sample(size: int, rng: Seed = None) -> Floats:
            generator = np.random.default_rng(rng)
            out = np.empty((size, width))
            step = max(1, _NUMBERS // width)
            for start in range(0, size, step):
                count = min(step, size - start)
                answer = np.empty((count, width))
                for j in range(width - 1, -1, -1):
                    normals = generator.standard_normal((count, width - 1 - j))
                    above = np.einsum("ij,ij->i", normals, answer[:, j + 1 :])
                    diagonal = np.sqrt(generator.chisquare(self.rows - j, count))
                    answer[:, j] = (generator.standard_normal(count) - above) / diagonal
                out[start : start + count] = fit.coefficients + fit.residual_norm * (answer @ root.T)
            return out

        return sample

    def _chunks(
        self, features: ArrayLike | Chunks, response: ArrayLike | None
    ) -> Iterator[tuple[Floats, Floats]]:
        """Pairs (features, response) of checked float64 tables, from arrays or an iterator of pairs."""
        if response is not None:
            yield self._checked(features, response)  # type: ignore[arg-type]
            return
        if isinstance(features, np.ndarray) or not isinstance(features, Iterable):
            raise invalid("response", "given with an array of features", None)
        width = None
        for pair in features:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise invalid("features", "an iterator of (features, response) pairs", type(pair).__name__)
            table, target = self._checked(*pair)
            if width is not None and table.shape[1] != width:
                raise invalid("features", f"of {width} columns in every chunk", f"{table.shape[1]} columns")
            width = table.shape[1]
            yield table, target

    def _checked(self, features: ArrayLike, response: ArrayLike) -> tuple[Floats, Floats]:
        table, target = as_regression(features, response)
        if self.rows < table.shape[1]:
            rule = f"at least the number of features, {table.shape[1]}"
            raise invalid("rows", rule, self.rows, "Sketch to more rows.")
        return table, target

    def _data(self, features: ArrayLike, response: ArrayLike) -> tuple[Floats, Floats]:
        """The records that are sketched, as one table."""
        tables, targets = zip(*self._chunks(features, response), strict=True)
        if len(tables) == 1:  # a memory map stays one
            return tables[0], targets[0]
        return np.concatenate(tables), np.concatenate(targets)

    def _variance(self, fit: RecordInfluence) -> float:
        """‖w‖² tr(BᵀB)⁻¹/(r − p − 1), the variance of the Student t law; infinite for rows ≤ features + 1."""
        spare = self.rows - len(fit.coefficients) - 1
        return fit.residual_norm**2 * fit.inverse_trace / spare if spare > 0 else float("inf")


def solve_sketch(sketch: Floats) -> Floats:
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
