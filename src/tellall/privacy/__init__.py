"""What differential privacy promises: δ(ε) in closed form or by one-dimensional quadrature.

Beside these profiles lie the bounds, private least squares, and the auditor of mechanisms.
"""

from __future__ import annotations

from types import ModuleType

from tellall.privacy.impossibility import UnboundedNeighbour, least_error, unbounded_neighbour
from tellall.privacy.normal_pair import normal_delta
from tellall.privacy.projection import (
    padding,
    projection_delta,
    projection_leverage,
    square_loss_expectation,
)
from tellall.privacy.record_influence import RecordInfluence, influence, pareto_frontier
from tellall.privacy.sketch import sketch_delta, sketch_pure_epsilon
from tellall.privacy.wishart import wishart_degrees, wishart_delta
from tellall.protections.profile import (
    PrivacyProfile,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_std,
    linear_loss_expectation,
)
from tellall.protections.promises import (
    approximate_delta,
    budget,
    concentrated_delta,
    laplace_delta,
    promise,
)

__all__ = [
    "PrivacyProfile",
    "RecordInfluence",
    "UnboundedNeighbour",
    "approximate_delta",
    "budget",
    "concentrated_delta",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_std",
    "influence",
    "laplace_delta",
    "least_error",
    "linear_loss_expectation",
    "normal_delta",
    "padding",
    "pareto_frontier",
    "projection_delta",
    "projection_leverage",
    "promise",
    "sketch_delta",
    "sketch_pure_epsilon",
    "square_loss_expectation",
    "unbounded_neighbour",
    "wishart_degrees",
    "wishart_delta",
]


def __getattr__(name: str) -> ModuleType:
    if name == "bounds":  # `ta.bounds`: imported when it is first used
        from importlib import import_module

        return import_module("tellall.privacy.bounds")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
