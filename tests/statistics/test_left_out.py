"""Columns that say nothing are left out of the public view, and errors about them say so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import tellall as ta

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (40, 3))
ARRAY = np.column_stack([BITS[:, 0], np.ones(40, dtype=int), BITS[:, 1:]])
PEOPLE = ta.Dataset.from_arrays(ARRAY, secret=RNG.integers(0, 2, 40), names=["x", "one", "y", "z"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ta.publish(PEOPLE, ta.Estimator("linear", blocks=[["x", "one"]])),
        lambda: ta.publish(PEOPLE, ta.Estimator("linear", blocks=[[3]])),
        lambda: ta.publish(PEOPLE, ta.Estimator("linear", block=4)),
        lambda: ta.publish(PEOPLE, ta.Marginals(2, [("one",)])),
        lambda: ta.publish(PEOPLE, ta.ErrorRates([lambda row: row["one"] == 1])),
        lambda: ta.publish(PEOPLE, ta.ErrorRates(["one == 1"])),
        lambda: ta.publish(PEOPLE, ta.ErrorRates([DecisionTreeClassifier().fit(ARRAY, PEOPLE.secret)])),
        lambda: ta.release_from_fits(LinearRegression().fit(ARRAY, PEOPLE.secret), PEOPLE),
        lambda: ta.publish(PEOPLE, ta.Predicates("xor", 3, [("x", "one")])),
    ],
)
def test_errors_name_what_was_left_out(make):
    with pytest.raises(ta.InvalidInput) as caught:
        make()
    assert "one: the same for everybody" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
