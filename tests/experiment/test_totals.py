"""Tables that do not add up are used and reported."""

import numpy as np

import tellall as ta
from tests.conftest import random_people


def test_totals_that_differ_from_the_people_are_reported():
    people = random_people(80, 5, seed=1)
    exact = ta.linearise(ta.publish(people, ta.Marginals(3)), people.public)
    assert exact.notes == ()
    noisy = ta.linearise(ta.publish(people, ta.Marginals(3), ta.Gaussian(3.0), rng=0), people.public)
    assert "10 tables do not add up to the 80 people" in noisy.notes[0]
    assert noisy.notes[0] in str(noisy.account())
    shares = ta.publish(people, ta.Marginals(3, scale="fractions"))
    assert ta.linearise(shares, people.public).notes == ()


def test_one_wrong_table_is_counted_and_hidden_cells_are_not():
    people = random_people(80, 5, seed=2)
    values = ta.publish(people, ta.Marginals(2)).values.copy()
    values[0] += 7
    values[4] = np.nan  # the second table has no total
    release = ta.Release.from_values(ta.Marginals(2), values, public=people, noise=ta.Rounding(20))
    note = ta.linearise(release, people.public).notes[0]
    assert note.startswith("1 of 5 tables")
    assert "(their totals are from 87 to 87)" in note


def test_categories_and_other_statistics():
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_arrays(rng.integers(0, 3, (60, 4)), np.arange(60) % 3)
    assert ta.linearise(ta.publish(people, ta.Marginals(3)), people.public).notes == ()
    rounded = ta.linearise(ta.publish(people, ta.Marginals(3), ta.Rounding(5)), people.public)
    assert "they are used unchanged" in rounded.notes[0]
    bits = random_people(30, 6, seed=4)
    counts = ta.publish(bits, ta.Predicates("xor", ways=3), ta.Gaussian(2.0), rng=0)
    assert ta.linearise(counts, bits.public).notes == ()
