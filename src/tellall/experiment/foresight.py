"""Foresight: what can be said of a planned release without attacking it, to stand beside the attack."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from tellall.core.errors import TellallError
from tellall.experiment.summary import Foreseen, Promised
from tellall.people.dataset import Public
from tellall.promise.bounds.gauge import gauge_together
from tellall.release import catalogue
from tellall.release.protections.base import Protection, prepare
from tellall.release.protections.guarantee import guarantee_of
from tellall.release.protections.law import Noise
from tellall.release.statistics.base import Statistic

__all__ = [
    "GROUPS",
    "foreseen",
    "promised",
]

GROUPS = 4000  # people told apart up to which the gauge, cubic in them, is worth its time

Part = tuple[Statistic, Sequence[Protection]]


def foreseen(parts: Sequence[Part], public: Public, rate: float, groups: int) -> Foreseen | None:
    """The danger gauge of a planned release; None where there is none.

    Parameters
    ----------
    parts
        The statistics that are attacked, each with its protections.
    rate
        The share of people who have the secret: a bound for another rate would bound nothing here.
    groups
        How many people the release tells apart.

    Notes
    -----
    There is none for statistics whose equations depend on the published values, for a secret that everybody
    or nobody has, and beyond 4000 groups. Several releases are reckoned with together, the noise of each
    its own. O(groups³).
    """
    if groups > GROUPS:
        return None
    try:
        prepared = [prepare(protections, statistic, public) for statistic, protections in parts]
        planned = [(statistic, done) for (statistic, _), done in zip(parts, prepared, strict=True)]
        found = gauge_together(planned, public, rate=rate)
    except (TellallError, np.linalg.LinAlgError, MemoryError):
        return None
    if not isfinite(found.with_prior):
        return None
    ignored = [
        planned
        for (_, protections), done in zip(parts, prepared, strict=True)
        for planned, ready in zip(protections, done, strict=True)
        if not isinstance(ready, Noise) and getattr(ready, "law", None) is None
    ]
    return Foreseen(
        equations=found.equations,
        people=found.people,
        groups=found.groups,
        rank_cap=found.rank_cap,
        rank=found.rank,
        accuracy=found.with_prior,
        limit=found.limit,
        rate=rate,
        ignored=tuple(dict.fromkeys(catalogue.label([one]) for one in ignored)),
    )


def promised(parts: Sequence[Part], public: Public) -> Promised:
    """The differential privacy that the protections of one or several releases declare.

    Notes
    -----
    Several releases with noise of their own: ε and δ add up. Where one of them promises nothing, or they
    speak of different neighbours, nothing is promised about all.
    """
    declared = [guarantee_of(protections, statistic, public) for statistic, protections in parts]
    kept = [one for one in declared if one is not None and isfinite(one.epsilon)]
    relations = {one.relation for one in kept}
    if len(kept) < len(parts) or len(relations) != 1:
        return Promised()
    return Promised(
        epsilon=sum(one.epsilon for one in kept),
        delta=sum(one.delta for one in kept),
        relation=relations.pop(),
        text="; ".join(dict.fromkeys(one.text for one in kept)),
    )
