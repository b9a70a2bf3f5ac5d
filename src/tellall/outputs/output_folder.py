"""Folders of outputs that somebody wants to publish: the releases read from them, and what was not read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tellall.core.amounts import count_of
from tellall.core.records import NOT_WRITTEN, Record
from tellall.release.release import Release

__all__ = ["NotRead", "Output", "OutputFolder"]


@dataclass(frozen=True)
class NotRead(Record):
    """An output that was not read as a release, and why; ``planned``: somebody wants to publish it."""

    id: str
    reason: str
    planned: Annotated[bool, NOT_WRITTEN] = True

    @classmethod
    def errors_of(cls, model: str, reason: str) -> NotRead:
        """The standard errors of a linear model, which say how far people are from the line."""
        return cls(f"{model}, standard errors", reason)

    def __str__(self) -> str:
        return f"{self.id}: {self.reason}"


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
    """

    id: str
    release: Release
    status: str = ""
    command: str = ""
    files: tuple[Path, ...] = ()


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
    """

    outputs: tuple[Output, ...]
    skipped: tuple[NotRead, ...]
    secret: str
    meaning: tuple[str, ...]
    made_by: str = ""
    may_include: bool = False

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases, to be attacked together."""
        return tuple(output.release for output in self.outputs)

    def __repr__(self) -> str:
        read, not_read = count_of(len(self.outputs), "release"), count_of(len(self.skipped), "output")
        found = f"{read} about {self.secret}, {not_read} not read"
        return f"OutputFolder: {found}"
