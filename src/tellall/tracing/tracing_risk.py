"""How well a tracing works: against known members, with fewer means, and the ε that it disproves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tellall.core.checks import are_bits, is_whole, share, whole
from tellall.core.errors import invalid
from tellall.core.intervals import clopper_pearson
from tellall.core.records import ENDLESS, Record
from tellall.linalg.operators.linear_operator import Array
from tellall.protections.protection import Rng, as_rng
from tellall.release.release import Release
from tellall.tracing.inputs import values_and_names
from tellall.tracing.trace import Tracing, trace

__all__ = [
    "MOST_CALLS",
    "Disproof",
    "Share",
    "TracingGrowth",
    "TracingRisk",
    "disprove_epsilon",
    "score_tracing",
    "trace_by_attributes",
]

RATES = (0.01, 0.001)
MOST_CALLS = 500_000_000  # of targets and reference people together; with more, a repeat takes long
_RESAMPLES = 2000
_LEAST = 16  # fewest means in a subset
_FEW = 20  # with fewer members or outsiders DeLong's variance is too uncertain


@dataclass(frozen=True)
class Share(Record):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Disproof(Record):
    """The ε of differential privacy that a tracing disproves.

    Attributes
    ----------
    estimate
        The smallest ε that the observed rates allow; infinite where no outsider was named.
    lower
        Every ε below this is disproved at the confidence.
    """

    estimate: Annotated[float, ENDLESS]
    lower: Annotated[float, ENDLESS]
    delta: float
    confidence: float


@dataclass(frozen=True, eq=False, repr=False)
class TracingRisk:
    """What a tracing achieved on members and outsiders.

    Attributes
    ----------
    members, others
        How many targets were in the data, and how many were not.
    traced, false
        How many of each the attack named.
    auc
        The chance that a member scores above an outsider, with ties counted half and DeLong's interval; with
        fewer than 20 members or outsiders, widened to hold the exact limits of a share of that many people.
    """

    members: int
    others: int
    traced: int
    false: int
    auc: Share
    delta: float
    _inside: Array
    _outside: Array

    @property
    def true_positive_rate(self) -> Share:
        """The share of members named, Clopper–Pearson interval."""
        return _exact_share(self.traced, self.members)

    @property
    def false_positive_rate(self) -> Share:
        """The share of outsiders named, Clopper–Pearson interval."""
        return _exact_share(self.false, self.others)

    def power(self, rate: float = RATES[0], *, rng: Rng = 0) -> Share:
        """The share of members above the threshold that at most this share of the outsiders exceeds.

        Notes
        -----
        The interval is a bootstrap over both members and outsiders, since the threshold is estimated too; it
        is widened to hold Clopper–Pearson's interval. With fewer than 1/rate outsiders the threshold is their
        largest score, and the rate itself cannot be seen; see :meth:`seen`.
        """
        rate = share("rate", rate, zero=False, one=False)
        generator = as_rng(rng)
        inside, outside = np.sort(self._inside), np.sort(self._outside)
        allowed = math.floor(rate * outside.size + 1e-9)
        value = float((inside > outside[-1 - allowed]).mean())
        # an order statistic of a resample has the rank of an order statistic of uniforms
        ranks = generator.beta(outside.size - allowed, allowed + 1, size=_RESAMPLES)
        limits = outside[np.minimum((ranks * outside.size).astype(np.intp), outside.size - 1)]
        shares = 1 - np.searchsorted(inside, limits, side="right") / inside.size
        resampled = generator.binomial(inside.size, shares) / inside.size
        low, high = (float(end) for end in np.quantile(resampled, [0.025, 0.975]))
        exact = _exact_share(round(value * inside.size), inside.size)
        return Share(value, min(low, exact.low), max(high, exact.high))

    def seen(self, rate: float = RATES[0]) -> bool:
        """Returns whether there are enough outsiders, 1/rate, to see this false-positive rate."""
        return share("rate", rate, zero=False, one=False) * self.others + 1e-9 >= 1

    def roc(self, points: int = 200) -> dict[str, Array]:
        """Returns false- and true-positive rates at falling thresholds, with pointwise 95 % intervals."""
        whole("points", points, 2)
        scores = np.unique(np.concatenate([self._inside, self._outside]))[::-1]
        if scores.size > points:
            scores = scores[np.linspace(0, scores.size - 1, points).astype(np.intp)]
        hits = self._inside.size - np.searchsorted(np.sort(self._inside), scores, side="left")
        alarms = self._outside.size - np.searchsorted(np.sort(self._outside), scores, side="left")
        true_low, true_high = clopper_pearson(hits, self._inside.size)
        false_low, false_high = clopper_pearson(alarms, self._outside.size)
        return {
            "threshold": scores,
            "false_positive_rate": alarms / self._outside.size,
            "false_low": false_low,
            "false_high": false_high,
            "true_positive_rate": hits / self._inside.size,
            "true_low": true_low,
            "true_high": true_high,
        }

    def epsilon(self, delta: float = 0.0, *, confidence: float = 0.95) -> Disproof:
        """Returns the ε that the named members and outsiders disprove; see :func:`disprove_epsilon`."""
        return disprove_epsilon(
            self.traced, self.members, self.false, self.others, delta=delta, confidence=confidence
        )

    def __repr__(self) -> str:
        where = "at 1 % false positives" if self.seen(0.01) else f"above all {self.others} others"
        return (
            f"TracingRisk: {self.traced} of {self.members} members traced, {self.false} of {self.others} "
            f"others named wrongly; AUC {self.auc}; power {self.power(0.01)} {where}"
        )


def score_tracing(tracing: Tracing, members: npt.ArrayLike) -> TracingRisk:
    """Returns the risk of a tracing, given who was in the data: True (or 1) for each target who was.

    Notes
    -----
    AUC by ranks in O(T log T), with DeLong's variance. That variance is itself estimated, from a lone member
    not at all. So with few people the interval also holds Clopper and Pearson's limits of a share of
    min(members, outsiders) people: no AUC varies more than such a share (Birnbaum and Klose, 1957). All
    targets face one release, so the intervals are about other people and this release, not about other
    releases.

    Examples
    --------
    >>> tracing = Tracing(np.array([3.0, 2.0, 1.0, 0.0]), 1.5, np.zeros(4), np.array([1, 1, 0, 0], bool),
    ...                   "single", "paper", 0.05, 1, 1)
    >>> score_tracing(tracing, [True, True, False, False]).auc.value
    1.0
    """
    try:
        truth = np.asarray(members)
    except ValueError:
        raise invalid("members", "one of True and False per target", "rows of different lengths") from None
    if np.ma.is_masked(members):
        raise invalid("members", "one of True and False per target", "masked values")
    if truth.shape != tracing.scores.shape or not are_bits(truth):
        raise invalid("members", f"one of True and False per target ({tracing.scores.size})", truth)
    truth = truth.astype(bool)
    if truth.all() or not truth.any():
        raise invalid("members", "some True and some False", "all alike")
    inside, outside = tracing.scores[truth], tracing.scores[~truth]
    return TracingRisk(
        members=int(truth.sum()),
        others=int((~truth).sum()),
        traced=int(tracing.member[truth].sum()),
        false=int(tracing.member[~truth].sum()),
        auc=_auc(inside, outside),
        delta=tracing.delta,
        _inside=inside,
        _outside=outside,
    )


def disprove_epsilon(
    true_positives: int,
    members: int,
    false_positives: int,
    others: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> Disproof:
    """Returns the ε below which (ε, δ)-differential privacy is disproved by how often an attack is right.

    Notes
    -----
    Under (ε, δ)-differential privacy, with one person present or absent, TPR ≤ e^ε·FPR + δ, and also
    1 − FPR ≤ e^ε(1 − TPR) + δ. TPR is bounded from below and FPR from above, by Clopper–Pearson at half the
    error each, so both bounds hold together at the confidence. The threshold must have been fixed before the
    scores were seen. Counts over independent releases are binomial; counts over people in one release only
    approximately so.

    Examples
    --------
    >>> round(disprove_epsilon(990, 1000, 10, 1000).lower, 2)
    3.98
    """
    for name, hits, total in (
        ("true_positives", true_positives, members),
        ("false_positives", false_positives, others),
    ):
        if not (is_whole(hits) and is_whole(total)):
            raise invalid(name, "whole numbers: how many, and out of how many", f"{hits!r} out of {total!r}")
        if total < 1 or not 0 <= hits <= total:
            raise invalid(name, f"from 0 to {total}, out of one person or more", hits)
    delta = share("delta", delta, one=False)
    error = 1 - share("confidence", confidence, zero=False, one=False)
    true_low = float(clopper_pearson(true_positives, members, error)[0])
    false_high = float(clopper_pearson(false_positives, others, error)[1])
    estimate = _least_epsilon(true_positives / members, false_positives / others, delta)
    return Disproof(estimate, _least_epsilon(true_low, false_high, delta), delta, confidence)


def _least_epsilon(true_rate: float, false_rate: float, delta: float) -> float:
    best = 0.0
    for gain, loss in ((true_rate - delta, false_rate), (1 - false_rate - delta, 1 - true_rate)):
        if gain > 0:
            best = max(best, math.inf if loss <= 0 else math.log(gain / loss))
    return best


def _auc(inside: Array, outside: Array) -> Share:
    from scipy.special import ndtri

    a, b = np.sort(outside), np.sort(inside)
    over = (np.searchsorted(a, inside, "left") + np.searchsorted(a, inside, "right")) / (2 * a.size)
    under = 1 - (np.searchsorted(b, outside, "left") + np.searchsorted(b, outside, "right")) / (2 * b.size)
    value = float(over.mean())
    variance = over.var() / max(inside.size - 1, 1) + under.var() / max(outside.size - 1, 1)
    margin = float(-ndtri(0.025) * math.sqrt(variance))
    low, high = max(0.0, value - margin), min(1.0, value + margin)
    few = min(a.size, b.size)
    if few < _FEW or variance == 0:  # no variance: separated perfectly, or not at all
        least, most = clopper_pearson(value * few, few)
        low, high = min(low, float(least)), max(high, float(most))
    return Share(value, low, high)


def _exact_share(hits: int, total: int) -> Share:
    low, high = clopper_pearson(hits, total)
    return Share(hits / total, float(low), float(high))


@dataclass(frozen=True, eq=False)
class TracingGrowth:
    """Tracings from nested random subsets of the means, fewest first; the last uses all of them."""

    tracings: tuple[Tracing, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many means each tracing used."""
        return tuple(tracing.attributes for tracing in self.tracings)

    @property
    def named(self) -> tuple[float, ...]:
        """The share of targets that each tracing named."""
        return tuple(tracing.traced / tracing.scores.size for tracing in self.tracings)


def trace_by_attributes(
    means: Release | npt.ArrayLike,
    targets: Any,
    reference: Any,
    *,
    whole: Tracing | None = None,
    points: int = 8,
    rng: Rng = 0,
    **options: Any,
) -> TracingGrowth:
    """Repeats a tracing with a random half of the means, a quarter, an eighth, and so on.

    Parameters
    ----------
    means, targets, reference, options
        As for `trace`.
    whole
        The tracing with all of the means, if it is known already.
    points
        How many tracings, the one with all means included; fewer if there are few means.
    rng
        Seed of the subsets; each contains the smaller ones.

    Notes
    -----
    Means that are not chosen count as suppressed. All halvings together cost as much as the whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = np.where(rng.random((40, 8000)) < 0.5, 1, -1)
    >>> means = people[:10].mean(axis=0)
    >>> growth = trace_by_attributes(means, people[:20], people[20:], threshold="hoeffding")
    >>> growth.counts[-2:], growth.named[-1] >= growth.named[0]
    ((4000, 8000), True)
    """
    values, names = values_and_names(means, options.get("n"))
    shown = np.flatnonzero(~np.isnan(values))
    order = as_rng(rng).permutation(shown)
    tracings = [trace(means, targets, reference, **options) if whole is None else whole]
    options["alleles"] = tracings[0].alleles  # judged once, by all means
    options["anyway"] = True  # compared once, by all means
    for halvings in range(1, points):
        count = shown.size >> halvings
        if count < _LEAST:
            break
        some = np.full_like(values, np.nan)
        some[order[:count]] = values[order[:count]]
        hidden: Any = dict(zip(names, some, strict=True)) if names else some
        tracings.append(trace(hidden, targets, reference, **options))
    return TracingGrowth(tuple(reversed(tracings)))
