"""What a curator does before publishing; noise laws of their own live in ``tellall.noise``."""

from tellall.protections.base import (
    Protection,
    apply,
    as_protections,
    carry_out,
    is_random,
    noise_of,
    prepare,
)
from tellall.protections.calibrated import Combined, SuLQ, Trivial
from tellall.protections.guarantee import Guarantee, guarantee_of
from tellall.protections.keyed import CellKey, Complement
from tellall.protections.records import Subsample, Swapping
from tellall.protections.suppression import Suppression
from tellall.protections.walsh import WalshNoise

__all__ = [
    "CellKey",
    "Combined",
    "Complement",
    "Guarantee",
    "Protection",
    "SuLQ",
    "Subsample",
    "Suppression",
    "Swapping",
    "Trivial",
    "WalshNoise",
    "apply",
    "as_protections",
    "carry_out",
    "guarantee_of",
    "is_random",
    "noise_of",
    "prepare",
]
