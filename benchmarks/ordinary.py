"""People as in an ordinary file: 8 skewed, correlated columns of 2 to 16 values, 18,000 distinct rows."""

from __future__ import annotations

import numpy as np

import tellall as ta

COLUMNS = ((10, 0.2), (8, 2.2), (16, 1.2), (7, 1.3), (14, 0.6), (6, 1.0), (5, 2.8), (2, 1.0))  # values, skew
KINDS = 10  # of people, each with habits of its own
OWN = 0.9  # how far a kind's habits decide


def ordinary(n: int = 32_561, seed: int = 0) -> ta.Dataset:
    """n people; a quarter of them, depending on all columns, have the secret."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(KINDS, size=n)
    frame: dict[str, np.ndarray] = {}
    score = np.zeros(n)
    for column, (levels, skew) in enumerate(COLUMNS):
        common = 1 / np.arange(1, levels + 1) ** skew
        common /= common.sum()
        law = np.cumsum((1 - OWN) * common + OWN * rng.dirichlet(3 * common, size=KINDS), axis=1)
        codes = (law[kind] < rng.random(n)[:, None]).sum(axis=1).clip(max=levels - 1)
        frame[f"column {column}"] = np.array([f"{value:02d}" for value in range(levels)])[codes]
        score += rng.normal(0, 0.6, levels)[codes]
    chance = 1 / (1 + np.exp(-(score - score.mean() - 1.5)))
    frame["secret"] = np.where(rng.random(n) < chance, "yes", "no")
    return ta.Dataset.from_frame(frame, secret="secret")
