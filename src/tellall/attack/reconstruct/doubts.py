"""Doubts: what a decoder cannot know about the model that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.solvers.base import Status
from tellall.attack.reconstruct.decoders import Decoded, Undecided, nearest
from tellall.people.dataset import Public
from tellall.release.equations import Evidence
from tellall.release.linearise import threshold_of, turn_back
from tellall.release.protections.calibrated import WalshNoise
from tellall.release.protections.mixture import Corruption
from tellall.release.protections.protection import Noise, Sum
from tellall.release.protections.records import Subsample
from tellall.release.protections.sampling import ComplementLaw
from tellall.release.release import Release

__all__ = [
    "Misfit",
    "find_misfit",
    "with_doubts",
    "with_little_shown",
    "with_misfit",
]

# Misfits: published values that no secret near the others can have.

CONTRADICTION = 5.0  # residuals this many times the declared noise are not bad luck
_GROSS = 20.0  # nor is a single one this large, of millions and under any law without gross errors
_SUSPECT = 1.5  # exact counts are usually met within half their spread
_LOOSE = 1e-3  # of the ridge, where nothing but the equations shall count


@dataclass(frozen=True)
class Misfit:
    """How badly the values are met: the root mean square in spreads, and how many do not fit the others."""

    excess: float
    values: int = 0


def find_misfit(decoded: Decoded, evidence: Evidence, undecided: Undecided | None = None) -> Misfit:
    """How far the published values are from any secret; no value misfits where that was not found out.

    Notes
    -----
    A value whose error has a bound (zero for exact ones) misfits beyond that bound and five times the spread
    it is given, half a person for an exact count; another beyond twenty times its spread. The mean square of
    all residuals would not show one wrong value of thousands. Where gross errors are declared none is odd.

    A decoder's answer leans towards the prior, which alone can miss a value by that much where a rare secret
    is common in one group. So what looks odd is solved again, with the ridge λ a thousandth. Least squares
    spreads one error over many values, where these are few: if a secret had all of some exact values, the
    minimum of ‖A x − z‖²/σ² + λ ‖x − π‖² would be no more than at that secret, λ Σ max(π, size − π)². What
    misses by more contradicts itself, for sure; it counts as one misfit, whichever it is.
    """
    off, excess = _off(evidence, decoded.value), _excess(evidence, decoded.value)
    odd = excess > CONTRADICTION or bool((off > CONTRADICTION).any())
    exact = bool((evidence.system.rows.bound <= 0).all())
    if undecided is None or not (odd or (exact and (off > _SUSPECT).any())):
        return Misfit(excess)
    solution = nearest(undecided, ridge=_LOOSE)
    if not solution.status.settled:
        return Misfit(excess)
    value = decoded.value.copy()
    value[undecided.index] = solution.value
    excess = min(excess, _excess(evidence, value))
    if evidence.contaminated:
        return Misfit(excess)
    misfits = int((_off(evidence, value) > CONTRADICTION).sum())
    return Misfit(excess, misfits or int(exact and _contradict(evidence, undecided, value)))


def with_misfit(decoded: Decoded, misfit: Misfit, values: int, *, empty: bool = False) -> Decoded:
    """The decoder's answer, its status changed where no secret comes near the published values.

    ``empty`` says that the bounds leave no secret at all.
    """
    stats = {**decoded.stats, "misfit": misfit.excess, "misfits": float(misfit.values)}
    minimises = decoded.name not in ("posterior", "exhaustive")
    said = ""
    if empty and not misfit.values:
        said = "no secret satisfies the published values; declare the noise they have"
    elif misfit.excess > CONTRADICTION and minimises:
        missed = f"the best secret misses the values by {misfit.excess:.1f} times the declared noise"
        said = f"{missed}; declare the noise they have"
    elif misfit.values and decoded.status.word != "contradictory":
        do, it = ("does", "it has") if misfit.values == 1 else ("do", "they have")
        some = f"{misfit.values:,} of {values:,} values {do} not fit the others"
        said = f"{some}; look for a mistake, or declare the noise {it}"
    return replace(decoded, status=Status("contradictory", said) if said else decoded.status, stats=stats)


def _off(evidence: Evidence, value: Array) -> Array:
    """How far each value is missed beyond its bound, in spreads; a quarter of that where it has none."""
    system = evidence.system
    off = np.abs(system.operator @ value - system.rows.target)
    bounded = np.isfinite(system.rows.bound)
    beyond: Array = np.maximum(off - np.where(bounded, np.maximum(system.rows.bound, 0.0), 0.0), 0.0)
    return beyond / (system.rows.spread * np.where(bounded, 1.0, _GROSS / CONTRADICTION))


def _excess(evidence: Evidence, value: Array) -> float:
    system = evidence.system
    missed = (system.operator @ value - system.rows.target) / system.rows.spread
    return float(np.sqrt(np.mean(missed**2))) if missed.size else 0.0


def _contradict(evidence: Evidence, undecided: Undecided, value: Array) -> bool:
    """Whether no secret within the bounds has all these exact values; ``value`` is their minimiser."""
    system, prior = evidence.system, undecided.prior
    missed = (system.operator @ value - system.rows.target) / system.rows.spread
    furthest = np.maximum(prior.mean - undecided.lower, undecided.upper - prior.mean) ** 2
    return float(np.sum(missed**2)) > 1.01 * _LOOSE * float(np.sum(furthest / prior.variance))


# What makes confidences doubtful, whatever the decoder found.

_MINORITY = 0.45  # share of gross errors up to which they can be told from what is right
_MUCH = 0.5  # share of hidden values above which those shown say little about the rate of the secret


def with_doubts(status: Status, releases: Sequence[Release], public: Public, decoder: str) -> Status:
    """The status, changed where the model of the errors is known to be wrong."""
    if not status.settled:
        return status
    checks = (_unknown_law, _selection, _sampling, _gross_errors, _shared_noise)
    reasons = [check(release, decoder) for check in checks for release in releases]
    reasons += [release.statistic.approximate(public, release.noise.std) for release in releases]
    first = next(filter(None, reasons), "")
    return Status("uncalibrated", first) if first else status


def _unknown_law(release: Release, decoder: str) -> str:
    """Nobody declared what was done to the values."""
    if release.noise.known:
        return ""
    reason = "the law of the errors is unknown, so nothing is proved and confidence may be too high"
    return f"{reason}; declare the law of the protection"


def _selection(release: Release, decoder: str) -> str:
    """Which values are shown depends on their noise, and the decoder ignores that."""
    hides = any(protection.hides for protection in release.protections)
    if not hides or release.noise.bound < np.inf or (decoder == "posterior" and _models_selection(release)):
        return ""
    return "noise and suppression together select what is shown; confidence may be too high"


def _models_selection(release: Release) -> bool:
    """Whether the intervals of hidden values say all that the choice of them says."""
    threshold = threshold_of(release.protections, 1.0) if release.statistic.counts_people else None
    return threshold is not None and threshold.complete


def _sampling(release: Release, decoder: str) -> str:
    """People were left out: what is missing is missing from all values at once."""
    sampled = any(isinstance(each, Subsample) and each.fraction < 1 for each in release.protections)
    return "who was left out of the sample is not known; confidence may be too high" if sampled else ""


def _gross_errors(release: Release, decoder: str) -> str:
    """Gross errors are not a minority that could be told from the rest.

    Complemented counts are a minority again where they are nearly all. They are then turned round, which
    ignores how hidden values were selected.
    """
    law, turned = turn_back(release.noise)
    share = max(map(_gross_share, law.parts if isinstance(law, Sum) else (law,)), default=0.0)
    if share >= _MINORITY:
        reason = f"{share:.0%} of the values have gross errors, which nothing tells from the others"
        return f"{reason}; confidence may be too high"
    if turned and any(protection.hides for protection in release.protections):
        return "gross errors and suppression together select what is shown; confidence may be too high"
    return ""


def _gross_share(law: Noise) -> float:
    """The share of values that the law hits with a gross error."""
    return law.fraction if isinstance(law, ComplementLaw | Corruption) and law.std else 0.0


def _shared_noise(release: Release, decoder: str) -> str:
    """Cells have noise in common, which decoders take for independent."""
    shared = any(isinstance(each, WalshNoise) and each.std != 0 for each in release.protections)
    return "cells share noise; confidence may be too high" if shared else ""


def with_little_shown(
    status: Status, evidence: Evidence, releases: Sequence[Release], *, rate_known: bool
) -> Status:
    """The status, changed where nothing is said about the secret, or too little about its rate.

    Where values are hidden and nothing is known of them, as after complementary suppression, those shown are
    no fair sample of all: a rate read off them is wrong where they are the fewer.
    """
    if not status.settled or any(part.hidden is not None for part in evidence.parts):
        return status
    if not len(evidence.rows):
        return Status("uncalibrated", "nothing is published about the secret")
    hidden = float(np.isnan(np.concatenate([release.values for release in releases])).mean())
    if rate_known or hidden <= _MUCH:
        return status
    reason = f"{hidden:.0%} of the values are hidden and the rate comes from the others"
    return Status("uncalibrated", f"{reason}; give the prior if it is known")
