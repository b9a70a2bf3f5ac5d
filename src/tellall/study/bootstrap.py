"""The interval of an advantage over the strongest of several baselines, over people and draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["advantage_interval"]

_RESAMPLES, _FEWEST = 2000, 200
_WORK = 10_000_000  # people × resamples; fewer resamples where people are many
_AT_ONCE = 2_000_000


def advantage_interval(
    attack: npt.NDArray[Any], baselines: npt.NDArray[Any], *, rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % interval of the mean score over people and draws less that of the strongest baseline.

    Parameters
    ----------
    attack
        Each person's score (whether guessed right, say), a row per draw of the noise.
    baselines
        The same for each baseline, a row each. For the majority's guess one row for each value: which of
        them is the majority's, a resample decides.

    Notes
    -----
    Bootstrap over people and over draws; in every resample the strongest baseline is chosen again. A
    baseline chosen once, as by :func:`tellall.score`, makes the interval jump where two of them change places
    as the noise grows.
    The spread of the resamples is laid around the advantage itself, since the maximum over baselines shifts
    them down a little. 2000 resamples, 200 or more where people × resamples would pass ten million.

    Examples
    --------
    >>> secret = np.arange(400) % 2
    >>> always, either = np.ones((3, 400)), np.stack([secret == 0, secret == 1])
    >>> low, high = advantage_interval(always, either, rng=np.random.default_rng(0))
    >>> 0.45 < low < 0.5 < high < 0.55
    True
    """
    draws, n = attack.shape
    everything = np.concatenate([attack, baselines]).astype(np.float64).T
    point = float(attack.mean()) - float(everything[:, draws:].mean(axis=0).max())
    resamples = int(np.clip(_WORK // n, _FEWEST, _RESAMPLES))
    step = max(1, _AT_ONCE // n)
    found = []
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        people = rng.multinomial(n, np.full(n, 1 / n), size=size)
        shares = people @ everything / n
        chosen = rng.multinomial(draws, np.full(draws, 1 / draws), size=size) / draws
        found.append((shares[:, :draws] * chosen).sum(axis=1) - shares[:, draws:].max(axis=1))
    spread = np.concatenate(found)
    low, high = point + np.quantile(spread, [0.025, 0.975]) - spread.mean()
    return float(low), float(high)
