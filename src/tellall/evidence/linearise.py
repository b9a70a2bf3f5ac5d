"""Linearising turns a release into evidence: equations about people, and the counts that are possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.evidence.evidence import Evidence, ReleaseEquations
from tellall.evidence.known_secrets import tell
from tellall.evidence.usable import KNOWN, UsableRelease, carry_out, count_scale, without_tiny_noise
from tellall.evidence.view import EVERYTHING, Knowledge, nothing, other_columns
from tellall.evidence.written import WRITTEN, Equated, release_equations
from tellall.linalg.operators.linear_operator import HOST, Array, Device
from tellall.people.dataset import Dataset, Public, as_public
from tellall.protections.protection import Noise
from tellall.release.release import Release

__all__ = ["as_view", "evidence_of", "linearise"]


def linearise(
    release: Release,
    public: Public | Dataset | npt.ArrayLike,
    *,
    device: Device = HOST,
    known: Knowledge = EVERYTHING,
) -> Evidence:
    """The equations that a release gives about people whose public columns are known.

    ``device`` is where products with the equations are computed, if they have a form for it. ``known`` says
    what an attacker knows, and does not know, in addition to the columns of these people.

    Notes
    -----
    There is one row per published value. Suppressed values, and values about which nothing is known, have no
    row; what is known about a suppressed value is an interval, kept apart from the equations. The target
    is the value on the count scale minus the part that does not depend on the secret, so that ``operator @
    secret == target`` on an exact release. If more than half of the counts are of the people without the
    secret, all counts are complemented first. In a release about some of the people, the columns of the
    others are zero. Tables are summed over unknown columns. Values that count people outside the view give
    intervals. The steps are those of `KNOWN`, what an attacker can use, and then of `WRITTEN`.
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    view = as_view(public, [release])
    draft = carry_out(KNOWN, UsableRelease(release, view, device, known))
    part = _linearised(draft)
    if draft.people is not None:
        return Evidence((part.among(draft.people, view.n),))
    evidence = Evidence((part,))
    if part.alike is view.patterns.index:
        evidence.__dict__["groups"] = view.patterns  # fills the cached property
    return evidence


def evidence_of(
    releases: Sequence[Release], public: Public, known: Knowledge = EVERYTHING, device: Device = HOST
) -> Evidence:
    """All the evidence that an attacker with this view and this knowledge has."""
    parts = [linearise(release, public, device=device, known=known) for release in releases]
    if known.secrets:
        parts.append(Evidence((tell(known.secrets, public.n, releases[0].levels),)))
    return Evidence.together(parts)


def as_view(public: Public | Dataset | npt.ArrayLike, releases: Sequence[Release]) -> Public:
    """The attacker's view; an array has no column names, so it must have all columns of the releases."""
    view = as_public(public)
    if not isinstance(public, Public | Dataset):
        for release in releases:
            if release.columns and release.columns != view.names:
                raise other_columns(release, view)
    return view


def _linearised(draft: UsableRelease) -> ReleaseEquations:
    """The equations of what can be used of a release."""
    if draft.useless is not None:
        return nothing(draft.view.n, draft.release.levels, draft.useless)
    if not draft.release.levels:
        return _of_numbers(draft)
    draft = replace(draft, release=without_tiny_noise(draft.release, draft.view))
    return _written(draft, *count_scale(draft.release, draft.view))


def _of_numbers(draft: UsableRelease) -> ReleaseEquations:
    """The equations about real numbers, made in the unit in which people differ by about one.

    So that the unit of the secret decides nothing: whatever is tiny or room for rounding is so in that unit.
    Only the errors come from there: what was published keeps its last digit.
    """
    counts, noise = count_scale(draft.release, draft.view)
    found = _written(draft, counts, noise)
    if not found.unit:
        return found
    exact = noise.assumed.std == 0
    small = draft.release.statistic.in_unit(found.unit, counts, exact=exact)
    if small is None:
        return found
    statistic, counts = small
    in_unit = replace(draft, release=replace(draft.release, statistic=statistic))
    again = _written(in_unit, counts, noise.scaled(1 / found.unit)).times(found.unit)
    rows = replace(again.rows, target=found.rows.target)
    return replace(again, rows=rows, noise=found.noise, numbers=found.numbers, unit=found.unit)


def _written(draft: UsableRelease, counts: Array, noise: Noise) -> ReleaseEquations:
    """The equations that values on the count scale give, with errors of this law."""
    return release_equations(carry_out(WRITTEN, Equated.of(draft, counts, noise)))
