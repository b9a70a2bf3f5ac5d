"""Statistics: one file per kind, with its formula, its sensitivity and its linearisation side by side."""

from tellall.statistics.base import Equations, Statistic
from tellall.statistics.error_rates import ErrorRates
from tellall.statistics.estimators import Estimator
from tellall.statistics.marginals import Marginals
from tellall.statistics.means import Means
from tellall.statistics.predicates import Predicates
from tellall.statistics.subset_counts import SubsetCounts
from tellall.statistics.tables import Tables

__all__ = [
    "Equations",
    "ErrorRates",
    "Estimator",
    "Marginals",
    "Means",
    "Predicates",
    "Statistic",
    "SubsetCounts",
    "Tables",
]
