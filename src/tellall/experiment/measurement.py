"""What is measured of one protection: what decoders achieve, and what the reader loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.attack.reconstruct.decoders import DECODERS
from tellall.core.errors import TellallError, invalid
from tellall.experiment.coefficients import Reader
from tellall.experiment.intervals import NORMAL, share_interval
from tellall.experiment.risk import Risk
from tellall.experiment.tally import Tally
from tellall.experiment.utility import Utility
from tellall.release import catalogue
from tellall.release.protections.base import Protection
from tellall.release.protections.guarantee import Guarantee

__all__ = [
    "NORMAL",
    "Coefficients",
    "Measurement",
    "Outcome",
    "accuracy_interval",
    "average_utility",
    "check_decoders",
    "frontier",
    "interval_over_draws",
    "loss_of",
    "quickest_first",
    "untried",
    "untried_decoders",
]

# Which decoders a study tries, and which it leaves out for the time they take.

# up to so many people a decoder is used where none is named, the quickest first; others up to the least of
# these. For fifty draws at n = 1000: 2 s, 3 to 30 s, 10 to 90 s.
_AFFORDABLE = {"least-squares": 10**9, "posterior": 1000, "lp": 1000, "exhaustive": 16}


def quickest_first(decoder: str) -> int:
    """The place of a decoder among them, the quickest first."""
    order = tuple(_AFFORDABLE)
    return order.index(decoder) if decoder in order else len(order)


def untried(chosen: Sequence[str]) -> tuple[str, ...]:
    """Decoders that are left out where none is named; listing every secret is for few people anyway."""
    return tuple(name for name in DECODERS if name not in chosen and name != "exhaustive")


def check_decoders(decoders: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """The decoders that are named or, where none is, those that so many people can afford."""
    if decoders is None:
        least = min(_AFFORDABLE.values())
        return tuple(name for name in DECODERS if n <= _AFFORDABLE.get(name, least))
    names = (decoders,) if isinstance(decoders, str) else tuple(decoders)
    for name in names:
        if name != "auto" and name not in DECODERS:
            raise invalid("decoders", f"among 'auto', {', '.join(map(repr, DECODERS))}", name)
    if not names:
        raise invalid("decoders", "one or more, or None", "none")
    return names


# The frontier: choices that no other beats in both of two costs.


def frontier(costs: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each pair of costs is on the frontier: none other is at most as large in both and less in one.

    Notes
    -----
    Equal pairs are on it together. A cost that is not a number never is. O(k log k).

    Examples
    --------
    >>> frontier([(0.3, 1.0), (0.1, 2.0), (0.2, 3.0), (0.1, 2.0), (0.3, 1.5)])
    [True, True, False, True, False]
    """
    known = [place for place, (one, other) in enumerate(costs) if one == one and other == other]
    marks = [False] * len(costs)
    least = float("inf")
    last: tuple[float, float] | None = None
    for place in sorted(known, key=lambda place: costs[place]):
        if costs[place][1] < least or costs[place] == last:
            marks[place] = True
            least, last = costs[place][1], costs[place]
    return marks


@dataclass(frozen=True)
class Outcome:
    """What one decoder achieves against one protection, averaged over draws of the noise.

    Attributes
    ----------
    accuracy, accuracy_interval
        The share of people guessed right, with its 95 % interval over people and draws; of a real secret the
        mean absolute error, in its unit.
    advantage, interval
        Accuracy beyond the strongest baseline (of a real secret, error below its), with its 95 % interval.
    baseline, baseline_accuracy
        The strongest baseline.
    exposed
        People exposed at confidence 0.95; not a number for a real secret.
    tally
        What of this can be added up over blocks of people; None for a real secret.
    """

    decoder: str
    draws: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    advantage: float
    interval: tuple[float, float]
    baseline: str
    baseline_accuracy: float
    exposed: float
    tally: Tally | None = None


@dataclass(frozen=True)
class Coefficients:
    """What the reader of coefficients loses, averaged over models and draws; see ``CoefficientUtility``.

    Attributes
    ----------
    mae_ratio
        How many times larger the mean absolute error of a model's predictions is than without protection.
    sign_flips
        The share of coefficients whose sign is wrong.
    coverage
        How often a 95 % confidence interval laid around the published coefficient covers the truth.
    """

    mae_ratio: float
    sign_flips: float
    coverage: float

    @classmethod
    def of(cls, readers: Sequence[Reader], noisy: Array) -> Coefficients | None:
        """The averages, from a row of all models' coefficients for each draw; None where some are missing."""
        if not readers or not np.isfinite(noisy).all():
            return None
        starts = np.cumsum([reader.clean.size for reader in readers])[:-1]
        parts = np.split(noisy, starts, axis=1)
        found = [reader.loses(part) for reader, part in zip(readers, parts, strict=True)]
        return cls(*(float(np.mean([getattr(one, field.name) for one in found])) for field in fields(cls)))

    def __str__(self) -> str:
        return (
            f"predictions {self.mae_ratio:.3g} times as far off, {self.sign_flips:.1%} of signs wrong, "
            f"95 % intervals cover {self.coverage:.1%}"
        )


@dataclass(frozen=True, eq=False)
class Measurement:
    """One protection: what every decoder achieves against it, and what it costs the reader.

    Attributes
    ----------
    std
        The standard deviation of the noise on a published value; not a number where there is no law of it.
    coefficients
        What the reader loses of predictions, signs and intervals, where coefficients are published.
    loss, loss_interval
        The mean absolute error of a published value, one that is not shown counted as zero; with its 95 %
        interval over draws.
    guarantee
        The (ε, δ) it corresponds to, None where it promises nothing.
    """

    protections: tuple[Protection, ...]
    std: float
    outcomes: tuple[Outcome, ...]
    utility: Utility
    coefficients: Coefficients | None
    loss: float
    loss_interval: tuple[float, float]
    guarantee: Guarantee | None

    @property
    def worst(self) -> Outcome:
        """The decoder with the highest upper limit."""
        return max(self.outcomes, key=lambda outcome: outcome.interval[1])

    @property
    def label(self) -> str:
        """The protections in a few words."""
        try:
            return catalogue.label(self.protections)
        except TellallError:  # one of the user's own
            return ", ".join(map(repr, self.protections))


def loss_of(clean: Array, noisy: Array) -> float:
    """The mean absolute error of the values, one that is not shown counted as zero."""
    return float(np.mean(np.abs(np.nan_to_num(noisy) - clean))) if clean.size else 0.0


def interval_over_draws(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean over draws, normal; no wider than the mean where there is one draw."""
    mean, count = float(np.mean(values)), len(values)
    half = NORMAL * float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else 0.0
    return mean - half, mean + half


def accuracy_interval(risks: Sequence[Risk]) -> tuple[float, float]:
    """Wilson's, wider by the variance over draws."""
    draws = np.array([risk.accuracy for risk in risks])
    luck = float(draws.var(ddof=1) / draws.size) if draws.size > 1 else 0.0
    return share_interval(float(draws.mean()), risks[0].n, luck)


def average_utility(found: Sequence[Utility]) -> Utility:
    """The mean of each number over draws."""
    means: dict[str, Any] = {
        field.name: float(np.mean([getattr(one, field.name) for one in found])) for field in fields(Utility)
    }
    for name in ("values", "tables", "incomplete"):
        means[name] = round(means[name])
    return Utility(**means)


def untried_decoders(names: Sequence[str], n: int) -> list[str]:
    """What to say of decoders that were left out."""
    if not names:
        return []
    them = "it" if len(names) == 1 else "them"
    return [
        f"Not tried on {n:,} people, for the time that takes: {', '.join(names)}. What is said here does not "
        f"cover {them}: a decoder that finds more needs more noise. Ask for {them} by name."
    ]
