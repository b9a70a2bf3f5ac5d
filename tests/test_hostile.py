"""Arguments of the wrong kind are refused in one sentence, whatever they are."""

from contextlib import nullcontext

import numpy as np
import pytest

import tellall as ta

WEIRD = [
    "x",
    [],
    [[1, 2], [3]],
    np.nan,
    np.inf,
    10**30,
    object(),
    {"a": 1},
    np.zeros((0, 3)),
    np.full((4, 2), np.nan),
    np.array([["a", "b"]]),
    np.ones((2, 2, 2)),
    np.array([1 + 2j]),
]
RNG = np.random.default_rng(0)
FEATURES, RESPONSE = RNG.normal(size=(30, 3)), RNG.normal(size=30)
SIGNS = RNG.integers(0, 2, (12, 5)) * 2 - 1
PEOPLE = ta.Dataset.from_arrays(RNG.integers(0, 2, (12, 4)), np.arange(12) % 2)
RELEASE = ta.publish(PEOPLE, ta.Marginals(2))
CALLS = {
    "load": lambda weird: ta.Release.load(weird),
    "save": lambda weird: RELEASE.save([] if isinstance(weird, str) else weird),
    "suppression": lambda weird: ta.publish(PEOPLE, ta.Marginals(2), ta.Suppression(weird)),
    "means": lambda weird: ta.trace(weird, SIGNS, SIGNS, delta=0.1),
    "targets": lambda weird: ta.trace(SIGNS.mean(axis=0), weird, SIGNS, delta=0.1),
    "alpha": lambda weird: ta.trace(SIGNS.mean(axis=0), SIGNS, SIGNS, delta=0.1, alpha=weird),
    "rows": lambda weird: ta.SketchedLeastSquares(weird).fit(FEATURES, RESPONSE, rng=0),
    "std": lambda weird: ta.GaussianLeastSquares(std=weird).fit(FEATURES, RESPONSE, rng=0),
    "epsilon": lambda weird: ta.GaussianLeastSquares(epsilon=weird, delta=1e-6),
    "delta": lambda weird: ta.GaussianLeastSquares(epsilon=1.0, delta=weird),
    "projected rows": lambda weird: ta.ProjectedLeastSquares(weird, 1.0, 1e-6, 3.0).fit(FEATURES, RESPONSE),
    "row_bound": lambda weird: ta.ProjectedLeastSquares(20, 1.0, 1e-6, weird),
}
FINE = {("suppression", 10**30), ("alpha", 10**30), ("std", np.inf), ("std", 10**30), ("epsilon", 10**30)}
FINE |= {("row_bound", np.inf), ("row_bound", 10**30)}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("weird", WEIRD, ids=lambda weird: f"{type(weird).__name__} {str(weird)[:12]}")
def test_every_argument_is_taken_or_refused_in_one_sentence(call, weird):
    fine = not isinstance(weird, np.ndarray | list | dict | str) and (call, weird) in FINE
    with nullcontext() if fine else pytest.raises(ta.InvalidInput) as told:
        CALLS[call](weird)
    if not fine:
        assert "\n" not in str(told.value)
        assert len(str(told.value)) < 400
