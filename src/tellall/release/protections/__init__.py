"""What a curator does before publishing; noise laws of their own live in ``tellall.release.protections``."""

from __future__ import annotations

from tellall.release.protections.additive import Gaussian, Laplace, TruncatedNormal
from tellall.release.protections.base import (
    Protection,
    apply,
    as_protections,
    carry_out,
    is_random,
    noise_of,
    prepare,
)
from tellall.release.protections.calibrated import Combined, SuLQ, Trivial, WalshNoise
from tellall.release.protections.discrete import DiscreteGaussian, Geometric
from tellall.release.protections.guarantee import Guarantee, guarantee_of
from tellall.release.protections.keyed import CellKey, Complement
from tellall.release.protections.law import Array, Exact, Layout, Noise, Rng, Sum, as_rng
from tellall.release.protections.mixture import Corruption
from tellall.release.protections.records import Subsample, Swapping
from tellall.release.protections.rounding import Rounding
from tellall.release.protections.suppression import Suppression

__all__ = [
    "Array",
    "CellKey",
    "Combined",
    "Complement",
    "Corruption",
    "DiscreteGaussian",
    "Exact",
    "Gaussian",
    "Geometric",
    "Guarantee",
    "Laplace",
    "Layout",
    "Noise",
    "Protection",
    "Rng",
    "Rounding",
    "SuLQ",
    "Subsample",
    "Sum",
    "Suppression",
    "Swapping",
    "Trivial",
    "TruncatedNormal",
    "WalshNoise",
    "apply",
    "as_protections",
    "as_rng",
    "carry_out",
    "guarantee_of",
    "is_random",
    "noise_of",
    "prepare",
]

# Noise laws: one definition for the curator who adds it, the attacker who weighs it, and the tests.
