"""Tables that do not add up are used and reported."""

import numpy as np
import pytest

import tellall as ta
from tests.conftest import random_people


def test_totals_that_differ_from_the_people_are_reported():
    people = random_people(80, 5, seed=1)
    exact = ta.linearise(ta.publish(people, ta.Marginals(3)), people.public)
    assert exact.notes == ()
    noisy = ta.publish(people, ta.Marginals(3), ta.Gaussian(3.0), rng=0)
    wrong = ta.linearise(ta.Release.from_values(ta.Marginals(3), noisy.values, public=people), people.public)
    assert "10 tables do not add up to the 80 people: a0 × a1 adds up to " in wrong.notes[0]
    assert wrong.notes[0].endswith(" and 7 more; used unchanged")
    assert wrong.notes[0] in str(wrong.account())
    shares = ta.publish(people, ta.Marginals(3, scale="fractions"))
    assert ta.linearise(shares, people.public).notes == ()


def test_one_wrong_table_is_counted_and_hidden_cells_are_not():
    people = random_people(80, 5, seed=2)
    values = ta.publish(people, ta.Marginals(2)).values.copy()
    values[0] += 7
    values[4] = np.nan  # the second table has no total
    release = ta.Release.from_values(ta.Marginals(2), values, public=people)
    note = ta.linearise(release, people.public).notes[0]
    assert note == "1 of 5 tables does not add up to the 80 people: a0 adds up to 87; used unchanged"
    single = people.public.only("a0")
    alone = ta.Release.from_values(ta.Marginals(2), values[:4], public=single)
    assert ta.linearise(alone, single).notes[0].startswith("1 of 1 table does not")


@pytest.mark.parametrize(
    "noise", [ta.Rounding(5), ta.Rounding(5, "random"), ta.Gaussian(3.0), ta.Laplace(2.0)]
)
def test_what_the_declared_errors_explain_is_not_odd(noise):
    """One false alarm of a normal sum of 10 tables in 50 million, and the seeds are fixed."""
    people = random_people(80, 5, seed=1)
    release = ta.publish(people, ta.Marginals(3), noise, rng=0)
    assert ta.linearise(release, people.public).notes == ()
    values = release.values.copy()
    values[:8] += 15
    wrong = ta.Release.from_values(ta.Marginals(3), values, public=people, noise=noise)
    assert ta.linearise(wrong, people.public).notes[0].startswith("1 of 10 tables does not")


def test_categories_and_other_statistics():
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 3, (60, 4)), np.arange(60) % 3)
    assert ta.linearise(ta.publish(people, ta.Marginals(3)), people.public).notes == ()
    rounded = ta.linearise(ta.publish(people, ta.Marginals(3), ta.Rounding(5)), people.public)
    assert rounded.notes == ()
    bits = random_people(30, 6, seed=4)
    counts = ta.publish(bits, ta.Predicates("xor", ways=3), ta.Gaussian(2.0), rng=0)
    assert ta.linearise(counts, bits.public).notes == ()
