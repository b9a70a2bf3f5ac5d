"""limit_of_file: how many of the means in a file can be published before people are traced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from tellall.core.errors import invalid
from tellall.core.made import Repeatable
from tellall.core.records import Meaning, Record
from tellall.protections.additive import Gaussian
from tellall.protections.protection import Protection
from tellall.protections.record_changes import Subsample
from tellall.protections.rounding import Rounding
from tellall.tracing.read_inputs import read_shares
from tellall.tracing.release_limit import ReleaseLimit, describe_limit, release_limit

__all__ = ["LimitFound", "limit_of_file"]

_MOST = 20_000  # means tried if nobody says how many
_Share = Annotated[float, Meaning(least=0, most=1)]


@dataclass(frozen=True)
class LimitCurve(Record):
    """How the share of people traced grows with the number of means."""

    attributes: Annotated[tuple[int, ...], Meaning("Numbers of means.")]
    power: Annotated[tuple[_Share, ...], Meaning("The share of members traced at the false-positive rate.")]
    low: Annotated[tuple[_Share, ...], Meaning("The lower ends of its 95 % intervals.")]
    high: tuple[_Share, ...]

    @classmethod
    def of(cls, found: ReleaseLimit) -> LimitCurve:
        """The curve of a simulation."""
        return cls(*(tuple(each.tolist()) for each in (found.counts, found.power, found.low, found.high)))


@dataclass(frozen=True, kw_only=True)
class LimitFound(Repeatable):
    """How many means can be published before people are traced."""

    frequencies: Annotated[str, Meaning("The file of means.")]
    seed: Annotated[int, Meaning(least=0)]
    people: Annotated[int, Meaning("How many people the means are over.", least=1)]
    reference_people: Annotated[int, Meaning("Whom the attacker has to compare with.", least=1)]
    attack: str
    power: Annotated[float, Meaning("The share of members that may be traced.", least=0, most=1)]
    rate: Annotated[float, Meaning("The false-positive rate at which that is counted.", least=0, most=1)]
    base: Annotated[float | None, Meaning("Means are rounded to multiples of this.", key="round")]
    std: Annotated[float | None, Meaning("The spread of the noise on each mean.", key="noise")]
    subsample: Annotated[float | None, Meaning("The share of the people whose means are published.")]
    trials: Annotated[int, Meaning("Releases that were simulated.", least=2)]
    published: Annotated[int, Meaning("Means in the file.", least=0)]
    attributes: Annotated[int, Meaning("The most means within the limit.", least=0)]
    all_tried_within_limit: bool
    sentence: str
    curve: LimitCurve


def limit_of_file(
    path: str | Path,
    people: int | None = None,
    *,
    power: float = 0.05,
    rate: float = 0.01,
    base: float | None = None,
    std: float | None = None,
    subsample: float | None = None,
    attack: str = "likelihood-ratio",
    reference: int | None = None,
    coding: str | None = None,
    most: int | None = None,
    trials: int = 4000,
    rng: int = 0,
) -> LimitFound:
    """How many of the means in a file can be published before people are traced.

    Parameters
    ----------
    path
        What is to be published: .frq, .afreq, GWAS-SSF, a table of name and mean, or a saved release.
    people
        How many people the means are over, if the file does not say.
    base, std, subsample
        What would be done to the means: rounded to multiples of the base, normal noise of this spread, and
        computed from this share of the people.
    coding
        "bits" or "genotypes"; by default as the file says.
    most
        The most means to try; by default the file's, up to 20,000.
    power, rate, attack, reference, trials, rng
        As for `release_limit`.
    """
    values, known, kind = read_shares(Path(path), people, coding)
    n = people if people is not None else known
    if n is None:
        raise invalid("--people", "given if the file does not say how many people there are", "nothing")
    shown = values[~np.isnan(values)]
    found = release_limit(
        shown,
        n,
        protect=_protections(subsample, std, base),
        power=power,
        rate=rate,
        reference=reference,
        attack=attack,
        coding=coding or kind,
        most=most if most is not None else max(1, min(shown.size, _MOST)),
        trials=trials,
        rng=rng,
    )
    return LimitFound(
        command="limit",
        frequencies=Path(path).name,
        seed=rng,
        people=n,
        reference_people=2 * n if reference is None else reference,
        attack=attack,
        power=power,
        rate=rate,
        base=base,
        std=std,
        subsample=subsample,
        trials=trials,
        published=int(shown.size),
        attributes=found.attributes,
        all_tried_within_limit=not found.searched,
        sentence=describe_limit(found, n, power=power, rate=rate, trials=trials),
        curve=LimitCurve.of(found),
    )


def _protections(subsample: float | None, std: float | None, base: float | None) -> list[Protection]:
    chosen: list[Protection] = [] if subsample is None else [Subsample(subsample)]
    chosen += [] if std is None else [Gaussian(std)]
    return chosen + ([] if base is None else [Rounding(base)])
