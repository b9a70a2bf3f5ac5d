"""Solvers: minimise a norm of A x − z. They know nothing of privacy."""

from tellall.solve.base import SETTLED, Solution, Status
from tellall.solve.least_squares import BoxProblem, LeastSquares, Prepared

__all__ = ["SETTLED", "BoxProblem", "LeastSquares", "Prepared", "Solution", "Status"]
