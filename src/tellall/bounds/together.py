"""The danger gauge of several releases together: their equations stacked, their precisions added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.bounds.gauge import Gauge, _equations, _notes, _spread, _structural_rank
from tellall.bounds.limit import Shown, joint_limit, shown
from tellall.bounds.prediction import predict
from tellall.data import Dataset, Public, as_public, group_rows
from tellall.errors import invalid
from tellall.linops import Array, IntArray, LinearOperator, Stack
from tellall.noise import Noise, Rng, as_rng
from tellall.protections import Protection, as_protections, noise_of
from tellall.protections.base import prepare
from tellall.statistics import Marginals, Predicates, Statistic

__all__ = ["Planned", "gauge_together"]

Planned = tuple[Statistic, Protection | Sequence[Protection] | None]


def gauge_together(
    releases: Iterable[Planned],
    public: Public | Dataset | npt.ArrayLike,
    *,
    rate: float = 0.5,
    rng: Rng = 0,
) -> Gauge:
    """The danger of publishing several statistics about the same people, for whoever holds them all.

    Parameters
    ----------
    releases
        Pairs of a statistic and what is to be done to its values.
    public, rate, rng
        As for `gauge`.

    Notes
    -----
    With Aʲ the equations of release j and Σʲ its noise, drawn independently, AᵀΣ⁻¹A = Σⱼ AʲᵀΣʲ⁻¹Aʲ: the
    precisions add, and the accuracy is predicted from the sum as for one release. People are told apart
    where any release does. Rank cap: tables, and functions of attributes, share moments, which count once;
    other statistics add their values. What no decoder beats: squared distances add, see `joint_limit`; None
    where one release allows no such statement. `std` is the smallest.

    Examples
    --------
    >>> from tellall.noise import Gaussian
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> both = gauge_together([(Marginals(3), Gaussian(6.0)), (Marginals(2), Gaussian(2.0))], bits)
    >>> both.equations, both.rank_cap, both.rank
    (576, 60, 60)
    """
    view = as_public(public)
    asked = list(releases)
    if not asked or not all(isinstance(one, tuple) and len(one) == 2 for one in asked):
        raise invalid("releases", "pairs of a statistic and its protections, one or more", asked)
    parts = [_Part.of(statistic, protect, view, as_rng(rng)) for statistic, protect in asked]
    told = group_rows(np.stack([part.alike for part in parts]))
    size = told.counts.astype(np.float64)
    operators = [part.operator.take(told.first) for part in parts]
    spread = np.concatenate([part.spread for part in parts])
    predicted = predict(Stack(operators), spread, size=size, rate=rate, rng=rng)
    seen = [part.shown(operator) for part, operator in zip(parts, operators, strict=True)]
    known = [one for one in seen if one is not None]
    said = int(np.isfinite(spread).sum())
    law = min((part.law for part in parts), key=lambda law: law.std)
    protections = [step for part in parts for step in part.protections]
    notes = _notes(protections, law, predicted.method, rate)
    return Gauge(
        statistic=" + ".join(dict.fromkeys(part.statistic.describe() for part in parts)),
        people=view.n,
        groups=len(told),
        equations=said,
        rank_cap=min(said, len(told), _joint_rank([part.statistic for part in parts], view)),
        rank=predicted.rank,
        std=law.std,
        accuracy=predicted.accuracy,
        with_prior=predicted.with_prior,
        limit=joint_limit(known, size, rate) if len(known) == len(parts) else None,
        error=predicted.error,
        method=predicted.method,
        notes=(*notes, "the noise of each release is taken as its own") if len(parts) > 1 else notes,
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the releases: its equations, and what is done to its values."""

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
    ) -> _Part:
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
        return shown(operator, self.protections, self.units, self.gain)


def _joint_rank(statistics: Sequence[Statistic], public: Public) -> int:
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
        common = _structural_rank(Marginals(largest), public) if ways else 0
        return common + sum(prod(free[place] for place in moment) for moment in further)

    apart = covered(whole) + sum(one.size(public) for one in functions)
    return rest + min(apart, covered([*whole, *(one.ways for one in functions)]))


def _moments(places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for order in range(len(places) + 1):
        yield from combinations(sorted(places), order)
