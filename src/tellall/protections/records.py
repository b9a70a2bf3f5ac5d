"""Changes to the records before anything is computed: swapped secrets, a random part of the people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tellall.data import Dataset, Public
from tellall.errors import invalid
from tellall.linops import IntArray
from tellall.noise import Array, Noise, Rng, as_rng
from tellall.noise.base import above_zero, share
from tellall.noise.sampling import Sampled, Swapped
from tellall.protections.base import Published, check_count, check_counts, needs_people

__all__ = ["Subsample", "Swapping"]


@dataclass(frozen=True)
class Swapping:
    """That fraction of the people exchange secrets, in random pairs.

    Parameters
    ----------
    fraction
        The share of people who swap; rounded down to an even number of them.
    people, unit
        Filled in when it is published: how many people, and what one person is worth in a published value.

    Notes
    -----
    Public columns and the number of people with the secret stay as they are. No privacy is promised; the law
    of the error is approximated, see ``tellall.noise.sampling.Swapped``.
    """

    filled: ClassVar[tuple[str, ...]] = ("people", "unit")

    fraction: float
    people: int | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", share("fraction", self.fraction))
        check_count("people", self.people)
        above_zero("unit", self.unit)

    def prepare(self, statistic: Published, public: Public) -> Swapping:
        """The same, knowing how many people there are."""
        check_counts(self, statistic)
        return replace(self, people=public.n, unit=1 / statistic.units(public))

    @property
    def law(self) -> Noise | None:
        """The law of the error of a value."""
        if self.people is None or self.fraction * self.people < 2:
            return None
        return Swapped(self.fraction, self.people, self.unit)

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
        return self.fraction > 0

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people after the exchange."""
        if dataset.secret is None:
            raise invalid("dataset", "one with a secret, to swap it", "no secret")
        pairs = int(self.fraction * dataset.n / 2 + 1e-9)
        chosen = as_rng(rng).permutation(dataset.n)[: 2 * pairs]
        secret = dataset.secret.copy()
        secret[chosen] = dataset.secret[np.concatenate([chosen[pairs:], chosen[:pairs]])]
        return replace(dataset, secret=secret)

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        raise needs_people(self)


@dataclass(frozen=True)
class Subsample:
    """The statistic of a random part of the people, counts scaled up to all of them.

    Parameters
    ----------
    fraction
        The share of people who are kept; at least one person is.
    people, unit
        Filled in when it is published: how many people, and what one person is worth in a published value.

    Notes
    -----
    N = round(fraction · n) people without replacement, counts times n/N (contingency-tables, Proposition
    B.1 with fraction 1/2); the error's law is ``tellall.noise.sampling.Sampled``, its tail Serfling's
    (E-CT-7). Not differentially private: whoever is in the sample is exposed as without it. The attacker
    treats the errors of different values as independent, which they are not.
    """

    filled: ClassVar[tuple[str, ...]] = ("people", "unit")

    fraction: float
    people: int | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", share("fraction", self.fraction, zero=False))
        check_count("people", self.people)
        above_zero("unit", self.unit)

    def prepare(self, statistic: Published, public: Public) -> Subsample:
        """The same, knowing how many people there are."""
        check_counts(self, statistic)
        return replace(self, people=public.n, unit=1 / statistic.units(public))

    def kept(self, n: int) -> int:
        """How many of n people are kept."""
        return max(1, int(self.fraction * n + 0.5))

    @property
    def law(self) -> Noise | None:
        """The law of the error of a value."""
        if self.people is None:
            return None
        return Sampled(self.people, self.kept(self.people), self.unit)

    @property
    def random(self) -> bool:
        """Whether publishing twice may give two answers."""
        return self.fraction < 1

    def chosen(self, n: int, rng: Rng = None) -> IntArray:
        """The places of those of n people who are kept."""
        return np.sort(as_rng(rng).permutation(n)[: self.kept(n)])

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people who are kept."""
        return dataset.take(self.chosen(dataset.n, rng))

    def perturb(self, values: Array, rng: Rng = None) -> Array:
        raise needs_people(self)
