"""The documents of a sweep and of a calibration, field by field; the JSON schemas are made from these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tellall.core.schemas.documents import People, Told

__all__ = [
    "CalibrateDocument",
    "SweepDocument",
]

Word = Literal["pass", "review", "fail"]
Share = Annotated[float, Field(ge=0, le=1)]
Interval = Annotated[tuple[float, float], Field(description="95 %, over people and draws of the noise.")]
Secret = Annotated[str, Field(description="The secret's name.")]
Exposed = Annotated[People, Field(description="The most people that any decoder exposes at confidence 0.95.")]
ExposedLimit = Annotated[
    int | None, Field(ge=0, description="The most people that may be exposed; null: the plan does not say.")
]
Real = Annotated[
    bool,
    Field(
        description="Whether the secret is a real number: accuracies are then mean absolute errors, and "
        "they and advantages are in its unit; else they are shares of the people."
    ),
]


class _StudyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SweepRow(_StudyModel):
    """One protection and one decoder; null if not measured."""

    family: str
    scale: Annotated[
        float | None, Field(ge=0, description="null: the protection does not belong to a family.")
    ]
    protection: str
    std: Annotated[float | None, Field(ge=0, description="Standard deviation of the noise on a value.")]
    decoder: str
    draws: Annotated[int, Field(ge=1, description="Draws of the noise; one if nothing is random.")]
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    baseline: Annotated[str, Field(description="The strongest guess without a person's own record.")]
    baseline_accuracy: float
    advantage: Annotated[float, Field(description="What the attack gains over the strongest baseline.")]
    low: Annotated[float, Field(description="The lower end of the advantage's 95 % interval.")]
    high: Annotated[float, Field(description="The upper end of the advantage's 95 % interval.")]
    in_sample: Annotated[
        float, Field(ge=0, description="In-sample fit of a real secret, left out of the advantage.")
    ]
    proved: People
    exposed: Annotated[People, Field(description="People exposed at confidence 0.95.")]
    learnt: Annotated[People, Field(description="Proved alone or exposed, with a sensitive value.")]
    loss: Annotated[
        float | None, Field(ge=0, description="Mean absolute error of a value, including withheld ones.")
    ]
    loss_low: float | None
    loss_high: float | None
    mean_error: Annotated[float | None, Field(ge=0, description="The same over the values that are shown.")]
    max_error: Annotated[float | None, Field(ge=0)]
    missing: Share | None
    total_variation: Share | None
    association_change: Share | None
    mae_ratio: Annotated[
        float | None,
        Field(ge=0, description="Error of models' predictions, as a multiple of the exact models'."),
    ]
    sign_flips: Share | None
    coverage: Share | None
    epsilon: Annotated[float | None, Field(ge=0, description="null: nothing is promised.")]
    delta: Share | None
    frontier: Annotated[bool, Field(description="No other protection has less advantage and less loss.")]
    verdict: Annotated[Word, Field(description="What an audit would say, over all decoders tried.")]
    decided: Annotated[str, Field(description="What decided, in a few words.")]


class LeftOut(_StudyModel):
    """A protection that could not be measured."""

    protection: str
    reason: str


class AreaRow(_StudyModel):
    """One protection and one decoder in one area; see SweepRow."""

    protection: str
    decoder: str
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    low: float
    high: float
    exposed: Told
    learnt: Told
    loss: float | None
    verdict: Word


class SweptAreaDocument(_StudyModel):
    """One area's own sweep, or the reason it has none."""

    name: str
    people: Annotated[int, Field(ge=0)]
    seed: Annotated[int, Field(ge=0)]
    reason: str | None
    rows: list[AreaRow]


class SweptRelease(_StudyModel):
    """Every protection of one statistic; with areas, for all people together."""

    name: str
    statistic: str
    people: Annotated[int, Field(ge=1)]
    units: Annotated[str, Field(description="What values, errors and noise are measured in.")]
    seed: Annotated[int, Field(ge=0)]
    secret: Secret
    real: Real
    untried: Annotated[list[str], Field(description="Decoders left out for the time they take.")]
    rows: Annotated[list[SweepRow], Field(min_length=1)]
    skipped: list[LeftOut]
    by: Annotated[str | None, Field(description="The column whose values are the areas.")] = None
    areas: Annotated[list[SweptAreaDocument] | None, Field(description="The worst area first.")] = None


class SweepDocument(_StudyModel):
    """A whole sweep."""

    model_config = ConfigDict(title="tellall sweep")

    schema_version: Literal[2]
    document: Literal["sweep"]
    tellall: str
    versions: dict[str, str]
    command: str
    data: str
    seed: Annotated[int, Field(ge=0)]
    repeats: Annotated[int, Field(ge=1)]
    limit: Annotated[Share, Field(description="The plan's limit on the advantage.")]
    exposed_limit: ExposedLimit = None
    warning: str
    releases: list[SweptRelease]


class EvaluationDocument(_StudyModel):
    """One scale that was tried; if it fails, the first decoder that makes it fail."""

    scale: Annotated[float, Field(ge=0)]
    decoder: str
    accuracy: float
    advantage: float
    interval: Interval
    learnt: People
    loss: Annotated[float, Field(ge=0)]
    verdict: Annotated[Word, Field(description="What an audit would say, over the decoders tried.")]
    decided: Annotated[str, Field(description="What decided, in a few words.")]


class UtilityDocument(_StudyModel):
    """What the reader loses."""

    values: Annotated[int, Field(ge=0)]
    missing: Share
    mean_error: Annotated[float | None, Field(ge=0)]
    max_error: Annotated[float | None, Field(ge=0)]
    total_variation: Share | None
    association: Share | None
    association_change: Share | None
    risk_change: Share | None
    tables: Annotated[int, Field(ge=0)]
    incomplete: Annotated[int, Field(ge=0)]


class CoefficientsDocument(_StudyModel):
    """What the reader of coefficients loses, averaged over models and draws."""

    mae_ratio: Annotated[float | None, Field(ge=0)]
    sign_flips: Share | None
    coverage: Share | None


class GuaranteeDocument(_StudyModel):
    """The differential privacy that the noise corresponds to."""

    epsilon: Annotated[float | None, Field(ge=0, description="null: infinite.")]
    delta: Share
    relation: str
    text: str


class CalibratedRelease(_StudyModel):
    """The least noise on one statistic."""

    name: str
    family: str
    scale: Annotated[float, Field(ge=0, description="0: nothing needs to be done.")]
    protection: str
    max_advantage: Annotated[float, Field(gt=0)]
    decoder: Annotated[str, Field(description="The strongest: the one with the largest advantage.")]
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    interval: Interval
    exposed: Exposed
    learnt: People
    loss: Annotated[float, Field(ge=0)]
    utility: UtilityDocument
    coefficients: CoefficientsDocument | None
    guarantee: GuaranteeDocument | None
    evaluations: Annotated[int, Field(ge=1)]
    history: list[EvaluationDocument]
    draws: Annotated[int, Field(ge=1)]
    statistic: str
    people: Annotated[int, Field(ge=1)]
    units: str
    secret: Secret
    real: Real
    seed: Annotated[int, Field(ge=0)]
    warnings: list[str]


class AreaAnswer(_StudyModel):
    """What one area needs; see CalibratedRelease."""

    scale: Annotated[float, Field(ge=0)]
    protection: str
    decoder: str
    accuracy: float
    baseline: str
    baseline_accuracy: float
    advantage: float
    interval: Interval
    loss: Annotated[float, Field(ge=0)]
    evaluations: Annotated[int, Field(ge=1)]


class CalibratedAreaDocument(_StudyModel):
    """One area's own answer, or the reason it has none."""

    name: str
    people: Annotated[int, Field(ge=0)]
    seed: Annotated[int, Field(ge=0)]
    reason: str | None
    answer: AreaAnswer | None


class CalibratedAreas(_StudyModel):
    """One noise on one statistic that serves every area."""

    name: str
    by: Annotated[str, Field(description="The column whose values are the areas.")]
    family: str
    scale: Annotated[float, Field(ge=0, description="The largest that any area needs.")]
    protection: str
    max_advantage: Annotated[float, Field(gt=0)]
    statistic: str
    people: Annotated[int, Field(ge=0)]
    units: str
    seed: Annotated[int, Field(ge=0)]
    together: Annotated[SweepRow, Field(description="All people of all areas at that noise.")]
    exposed: Exposed
    learnt: People
    warnings: list[str]
    areas: Annotated[
        list[CalibratedAreaDocument], Field(description="Areas that need most noise come first.")
    ]


class UnansweredDocument(_StudyModel):
    """A statistic for which no noise of the family keeps the limit, or none was found."""

    name: str
    reason: str


class CalibrateDocument(_StudyModel):
    """A whole calibration."""

    model_config = ConfigDict(title="tellall calibrate")

    schema_version: Literal[2]
    document: Literal["calibrate"]
    tellall: str
    versions: dict[str, str]
    command: str
    data: str
    by: Annotated[str | None, Field(description="The column whose values are the areas.")]
    secret: Secret
    real: Real
    seed: Annotated[int, Field(ge=0)]
    family: str
    max_advantage: Annotated[float, Field(gt=0)]
    exposed_limit: ExposedLimit = None
    releases: list[CalibratedRelease | CalibratedAreas]
    skipped: list[UnansweredDocument]
