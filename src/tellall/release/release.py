"""Publishing makes a release from people; linearising turns it into evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.algebra.operators.device import HOST, Device, find_device
from tellall.core.errors import invalid
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.imprint import Imprint
from tellall.release.equations import Equations, Evidence, ReleaseEquations, Rows
from tellall.release.hidden import hidden_rows, threshold_of, whole_rounding
from tellall.release.protections.base import (
    Protection,
    as_protections,
    carry_out,
    noise_of,
    prepare,
    tables_of,
)
from tellall.release.protections.law import Exact, Noise, Rng
from tellall.release.protections.sampling import turn_back
from tellall.release.saved import Saved, load, save
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.tables import Tables

__all__ = [
    "Computed",
    "Release",
    "count_scale",
    "linearise",
    "publish",
]

# Release: what the world sees of a statistic after its protections.


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Published values, what they are, and what was done to them; no secret and no person in it.

    Attributes
    ----------
    values
        Flat float64, missing (NaN) where suppressed.
    statistic
        What was computed.
    protections
        What was done to it, in order.
    columns
        The names of the public columns it was computed over.
    imprint
        What it remembers of the public table it was made for, so that it meets no other.
    levels
        How many values the secret has: two for bits, zero for real numbers.
    """

    values: Array
    statistic: Statistic
    protections: tuple[Protection, ...] = ()
    columns: tuple[str, ...] = ()
    imprint: Imprint | None = None
    levels: int = 2

    @property
    def noise(self) -> Noise:
        """The law of the error of a value, in the units of what is published."""
        return noise_of(self.protections)

    @classmethod
    def from_values(
        cls,
        statistic: Statistic,
        values: npt.ArrayLike,
        *,
        public: Public | Dataset | npt.ArrayLike,
        noise: Noise | None = None,
        protect: Protection | Sequence[Protection] | None = None,
        levels: int = 2,
    ) -> Release:
        """The release that an outsider builds from published numbers (NaN where suppressed).

        ``protect`` is what is known to have been done to them, in order, where that is more than noise: with
        ``Suppression(10)`` in it a missing value is known to be under 10. ``levels`` is how many values the
        secret has, zero where it is a real number.
        """
        view = as_public(public)
        if not isinstance(statistic, Statistic):
            raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
        try:
            array = np.asarray(values, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise invalid("values", "numbers, NaN where suppressed", values) from None
        expected = statistic.size_for(view, levels)
        if array.size != expected:
            raise invalid("values", f"{expected} numbers, one per published value", f"{array.size} numbers")
        if np.isinf(array).any():
            raise invalid("values", "finite, or NaN where suppressed", "an infinite value")
        if noise is not None and not isinstance(noise, Noise):
            raise invalid("noise", "a noise law such as Gaussian(2.0), or None", noise)
        if noise is not None and protect is not None:
            raise invalid("protect", "left out where noise is given", protect, "Put the noise into it.")
        settled = statistic.settle(view)
        done = prepare(as_protections(protect if noise is None else noise), settled, view)
        laws = tuple(law for law in done if not isinstance(law, Exact))
        return cls(array, settled, laws, view.names, view.imprint, levels)

    def save(self, path: str | Path) -> Path:
        """The path, after the release is in it: JSON, with Parquet beside it where the values are many.

        Notes
        -----
        What is saved is what is published: no seed, no secret, no person; of the public rows their number
        and a fingerprint.
        """
        parts = Saved(self.values, self.statistic, self.protections, self.columns, self.imprint, self.levels)
        return save(parts, _place(path))

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """The release that was saved there."""
        parts = load(_place(path))
        return cls(
            parts.values, parts.statistic, parts.protections, parts.columns, parts.imprint, parts.levels
        )

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        done = ", ".join(map(repr, self.protections)) or "exact"
        gone = f", {missing} suppressed" if missing else ""
        return f"Release of {self.statistic.describe()}: {self.values.size} values{gone}; {done}"


def _place(path: str | Path) -> Path:
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    return Path(path)


_LARGEST = 1e100  # of a published value: beyond, squares overflow


def publish(
    dataset: Dataset | Stored,
    statistic: Statistic,
    protect: Protection | Sequence[Protection] | None = None,
    rng: Rng = None,
    *,
    device: str = "cpu",
) -> Release:
    """The release of a statistic of these people after its protections.

    People in a store (`scan`) publish tables, protected by what changes values alone; the
    release is the one that the same people would give in memory. ``device`` ("cpu", "cuda", "cuda:1") is
    where products of attributes are computed, which :class:`Predicates` are; the values are the same.

    Examples
    --------
    >>> from tellall.release.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> publish(people, Marginals(2))
    Release of every 2-way table: 8 values; exact
    """
    if not isinstance(dataset, Dataset | Stored):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with Dataset.from_frame.")
    if not isinstance(statistic, Statistic):
        raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
    if isinstance(dataset, Stored):
        return _publish_stored(dataset, statistic, as_protections(protect), rng)
    view = dataset.public
    settled = statistic.settle(view, secret=dataset.secret is not None)
    protections = prepare(as_protections(protect), settled, view)
    chosen = find_device(device)
    with chosen.short_of_memory():
        values = carry_out(protections, dataset, settled if chosen is HOST else _At(settled, chosen), rng)
    return Release(values, settled, protections, view.names, view.imprint, dataset.levels)


def _publish_stored(
    people: Stored, statistic: Statistic, protections: tuple[Protection, ...], rng: Rng
) -> Release:
    """The release of tables of people who are not in memory."""
    if not isinstance(statistic, Marginals | Tables):
        kind = type(statistic).__name__
        raise invalid("statistic", "Marginals or Tables, for people in a store", kind, "Load them first.")
    for protection in protections:
        if hasattr(protection, "records") or hasattr(protection, "perturb_people"):
            rule = "protections of values alone, for people in a store"
            raise invalid("protect", rule, type(protection).__name__, "Load them first.")
    # tables and protections of values ask for columns, categories and the number of people, all of them here
    view, dataset = cast(Public, people.public), cast(Dataset, people)
    settled = statistic.settle(view, secret=people.secret is not None)
    prepared = prepare(protections, settled, view)
    values = carry_out(prepared, dataset, settled, rng)
    return Release(values, settled, prepared, view.names, people.imprint(), people.levels)


@dataclass(frozen=True, eq=False)
class _At:
    """A statistic whose values are computed on a device."""

    statistic: Statistic
    device: Device

    def values(self, dataset: Dataset) -> Array:
        return self.statistic.values_on(self.device, dataset)

    def take(self, people: IntArray, public: Public) -> _At:
        return _At(self.statistic.take(people, public), self.device)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "statistic":  # asked for before there is one, by copy
            raise AttributeError(name)
        return getattr(self.statistic, name)


@dataclass(frozen=True, eq=False)
class Computed:
    """A statistic whose values of these people are computed already, to be published many times."""

    statistic: Statistic
    dataset: Dataset
    clean: Array

    @classmethod
    def of(cls, statistic: Statistic, dataset: Dataset) -> Computed:
        """The statistic of these people, settled and computed."""
        settled = statistic.settle(dataset.public, secret=dataset.secret is not None)
        return cls(settled, dataset, settled.values(dataset))

    def publish(self, prepared: tuple[Protection, ...], rng: Rng) -> Release:
        """The release after prepared protections: what :func:`publish` gives with the same generator."""
        view = self.dataset.public
        values = carry_out(prepared, self.dataset, self, rng)
        return Release(values, self.statistic, prepared, view.names, view.imprint, self.dataset.levels)

    def values(self, dataset: Dataset) -> Array:
        """The statistic of these people, or of those that protections made of them."""
        return self.clean.copy() if dataset is self.dataset else self.statistic.values(dataset)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "statistic":  # asked for before there is one, by pickle
            raise AttributeError(name)
        return getattr(self.statistic, name)


def linearise(
    release: Release, public: Public | Dataset | npt.ArrayLike, *, device: Device = HOST
) -> Evidence:
    """The equations about people that a release gives to whoever knows their public columns.

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
    rows = _rows(equations, noise, counts, whole=whole)
    index = np.flatnonzero(~np.isnan(rows.target) & np.isfinite(rows.std))
    rows = rows.take(index)
    if between is not None and intervals is not None:
        index, rows = np.concatenate([index, between]), Rows.concat([rows, intervals])
    notes = _inconsistent_totals(release, view, counts)
    part = ReleaseEquations(equations.operator, index, rows, noise, equations.alike, equations.skipped, notes)
    return Evidence((part,))


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
