"""The Euclidean-section constant from above: a vector on which the l1 norm is small for its l2 norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tellall.bounds.geometry import singular_values
from tellall.bounds.sizes import whole
from tellall.errors import invalid
from tellall.linops import Array, LinearOperator
from tellall.noise import Rng, as_rng

__all__ = ["SectionBound", "euclidean_section"]

_DESCENT_LIMIT = 2e9  # rows × columns² up to which each step factorises a weighted Gram matrix


@dataclass(frozen=True, eq=False)
class SectionBound:
    """An upper bound on the Euclidean-section constant α, with the vector that proves it.

    Attributes
    ----------
    alpha
        ‖A x‖₁/(√m ‖A x‖₂) at the witness: no α-section has a larger α.
    witness
        x.
    half_mass
        The share of the rows that hold half of ‖A x‖₁; near 1/2 · α where the mass is spread.
    gamma
        α²/4: LP decoding is guaranteed nothing from this share of wrong values on.
    """

    alpha: float
    witness: Array
    half_mass: float
    gamma: float

    def __repr__(self) -> str:
        return f"SectionBound: α ≤ {self.alpha:.4f}; no guarantee from {self.gamma:.2%} wrong values on"

    def as_dict(self) -> dict[str, Any]:
        """The numbers for JSON, without the witness."""
        return {"alpha": self.alpha, "half_mass": self.half_mass, "gamma": self.gamma}


def euclidean_section(
    operator: LinearOperator, *, starts: int = 4, iterations: int = 20, rng: Rng = 0
) -> SectionBound:
    """A certified upper bound on α, the largest with ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x.

    Parameters
    ----------
    operator
        A.
    starts, iterations
        Random starts, and descent steps from each start.
    rng
        Seed.

    Notes
    -----
    Any x gives an upper bound; α itself is not efficiently computable. Tried are the all-ones vector, the
    least singular vector, some rows of A, and random vectors, each improved (while m n² ≤ 2·10⁹) by x ← (Aᵀ
    D A)⁻¹ AᵀA x, D = diag(1/|A x|), which never raises the ratio: the l1 norm is majorised by a quadratic
    and the l2 norm replaced by its tangent. linear-reconstruction, Theorem 2.2; E-LR-1 for why α tends to
    zero for 0/1 products of attributes.

    Examples
    --------
    >>> from tellall.linops import Dense
    >>> euclidean_section(Dense(np.eye(4))).alpha
    0.5
    """
    if not isinstance(operator, LinearOperator):
        raise invalid("operator", "a LinearOperator such as evidence.operator", type(operator).__name__)
    whole("starts", starts, least=0), whole("iterations", iterations, least=0)
    generator = as_rng(rng)
    best: tuple[float, Array] = (np.inf, np.zeros(operator.shape[1]))
    for start in _starts(operator, starts, generator):
        value, vector = _descend(operator, start, iterations)
        if value < best[0]:
            best = (value, vector)
    if not np.isfinite(best[0]):
        raise invalid("operator", "one that is not zero", operator.shape)
    image = np.sort(np.abs(operator @ best[1]))[::-1]
    rows = int(np.searchsorted(np.cumsum(image), image.sum() / 2)) + 1
    return SectionBound(best[0], best[1], rows / image.size, best[0] ** 2 / 4)


def _starts(operator: LinearOperator, count: int, rng: np.random.Generator) -> list[Array]:
    n = operator.shape[1]
    found: list[Array] = [np.ones(n), np.eye(1, n)[0]]
    found.append(singular_values(operator, steps=20, rng=rng).least_vector)
    for _ in range(count):
        vector: Array = rng.normal(size=n)
        found.append(vector)
        # the row of A nearest to a random direction: rows of A make few entries of A x stand out
        unit = np.zeros(operator.shape[0], dtype=operator.dtype)
        unit[int(np.argmax(np.abs(operator @ vector)))] = 1
        found.append(np.asarray(operator.rmatvec(unit), dtype=np.float64))
    return found


def _ratio(operator: LinearOperator, vector: Array) -> tuple[float, Array]:
    image = np.asarray(operator @ vector, dtype=np.float64)
    norm = float(np.linalg.norm(image))
    if norm == 0:
        return np.inf, image
    return float(np.abs(image).sum()) / (norm * float(np.sqrt(image.size))), image


def _descend(operator: LinearOperator, vector: Array, iterations: int) -> tuple[float, Array]:
    """The ratio at the end of the descent, and its vector."""
    from scipy.linalg import lapack

    value, image = _ratio(operator, vector)
    m, n = operator.shape
    if not np.isfinite(value) or m * n**2 > _DESCENT_LIMIT:
        return value, vector
    for _ in range(iterations):
        weights = 1 / np.maximum(np.abs(image), 1e-8 * float(np.abs(image).max()))
        hessian = np.asarray(operator.gram(weights), dtype=np.float64)
        hessian[np.diag_indices(n)] += 1e-10 * hessian.diagonal().max()
        _, step, info = lapack.dposv(hessian, operator.rmatvec(image.astype(operator.dtype, copy=False)))
        if info != 0:
            break
        candidate = step / np.linalg.norm(step)
        new, image_new = _ratio(operator, candidate)
        if not new < value * (1 - 1e-6):
            break
        value, vector, image = new, candidate, image_new
    return value, vector
