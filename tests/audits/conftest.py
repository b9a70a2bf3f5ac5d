"""A small audit, run once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tellall as ta

PLAN: dict[str, Any] = {
    "limit": 0.05,
    "repeats": 2,
    "releases": [
        {"name": "counts", "statistic": {"kind": "Marginals", "ways": 4}},
        {
            "name": "noisy",
            "statistic": {"kind": "Marginals", "ways": 2},
            "protect": [{"kind": "Gaussian", "std": 3.0}, {"kind": "Rounding", "base": 5}],
        },
    ],
}


def small_people(n: int = 60, d: int = 6, seed: int = 0) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    return ta.Dataset.from_arrays(rng.integers(0, 2, (n, d)), rng.permutation(np.arange(n) % 2))


@pytest.fixture(scope="session")
def people() -> ta.Dataset:
    return small_people()


@pytest.fixture(scope="session")
def done(people: ta.Dataset) -> ta.Audit:
    return ta.audit(people, PLAN)
