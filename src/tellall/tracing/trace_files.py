"""trace_files: who of the people in files was in the data, from published means."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.core.made import Made
from tellall.core.records import ALWAYS, ENDLESS, Meaning, Record, same_fields
from tellall.core.work import Progress
from tellall.protections.additive import Gaussian
from tellall.protections.protection import Noise, Sum
from tellall.protections.rounding import Rounding
from tellall.tracing.exchangeable import Exchangeability
from tellall.tracing.read_inputs import TracingFiles, read_members, read_tracing_files
from tellall.tracing.release_limit import ReleaseLimit, describe_limit, simulate_tracing
from tellall.tracing.trace import Tracing, trace
from tellall.tracing.tracing_risk import (
    MOST_CALLS,
    RATES,
    Disproof,
    Share,
    TracingGrowth,
    TracingRisk,
    score_tracing,
    trace_by_attributes,
)
from tellall.tracing.tracing_verdict import TracingVerdict, judge_tracing

__all__ = ["Publishable", "TracedFiles", "TracingFound", "trace_files"]

_POWER, _RATE = 0.05, 0.01  # the share of members who may be traced, and at which rate; as in limit
_TRIALS = 1000  # releases simulated for that
_WARNING = "SECRET: what an attack concludes about single people. Not for publication."
Watch = Callable[[], AbstractContextManager[Progress | None]]


@dataclass(frozen=True)
class MissingCalls(Record):
    """The shares of the attributes that are not known of people."""

    targets: float
    reference: float


@dataclass(frozen=True)
class RocCurve(Record):
    """The share of members above a score against the share of others above it; scores are left out."""

    false_positive_rate: tuple[float, ...]
    false_low: tuple[float, ...]
    false_high: tuple[float, ...]
    true_positive_rate: tuple[float, ...]
    true_low: tuple[float, ...]
    true_high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class RiskFound(Record):
    """How often a tracing is right about people of whom it is known.

    Scores are left out: whoever knows a person's score could read from the curve at that score whether that
    person is a member.
    """

    members: int
    others: int
    traced: int
    false: int
    true_positive_rate: Share
    false_positive_rate: Share
    auc: Share
    power_at_first: Annotated[Share, Meaning("At 1 % false positives.", key="power_at_0.01")]
    power_at_second: Annotated[Share, Meaning("At 0.1 % false positives.", key="power_at_0.001")]
    rates_seen: Annotated[tuple[float, ...], Meaning("The rates that so many others can show.")]
    epsilon_disproved: Annotated[float, ENDLESS]
    epsilon: Disproof
    roc: RocCurve

    @classmethod
    def of(cls, risk: TracingRisk, seed: int) -> RiskFound:
        """The rates of a risk."""
        disproved = risk.epsilon()
        first, second = (risk.power(rate, rng=seed) for rate in RATES)
        curve = risk.roc()
        return same_fields(
            cls,
            risk,
            power_at_first=first,
            power_at_second=second,
            rates_seen=tuple(rate for rate in RATES if risk.seen(rate)),
            epsilon_disproved=disproved.lower,
            epsilon=disproved,
            roc=RocCurve(*(tuple(curve[part.name].tolist()) for part in fields(RocCurve))),
        )

    @property
    def powers(self) -> tuple[tuple[float, Share], ...]:
        """The power at each false-positive rate."""
        return tuple(zip(RATES, (self.power_at_first, self.power_at_second), strict=True))


@dataclass(frozen=True)
class Publishable(Record):
    """How many of the means can be published, by simulation."""

    attributes: int
    reached: Annotated[bool, Meaning("Whether more would be too many; else more were not tried.")]
    sentence: str
    power: Annotated[float, Meaning("The share of members who may be traced.")]
    rate: Annotated[float, Meaning("The false-positive rate at which that is counted.")]
    trials: int


@dataclass(frozen=True, kw_only=True)
class TracingFound(Made):
    """What a tracing of people in files found: counts and rates; it names no person."""

    document: Annotated[Literal["trace"], ALWAYS] = "trace"
    command: str = ""
    release: Annotated[str, Meaning("The file of means.")]
    people: Annotated[int | None, Meaning("How many people the means are over; null: not known.")]
    notes: tuple[str, ...]
    verdict: TracingVerdict
    seed: Annotated[int, Meaning(least=0)]
    attack: str
    threshold: str
    delta: Annotated[float, Meaning("The false-positive rate allowed per target.")]
    attributes: int
    reference_people: int
    target_people: int
    missing_calls: MissingCalls
    targets_without_calls: int
    reference_people_lacking_calls: int
    exchangeability: Annotated[Exchangeability | None, Meaning("Whether all are of one population.")]
    traced: Annotated[int, Meaning("Targets above the threshold.")]
    named_at_false_discovery_rate: int
    risk: Annotated[RiskFound | None, Meaning("null: it is not known who was in the data.")]


@dataclass(frozen=True)
class NamedTarget(Record):
    """What the attack says about one target."""

    name: str
    score: float
    p_value: float
    member: bool
    named: bool


@dataclass(frozen=True)
class NamedTargets(Record):
    """What the attack says about each target, for whoever may know."""

    warning: str
    targets: tuple[NamedTarget, ...]

    @property
    def likeliest(self) -> tuple[NamedTarget, ...]:
        """The targets, those who are most surely in the data first."""
        return tuple(sorted(self.targets, key=lambda one: (one.p_value, -one.score)))


@dataclass(frozen=True, eq=False)
class TracedFiles:
    """A tracing of the people in files, with all that a page needs besides.

    Attributes
    ----------
    found
        What is written.
    files, tracing, truth
        What was read, what the attack says, and who was in the data, if that is known.
    options
        How it was traced.
    """

    found: TracingFound
    files: TracingFiles
    tracing: Tracing
    truth: npt.NDArray[np.bool_] | None
    risk: TracingRisk | None
    options: dict[str, Any]

    @property
    def named(self) -> NamedTargets:
        """What the attack says about each target."""
        columns = (
            self.tracing.scores,
            self.tracing.p_values,
            self.tracing.member,
            self.tracing.discoveries(),
        )
        rows = zip(self.files.names, *(column.tolist() for column in columns), strict=True)
        return NamedTargets(_WARNING, tuple(NamedTarget(*row) for row in rows))

    def growth(self, watch: Watch = nullcontext) -> TracingGrowth | None:
        """The same attack with fewer attributes; None where that would take long."""
        given = self.files
        if (given.targets.shape[0] + given.reference.shape[0]) * given.targets.shape[1] > MOST_CALLS:
            return None
        with watch() as tell:
            return trace_by_attributes(
                given.means,
                _watched(given.targets, tell),
                given.reference,
                whole=self.tracing,
                rng=self.found.seed,
                **self.options,
            )

    def simulated(self, **allowed: Any) -> ReleaseLimit | None:
        """The power of the attack by simulation; None if that cannot be simulated."""
        return simulate_tracing(
            self.tracing,
            self.files.means,
            self.found.people,
            coding=self.files.coding,
            alpha=self.options["alpha"],
            rng=self.found.seed,
            **allowed,
        )

    def publishable(self) -> Publishable | None:
        """How many of these means can be published, by simulation; None if that cannot be simulated."""
        limit = self.simulated(power=_POWER, rate=_RATE, trials=_TRIALS)
        if limit is None or self.found.people is None:
            return None
        sentence = describe_limit(limit, self.found.people, power=_POWER, rate=_RATE, trials=_TRIALS)
        return Publishable(limit.attributes, limit.searched, sentence, _POWER, _RATE, _TRIALS)


def trace_files(
    release: str | Path,
    targets: str | Path,
    reference: str | Path,
    *,
    attack: str = "pool",
    threshold: str = "empirical",
    delta: float = 0.05,
    alpha: float | None = None,
    sigma_max: float | None = None,
    coding: str | None = None,
    people: int | None = None,
    members: str | Path | None = None,
    base: float | None = None,
    std: float | None = None,
    palindromic: bool = False,
    anyway: bool = False,
    rng: int = 0,
    command: str = "",
    watch: Watch = nullcontext,
) -> TracedFiles:
    """Who of the people in files was in the data of published means; ``.found`` is what is written.

    Parameters
    ----------
    release
        The means: .frq, .afreq, GWAS-SSF, a table of name and mean, or a saved release.
    targets, reference
        The people to trace, and people of the same population who are not in the data: .bed, .vcf, .bcf, CSV
        or Parquet.
    members
        A file with the names of targets who are known to be in the data, one per line.
    base, std
        What was done to the means: rounded to multiples of the base, normal noise of this spread.
    palindromic
        Whether A/T and C/G sites are kept, trusting their strand.
    watch
        Returns a context, entered while people are read, that gives the function to call with the progress.
    attack, threshold, delta, alpha, sigma_max, coding, anyway
        As for `trace`.
    """
    given = read_tracing_files(
        Path(release),
        Path(targets),
        Path(reference),
        coding=coding,
        palindromic=palindromic,
        people=people,
    )
    truth, strangers = (None, "") if members is None else read_members(Path(members), given.names)
    size = people if people is not None else given.n
    options: dict[str, Any] = {
        "attack": attack,
        "threshold": threshold,
        "delta": delta,
        "alpha": alpha,
        "sigma_max": sigma_max,
        "coding": given.coding,
        "n": size,
        "alleles": given.alleles,
        "noise": _error(given, base, std),
        # doubtful alleles have their own verdict, which says what to look at
        "anyway": anyway or given.doubtful,
    }
    with watch() as tell:
        tracing = trace(given.means, _watched(given.targets, tell), given.reference, **options)
    risk = None if truth is None else score_tracing(tracing, truth)
    found = TracingFound(
        command=command,
        release=Path(release).name,
        people=size,
        notes=tuple(note for note in (*given.notes, strangers, *tracing.notes) if note),
        verdict=judge_tracing(tracing, risk, doubtful=given.doubtful),
        seed=rng,
        attack=tracing.attack,
        threshold=tracing.rule,
        delta=tracing.delta,
        attributes=tracing.attributes,
        reference_people=tracing.reference_people,
        target_people=int(tracing.scores.size),
        missing_calls=MissingCalls(*tracing.missing_calls),
        targets_without_calls=tracing.without_calls,
        reference_people_lacking_calls=tracing.reference_lacking,
        exchangeability=tracing.exchangeability,
        traced=tracing.traced,
        named_at_false_discovery_rate=int(tracing.discoveries().sum()),
        risk=None if risk is None else RiskFound.of(risk, rng),
    )
    return TracedFiles(found, given, tracing, truth, risk, options)


def _error(given: TracingFiles, base: float | None, std: float | None) -> Noise | None:
    """The law of the error of the means, as the file or the options say."""
    laws: list[Noise] = []
    if std is not None:
        laws.append(Gaussian(std))
    if base is not None:
        laws.append(Rounding(base))
    if not laws:
        return given.noise
    if given.noise is not None:
        option = "--noise" if base is None else "--round"
        raise invalid(option, "left out for a saved release, which says what was done to it", laws[-1])
    return laws[0] if len(laws) == 1 else Sum(tuple(laws))


@dataclass(frozen=True, eq=False)
class _Watched:
    """People who report how many of their attributes have been read."""

    source: Any
    tell: Progress

    @property
    def shape(self) -> tuple[int, int]:
        count, width = self.source.shape
        return int(count), int(width)

    def chunk(self, start: int, stop: int) -> Any:
        self.tell(stop, self.shape[1])
        return self.source.chunk(start, stop)


def _watched(source: object, tell: Progress | None) -> Any:
    return source if tell is None else _Watched(source, tell)
