"""Changes to the records before anything is computed: swapping secrets, and sampling people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import IntArray
from tellall.people.dataset import Dataset
from tellall.protections.keyed import OfAFraction
from tellall.protections.protection import Exact, Noise, Rng, Unknown, as_rng
from tellall.protections.sampling import SamplingLaw, SwappingLaw

__all__ = ["Subsample", "Swapping"]


@dataclass(frozen=True)
class Swapping(OfAFraction):
    """A fraction of the people exchange secrets in random pairs.

    Parameters
    ----------
    fraction
        The share of people who swap, rounded down to an even number of people.
    people, unit
        Filled in when published: the number of people, and what one person is worth in a published value.

    Notes
    -----
    Public columns and the number of people with the secret do not change. No privacy is promised. The law of
    the error is an approximation; see ``tellall.protections.sampling.SwappingLaw``.
    """

    def pairs(self, n: int) -> int:
        """How many pairs of n people exchange secrets."""
        return int(self.fraction * n / 2 + 1e-9)  # room for rounding: 2/49 of 49 people are one pair

    @property
    def law(self) -> Noise:
        if self.people is None:
            return Unknown()
        swapped = self.pairs(self.people) > 0
        return SwappingLaw(self.fraction, self.people, self.unit) if swapped else Exact()

    @property
    def random(self) -> bool:
        return self.fraction > 0

    @property
    def doubt(self) -> str:
        return ""  # attacks allow for it: whoever has swapped holds somebody else's secret

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people after the exchange."""
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to swap it", "no secret")
        pairs = self.pairs(dataset.n)
        chosen = as_rng(rng).permutation(dataset.n)[: 2 * pairs]
        secret = dataset.secret.copy()
        secret[chosen] = dataset.secret[np.concatenate([chosen[pairs:], chosen[:pairs]])]
        return replace(dataset, secret=secret)


@dataclass(frozen=True)
class Subsample(OfAFraction):
    """The statistic of a random sample of the people, with counts scaled up to everybody.

    Parameters
    ----------
    fraction
        The share of people who are kept; at least one person is.
    people, unit
        Filled in when published: the number of people, and what one person is worth in a published value.

    Notes
    -----
    N = round(fraction · n) people are drawn without replacement, and counts are multiplied by n/N
    (contingency-tables, Proposition B.1 with fraction 1/2). The law of the error is ``SamplingLaw``, with
    Serfling's tail (E-CT-7). Not differentially private: people in the sample are as exposed as without it.
    The attacker treats the errors of different values as independent, which they are not.
    """

    none_allowed: ClassVar[bool] = False

    def left_of(self, n: int) -> int:
        """How many of n people are kept."""
        return max(1, int(self.fraction * n + 0.5))

    @property
    def law(self) -> Noise:
        if self.people is None:
            return Unknown()
        return SamplingLaw(self.people, self.left_of(self.people), self.unit)

    @property
    def random(self) -> bool:
        return self.fraction < 1

    @property
    def doubt(self) -> str:
        return "who was left out of the sample is not known" if self.fraction < 1 else ""

    @property
    def doubt_code(self) -> str:
        return "people-left-out"

    def chosen(self, n: int, rng: Rng = None) -> IntArray:
        """Which of n people are kept, by index."""
        return np.sort(as_rng(rng).permutation(n)[: self.left_of(n)])
