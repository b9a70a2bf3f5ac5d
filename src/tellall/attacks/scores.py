"""Scores that tell two laws apart from their draws: trained once, thresholded anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellall.errors import invalid

__all__ = ["Floats", "Score", "ScoreKind", "train_score"]

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]
Maker = Callable[[Floats, Floats], Score]
ScoreKind = Literal["auto", "quadratic", "boosting"]

# How far out the quadratic features bend over, in robust standard deviations squared; infinity never bends.
# A Student t law with ν degrees of freedom wants about ν, a normal law infinity.
_TRIAL = 15_000
_BENDS = (np.inf, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0)


def train_score(first: Floats, second: Floats, *, kind: ScoreKind = "quadratic") -> Score:
    """A function of draws that is large where `first` is likelier: an estimate of the log-ratio of the laws.

    Parameters
    ----------
    first, second : ndarray, draws × coordinates
        Equal numbers of draws from the two laws.
    kind : {"quadratic", "boosting", "auto"}
        Logistic regression on quadratic features (their bend chosen on held-out draws), gradient boosted
        trees, or whichever of the two does better on held-out draws.

    Notes
    -----
    For two normal laws the log-ratio is quadratic; for two Student t laws every level set of it is, and the
    features z zᵀ/(1 + |z|²/b) of private-ols' black box (Sec. 5) with a bend b near ν linearise it. Newton's
    method with a small ridge; O(draws·q²) for q features. Draws that are not finite get an indicator.
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
    # The choice is made on a part of the draws, the winner trained on all of them.
    some = min(len(first), _TRIAL)
    cut = max(1, 2 * some // 3)
    losses = [
        _log_loss(make(first[:cut], second[:cut]), first[cut:some], second[cut:some]) for make in makers
    ]
    return makers[int(np.argmin(losses))](first, second)


@dataclass(frozen=True)
class _Frame:
    """Where the draws lie and how wide, from quantiles: heavy tails must not set the scale."""

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
        """The draws in units of their spread, and which coordinates were not finite."""
        fine = np.isfinite(draws)
        away = (np.where(fine, draws, self.centre) - self.centre) @ self.whiten
        # Beyond any reasonable draw the squares would only overflow.
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
        # The same linear function of the features, without writing out their columns.
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
    # One thread: on a shared machine the threads of small trees wait for each other hundreds of times longer.
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
