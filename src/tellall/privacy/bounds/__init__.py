"""The theorems as calculators: how much noise privacy needs, what attacks can do, and the geometry behind."""

from __future__ import annotations

from tellall.linalg.solvers.section import SectionBound
from tellall.privacy.bounds.composition import Composition, GaussianRelease, compose
from tellall.privacy.bounds.decoding import (
    LpBound,
    Recovery,
    euclidean_section,
    hamming,
    hamming_from_norm,
    lp,
    recovery,
)
from tellall.privacy.bounds.gauge import Gauge, gauge, gauge_together
from tellall.privacy.bounds.geometry import SingularValues, singular_values
from tellall.privacy.bounds.mechanisms import Blr, NoisyTables, Sampled, blr, noisy_tables, sampled
from tellall.privacy.bounds.prediction import Prediction, predict, xor_accuracy
from tellall.privacy.bounds.row_products import RowProducts, row_products
from tellall.privacy.bounds.table import LeastNoise, Rate, Table, least_noise, prior_guess, row_guess, table

__all__ = [
    "Blr",
    "Composition",
    "Gauge",
    "GaussianRelease",
    "LeastNoise",
    "LpBound",
    "NoisyTables",
    "Prediction",
    "Rate",
    "Recovery",
    "RowProducts",
    "Sampled",
    "SectionBound",
    "SingularValues",
    "Table",
    "blr",
    "compose",
    "euclidean_section",
    "gauge",
    "gauge_together",
    "hamming",
    "hamming_from_norm",
    "least_noise",
    "lp",
    "noisy_tables",
    "predict",
    "prior_guess",
    "recovery",
    "row_guess",
    "row_products",
    "sampled",
    "singular_values",
    "table",
    "xor_accuracy",
]
