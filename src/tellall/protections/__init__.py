"""The kinds of protections that a curator can apply before publishing."""

from __future__ import annotations

from tellall.protections.additive import Gaussian, Laplace, TruncatedNormal
from tellall.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise
from tellall.protections.concentration import Dominance, PPercent
from tellall.protections.discrete import DiscreteGaussian, Geometric
from tellall.protections.keyed import CellKey, Complement
from tellall.protections.magnitudes import MultiplicativeNoise, TopCoding
from tellall.protections.mixture import Corruption
from tellall.protections.protection import Exact, Sum
from tellall.protections.record_changes import Subsample, Swapping
from tellall.protections.rounding import Rounding
from tellall.protections.suppression import Suppression
from tellall.protections.synthetic import SyntheticData

__all__ = [
    "CellKey",
    "Combined",
    "Complement",
    "Corruption",
    "DiscreteGaussian",
    "Dominance",
    "Exact",
    "Gaussian",
    "Geometric",
    "Laplace",
    "MultiplicativeNoise",
    "PPercent",
    "Rounding",
    "SuLQ",
    "Subsample",
    "Sum",
    "Suppression",
    "Swapping",
    "SyntheticData",
    "TopCoding",
    "Trivial",
    "TruncatedNormal",
    "WalshNoise",
]
