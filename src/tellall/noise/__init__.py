"""Noise laws: one definition for the curator who adds it, the attacker who weighs it, and the tests."""

from tellall.noise.additive import Gaussian, Laplace, TruncatedNormal
from tellall.noise.base import Array, Exact, Noise, Rng, Sum, as_rng
from tellall.noise.discrete import DiscreteGaussian, Geometric
from tellall.noise.layout import Layout
from tellall.noise.mixture import Corruption
from tellall.noise.rounding import Rounding

__all__ = [
    "Array",
    "Corruption",
    "DiscreteGaussian",
    "Exact",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Layout",
    "Noise",
    "Rng",
    "Rounding",
    "Sum",
    "TruncatedNormal",
    "as_rng",
]
