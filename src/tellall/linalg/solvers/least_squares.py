"""Weighted least squares with a ridge and a box, and the Gaussian posterior that goes with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tellall.core.errors import invalid
from tellall.core.work import doing
from tellall.linalg.operators.compose import SPARSE, DistinctRows, RowFactor
from tellall.linalg.operators.linear_operator import HOST, Device, LinearOperator, Mask
from tellall.linalg.solvers.singular_values import largest_eigenvalue, leading_directions
from tellall.linalg.solvers.solution import Array, Solution, Status, check_vector

__all__ = [
    "BoxProblem",
    "LeastSquares",
    "PreparedLeastSquares",
    "count_probes",
    "shrunk_variances",
]

Product = Callable[[Array], Array]  # a linear function of a vector, or its gradient

_UNSETTLED = 0.01  # an estimate that still moves by a hundredth of its scale is not a solution
_DEVIATIONS = 1e3  # the widest scale of an unknown, in its standard deviations given all others
_HIDDEN = 0.01  # the largest share of a ridge that rounding may hide
_INEXACT = 0.1  # how far conjugate gradients bring the gradient down before the active set is read again
_PROBING = 0.01  # far below the spread of a variance estimated from random probes
_ALL_PROBES = 2**20  # unknowns up to which all probes are affordable
_FEWEST = 4
_FEW_ROWS = 20  # unknowns per row from which the rows' side is factorised, sparse or not


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
            check_vector(name, getattr(self, name), size)
        if n and self.ridge.min() <= 0:
            raise invalid("ridge", "above zero", float(self.ridge.min()))
        if (self.upper <= self.lower).any():
            raise invalid("upper", "above lower", "a box without room")

    def check_target(self, target: Array) -> Array:
        """z, which must fit the operator."""
        return check_vector("target", target, self.operator.shape[0])


@dataclass(frozen=True)
class LeastSquares:
    """Options of the least-squares solver.

    Parameters
    ----------
    gram_limit
        Up to this many unknowns the Gram matrix is formed and factorised; above, only products are used.
    row_side
        From this many unknowns on, the rows' side is factorised instead if a sparse matrix has at most half
        as many distinct rows as unknowns, or any other matrix at most a twentieth.
    tolerance
        Largest change of an unknown that still counts as settled, relative to its box or to a thousand times
        its standard deviation given all others, whichever is narrower: a box may be wide for lack of limits.
    gradient_steps
        Cheap steps tried first if only products are used.
    deflation, patience
        Directions deflated once conjugate gradients have taken more than `patience` iterations. If an
        unknown has fewer entries than there are directions, deflated steps take longer than plain ones:
        patience is then as many times longer, and solves that need not be as exact go on without.
    probes
        Random vectors for the posterior variances if the inverse is not formed (fewer of them beyond a
        million unknowns, four at least); the standard error of the p-th is at most √(Σ_{q≠p} C_pq² / probes),
        and less if the variances are alike.

    Notes
    -----
    The box is handled by the primal-dual active set method: guess which unknowns sit on a bound, solve for
    the others, read the next guess off the gradient. It ends, usually in under ten rounds, at the exact
    minimiser. Should it cycle, accelerated projected gradient steps finish the work. One Cholesky
    factorisation per round (n³/3 flops) below the limit; above, projected gradient steps of Barzilai and
    Borwein's length first, which settle well-conditioned problems, then a few conjugate gradient steps per
    round, each two products with the operator. If those are slow to settle (0/1 attributes have d + 1
    directions far above the others), a randomised Nyström approximation of the Hessian, `deflation` products
    once, becomes the preconditioner of every later step (Frangella, Tropp and Udell 2023).
    """

    gram_limit: int = 10_000
    row_side: int = 500
    tolerance: float = 1e-6
    rounds: int = 60
    cg_iterations: int = 500
    deflation: int = 300
    patience: int = 40
    gradient_steps: int = 20
    probes: int = 64

    def prepare(self, problem: BoxProblem) -> PreparedLeastSquares:
        """Prepares the problem, to be solved for many targets."""
        m, n = problem.operator.shape
        entries = problem.operator.entries
        few = n / _FEW_ROWS
        if n >= self.row_side and (m <= few or entries <= SPARSE * m * n):
            rows = DistinctRows.within_reach(problem.operator)
            if rows is not None and len(rows) <= (min(self.gram_limit, n / 2) if rows.sparse else few):
                return _RowSide(problem, self, rows)
        return _Factorised(problem, self) if n <= self.gram_limit else _MatrixFree(problem, self)


class PreparedLeastSquares(ABC):
    """A problem that has been factorised, or scaled, once."""

    tolerance: float
    diagonal: Array  # of the Hessian Aᵀ W A + diag(ridge)

    def __init__(self, problem: BoxProblem, options: LeastSquares, device: Device) -> None:
        self.problem = problem
        self.options = options
        self.device = device
        self.lower = device.put(problem.lower)
        self.upper = device.put(problem.upper)

    @abstractmethod
    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """Mean and variances of the Gaussian posterior: C (Aᵀ W z + ridge · center) and the diagonal of C.

        C = (Aᵀ W A + diag(ridge))⁻¹: without the box, the posterior for a prior of that mean and precision.
        """

    @abstractmethod
    def _gradient_for(self, target: Array) -> Product:
        """The gradient Aᵀ W (A x − z) + ridge (x − center) as a function of x."""

    @abstractmethod
    def _hessian_product(self, vector: Array) -> Array:
        """(Aᵀ W A + diag(ridge)) x."""

    @abstractmethod
    def _free_step(self, free: Mask, x: Array, gradient: Array, accuracy: float) -> tuple[Array, Array]:
        """The minimiser over the free unknowns, with the others held at x, and the gradient there.

        ``accuracy`` is how far the free gradient must fall, for solvers that iterate.
        """

    def _start(self, x: Array, gradient_at: Product) -> tuple[Array, Array, Mask, float]:
        """Where the active set method starts: x, its gradient, the free unknowns, how far x moves."""
        return x, gradient_at(x), self.lower < self.upper, np.inf

    def solve(self, target: Array) -> Solution:
        """The minimiser in the box."""
        xp = self.device.xp
        lower = self.lower
        upper = self.upper
        gradient_at = self._gradient_for(target)
        x, gradient, free, residual = self._start(self.device.put(self.problem.center), gradient_at)
        rounds = 0
        while residual > self.tolerance and rounds < self.options.rounds:
            rounds += 1
            doing(f"least squares, round {rounds}")
            x, gradient = self._free_step(free, x, gradient, _INEXACT)
            step = x - gradient / self.diagonal
            residual = self._residual(x, gradient)
            if residual > self.tolerance and rounds < self.options.rounds:
                low = step <= lower
                high = step >= upper
                pinned = xp.where(low, lower, xp.where(high, upper, x))
                if not bool(xp.all(pinned == x)):
                    x = pinned
                    gradient = gradient_at(pinned)
                free = ~(low | high)
        x = xp.clip(x, lower, upper)
        if residual > self.tolerance:
            x = self._projected_gradient(x, gradient_at)
            residual = self._residual(x, gradient_at(x))
        status = Status("solved")
        if residual > _UNSETTLED:
            status = Status("not converged", f"the estimate still moves by {residual:.1e}; allow more rounds")
        return Solution(self.device.get(x), status, {"rounds": float(rounds), "stationarity": residual})

    def _projected_gradient(self, x: Array, gradient_at: Product, iterations: int = 2000) -> Array:
        """FISTA with restarts, from x."""
        xp = self.device.xp
        lower = self.lower
        upper = self.upper
        start = np.random.default_rng(0).normal(size=self.problem.center.size)
        steepest = 1.05 * largest_eigenvalue(self._on_host(self._hessian_product), start)
        momentum = 1.0
        ahead = x
        for _ in range(iterations):
            new = xp.clip(ahead - gradient_at(ahead) / steepest, lower, upper)
            moved = new - x
            if self._movement(moved) < self.tolerance / 10:
                return new
            if float((ahead - new) @ moved) > 0:  # the momentum points uphill: start again from here
                momentum = 1.0
                ahead = new
            else:
                following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
                ahead = new + (momentum - 1) / following * moved
                momentum = following
            x = new
        return x

    def _residual(self, x: Array, gradient: Array) -> float:
        """How far a projected gradient step, in units of the Hessian's diagonal, would move x."""
        return self._movement(self.device.xp.clip(x - gradient / self.diagonal, self.lower, self.upper) - x)

    def _movement(self, step: Array) -> float:
        """The largest step relative to its scale."""
        if not step.shape[0]:
            return 0.0
        xp = self.device.xp
        return float(xp.max(xp.abs(step) / self._scale))

    @cached_property
    def _scale(self) -> Array:
        """How far each unknown may reasonably be moved: see `LeastSquares.tolerance`."""
        xp = self.device.xp
        return xp.minimum(self.upper - self.lower, _DEVIATIONS / xp.sqrt(self.diagonal))

    def _on_host(self, product: Product) -> Product:
        """A product on the device, as a function of NumPy vectors."""
        return lambda vector: self.device.get(product(self.device.put(vector)))


@final
class _Factorised(PreparedLeastSquares):
    """Gram matrix and Cholesky factor: O(n³) once, O(n²) per target, in double precision."""

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        super().__init__(problem, options, HOST)
        self.tolerance = options.tolerance
        self.hessian = problem.operator.gram(problem.weights)
        self.hessian[np.diag_indices_from(self.hessian)] += problem.ridge
        self.diagonal = self.hessian.diagonal()
        self.factor = _cholesky(self.hessian, problem.ridge)

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        from scipy.linalg import cho_solve, lapack

        mean = cho_solve((self.factor, True), self._right_side(target))
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return mean, np.einsum("ij,ij->j", inverse, inverse)

    def _right_side(self, target: Array) -> Array:
        """Aᵀ W z + ridge · center."""
        problem = self.problem
        weighted = (problem.weights * problem.check_target(target)).astype(np.float64, copy=False)
        return problem.operator.rmatvec(weighted) + problem.ridge * problem.center

    def _gradient_for(self, target: Array) -> Product:
        right = self._right_side(target)
        return lambda x: self._hessian_product(x) - right

    def _hessian_product(self, vector: Array) -> Array:
        return self.hessian @ vector

    def _free_step(self, free: Mask, x: Array, gradient: Array, accuracy: float) -> tuple[Array, Array]:
        from scipy.linalg import cho_solve

        step = np.zeros(x.size)
        if free.all():
            step = np.asarray(cho_solve((self.factor, True), -gradient))
        elif free.any():
            factor = _cholesky(self.hessian[np.ix_(free, free)], self.problem.ridge[free])
            step[free] = cho_solve((factor, True), -gradient[free])
        return x + step, gradient + self._hessian_product(step)


def _cholesky(hessian: Array, ridge: Array) -> Array:
    """The lower Cholesky factor of a Hessian with this ridge.

    If values are so exact that rounding hides the ridge, the factor has a heavier one of the same shape. The
    gradient stays that of the problem, so that the minimum hardly moves.
    """
    from scipy.linalg import lapack

    eps = float(np.finfo(np.float64).eps)
    ratio = float((hessian.diagonal() / ridge).max(initial=0.0))
    more = 1000 * len(hessian) * eps * ratio
    for heavier in (more, 0.0) if eps * ratio > _HIDDEN else (0.0, more):
        matrix = hessian + np.diag(heavier * ridge) if heavier else hessian
        factor, info = lapack.dpotrf(matrix.T, lower=1, clean=1)  # symmetric
        if info == 0:
            return np.asarray(factor)
    raise invalid("weights", "such that the normal equations are positive definite", "they are not")


@final
class _RowSide(PreparedLeastSquares):
    """A factorisation as large as the distinct rows: see `RowFactor`."""

    def __init__(self, problem: BoxProblem, options: LeastSquares, rows: DistinctRows) -> None:
        super().__init__(problem, options, HOST)
        self.tolerance = options.tolerance
        self.rows = rows
        self.weights = rows.gather(problem.weights)
        self.diagonal = problem.operator.squared().rmatvec(problem.weights) + problem.ridge

    @cached_property
    def _everybody(self) -> RowFactor:
        return RowFactor(self.rows, self.weights, self.problem.ridge)

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        zero = np.zeros(self.problem.center.size)
        return self._everybody.solve(-self._gradient_for(target)(zero)), self._everybody.diagonal

    def _gradient_for(self, target: Array) -> Product:
        problem = self.problem
        weighted = problem.weights * problem.check_target(target)
        right = problem.operator.rmatvec(weighted) + problem.ridge * problem.center
        return lambda x: self._hessian_product(x) - right

    def _hessian_product(self, vector: Array) -> Array:
        inner = self.weights * self.rows.image(vector)
        return self.rows.back(inner) + self.problem.ridge * vector

    def _free_step(self, free: Mask, x: Array, gradient: Array, accuracy: float) -> tuple[Array, Array]:
        step: Array = np.zeros(x.size)
        some = np.flatnonzero(free)
        if some.size == x.size:
            step = self._everybody.solve(-gradient)
        elif self.rows.matrix is None:
            return self._conjugate_gradients(free, x, gradient, accuracy)
        elif some.size:
            factor = RowFactor(self.rows.take(some), self.weights, self.problem.ridge[some])
            step[some] = factor.solve(-gradient[some])
        return x + step, gradient + self._hessian_product(step)

    def _conjugate_gradients(
        self, free: Mask, x: Array, gradient: Array, accuracy: float
    ) -> tuple[Array, Array]:
        """The free step by conjugate gradients, preconditioned with the factor over all unknowns.

        A factor over the free unknowns alone would take longer: such large problems are kept only in blocks.
        """
        residual = np.where(free, -gradient, 0.0)
        direction = np.zeros(x.size)
        size = 0.0
        goal = None
        for _ in range(self.options.cg_iterations):
            better = np.where(free, self._everybody.solve(residual), 0.0)
            size, previous = float(residual @ better), size
            goal = accuracy**2 * size if goal is None else goal
            if size <= goal * (1 + 1e-12) and previous:
                break
            direction = better + (size / previous) * direction if previous else better
            image = self._hessian_product(direction)
            curve = float(direction @ image)
            if curve <= 0:
                break
            x, gradient = x + size / curve * direction, gradient + size / curve * image
            residual = np.where(free, -gradient, 0.0)
        return x, gradient


@final
class _MatrixFree(PreparedLeastSquares):
    """Products only: O(iterations × one product), the operator's own memory, precision and device."""

    _deflated: tuple[Array, Array] | None = None  # leading directions of the Hessian, once they are needed
    _slow = 0.0  # the least exact solve that lost patience without them

    def __init__(self, problem: BoxProblem, options: LeastSquares) -> None:
        self.operator = problem.operator.resident
        super().__init__(problem, options, self.operator.device)
        # single precision cannot settle beyond a multiple of its own rounding
        self.tolerance = max(options.tolerance, 1000 * float(np.finfo(self.operator.dtype).eps))
        self.weights = self.device.put(problem.weights)
        self.ridge = self.device.put(problem.ridge)
        self._dtype = self.device.dtype(self.operator.dtype)
        weights = self.device.xp.astype(self.weights, self._dtype, copy=False)
        self.diagonal = self.operator.squared().rmatvec(weights) + self.ridge
        self._root = self.device.xp.sqrt(self.diagonal)

    def posterior(self, target: Array, *, rng: np.random.Generator) -> tuple[Array, Array]:
        n = self.problem.center.size
        device = self.device
        everybody = self.lower < self.upper
        zero = device.put(np.zeros(n))
        mean, _ = self._free_step(everybody, zero, self._gradient_for(target)(zero), self.tolerance)
        total = zero
        squares = zero
        probes = count_probes(self.options.probes, n)
        for probe in range(probes):
            doing(f"least squares, probe {probe + 1} of {probes}")
            signs = device.put(rng.choice(np.array([-1.0, 1.0]), size=n))
            found = signs * self._free_step(everybody, zero, -signs, _PROBING)[0]
            total, squares = total + found, squares + found**2
        sums = (device.get(total), device.get(squares), probes)
        return device.get(mean), shrunk_variances(*sums, device.get(self.diagonal), self.problem.ridge)

    def _gradient_for(self, target: Array) -> Product:
        z = self.device.put(self.problem.check_target(target))
        center = self.device.put(self.problem.center)
        return lambda x: self._back(self._image(x) - z) + self.ridge * (x - center)

    def _hessian_product(self, vector: Array) -> Array:
        return self._back(self._image(vector)) + self.ridge * vector

    def _image(self, vector: Array) -> Array:
        return self.operator.matvec(self.device.xp.astype(vector, self._dtype, copy=False))

    def _back(self, rows: Array) -> Array:
        """Aᵀ W y."""
        return self.operator.rmatvec(self.device.xp.astype(self.weights * rows, self._dtype, copy=False))

    def _start(self, x: Array, gradient_at: Product) -> tuple[Array, Array, Mask, float]:
        """Takes projected gradient steps of Barzilai and Borwein's length, which are often enough alone.

        Each costs one gradient. They are in units of the Hessian's diagonal; short and long steps take turns.
        """
        xp = self.device.xp
        lower = self.lower
        upper = self.upper
        scale = self.diagonal
        gradient = gradient_at(x)
        length = 1.0
        residual = np.inf
        for count in range(self.options.gradient_steps):
            new = xp.clip(x - length * gradient / scale, lower, upper)
            new_gradient = gradient_at(new)
            moved = new - x
            bent = new_gradient - gradient
            x = new
            gradient = new_gradient
            along = float(moved @ bent)
            residual = self._residual(x, gradient)
            if residual <= self.tolerance or along <= 0:
                break
            if count % 2:
                length = float(moved @ (scale * moved)) / along
            else:
                length = along / float(bent @ (bent / scale))
        step = x - gradient / scale
        return x, gradient, (step > lower) & (step < upper), residual

    def _free_step(self, free: Mask, x: Array, gradient: Array, accuracy: float) -> tuple[Array, Array]:
        """Conjugate gradients on the free unknowns, preconditioned."""
        goal = self._size(self.device.xp.where(free, -gradient, 0.0)) * accuracy**2
        longer = self.options.deflation * x.shape[0] / max(1, self.operator.entries)  # a deflated step
        if accuracy > self._slow:
            patience = min(int(self.options.patience * max(1.0, longer)), self.options.cg_iterations)
            x, gradient, done = self._conjugate_gradients(free, x, gradient, goal, patience, self._scaled)
            if done:
                return x, gradient
            self._slow = accuracy if longer > 1 else np.inf
        if self._deflated is None:
            found = leading_directions(
                self._on_host(self._scaled_product), x.shape[0], self.options.deflation
            )
            self._deflated = self.device.put(found[0]), self.device.put(found[1])
        most = self.options.cg_iterations
        x, gradient, _ = self._conjugate_gradients(free, x, gradient, goal, most, self._deflate)
        return x, gradient

    def _conjugate_gradients(
        self,
        free: Mask,
        x: Array,
        gradient: Array,
        goal: float,
        limit: int,
        precondition: Product,
    ) -> tuple[Array, Array, bool]:
        xp = self.device.xp
        residual = xp.where(free, -gradient, 0.0)
        direction = preconditioned = xp.where(free, precondition(residual), 0.0)
        size = float(residual @ preconditioned)
        for _ in range(limit):
            if self._size(residual) <= goal:
                return x, gradient, True
            image = self._hessian_product(direction)
            step = size / float(direction @ image)
            x = x + step * direction
            gradient = gradient + step * image
            residual = xp.where(free, -gradient, 0.0)
            preconditioned = xp.where(free, precondition(residual), 0.0)
            size, previous = float(residual @ preconditioned), size
            direction = preconditioned + (size / previous) * direction
        return x, gradient, self._size(residual) <= goal

    def _size(self, residual: Array) -> float:
        """The squared residual, each entry counted in units of its diagonal."""
        return float(residual @ (residual / self.diagonal))

    def _scaled(self, residual: Array) -> Array:
        """The residual in units of the Hessian's diagonal."""
        return residual / self.diagonal

    def _deflate(self, residual: Array) -> Array:
        """The same, less so along the leading directions."""
        assert self._deflated is not None
        scaled, (vectors, values) = residual / self._root, self._deflated
        share = vectors.T @ scaled
        scaled = scaled + vectors @ (((values[-1] + self._floor) / (values + self._floor) - 1) * share)
        out: Array = scaled / self._root
        return out

    @cached_property
    def _floor(self) -> float:
        """The median share of the ridge in the Hessian's diagonal."""
        return float(np.median(self.problem.ridge / self.device.get(self.diagonal)))

    def _scaled_product(self, vector: Array) -> Array:
        """The Hessian without its ridge, scaled to the size of its diagonal."""
        inner = vector / self._root
        return (self._hessian_product(inner) - self.ridge * inner) / self._root


def count_probes(probes: int, unknowns: int) -> int:
    """How many probes this many unknowns get: fewer if each takes long, but at least four.

    Examples
    --------
    >>> [count_probes(64, n) for n in (20_000, 1_000_000, 10_000_000, 10**9)]
    [64, 64, 6, 4]
    """
    return max(min(_FEWEST, probes), min(probes, probes * _ALL_PROBES // max(unknowns, 1)))


def shrunk_variances(total: Array, squares: Array, count: int, diagonal: Array, ridge: Array) -> Array:
    """The diagonal of H⁻¹ from sums over probes v of v ∘ H⁻¹v and of its squares.

    ``diagonal`` is that of H = Aᵀ W A + diag(ridge).

    Notes
    -----
    Hutchinson: the mean of v ∘ H⁻¹v over independent signs is the diagonal of H⁻¹, entry p with the variance
    Σ_{q≠p} (H⁻¹)_pq² / count. In units of 1/H_pp the entries of people alike are alike, so each is shrunk
    towards the mean of all: the more so, the larger the part of that variance in the spread between them (the
    estimator of James and Stein, with the variance estimated from the probes). If the entries differ by more
    than the probes' noise, they are shrunk little. The bounds 1/H_pp ≤ (H⁻¹)_pp ≤ 1/ridge_p are kept.
    """
    least = 1 / diagonal
    most = 1 / ridge
    ratio = total / count * diagonal
    if count > 1 and ratio.size:
        noise = np.maximum(squares / count - (total / count) ** 2, 0.0) * diagonal**2 / (count - 1)
        usual = float(noise.mean())
        between = float(ratio.var())
        kept = max(between - usual, 0.0) / between if between > 0 else 1.0
        ratio = ratio.mean() + kept * (ratio - ratio.mean())
    return np.clip(ratio * least, least, most)
