"""How many secrets fit: numbers that are known by other means, however many digits they have."""

from math import comb, exp, factorial, log, prod

import numpy as np
import pytest

import tellall as ta
from tellall.attack.prove.counting import Count


def by_place(n, values, seed=0):
    """The counts of the secret's values in three places, and the people."""
    rng = np.random.default_rng(seed)
    place, secret = rng.integers(0, 3, n), rng.integers(0, values, n)
    held = np.array([np.bincount(secret[place == each], minlength=values) for each in range(3)])
    return held, ta.Dataset.from_arrays(place[:, None], secret=secret)


@pytest.mark.parametrize("values", [2, 3, 8])
@pytest.mark.parametrize("n", [300, 1030, 2000, 5000, 10_000])
def test_exact_tables_leave_all_ways_to_give_people_their_values(n, values):
    held, people = by_place(n, values)
    found = ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public).possible
    ways = prod(factorial(int(row.sum())) // prod(factorial(int(x)) for x in row) for row in held)
    assert found.exact
    assert found.least == ways
    assert str(found).startswith("one of 10^")
    assert repr(found) == f"Count: {found}"


@pytest.mark.parametrize("protection", [ta.Rounding(5), ta.Suppression(10)])
@pytest.mark.parametrize("n", [1030, 10_000])
def test_bounds_hold_the_number_of_secrets_with_the_true_counts(n, protection):
    held, people = by_place(n, 2)
    found = ta.reconstruct(ta.publish(people, ta.Marginals(2), protection), people.public).possible
    assert found.most >= prod(comb(int(row.sum()), int(row[1])) for row in held)
    assert found.least <= found.most
    assert "possible" in str(found)


def test_estimates_are_of_the_right_size_where_a_float_holds_none():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, [4, 3, 2], (5000, 3))
    people = ta.Dataset.from_arrays(codes, secret=rng.integers(0, 2, 5000))
    found = ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public).possible
    assert isinstance(found.estimate, int)
    assert found.least <= found.estimate <= found.most


@pytest.mark.parametrize("digits", [3, 300, 400, 5000])
def test_counts_are_written_whatever_their_size(digits):
    assert str(Count(0, 10**digits)).endswith(f"{'1,000' if digits == 3 else f'10^{digits}'} possible")
    assert repr(Count(0, 10**digits, 10 ** (digits - 1))).startswith("Count: one of about ")


@pytest.mark.parametrize("size", [1.0, 690.0, 710.0, 11_513.0])
def test_numbers_beyond_floats_have_the_logarithm_asked_for(size):
    from tellall.attack.prove.counting import _exp

    assert log(_exp(size)) == pytest.approx(size, rel=1e-12)
    assert _exp(1.0) == exp(1.0)
