"""Made: which versions made a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from tellall.core.records import ALWAYS, VERSION, Meaning, Record
from tellall.core.version import __version__, versions

__all__ = ["Made", "Repeatable"]


@dataclass(frozen=True, kw_only=True)
class Made(Record):
    """A document that says which versions made it; its fields come before those of its kind."""

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    tellall: Annotated[str, ALWAYS, Meaning(longest=100)] = __version__
    versions: Annotated[dict[str, str], ALWAYS, Meaning("Of Python and of what computed the numbers.")] = (
        field(default_factory=versions)
    )


@dataclass(frozen=True, kw_only=True)
class Repeatable(Made):
    """A document that says which command makes it again."""

    command: Annotated[str, ALWAYS]
    repeat: Annotated[str, Meaning("The command with its options.")] = ""
