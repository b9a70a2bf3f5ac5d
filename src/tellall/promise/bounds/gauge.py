"""The danger gauge: how much a planned release can give away, before any secret is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray, LinearOperator
from tellall.algebra.operators.compose import Stack
from tellall.core.errors import invalid
from tellall.people.bits import group_rows
from tellall.people.dataset import Dataset, Public, as_public
from tellall.promise.bounds.prediction import Shown, joint_limit, predict, shown
from tellall.release.protections.base import Protection, as_protections, noise_of, prepare
from tellall.release.protections.calibrated import SuLQ
from tellall.release.protections.guarantee import Guarantee, guarantee_of
from tellall.release.protections.law import Noise, Rng, as_rng
from tellall.release.statistics.base import Equations, Statistic
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.predicates import Predicates

__all__ = [
    "Gauge",
    "Part",
    "Planned",
    "gauge",
    "gauge_together",
    "joint_rank",
]

# Planned releases before any data are published: their equations, their noise, the rank they can have.


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


Planned = tuple[Statistic, Protection | Sequence[Protection] | None]


@dataclass(frozen=True)
class Gauge:
    """What a planned release lets an attacker do, from its equations and its noise alone.

    Attributes
    ----------
    people, groups
        People, and how many the public columns of the statistic tell apart.
    equations
        Published values that say something about the secret.
    rank_cap
        No more unknowns than this can be solved for, whatever the people.
    rank
        The rank of the equations themselves; None where it was not computed.
    accuracy, with_prior
        Predicted for plain least squares, and for least squares with the prior.
    limit
        No decoder does better; None where the noise allows no such statement.
    error
        How far the predictions may be off for being estimated; zero where they were computed.
    notes
        What the numbers assume.
    promised
        The differential privacy that the protections declare; None where they promise nothing.
    """

    statistic: str
    people: int
    groups: int
    equations: int
    rank_cap: int
    rank: int | None
    std: float
    accuracy: float
    with_prior: float
    limit: float | None
    error: float
    method: str
    notes: tuple[str, ...] = ()
    promised: Guarantee | None = None

    def __str__(self) -> str:
        limit = "not known" if self.limit is None else f"{self.limit:.3f}"
        doubt = f" ± {self.error:.3f}" if self.error else ""
        rank = "" if self.rank is None else f", rank {self.rank:,}"
        lines = [
            f"{self.statistic}: {self.equations:,} equations about {self.people:,} people "
            f"({self.groups:,} told apart){rank}, at most {self.rank_cap:,} of them solvable",
            f"predicted accuracy {self.accuracy:.3f}{doubt} by least squares, {self.with_prior:.3f}{doubt} "
            f"with the prior; no decoder beats: {limit}",
        ]
        if self.promised is not None:
            lines.append(f"promised: {self.promised}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """The gauge for JSON."""
        return {**asdict(self), "notes": list(self.notes)}


def gauge(
    statistic: Statistic,
    public: Public | Dataset | npt.ArrayLike,
    protect: Protection | Sequence[Protection] | None = None,
    *,
    rate: float = 0.5,
    rng: Rng = 0,
) -> Gauge:
    """The danger of publishing a statistic of people with these public columns under a protection.

    Parameters
    ----------
    statistic
        One whose equations do not depend on the published values, such as Marginals(3).
    public
        The public columns; a secret, if there is one, is not looked at.
    protect
        What is to be done to the values.
    rate
        The rate of the secret to reckon with.
    rng
        Seed of the estimates for large releases.

    Notes
    -----
    See `predict` for the accuracy and `accuracy_limit` for what no decoder beats. Exact values are given
    the same small spread as in the attack. Suppression and other protections that are no noise are not
    reckoned with, which the notes then say. O(G³) for G groups of people told apart, up to 10,000; beyond,
    some hundred products.

    Examples
    --------
    >>> from tellall.release.protections.additive import Gaussian
    >>> from tellall.release.statistics.marginals import Marginals
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> found = gauge(Marginals(3), bits, Gaussian(1.0))
    >>> found.equations, found.rank_cap, found.rank, found.accuracy > 0.95
    (528, 60, 60, True)
    """
    return gauge_together([(statistic, protect)], public, rate=rate, rng=rng)


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
    >>> from tellall.release.protections.additive import Gaussian
    >>> from tellall.release.statistics.marginals import Marginals
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> both = gauge_together([(Marginals(3), Gaussian(6.0)), (Marginals(2), Gaussian(2.0))], bits)
    >>> both.equations, both.rank_cap, both.rank
    (576, 60, 60)
    """
    view = as_public(public)
    asked = list(releases)
    if not asked or not all(isinstance(one, tuple) and len(one) == 2 for one in asked):
        raise invalid("releases", "pairs of a statistic and its protections, one or more", asked)
    parts = [Part.of(statistic, protect, view, as_rng(rng)) for statistic, protect in asked]
    told = group_rows(np.stack([part.alike for part in parts]))
    size = told.counts.astype(np.float64)
    operators = [part.operator.take(told.first) for part in parts]
    spread = np.concatenate([part.spread for part in parts])
    predicted = predict(Stack(operators), spread, size=size, rate=rate, rng=rng)
    seen = [part.shown(operator) for part, operator in zip(parts, operators, strict=True)]
    known = [one for one in seen if one is not None]
    said = int(np.isfinite(spread).sum())
    law = min((part.law for part in parts), key=lambda law: law.std)
    return Gauge(
        statistic=" + ".join(dict.fromkeys(part.statistic.describe() for part in parts)),
        people=view.n,
        groups=len(told),
        equations=said,
        rank_cap=min(said, len(told), joint_rank([part.statistic for part in parts], view)),
        rank=predicted.rank,
        std=law.std,
        accuracy=predicted.accuracy,
        with_prior=predicted.with_prior,
        limit=joint_limit(known, size, rate) if len(known) == len(parts) else None,
        error=predicted.error,
        method=predicted.method,
        notes=_notes(parts, law, predicted.method, rate),
        promised=_promised([part.promise(view) for part in parts]),
    )


def _promised(several: Sequence[Guarantee | None]) -> Guarantee | None:
    """What is promised of all: ε and δ add up, where each promises something about the same neighbours."""
    kept = [one for one in several if one is not None]
    if len(kept) < len(several) or len({one.relation for one in kept}) > 1:
        return None
    if len(kept) == 1:
        return kept[0]
    text = "; ".join(dict.fromkeys(one.text for one in kept))
    epsilon, delta = sum(one.epsilon for one in kept), sum(one.delta for one in kept)
    return Guarantee(epsilon, delta, kept[0].relation, text)


def _notes(parts: Sequence[Part], law: Noise, method: str, rate: float) -> tuple[str, ...]:
    notes = [f"the rate of the secret is taken as {rate:g}"]
    ignored = [repr(step) for part in parts for step in part.ignored]
    if ignored:
        notes.append(f"not reckoned with: {', '.join(ignored)}")
    if law.std == 0:
        notes.append("exact values are given the attack's own small spread")
    if method == "ridge":
        notes.append(
            "the equations have no full rank: the prediction uses the prior, plain least squares has none"
        )
    if method == "trace":
        notes.append("estimated from random probes")
    if len(parts) > 1:
        notes.append("the noise of each release is taken as its own")
    return tuple(notes)
