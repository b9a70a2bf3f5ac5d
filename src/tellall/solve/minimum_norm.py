"""Minimum-norm least squares for many targets: one singular value decomposition, then products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellall.errors import invalid
from tellall.linops import LinearOperator
from tellall.solve.base import Array

__all__ = ["MinimumNorm", "PreparedMinimumNorm"]


@dataclass(frozen=True)
class MinimumNorm:
    """Options of minimum-norm least squares, what numpy's ``lstsq`` computes.

    Parameters
    ----------
    rank_tolerance
        Singular values below this share of the largest count as zero; where not given, the larger dimension
        times the rounding unit, as numpy has it.
    """

    rank_tolerance: float | None = None

    def prepare(self, operator: LinearOperator) -> PreparedMinimumNorm:
        """The decomposition A = U diag(s) Vᵀ, cut at the rank: O(m n min(m, n)), the matrix formed."""
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
        V diag(1/s) Uᵀ z: O((m + n) rank) a target, all of them in two products of matrices.

        Examples
        --------
        >>> from tellall.linops import Dense
        >>> ready = MinimumNorm().prepare(Dense([[1.0, 1.0, 0.0]]))
        >>> ready.solve(np.array([[2.0, 4.0]])).T.round(12).tolist()
        [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
        """
        if targets.ndim not in (1, 2) or targets.shape[0] != self.left.shape[0]:
            raise invalid("targets", f"{self.left.shape[0]} numbers, or columns of them", targets.shape)
        inside = (self.left.T @ targets).T / self.singular
        out: Array = self.right.T @ inside.T
        return out
