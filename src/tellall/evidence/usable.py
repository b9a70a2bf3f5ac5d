"""What an attacker can use of a release: its people, its columns, and its values as counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from tellall.core.errors import InvalidInput, invalid
from tellall.core.not_done import NotDone
from tellall.evidence.undo import nearly_exact
from tellall.evidence.view import (
    SAME_PEOPLE,
    UNKNOWN_TO_ATTACKER,
    AddedCells,
    Knowledge,
    PopulationMismatch,
    other_columns,
    restrict,
)
from tellall.linalg.operators.linear_operator import Array, Device, IntArray
from tellall.people.dataset import Public
from tellall.protections.protection import Noise
from tellall.release.release import Release
from tellall.statistics.statistic import CellLayout, tables_of

__all__ = [
    "KNOWN",
    "EvidenceStep",
    "UsableRelease",
    "carry_out",
    "count_scale",
    "unknown_condition",
    "without_tiny_noise",
]

_LARGEST = 1e100  # largest published value: squares of larger ones overflow


State = TypeVar("State")


class EvidenceStep(ABC, Generic[State]):
    """One thing that is done on the way from a release to equations."""

    def accepts(self, draft: State) -> bool:
        """Whether there is anything for it to do."""
        return True

    @abstractmethod
    def apply(self, draft: State) -> State:
        """What is left to do after it."""


def carry_out(steps: Sequence[EvidenceStep[State]], draft: State) -> State:
    """The draft after every step that accepts it."""
    for step in steps:
        if step.accepts(draft):
            draft = step.apply(draft)
    return draft


@dataclass(frozen=True, eq=False)
class UsableRelease:
    """What an attacker can use of a release, before its values are written as equations.

    Attributes
    ----------
    release
        The usable part of the release.
    view
        The people whom it is about, in its columns.
    people
        Which of everybody in view they are; None for everybody.
    sums
        How published values are added up before they are used; None if they are used one by one.
    mismatch
        How many people the release and the view do not share.
    skipped
        What of the release cannot be used, and why.
    useless
        Why nothing of it can be used; None if something can.
    """

    release: Release
    view: Public
    device: Device
    known: Knowledge
    people: IntArray | None = None
    sums: AddedCells | None = None
    mismatch: PopulationMismatch = SAME_PEOPLE
    skipped: tuple[NotDone, ...] = ()
    useless: NotDone | None = None

    def cannot_be_used(self, reason: str) -> UsableRelease:
        """Nothing of the release can be used."""
        return replace(self, useless=NotDone(self.release.describe(), reason, "use"))

    @cached_property
    def units(self) -> float:
        """The factor that turns a published value into a count; shares are of the release's people."""
        return _units(self.release, self.view)

    @cached_property
    def tables(self) -> CellLayout:
        """Where tables lie among the values."""
        return tables_of(self.release.statistic, self.view, self.release.levels)

    @property
    def counts_people(self) -> bool:
        """Whether every value is a number of people with a value of the secret."""
        return bool(self.release.levels) and self.release.statistic.counts_people

    @property
    def hides(self) -> bool:
        """Whether some values may be hidden."""
        return any(protection.hides for protection in self.release.protections)

    @property
    def other_people(self) -> bool:
        """Whether some people are in the release and not in the view, or the other way round."""
        return bool(self.mismatch.missing or self.mismatch.absent)

    def check_values(self) -> None:
        """Raises an error if the view has another number of values, or if a value is absurdly large."""
        release = self.release
        if self.sums is None:
            expected = release.statistic.size_for(self.view, release.levels)
        else:
            expected = self.sums.index.size
        if release.values.size != expected:
            raise invalid(
                "public",
                f"the people of the release ({release.values.size} values)",
                f"people whose release has {expected}",
            )
        if float(np.nanmax(np.abs(release.values), initial=0.0)) > _LARGEST:
            raise invalid("values", f"of a size that people can have (below {_LARGEST:g})", "larger ones")


class RestrictToPeople(EvidenceStep[UsableRelease]):
    """Restricts everybody to the people whom the release is about."""

    def accepts(self, draft: UsableRelease) -> bool:
        return draft.release.where is not None

    def apply(self, draft: UsableRelease) -> UsableRelease:
        where = draft.release.where
        assert where is not None
        if unknown := unknown_condition(draft.release, draft.view):
            return replace(draft, useless=unknown)
        people = np.flatnonzero(where.members(draft.view, "where"))
        some = replace(draft, release=replace(draft.release, where=None), people=people)
        some = replace(some, view=draft.view.take(people))
        if people.size:
            return some
        carry_out(KNOWN[1:], some)  # its errors come before this
        return draft.cannot_be_used("it is about nobody who is known")


class CheckColumns(EvidenceStep[UsableRelease]):
    """Checks the people if they are those of the release in the same columns."""

    def accepts(self, draft: UsableRelease) -> bool:
        return draft.useless is None and _same_people(draft)

    def apply(self, draft: UsableRelease) -> UsableRelease:
        release = draft.release
        if release.columns and release.columns != draft.view.names:
            raise other_columns(release, draft.view)
        draft.check_values()
        return draft


class RestrictToKnown(EvidenceStep[UsableRelease]):
    """Restricts the release to what can be used by somebody who knows these columns of these people."""

    def accepts(self, draft: UsableRelease) -> bool:
        return draft.useless is None and not _same_people(draft)

    def apply(self, draft: UsableRelease) -> UsableRelease:
        release = draft.release
        if release.shape is None:
            raise invalid("release", "one that says which columns and how many people it has", "neither")
        part = draft.people is not None
        mismatch = PopulationMismatch.of(release, draft.view.n, draft.known, part=part)
        draft = replace(draft, mismatch=mismatch)
        if draft.other_people and not release.statistic.counts_people:
            return draft.cannot_be_used("it is not about exactly the people who are known")
        if draft.other_people and release.statistic.no_population:
            listed = f"it lists {release.shape.people:,} people, not exactly those who are known"
            return draft.cannot_be_used(listed)
        usable = restrict(release, draft.view)
        if usable.statistic is None:
            return replace(draft, useless=usable.skipped[0])
        values = release.values if usable.chosen is None else release.values[usable.chosen]
        draft = replace(
            draft,
            release=replace(release, values=values, statistic=usable.statistic),
            view=usable.public,
            sums=usable.sums,
            skipped=usable.skipped,
        )
        if draft.other_people and _shares_of_nobody_knows_whom(draft.release, draft.view):
            return draft.cannot_be_used("it is not known of how many people its values are shares")
        draft.check_values()
        return draft


KNOWN: tuple[EvidenceStep[UsableRelease], ...] = (RestrictToPeople(), CheckColumns(), RestrictToKnown())


def _same_people(draft: UsableRelease) -> bool:
    """Whether the view has the columns and the people of the release, and nothing else is known of them."""
    shape = draft.release.shape
    known = draft.known
    same = shape is None or shape == draft.view.shape
    return same and known.missing is None and not known.may_include


def _shares_of_nobody_knows_whom(release: Release, view: Public) -> bool:
    """Whether values are shares of people whose number the release does not say."""
    statistic = release.statistic
    of_all = statistic.of_everybody and statistic.units(view) == view.n
    return statistic.scale == "fractions" and not of_all


# The values as counts.


def _units(release: Release, view: Public) -> float:
    """The factor that turns a published value into a count; shares are of the release's people."""
    statistic = release.statistic
    units = statistic.units(view)
    of_everybody = statistic.scale == "fractions" and statistic.of_everybody and units == view.n
    if release.shape is None or not of_everybody:
        return units
    return float(release.shape.people)


def count_scale(release: Release, view: Public) -> tuple[Array, Noise]:
    """The published values and the law of their error on the count scale.

    Exact fractions become the whole numbers they came from.
    """
    units = _units(release, view)
    noise = release.noise.scaled(units)
    counts: Array = release.values * units
    if units == 1 or noise.bound > 0:
        return counts, noise
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) < 1e-6, whole, counts), noise


def without_tiny_noise(release: Release, view: Public) -> Release:
    """The release as if noise that is too small to hide a count had not been added; see `nearly_exact`."""
    if not (release.levels and release.statistic.counts_people):
        return release
    values, kept = nearly_exact(release.values, release.protections, _units(release, view))
    if kept is release.protections:
        return release
    return replace(release, values=values, protections=tuple(kept))


def unknown_condition(release: Release, view: Public) -> NotDone | None:
    """Why a view does not show which people a release is about; None if it does."""
    where = release.where
    if where is None or where.words is None:
        return None
    reason = ""
    if unknown := sorted(where.columns - set(view.names)):
        reason = f"needs {', '.join(unknown)}, which this attacker does not know"
    else:
        try:
            where.members(view)
        except InvalidInput as error:
            reason = f"it is not known who it is about, since the {error}"
    return NotDone(release.describe(), reason, "use", UNKNOWN_TO_ATTACKER) if reason else None
