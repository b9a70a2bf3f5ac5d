"""Least squares in a box by the Gram matrix and its Cholesky factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tellall.errors import invalid
from tellall.linops import HOST
from tellall.solve.base import Array
from tellall.solve.box import BoxProblem, Prepared

if TYPE_CHECKING:
    from tellall.solve.least_squares import LeastSquares

__all__ = ["Factorised"]


@final
class Factorised(Prepared):
    """Gram matrix and Cholesky factor: O(n³) once, O(n²) per target."""

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        from scipy.linalg import lapack

        super().__init__(problem, options, HOST)
        self.hessian = np.asarray(problem.operator.gram(problem.weights), dtype=np.float64)
        self.hessian[np.diag_indices_from(self.hessian)] += problem.ridge
        self.factor, info = lapack.dpotrf(self.hessian, lower=1, clean=1)
        if info != 0:
            raise invalid("weights", "such that the normal equations are positive definite", "they are not")

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        from scipy.linalg import cho_solve, lapack

        mean = cho_solve((self.factor, True), self.problem.right_side(target))
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return mean, np.einsum("ij,ij->j", inverse, inverse)

    def _gradient_for(self, target: Array) -> Callable[[Any], Any]:
        right = self.problem.right_side(target)
        return lambda x: self._hessian_product(x) - right

    def _hessian_product(self, vector: Array) -> Array:
        out: Array = self.hessian @ vector
        return out

    def _free_step(self, free: Any, x: Any, gradient: Any, accuracy: float) -> tuple[Any, Any]:
        from scipy.linalg import cho_factor, cho_solve

        step = np.zeros(x.size)
        if free.all():
            step = np.asarray(cho_solve((self.factor, True), -gradient))
        elif free.any():
            block = self.hessian[np.ix_(free, free)]
            step[free] = cho_solve(cho_factor(block, lower=True, overwrite_a=True), -gradient[free])
        return x + step, gradient + self._hessian_product(step)

    def _diagonal(self) -> Array:
        return self.hessian.diagonal()
