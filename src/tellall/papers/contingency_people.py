"""Random people as in the contingency-tables paper, and its attack on them: plain least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.people.dataset import Dataset
from tellall.release.linearise import linearise
from tellall.release.release import publish
from tellall.release.statistics.base import Statistic

__all__ = [
    "Bits",
    "Plain",
    "bits_of",
    "plain_of",
    "random_people",
]

Bits = npt.NDArray[np.int8]


def bits_of(n: int, d: int, rng: np.random.Generator, rate: float | Array = 0.5) -> Bits:
    """n random people with d attributes each, of the given rates, no two people alike.

    Notes
    -----
    Equal people cannot be told apart by any table and would only blur what is shown; at these sizes few or
    none are drawn again.
    """
    kept = np.zeros((0, d), dtype=np.int8)
    while kept.shape[0] < n:
        drawn = (rng.random((n, d)) < rate).astype(np.int8)
        both = np.vstack([kept, drawn])
        kept = both[np.sort(np.unique(both, axis=0, return_index=True)[1])][:n]
    return kept


def random_people(n: int, d: int, rng: np.random.Generator, rate: float | Array = 0.5) -> Dataset:
    """Random people with a fair secret."""
    return Dataset.from_arrays(bits_of(n, d, rng, rate), secret=rng.integers(0, 2, n))


@dataclass(frozen=True, eq=False)
class Plain:
    """The paper's attack, prepared: x = M⁺ z without box or prior, rounded at 1/2 (Proposition 2.4).

    Attributes
    ----------
    operator
        M.
    secret
        s.
    """

    operator: LinearOperator
    secret: Array

    def wrong(self, errors: Array) -> npt.NDArray[np.intp]:
        """How many people it gets wrong for each column of errors in the published values."""
        return self._missed(self._moved(errors))

    def recovered(self, stds: Sequence[float], draws: int, rng: np.random.Generator) -> tuple[Array, ...]:
        """The share of people right in each draw of Gaussian noise, for each size: the same draws, scaled."""
        moved = self._moved(rng.normal(size=(self.operator.shape[0], draws)))
        return tuple(1 - self._missed(std * moved) / self.secret.size for std in stds)

    def _moved(self, errors: Array) -> Array:
        """M⁺ e for every column e: M⁺(M s + e) = s + M⁺ e, so the errors alone are solved for."""
        from scipy.linalg import cho_solve

        out: Array = cho_solve(self._factor, np.asarray(self.operator.rmatmat(errors), dtype=np.float64))
        return out

    def _missed(self, moved: Array) -> npt.NDArray[np.intp]:
        guess = self.secret[:, None] + moved >= 0.5
        return np.asarray((guess != (self.secret[:, None] == 1)).sum(axis=0))

    def predicted(self, std: float) -> float:
        """The share right to expect: mean over people of Φ(1/(2 sd_i)), sd_i² = std² [(MᵀM)⁻¹]_ii.

        What `tellall.promise.bounds.predict` gives, with one inverse for all sizes of the noise.
        """
        from scipy.special import ndtr

        return float(np.mean(ndtr(1 / (2 * std * self._leverage))))

    @cached_property
    def _leverage(self) -> Array:
        """√[(MᵀM)⁻¹]_ii."""
        from scipy.linalg import lapack

        inverse, _ = lapack.dtrtri(np.tril(self._factor[0]), lower=1)
        found: Array = np.sqrt(np.einsum("ij,ij->j", inverse, inverse))
        return found

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        from scipy.linalg import cho_factor

        factor, lower = cho_factor(np.asarray(self.operator.gram(), dtype=np.float64), lower=True)
        return factor, lower


def plain_of(people: Dataset, statistic: Statistic) -> Plain:
    """The paper's attack on a statistic of these people."""
    evidence = linearise(publish(people, statistic), people.public)
    return Plain(evidence.operator, people.bits.astype(np.float64))
