"""The danger gauge: how much a planned release can give away, before any secret is touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.bounds.limit import joint_limit
from tellall.bounds.planned import Part, joint_rank
from tellall.bounds.prediction import predict
from tellall.data import Dataset, Public, as_public, group_rows
from tellall.errors import invalid
from tellall.linops import Stack
from tellall.noise import Noise, Rng, as_rng
from tellall.protections import Guarantee, Protection
from tellall.statistics import Statistic

__all__ = ["Gauge", "Planned", "gauge", "gauge_together"]

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
    >>> from tellall.noise import Gaussian
    >>> from tellall.statistics import Marginals
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
    >>> from tellall.noise import Gaussian
    >>> from tellall.statistics import Marginals
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
