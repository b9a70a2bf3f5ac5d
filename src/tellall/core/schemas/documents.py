"""The documents that tellall reads and writes, field by field; the JSON schemas are made from these.

Imported only where a document is read or checked, so that importing tellall does not load pydantic.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AuditDocument",
    "Described",
    "People",
    "ReleaseDocument",
    "StatusCodes",
    "Text",
]

Text = Annotated[str, Field(max_length=1000)]
Described = Annotated[
    dict[str, Any],
    Field(description="A statistic or protection: `kind` is its class, other keys its parameters."),
]

People = Annotated[float, Field(ge=0, description="How many people; the mean over draws of the noise.")]
Told = Annotated[
    People | Literal["under 5", "withheld"],
    Field(description="People of an area, as far as that and the numbers of other areas name nobody."),
]
StatusCodes = Annotated[
    list[str], Field(description="Why the answer is not settled, by codes; none: it is settled.")
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


Survives = Annotated[
    float | None,
    Field(ge=0, le=1, description="The share of equations that may be wrong without misleading ℓ1 decoding."),
]


class ForeseenDocument(_Strict):
    """What a release's equations and noise lead one to expect before it is attacked."""

    equations: Annotated[int, Field(ge=0)]
    people: Annotated[int, Field(ge=0)]
    groups: Annotated[int, Field(ge=0, description="How many groups of people the release tells apart.")]
    rank_cap: Annotated[int, Field(ge=0, description="No more unknowns than this can be solved for.")]
    rank: int | None
    accuracy: Annotated[float, Field(description="Predicted for least squares with the prior.")]
    limit: Annotated[
        float | None, Field(description="No decoder beats it on average over secrets drawn at random.")
    ]
    rate: Annotated[float, Field(description="The rate of the secret behind these numbers.")]
    ignored: Annotated[list[str], Field(description="Protections that these numbers leave out.")] = []


class PromisedDocument(_Strict):
    """The differential privacy that the protections declare."""

    epsilon: Annotated[float | None, Field(ge=0, description="null: nothing is promised.")] = None
    delta: Annotated[float | None, Field(ge=0)] = None
    relation: Annotated[str, Field(description="Which data sets are neighbours.")] = ""
    text: Annotated[str, Field(description="How it is reached.")] = ""


class RecoveryDocument(_Strict):
    """How often more than a share alpha of the people were guessed wrong."""

    alpha: Annotated[float, Field(ge=0, le=1)]
    beta: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1, description="Of the interval of beta over draws.")]
    high: Annotated[float, Field(ge=0, le=1)]
    draws: Annotated[int, Field(ge=1)]
    confidence: Annotated[float, Field(gt=0, lt=1)]


class LuckDocument(_Strict):
    """How many guesses were sure, how many of them right, and how many luck would make right."""

    sure: float
    right: float
    expected: float
    chance: Annotated[float, Field(ge=0, le=1, description="The chance that luck makes this many right.")]


class BinDocument(_Strict):
    """The guesses with a confidence from low to high: how many were made, how many were right."""

    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    said: Annotated[int, Field(ge=0)]
    right: Annotated[int, Field(ge=0)]


class LossDocument(_Strict):
    """What the reader of the release loses."""

    error: Annotated[float, Field(ge=0, description="Mean absolute error, including withheld values.")]
    interval: tuple[float, float]
    utility: dict[str, float | None]
    coefficients: dict[str, float | None] | None = None


class Found(_Strict):
    """What the strongest attack on some releases found; counts and rates, never a person."""

    statistic: str
    protection: str
    asked: Annotated[str, Field(description="The decoder that was asked for.")] = "auto"
    attack: Annotated[str, Field(description="The decoder, and the prior if it was informed.")] = ""
    real: Annotated[bool, Field(description="The secret is a real number: accuracies are errors.")] = False
    accuracy: float
    accuracy_interval: tuple[float, float]
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]
    beyond_fit: Annotated[
        tuple[float, float, float] | None,
        Field(description="For a real secret, the advantage without in-sample fit, and its interval."),
    ] = None
    in_sample: Annotated[
        float, Field(ge=0, description="The part of a real secret's advantage that is in-sample fit.")
    ] = 0.0
    found: float | None
    holders: int = 0
    named: People
    named_right: People
    proved: People
    proved_alone: Annotated[dict[str, People], Field(description="Proved from several cells; by value.")]
    proved_group: Annotated[
        dict[str, People], Field(description="Proved from one cell of people all alike; by value.")
    ]
    undecided: Annotated[
        People, Field(description="People for whom the search for proofs ended undecided.")
    ] = 0
    loose: Annotated[
        People, Field(description="How many of these are where fewer values are published than unknowns.")
    ] = 0
    learnt: Annotated[dict[str, People], Field(description="Proved alone or exposed, by value.")]
    exposed: dict[str, dict[str, People]]
    luck: LuckDocument
    contradicted: Annotated[bool, Field(description="A proof contradicts the truth.")] = False
    status: str
    status_codes: StatusCodes = []
    people: int
    curve: Annotated[list[tuple[float, People]], Field(description="People exposed at each confidence.")]
    draws: int
    decoder: Annotated[str, Field(description="The decoder that the attack used.")] = ""
    skipped: Annotated[list[str], Field(description="Published values that gave no equation, and why.")] = []
    foreseen: Annotated[
        ForeseenDocument | None, Field(description="What could be expected before the attack, if known.")
    ] = None
    promised: Annotated[
        PromisedDocument | None, Field(description="What the protections declare; null: nobody asked.")
    ] = None
    reliability: Annotated[
        list[BinDocument], Field(description="How often guesses of each confidence were right.")
    ] = []
    wrong: Annotated[list[int], Field(description="People guessed wrong in each draw.")] = []
    survives: Survives = None
    possible: Annotated[
        int | None, Field(ge=0, description="How many secrets satisfy everything certain; null: many.")
    ] = None
    clash: Annotated[list[str], Field(description="Published values that cannot all be true.")] = []
    jointly: Annotated[
        list[str], Field(description="What is unknown to the attacker, solved for together with the secret.")
    ] = []
    unknown: Annotated[
        str,
        Field(description="What the attacker does not know, and whether it was solved for or summed over."),
    ] = ""
    loss: LossDocument | None = None
    recovery: Annotated[
        list[RecoveryDocument], Field(description="(alpha, beta) over the draws, for some alphas.")
    ] = []


class ReasonDocument(_Strict):
    """Why something does not pass: a code that decides and a sentence that says it."""

    code: Annotated[str, Field(description="One of the codes that the documents list.")]
    word: Literal["review", "fail"]
    sentence: str
    look_at: Annotated[str, Field(description="What to look at, or to do.")]
    release: Annotated[str, Field(description="What was published, by name; empty: all of it.")]
    cells: Annotated[int, Field(ge=0, description="How many published cells it is about; 0: none.")]
    of: Annotated[int, Field(ge=0, description="Of how many published cells.")]


class VerdictDocument(_Strict):
    """The answer in a word and a sentence, and the reasons that decide it."""

    word: Literal["pass", "review", "fail"]
    sentence: str
    decided: Annotated[str, Field(description="What decided, in a few words.")]
    reasons: Annotated[
        list[ReasonDocument], Field(description="Why it is no pass, the decisive reason first.")
    ] = []


class DecoderDocument(_Strict):
    """What one decoder found."""

    decoder: str
    chose: str
    accuracy: float
    advantage: float
    interval: Annotated[tuple[float, float], Field(description="Corrected for the decoders tried.")]
    proved: People
    exposed: People
    learnt: Annotated[People, Field(description="With a sensitive value, proved alone or exposed.")]
    status: str
    status_codes: StatusCodes = []
    reliability: Annotated[
        list[BinDocument], Field(description="How often guesses of each confidence were right.")
    ] = []
    survives: Survives = None


class FindingDocument(_Strict):
    """One entry of the audit: an attack scored, or why there is none."""

    name: str
    role: Literal["alone", "set", "together", "step"]
    releases: Annotated[list[int], Field(description="The plan's releases that it is about.")]
    statistic: list[Described]
    protect: list[list[Described]]
    outcome: Literal["found", "skipped"]
    reason: str | None = None
    verdict: VerdictDocument
    cells: Annotated[
        list[ReasonDocument], Field(description="Why cells of numbers do not pass; the worst first.")
    ] = []
    summary: Annotated[Found | None, Field(description="What the strongest decoder found.")] = None
    proved_alone: Annotated[dict[str, People], Field(description="By any decoder; by value.")] = {}
    proved_group: Annotated[dict[str, People], Field(description="By any decoder; by value.")] = {}
    decoders: list[DecoderDocument] = []


class DataDocument(_Strict):
    """The people, counted."""

    name: str
    people: int
    distinct_public_rows: int
    secret: str
    meaning: Annotated[list[str], Field(description="What the values of the secret stand for.")]
    holders: Annotated[int | None, Field(description="How many have the second; null if not two values.")]
    counts: Annotated[list[int], Field(description="How many people have each value.")] = []
    dropped: Annotated[int, Field(description="How many were left out: their secret is missing.")] = 0
    columns: list[ColumnDocument]
    left_out: list[str]


class AreaFinding(_Strict):
    """One attack on one area: a row of the table of areas, or the reason it was skipped."""

    name: str
    outcome: Literal["found", "skipped"]
    reason: str | None = None
    accuracy: float | None = None
    baseline: str | None = None
    baseline_accuracy: float | None = None
    advantage: float | None = None
    interval: tuple[float, float] | None = None
    exposed: Annotated[Told | None, Field(description="People exposed at confidence 0.95.")] = None
    named: People | None = None
    named_right: Told | None = None
    proved: Told | None = None
    status: str | None = None
    status_codes: StatusCodes = []


class AreaDocument(_Strict):
    """The people with one value of the column that defines the areas."""

    name: str
    people: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0, description="The seed to audit the area alone.")]
    reason: Annotated[str | None, Field(description="Why it was not attacked; null: it was.")] = None
    verdict: Literal["pass", "review", "fail"]
    note: str | None = None
    findings: list[AreaFinding]


class AreasDocument(_Strict):
    """All areas, the worst first; the audit's findings are about all their people together."""

    by: str
    areas: Annotated[int, Field(ge=1)]
    attacked: Annotated[int, Field(ge=0)]
    people_attacked: Annotated[int, Field(ge=0)]
    people_not_attacked: Annotated[int, Field(ge=0)]
    above: Annotated[int, Field(ge=0, description="Areas with an interval above the limit.")]
    surely_above: Annotated[
        int, Field(ge=0, description="Areas above the limit even after correcting for how many there are.")
    ]
    exposing: Annotated[
        int, Field(ge=0, description="Areas where more people are proved alone or exposed than allowed.")
    ]
    rows: list[AreaDocument]


class OverallDocument(_Strict):
    """What all sets of releases give away; one more release lowers none of these numbers."""

    advantage: Annotated[float, Field(description="The largest of any set of releases.")]
    advantage_of: Annotated[str, Field(description="The set that has it.")]
    advantage_share: Annotated[
        float, Field(description="As a share of people or, for a real secret, of the baseline's error.")
    ]
    exposed: Annotated[dict[str, People], Field(description="By the attack that exposes most; by value.")]
    exposed_of: str
    exposed_people: People
    proved_alone: Annotated[dict[str, People], Field(description="By any set of releases; by value.")]
    proved_group: dict[str, People]
    proved: People
    sensitive: Annotated[
        dict[str, People],
        Field(description="People with a sensitive value: proved_alone, proved_group, exposed, learnt."),
    ]


class NotCheckedDocument(_Strict):
    """A planned release of a kind that tellall does not have."""

    name: str
    reason: str
    nearest: Annotated[str | None, Field(description="The most similar kind.")] = None


class ChangeDocument(_Strict):
    """One change of the plan that was considered, the cheapest first."""

    words: Annotated[str, Field(description="The change, such as: round “counts” to 5.")]
    releases: Annotated[list[str], Field(description="The releases that it changes or leaves out.")]
    loss: Annotated[float, Field(ge=0, description="Mean absolute error, including withheld and dropped.")]
    withheld: Annotated[float, Field(ge=0, le=1, description="Share of the planned values not shown.")]
    error: Annotated[float | None, Field(description="Mean error of the shown values; null: none.")] = None
    instead: Annotated[int, Field(ge=0, description="Values of smaller tables that are shown instead.")] = 0
    verdict: Annotated[
        Literal["pass", "review", "fail"] | None, Field(description="On fresh draws; null: not tried.")
    ] = None
    sentence: Annotated[str, Field(description="What decided.")] = ""
    draws: Annotated[int, Field(ge=0, description="Fresh draws that were audited.")] = 0
    passed: Annotated[int, Field(ge=0, description="How many of those pass.")] = 0


class RemedyDocument(_Strict):
    """The cheapest change of the plan that passes, or a sentence that none was found."""

    found: bool
    sentence: str
    change: Annotated[ChangeDocument | None, Field(description="The change that passes.")] = None
    entries: Annotated[
        list[Described], Field(description="The releases of the changed plan, all of them.")
    ] = []
    toml: Annotated[str, Field(description="The same as text to paste into the plan.")] = ""
    tried: Annotated[list[ChangeDocument], Field(description="Changes that were attacked.")] = []
    not_tried: Annotated[list[ChangeDocument], Field(description="Changes there was no time for.")] = []


class PartDocument(_Strict):
    """What the releases give away without one of their parts."""

    kind: Literal["release", "table", "column"]
    name: str
    proved: Annotated[int, Field(description="People proved without it.")]
    exposed: int
    learnt: Annotated[int, Field(description="With a sensitive value, proved alone or exposed.")]
    advantage: float
    adds: Annotated[dict[str, float], Field(description="What it adds: proved, exposed, learnt, advantage.")]


class ExposedRow(_Strict):
    """People with some values of a column, or in groups of some size, and how many are proved or exposed."""

    values: Annotated[list[str], Field(description="Merged until no count is about a single person.")]
    people: int
    learnt: Annotated[int | None, Field(description="Proved alone or exposed; null: withheld.")]


class ExposedTable(_Strict):
    """Whose secrets are proved or exposed, by one column or by how many people are alike in public."""

    by: Annotated[str, Field(description="A public column, or “people alike”.")]
    rows: list[ExposedRow]


class CulpritsDocument(_Strict):
    """What each part of the releases adds, and whose secrets they give away."""

    of: Annotated[str, Field(description="The set of releases that was taken apart.")]
    decoder: str
    proved: int
    exposed: int
    learnt: int
    advantage: float
    parts: list[PartDocument]
    not_tried: Annotated[list[str], Field(description="Parts there was no time for.")] = []
    who: list[ExposedTable] = []


class DifferenceDocument(_Strict):
    """Two releases that are not about the same people."""

    releases: Annotated[list[int], Field(description="Which of the releases.")]
    only_first: Annotated[int, Field(ge=0, description="People that only the first counts.")]
    only_second: Annotated[int, Field(ge=0)]
    proved: Annotated[
        People | None,
        Field(description="People proved by both together, by neither alone; null: not attacked."),
    ]
    sentence: str


class AttackerDocument(_Strict):
    """What one attacker knows and achieves."""

    name: str
    knows: str
    verdict: VerdictDocument
    advantage: float | None
    advantage_of: Annotated[str | None, Field(description="Of which releases.")]
    advantage_share: Annotated[
        float | None,
        Field(description="As a share of people or, for a real secret, of the baseline's error."),
    ]
    proved: People
    exposed: People
    sensitive: Annotated[People, Field(description="With a sensitive value, proved alone or exposed.")]
    not_usable: Annotated[list[str], Field(description="What they cannot use, and why.")] = []
    unknown: Annotated[
        list[str], Field(description="What they do not know, and whether it was solved for or summed over.")
    ] = []


class RulesDocument(_Strict):
    """What the agencies' rules for tables of sums would have said, compared with the attack."""

    sentence: str
    cells: Annotated[int, Field(ge=0)]
    broken: Annotated[
        int, Field(ge=0, description="Cells that the p % rule passes but all tables together do not.")
    ]


class RecordDocument(_Strict):
    """When an audit was made, and of which files; never a hash of a file of people."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    plan: Annotated[str | None, Field(description="As it was written, without a curator's key.")] = None
    sha256: Annotated[dict[str, str], Field(description="Of the plan, the policy and published files.")]


class AuditDocument(_Strict):
    """A whole audit."""

    model_config = ConfigDict(title="tellall audit", strict=False)

    schema_version: Literal[2]
    document: Literal["audit"]
    tellall: str
    versions: dict[str, str]
    command: str
    seed: int
    device: Annotated[str, Field(description="Where equations were solved: cpu, cuda, cuda:1")] = "cpu"
    record: Annotated[RecordDocument | None, Field(description="null: nobody kept one.")] = None
    plan: dict[str, Any]
    data: DataDocument
    limit: float
    exposed_limit: int | None
    sensitive: Annotated[list[str] | None, Field(description="Codes of the sensitive values.")] = None
    verdict: VerdictDocument
    worst: str | None
    overall: Annotated[OverallDocument | None, Field(description="null: nothing was attacked.")] = None
    findings: list[FindingDocument]
    not_checked: list[NotCheckedDocument] = []
    areas: AreasDocument | None = None
    remedy: Annotated[RemedyDocument | None, Field(description="null: nobody looked for one.")] = None
    culprits: Annotated[CulpritsDocument | None, Field(description="null: nobody looked.")] = None
    differences: Annotated[
        list[DifferenceDocument], Field(description="Releases about different people.")
    ] = []
    rules: Annotated[RulesDocument | None, Field(description="null: no table of sums.")] = None
    cells: Annotated[
        list[ReasonDocument], Field(description="Why cells of numbers of any release do not pass.")
    ] = []
    attackers: Annotated[
        list[AttackerDocument], Field(description="The worst first; none: one who knows all.")
    ] = []
    published_too: Annotated[list[str], Field(description="What releases reveal besides their values.")]
    assumed: list[str]
    not_tested: list[str]
