"""Folders of outputs that somebody wants to publish: the releases read from them, and what was not read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tellall.core.amounts import count_of
from tellall.core.not_done import NotDone
from tellall.core.records import NOT_WRITTEN, Meaning, Record
from tellall.people.dataset import Dataset
from tellall.release.release import Release

__all__ = [
    "EARLIER",
    "NO_PART",
    "Output",
    "OutputFolder",
    "PossibleMeaning",
    "RecognisedOutput",
    "Source",
    "errors_not_read",
    "not_read",
]

EARLIER = " (published)"  # how the file of an output is named that went out before
NO_PART = "takes-no-part"  # the code of what says nothing, or is not for publishing: nobody has to check it


@dataclass(frozen=True)
class Source(Record):
    """Where an output was found."""

    file: Annotated[str, Meaning("The file, below the folder that was read.")]
    sheet: Annotated[str, Meaning("The sheet of a workbook; empty elsewhere.")] = ""
    range: Annotated[str, Meaning('Its place there: "B3:F12", "lines 3 to 12", "table 2".')] = ""

    def __str__(self) -> str:
        """As in ``results.xlsx, sheet Tab 1, B3:F12``."""
        sheet = f"sheet {self.sheet}" if self.sheet else ""
        return ", ".join(filter(None, (self.file, sheet, self.range)))


@dataclass(frozen=True)
class PossibleMeaning(Record):
    """One of several things that an output may be: all of its numbers agree with each."""

    number: Annotated[int, Meaning("What to confirm it by, from 1.", least=1)]
    sentence: Annotated[str, Meaning("What the output is then.")]
    columns: Annotated[tuple[str, ...], Meaning("The columns that it is made of.")] = ()
    where: Annotated[str, Meaning("The condition that selects its people; empty for everybody.")] = ""
    differs: Annotated[
        tuple[str, ...],
        Meaning("Cells whose people are others than under the first meaning, with both numbers."),
    ] = ()


@dataclass(frozen=True)
class RecognisedOutput(Record):
    """A printed table or model, and what it is found to be by computing it again from the people."""

    source: Annotated[Source, Meaning("Where it was found.")]
    sentence: Annotated[str, Meaning("What its numbers agree with, or what is known of it.")] = ""
    kind: Annotated[str, Meaning('What is published: "counts", "row percentages", "means", ...')] = ""
    columns: Annotated[tuple[str, ...], Meaning("The columns that it tabulates or models.")] = ()
    columns_known: Annotated[
        tuple[str, ...], Meaning("Those of them, and of its filter, that an outsider is taken to know.")
    ] = ()
    measured: Annotated[tuple[str, ...], Meaning("The columns that are only averaged or added up.")] = ()
    where: Annotated[str, Meaning("The condition that selects its people; empty for everybody.")] = ""
    protection: Annotated[tuple[str, ...], Meaning("What was done to the numbers, in order.")] = ()
    agrees: Annotated[tuple[int, int], Meaning("How many shown cells the people reproduce, of how many.")] = (
        0,
        0,
    )
    read: Annotated[bool, Meaning("Whether it takes part in the audit.")] = False
    reason: Annotated[str, Meaning("Why it takes no part; empty if it does.")] = ""
    beside: Annotated[str, Meaning("Why some of its numbers take no part; empty if all do.")] = ""
    about_secret: Annotated[
        bool | None, Meaning("Whether it says anything about the secret; null if that is not known.")
    ] = None
    meanings: Annotated[
        tuple[PossibleMeaning, ...], Meaning("What it may be, if that is to be confirmed.")
    ] = ()
    bits: Annotated[float, Meaning("How sure it is, above what was tried.", unit="bits")] = 0.0
    cells: Annotated[tuple[tuple[str, ...], ...], Meaning("The table as printed.")] = ()
    marks: Annotated[
        tuple[str, ...],
        Meaning("For each line a letter a cell: = agrees, x differs, h hidden, . anything else."),
    ] = ()
    releases: Annotated[
        tuple[int, ...], Meaning("Its places among the releases: one, or one for each kind of number.")
    ] = ()
    made: Annotated[tuple[Release, ...], NOT_WRITTEN] = ()

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its releases."""
        if len(self.made) == 1:
            return (self.id,)
        return tuple(f"{self.id}, part {number}" for number in range(1, len(self.made) + 1))

    @property
    def left_open(self) -> NotDone | None:
        """What of it nobody has checked although it may say something about the secret."""
        if self.beside:
            return not_read(f"{self.id}, its other numbers", self.beside)
        return None if self.read or self.about_secret is False else not_read(self.id, self.reason)

    def __str__(self) -> str:
        said = f": {self.sentence}" if self.sentence else ""
        return f"{self.source}{said}" + (f" (not checked: {self.reason})" if self.reason else "")


def not_read(name: str, reason: str, code: str | None = None) -> NotDone:
    """Returns why an output was not read as a release."""
    return NotDone(name, reason, "read", code)


def errors_not_read(model: str, reason: str) -> NotDone:
    """Returns why standard errors of a linear model were not read: they say how far off it people are."""
    return not_read(f"{model}, standard errors", reason)


@dataclass(frozen=True, eq=False)
class Output:
    """An output of a folder as a release.

    Attributes
    ----------
    id
        Its name in the folder; a table of several statistics has one release for each that can be read.
    status
        The verdict of another checker (pass, review or fail); empty if there is none.
    command
        The analyst's command, as text; empty if unknown.
    files
        The files with its numbers.
    earlier
        Whether it went out before.
    """

    id: str
    release: Release
    status: str = ""
    command: str = ""
    files: tuple[Path, ...] = ()
    earlier: bool = False

    @property
    def record(self) -> RecognisedOutput:
        """What is known of it."""
        words = self.release.describe()
        return RecognisedOutput(Source(self.id), words, read=True, about_secret=True)


@dataclass(frozen=True, eq=False)
class OutputFolder:
    """What could be read from a folder, and what could not.

    Attributes
    ----------
    outputs
        The releases with their ids.
    skipped
        The other outputs, each with its id and the reason.
    secret, meaning
        The variable that they are about, and its values in the order of their codes.
    made_by
        What wrote the folder, with its version if known.
    may_include
        Whether tables leave out some of the people, and nobody knows whom.
    known
        The columns that an outsider is taken to know, if outputs were recognised from the people: those that
        are tabulated, filtered on, or on the right-hand side of a model.
    assumed_unknown
        The other columns but the secret.
    """

    outputs: tuple[Output | RecognisedOutput, ...]
    skipped: tuple[NotDone, ...]
    secret: str
    meaning: tuple[str, ...]
    made_by: str = ""
    may_include: bool = False
    known: tuple[str, ...] = ()
    assumed_unknown: tuple[str, ...] = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases, to be attacked together."""
        return tuple(output.release for output in self.published)

    @property
    def published(self) -> tuple[Output, ...]:
        """The outputs that are releases."""
        found: list[Output] = []
        for each in self.outputs:
            if isinstance(each, Output):
                found.append(each)
            else:
                earlier = each.source.file.endswith(EARLIER)
                made = zip(each.names, each.made, strict=True)
                found += [Output(name, release, earlier=earlier) for name, release in made]
        return tuple(found)

    @property
    def unread(self) -> tuple[NotDone, ...]:
        """What could not be read, and what was recognised but takes no part although it may say something."""
        left = (each.left_open for each in self.outputs if isinstance(each, RecognisedOutput))
        return (*self.skipped, *(each for each in left if each is not None))

    @property
    def records(self) -> tuple[RecognisedOutput, ...]:
        """What is known of every output: those that were read, in their order, then the others."""
        found = [each if isinstance(each, RecognisedOutput) else each.record for each in self.outputs]
        lost = (
            RecognisedOutput(
                Source(each.name), reason=each.reason, about_secret=False if each.code == NO_PART else None
            )
            for each in self.skipped
        )
        return (*found, *lost)

    def people(self, dataset: Dataset) -> Dataset:
        """These people with the columns that an outsider is taken to know, as the releases need them."""
        return replace(dataset, public=dataset.public.only(*self.known))

    def __repr__(self) -> str:
        read, unread = count_of(len(self.published), "release"), count_of(len(self.unread), "output")
        found = f"{read} about {self.secret}, {unread} not read"
        return f"OutputFolder: {found}"
