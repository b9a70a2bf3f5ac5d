"""Statistics: one file per kind, with its formula, its sensitivity and its linearisation side by side."""

from tellall.statistics.base import Equations, Statistic
from tellall.statistics.estimators import Estimator
from tellall.statistics.marginals import Marginals
from tellall.statistics.means import Means

__all__ = ["Equations", "Estimator", "Marginals", "Means", "Statistic"]
