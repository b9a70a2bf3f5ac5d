"""The danger gauge: how much a planned release can give away, before any secret is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.bounds.limit import accuracy_limit
from tellall.bounds.prediction import predict
from tellall.data import Dataset, Public, as_public, group_rows
from tellall.errors import invalid
from tellall.linops import Array
from tellall.noise import Noise, Rng, as_rng
from tellall.protections import Guarantee, Protection, SuLQ, as_protections, guarantee_of, noise_of, prepare
from tellall.statistics import Marginals, Statistic
from tellall.statistics.base import Equations

__all__ = ["Gauge", "gauge"]


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
    >>> from tellall.noise import Gaussian
    >>> bits = np.random.default_rng(0).integers(0, 2, (60, 12))
    >>> found = gauge(Marginals(3), bits, Gaussian(1.0))
    >>> found.equations, found.rank_cap, found.rank, found.accuracy > 0.95
    (528, 60, 60, True)
    """
    view = as_public(public)
    if not isinstance(statistic, Statistic):
        raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
    protections = prepare(as_protections(protect), statistic, view)
    equations = _equations(statistic, view, as_rng(rng))
    law = noise_of(protections).scaled(statistic.units(view))
    spread = _spread(equations, law)
    told = group_rows(equations.alike[None, :])
    if equations.operator.shape[1] != view.n:
        raise invalid("statistic", "one about a secret of bits", statistic.describe())
    operator = equations.operator.take(told.first)
    size = told.counts.astype(np.float64)
    predicted = predict(operator, spread, size=size, rate=rate, rng=rng)
    laws = [step.noise if isinstance(step, SuLQ) and step.noise else step for step in protections]
    limit = accuracy_limit(operator, laws, statistic.units(view), equations.gain, size, rate)
    said = int(np.isfinite(spread).sum())
    return Gauge(
        statistic=statistic.describe(),
        people=view.n,
        groups=len(told),
        equations=said,
        rank_cap=min(said, len(told), _structural_rank(statistic, view)),
        rank=predicted.rank,
        std=law.std,
        accuracy=predicted.accuracy,
        with_prior=predicted.with_prior,
        limit=limit,
        error=predicted.error,
        method=predicted.method,
        notes=_notes(protections, law, predicted.method, rate),
        promised=guarantee_of(protections, statistic, view),
    )


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


def _structural_rank(statistic: Statistic, public: Public) -> int:
    """The rank that no choice of people exceeds.

    For tables: one parameter per choice of columns within a table and of a value but the first in each, the
    sum of C(d, l) over l ≤ k for all tables of k binary columns. Other statistics: the published values.
    """
    if not isinstance(statistic, Marginals):
        return statistic.size(public)
    free = [levels - 1 for levels in public.levels]
    if statistic.attributes is None:
        sums = [1] + [0] * (statistic.ways - 1)
        for width in free:  # elementary symmetric polynomials, one column at a time
            for order in range(len(sums) - 1, 0, -1):
                sums[order] += width * sums[order - 1]
        return sum(sums)
    parts = {
        part
        for places in statistic.sets(public)
        for order in range(len(places) + 1)
        for part in combinations(sorted(places), order)
    }
    return sum(prod(free[place] for place in part) for part in parts)


def _notes(protections: Sequence[Protection], law: Noise, method: str, rate: float) -> tuple[str, ...]:
    notes = [f"the rate of the secret is taken as {rate:g}"]
    ignored = [
        repr(protection)
        for protection in protections
        if not isinstance(protection, Noise) and getattr(protection, "law", None) is None
    ]
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
    return tuple(notes)
