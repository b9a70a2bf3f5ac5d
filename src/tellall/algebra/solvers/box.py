"""Weighted least squares in a box: the problem, and the search for the active set that all solvers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tellall.algebra.operators.base import LinearOperator
from tellall.algebra.operators.device import Device
from tellall.algebra.solvers.base import Array, Solution, Status, largest_eigenvalue
from tellall.core.errors import invalid

if TYPE_CHECKING:
    from tellall.algebra.solvers.least_squares import LeastSquares

__all__ = [
    "BoxProblem",
    "Prepared",
    "on_host",
]

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


class Prepared(ABC):
    """A problem that has been factorised, or scaled, once."""

    _products_only = False  # whether a product is all there is, so that steps must be cheap

    def __init__(self, problem: BoxProblem, options: LeastSquares, device: Device) -> None:
        self.problem = problem
        self.options = options
        self.device = device
        self.lower, self.upper = self.device.put(problem.lower), self.device.put(problem.upper)
        self.tolerance = options.tolerance

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
        xp, lower, upper = self.device.xp, self.lower, self.upper
        gradient_at = self._gradient_for(target)
        scale = self._diagonal()
        free = lower < upper
        x = self.device.put(self.problem.center)
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
        return Solution(self.device.get(x), status, {"rounds": float(rounds), "stationarity": residual})

    def _gradient_steps(
        self, x: Any, gradient: Any, gradient_at: Callable[[Any], Any]
    ) -> tuple[Any, Any, float]:
        """Projected gradient steps of Barzilai and Borwein's length, each one product: often enough alone.

        In the units of the Hessian's diagonal; short and long steps take turns.
        """
        xp, lower, upper, scale = self.device.xp, self.lower, self.upper, self._diagonal()
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
        xp, lower, upper, device = self.device.xp, self.lower, self.upper, self.device
        product = on_host(device, self._hessian_product)
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
        xp = self.device.xp
        return float(xp.max(xp.abs(step) / (self.upper - self.lower)))


def on_host(device: Device, product: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """The product of NumPy vectors by one of another device."""
    return lambda vector: device.get(product(device.put(vector)))
