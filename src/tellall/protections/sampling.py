"""The errors in counts after changes to the records; they depend on the count itself.

A curator does not choose these laws: they follow from what is done to the people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tellall.protections.protection import Array, Exact, Noise, Rng, as_rng
from tellall.statistics.statistic import Equations

__all__ = ["ComplementLaw", "SamplingLaw", "SwappingLaw", "Unrelated"]


@dataclass(frozen=True)
class SamplingLaw(Noise):
    """The error of a count over ``kept`` of ``people``, drawn without replacement and scaled up to all.

    Notes
    -----
    If K of n people have a property and N are kept, the published (n/N) H, with H hypergeometric, has mean K
    and variance (n/N)² N (K/n)(1 − K/n)(n − N)/(n − 1), which for N = n/2, the sample of contingency-tables,
    Proposition B.1, is K(n − K)/(n − 1). ``std`` is its root at K = n/2. ``spread`` uses the posterior mean
    n (H + 1)/(N + 2) in place of K, so that a published zero is not taken as certain, but at most the number
    of people the value is about (or the value, if larger). A published value is ``unit`` times a count.
    """

    people: int
    kept: int
    unit: float = 1.0

    @property
    def varies(self) -> bool:
        return True

    @property
    def std(self) -> float:
        return self.unit * float(self.count_std(np.array(self.people / 2)))

    @property
    def bound(self) -> float:
        return 0.0 if self.kept == self.people else math.inf

    def count_std(self, count: Array) -> Array:
        """The standard deviation of the scaled count if the true one is ``count``."""
        n = self.people
        kept = self.kept
        if n < 2:
            return np.zeros(np.shape(count))
        rate = np.clip(count / n, 0.0, 1.0)
        return n / kept * np.sqrt(kept * rate * (1 - rate) * (n - kept) / (n - 1))

    def tail(self, distance: float) -> float:
        """A bound on the chance that a scaled count is off by ``distance`` or more.

        Notes
        -----
        Serfling: 2 exp(−2 (s N/n)²/(N (1 − (N − 1)/n))), whatever the count; the paper's exp(−2 s²/n) is
        too small (E-CT-7).
        """
        n = self.people
        kept = self.kept
        room = kept * (1 - (kept - 1) / n)
        return min(1.0, 2 * math.exp(-2 * (distance * kept / n) ** 2 / room))

    def spread(self, values: Array, equations: Equations) -> Array:
        counts = np.clip(np.nan_to_num(values / self.unit), 0.0, self.people)
        likely = self.people * (counts * self.kept / self.people + 1) / (self.kept + 2)
        return self.unit * self.count_std(np.minimum(likely, np.maximum(equations.squares, counts)))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        half = self.people // 2
        drawn = as_rng(rng).hypergeometric(half, self.people - half, self.kept, size)
        return self.unit * (drawn * (self.people / self.kept) - half)

    def scaled(self, factor: float) -> SamplingLaw:
        return replace(self, unit=self.unit * abs(factor))


@dataclass(frozen=True)
class SwappingLaw(Noise):
    """The error of a count after a ``fraction`` of all people exchanged secrets in random pairs.

    Notes
    -----
    A pair (i, j) moves A s by (a_i − a_j)(s_j − s_i). The variance is about
    fraction · (Σ a² − (Σ a)²/n) · 2π(1 − π), which for a cell of r people is
    fraction · r (1 − r/n) · 2π(1 − π). This is an approximation: π is estimated from a cell's own value as
    (K + 1)/(r + 2), and is 1/2 for rows of both signs. Cells far from the overall rate drift towards it by
    fraction · (π r − K), which is left out. ``std`` is its root at Σ a² = n, Σ a = 0, π = 1/2.
    """

    fraction: float
    people: int
    unit: float = 1.0

    @property
    def varies(self) -> bool:
        return True

    @property
    def std(self) -> float:
        return self.unit * math.sqrt(self.fraction * self.people / 2)

    def spread(self, values: Array, equations: Equations) -> Array:
        held = np.clip(np.abs(np.nan_to_num(equations.target / self.unit)), 0.0, equations.squares)
        rate = np.where(
            np.abs(equations.sums) == equations.squares, (held + 1) / (equations.squares + 2), 0.5
        )
        mixed = (equations.squares - equations.sums**2 / self.people) * 2 * rate * (1 - rate)
        return np.asarray(self.unit * np.sqrt(self.fraction * np.maximum(mixed, 0.0)))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return as_rng(rng).normal(0.0, self.std, size)

    def scaled(self, factor: float) -> SwappingLaw:
        return replace(self, unit=self.unit * abs(factor))


@dataclass(frozen=True)
class ComplementLaw(Noise):
    """The error if a ``fraction`` of the counts are of the people without the secret instead.

    Notes
    -----
    A s becomes A(1 − s) = Σ a − A s. The difference |Σ a − 2 A s| is the same for both, and the spread is
    √fraction times it. ``std`` is the largest spread, for a row about all ``people``.
    """

    fraction: float
    people: int
    unit: float = 1.0

    @property
    def ordinary(self) -> Noise:
        return Exact()

    @property
    def gross_share(self) -> float:
        return self.fraction if self.std else 0.0

    def turned(self) -> tuple[Noise, bool]:
        """The law of all counts complemented, if this complements more than half of them.

        Complementing a share f of the counts equals complementing all of them and then a share 1 − f again.
        """
        if self.fraction <= 1 / 2:
            return self, False
        return (replace(self, fraction=1 - self.fraction) if self.fraction < 1 else Exact()), True

    @property
    def varies(self) -> bool:
        return True

    @property
    def std(self) -> float:
        return self.unit * math.sqrt(self.fraction) * self.people

    def spread(self, values: Array, equations: Equations) -> Array:
        turned = np.abs(equations.sums - 2 * np.nan_to_num(equations.target) / self.unit)
        return np.asarray(self.unit * math.sqrt(self.fraction) * turned)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        generator = as_rng(rng)
        sign = generator.choice([-1.0, 1.0], size)
        return np.where(generator.random(size) < self.fraction, sign * self.people * self.unit, 0.0)

    def scaled(self, factor: float) -> ComplementLaw:
        return replace(self, unit=self.unit * abs(factor))


@dataclass(frozen=True)
class Unrelated(Noise):
    """The error of a value that does not depend on the people and so says nothing about them."""

    @property
    def std(self) -> float:
        return math.inf

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Array:
        return np.full(size, np.nan)

    def scaled(self, factor: float) -> Unrelated:
        return self
