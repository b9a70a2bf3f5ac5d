"""Planned releases before any data are published: their equations, their noise, the rank they can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from tellall.bounds.limit import Shown, shown
from tellall.data import Public
from tellall.errors import invalid
from tellall.linops import Array, IntArray, LinearOperator
from tellall.noise import Noise
from tellall.protections import Guarantee, Protection, SuLQ, as_protections, guarantee_of, noise_of, prepare
from tellall.statistics import Marginals, Predicates, Statistic
from tellall.statistics.base import Equations

__all__ = ["Part", "joint_rank"]


@dataclass(frozen=True, eq=False)
class Part:
    """A planned release: its equations, and what is done to its values."""

    statistic: Statistic
    protections: tuple[Protection, ...]
    operator: LinearOperator
    alike: IntArray
    gain: Array | float
    spread: Array
    law: Noise
    units: float

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        protect: Protection | Sequence[Protection] | None,
        view: Public,
        rng: np.random.Generator,
    ) -> Part:
        """The part, if its equations do not depend on what will be published."""
        if not isinstance(statistic, Statistic):
            raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
        protections = prepare(as_protections(protect), statistic, view)
        found = _equations(statistic, view, rng)
        if found.operator.shape[1] != view.n:
            raise invalid("statistic", "one about a secret of bits", statistic.describe())
        units = statistic.units(view)
        law = noise_of(protections).scaled(units)
        spread = _spread(found, law)
        return cls(statistic, protections, found.operator, found.alike, found.gain, spread, law, units)

    def shown(self, operator: LinearOperator) -> Shown | None:
        """How far apart it shows each person's two values, in an operator of chosen people."""
        laws = [step.noise if isinstance(step, SuLQ) and step.noise else step for step in self.protections]
        return shown(operator, laws, self.units, self.gain)

    @property
    def ignored(self) -> list[Protection]:
        """Protections that are not reckoned with."""
        return [
            step
            for step in self.protections
            if not isinstance(step, Noise) and getattr(step, "law", None) is None
        ]

    def promise(self, view: Public) -> Guarantee | None:
        """What its protections declare."""
        return guarantee_of(self.protections, self.statistic, view)


def joint_rank(statistics: Sequence[Statistic], public: Public) -> int:
    """The rank that no choice of people exceeds.

    Tables, and counts of a function of every choice of attributes, are sums of moments of fewer columns than
    their ways: moments that several have count once. Other statistics add their values, and so do the
    functions where that is less.
    """
    tables = [one for one in statistics if isinstance(one, Marginals)]
    functions = [one for one in statistics if isinstance(one, Predicates) and one.attributes is None]
    known = {id(one) for one in (*tables, *functions)}
    rest = sum(one.size(public) for one in statistics if id(one) not in known)
    whole = [one.ways for one in tables if one.attributes is None]
    chosen = {
        moment
        for one in tables
        if one.attributes is not None
        for places in one.sets(public)
        for moment in _moments(places)
    }
    free = [levels - 1 for levels in public.levels]

    def covered(ways: list[int]) -> int:
        """All moments of fewer columns than the largest, and the chosen ones beyond."""
        largest = max(ways, default=0)
        further = (moment for moment in chosen if len(moment) >= largest)
        common = _all_moments(largest, public) if ways else 0
        return common + sum(prod(free[place] for place in moment) for moment in further)

    apart = covered(whole) + sum(one.size(public) for one in functions)
    return rest + min(apart, covered([*whole, *(one.ways for one in functions)]))


def _all_moments(ways: int, public: Public) -> int:
    """Moments of fewer than `ways` columns: one for each choice of columns and of a value but the first."""
    sums = [1] + [0] * (ways - 1)
    for width in (levels - 1 for levels in public.levels):  # elementary symmetric polynomials
        for order in range(len(sums) - 1, 0, -1):
            sums[order] += width * sums[order - 1]
    return sum(sums)


def _moments(places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for order in range(len(places) + 1):
        yield from combinations(sorted(places), order)


def _equations(statistic: Statistic, public: Public, rng: np.random.Generator) -> Equations:
    """The equations, which must be the same whatever is published."""
    count = statistic.size(public)
    found = statistic.equations(public, np.zeros(count))
    other = statistic.equations(public, rng.normal(size=count))
    probe = rng.normal(size=found.operator.shape[1])
    if found.operator.shape != other.operator.shape or not np.allclose(
        found.operator @ probe, other.operator @ probe, rtol=1e-4, atol=1e-4
    ):
        raise invalid(
            "statistic",
            "one whose equations do not depend on the published values",
            statistic.describe(),
            "Publish it on a made-up secret and audit that.",
        )
    return found


def _spread(equations: Equations, law: Noise) -> Array:
    """The standard deviation that the attack reckons with in each row; infinite where a row says nothing."""
    rows = equations.target.size
    error = np.hypot(law.std * np.broadcast_to(equations.gain, rows), equations.doubt)
    spread = np.maximum(error, np.broadcast_to(equations.floor, rows))
    return np.where(np.isnan(equations.target), np.inf, spread)
