"""The privacy profile of a mechanism, estimated from its draws alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellall.core.checks import share, whole
from tellall.core.errors import invalid
from tellall.core.intervals import clopper_pearson
from tellall.core.work import Progress, reporter
from tellall.protections.profile import PrivacyProfile, as_epsilons

__all__ = [
    "Floats",
    "Score",
    "ScoreKind",
    "Seed",
    "bounds",
    "estimate_profile",
    "train_score",
]

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
Maker = Callable[[Floats, Floats], Score]
ScoreKind = Literal["auto", "quadratic", "boosting"]

Seed = int | np.random.Generator | None
Sampler = Callable[[int, Seed], ArrayLike]

# How far out the quadratic features bend over, in robust standard deviations squared; infinity never bends.
# A Student t law with ν degrees of freedom needs about ν, a normal law infinity.
_BENDS = (np.inf, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
_TRIAL = 15_000  # draws on which the bend is chosen
_BATCH = 200_000  # draws asked for at once


def train_score(first: Floats, second: Floats, *, kind: ScoreKind = "quadratic") -> Score:
    """Returns a function of draws that is large where `first` is likelier: an estimate of the log-ratio.

    Parameters
    ----------
    first, second : ndarray, draws × coordinates
        Equal numbers of draws from the two laws.
    kind : {"quadratic", "boosting", "auto"}
        Logistic regression on quadratic features (their bend chosen on held-out draws), gradient boosted
        trees, or whichever of the two does better on held-out draws.

    Notes
    -----
    The log-ratio of two normal laws is quadratic. That of two Student t laws has quadratic level sets, and
    with the features z zᵀ/(1 + |z|²/b) and a bend b near ν it is linear in them.
    Newton's method with a small ridge; O(draws·q²) for q features. Draws that are not finite get an
    indicator.
    """
    if kind not in ("auto", "quadratic", "boosting"):
        raise invalid("score", "'auto', 'quadratic' or 'boosting'", kind)
    # In the frame of one side its own quadratic form is round, and the bend can follow it exactly.
    spreads = (np.ptp(first, axis=0) > 0.0).all() and np.isfinite(first).all()
    frame = _Frame.of(first if spreads else np.concatenate([first, second]))
    makers: list[Maker] = []
    if kind != "boosting":
        makers += [partial(_logistic, frame, bend) for bend in _BENDS]
    if kind != "quadratic":
        makers.append(_boosted)
    if len(makers) == 1:
        return makers[0](first, second)
    # Some of the draws choose; the winner is trained on all of them.
    some = min(len(first), _TRIAL)
    cut = max(1, 2 * some // 3)
    losses = [
        _log_loss(make(first[:cut], second[:cut]), first[cut:some], second[cut:some]) for make in makers
    ]
    return makers[int(np.argmin(losses))](first, second)


@dataclass(frozen=True)
class _Frame:
    """The centre and the spread of draws, from quantiles, so that heavy tails do not set the scale."""

    centre: Floats
    whiten: Floats

    @classmethod
    def of(cls, draws: Floats) -> _Frame:
        draws = np.where(np.isfinite(draws), draws, 0.0)
        centre = np.median(draws, axis=0)
        width = np.subtract(*np.quantile(draws, [0.9, 0.1], axis=0)) / 2.563
        wider = np.abs(draws - centre).max(axis=0)
        width = np.where(width > 0.0, width, np.where(wider > 0.0, wider, 1.0))
        clipped = np.clip((draws - centre) / width, -4.0, 4.0)
        cov = clipped.T @ clipped / len(draws) + 1e-9 * np.eye(draws.shape[1])
        return cls(centre, np.linalg.inv(np.linalg.cholesky(cov)).T / width[:, None])

    def __call__(self, draws: Floats) -> tuple[Floats, Floats]:
        """Returns the draws in units of their spread, and which coordinates were not finite."""
        fine = np.isfinite(draws)
        away = (np.where(fine, draws, self.centre) - self.centre) @ self.whiten
        # squares of larger numbers would only overflow
        return np.clip(away, -1e6, 1e6), (~fine).astype(np.float64)


def _features(draws: Floats, frame: _Frame, bend: float) -> Floats:
    z, missing = frame(draws)
    rows, columns = np.triu_indices(z.shape[1])
    weight = 1.0 / (1.0 + (z**2).sum(axis=1, keepdims=True) / bend)
    parts = [np.ones((len(z), 1)), z * weight, z[:, rows] * z[:, columns] * weight]
    if np.isfinite(bend):
        parts.append(weight)
    return np.concatenate([*parts, missing], axis=1)


def _logistic(frame: _Frame, bend: float, first: Floats, second: Floats) -> Score:
    table = np.concatenate([_features(first, frame, bend), _features(second, frame, bend)])
    truth = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    spread = table.std(axis=0)
    spread[spread == 0.0] = 1.0
    middle = table.mean(axis=0)
    middle[0], spread[0] = 0.0, 1.0
    table = (table - middle) / spread
    weights = _newton(table, truth) / spread
    constant = float(weights[0] - weights[1:] @ middle[1:])
    size = len(frame.centre)
    linear, rest = weights[1 : 1 + size], weights[1 + size :]
    square = np.zeros((size, size))
    square[np.triu_indices(size)] = rest[: size * (size + 1) // 2]
    bent = float(rest[size * (size + 1) // 2]) if np.isfinite(bend) else 0.0
    absent = weights[-size:]

    def score(draws: Floats) -> Floats:
        # the same linear function of the features, without writing out their columns
        z, missing = frame(draws)
        weight = 1.0 / (1.0 + (z**2).sum(axis=1) / bend)
        curved = ((z @ square) * z).sum(axis=1) + z @ linear + bent
        return np.asarray(constant + weight * curved + missing @ absent)

    return score


def _newton(table: Floats, truth: Floats, rounds: int = 25) -> Floats:
    """Logistic regression with a ridge of one over the draws, by damped Newton steps."""
    weights = np.zeros(table.shape[1])
    ridge = np.full(table.shape[1], 1.0)

    def loss(at: Floats) -> float:
        margin = table @ at
        return float((np.logaddexp(0.0, margin) - truth * margin).sum() + 0.5 * (ridge * at**2).sum())

    value = loss(weights)
    for _ in range(rounds):
        chance = 0.5 * (1.0 + np.tanh(0.5 * (table @ weights)))
        slope = table.T @ (chance - truth) + ridge * weights
        curve = (table * (chance * (1.0 - chance))[:, None]).T @ table + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        size, lower = 1.0, False
        while size > 1e-4:
            trial = loss(weights - size * step)
            if trial < value:
                weights, lower = weights - size * step, value - trial > 1e-8 * abs(value)
                value = trial
                break
            size /= 2.0
        if not lower:
            break
    return weights


def _boosted(first: Floats, second: Floats) -> Score:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model: Any = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.1, max_leaf_nodes=15, random_state=0
    )
    truth = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    # one thread: on a busy machine the threads of small trees spend most of their time waiting
    with threadpool_limits(1, user_api="openmp"):
        model.fit(np.concatenate([first, second]), truth)

    def score(draws: Floats) -> Floats:
        with threadpool_limits(1, user_api="openmp"):
            return np.asarray(model.decision_function(draws), dtype=np.float64)

    return score


def _log_loss(score: Score, first: Floats, second: Floats) -> float:
    if not len(first):
        return 0.0
    return float(np.logaddexp(0.0, -score(first)).mean() + np.logaddexp(0.0, score(second)).mean())


def estimate_profile(
    sample_a: Sampler,
    sample_b: Sampler,
    epsilons: ArrayLike,
    draws: int = 100_000,
    confidence: float = 0.99,
    rng: Seed = None,
    *,
    training: int | None = None,
    score: ScoreKind = "quadratic",
    progress: Progress | bool | None = None,
) -> PrivacyProfile:
    """Estimates the privacy profile of a mechanism between two data sets from draws, with lower bounds.

    Parameters
    ----------
    sample_a, sample_b : callable
        ``sampler(size, rng)`` gives that many outputs of the mechanism on the data and on the neighbour, one
        for each row.
    epsilons : array_like
        The grid of ε.
    draws : int
        Fresh test draws on each side.
    confidence : float
        The joint confidence of all lower bounds on the grid, in both directions.
    training : int, optional
        Draws on each side to train on; by default min(draws, 100 000).
    score : {"quadratic", "boosting", "auto"}
        What tells the two sides apart: logistic regression on quadratic features, which suffices for normal
        and Student t laws; gradient boosted trees; or the better of the two.
    progress : callable or bool, optional
        ``progress(done, total)`` in draws, or True for a bar on a terminal.

    Returns
    -------
    PrivacyProfile
        `.delta` is the estimate (the larger direction), `.lower` the confidence bound. Both fall short of the
        truth if the score does: an estimate can show a leak, never that nothing leaks.

    Notes
    -----
    A black box, as private-ols, Sec. 5, uses one of a paper that it cites ("Eureka"): any event gives
    P[event | a] − e^ε P[event | b] ≤ δ(ε). One score is trained for the whole grid. For each ε and direction
    the event is a threshold on it, chosen on the training draws; its two probabilities are measured on fresh
    draws. The bounds are Clopper and Pearson's, each at (1 − confidence)/(4·number of ε). Memory O(batch).

    Examples
    --------
    >>> import numpy as np
    >>> def at(mean):
    ...     return lambda size, rng: np.random.default_rng(rng).normal(mean, 1.0, (size, 1))
    >>> profile = estimate_profile(at(0.0), at(1.0), [0.0, 0.5, 1.0], draws=20_000, rng=0)
    >>> bool(profile.lower(0.5) < profile.delta(0.5))
    True
    >>> float(profile.delta(0.5).round(1))  # the truth is 0.238
    0.2
    """
    eps = np.unique(np.atleast_1d(as_epsilons(epsilons)))
    count = whole("draws", draws, least=10)
    level = share("confidence", confidence, zero=False, one=False)
    learn = whole("training", min(count, 100_000) if training is None else training, least=10)
    generators = np.random.default_rng(rng).spawn(4)
    with reporter(progress, 2 * (count + learn)) as report:
        first = _draw(sample_a, learn, generators[0], report)
        second = _draw(sample_b, learn, generators[1], report)
        teller = train_score(first, second, kind=score)
        events = _Events.choose(eps, teller(first), teller(second))
        inside = [
            events.count(teller, sampler, count, generator, report)
            for sampler, generator in ((sample_a, generators[2]), (sample_b, generators[3]))
        ]
    # forward events measure P[a] − e^ε P[b], backward ones P[b] − e^ε P[a]
    more = np.stack([inside[0][0], inside[1][1]])
    less = np.stack([inside[1][0], inside[0][1]])
    low, high = bounds(more, less, count, (1.0 - level) / (2.0 * eps.size))

    def curve(at: Floats) -> Floats:
        # ε takes the events of the grid points on either side of it
        above = np.clip(np.searchsorted(eps, at), 0, eps.size - 1)
        below = np.clip(np.searchsorted(eps, at, side="right") - 1, 0, eps.size - 1)
        near = np.stack([above, below])
        value = (more[:, near] - _times(at, less[:, near])) / count
        return np.asarray(np.maximum(0.0, value.max(axis=(0, 1))))

    def lower(at: Floats) -> Floats:
        # every event bounds δ at every ε, and all bounds hold together
        value = low[:, :, None] - _times(at, high[:, :, None])
        return np.asarray(np.maximum(0.0, value.max(axis=(0, 1))))

    return PrivacyProfile(
        curve=curve,
        mechanism=f"a mechanism seen through {count} draws on each side",
        method="black box",
        neighbours="the two data sets that were sampled",
        lower_curve=lower,
        confidence=level,
    )


def _times(eps: Floats, rate: Floats) -> Floats:
    """Returns e^ε·rate: zero where the rate is, however large ε may be."""
    with np.errstate(over="ignore"):
        return np.where(rate > 0.0, np.exp(eps) * np.where(rate > 0.0, rate, 1.0), 0.0)


def bounds(more: ArrayLike, less: ArrayLike, draws: int, miss: float) -> tuple[Floats, Floats]:
    """Bounds one rate from below and another from above, seen `more` and `less` times in `draws` draws.

    Clopper and Pearson's limits; one of them fails with probability at most `miss`.
    """
    return clopper_pearson(more, draws, miss)[0], clopper_pearson(less, draws, miss)[1]


@dataclass(frozen=True)
class _Events:
    """For each ε, a threshold above which the score favours a, and one below which it favours b."""

    above: Floats
    below: Floats

    @classmethod
    def choose(cls, eps: Floats, first: Floats, second: Floats) -> _Events:
        return cls(_best(eps, first, second), -_best(eps, -second, -first))

    def count(
        self,
        score: Score,
        sampler: Sampler,
        size: int,
        rng: np.random.Generator,
        report: Callable[[int], None],
    ) -> tuple[Floats, Floats]:
        """Counts the fresh draws that fall in each forward and each backward event."""
        above, below = np.zeros(self.above.shape), np.zeros(self.below.shape)
        for start in range(0, size, _BATCH):
            value = np.sort(score(_draw(sampler, min(_BATCH, size - start), rng, report)))
            above += len(value) - np.searchsorted(value, self.above, side="right")
            below += np.searchsorted(value, self.below, side="left")
        return above, below


def _best(eps: Floats, first: Floats, second: Floats) -> Floats:
    """Returns the threshold t that maximises P[first > t] − e^ε P[second > t] on these draws, for each ε."""
    values = np.unique(np.concatenate([first, second]))
    # between draws, never at one; and above the largest, where the event is empty
    cuts = np.append((values[:-1] + values[1:]) / 2.0, values[-1])
    over = [len(side) - np.searchsorted(np.sort(side), cuts, side="right") for side in (first, second)]
    rates = [count / len(side) for count, side in zip(over, (first, second), strict=True)]
    return np.array([cuts[int(np.argmax(rates[0] - _times(e, rates[1])))] for e in eps])


def _draw(sampler: Sampler, size: int, rng: np.random.Generator, report: Callable[[int], None]) -> Floats:
    """Returns `size` draws as a table; asks for them in batches."""
    parts = []
    for start in range(0, size, _BATCH):
        count = min(_BATCH, size - start)
        try:
            part = np.asarray(sampler(count, rng), dtype=np.float64)
        except (TypeError, ValueError) as problem:
            raise invalid("sampler", "a function (size, rng) that returns numbers", str(problem)) from problem
        if part.shape[:1] != (count,):
            raise invalid(
                "sampler", f"a function that returns {count} draws when asked for {count}", part.shape
            )
        parts.append(part.reshape(count, -1))
        report(count)
    return np.concatenate(parts)
