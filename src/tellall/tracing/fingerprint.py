"""The fingerprinting attack: who was in the data, from published means and the population's known means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import above_zero, share
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset
from tellall.protections.protection import Noise
from tellall.release.release import Release
from tellall.tracing.inputs import read_input, values_and_names
from tellall.tracing.score_terms import clipped
from tellall.tracing.scores import centred_scores
from tellall.tracing.trace import People, Tracing

__all__ = [
    "fingerprint",
]


def fingerprint(
    means: Release | npt.ArrayLike,
    targets: People,
    population: npt.ArrayLike,
    *,
    delta: float = 0.05,
    alpha: float | None = None,
    coding: str = "signs",
    n: int | None = None,
    alleles: str | None = None,
    noise: Noise | None = None,
) -> Tracing:
    """Scores the targets by somebody who knows the population's means exactly; no reference people.

    Parameters
    ----------
    means, targets, coding, n, alleles, noise
        As for `trace`; "signs", "bits" or "genotypes".
    population
        The population's means, one for each published mean, in its order and scale.
    delta
        The false-positive rate allowed per target.
    alpha
        The accuracy at which q − p is truncated to ±2α; without it nothing is.

    Notes
    -----
    robust-tracing, Sec. I-D: what earlier fingerprinting attacks assume. It is the limit of Fig. 2's attack
    as its pool grows, with the population's means p for the first reference person as well. With y a target
    and q the means in the ±1 coding, the score is ⟨y − p, t⟩, t = clip(q − p, ±2α). For a person of the
    population who was not in the data, with independent attributes, its terms are centred and of range
    2|t_j|, so that by Hoeffding's inequality ‖t‖√(2 ln(1/δ)) is exceeded with probability δ at most. That
    threshold is √2 lower than with a reference person, whose own chance the score then does not have. Wrong
    p void the promise, and nothing here can check them. O(targets · d).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(-1, 1, 4_000)
    >>> people = np.where(rng.random((20, p.size)) < (1 + p) / 2, 1, -1)
    >>> tracing = fingerprint(people[:10].mean(axis=0), people, p)
    >>> tracing.member[:10].sum(), tracing.member[10:].sum()
    (np.int64(10), np.int64(0))
    """
    share("delta", delta, zero=False, one=False)
    if alpha is not None:
        above_zero("alpha", alpha)
    if coding not in ("signs", "bits", "genotypes"):
        raise invalid("coding", "'signs', 'bits' or 'genotypes'", coding)
    people = targets.public if isinstance(targets, Dataset) else targets
    given = read_input(
        means, people, people, coding=coding, n=n, clip=True, alleles=alleles, noise=noise, alone=True
    )
    values, names = values_and_names(means, n)
    known = values_and_names(population, None)[0]
    if known.size != values.size or np.isnan(known).any():
        raise invalid("population", f"{values.size:,} means, one for each published one", f"{known.size:,}")
    known = np.where(np.isnan(values), np.nan, known)  # suppressed means are left out of both
    named: Any = dict(zip(names, known, strict=True)) if names else known
    matched = read_input(
        named,
        *(people, people),
        coding=coding,
        n=None,
        clip=False,
        alleles=given.alleles,
        alone=True,
    )
    centre = matched.q
    if np.abs(centre).max() > 1 + 1e-9:
        raise invalid("population", "means that attributes can have", f"up to {np.abs(known).max():g}")
    weights = clipped(given.q, centre, alpha)
    scores = centred_scores(given.targets, given.coding, centre, weights)
    spread = math.sqrt(2 * float(weights @ weights))
    ratio = np.maximum(scores, 0.0) / spread if spread > 0 else np.zeros_like(scores)
    limit = spread * math.sqrt(math.log(1 / delta))
    note = "The population's means are taken as known, and nothing checks them."
    return Tracing(
        scores,
        limit,
        np.exp(-(ratio**2)),
        scores > limit,
        "fingerprint",
        "hoeffding",
        delta,
        given.q.size,
        0,
        notes=(*given.notes, note),
        missing_calls=(given.target_gaps.share, 0.0),
        without_calls=int(given.target_gaps.nothing.sum()),
        alleles=given.alleles,
    )
