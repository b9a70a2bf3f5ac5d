"""What the reader of a protected statistic loses: errors, tables that no longer look alike, wrong signs."""

from tellall.utility.coefficients import CoefficientUtility, Reader, coefficient_utility
from tellall.utility.tables import Utility, cramers_v, utility

__all__ = ["CoefficientUtility", "Reader", "Utility", "coefficient_utility", "cramers_v", "utility"]
