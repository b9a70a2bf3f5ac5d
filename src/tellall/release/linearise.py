"""Linearising turns a release into evidence: equations about people, each with what is known of its error."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.device import HOST, Device
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset, Public, as_public
from tellall.release.equations import Equations, Evidence, ReleaseEquations, Rows
from tellall.release.hidden import hidden_rows, threshold_of, whole_rounding
from tellall.release.protections.law import Noise
from tellall.release.protections.protection import tables_of
from tellall.release.protections.sampling import turn_back
from tellall.release.release import Release

__all__ = ["count_scale", "linearise"]

_LARGEST = 1e100  # of a published value: beyond, squares overflow


def linearise(
    release: Release, public: Public | Dataset | npt.ArrayLike, *, device: Device = HOST
) -> Evidence:
    """The equations that a release gives about people whose public columns are known.

    ``device`` is where products with them are computed, where they have a form there.

    Notes
    -----
    One row per published value; suppressed values, and those of which nothing is known, have none (what is
    known of a suppressed value is an interval, apart from the equations). The target
    is the value on the count scale less the part that does not depend on the secret, so that ``operator @
    secret == target`` on an exact release. Where more than half of the counts are of the people without the
    secret, all are turned round first.
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    view = as_public(public)
    _check_people(release, view)
    counts, noise = count_scale(release, view)
    hidden = np.isnan(counts)
    threshold = None
    if release.statistic.counts_people and release.levels:
        threshold = threshold_of(release.protections, release.statistic.units(view))
    equations = release.statistic.equations_on(
        device, view, counts if threshold is None else np.nan_to_num(counts)
    )
    between, intervals = None, None
    if threshold is not None:
        between, intervals = hidden_rows(threshold, equations, counts, hidden)
        equations = replace(equations, target=np.where(hidden, np.nan, equations.target))
    noise, turned = turn_back(noise)
    if turned:  # what hides a complemented count says nothing simple about the count
        equations = replace(equations, target=equations.sums - equations.target)
        between = None
    whole = bool(release.levels) and release.statistic.counts_people and release.statistic.units(view) == 1
    rows = _rows(equations, noise.assumed, counts, whole=whole)
    if not noise.known:
        rows = replace(rows, bound=np.full(rows.bound.size, np.inf))
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    if between is not None and intervals is not None:
        index, rows = np.concatenate([index, between]), Rows.concat([rows, intervals])
    notes = _inconsistent_totals(release, view, counts)
    part = ReleaseEquations(equations.operator, index, rows, noise, equations.alike, equations.skipped, notes)
    return Evidence((part,))


def _check_people(release: Release, view: Public) -> None:
    """Refuse people whom the release is not about."""
    if release.columns and release.columns != view.names:
        raise invalid(
            "public", f"the columns of the release ({', '.join(release.columns)})", ", ".join(view.names)
        )
    if release.imprint is not None and release.imprint != view.imprint:
        raise invalid(
            "public",
            f"the people the release was made for ({release.imprint.people} rows, "
            f"fingerprint {release.imprint.fingerprint[:8]}…)",
            f"{view.n} rows, fingerprint {view.imprint.fingerprint[:8]}…",
        )
    expected = release.statistic.size_for(view, release.levels)
    if release.values.size != expected:
        raise invalid(
            "public",
            f"the people of the release ({release.values.size} values)",
            f"people whose release has {expected}",
        )
    if float(np.nanmax(np.abs(release.values), initial=0.0)) > _LARGEST:
        raise invalid("values", f"of a size that people can have (below {_LARGEST:g})", "larger ones")


def _rows(equations: Equations, noise: Noise, counts: Array, *, whole: bool) -> Rows:
    """What the law of the values' errors says of each equation's; ``whole``: the values are whole counts."""
    size = equations.target.size

    def error_of(law: Noise) -> Array:
        std = law.spread(counts, equations) if law.varies else law.std
        return np.hypot(_times(std, equations.gain, size), equations.doubt)

    std = error_of(noise)
    bound = _times(noise.bound, equations.reach, size)
    bound[np.broadcast_to(equations.doubt, size) > 0] = np.inf  # how far a fit is off is not known for sure
    slack = _times(noise.half_width, equations.reach, size)
    if whole:
        std, bound, slack = whole_rounding(noise, counts, std, bound, slack)
    ordinary = std if noise.ordinary == noise else error_of(noise.ordinary)
    rest = np.sqrt(np.maximum(ordinary**2 - slack**2 / 3, 0.0))
    spread, rest = np.maximum(std, equations.floor), np.maximum(rest, equations.floor)
    return Rows(equations.target, std, spread, bound, slack, rest, np.zeros(size, dtype=bool))


def _inconsistent_totals(release: Release, public: Public, counts: Array) -> tuple[str, ...]:
    """What to say of tables that do not add up to the number of people; they are used as they are."""
    if not release.statistic.counts_people:
        return ()
    tables = tables_of(release.statistic, public, release.levels)
    if not len(tables):
        return ()
    starts = np.cumsum([0, *(prod(shape) for shape in tables.shapes)])
    if starts[-1] != counts.size:
        return ()
    totals = np.add.reduceat(counts, starts[:-1])
    wrong = totals[np.abs(totals - public.n) > 0.5]  # hidden cells leave no total
    if not wrong.size:
        return ()
    return (
        f"{wrong.size:,} of {len(tables):,} tables add up to another number than the {public.n:,} people "
        f"(from {wrong.min():,.6g} to {wrong.max():,.6g}); they are used as they are",
    )


def count_scale(release: Release, public: Public) -> tuple[Array, Noise]:
    """The published values and the law of their error on the count scale.

    Exact fractions become the whole numbers they came from.
    """
    units = release.statistic.units(public)
    noise = release.noise.scaled(units)
    counts: Array = release.values * units
    if units == 1 or noise.bound > 0:
        return counts, noise
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) < 1e-6, whole, counts), noise


def _times(size: Array | float, factor: Array | float, rows: int) -> Array:
    """The size times each row's factor; nothing times an infinite size stays nothing."""
    factors = np.broadcast_to(np.asarray(factor, dtype=np.float64), rows)
    return np.where(factors == 0, 0.0, size * np.where(factors == 0, 1.0, factors))
