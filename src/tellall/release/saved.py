"""The file of a release: what the world sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tellall.core.records import ALWAYS, VERSION, Meaning, Record
from tellall.core.version import __version__

__all__ = ["SavedColumn", "SavedRelease", "ValuesBeside"]

Described = Annotated[
    dict[str, Any], Meaning("A statistic or protection: `kind` is its class, other keys its parameters.")
]


@dataclass(frozen=True)
class SavedColumn(Record):
    """A public column as the release used it."""

    name: str
    levels: Annotated[int, Meaning(least=1)]
    cuts: list[float] | list[str] | None = None


@dataclass(frozen=True)
class ValuesBeside(Record):
    """Values in a Parquet file (one column, `value`) next to the document."""

    parquet: str
    count: Annotated[int, Meaning(least=0)]
    sha256: Annotated[str, Meaning(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, kw_only=True)
class SavedRelease(Record):
    """What the world sees: published values, what they are and what was done to them."""

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    document: Annotated[Literal["release"], ALWAYS] = "release"
    tellall: Annotated[str, ALWAYS, Meaning(longest=100)] = __version__
    description: Annotated[str, Meaning(longest=10_000)]
    statistic: Described
    where: Annotated[
        str | None,
        Meaning("The people it is about: a condition; default everybody.", longest=10_000),
    ] = None
    protect: tuple[Described, ...]
    columns: tuple[SavedColumn, ...]
    people: Annotated[int, Meaning(least=0)] | None = None
    levels: Annotated[
        int, Meaning("How many values the tabulated column has; 0: real numbers.", least=0, most=1000)
    ] = 2
    published_too: Annotated[
        dict[str, str],
        Meaning("Which fields besides the values depend on the people, and what they reveal."),
    ]
    values: Annotated[
        tuple[float | None, ...] | ValuesBeside,
        Meaning("null where suppressed; or a file next to this."),
    ]
