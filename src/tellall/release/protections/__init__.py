"""The kinds of protections that a curator can apply before publishing."""

from __future__ import annotations

from tellall.release.protections.additive import Gaussian, Laplace, TruncatedNormal
from tellall.release.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise
from tellall.release.protections.concentration import Dominance, PPercent
from tellall.release.protections.contributions import MultiplicativeNoise, TopCoding
from tellall.release.protections.discrete import DiscreteGaussian, Geometric
from tellall.release.protections.keyed import CellKey, Complement
from tellall.release.protections.mixture import Corruption
from tellall.release.protections.protection import Exact, Sum
from tellall.release.protections.records import Subsample, Swapping
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression

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
    "TopCoding",
    "Trivial",
    "TruncatedNormal",
    "WalshNoise",
]
