"""Solvers: minimise a norm of A x − z. They know nothing of privacy."""

from tellall.solve.base import SETTLED, Solution, Status
from tellall.solve.exhaustive import Enumeration, Exhaustive, WholeProblem, WholeRange, whole_range
from tellall.solve.least_absolute import AbsoluteProblem, LeastAbsolute, PreparedAbsolute
from tellall.solve.least_squares import BoxProblem, LeastSquares, Prepared
from tellall.solve.section import SectionBound, section_upper_bound

__all__ = [
    "SETTLED",
    "AbsoluteProblem",
    "BoxProblem",
    "Enumeration",
    "Exhaustive",
    "LeastAbsolute",
    "LeastSquares",
    "Prepared",
    "PreparedAbsolute",
    "SectionBound",
    "Solution",
    "Status",
    "WholeProblem",
    "WholeRange",
    "section_upper_bound",
    "whole_range",
]
