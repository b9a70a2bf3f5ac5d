"""Solvers: minimise a norm of A x − z, or average over all x. They know nothing of privacy."""

from tellall.solve.base import Solution, Status
from tellall.solve.certificate import hamming_certificate, hamming_from_image
from tellall.solve.count_problem import CountProblem, PosteriorSolution
from tellall.solve.counts import CountPrior, count_moments
from tellall.solve.least_squares import BoxProblem, LeastSquares, Prepared
from tellall.solve.posterior import Posterior, PreparedPosterior

__all__ = [
    "BoxProblem",
    "CountPrior",
    "CountProblem",
    "LeastSquares",
    "Posterior",
    "PosteriorSolution",
    "Prepared",
    "PreparedPosterior",
    "Solution",
    "Status",
    "count_moments",
    "hamming_certificate",
    "hamming_from_image",
]
