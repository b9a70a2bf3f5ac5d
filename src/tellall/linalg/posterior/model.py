"""The model of counts: their law before the evidence, and the law of the errors in published values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, final

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import HOST, ArrayLibrary, Device, IntArray, Values
from tellall.linalg.posterior.members import WRITTEN, Members
from tellall.linalg.solvers.solution import Array

__all__ = [
    "LEARN_FROM",
    "Channel",
    "CountPrior",
    "Opinion",
    "observation",
]

_LEAST_VARIANCE = 1e-9
_MOST_WAYS = 300  # to divide a group's people among values; above, values are taken as independent
LEARN_FROM = 3  # iterations: the first residuals say little about the noise
_FEW = 0.001  # an interval this small relative to the spread is taken as a variance
_FAR_OUT = 1e4  # standard deviations
_NOISE_RANGE = 30.0  # by which factor the estimated noise variance may differ from the declared one
_DISAGREEMENT = 1.25  # the factor by which declared noise must be off before it is estimated
_MOST_GROSS = 0.9
_ROOT = np.sqrt(2 * np.pi)
_NOTHING_SAID = 1e6  # times its interval: the spread of a row without a value, if it needs one


@dataclass(frozen=True, eq=False)
class _Alike:
    """Groups with the same number of people to divide: their unknowns, and every way to divide them."""

    index: IntArray  # groups × unknowns of a group
    ways: Array  # ways × unknowns of a group
    people: int  # divided among the unknowns; in a binomial law the others have no unknown of their own
    log_prior: Array  # groups × ways


@final
class CountPrior:
    """The law of every count before the evidence: binomial, or multinomial within a group.

    Parameters
    ----------
    size
        The people of each unknown's group; a member's chance of the value is E[t]/size.
    lower, upper
        The bounds of each count.
    rate
        The chance π of each unknown's value.
    group, left
        If the secret has several values: the group of each unknown, and for each group how many of its
        people are divided among its unknowns.
    members
        Who is in each count, if people of one group have chances of their own; the rate is then their mean.

    Notes
    -----
    t_p ~ Binomial(size_p, π_p), or Poisson-binomial if members have chances of their own (`Members`), or with
    groups P(t) ∝ Π_v π_v^t_v / t_v! over Σ_v t_v = left, all given lower ≤ t ≤ upper. Gaussian opinions
    multiply this by exp(−precision_v (t_v − opinion_v)²/2). For one person and a bit these are the log-odds
    logit(π) + precision (opinion − 1/2). O(people) for all groups together. Groups that can be divided in
    more than 300 ways are treated value by value (binomial), which
    ignores that the counts exclude each other.

    Examples
    --------
    >>> prior = CountPrior(np.array([1.0, 4.0]), np.zeros(2), np.array([1.0, 4.0]), rate=0.5)
    >>> prior.mean.tolist(), prior.variance.tolist()
    ([0.5, 2.0], [0.25, 1.0])
    >>> one, rate = np.ones(3), np.array([0.5, 0.25, 0.25])
    >>> CountPrior(one, 0 * one, one, rate, group=np.zeros(3, int), left=np.ones(1)).mean.tolist()
    [0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        size: Array,
        lower: Array,
        upper: Array,
        rate: Array | float,
        *,
        group: IntArray | None = None,
        left: Array | None = None,
        members: Members | None = None,
    ) -> None:
        self.members = members
        self.size = size
        self.lower = lower
        self.upper = upper
        self.group = group
        self.left = left
        self.rate: Array = np.broadcast_to(np.asarray(rate, dtype=np.float64), size.shape)
        self.alone = group is None and bool(((size == 1) & (lower == 0) & (upper == 1)).all())
        self._log_odds: Array = np.log(self.rate) - np.log1p(-self.rate)
        self._alike = [] if self.alone else [*self._multinomial()]
        rest = np.ones(size.size, dtype=bool)
        for alike in self._alike:
            rest[alike.index.ravel()] = False
        if not self.alone:
            self._alike += [self._binomial(np.flatnonzero(rest & (size == c))) for c in np.unique(size[rest])]
        nothing = np.zeros(size.size)
        self.mean, self.variance = self.moments(nothing, nothing)

    @property
    def people(self) -> float:
        """How many people the counts are about."""
        return float(self.size.sum() if self.left is None else self.left.sum())

    def moments(self, precision: Array | float, opinion: Array) -> tuple[Array, Array]:
        """Mean and variance of each count; precision zero gives the prior."""
        if self.alone:
            chance = self.chance(precision, opinion)
            return chance, np.maximum(chance * (1 - chance), _LEAST_VARIANCE)
        mean = np.empty(self.size.size)
        variance = np.empty(self.size.size)
        for alike, law in self._laws(precision, opinion):
            mean[alike.index] = law @ alike.ways
            away = alike.ways - mean[alike.index][:, None, :]
            variance[alike.index] = np.einsum("gw,gwv->gv", law, away * away)
        return mean, np.maximum(variance, _LEAST_VARIANCE)

    def moments_on(self, device: Device) -> Callable[[Values, Array], tuple[Array, Array]]:
        """The moments as a function of precisions and opinions on a device."""
        if device is HOST:
            return self.moments
        if not self.alone:

            def there(precision: Values, opinion: Array) -> tuple[Array, Array]:
                mean, variance = self.moments(device.get(precision), device.get(opinion))
                return device.put(mean), device.put(variance)

            return there
        xp = device.xp
        log_odds = device.put(self._log_odds)

        def alone(precision: Values, opinion: Array) -> tuple[Array, Array]:
            chance = 0.5 + 0.5 * xp.tanh(0.5 * (log_odds + precision * (opinion - 0.5)))
            return chance, xp.clip(chance * (1 - chance), _LEAST_VARIANCE, None)

        return alone

    def chance(self, precision: Array | float, opinion: Array) -> Array:
        """The chance that one member of each group has the value, E[t]/size."""
        from scipy.special import expit

        return expit(self.log_odds(precision, opinion))

    def log_odds(self, precision: Array | float, opinion: Array) -> Array:
        """log E[t] − log E[size − t], without loss of digits if the chance is almost 0 or 1."""
        if self.alone:
            return self._log_odds + precision * (opinion - 0.5)
        out = np.empty(self.size.size)
        with np.errstate(divide="ignore"):
            for alike, law in self._laws(precision, opinion):
                certain = self.size[alike.index] - alike.people  # have another value for sure
                yes = law @ alike.ways
                no = law @ (alike.people - alike.ways) + certain
                out[alike.index] = np.log(yes) - np.log(no)
        return out

    def member_log_odds(self, precision: Array | float, opinion: Array) -> Array:
        """The log-odds of each member: those of the count for members alike, and otherwise their own.

        Of several values, each is taken by itself.
        """
        assert self.members is not None
        members = self.members
        own = self.log_odds(precision, opinion)
        out = own[members.count]
        if self.alone:
            return out
        precision = np.broadcast_to(np.asarray(precision, dtype=np.float64), self.size.shape)
        several = np.flatnonzero(self.size > 1)
        for size in np.unique(self.size[several]):
            alike = self._binomial(several[self.size[several] == size])
            counts = alike.index[:, 0]
            away = alike.ways[:, 0] - opinion[counts, None]
            log_law = alike.log_prior - 0.5 * precision[counts, None] * away * away
            law = np.exp(log_law - log_law.max(axis=1, keepdims=True))
            self._spread(counts, law / law.sum(axis=1, keepdims=True), out)
        return out

    def member_log_odds_of(self, counts: npt.NDArray[Any], weights: Array) -> Array:
        """The log-odds of each member under a law of whole counts: rows of counts with their weights."""
        assert self.members is not None
        out = np.zeros(self.members.count.size)
        for size in np.unique(self.size):
            some = np.flatnonzero(self.size == size)
            law = np.zeros((some.size, int(size) + 1))
            for row, weight in zip(counts, weights, strict=True):
                law[np.arange(some.size), row[some].astype(np.intp)] += weight
            self._spread(some, law, out)
        return out

    def _spread(self, counts: IntArray, law: Array, out: Array) -> None:
        """Writes the log-odds of the members of these counts, which have these laws."""
        assert self.members is not None
        places, chance = self.members.under(counts, law)
        with np.errstate(divide="ignore"):
            out[places] = np.log(chance) - np.log1p(-chance)

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw of every count."""
        if self.alone:
            return (rng.random(self.size.size) < self.rate).astype(np.float64)
        out = np.empty(self.size.size)
        nothing = np.zeros(self.size.size)
        for alike, law in self._laws(nothing, nothing):
            level = rng.random((law.shape[0],))
            drawn = (np.cumsum(law, axis=1) < level[:, None]).sum(axis=1)
            out[alike.index] = alike.ways[np.minimum(drawn, len(alike.ways) - 1)]
        return np.clip(out, self.lower, self.upper)

    def log_weights(self, exclusive: bool) -> Array:
        """The log-probability of every whole number of each count by itself, up to a constant.

        With ``exclusive`` counts, those of a group are multinomial once something else says what they add up
        to. Numbers beyond a count's largest have probability zero.
        """
        from scipy.special import gammaln

        number = np.arange(self.size.max(initial=0) + 1)
        within = number <= self.size[:, None]
        if exclusive:
            return np.where(within, number * np.log(self.rate)[:, None] - gammaln(number + 1), -np.inf)
        left = np.where(within, self.size[:, None] - number, 0.0)
        ways = gammaln(self.size[:, None] + 1) - gammaln(number + 1) - gammaln(left + 1)
        out = np.where(within, ways + number * self._log_odds[:, None], -np.inf)
        if self.members is not None:
            for size in np.unique(self.size[(self.size > 1) & (self.size <= WRITTEN)]):
                index = np.flatnonzero(self.size == size)
                out[index, : int(size) + 1] = self.members.log_law(index)
        return out

    def log_prior(self, counts: Array) -> float:
        """The log-probability of these whole counts, up to a constant."""
        from scipy.special import gammaln

        if self.group is not None:
            return float(np.sum(counts * np.log(self.rate) - gammaln(counts + 1)))
        if self.members is not None and not self.alone:
            within = np.clip(np.rint(counts), self.lower, self.upper).astype(np.intp)
            parts = [one.log_prior[np.arange(one.index.size), within[one.index[:, 0]]] for one in self._alike]
            return float(sum(part.sum() for part in parts))
        choose = gammaln(self.size + 1) - gammaln(counts + 1) - gammaln(self.size - counts + 1)
        return float(np.sum(choose + counts * self._log_odds))

    def _binomial(self, index: IntArray) -> _Alike:
        """The law of unknowns of one size, each by itself."""
        from scipy.special import gammaln

        size = float(self.size[index[0]])
        j: Array = np.arange(size + 1)
        if self.members is not None and 1 < size <= WRITTEN:
            log_prior = self.members.log_law(index)
        else:
            rate = self.rate[index, None]
            log_prior = gammaln(size + 1) - gammaln(j + 1) - gammaln(size - j + 1)
            log_prior = log_prior + j * np.log(rate) + (size - j) * np.log1p(-rate)
        possible = (j >= self.lower[index, None]) & (j <= self.upper[index, None])
        return _Alike(index[:, None], j[:, None], int(size), np.where(possible, log_prior, -np.inf))

    def _multinomial(self) -> Iterator[_Alike]:
        """Yields the laws of groups with equally many people left and equally many open values."""
        from scipy.special import gammaln

        if self.group is None or self.left is None:
            return
        order = np.argsort(self.group, kind="stable")
        present, start, values = np.unique(self.group[order], return_index=True, return_counts=True)
        left = self.left[present].astype(np.int64)
        for people, open_ in sorted(set(zip(left.tolist(), values.tolist(), strict=True))):
            if comb(people + open_ - 1, open_ - 1) > _MOST_WAYS:
                continue
            chosen = np.flatnonzero((left == people) & (values == open_))
            index = order[start[chosen][:, None] + np.arange(open_)]
            ways = _divisions(people, open_)
            log_prior = np.log(self.rate)[index] @ ways.T - gammaln(ways + 1).sum(axis=1)
            possible = (ways >= self.lower[index][:, None, :]) & (ways <= self.upper[index][:, None, :])
            log_prior = np.where(possible.all(axis=2), log_prior, -np.inf)
            sound = np.isfinite(log_prior).any(axis=1)  # elsewhere the evidence contradicts itself
            if sound.any():
                yield _Alike(index[sound], ways, people, log_prior[sound])

    def _laws(self, precision: Array | float, opinion: Array) -> Iterator[tuple[_Alike, Array]]:
        precision = np.broadcast_to(np.asarray(precision, dtype=np.float64), self.size.shape)
        for alike in self._alike:
            away = alike.ways - opinion[alike.index][:, None, :]
            misfit = np.einsum("gwv,gv->gw", away * away, precision[alike.index])
            log_law = alike.log_prior - 0.5 * misfit
            law = np.exp(log_law - log_law.max(axis=1, keepdims=True))
            yield alike, law / law.sum(axis=1, keepdims=True)


def _divisions(people: int, values: int) -> npt.NDArray[np.float64]:
    """Every way to divide the people among the values."""
    rows = []
    for bars in combinations(range(people + values - 1), values - 1):
        ends = (-1, *bars, people + values - 1)
        rows.append([ends[k + 1] - ends[k] - 1 for k in range(values)])
    return np.array(rows, dtype=np.float64)


@final
@dataclass(frozen=True, eq=False)
class Channel:
    """The law of error = Gaussian(variance · scale) + uniform(−slack, slack), or gross for a share of rows.

    Notes
    -----
    With a Gaussian belief N(p, spread) about a row's true value and R = z − p, Z = ∫ P(z | u) N(u; p, spread)
    du, the score is g = ∂ log Z/∂p and the curvature −∂g/∂p. Gaussian: g = R/s², s² = spread + variance.
    Interval: with b = (R + slack)/s, a = (R − slack)/s, Z = (Φ(b) − Φ(a))/(2 slack),
    g = (φ(a) − φ(b))/(s ΔΦ), −g′ = g² + (b φ(b) − a φ(a))/(s² ΔΦ). A mixture weighs the scores by the
    chance w of each kind of error, and −g′ = g² − Σ w_k (g_k² + g_k′).

    ``unseen`` rows have an interval but no value. They say nothing about the noise and do not count in the
    agreement. If errors are taken as Gaussian, their variance is practically infinite. After a gross error
    a value is hidden as often as not (g = 0).
    """

    variance: Values
    slack: Array | None = None
    share: float = 0.0  # of gross errors; zero if there are none
    gross_variance: float | None = None
    scale: float = 1.0
    unseen: npt.NDArray[np.bool_] | None = None
    device: Device = HOST

    def on(self, device: Device) -> Channel:
        """The same for residuals on another device; itself if it has intervals, which have no form there."""
        if device is self.device or self.slack is not None or self.unseen is not None:
            return self
        return replace(self, variance=device.put(self.device.get(self.variance)), device=device)

    @property
    def noise(self) -> Values:
        """The variance of ordinary errors as now believed."""
        return self.variance * self.scale

    @property
    def total(self) -> Values:
        """The variance of ordinary errors, including the interval's."""
        if self.slack is None:
            return self.noise
        total = self.noise + self.slack**2 / 3
        if self.unseen is None:
            return total
        return np.where(self.unseen, (_NOTHING_SAID * (1 + self.slack)) ** 2, total)

    @property
    def gaussian(self) -> Channel:
        """The same with intervals taken as variances."""
        return Channel(self.total, unseen=self.unseen)

    def seen(self, rows: Array) -> Array:
        """Those of the rows that have a value."""
        return rows if self.unseen is None else rows[~self.unseen]

    def _among_seen(self) -> Channel:
        """The law of the rows that have a value."""
        if self.unseen is None:
            return self
        variance = self.variance if np.ndim(self.variance) == 0 else self.seen(np.asarray(self.variance))
        slack = None if self.slack is None else self.seen(self.slack)
        return replace(
            self, variance=variance, slack=slack if slack is not None and slack.any() else None, unseen=None
        )

    def contaminated(self, residual: Array, spread: Values, *, share: float = 0.1) -> Channel:
        """The same with a first guess at a share of gross errors."""
        residual = self.seen(residual)
        size = self._mean(residual**2) / share - self._mean(spread)
        return replace(self, share=share, gross_variance=max(size, 10 * self._mean(self.noise)))

    def respond(self, residual: Array, spread: Values) -> tuple[Array, Array, Values]:
        """Score g, curvature −g′ and chance of a gross error of every row."""
        xp = self.device.xp
        total = spread + self.noise
        log_z, score, curvature = _interval(xp, residual, total, self.slack)
        if self.gross_variance is None:
            return score, curvature, 0.0
        wide = 1 / (spread + self.gross_variance)
        square = residual * residual
        log_wide = 0.5 * _log(xp, wide) - 0.5 * wide * square
        if self.unseen is not None and self.slack is not None:
            wide = np.where(self.unseen, 0.0, wide)
            log_wide = np.where(self.unseen, np.log(0.25 / np.maximum(self.slack, 1e-9) * _ROOT), log_wide)
        odds = math.log(self.share / (1 - self.share)) + log_wide - log_z
        gross = 0.5 + 0.5 * xp.tanh(0.5 * odds)
        mixed = score + gross * (wide * residual - score)
        own = score * score - curvature
        wide_own = wide * wide * square - wide
        return mixed, mixed * mixed - own - gross * (wide_own - own), gross

    def learn(self, residual: Array, spread: Values, gross: Values) -> Channel:
        """One step of expectation maximisation: the share and size of gross errors, and the noise itself."""
        if self.gross_variance is None:
            return self
        if self.unseen is not None:
            rows = (part if np.ndim(part) == 0 else self.seen(np.asarray(part)) for part in (spread, gross))
            found = self._among_seen().learn(self.seen(residual), *rows)
            return replace(self, share=found.share, gross_variance=found.gross_variance, scale=found.scale)
        ordinary = 1 - gross
        square = residual * residual
        share = self._mean(gross)
        count = residual.shape[0]
        size = self._sum(gross * square) / max(share * count, 1e-9) - self._mean(spread)
        out = replace(
            self,
            share=min(max(share, 1e-6), _MOST_GROSS),
            gross_variance=max(size, 4 * self._mean(self.noise)),
        )
        if self.slack is not None:
            return out
        weight = max(self._sum(ordinary), 1e-9)
        seen = self._sum(ordinary * square / (spread + self.noise)) / weight
        room = _DISAGREEMENT + 6 / weight**0.5  # chance alone may explain this much
        if self.scale == 1 and 1 / room < seen < room:
            return out
        left = self._sum(ordinary * (square - spread)) / weight / self._mean(self.variance)
        return replace(out, scale=min(max(left, 1 / _NOISE_RANGE), _NOISE_RANGE))

    def agreement(self, residual: Array, spread: Values, gross: Values) -> float:
        """The mean square of ordinary residuals over the predicted one; near one if the model holds."""
        ordinary = 1 - gross + 0.0 * residual
        ratio = residual * residual / (spread + self.total)
        ordinary, ratio = self.seen(ordinary), self.seen(ratio)
        if not ratio.shape[0]:
            return 1.0
        return self._sum(ordinary * ratio) / max(self._sum(ordinary), 1e-9)

    def _sum(self, values: Values) -> float:
        """The sum in double precision."""
        return float(self.device.xp.sum(values, dtype=self.device.xp.float64))

    def _mean(self, values: Values) -> float:
        if isinstance(values, float):
            return float(values)
        return self._sum(values) / max(int(values.shape[0]), 1)

    def publish(self, truth: Array, target: Array, rng: np.random.Generator) -> Array:
        """The target that another truth might have had, with errors drawn from the law.

        If there is an interval, the truth is rounded as the target was, to the grid of that width which
        contains the target: the errors of whole numbers are not uniform. Intervals without a value are placed
        at random about the truth.
        """
        size = truth.size
        out: Array = truth + rng.normal(size=size) * np.sqrt(self.noise)
        if self.slack is not None:
            placed = out + rng.uniform(-1, 1, size) * self.slack
            base = 2 * np.maximum(self.slack, 1e-9)
            rounded = target + base * np.rint((out - target) / base)
            if self.unseen is not None:
                rounded = np.where(self.unseen, placed, rounded)
            out = np.where(self.slack > 0, rounded, out)
        if self.gross_variance is not None:
            bad = rng.random(size) < self.share
            out = out + bad * rng.normal(0, np.sqrt(self.gross_variance), size)
        return out


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the evidence alone says about each count: a Gaussian of mean ``center``.

    Attributes
    ----------
    channel
        The law of the errors, as estimated.
    agreement
        The mean square of the residuals over the predicted one; near 1 if the model holds.
    change
        How far the last iteration moved the counts, in units of their prior spread.
    fall
        The median residual at the end over that at the start; 0 if it was not measured.
    """

    precision: Array
    center: Array
    channel: Channel
    agreement: float
    change: float
    iterations: int
    fall: float = 0.0


def observation(
    mean: Array, variance: Array, target: Array, slack: Array, noise: Array
) -> tuple[Array, Array]:
    """The Gaussian observation (value, standard deviation) that says as much as an interval.

    Either changes the mean and variance of N(mean, variance) in the same way. The interval is target ± slack,
    apart from a Gaussian error of variance ``noise``.
    """
    _, score, curvature = _interval(HOST.xp, target - mean, variance + noise, slack)
    variance = np.maximum(variance, 1e-12)
    curvature = np.clip(curvature, 1e-9 / (variance + noise), (1 - 1e-6) / variance)
    return mean + score / curvature, np.sqrt(1 / curvature - variance)


def _log(xp: ArrayLibrary, value: Values) -> Values:
    return math.log(value) if isinstance(value, float) else xp.log(value)


def _interval(
    xp: ArrayLibrary, residual: Array, total: Values, slack: Array | None
) -> tuple[Array, Array, Array]:
    """log Z, score and curvature of a Gaussian of variance `total` widened by ±slack."""
    if slack is None:
        score = residual / total
        return -0.5 * residual * score - 0.5 * _log(xp, total), score, 1 / total + 0.0 * residual
    deviation = np.sqrt(np.broadcast_to(total, residual.shape))
    narrow = slack <= _FEW * deviation
    variance = total + np.where(narrow, slack**2 / 3, 0.0)
    log_z, score, curvature = _interval(xp, residual, variance, None)
    if narrow.all():
        return log_z, score, curvature
    wide = ~narrow
    log_z = log_z.copy()
    score = score.copy()
    curvature = curvature.copy()
    log_z[wide], score[wide], curvature[wide] = _wide(residual[wide], deviation[wide], slack[wide])
    return log_z, score, curvature


def _wide(residual: Array, deviation: Array, slack: Array) -> tuple[Array, Array, Array]:
    from scipy.special import erfcx, log_ndtr

    sign = np.where(residual < 0, -1.0, 1.0)
    distance = np.abs(residual)
    a = (distance - slack) / deviation
    b = (distance + slack) / deviation
    tail_a, tail_b = log_ndtr(-a), log_ndtr(-b)  # the tails keep their digits, ΔΦ does not
    fall = 2 * (slack / deviation) * (distance / deviation)  # (b² − a²)/2
    far = a > _FAR_OUT  # there differences of squares lose their digits, and limits hold
    rest = -np.expm1(np.minimum(np.where(far, -fall, tail_b - tail_a), -1e-12))
    log_mass = tail_a + np.log(rest)
    at_a = np.sqrt(2 / np.pi) / erfcx(a / np.sqrt(2)) / rest  # φ(a)/Φ(−a), for any a
    at_b = at_a * np.exp(-fall)
    score = (at_a - at_b) / deviation
    curvature = np.where(far, 1.0, (at_a - at_b) ** 2 + b * at_b - a * at_a) / deviation**2
    # every log Z here leaves out √(2π)
    return log_mass - np.log(2 * slack) + 0.5 * np.log(2 * np.pi), sign * score, np.maximum(curvature, 0.0)
