"""Release: what the world sees of a statistic after its protections, made from people or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tellall.core import files
from tellall.core.errors import invalid
from tellall.core.records import read
from tellall.core.shown import InNotebook
from tellall.linalg.operators.linear_operator import Array, find_device
from tellall.people.counting.stored import Stored
from tellall.people.dataset import Dataset, Public, as_public
from tellall.people.dates import cut_before, day_number
from tellall.people.shape import Shape
from tellall.protections.protection import (
    Noise,
    Protection,
    Rng,
    as_protections,
    carry_out,
    noise_of,
    prepare,
)
from tellall.release import catalogue
from tellall.release.saved import SavedColumn, SavedRelease, ValuesBeside
from tellall.statistics.conditions import Subset
from tellall.statistics.statistic import Statistic
from tellall.statistics.stored_part import people_of_store
from tellall.statistics.where import Where, as_where, describe, people_where

__all__ = ["MANY_VALUES", "PUBLISHED_TOO", "Computed", "Release", "publish", "publish_part", "published_too"]

MANY_VALUES = 100_000  # more go into a Parquet file next to the JSON

PUBLISHED_TOO = {  # what a release file says about people in addition to its values, by field
    "people": "how many people there are",
    "columns": "which public columns differ between people, how many categories each has among them, and "
    "where numbers are cut; cut points are taken from the people where the plan gives none",
    "levels": "how many values the protected column has among them",
    "protect": "parameters that publishing fills in from how many people and which columns there are",
}


@dataclass(frozen=True, eq=False, repr=False)
class Release(InNotebook):
    """Published values, what they are, and what was done to them; it holds no secret and no person.

    Attributes
    ----------
    values
        A flat float64 array; suppressed values are missing (NaN).
    statistic
        What was computed.
    protections
        What was done to the values, in order.
    where
        Whose it is: a condition on public columns, which equals its text, or a mask over everybody. None:
        everybody's. Indices of people in the statistic count among these.
    columns
        The names of the public columns it was computed over.
    shape
        The columns' categories and cut points, and the number of people; None if not given.
    levels
        How many values the secret has: two for bits, zero for real numbers.
    """

    values: Array
    statistic: Statistic
    protections: tuple[Protection, ...] = ()
    where: Subset | None = None
    columns: tuple[str, ...] = ()
    shape: Shape | None = None
    levels: int = 2

    def identity(self) -> list[Any]:
        """What tells its values and shape from those of any other release; plain data for a hash."""
        shape = None if self.shape is None else asdict(self.shape)
        return [sha256(self.values.tobytes()).hexdigest(), shape, self.columns, self.levels]

    @property
    def noise(self) -> Noise:
        """The law of the error of a value, in the units of what is published."""
        return noise_of(self.protections)

    def describe(self) -> str:
        """What was computed, and of whom, in a few words."""
        return describe(self.statistic, self.where)

    def about(self, where: Where | Subset) -> Release:
        """The same release, declared to be about these people only; indices inside it do not change."""
        if self.where is not None:
            raise invalid("where", "left out, since the release says which people it is about", where)
        return replace(self, where=as_where(where))

    def exact(self, people: Dataset) -> Array:
        """The values of these people, everybody, before anything was done to them."""
        if self.where is None:
            return self.statistic.values(people)
        return self.statistic.values(people.take(people_where(self.where, people.public)))

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
        where: Where | None = None,
    ) -> Release:
        """The release that an outsider builds from published numbers (NaN where suppressed).

        ``protect`` lists what is known to have been done to them, in order, if that is more than noise: with
        ``Suppression(10)`` in the list, a missing value is known to be under 10. ``levels`` is how many
        values the secret has, zero for a real number. ``where`` says which of the people the numbers are
        about: a condition such as ``"sex = 'f'"``, or a mask.
        """
        view = as_public(public)
        if not isinstance(statistic, Statistic):
            raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
        if where is not None:
            people = people_where(where, view)
            taken = statistic.take(people, view)
            part = view.take(people)
            some = cls.from_values(taken, values, public=part, noise=noise, protect=protect, levels=levels)
            return some.about(where)
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
            raise invalid("protect", "left out if noise is given", protect, "Put the noise into it.")
        settled = statistic.settle(view)
        done = prepare(as_protections(protect if noise is None else noise), settled, view)
        laws = tuple(one for one in done if not one.idle)
        return cls(array, settled, laws, None, view.names, view.shape, levels)

    def save(self, path: str | Path) -> Path:
        """The path, after saving the release there as JSON; many values go to a Parquet file next to it.

        Notes
        -----
        The file holds what is published: the values, what they are, and what ``published_too`` lists. It
        holds no seed, and nothing computed from rows except the values. A condition on the people is saved. A
        mask is not, because it shows who is in.
        """
        file = _as_path(path)
        if not file.parent.is_dir():
            raise invalid("path", "a file in a folder that exists", str(file))
        if file.is_dir():
            raise invalid("path", "a file, not a folder", str(file))
        with files.together(public=True) as batch:
            return self.put(batch, file)

    def put(self, batch: files.Together, file: Path) -> Path:
        """Saves the release among files that appear together; see :meth:`save`."""
        values: tuple[float | None, ...] | ValuesBeside
        if self.values.size > MANY_VALUES:
            beside = file.with_name(f"{file.name}.values.parquet")
            values = ValuesBeside(**batch.values(beside, np.asarray(self.values, dtype=np.float64)))
        else:
            values = tuple(None if np.isnan(value) else float(value) for value in self.values)
        return batch.text(file, files.dump(_saved(self, values)))

    @classmethod
    def load(
        cls, path: str | Path, where: Where | None = None, *, own: Sequence[type[Statistic]] = ()
    ) -> Release:
        """The release that was saved there.

        ``where`` says which people it is about, if not everybody and not saved with it: a mask over the
        people that the attacker knows, or a condition. ``own`` are statistics from outside tellall that the
        file may name; no file loads code by itself.
        """
        release = _from_document(_as_path(path), own)
        return release if where is None else release.about(where)

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        done = ", ".join(map(repr, self.protections)) or "exact"
        gone = f", {missing} suppressed" if missing else ""
        return f"Release of {self.describe()}: {self.values.size} values{gone}; {done}"


def _as_path(path: str | Path) -> Path:
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    return Path(path)


def _cuts(shown: Sequence[float | str]) -> tuple[float, ...]:
    """Cut points from a document, in which dates are text."""
    found = [day_number(cut) if isinstance(cut, str) else cut for cut in shown]
    if None in found:
        raise invalid("columns", "cut at numbers or dates", "another text")
    return tuple(
        cut_before(day) if isinstance(cut, str) else day
        for cut, day in zip(shown, found, strict=True)
        if day is not None
    )


def _saved(release: Release, values: tuple[float | None, ...] | ValuesBeside) -> SavedRelease:
    shape = release.shape
    names = release.columns
    levels = shape.levels if shape else (1,) * len(names)
    cuts = shape.cuts_shown if shape else (None,) * len(names)
    return SavedRelease(
        description=release.describe(),
        statistic=catalogue.to_plain(release.statistic, own=True),
        where=None if release.where is None else release.where.words,  # a mask would show who is in
        protect=tuple(catalogue.published(protection) for protection in release.protections),
        columns=tuple(
            SavedColumn(name, level, cut) for name, level, cut in zip(names, levels, cuts, strict=True)
        ),
        people=shape.people if shape else None,
        levels=release.levels,
        published_too=published_too(release),
        values=values,
    )


def published_too(release: Release) -> dict[str, str]:
    """What the file of a release says about people in addition to its values, by field."""
    about = release.statistic.published_too
    return {**PUBLISHED_TOO, **({"statistic": about} if about else {})}


def _from_document(path: Path, own: Sequence[type[Statistic]]) -> Release:
    checked = read(
        SavedRelease, files.read_json(path, what="release"), what=f"{path} is not a release saved by tellall"
    )
    beside = checked.values
    if isinstance(beside, ValuesBeside):
        if Path(beside.parquet).name != beside.parquet:
            raise invalid("values", "in a file next to the release", beside.parquet)
        values = files.read_values(path.parent / beside.parquet, count=beside.count, sha256=beside.sha256)
    else:
        values = np.array([np.nan if value is None else value for value in beside], dtype=np.float64)
    if np.isinf(values).any():
        raise invalid("values", "finite, or missing where suppressed", "an infinite value")
    names = tuple(column.name for column in checked.columns)
    shape = None
    if checked.people is not None:
        shape = Shape(
            names=names,
            levels=tuple(column.levels for column in checked.columns),
            cuts=tuple(None if column.cuts is None else _cuts(column.cuts) for column in checked.columns),
            people=checked.people,
            dates=tuple(any(isinstance(cut, str) for cut in column.cuts or ()) for column in checked.columns),
        )
    protections = tuple(catalogue.build("protection", plain) for plain in checked.protect)
    noise_of(protections)  # an error if one misses a number that publishing fills in: it would pass for exact
    return Release(
        values=values,
        statistic=catalogue.build("statistic", checked.statistic, own),
        protections=protections,
        where=None if checked.where is None else as_where(checked.where),
        columns=names,
        shape=shape,
        levels=checked.levels,
    )


def publish(
    dataset: Dataset | Stored,
    statistic: Statistic,
    protect: Protection | Sequence[Protection] | None = None,
    rng: Rng = None,
    *,
    where: Where | None = None,
    device: str = "cpu",
) -> Release:
    """The release of a statistic of these people after its protections.

    ``where`` restricts it to some of them: a condition on public columns such as
    ``"sex = 'f' and age < 40"`` (the language of :class:`SubsetCounts`), or a mask of one bit per person.
    A condition is saved with the release. A mask never is, because it shows who is in.

    People in a store (`scan`) can publish tables of everybody, or of those who satisfy a condition, with
    protections that change only values. The release is the same as for people in memory. ``device`` ("cpu",
    "cuda", "cuda:1") is where products of attributes are computed, as :class:`Predicates` need them; the
    values do not depend on it.

    Examples
    --------
    >>> from tellall.statistics.marginals import Marginals
    >>> people = Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], secret=[0, 1, 1])
    >>> publish(people, Marginals(2))
    Release of every 2-way table: 8 values; exact
    """
    if not isinstance(dataset, Dataset | Stored):
        raise invalid("dataset", "a Dataset", type(dataset).__name__, "Make one with Dataset.from_frame.")
    if not isinstance(statistic, Statistic):
        raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
    if where is not None and isinstance(dataset, Dataset):
        statistic = statistic.take(people_where(where, dataset.public), dataset.public)
    about = None if where is None else as_where(where)
    return publish_part(dataset, statistic, about, as_protections(protect), rng, device=device)


def publish_part(
    dataset: Dataset | Stored,
    statistic: Statistic,
    where: Subset | None,
    protections: Sequence[Protection],
    rng: Rng = None,
    *,
    device: str = "cpu",
) -> Release:
    """The release of a statistic of some of these people, whose indices of people count among those."""
    if isinstance(dataset, Stored):
        some = dataset if where is None else people_of_store(where, dataset)
        return replace(_publish_stored(some, statistic, protections, rng), where=where)
    if where is not None:
        dataset = dataset.take(people_where(where, dataset.public))
    view = dataset.public
    settled = statistic.settle(view, secret=dataset.secret is not None)
    prepared = _as_published(prepare(protections, settled, view))
    chosen = find_device(device)
    with chosen.short_of_memory():
        values = carry_out(prepared, dataset, settled, rng, device=chosen)
    return Release(values, settled, prepared, where, view.names, view.shape, dataset.levels)


def _as_published(prepared: Sequence[Protection]) -> tuple[Protection, ...]:
    """Prepared protections with every choice made that they leave to publishing."""
    return tuple(protection.as_published() for protection in prepared)


def _publish_stored(
    people: Stored, statistic: Statistic, protections: Sequence[Protection], rng: Rng
) -> Release:
    """The release of tables of people who are not in memory."""
    if not statistic.counted_in_stores:
        kind = type(statistic).__name__
        raise invalid("statistic", "Marginals or Tables, for people in a store", kind, "Load them first.")
    for protection in protections:
        if protection.changes_people or (protection.reads_people and not protection.reads_cell_sizes):
            rule = "protections of values alone, for people in a store"
            raise invalid("protect", rule, type(protection).__name__, "Load them first.")
    # tables and protections of values need columns, categories and the number of people: a store has them
    view = cast(Public, people.public)
    dataset = cast(Dataset, people)
    settled = statistic.settle(view, secret=people.secret is not None)
    prepared = _as_published(prepare(protections, settled, view))
    values = carry_out(prepared, dataset, settled, rng)
    return Release(values, settled, prepared, None, view.names, view.shape, people.levels)


@dataclass(frozen=True, eq=False)
class Computed:
    """A statistic whose values for these people are already computed, to be published many times.

    ``dataset`` are the people whom it is about; ``where`` says who of everybody they are.
    """

    statistic: Statistic
    dataset: Dataset
    clean: Array
    where: Subset | None = None

    @classmethod
    def of(cls, statistic: Statistic, dataset: Dataset, where: Subset | None = None) -> Computed:
        """The statistic, settled and computed for the people it is about; its indices count among them."""
        if where is not None:
            dataset = dataset.take(people_where(where, dataset.public))
        settled = statistic.settle(dataset.public, secret=dataset.secret is not None)
        return cls(settled, dataset, settled.values(dataset), where)

    def publish(self, prepared: tuple[Protection, ...], rng: Rng) -> Release:
        """The release after prepared protections: the same as :func:`publish` gives with this generator."""
        view = self.dataset.public
        done = _as_published(prepared)
        values = carry_out(done, self.dataset, self.statistic, rng, clean=self.clean)
        levels = self.dataset.levels
        return Release(values, self.statistic, done, self.where, view.names, view.shape, levels)
