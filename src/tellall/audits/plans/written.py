"""Plans and policies as they are written, field by field; imported only to read one: it loads pydantic."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PlanDocument", "PlanRelease", "PolicyDocument"]

Text = Annotated[str, Field(max_length=1000)]
Described = Annotated[
    dict[str, Any],
    Field(description="A statistic or protection: `kind` is its class, other keys its parameters."),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlanRelease(_Strict):
    """One planned output."""

    name: Annotated[Text, Field(description="What the page calls it.")] = ""
    statistic: Described
    where: Annotated[
        str | None,
        Field(
            max_length=10_000,
            description="The people it is about: a condition on columns; default everybody.",
        ),
    ] = None
    protect: Annotated[
        list[dict[str, Any]] | dict[str, Any], Field(description="Protections in the order they apply.")
    ] = []


Known = Annotated[
    list[Text] | None, Field(description="The public columns that the attacker knows; default all.")
]
KnownPeople = Annotated[
    float, Field(gt=0, le=1, description="The share of the people that the attacker knows.")
]
KnownSecrets = Annotated[
    float, Field(ge=0, lt=1, description="The share of those whose secret the attacker already knows.")
]

MayInclude = Annotated[
    bool, Field(description="Whether the attacker does not know which of these people are in the releases.")
]


class PlanAttacker(_Strict):
    """Somebody who attacks the releases, and what they know."""

    name: Annotated[Text, Field(description="What the page calls them.")] = ""
    known: Known = None
    known_people: KnownPeople = 1.0
    known_secrets: KnownSecrets = 0.0
    may_include: MayInclude = False


class PlanPublished(_Strict):
    """A release that was published before: a file that tellall saved."""

    file: Annotated[Text, Field(description="In the plan's folder or below.")]
    name: Annotated[Text, Field(description="What the page calls it.")] = ""


class DominanceRule(_Strict):
    """How much of a cell its largest contributors may make up before a person has to decide."""

    n: Annotated[int, Field(ge=1, description="How many contributors.")]
    share: Annotated[float, Field(gt=0, le=1, description="The share that they may have together.")]


class PolicyCells(_Strict):
    """What published cells of numbers must keep."""

    p: Annotated[
        float,
        Field(gt=0, le=1000, description="A contributor must not be known to within this many percent."),
    ] = 10.0
    dominance: DominanceRule = DominanceRule(n=1, share=0.85)
    threshold: Annotated[
        int, Field(ge=1, description="Minima and maxima of cells with fewer people fail.")
    ] = 10
    extremes: Annotated[
        bool, Field(description="Whether minima and maxima of larger cells may be published.")
    ] = False


class PlanCells(PolicyCells):
    """What published cells of numbers must keep, and what everybody knows about the numbers."""

    lower: Annotated[
        float | None,
        Field(description="What no number is below; default zero if none is negative, else nothing."),
    ] = None


class PlanDocument(_Strict):
    """What is going to be published about whom, and how much that may give away."""

    model_config = ConfigDict(title="tellall plan")

    schema_version: Literal[2] = 2
    data: Annotated[Text, Field(description="The file of people, in the plan's folder or below.")] = ""
    secret: Annotated[Text, Field(description="The column to protect.")] = ""
    kind: Annotated[
        Literal["bits", "categories", "reals"] | None,
        Field(description="What the secret is; default as its values look."),
    ] = None
    public: Annotated[
        list[Text] | None, Field(min_length=1, description="The columns an attacker may know; default all.")
    ] = None
    bins: Annotated[
        int | dict[str, int | list[float] | list[datetime.date | datetime.datetime | str]],
        Field(
            description="How numbers and dates are cut for tables: a count, or by column a count or points."
        ),
    ] = {}
    bands: Annotated[
        dict[Text, dict[str, Any]],
        Field(description="What labels of tables mean, by column, where they do not say it."),
    ] = {}
    drop_gaps: Annotated[bool, Field(description="Whether people whose secret is missing are left out.")] = (
        False
    )
    by: Annotated[
        Text | None,
        Field(description="A public column: everything is published for each of its values, an area."),
    ] = None
    limit: Annotated[float, Field(ge=0, le=1, description="The most advantage a release may give.")] = 0.05
    exposed_limit: Annotated[
        int | None,
        Field(ge=0, description="The most people with a sensitive value who may be proved alone or exposed."),
    ] = 0
    sensitive: Annotated[
        list[str | int] | None,
        Field(min_length=1, description="The values that must stay secret; default all but the commonest."),
    ] = None
    accepted_predictors: Annotated[
        list[Text], Field(description="Public columns that may tell the secret by themselves.")
    ] = []
    cells: Annotated[PlanCells, Field(description="What cells of sums, means and extremes must keep.")] = (
        PlanCells()
    )
    repeats: Annotated[int, Field(ge=1, le=1000, description="Draws of the noise per release.")] = 1
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, description="Seed of everything random.")] = 0
    steps: Annotated[
        bool, Field(description="Also attack each release with none and with only the first protections.")
    ] = True
    known: Known = None
    known_people: KnownPeople = 1.0
    known_secrets: KnownSecrets = 0.0
    may_include: MayInclude = False
    attackers: Annotated[
        list[PlanAttacker], Field(max_length=20, description="Several attackers, each with a name.")
    ] = []
    published: Annotated[
        list[PlanPublished], Field(max_length=200, description="What was published before, as files.")
    ] = []
    releases: Annotated[
        list[PlanRelease],
        Field(max_length=200, description="Everything that will be published; none only if some was."),
    ] = []


class PolicyDocument(_Strict):
    """What a site allows, whatever a plan says."""

    model_config = ConfigDict(title="tellall policy")

    schema_version: Literal[2] = 2
    name: Annotated[Text, Field(description="What the site calls it.")] = ""
    limit: Annotated[
        float | None, Field(ge=0, le=1, description="The most advantage that any plan may allow.")
    ] = None
    exposed_limit: Annotated[
        int | None, Field(ge=0, description="The largest exposed_limit that any plan may have.")
    ] = None
    cells: Annotated[
        PolicyCells | None,
        Field(description="What cells of numbers must keep at least; what is left out is free."),
    ] = None
    repeats: Annotated[int, Field(ge=1, le=1000, description="The least number of draws.")] = 1
    attackers: Annotated[
        list[PlanAttacker], Field(max_length=20, description="Who must be among the attackers.")
    ] = []
    not_published: Annotated[
        list[Text], Field(max_length=100, description="Kinds of statistic that must not be published.")
    ] = []
