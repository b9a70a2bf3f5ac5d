"""The documents that tellall reads and writes, field by field; the JSON schemas are made from these.

Imported only where a document is read or checked, so that importing tellall does not load pydantic.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Described",
    "ReleaseDocument",
    "Text",
]

Text = Annotated[str, Field(max_length=1000)]
Described = Annotated[
    dict[str, Any],
    Field(description="A statistic or protection: `kind` is its class, other keys its parameters."),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ColumnDocument(_Strict):
    """A public column as the release used it."""

    name: str
    levels: Annotated[int, Field(ge=1)]
    cuts: list[float] | list[str] | None = None


class ValuesFile(_Strict):
    """Values in a Parquet file (one column, `value`) next to the document."""

    parquet: str
    count: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ReleaseDocument(_Strict):
    """What the world sees: published values, what they are and what was done to them."""

    model_config = ConfigDict(title="tellall release")

    schema_version: Literal[2]
    document: Literal["release"]
    tellall: Annotated[str, Field(max_length=100)]
    description: Annotated[str, Field(max_length=10_000)]
    statistic: Described
    where: Annotated[
        str | None,
        Field(max_length=10_000, description="The people it is about: a condition; default everybody."),
    ] = None
    protect: list[Described]
    columns: list[ColumnDocument]
    people: Annotated[int, Field(ge=0)] | None = None
    levels: Annotated[
        int, Field(ge=0, le=1000, description="How many values the tabulated column has; 0: real numbers.")
    ] = 2
    published_too: Annotated[
        dict[str, str],
        Field(description="Which fields besides the values depend on the people, and what they reveal."),
    ]
    values: Annotated[
        list[float | None] | ValuesFile, Field(description="null where suppressed; or a file next to this.")
    ]
