"""Doubts: what a decoder cannot know about the model that it was given."""

from __future__ import annotations

from collections.abc import Sequence

from tellall.noise import Corruption, Noise, Sum
from tellall.noise.sampling import Complemented, turn_back
from tellall.release import Release
from tellall.solve import Status

__all__ = ["with_gross_errors"]

_MINORITY = 0.45  # share of gross errors up to which they can be told from what is right


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
