"""What advice says: what each part of a plan gives away, about whom, and the cheapest change that passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tellall.audits.measures.counts import People
from tellall.audits.verdict import Word
from tellall.core.records import MAYBE_WHOLE, Meaning, Record

__all__ = [
    "Added",
    "CulpritPart",
    "Culprits",
    "ExposedRow",
    "ExposedTable",
    "GivenAway",
    "PartKind",
    "Remedy",
    "TriedChange",
]

PartKind = Literal["release", "table", "column"]


@dataclass(frozen=True, kw_only=True)
class GivenAway(Record):
    """What some releases give away."""

    proved: Annotated[People, Meaning("People proved.")]
    exposed: Annotated[People, Meaning("People exposed.")]
    learnt: Annotated[People, Meaning("With a sensitive value, proved alone or exposed.")]
    advantage: Annotated[float, Meaning("As a share of people or of a real secret's error.")]


@dataclass(frozen=True, kw_only=True)
class Added(Record):
    """What a part adds to what is given away; it can be less than nothing."""

    proved: Annotated[float, MAYBE_WHOLE]
    exposed: Annotated[float, MAYBE_WHOLE]
    learnt: Annotated[float, MAYBE_WHOLE]
    advantage: float


@dataclass(frozen=True, kw_only=True)
class CulpritPart(GivenAway):
    """What the releases give away without one of their parts."""

    kind: PartKind
    name: str
    adds: Annotated[Added, Meaning("What the part adds.")]


@dataclass(frozen=True, kw_only=True)
class ExposedRow(Record):
    """People with some values of a column, or in groups of some size, and how many are proved or exposed."""

    values: Annotated[tuple[str, ...], Meaning("Merged until no count is about a single person.")]
    people: int
    learnt: Annotated[int | None, Meaning("Proved alone or exposed; null: withheld.")]


@dataclass(frozen=True, kw_only=True)
class ExposedTable(Record):
    """Whose secrets are proved or exposed, by one column or by how many people are alike in public."""

    by: Annotated[str, Meaning("A public column, or “people alike”.")]
    rows: tuple[ExposedRow, ...]


@dataclass(frozen=True, kw_only=True)
class Culprits(GivenAway):
    """What each part of the releases adds, and whose secrets they give away."""

    of: Annotated[str, Meaning("The set of releases that was taken apart.")]
    decoder: str
    parts: tuple[CulpritPart, ...]
    not_tried: Annotated[tuple[str, ...], Meaning("Parts there was no time for.")] = ()
    who: tuple[ExposedTable, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TriedChange(Record):
    """One change of the plan that was considered, the cheapest first."""

    words: Annotated[str, Meaning("The change, such as: round “counts” to 5.")]
    releases: Annotated[tuple[str, ...], Meaning("The releases that it changes or leaves out.")]
    loss: Annotated[float, Meaning("Mean absolute error, including withheld and dropped values.", least=0)]
    withheld: Annotated[float, Meaning("Share of the planned values not shown.", least=0, most=1)]
    error: Annotated[float | None, Meaning("Mean error of the shown values; null: none.")] = None
    instead: Annotated[int, Meaning("Values of smaller tables that are shown instead.", least=0)] = 0
    verdict: Annotated[Word | None, Meaning("On fresh draws; null: not tried.")] = None
    sentence: Annotated[str, Meaning("What decided.")] = ""
    draws: Annotated[int, Meaning("Fresh draws that were audited.", least=0)] = 0
    passed: Annotated[int, Meaning("How many of those pass.", least=0)] = 0


@dataclass(frozen=True, kw_only=True)
class Remedy(Record):
    """The cheapest change of the plan that passes, or a sentence that none was found."""

    found: bool
    sentence: str
    change: Annotated[TriedChange | None, Meaning("The change that passes.")] = None
    entries: Annotated[
        tuple[dict[str, Any], ...], Meaning("The releases of the changed plan, all of them.")
    ] = ()
    toml: Annotated[str, Meaning("The same as text to paste into the plan.")] = ""
    tried: Annotated[tuple[TriedChange, ...], Meaning("Changes that were attacked.")] = ()
    not_tried: Annotated[tuple[TriedChange, ...], Meaning("Changes there was no time for.")] = ()
