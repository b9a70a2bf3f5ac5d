"""Private least squares: three ways to release coefficients, each with its privacy profile."""

from __future__ import annotations

from tellall.private_ols.noisy import GaussianLeastSquares
from tellall.private_ols.projected import ProjectedLeastSquares
from tellall.private_ols.sketched import SketchedLeastSquares
from tellall.private_ols.table import ProfileRow, ProfileTable, profile_table, standard_methods

__all__ = [
    "GaussianLeastSquares",
    "ProfileRow",
    "ProfileTable",
    "ProjectedLeastSquares",
    "SketchedLeastSquares",
    "profile_table",
    "standard_methods",
]
