"""Statistics: one file per kind, with its formula, its sensitivity and its linearisation side by side."""

from __future__ import annotations

from tellall.release.statistics.base import Statistic
from tellall.release.statistics.cell_counts import CellCounts
from tellall.release.statistics.cell_means import CellMeans
from tellall.release.statistics.correlations import Correlations
from tellall.release.statistics.error_rates import ErrorRates
from tellall.release.statistics.estimators import Estimator
from tellall.release.statistics.extremes import Extremes
from tellall.release.statistics.marginals import Marginals, Tables
from tellall.release.statistics.means import Means
from tellall.release.statistics.predicates import Predicates
from tellall.release.statistics.printed_cells import PrintedCells
from tellall.release.statistics.subset_counts import SubsetCounts
from tellall.release.statistics.sums import Sums
from tellall.release.statistics.survival import SurvivalCurve

__all__ = [
    "CellCounts",
    "CellMeans",
    "Correlations",
    "ErrorRates",
    "Estimator",
    "Extremes",
    "Marginals",
    "Means",
    "PrintedCells",
    "Predicates",
    "Statistic",
    "SubsetCounts",
    "Sums",
    "SurvivalCurve",
    "Tables",
]
