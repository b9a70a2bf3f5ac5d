"""The theorems as calculators: what noise privacy needs, what attacks can do, the geometry behind both."""

from __future__ import annotations

from tellall.bounds.composition import Composition, GaussianRelease, compose
from tellall.bounds.decoding import LpBound, Recovery, hamming, hamming_from_norm, lp, recovery
from tellall.bounds.gauge import Gauge, gauge, gauge_together
from tellall.bounds.geometry import SingularValues, singular_values
from tellall.bounds.mechanisms import Blr, NoisyTables, Sampled, blr, noisy_tables, sampled
from tellall.bounds.prediction import Prediction, predict, xor_accuracy
from tellall.bounds.private import LeastNoise, least_noise, prior_guess, row_guess
from tellall.bounds.rates import Rate
from tellall.bounds.row_products import RowProducts, row_products
from tellall.bounds.section import SectionBound, euclidean_section
from tellall.bounds.table import Table, table

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
