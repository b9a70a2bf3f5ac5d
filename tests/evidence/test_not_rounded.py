"""Values that the declared rounding cannot give are named, and nothing is settled."""

from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import random_people

import tellall as ta
from tellall.evidence.undo import not_possible, not_possible_in_words

PEOPLE = random_people(60, 3, seed=3)
NUMBERS = ta.Dataset.from_arrays(
    np.asarray(PEOPLE.public.codes).T, secret=np.random.default_rng(3).exponential(40, 60).round(1)
)


def bent(release, by):
    values = release.values.copy()
    values[1] += by
    return replace(release, values=values)


@pytest.mark.parametrize("rounding", [ta.Rounding(10), ta.Rounding(10, "random"), ta.Rounding(6, "midpoint")])
def test_what_rounding_publishes_is_like_it_and_what_is_moved_is_not(rounding):
    release = ta.publish(PEOPLE, ta.Marginals(2), [rounding, ta.Suppression(8)], rng=1)
    assert not not_possible(release.values, release.protections).any()
    shown = np.flatnonzero(~np.isnan(release.values))[:4]
    values = release.values.copy()
    values[shown] += 1
    assert np.flatnonzero(not_possible(values, release.protections)).tolist() == shown.tolist()
    said = not_possible_in_words(values, release.protections, lambda at: {"cell": str(at)})
    assert said.startswith(f"4 of {values.size} values do not come from rounding to {rounding.base:g}: ")
    assert f"{values[shown[0]]:g} where cell = {shown[0]}" in said
    assert said.endswith(" and 1 more")


@pytest.mark.parametrize("after", [(), (ta.Suppression(3),)])
def test_such_a_count_contradicts_and_proves_nobody(after):
    exact = ta.publish(PEOPLE, ta.Marginals(2), [ta.Rounding(5), *after])
    release = bent(exact, 2)
    found = ta.reconstruct(release, PEOPLE.public)
    assert found.status.why == ("contradictory",)
    assert f"1 of {release.values.size} values does not come from rounding to 5: " in found.status.advice
    assert f"{release.values[1]:g} where" in found.status.advice
    assert not found.proved.any()
    assert ta.reconstruct(exact, PEOPLE.public).status.settled


def test_such_a_number_is_not_settled_either():
    exact = ta.publish(NUMBERS, ta.Sums(2), ta.Rounding(100))
    found = ta.reconstruct(bent(exact, 20), NUMBERS.public, bounds=(0, 500))
    assert found.status.why == ("contradictory",)
    assert "does not come from rounding to 100" in found.status.advice


def test_rows_behind_such_tables_are_not_certain_and_every_value_is_named():
    labels = {"sex": ["f", "m"], "ill": ["no", "yes"]}
    found = ta.rows_from_tables(ta.CountTable(labels, [20, 13, 30, 7], ta.Rounding(10)))
    assert found.status.word == "contradictory"
    assert not found.certain
    assert "13 where sex = f, ill = yes; 7 where sex = m, ill = yes" in found.status.advice


def test_a_share_that_its_rounding_cannot_give_is_no_count_of_nobody():
    labels = {"sex": ["f", "m"], "ill": ["no", "yes"]}
    shares = ta.CountTable(labels, [50, 50, 97, 3], ta.Rounding(10), shares_of=["sex"], units=0.01)
    people = ta.CountTable({"sex": ["f", "m"]}, [0, 30])
    assert ta.rows_from_tables([shares, people]).status.word == "contradictory"
