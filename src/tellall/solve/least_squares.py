"""Weighted least squares with a ridge and a box, and the Gaussian posterior that goes with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tellall.errors import invalid
from tellall.linops import HOST, LinearOperator, Place
from tellall.solve.base import Array, Solution, Status
from tellall.solve.eigenvalues import largest_eigenvalue, leading_directions
from tellall.solve.probes import count_probes, shrunk_variances

__all__ = ["BoxProblem", "LeastSquares", "Prepared"]

_PROBING = 0.01  # far below the spread of a variance estimated from random probes
_UNSETTLED = 0.01  # an estimate that still moves by a hundredth of its box is no solution
_INEXACT = 0.1  # how far conjugate gradients bring the gradient down before the active set is read again


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """minimise ½ Σ_j w_j (A x − z)_j² + ½ Σ_p ridge_p (x_p − center_p)² over lower_p ≤ x_p ≤ upper_p.

    Everything but the target z; the ridge must be positive, so that the minimiser is unique.
    """

    operator: LinearOperator
    weights: Array
    ridge: Array
    center: Array
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        for name, size in (("weights", m), ("ridge", n), ("center", n), ("lower", n), ("upper", n)):
            value: Array = getattr(self, name)
            if value.shape != (size,) or not np.isfinite(value).all():
                raise invalid(name, f"{size} finite numbers", f"shape {value.shape}")
        if n and self.ridge.min() <= 0:
            raise invalid("ridge", "above zero", float(self.ridge.min()))
        if (self.upper <= self.lower).any():
            raise invalid("upper", "above lower", "a box without room")

    def check_target(self, target: Array) -> Array:
        """z, where it fits the operator."""
        if target.shape != (self.operator.shape[0],) or not np.isfinite(target).all():
            raise invalid("target", f"{self.operator.shape[0]} finite numbers", f"shape {target.shape}")
        return target

    def right_side(self, target: Array) -> Array:
        """Aᵀ W z + ridge · center."""
        work = (self.weights * self.check_target(target)).astype(self.operator.dtype, copy=False)
        return self.operator.rmatvec(work) + self.ridge * self.center


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
        return _Factorised(problem, self) if small else _MatrixFree(problem, self)


class Prepared(ABC):
    """A problem that has been factorised, or scaled, once."""

    _products_only = False  # whether a product is all there is, so that steps must be cheap

    def __init__(self, problem: BoxProblem, options: LeastSquares, place: Place) -> None:
        self.problem = problem
        self.options = options
        self.place = place
        self.lower, self.upper = self.place.put(problem.lower), self.place.put(problem.upper)
        # single precision cannot settle further than some of its own roundings
        self.tolerance = max(options.tolerance, 1000 * float(np.finfo(problem.operator.dtype).eps))

    @abstractmethod
    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """Mean and variances of the Gaussian posterior: C (Aᵀ W z + ridge · center) and the diagonal of C.

        C = (Aᵀ W A + diag(ridge))⁻¹: without the box, the posterior for a prior of that mean and precision.
        """

    @abstractmethod
    def _gradient_for(self, target: Array) -> Callable[[Any], Any]:
        """The gradient Aᵀ W (A x − z) + ridge (x − center) as a function of x."""

    @abstractmethod
    def _hessian_product(self, vector: Any) -> Any:
        """(Aᵀ W A + diag(ridge)) x."""

    @abstractmethod
    def _free_step(self, free: Any, x: Any, gradient: Any, accuracy: float) -> tuple[Any, Any]:
        """From x, the minimiser over the free unknowns, the others held; and the gradient there.

        ``accuracy`` is how far the free gradient must fall, for solvers that iterate.
        """

    @abstractmethod
    def _diagonal(self) -> Any:
        """The diagonal of the Hessian."""

    def solve(self, target: Array) -> Solution:
        """The minimiser in the box."""
        xp, lower, upper = self.place.xp, self.lower, self.upper
        gradient_at = self._gradient_for(target)
        scale = self._diagonal()
        free = lower < upper
        x = self.place.put(self.problem.center)
        gradient = gradient_at(x)
        if self._products_only:
            x, gradient, residual = self._gradient_steps(x, gradient, gradient_at)
            if residual <= self.tolerance:
                return self._solution(x, Status("solved"), 0, residual)
            step = x - gradient / scale
            free = (step > lower) & (step < upper)
        rounds = 0
        while True:
            rounds += 1
            x, gradient = self._free_step(free, x, gradient, _INEXACT)
            step = x - gradient / scale
            residual = self._movement(xp.clip(step, lower, upper) - x)
            if residual <= self.tolerance or rounds == self.options.rounds:
                break
            low, high = step <= lower, step >= upper
            pinned = xp.where(low, lower, xp.where(high, upper, x))
            if not bool(xp.all(pinned == x)):
                x, gradient = pinned, gradient_at(pinned)
            free = ~(low | high)
        x = xp.clip(x, lower, upper)
        if residual > self.tolerance:
            x = self._projected_gradient(x, gradient_at)
            step = x - gradient_at(x) / scale
            residual = self._movement(xp.clip(step, lower, upper) - x)
        status = Status("solved")
        if residual > _UNSETTLED:
            status = Status("not converged", f"the estimate still moves by {residual:.1e}; allow more rounds")
        return self._solution(x, status, rounds, residual)

    def _solution(self, x: Any, status: Status, rounds: int, residual: float) -> Solution:
        return Solution(self.place.get(x), status, {"rounds": float(rounds), "stationarity": residual})

    def _gradient_steps(
        self, x: Any, gradient: Any, gradient_at: Callable[[Any], Any]
    ) -> tuple[Any, Any, float]:
        """Projected gradient steps of Barzilai and Borwein's length, each one product: often enough alone.

        In the units of the Hessian's diagonal; short and long steps take turns.
        """
        xp, lower, upper, scale = self.place.xp, self.lower, self.upper, self._diagonal()
        length, residual = 1.0, np.inf
        for count in range(self.options.gradient_steps):
            new = xp.clip(x - length * gradient / scale, lower, upper)
            new_gradient = gradient_at(new)
            moved, bent = new - x, new_gradient - gradient
            x, gradient = new, new_gradient
            residual = self._movement(xp.clip(x - gradient / scale, lower, upper) - x)
            along = float(moved @ bent)
            if residual <= self.tolerance or along <= 0:
                break
            if count % 2:
                length = float(moved @ (scale * moved)) / along
            else:
                length = along / float(bent @ (bent / scale))
        return x, gradient, residual

    def _projected_gradient(self, x: Any, gradient_at: Callable[[Any], Any], iterations: int = 2000) -> Any:
        """FISTA with restarts, from x."""
        xp, lower, upper, place = self.place.xp, self.lower, self.upper, self.place
        product = _on_host(place, self._hessian_product)
        lipschitz = largest_eigenvalue(product, self.problem.center.size)
        momentum, ahead = 1.0, x
        for _ in range(iterations):
            new = xp.clip(ahead - gradient_at(ahead) / lipschitz, lower, upper)
            moved = new - x
            if self._movement(moved) < self.tolerance / 10:
                return new
            if float((ahead - new) @ moved) > 0:  # the momentum points uphill: start again from here
                momentum, ahead = 1.0, new
            else:
                following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
                ahead = new + (momentum - 1) / following * moved
                momentum = following
            x = new
        return x

    def _movement(self, step: Any) -> float:
        """The largest step relative to its box."""
        if not step.shape[0]:
            return 0.0
        xp = self.place.xp
        return float(xp.max(xp.abs(step) / (self.upper - self.lower)))


@final
class _Factorised(Prepared):
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


@final
class _MatrixFree(Prepared):
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
            product = _on_host(self.place, self._scaled_product)
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


def _on_host(place: Place, product: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """The product of NumPy vectors by one of another place."""
    return lambda vector: place.get(product(place.put(vector)))
