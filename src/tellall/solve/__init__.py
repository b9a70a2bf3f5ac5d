"""Solvers: minimise a norm of A x − z, or average over all x. They know nothing of privacy."""

from tellall.solve.base import SETTLED, Solution, Status
from tellall.solve.certificate import hamming_certificate, hamming_from_image
from tellall.solve.count_problem import CountProblem, PosteriorSolution
from tellall.solve.counts import CountPrior, count_moments
from tellall.solve.exhaustive import Enumeration, Exhaustive, WholeProblem, WholeRange, whole_range
from tellall.solve.least_absolute import AbsoluteProblem, LeastAbsolute, PreparedAbsolute
from tellall.solve.least_squares import BoxProblem, LeastSquares, Prepared
from tellall.solve.posterior import Posterior, PreparedPosterior
from tellall.solve.section import SectionBound, section_upper_bound

__all__ = [
    "SETTLED",
    "AbsoluteProblem",
    "BoxProblem",
    "CountPrior",
    "CountProblem",
    "Enumeration",
    "Exhaustive",
    "LeastAbsolute",
    "LeastSquares",
    "Posterior",
    "PosteriorSolution",
    "Prepared",
    "PreparedAbsolute",
    "PreparedPosterior",
    "SectionBound",
    "Solution",
    "Status",
    "WholeProblem",
    "WholeRange",
    "count_moments",
    "hamming_certificate",
    "hamming_from_image",
    "section_upper_bound",
    "whole_range",
]
