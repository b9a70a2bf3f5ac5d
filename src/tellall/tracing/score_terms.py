"""What one attribute adds to a person's score: one formula per attack, in the ±1 coding.

| attack | a person with value x scores, where q is published and w is the mean of the other people |
| --- | --- |
| single, gaussian | x·q (Figs. 1 and 3) |
| pool | x·clip(q − w, ±2α) (Fig. 2); nothing is clipped without α |
| likelihood-ratio | ln P(x given q) − ln P(x given w), half a person added to either side of each frequency |
| homer | (abs(x − w) − abs(x − q))/2 |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tellall.linalg.operators.linear_operator import Array

__all__ = [
    "Contribution",
    "clipped",
    "contribution_of",
]


@dataclass(frozen=True)
class Contribution:
    """The formula of an attack, and whether it uses the mean of the population.

    ``of(x, q, w, others)`` is what value x adds where q is published and w is the mean of `others` people.
    """

    of: Callable[[Array | float, Array, Array, Array], Array]
    uses_population: bool = True


def contribution_of(attack: str, *, n: float, ploidy: int, alpha: float | None) -> Contribution:
    """Returns the formula of an attack on means of n people with `ploidy` draws each."""
    if attack == "pool":
        return Contribution(lambda x, q, w, others: x * clipped(q, w, alpha))
    if attack == "likelihood-ratio":
        return Contribution(lambda x, q, w, others: _log_ratio(x, q, w, ploidy * n, ploidy * others, ploidy))
    if attack == "homer":
        return Contribution(lambda x, q, w, others: (np.abs(x - w) - np.abs(x - q)) / 2)
    return Contribution(lambda x, q, w, others: x * q, uses_population=False)


def clipped(q: Array, w: Array, alpha: float | None) -> Array:
    """clip(q − w, ±2α); q − w without α."""
    limit = math.inf if alpha is None else 2 * alpha
    return np.clip(q - w, -limit, limit)


def _log_ratio(x: Array | float, q: Array, w: Array, size: float, pool: Array, ploidy: int) -> Array:
    inside = (size * (1 + q) / 2 + 0.5) / (size + 1)
    outside = (pool * (1 + w) / 2 + 0.5) / (pool + 1)
    share = (1 + np.asarray(x)) / 2
    with_it, without = np.log(inside / outside), np.log((1 - inside) / (1 - outside))
    return ploidy * (share * with_it + (1 - share) * without)
