"""Golden numbers, people to test on, hypothesis without deadlines, and no test that luck decides."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import tellall as ta

settings.register_profile("tellall", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("tellall")

GOLDEN = Path(__file__).resolve().parent / "golden"
# The larger data files of some papers lie beside a checkout, if at all; every test of them has a twin.
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _no_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generators without a seed draw the same numbers in every run of a test, and no two of them alike."""
    make, seeds = np.random.default_rng, itertools.count(2**62)
    monkeypatch.setattr(
        np.random, "default_rng", lambda seed=None: make(next(seeds) if seed is None else seed)
    )


@pytest.fixture(scope="session")
def golden() -> dict[str, list[dict[str, Any]]]:
    """Golden numbers by group."""
    groups = json.loads((GOLDEN / "methods.json").read_text())["groups"]
    return {group["name"]: group["cases"] for group in groups}


@pytest.fixture(scope="session")
def fair() -> ta.Dataset:
    return ta.datasets.load("fair")


@pytest.fixture(scope="session")
def nhanes() -> ta.Dataset:
    return ta.datasets.load("nhanes")


def first_fast(values: Iterable[Any], fast: int = 1) -> list[Any]:
    """Values of a parameter of which all but the first are tried by `make test-slow` only."""
    return [
        value
        if index < fast
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
        for index, value in enumerate(values)
    ]


def random_people(n: int, d: int, seed: int, levels: int = 2) -> ta.Dataset:
    """Uniform people: independent columns, balanced secret."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, levels, (n, d))
    secret = rng.permutation(np.arange(n) % 2)
    return ta.Dataset.from_arrays(public, secret)


def rows_of(public: Any) -> list[tuple[float, ...]]:
    """The rows of codes and numbers in one order, whatever order the people come in."""
    parts = [np.asarray(public.codes, dtype=float)]
    parts += [np.nan_to_num(values, nan=-1e300)[None] for values in public.numbers if values is not None]
    return sorted(map(tuple, np.vstack(parts).T.tolist()))
