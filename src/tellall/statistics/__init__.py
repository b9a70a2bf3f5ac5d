"""Statistics: one file per kind, with its formula, its sensitivity and its linearisation side by side."""

from __future__ import annotations

from tellall.statistics.cell_counts import CellCounts
from tellall.statistics.cell_means import CellMeans
from tellall.statistics.correlations import Correlations
from tellall.statistics.error_rates import ErrorRates
from tellall.statistics.estimators import Estimator
from tellall.statistics.extremes import Extremes
from tellall.statistics.marginals import Marginals, Tables
from tellall.statistics.means import Means
from tellall.statistics.medians import Medians
from tellall.statistics.predicates import Predicates
from tellall.statistics.printed_cells import PrintedCells
from tellall.statistics.statistic import Statistic
from tellall.statistics.subset_counts import SubsetCounts
from tellall.statistics.sums import Sums
from tellall.statistics.survival import SurvivalCurve

__all__ = [
    "CellCounts",
    "CellMeans",
    "Correlations",
    "ErrorRates",
    "Estimator",
    "Extremes",
    "Marginals",
    "Means",
    "Medians",
    "Predicates",
    "PrintedCells",
    "Statistic",
    "SubsetCounts",
    "Sums",
    "SurvivalCurve",
    "Tables",
]
