"""Operators and solvers written outside tellall: the required methods are enough for the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tellall.linalg.operators.linear_operator import Array, IntArray, LinearOperator
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares
from tellall.linalg.solvers.solution import Solution, Status
from tellall.testing import check_operator, check_solver


class RunningSums(LinearOperator):
    """A[i, p] = weight[p]^power for p ≤ i: only what a subclass must supply."""

    def __init__(self, rows: int, weight: Array, power: int = 1, columns: IntArray | None = None) -> None:
        self.weight, self.power = weight, power
        self.columns = np.arange(weight.size) if columns is None else columns
        self.shape = (rows, self.columns.size)

    def _matrix(self) -> Array:
        below = self.columns <= np.arange(self.shape[0])[:, None]
        return below * self.weight[self.columns] ** self.power

    def matmat(self, block: Array) -> Array:
        return self._matrix() @ block

    def rmatmat(self, block: Array) -> Array:
        return self._matrix().T @ block

    def take(self, columns: IntArray) -> RunningSums:
        return RunningSums(self.shape[0], self.weight, self.power, self.columns[columns])

    def squared(self) -> RunningSums:
        return RunningSums(self.shape[0], self.weight, 2 * self.power, self.columns)


@pytest.mark.parametrize(("rows", "n"), [(7, 5), (1, 1), (3, 0), (0, 3)])
def test_an_operator_with_the_required_methods_alone(rows: int, n: int) -> None:
    operator = RunningSums(rows, np.random.default_rng(0).normal(size=n))
    check_operator(operator)
    check_operator(operator.T)


class Wrong(RunningSums):
    """One law broken at a time."""

    broken = ""

    def rmatmat(self, block: Array) -> Array:
        return super().rmatmat(block) * (1.01 if self.broken == "adjoint" else 1.0)

    def matmat(self, block: Array) -> Array:
        out = super().matmat(block)
        if self.broken == "argument" and block.shape[1] > 1:
            block *= 2
        return out

    def gram(self, weights: Array | None = None) -> Array:
        if self.broken == "zero weights" and weights is not None:
            weights = np.where(weights == 0, 1.0, weights)
        gram = super().gram(None if self.broken == "weights" else weights)
        return gram.astype(np.float32) if self.broken == "precision" else gram

    def squared(self) -> RunningSums:
        return self if self.broken == "squared" else super().squared()

    def take(self, columns: IntArray) -> RunningSums:
        if self.broken == "repeated" and np.unique(columns).size < columns.size:
            columns = np.unique(columns)
        return super().take(np.sort(columns) if self.broken == "take" else columns)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        ("adjoint", "⟨A u, v⟩"),
        ("argument", "change no argument"),
        ("weights", "gram equals"),
        ("precision", "double precision"),
        ("squared", "squared equals"),
        ("take", "take equals"),
        ("repeated", "take of repeated columns"),
        ("zero weights", "gram equals"),
    ],
)
def test_a_broken_law_is_named(broken: str, law: str) -> None:
    operator = Wrong(9, np.random.default_rng(1).normal(size=6))
    operator.broken = broken
    with pytest.raises(AssertionError, match=law):
        check_operator(operator)


@dataclass(frozen=True)
class CoordinateDescent:
    """A solver that knows nothing of tellall but the problem: one unknown after the other."""

    sweeps: int = 300
    clip: bool = True
    forget: bool = True
    lower: bool = True
    honest: bool = True

    def prepare(self, problem: BoxProblem) -> Descent:
        return Descent(problem, self)


class Descent:
    def __init__(self, problem: BoxProblem, options: CoordinateDescent) -> None:
        self.problem, self.options = problem, options
        matrix = problem.operator.to_dense()
        self.hessian = matrix.T @ (problem.weights[:, None] * matrix) + np.diag(problem.ridge)
        self.back: Any = matrix.T * problem.weights
        self.offset = problem.ridge * problem.center

    def solve(self, target: Array) -> Solution:
        if not self.options.honest:
            target = np.nan_to_num(target)
        low = self.problem.lower if self.options.lower else np.zeros(self.offset.size)
        right = self.back @ target + self.offset
        if not self.options.forget:
            self.offset = right
        x = self.problem.center.copy()
        for _ in range(self.options.sweeps):
            for p in range(x.size):
                x[p] += (right[p] - self.hessian[p] @ x) / self.hessian[p, p]
                if self.options.clip:
                    x[p] = np.clip(x[p], low[p], self.problem.upper[p])
        hopeless = Status("not converged", "give a target without missing numbers")
        return Solution(x, Status("solved") if np.isfinite(x).all() else hopeless)


def test_a_solver_with_prepare_and_solve_alone() -> None:
    check_solver(CoordinateDescent())
    check_solver(LeastSquares())
    check_solver(LeastSquares(gram_limit=0))


@pytest.mark.parametrize(
    ("solver", "law"),
    [
        (CoordinateDescent(sweeps=1), "projected gradient step"),
        (CoordinateDescent(clip=False), "stays above|stays below"),
        (CoordinateDescent(forget=False), "projected gradient step"),
        (CoordinateDescent(lower=False), "stays above the lower bound"),
        (CoordinateDescent(honest=False), "hopeless problem is not called solved"),
        (LeastSquares(gram_limit=0, gradient_steps=0, rounds=0, tolerance=1e9), "status is not converged"),
    ],
)
def test_a_solver_that_breaks_a_law_is_refused(solver: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_solver(solver)
