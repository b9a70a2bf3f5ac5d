"""The danger gauge: how much a planned release can give away, before any secret is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.core.records import Record
from tellall.evidence.query import Asked, Query, as_query
from tellall.linalg.operators.compose import Stack
from tellall.linalg.operators.linear_operator import Array, LinearOperator
from tellall.people.codes import group_rows
from tellall.people.dataset import Dataset, Public, as_public
from tellall.privacy.bounds.accuracy_limit import Separation, accuracy_limit, separation
from tellall.privacy.bounds.prediction import predict
from tellall.protections.calibrated import SuLQ
from tellall.protections.guarantee import Guarantee
from tellall.protections.protection import (
    Noise,
    Protection,
    Rng,
    as_protections,
    as_rng,
    guarantee_of,
    noise_of,
    prepare,
)
from tellall.statistics.marginals import Marginals
from tellall.statistics.predicates import Predicates
from tellall.statistics.statistic import Equations, Statistic

__all__ = [
    "Gauge",
    "gauge",
    "gauge_together",
]


@dataclass(frozen=True)
class Gauge(Record):
    """What a planned release lets an attacker do, from its equations and its noise alone.

    `accuracy` is predicted for plain least squares, `with_prior` for least squares with the prior; no decoder
    does better than `limit`, which is None if the noise allows no such statement.
    """

    statistic: str
    people: int
    groups: int  # groups of people that the public columns of the statistic tell apart
    equations: int  # published values that say something about the secret
    rank_cap: int  # no more unknowns than this can be solved for, whoever the people are
    rank: int | None  # of the equations themselves; None if it was not computed
    std: float
    accuracy: float
    with_prior: float
    limit: float | None
    error: float  # how far off the predictions may be, if estimated; zero if they were computed
    method: str
    notes: tuple[str, ...] = ()  # what the numbers assume
    promised: Guarantee | None = None  # the differential privacy that the protections declare

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


def gauge(
    statistic: Statistic,
    public: Public | Dataset | npt.ArrayLike,
    protect: Protection | Sequence[Protection] | None = None,
    *,
    rate: float = 0.5,
    rng: Rng = 0,
) -> Gauge:
    """Returns the danger of publishing a statistic of people with these public columns under a protection.

    Parameters
    ----------
    statistic
        One whose equations do not depend on the published values, such as Marginals(3).
    public
        The public columns; a secret, if there is one, is not looked at.
    protect
        The protections of the values.
    rate
        The rate of the secret to assume.
    rng
        Seed of the estimates for large releases.

    Notes
    -----
    See `predict` for the accuracy and `accuracy_limit` for what no decoder beats. Exact values are given
    the same small spread as in the attack. Suppression and other protections without a noise law are left
    out, and the notes say so. O(G³) for up to 10,000 groups G of people told apart; for more, a few hundred
    products.

    Examples
    --------
    >>> from tellall.protections.additive import Gaussian
    >>> from tellall.statistics.marginals import Marginals
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> found = gauge(Marginals(3), bits, Gaussian(1.0))
    >>> found.equations, found.rank_cap, found.rank, found.accuracy > 0.95
    (528, 60, 60, True)
    """
    return gauge_together([(statistic, protect)], public, rate=rate, rng=rng)


def gauge_together(
    releases: Iterable[tuple[Asked, Protection | Sequence[Protection] | None]],
    public: Public | Dataset | npt.ArrayLike,
    *,
    rate: float = 0.5,
    plain: bool = True,
    rng: Rng = 0,
) -> Gauge:
    """Returns the danger of publishing several statistics about the same people to one attacker.

    `releases` are pairs of a statistic and its protections; ``plain`` is as for `predict`, the rest as for
    `gauge`.

    Notes
    -----
    With Aʲ the equations of release j and Σʲ its noise, drawn independently, AᵀΣ⁻¹A = Σⱼ AʲᵀΣʲ⁻¹Aʲ: the
    precisions add, and the accuracy is predicted from the sum as for one release. People are told apart
    if any release does so. For the rank cap, moments that tables and functions of attributes share count
    once; other statistics add their values. `limit` is None if one release allows no bound; `std` is the
    smallest.

    Examples
    --------
    >>> from tellall.protections.additive import Gaussian
    >>> from tellall.statistics.marginals import Marginals
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> both = gauge_together([(Marginals(3), Gaussian(6.0)), (Marginals(2), Gaussian(2.0))], bits)
    >>> both.equations, both.rank_cap, both.rank
    (576, 60, 60)
    """
    view = as_public(public)
    asked = list(releases)
    if not asked or not all(isinstance(one, tuple) and len(one) == 2 for one in asked):
        raise invalid("releases", "pairs of a statistic and its protections, one or more", asked)
    plans = [_PlannedRelease.of(what, protect, view, as_rng(rng)) for what, protect in asked]
    groups = group_rows(np.stack([plan.equations.alike for plan in plans]))
    size = groups.counts.astype(np.float64)
    operators = [plan.equations.operator.take(groups.first) for plan in plans]
    spread = np.concatenate([plan.spread for plan in plans])
    predicted = predict(Stack(operators), spread, size=size, rate=rate, plain=plain, rng=rng)
    said = int(np.isfinite(spread).sum())
    return Gauge(
        statistic=" + ".join(dict.fromkeys(plan.query.describe() for plan in plans)),
        people=view.n,
        groups=len(groups),
        equations=said,
        rank_cap=min(said, len(groups), _rank_cap([plan.query for plan in plans], view)),
        rank=predicted.rank,
        std=min(plan.law.std for plan in plans),
        accuracy=predicted.accuracy,
        with_prior=predicted.with_prior,
        limit=accuracy_limit(
            [one.separation(a) for one, a in zip(plans, operators, strict=True)], size, rate
        ),
        error=predicted.error,
        method=predicted.method,
        notes=tuple(_notes(plans, predicted.method, rate)),
        promised=_promised([plan.guarantee(view) for plan in plans]),
    )


@dataclass(frozen=True, eq=False)
class _PlannedRelease:
    """A statistic with its equations and its protections."""

    query: Query
    protections: tuple[Protection, ...]
    equations: Equations
    law: Noise
    units: float

    @classmethod
    def of(
        cls,
        asked: Asked,
        protect: Protection | Sequence[Protection] | None,
        view: Public,
        rng: np.random.Generator,
    ) -> _PlannedRelease:
        """Returns the plan; refuses equations that depend on the values to be published."""
        if not isinstance(asked, Asked):
            raise invalid("statistic", "a statistic such as Marginals(3)", asked)
        query = as_query(asked)
        part = query.part(view)
        protections = prepare(as_protections(protect), query.statistic, part)
        equations = _fixed_equations(query, view, rng)
        if equations.operator.shape[1] != view.n:
            raise invalid("statistic", "one about a secret of bits", query.describe())
        units = query.statistic.units(part)
        return cls(query, protections, equations, noise_of(protections).assumed.scaled(units), units)

    def guarantee(self, view: Public) -> Guarantee | None:
        """Returns what the protections promise."""
        query = self.query
        return guarantee_of(self.protections, query.statistic, view, where=query.where)

    @property
    def spread(self) -> Array:
        """The standard deviation that the attack assumes in each row; infinite if a row says nothing."""
        rows = self.equations.target.size
        error = np.hypot(self.law.std * np.broadcast_to(self.equations.gain, rows), self.equations.doubt)
        spread = np.maximum(error, np.broadcast_to(self.equations.floor, rows))
        return np.where(np.isnan(self.equations.target), np.inf, spread)

    def separation(self, operator: LinearOperator) -> Separation | None:
        """Returns how well the release distinguishes the two values of each chosen person's secret."""
        laws = [step.noise if isinstance(step, SuLQ) and step.noise else step for step in self.protections]
        return separation(operator, laws, self.units, self.equations.gain)


def _fixed_equations(query: Query, public: Public, rng: np.random.Generator) -> Equations:
    """Returns the equations, which must be the same whatever is published."""
    count = query.size(public)
    found = query.equations(public, np.zeros(count))
    other = query.equations(public, rng.normal(size=count))
    probe = rng.normal(size=found.operator.shape[1])
    if found.operator.shape == other.operator.shape and np.allclose(
        found.operator @ probe, other.operator @ probe, rtol=1e-4, atol=1e-4
    ):
        return found
    raise invalid(
        "statistic",
        "one whose equations do not depend on the published values",
        query.describe(),
        "Publish it on a made-up secret and audit that.",
    )


def _rank_cap(queries: Sequence[Query], public: Public) -> int:
    """Returns the rank that no choice of people exceeds.

    Tables, and counts of a function of every choice of attributes, are sums of moments of fewer columns than
    their ways; shared moments count once. Other statistics add their values, and so do the functions if that
    is less.
    """
    statistics = [query.statistic for query in queries if query.where is None]
    tables = [one for one in statistics if isinstance(one, Marginals)]
    functions = [one for one in statistics if isinstance(one, Predicates) and one.attributes is None]
    known = {id(one) for one in (*tables, *functions)}
    rest = sum(one.size(public) for one in queries if one.where is not None or id(one.statistic) not in known)
    whole = [
        ways
        for one in tables
        if one.attributes is None
        for ways in ((one.ways,) if isinstance(one.ways, int) else one.ways)
    ]
    chosen = {
        moment
        for one in tables
        if one.attributes is not None
        for columns in one.sets(public)
        for order in range(len(columns) + 1)
        for moment in combinations(sorted(columns), order)
    }
    free = [levels - 1 for levels in public.levels]

    def covered(ways: list[int]) -> int:
        """Returns the number of moments of fewer columns than the largest, plus the chosen ones beyond."""
        largest = max(ways, default=0)
        further = (moment for moment in chosen if len(moment) >= largest)
        common = _count_moments(largest, free) if ways else 0
        return common + sum(prod(free[column] for column in moment) for moment in further)

    apart = covered(whole) + sum(one.size(public) for one in functions)
    return rest + min(apart, covered([*whole, *(one.ways for one in functions)]))


def _count_moments(ways: int, free: Sequence[int]) -> int:
    """Counts moments of fewer than `ways` columns: choices of columns and, in each, a value but the first."""
    sums = [1] + [0] * (ways - 1)
    for width in free:  # elementary symmetric polynomials
        for order in range(len(sums) - 1, 0, -1):
            sums[order] += width * sums[order - 1]
    return sum(sums)


def _promised(several: Sequence[Guarantee | None]) -> Guarantee | None:
    """Returns the promise for all together: ε and δ add up if all make a promise for the same neighbours."""
    kept = [one for one in several if one is not None]
    if len(kept) < len(several) or len({one.relation for one in kept}) > 1:
        return None
    if len(kept) == 1:
        return kept[0]
    text = "; ".join(dict.fromkeys(one.text for one in kept))
    epsilon, delta = sum(one.epsilon for one in kept), sum(one.delta for one in kept)
    return Guarantee(epsilon, delta, kept[0].relation, text)


def _notes(plans: Sequence[_PlannedRelease], method: str, rate: float) -> Iterator[str]:
    yield f"the rate of the secret is taken as {rate:g}"
    ignored = [repr(step) for plan in plans for step in plan.protections if step.hides or not step.law.known]
    if ignored:
        yield f"left out of the prediction: {', '.join(ignored)}"
    if any(plan.law.std == 0 for plan in plans):
        yield "exact values are given the attack's own small spread"
    if method == "ridge":
        yield "the equations do not have full rank: plain least squares has no answer, so the prior is used"
    if method == "trace":
        yield "estimated from random probes"
    if len(plans) > 1:
        yield "the noise of each release is taken as independent"
