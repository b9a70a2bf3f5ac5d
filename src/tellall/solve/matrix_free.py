"""Least squares in a box by products with the operator alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tellall.solve.base import Array
from tellall.solve.box import BoxProblem, Prepared, on_host
from tellall.solve.eigenvalues import leading_directions
from tellall.solve.probes import count_probes, shrunk_variances

if TYPE_CHECKING:
    from tellall.solve.least_squares import LeastSquares

__all__ = ["MatrixFree"]

_PROBING = 0.01  # far below the spread of a variance estimated from random probes


@final
class MatrixFree(Prepared):
    """Products only: O(iterations × one product), the operator's own memory, wherever the operator is."""

    _products_only = True
    _deflated: tuple[Any, Any] | None = None  # leading directions of the Hessian, once they are needed

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        self.operator = problem.operator.resident
        super().__init__(problem, options, self.operator.place)
        self.weights, self.ridge = self.place.put(problem.weights), self.place.put(problem.ridge)
        self._dtype = self.place.dtype(self.operator.dtype)

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        n, place = self.problem.center.size, self.place
        everybody, zero = self.lower < self.upper, place.put(np.zeros(n))
        right = place.put(self.problem.right_side(target))
        mean, _ = self._free_step(everybody, zero, -right, self.tolerance)
        total, squares = zero, zero
        probes = count_probes(self.options.probes, n)
        for _ in range(probes):
            signs = place.put(rng.choice(np.array([-1.0, 1.0]), size=n))
            found = signs * self._free_step(everybody, zero, -signs, _PROBING)[0]
            total, squares = total + found, squares + found**2
        sums = (place.get(total), place.get(squares), probes)
        return place.get(mean), shrunk_variances(*sums, place.get(self._diagonal()), self.problem.ridge)

    def _gradient_for(self, target: Array) -> Callable[[Any], Any]:
        z = self.place.put(self.problem.check_target(target))
        center = self.place.put(self.problem.center)

        def gradient(x: Any) -> Any:
            return self._back(self._image(x) - z) + self.ridge * (x - center)

        return gradient

    def _hessian_product(self, vector: Any) -> Any:
        return self._back(self._image(vector)) + self.ridge * vector

    def _image(self, vector: Any) -> Any:
        return self.operator.matvec(self.place.xp.astype(vector, self._dtype, copy=False))

    def _back(self, rows: Any) -> Any:
        """Aᵀ W y."""
        return self.operator.rmatvec(self.place.xp.astype(self.weights * rows, self._dtype, copy=False))

    def _free_step(self, free: Any, x: Any, gradient: Any, accuracy: float) -> tuple[Any, Any]:
        """Conjugate gradients on the free unknowns, preconditioned."""
        goal = self._size(self.place.xp.where(free, -gradient, 0.0)) * accuracy**2
        limit = self.options.cg_iterations if self._deflated else self.options.patience
        x, gradient, done = self._conjugate_gradients(free, x, gradient, goal, limit)
        if not done and not self._deflated:
            product = on_host(self.place, self._scaled_product)
            found = leading_directions(product, x.shape[0], self.options.deflation)
            self._deflated = self.place.put(found[0]), self.place.put(found[1])
            x, gradient, _ = self._conjugate_gradients(free, x, gradient, goal, self.options.cg_iterations)
        return x, gradient

    def _conjugate_gradients(
        self, free: Any, x: Any, gradient: Any, goal: float, limit: int
    ) -> tuple[Any, Any, bool]:
        xp = self.place.xp
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
        root = self.place.xp.sqrt(self._diagonal())
        scaled = residual / root
        if self._deflated:
            vectors, values = self._deflated
            share = vectors.T @ scaled
            scaled = scaled + vectors @ (((values[-1] + self._floor) / (values + self._floor) - 1) * share)
        return scaled / root

    @cached_property
    def _floor(self) -> float:
        """The usual part of the ridge in the diagonal."""
        return float(np.median(self.problem.ridge / self.place.get(self._diagonal())))

    def _scaled_product(self, vector: Any) -> Any:
        """The Hessian without its ridge, scaled to the size of its diagonal."""
        root = self.place.xp.sqrt(self._diagonal())
        inner = vector / root
        return (self._hessian_product(inner) - self.ridge * inner) / root

    def _diagonal(self) -> Any:
        return self._cached_diagonal

    @cached_property
    def _cached_diagonal(self) -> Any:
        weights = self.place.xp.astype(self.weights, self._dtype, copy=False)
        return self.operator.squared().rmatvec(weights) + self.ridge
