"""How many secrets fit a release, and which values contradict each other, as audits tell it."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import tellall as ta
from tellall.audits.outcome import Outcome
from tellall.audits.trial import Planned, Setting, Trial
from tellall.report.reliability_chart import _fitting

COLUMNS = {"sex": list("ffffmmmm"), "old": list("nnyynnyy")}
PEOPLE = ta.Dataset.from_frame({**COLUMNS, "ill": [0, 1, 0, 0, 1, 1, 0, 1]}, secret="ill")


def outcome(people, *planned, decoder="least-squares"):
    return Trial(Setting(people), planned).run(decoder)


@pytest.mark.parametrize("protect", [(), (ta.Rounding(3),), (ta.Suppression(2),)], ids=str)
def test_the_secrets_that_fit_are_counted(protect):
    found = outcome(PEOPLE, Planned("x", ta.Marginals(2), protect))
    release = ta.publish(PEOPLE, ta.Marginals(2), list(protect))
    same = 0
    for bits in product([0, 1], repeat=PEOPLE.n):
        if len(set(bits)) == 1:
            continue  # these tables have people with and without
        other = ta.Dataset.from_frame({**COLUMNS, "ill": list(bits)}, secret="ill")
        made = ta.publish(other, ta.Marginals(2), list(protect)).values
        same += np.array_equal(made, release.values, equal_nan=True)
    assert found.possible == same
    assert found.clash == ()


def test_many_secrets_are_not_counted():
    people = ta.datasets.load("nhanes").take(np.arange(400))
    assert outcome(people, Planned("x", ta.Marginals(2), (ta.Rounding(5),))).possible is None


def test_a_real_secret_has_neither():
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_frame(
        {"a": rng.integers(0, 2, 20), "b": rng.integers(0, 3, 20), "pay": rng.normal(size=20)}, secret="pay"
    )
    found = outcome(people, Planned("x", ta.Sums(2)))
    assert (found.possible, found.clash) == (None, ())


def test_values_that_contradict_each_other_are_named():
    right = ta.publish(PEOPLE, ta.Marginals(2))
    values = right.values.copy()
    values[1] += 1  # one woman more who has it, while as many have it not
    found = outcome(PEOPLE, Planned.published("tables", replace(right, values=values)))
    assert found.status.word == "contradictory"
    assert found.possible == 0
    assert 2 <= len(found.clash) <= 3
    assert any("sex = f" in cell and cell.startswith("tables: ") for cell in found.clash)
    again = Outcome.from_plain(json.loads(json.dumps(found.to_plain())))
    assert (again.possible, again.clash) == (0, found.clash)
    (said,) = _fitting("tables", found)
    assert "cannot all be true" in said
    assert found.clash[0] in said


@pytest.mark.parametrize(
    ("number", "says"), [(None, ""), (1, "only one combination fits"), (3, "3 combinations fit")]
)
def test_the_page_tells_few_secrets(number, says):
    found = replace(outcome(PEOPLE, Planned("x", ta.Marginals(2), ())), possible=number)
    said = list(_fitting("x", found))
    assert len(said) == bool(says)
    assert not says or says in said[0]
