"""Doubts: what a decoder cannot know about the model that it was given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.evidence import Evidence
from tellall.noise import Corruption, Noise, Sum
from tellall.noise.sampling import Complemented, turn_back
from tellall.protections import WalshNoise
from tellall.release import Release
from tellall.solve import Status

__all__ = ["with_gross_errors", "with_little_shown", "with_shared_noise"]

_MINORITY = 0.45  # share of gross errors up to which they can be told from what is right
_MUCH = (
    0.5  # share of values that are hidden, above which those shown say little about the rate of the secret
)


def with_gross_errors(status: Status, releases: Sequence[Release]) -> Status:
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


def with_shared_noise(status: Status, releases: Sequence[Release]) -> Status:
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
