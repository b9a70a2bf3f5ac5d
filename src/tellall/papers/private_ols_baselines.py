"""private-ols: the private least squares of the papers that it cites, beside its sketch, at one promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, sqrt

import numpy as np

import tellall as ta
from tellall.papers.claims import Array, NamedCase

__all__ = [
    "baselines",
]

_PROMISES = (0.01, 1.0)
_NAMES = {
    "SketchedLeastSquares": "sketch",
    "GaussianLeastSquares": "Gaussian noise on coefficients",
    "ProjectedLeastSquares": "ridge by projection (Sheffet, RP LS)",
    "WishartLeastSquares": "Wishart noise (Sheffet)",
    "AnalyzeGaussLeastSquares": "Analyze Gauss",
}


def baselines(
    name: str, features: Array, response: Array, rng: object = None, promises: Sequence[float] = _PROMISES
) -> Iterator[NamedCase]:
    """The errors of all methods, calibrated to (ε, 1/n) on columns between 0 and 1; nothing here is drawn."""
    x, y = _shrunk(features), _shrunk(response[:, None])[:, 0]
    columns = x.shape[1] + 1
    nothing = float((ta.privacy.influence(x, y).coefficients ** 2).sum())
    delta = 1.0 / len(y)
    for epsilon in promises:
        methods = ta.standard_methods(x, y, epsilon=epsilon, delta=delta, row_bound=sqrt(columns))
        errors = {_NAMES[type(one).__name__]: one.expected_error(x, y) for one in methods}
        said = [f"{one} {error:.3g}" for one, error in errors.items() if isfinite(error)]
        if "sketch" not in errors:
            said.insert(0, "no sketch keeps it")
        words = {"data": name, "epsilon": epsilon, "delta": delta, "columns": columns}
        yield "baselines", {**words, "nothing": nothing, "said": ", ".join(said)}


def _shrunk(columns: Array) -> Array:
    low, high = columns.min(axis=0), columns.max(axis=0)
    flat = low == high
    return np.where(flat, 1.0, (columns - low) / np.where(flat, 1.0, high - low))
