"""Random sketches of a regression: a few random combinations of all its records, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tellall.errors import invalid
from tellall.privacy.arguments import Floats
from tellall.privacy.records import RecordInfluence, as_regression

__all__ = ["Chunks", "Sampler", "Seed", "SketchKind", "chunks", "gaussian_sketch", "hadamard_sketch"]

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
