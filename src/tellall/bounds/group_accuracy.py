"""How often people are guessed right when the count of their group is known up to normal noise."""

from __future__ import annotations

import numpy as np

from tellall.linops import Array

__all__ = ["group_accuracy"]

_HALVINGS = 60


def group_accuracy(size: Array, sd: Array, rate: float, *, prior: bool = True) -> float:
    """The mean accuracy over people of guessing each group by its noisy count.

    Notes
    -----
    A group of c people has a Binomial(c, rate) count t, seen as r = t + N(0, sd²). With the prior all are
    guessed 1 where E[t | r] ≥ c/2, which is r above some threshold; without it, where r ≥ c/2. For rate 1/2
    the two agree, and a person alone is guessed right with probability Φ(1/(2 sd)). O(people · log) time.

    Examples
    --------
    >>> round(group_accuracy(np.ones(2), np.array([0.5, np.inf]), 0.5), 6)  # (Φ(1) + 1/2)/2
    0.670672
    """
    right = 0.0
    for people in np.unique(size):
        chosen = sd[size == people]
        right += float(people) * float(_accuracy(float(people), chosen, rate, prior).sum())
    return right / float(size.sum())


def _accuracy(people: float, sd: Array, rate: float, prior: bool) -> Array:
    from scipy.special import gammaln, ndtr

    j = np.arange(people + 1)
    ways = gammaln(people + 1) - gammaln(j + 1) - gammaln(people - j + 1)
    log_law = ways + np.log(rate) * j + np.log1p(-rate) * (people - j)
    law, share = np.exp(log_law), j / people
    out = np.empty(sd.size)
    informed = np.isfinite(sd) & (sd > 0)
    out[sd == 0] = law @ np.maximum(share, 1 - share)
    out[np.isinf(sd)] = max(rate, 1 - rate) if prior else 0.5
    noise = sd[informed]
    threshold = np.full(noise.size, people / 2)
    if prior and rate != 0.5:
        threshold = _threshold(people, noise, log_law, j)
    above = ndtr((j - threshold[:, None]) / noise[:, None])
    out[informed] = (law * (above * share + (1 - above) * (1 - share))).sum(axis=1)
    return out


def _threshold(people: float, noise: Array, log_law: Array, j: Array) -> Array:
    """The r at which E[t | r] = c/2, by bisection; E[t | r] rises in r."""
    from scipy.special import softmax

    # the prior's log-odds move the threshold by at most their slope times the variance
    reach = people + noise**2 * float(np.abs(np.diff(log_law)).max(initial=0.0))
    low, high = people / 2 - reach, people / 2 + reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mean = softmax(log_law - 0.5 * ((j - middle[:, None]) / noise[:, None]) ** 2, axis=1) @ j
        low, high = np.where(mean < people / 2, middle, low), np.where(mean < people / 2, high, middle)
    return (low + high) / 2
