"""What reports show, as plain data: counts and rates, never a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from statistics import fmean
from typing import Any

from tellall.algebra.solvers.base import SETTLED
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.experiment.risk import LEVELS, Risk
from tellall.promise.bounds.decoding import Recovery, recovery

__all__ = [
    "ALPHAS",
    "CURVE",
    "Foreseen",
    "Promised",
    "ReleaseSummary",
    "average",
    "summarise",
]

_NEEDS_PRIOR = "; give the prior if it is known"  # advice that a plan, which has no prior, cannot follow
CURVE = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)  # confidences at which people are counted
ALPHAS = (0.01, 0.05, 0.1, 0.25)  # shares of the people that an attack may have wrong


@dataclass(frozen=True)
class Foreseen:
    """What the equations and the noise of a release let one expect before it is attacked.

    Attributes
    ----------
    equations, people, groups
        Published values that say something about the secret, people, and how many of those are told apart.
    rank_cap, rank
        No more unknowns than this can be solved for, whatever the people; and the rank with these people.
    accuracy
        Predicted for least squares with the prior.
    limit
        What no decoder beats on average over secrets drawn at random; None where that is not known.
    rate
        The rate of the secret that the last two reckon with.
    ignored
        Protections that the numbers do not reckon with.
    """

    equations: int
    people: int
    groups: int
    rank_cap: int
    rank: int | None
    accuracy: float
    limit: float | None
    rate: float
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Promised:
    """The differential privacy that the protections declare; ``epsilon`` None: nothing."""

    epsilon: float | None = None
    delta: float | None = None
    relation: str = ""
    text: str = ""


@dataclass(frozen=True)
class ReleaseSummary:
    """One release and what it gave away.

    Attributes
    ----------
    found
        The share of those with the secret who are guessed to have it; NaN for a secret of several values.
    named, named_right
        How many are said with confidence 0.95 to have the secret (of several values, any of them), and how
        many of those do.
    proved
        How many have the same bit in every secret that fits the release.
    exposed
        People exposed, by confidence and by the value of their secret.
    people
        How many people there are.
    curve
        People exposed at each confidence: pairs.
    draws
        Over how many draws of the noise this is the mean.
    decoder
        What the attack decoded with.
    skipped
        Published values that gave no equation, and why; of several draws, those of the worst.
    foreseen
        What was to be expected before the attack; None where that is not known.
    promised
        What the protections declare; None where nobody asked.
    wrong
        How many people were guessed wrong in each draw.
    """

    statistic: str
    protection: str
    accuracy: float
    baselines: dict[str, float]
    baseline: str
    advantage: float
    interval: tuple[float, float]
    found: float
    named: int
    named_right: int
    proved: int
    exposed: dict[str, dict[str, int]]
    status: str
    people: int = 0
    curve: tuple[tuple[float, int], ...] = ()
    draws: int = 1
    decoder: str = ""
    skipped: tuple[str, ...] = ()
    foreseen: Foreseen | None = None
    promised: Promised | None = None
    wrong: tuple[int, ...] = ()

    @property
    def recovery(self) -> tuple[Recovery, ...]:
        """(α, β): how often more than a share α of the people were guessed wrong, over the draws."""
        if not self.wrong or not self.people:
            return ()
        return tuple(recovery(self.wrong, self.people, alpha) for alpha in ALPHAS)

    @property
    def exposed_people(self) -> int:
        """How many people are exposed at confidence 0.95, whatever their secret."""
        return sum(self.exposed["0.95"].values())

    def as_json(self) -> dict[str, Any]:
        """The summary as plain data."""
        plain = asdict(self)
        plain["found"] = None if isnan(self.found) else self.found
        plain["interval"] = list(self.interval)
        plain["curve"] = [list(point) for point in self.curve]
        plain["skipped"] = list(self.skipped)
        plain["wrong"] = list(self.wrong)
        plain["recovery"] = [one.as_dict() for one in self.recovery]
        if self.foreseen is not None:
            plain["foreseen"]["ignored"] = list(self.foreseen.ignored)
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> ReleaseSummary:
        """The summary that :meth:`as_json` gave, also before it had all of today's fields."""
        found = float("nan") if plain["found"] is None else plain["found"]
        low, high = plain["interval"]
        curve = tuple((level, count) for level, count in plain["curve"])
        foreseen, promised = plain.get("foreseen"), plain.get("promised")
        given = {name: value for name, value in plain.items() if name != "recovery"}
        return cls(
            **{
                **given,
                "found": found,
                "interval": (low, high),
                "curve": curve,
                "skipped": tuple(plain.get("skipped", ())),
                "wrong": tuple(plain.get("wrong", ())),
                "foreseen": foreseen and Foreseen(**{**foreseen, "ignored": tuple(foreseen["ignored"])}),
                "promised": promised and Promised(**promised),
            }
        )


def summarise(
    attack: Reconstruction,
    risk: Risk,
    *,
    statistic: str,
    protection: str,
    foreseen: Foreseen | None = None,
    promised: Promised | None = None,
) -> ReleaseSummary:
    """The summary of an attack that has been scored, beside what was known before it."""
    values = range(attack.evidence.values if attack.evidence.values > 1 else 2)
    # of two values the one that is named is the second; of several, any
    said = [risk.named(value=value) for value in (values if len(values) > 2 else (1,))]
    named, right = (sum(counts) for counts in zip(*said, strict=True))
    return ReleaseSummary(
        statistic=statistic,
        protection=protection,
        accuracy=risk.accuracy,
        baselines=dict(risk.baselines),
        baseline=risk.baseline,
        advantage=risk.advantage,
        interval=risk.interval,
        found=risk.found() if len(values) == 2 else float("nan"),
        named=named,
        named_right=right,
        proved=int((attack.identified == "proved").sum()),
        exposed={f"{level:g}": _exposed(risk, level, values) for level in LEVELS},
        status=str(attack.status).removesuffix(_NEEDS_PRIOR),
        people=risk.n,
        curve=tuple((level, risk.exposed_at(level)) for level in CURVE),
        decoder=attack.decoder,
        skipped=attack.evidence.skipped,
        foreseen=foreseen,
        promised=promised,
        wrong=(int(risk.hamming),),
    )


def _exposed(risk: Risk, level: float, values: Iterable[int]) -> dict[str, int]:
    """How many people with each value are exposed; none with a value that nobody has."""
    return {str(value): risk.exposed_at(level, value) if value < risk.levels else 0 for value in values}


def average(rows: Sequence[ReleaseSummary], interval: tuple[float, float]) -> ReleaseSummary:
    """The mean of several draws of the noise, with the interval of the mean advantage.

    Counts are means too, rounded; the status is the worst of the draws.
    """
    if len(rows) == 1:
        return rows[0]
    baselines = {name: fmean(row.baselines[name] for row in rows) for name in rows[0].baselines}
    troubled = [row.status for row in rows if row.status not in SETTLED]
    return replace(
        rows[0],
        accuracy=fmean(row.accuracy for row in rows),
        baselines=baselines,
        baseline=max(baselines, key=lambda name: baselines[name]),
        advantage=fmean(row.advantage for row in rows),
        interval=interval,
        found=fmean(row.found for row in rows),
        named=round(fmean(row.named for row in rows)),
        named_right=round(fmean(row.named_right for row in rows)),
        proved=round(fmean(row.proved for row in rows)),
        exposed={
            level: {value: round(fmean(row.exposed[level][value] for row in rows)) for value in counts}
            for level, counts in rows[0].exposed.items()
        },
        status=troubled[0] if troubled else rows[0].status,
        curve=tuple(
            (level, round(fmean(row.curve[place][1] for row in rows)))
            for place, (level, _) in enumerate(rows[0].curve)
        ),
        draws=len(rows),
        decoder=", ".join(dict.fromkeys(row.decoder for row in rows)),
        skipped=max((row.skipped for row in rows), key=len),
        wrong=tuple(count for row in rows for count in row.wrong),
    )
