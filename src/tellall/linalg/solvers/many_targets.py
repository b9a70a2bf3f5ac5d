"""Least squares for many targets at once: one decomposition, then products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import LinearOperator
from tellall.linalg.solvers.solution import Array

__all__ = [
    "ManySolutions",
    "ManyTargets",
    "MinimumNorm",
    "PreparedMinimumNorm",
]

_TOLERANCE = 1e-6  # the largest movement, in shares of the box, that counts as settled
_ITERATIONS = 800
_STEEPEST = 2500.0  # condition number above which steps would be too many: another solver is quicker
_LOOK = 20  # steps between two checks of which targets have settled


@dataclass(frozen=True, eq=False)
class ManySolutions:
    """The solutions for many targets, one column each.

    Attributes
    ----------
    value
        The minimiser in the box.
    mean, variance
        Of the Gaussian posterior, without the box.
    settled
        Which minimisers were found; the others are near and need another solver.
    """

    value: Array
    mean: Array
    variance: Array
    settled: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ManyTargets:
    """minimise ½ w Σ_j u_j (A x − z)_j² + ½ Σ_p (x_p − c_p π)²/(c_p π (1 − π)) over 0 ≤ x_p ≤ c_p.

    The operator A, the row weights u and the sizes c are given once; the target z, the weight w = 1/noise²
    and the rate π change from solve to solve. Or every unknown has a mean m_p and a variance v_p of its own
    beforehand, given once: then the ridge is (x_p − m_p)²/v_p, and what follows holds with v for c and λ = 1.

    Notes
    -----
    In y = x/√c the Hessian is w K + λ I with λ = 1/(π (1 − π)) and K = √c Aᵀ diag(u) A √c, so that one
    eigendecomposition K = Q diag(s) Qᵀ, O(n³), serves all draws, all scales of the noise and all rates: the
    posterior mean is Q (w s + λ)⁻¹ Qᵀ b and its variances are (Q∘Q) (w s + λ)⁻¹, two products of matrices
    for all targets together. The box is met by accelerated projected gradient steps on all targets at once,
    their lengths and momenta from the known eigenvalues (Nesterov), with restarts (O'Donoghue and Candès
    2015): about √((w s₁ + λ)/(w s_n + λ)) steps of 2 n² flops per target.

    Examples
    --------
    >>> from tellall.linalg.operators.linear_operator import Dense
    >>> sums = Dense([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    >>> ready = ManyTargets.of(sums, np.ones(3), np.ones(3))
    >>> found = ready.solve(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 100.0, np.array([0.5, 0.5]))
    >>> found.value.round(1).T.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    operator: LinearOperator
    row_weights: Array
    size: Array
    kernel: Array
    vectors: Array
    values: Array
    own: tuple[Array, Array] | None = None

    @classmethod
    def of(
        cls,
        operator: LinearOperator,
        row_weights: Array,
        size: Array,
        own: tuple[Array, Array] | None = None,
    ) -> ManyTargets:
        """The decomposition, ready for any target; ``own`` are the means and variances of the unknowns."""
        from scipy.linalg import eigh

        m, n = operator.shape
        if row_weights.shape != (m,) or size.shape != (n,) or (size <= 0).any():
            raise invalid("size", f"{n} numbers above zero, with {m} row weights", f"shape {size.shape}")
        even = bool(m) and bool((row_weights == row_weights[0]).all())
        # equal weights keep the closed form that an operator may have for its gram
        gram = operator.gram() * row_weights[0] if even else operator.gram(row_weights)
        root = np.sqrt(size if own is None else own[1])
        kernel = gram * root[:, None] * root
        values, vectors = eigh(kernel)
        return cls(operator, row_weights, size, kernel, vectors, np.maximum(values, 0.0), own)

    @property
    def root(self) -> Array:
        """The unit of each unknown in which the ridge is the same for all, as a column."""
        return np.asarray(np.sqrt(self.size if self.own is None else self.own[1])[:, None])

    def solve(self, targets: Array, weight: float, rates: Array) -> ManySolutions:
        """The minimiser and the posterior for each column of targets, with a rate for each.

        The rates do not matter if the unknowns have means and variances of their own.
        """
        m = self.operator.shape[0]
        if targets.ndim != 2 or targets.shape != (m, rates.size) or not np.isfinite(targets).all():
            raise invalid("targets", f"{m} finite numbers for each of {rates.size} rates", targets.shape)
        root = self.root
        ridge = 1 / (rates * (1 - rates)) if self.own is None else np.ones(rates.size)
        middle = rates * root if self.own is None else self.own[0][:, None] / root
        right = weight * root * self.operator.rmatmat(self.row_weights[:, None] * targets) + ridge * middle
        inverse = 1 / (weight * self.values[:, None] + ridge)
        mean = self.vectors @ (inverse * (self.vectors.T @ right))
        variance = self.vectors**2 @ inverse
        start = np.clip(mean, 0.0, self.size[:, None] / root)
        value, settled = self._boxed(start, right, weight, ridge)
        return ManySolutions(root * value, root * mean, root**2 * variance, settled)

    def _boxed(
        self, start: Array, right: Array, weight: float, ridge: Array
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The minimisers in the box 0 ≤ y ≤ c/root, from the starts."""
        root = self.size[:, None] / self.root
        diagonal = weight * self.kernel.diagonal()[:, None]
        steep = weight * self.values[-1:] + ridge
        flat = weight * self.values[:1] + ridge
        momentum = (np.sqrt(steep) - np.sqrt(flat)) / (np.sqrt(steep) + np.sqrt(flat))
        out = start.copy()
        settled = np.zeros(ridge.size, dtype=bool)
        open_ = np.flatnonzero(steep <= _STEEPEST * flat)
        if not open_.size:
            return out, settled
        y = ahead = start[:, open_]
        for count in range(_ITERATIONS + 1):
            if count % _LOOK == 0:
                slope = weight * (self.kernel @ y) + ridge[open_] * y - right[:, open_]
                moved = np.clip(y - slope / (diagonal + ridge[open_]), 0.0, root) - y
                done = np.abs(moved / root).max(axis=0, initial=0.0) <= _TOLERANCE
                out[:, open_] = y
                settled[open_[done]] = True
                if done.all():
                    break
                open_ = open_[~done]
                y = y[:, ~done]
                ahead = ahead[:, ~done]
            gradient = weight * (self.kernel @ ahead) + ridge[open_] * ahead - right[:, open_]
            new = np.clip(ahead - gradient / steep[open_], 0.0, root)
            onward = ((ahead - new) * (new - y)).sum(axis=0) <= 0  # else the momentum points uphill
            ahead = new + np.where(onward, momentum[open_], 0.0) * (new - y)
            y = new
        return out, settled


@dataclass(frozen=True)
class MinimumNorm:
    """Options of minimum-norm least squares, which is what numpy's ``lstsq`` computes.

    Parameters
    ----------
    rank_tolerance
        Singular values below this share of the largest count as zero; by default the larger dimension times
        the rounding unit, as in numpy.
    """

    rank_tolerance: float | None = None

    def prepare(self, operator: LinearOperator) -> PreparedMinimumNorm:
        """The decomposition A = U diag(s) Vᵀ, cut at the rank; forms the matrix, O(m n min(m, n))."""
        share = self.rank_tolerance
        if share is None:
            share = max(operator.shape) * float(np.finfo(np.float64).eps)
        if not 0 <= share < 1:
            raise invalid("rank_tolerance", "a share from 0 to below 1", share)
        matrix = np.asarray(operator.to_dense(), dtype=np.float64)
        left, singular, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int((singular > share * singular.max(initial=0.0)).sum())
        return PreparedMinimumNorm(left[:, :rank], singular[:rank], right[:rank])


@dataclass(frozen=True, eq=False)
class PreparedMinimumNorm:
    """A decomposition, cut at the rank."""

    left: Array
    singular: Array
    right: Array

    @property
    def rank(self) -> int:
        """How many singular values are not zero."""
        return self.singular.size

    def solve(self, targets: Array) -> Array:
        """The least-squares solution of least norm, for one target or for each column of many.

        Notes
        -----
        V diag(1/s) Uᵀ z: O((m + n) rank) per target, all of them in two products of matrices.

        Examples
        --------
        >>> from tellall.linalg.operators.linear_operator import Dense
        >>> ready = MinimumNorm().prepare(Dense([[1.0, 1.0, 0.0]]))
        >>> ready.solve(np.array([[2.0, 4.0]])).T.round(12).tolist()
        [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
        """
        if targets.ndim not in (1, 2) or targets.shape[0] != self.left.shape[0]:
            raise invalid("targets", f"{self.left.shape[0]} numbers, or columns of them", targets.shape)
        inside = (self.left.T @ targets).T / self.singular
        return self.right.T @ inside.T
