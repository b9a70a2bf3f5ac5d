"""Runners: how a function, an object with `fit` or an estimator is run many times on tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from tellall.attacks.neighbours import Tables
from tellall.attacks.scores import Floats
from tellall.errors import invalid

__all__ = ["Runner", "as_runner"]

Runner = Callable[[Tables, int, np.random.Generator], Floats]


def as_runner(mechanism: Any) -> Runner:
    """What runs the mechanism on tables so many times, and gives a row for each output."""
    if hasattr(mechanism, "sampler"):
        return lambda tables, size, rng: _as_table(mechanism.sampler(*tables)(size, rng), size)
    if hasattr(mechanism, "fit"):
        if "rng" in inspect.signature(mechanism.fit).parameters:
            return _repeat(lambda tables, rng: mechanism.fit(*tables, rng=rng))
        return _repeat(lambda tables, rng: _fitted(mechanism, tables, rng))
    if not callable(mechanism):
        raise invalid(
            "mechanism", "a function of the data, or an object with `fit`", type(mechanism).__name__
        )
    try:
        known = set(inspect.signature(mechanism).parameters)
    except (TypeError, ValueError):
        known = set()
    if "size" in known and "rng" in known:
        return lambda tables, size, rng: _as_table(mechanism(*tables, size=size, rng=rng), size)
    if "rng" in known:
        return _repeat(lambda tables, rng: mechanism(*tables, rng=rng))
    return _repeat(lambda tables, rng: mechanism(*tables))


def _repeat(once: Callable[[Tables, np.random.Generator], Any]) -> Runner:
    def run(tables: Tables, size: int, rng: np.random.Generator) -> Floats:
        return _as_table(
            [np.ravel(np.asarray(once(tables, rng), dtype=np.float64)) for _ in range(size)], size
        )

    return run


def _fitted(estimator: Any, tables: Tables, rng: np.random.Generator) -> Floats:
    copy = deepcopy(estimator)
    if hasattr(copy, "get_params") and "random_state" in copy.get_params():
        copy.set_params(random_state=int(rng.integers(2**31)))
    copy = copy.fit(*tables) or copy
    parts = [np.ravel(getattr(copy, name)) for name in ("coef_", "intercept_") if hasattr(copy, name)]
    if not parts:
        raise TypeError(
            f"{type(estimator).__name__} has no coef_ after fit; pass a function that returns its release"
        )
    return np.concatenate(parts).astype(np.float64)


def _as_table(outputs: Any, size: int) -> Floats:
    try:
        table = np.asarray(outputs, dtype=np.float64).reshape(size, -1)
    except ValueError:
        raise invalid("mechanism", "such that every output has the same length", "ragged outputs") from None
    return table
