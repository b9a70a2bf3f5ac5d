"""Doubts: what a decoder cannot know about the model that it was given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.data import Public
from tellall.evidence import Evidence
from tellall.noise import Corruption, Noise, Sum
from tellall.noise.sampling import Complemented, turn_back
from tellall.protections import Subsample, WalshNoise
from tellall.release import Release
from tellall.selection import threshold_of
from tellall.solve import Status

__all__ = ["with_doubts", "with_little_shown"]

_MINORITY = 0.45  # share of gross errors up to which they can be told from what is right
_MUCH = (
    0.5  # share of values that are hidden, above which those shown say little about the rate of the secret
)


def with_doubts(status: Status, releases: Sequence[Release], public: Public, decoder: str) -> Status:
    """The status, changed where the model of the errors is known to be wrong."""
    status = _with_sampling(_with_selection(status, releases, decoder), releases)
    status = _with_shared_noise(_with_gross_errors(status, releases), releases)
    return _with_approximation(status, releases, public)


def _with_selection(status: Status, releases: Sequence[Release], decoder: str) -> Status:
    """The status, changed where which values are shown depends on their noise and the decoder ignores it."""
    misled = any(
        any(hasattr(protection, "hides") for protection in release.protections)
        and release.noise.bound == np.inf
        and not (decoder == "posterior" and _reckons_with_selection(release))
        for release in releases
    )
    if not status.settled or not misled:
        return status
    return Status(
        "uncalibrated", "noise and suppression together select what is shown; confidence may be too high"
    )


def _reckons_with_selection(release: Release) -> bool:
    """Whether the intervals of what is not shown say all that the choice says."""
    threshold = threshold_of(release.protections, 1.0) if release.statistic.counts_people else None
    return threshold is not None and threshold.complete


def _with_approximation(status: Status, releases: Sequence[Release], public: Public) -> Status:
    """The status, changed where equations that hold to first order meet noise too large for that."""
    for release in releases:
        reason = release.statistic.approximate(public, release.noise.std)
        if status.settled and reason:
            return Status("uncalibrated", reason)
    return status


def _with_sampling(status: Status, releases: Sequence[Release]) -> Status:
    """The status, changed where people were left out: what is missing is missing from all values at once."""
    sampled = any(isinstance(p, Subsample) and p.fraction < 1 for r in releases for p in r.protections)
    if not status.settled or not sampled:
        return status
    return Status("uncalibrated", "who was left out of the sample is not known; confidence may be too high")


def _with_gross_errors(status: Status, releases: Sequence[Release]) -> Status:
    """The status, changed where gross errors are no minority that could be told from the rest.

    Complemented counts are a minority again where they are nearly all: they are turned round, but then it is
    not reckoned with what was hidden.
    """
    if not status.settled:
        return status
    for release in releases:
        law, turned = turn_back(release.noise)
        share = max(map(_gross_share, law.parts if isinstance(law, Sum) else (law,)), default=0.0)
        if share >= _MINORITY:
            reason = f"{share:.0%} of the values have gross errors, which nothing tells from the others"
            return Status("uncalibrated", f"{reason}; confidence may be too high")
        if turned and any(hasattr(protection, "hides") for protection in release.protections):
            reason = "gross errors and suppression together select what is shown"
            return Status("uncalibrated", f"{reason}; confidence may be too high")
    return status


def _gross_share(law: Noise) -> float:
    """The share of values that the law hits with a gross error."""
    return law.fraction if isinstance(law, Complemented | Corruption) and law.std else 0.0


def _with_shared_noise(status: Status, releases: Sequence[Release]) -> Status:
    """The status, changed where cells have noise in common, which decoders take for independent."""
    shared = any(isinstance(p, WalshNoise) and p.std != 0 for r in releases for p in r.protections)
    if not status.settled or not shared:
        return status
    return Status("uncalibrated", "cells share noise; confidence may be too high")


def with_little_shown(
    status: Status, evidence: Evidence, releases: Sequence[Release], *, rate_known: bool
) -> Status:
    """The status, changed where nothing is said about the secret, or too little about its rate.

    Where values are hidden and nothing is known of them, as after complementary suppression, those shown are
    no fair sample of all: a rate read off them is wrong where they are the fewer.
    """
    silent = all(block.intervals is None for block in evidence.blocks)
    if not status.settled or not silent:
        return status
    if not evidence.target.size:
        return Status("uncalibrated", "nothing is published about the secret")
    hidden = float(np.isnan(np.concatenate([release.values for release in releases])).mean())
    if rate_known or hidden <= _MUCH:
        return status
    reason = f"{hidden:.0%} of the values are hidden and the rate comes from the others"
    return Status("uncalibrated", f"{reason}; give the prior if it is known")
