"""Weighted least squares with a ridge and a box, and the Gaussian posterior that goes with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.algebra.operators.device import HOST
from tellall.algebra.solvers.base import Array, count_probes, leading_directions, shrunk_variances
from tellall.algebra.solvers.box import BoxProblem, Prepared, on_host
from tellall.core.errors import invalid

__all__ = [
    "BoxProblem",
    "Factorised",
    "LeastSquares",
    "MatrixFree",
    "Prepared",
]

# Least squares in a box by the Gram matrix and its Cholesky factor.


@final
class Factorised(Prepared):
    """Gram matrix and Cholesky factor: O(n³) once, O(n²) per target."""

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        from scipy.linalg import lapack

        super().__init__(problem, options, HOST)
        self.hessian = problem.operator.gram(problem.weights)
        self.hessian[np.diag_indices_from(self.hessian)] += problem.ridge
        self.factor, info = lapack.dpotrf(self.hessian, lower=1, clean=1)
        if info != 0:
            raise invalid("weights", "such that the normal equations are positive definite", "they are not")

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        from scipy.linalg import cho_solve, lapack

        mean = cho_solve((self.factor, True), self._right_side(target))
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return mean, np.einsum("ij,ij->j", inverse, inverse)

    def _gradient_for(self, target: Array) -> Callable[[Any], Any]:
        right = self._right_side(target)
        return lambda x: self._hessian_product(x) - right

    def _right_side(self, target: Array) -> Array:
        """Aᵀ W z + ridge · center, in double precision whatever the operator's."""
        problem = self.problem
        weighted = (problem.weights * problem.check_target(target)).astype(np.float64, copy=False)
        return problem.operator.rmatvec(weighted) + problem.ridge * problem.center

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


# Least squares in a box by products with the operator alone.

_PROBING = 0.01  # far below the spread of a variance estimated from random probes


@final
class MatrixFree(Prepared):
    """Products only: O(iterations × one product), the operator's own memory, wherever the operator is."""

    _products_only = True
    _deflated: tuple[Any, Any] | None = None  # leading directions of the Hessian, once they are needed

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        self.operator = problem.operator.resident
        super().__init__(problem, options, self.operator.device)
        self.weights, self.ridge = self.device.put(problem.weights), self.device.put(problem.ridge)
        self._dtype = self.device.dtype(self.operator.dtype)
        # single precision cannot settle further than some of its own roundings
        self.tolerance = max(options.tolerance, 1000 * float(np.finfo(self.operator.dtype).eps))

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        n, device = self.problem.center.size, self.device
        everybody, zero = self.lower < self.upper, device.put(np.zeros(n))
        mean, _ = self._free_step(everybody, zero, self._gradient_for(target)(zero), self.tolerance)
        total, squares = zero, zero
        probes = count_probes(self.options.probes, n)
        for _ in range(probes):
            signs = device.put(rng.choice(np.array([-1.0, 1.0]), size=n))
            found = signs * self._free_step(everybody, zero, -signs, _PROBING)[0]
            total, squares = total + found, squares + found**2
        sums = (device.get(total), device.get(squares), probes)
        return device.get(mean), shrunk_variances(*sums, device.get(self._diagonal()), self.problem.ridge)

    def _gradient_for(self, target: Array) -> Callable[[Any], Any]:
        z = self.device.put(self.problem.check_target(target))
        center = self.device.put(self.problem.center)

        def gradient(x: Any) -> Any:
            return self._back(self._image(x) - z) + self.ridge * (x - center)

        return gradient

    def _hessian_product(self, vector: Any) -> Any:
        return self._back(self._image(vector)) + self.ridge * vector

    def _image(self, vector: Any) -> Any:
        return self.operator.matvec(self.device.xp.astype(vector, self._dtype, copy=False))

    def _back(self, rows: Any) -> Any:
        """Aᵀ W y."""
        return self.operator.rmatvec(self.device.xp.astype(self.weights * rows, self._dtype, copy=False))

    def _free_step(self, free: Any, x: Any, gradient: Any, accuracy: float) -> tuple[Any, Any]:
        """Conjugate gradients on the free unknowns, preconditioned."""
        goal = self._size(self.device.xp.where(free, -gradient, 0.0)) * accuracy**2
        limit = self.options.cg_iterations if self._deflated else self.options.patience
        x, gradient, done = self._conjugate_gradients(free, x, gradient, goal, limit)
        if not done and not self._deflated:
            product = on_host(self.device, self._scaled_product)
            found = leading_directions(product, x.shape[0], self.options.deflation)
            self._deflated = self.device.put(found[0]), self.device.put(found[1])
            x, gradient, _ = self._conjugate_gradients(free, x, gradient, goal, self.options.cg_iterations)
        return x, gradient

    def _conjugate_gradients(
        self, free: Any, x: Any, gradient: Any, goal: float, limit: int
    ) -> tuple[Any, Any, bool]:
        xp = self.device.xp
        residual = xp.where(free, -gradient, 0.0)
        direction = preconditioned = xp.where(free, self._precondition(residual), 0.0)
        size = float(residual @ preconditioned)
        for _ in range(limit):
            if self._size(residual) <= goal:
                return x, gradient, True
            image = self._hessian_product(direction)
            step = size / float(direction @ image)
            x = x + step * direction
            gradient = gradient + step * image
            residual = xp.where(free, -gradient, 0.0)
            preconditioned = xp.where(free, self._precondition(residual), 0.0)
            size, previous = float(residual @ preconditioned), size
            direction = preconditioned + (size / previous) * direction
        return x, gradient, self._size(residual) <= goal

    def _size(self, residual: Any) -> float:
        """The squared residual, each entry counted in units of its diagonal."""
        return float(residual @ (residual / self._diagonal()))

    def _precondition(self, residual: Any) -> Any:
        root = self.device.xp.sqrt(self._diagonal())
        scaled = residual / root
        if self._deflated:
            vectors, values = self._deflated
            share = vectors.T @ scaled
            scaled = scaled + vectors @ (((values[-1] + self._floor) / (values + self._floor) - 1) * share)
        return scaled / root

    @cached_property
    def _floor(self) -> float:
        """The usual part of the ridge in the diagonal."""
        return float(np.median(self.problem.ridge / self.device.get(self._diagonal())))

    def _scaled_product(self, vector: Any) -> Any:
        """The Hessian without its ridge, scaled to the size of its diagonal."""
        root = self.device.xp.sqrt(self._diagonal())
        inner = vector / root
        return (self._hessian_product(inner) - self.ridge * inner) / root

    def _diagonal(self) -> Any:
        return self._cached_diagonal

    @cached_property
    def _cached_diagonal(self) -> Any:
        weights = self.device.xp.astype(self.weights, self._dtype, copy=False)
        return self.operator.squared().rmatvec(weights) + self.ridge


@dataclass(frozen=True)
class LeastSquares:
    """Options of the least-squares solver.

    Parameters
    ----------
    gram_limit
        Up to this many unknowns the Gram matrix is formed and factorised; above, only products are used.
    tolerance
        Largest change of an unknown (relative to its box) that still counts as settled.
    gradient_steps
        Cheap steps tried first where only products are used.
    deflation, patience
        Directions deflated once conjugate gradients have taken more than `patience` iterations.
    probes
        Random vectors for the posterior variances where the inverse is not formed (fewer of them beyond a
        million unknowns, four at least); the standard error of the p-th is at most √(Σ_{q≠p} C_pq² / probes),
        and less where the variances are alike.

    Notes
    -----
    The box is handled by the primal-dual active set method: guess which unknowns sit on a bound, solve for
    the others, read the next guess off the gradient; it ends, usually in under ten rounds, at the exact
    minimiser. Should it cycle, accelerated projected gradient steps finish the work. One Cholesky
    factorisation per round (n³/3 flops) below the limit; above, projected gradient steps of Barzilai and
    Borwein's length first, which settle well-conditioned problems, then a few conjugate gradient steps a
    round, each two products with the operator. Where those are slow to settle (0/1 attributes have d + 1
    directions far above the others) a randomised Nyström approximation of the Hessian, `deflation` products
    once, becomes the preconditioner of every later step (Frangella, Tropp and Udell 2023).
    """

    gram_limit: int = 10_000
    tolerance: float = 1e-6
    rounds: int = 60
    cg_iterations: int = 500
    deflation: int = 300
    patience: int = 40
    gradient_steps: int = 20
    probes: int = 64

    def prepare(self, problem: BoxProblem) -> Prepared:
        """The problem made ready to be solved for many targets."""
        small = problem.operator.shape[1] <= self.gram_limit
        return Factorised(problem, self) if small else MatrixFree(problem, self)
