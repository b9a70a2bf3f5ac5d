"""What one attribute adds to a person's score: a formula per attack, in the ±1 coding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from tellall.algebra.operators.base import Array

__all__ = [
    "Contribution",
    "Correlation",
    "Homer",
    "LikelihoodRatio",
    "Truncated",
]


class Contribution(ABC):
    """What one attribute adds to a score: a function of the released mean and of the population's."""

    uses_population = True

    @abstractmethod
    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        """The contribution of value x, where q is released and w is the mean of `others` people."""


@dataclass(frozen=True)
class Correlation(Contribution):
    """⟨x, q⟩ (Figs. 1 and 3)."""

    uses_population = False

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return x * q


@dataclass(frozen=True)
class Truncated(Contribution):
    """⟨x, clip(q − w, ±2α)⟩ (Fig. 2); α infinite does not truncate."""

    alpha: float

    def weights(self, q: Array, w: Array) -> Array:
        """clip(q − w, ±2α)."""
        return np.clip(q - w, -2 * self.alpha, 2 * self.alpha)

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return x * self.weights(q, w)


@dataclass(frozen=True)
class LikelihoodRatio(Contribution):
    """ln P(x | in) − ln P(x | population), with half a person added to either side of each frequency."""

    n: float
    ploidy: int

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        size, pool = self.ploidy * self.n, self.ploidy * others
        inside = (size * (1 + q) / 2 + 0.5) / (size + 1)
        outside = (pool * (1 + w) / 2 + 0.5) / (pool + 1)
        share = (1 + np.asarray(x)) / 2
        with_it, without = np.log(inside / outside), np.log((1 - inside) / (1 - outside))
        return self.ploidy * (share * with_it + (1 - share) * without)


@dataclass(frozen=True)
class Homer(Contribution):
    """|x − w| − |x − q| on the 0/1 scale."""

    def of(self, x: Array | float, q: Array, w: Array, others: Array) -> Array:
        return (np.abs(x - w) - np.abs(x - q)) / 2
