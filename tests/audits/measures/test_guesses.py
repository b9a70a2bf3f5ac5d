"""What a reader would put in place of values that are not shown."""

import numpy as np
import pytest

import tellall as ta
from tellall.audits.measures.guesses import dropped_error, filled_in, from_smaller


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    return ta.Dataset.from_arrays(
        rng.integers(0, [2, 3, 4], (200, 3)), rng.gamma(2, 5, 200), names=["a", "b", "c"]
    )


@pytest.mark.parametrize("kind", [ta.Sums, ta.CellMeans])
@pytest.mark.parametrize("counts", [False, True])
def test_a_number_that_is_not_shown_is_not_known(people, kind, counts):
    """A reader who sees nothing but the mean of all puts that for everybody; numbers of people are public."""
    release = ta.publish(people, kind(3, counts=counts))
    guess = filled_in(release.values, release.values, release, people)
    numbers = ta.publish(people, kind(3)).values.size
    sizes = ta.publish(people, ta.Sums(3, counts=True)).values[numbers:]
    usual = np.mean(people.secret)
    wanted = usual * sizes if kind is ta.Sums else np.full(numbers, usual)
    assert guess[:numbers] == pytest.approx(wanted)
    assert np.array_equal(guess[numbers:], sizes if counts else [])
    assert dropped_error(release, people) == pytest.approx(np.abs(guess - release.values).mean())
    assert dropped_error(release, people) > 0


def test_hidden_cells_of_numbers_are_like_those_that_are_shown(people):
    release = ta.publish(people, ta.Sums(2, [("a",)]))
    shown = np.array([release.values[0], np.nan])
    sizes = np.bincount(people.public.codes[0])
    guess = filled_in(release.values, shown, release, people)
    assert guess[1] == pytest.approx(release.values[0] / sizes[0] * sizes[1])


def test_counts_of_large_tables_follow_roughly_from_small_ones():
    """Where the secret depends on one column alone, the table of that column says it all."""
    a, b = np.repeat([0, 1], 60), np.tile([0, 1, 2], 40)
    secret = (np.arange(120) // 3 % 4 < 1 + a).astype(int)
    told = ta.Dataset.from_arrays(np.stack([a, b], axis=1), secret, names=["a", "b"])
    large, small = ta.publish(told, ta.Marginals(3)), ta.publish(told, ta.Marginals(2, [("a",)]))
    assert from_smaller(large, small, told) == pytest.approx(large.values)
    both = ta.publish(told, ta.Marginals(2))
    assert 0 < dropped_error(large, told, both) < dropped_error(large, told)
    assert from_smaller(large, large, told) == pytest.approx(large.values)


def test_axes_are_those_of_the_larger_table_in_whatever_order_columns_are_listed():
    rng = np.random.default_rng(5)
    told = ta.Dataset.from_arrays(
        rng.integers(0, [2, 3, 4], (300, 3)), rng.integers(0, 3, 300), names=["a", "b", "c"]
    )
    large = ta.publish(told, ta.Marginals(4, [("c", "a", "b")]))
    same = ta.publish(told, ta.Marginals(4, [("b", "c", "a")]))
    assert from_smaller(large, same, told) == pytest.approx(large.values)


def test_tables_of_other_columns_say_nothing():
    rng = np.random.default_rng(6)
    told = ta.Dataset.from_arrays(rng.integers(0, 2, (50, 3)), rng.integers(0, 2, 50), names=["a", "b", "c"])
    large, other = (
        ta.publish(told, ta.Marginals(3, [("a", "b")])),
        ta.publish(told, ta.Marginals(2, [("c",)])),
    )
    assert from_smaller(large, other, told) is None
    assert dropped_error(large, told, other) == dropped_error(large, told)
