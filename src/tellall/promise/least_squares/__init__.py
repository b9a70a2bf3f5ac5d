"""Private least squares: three ways to release coefficients, each with its privacy profile."""

from __future__ import annotations

from tellall.promise.least_squares.noisy import GaussianLeastSquares
from tellall.promise.least_squares.projected import ProjectedLeastSquares
from tellall.promise.least_squares.sketched import SketchedLeastSquares
from tellall.promise.least_squares.table import ProfileRow, ProfileTable, profile_table, standard_methods

__all__ = [
    "GaussianLeastSquares",
    "ProfileRow",
    "ProfileTable",
    "ProjectedLeastSquares",
    "SketchedLeastSquares",
    "profile_table",
    "standard_methods",
]
