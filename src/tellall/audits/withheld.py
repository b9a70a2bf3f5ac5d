"""Releases that show next to nothing: nearly all of their values are withheld, which helps no reader."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellall.audits.plans.places import Place
from tellall.audits.trial import Planned, Trial
from tellall.core.amounts import percent
from tellall.core.errors import TellallError

__all__ = ["mostly_withheld"]

_MOST = 0.9  # of the values: then hardly anybody has a use for the rest


def mostly_withheld(places: Sequence[Place], releases: Sequence[Planned], seed: int) -> tuple[str, ...]:
    """A sentence with advice for each release that withholds nine in ten of its values, or more."""
    found = []
    for one in releases:
        if one.given is not None or not any(protection.hides for protection in one.protections):
            continue
        gone = values = 0
        for place in places:
            try:
                release = Trial(place.setting, (one,), 1, place.seed(seed)).published[0][0]
            except TellallError:
                continue  # what cannot be computed withholds nothing
            gone, values = gone + int(np.isnan(release.values).sum()), values + release.values.size
        if values and gone >= _MOST * values:
            found.append(_said(one.name, gone, values))
    return tuple(found)


def _said(name: str, gone: int, values: int) -> str:
    shown = "all" if gone == values else percent(gone / values)
    return (
        f"“{name}” withholds {shown} of its {values:,} values. Publish tables of fewer columns, or cut "
        "numbers into fewer parts (bins)."
    )
