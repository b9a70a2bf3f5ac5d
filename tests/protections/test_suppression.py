from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.protections.suppression import Suppression, hide_single_gaps
from tellall.statistics.statistic import CellLayout


def _context(tables):
    """Tables of people who are in every cell."""
    cells = sum(int(np.prod(shape[:-1])) for shape in tables.shapes)
    people = SimpleNamespace(tabulate=lambda sets, secret: np.ones(cells))
    return SimpleNamespace(tables=tables, statistic=ta.Marginals(2), people=people)


def _lines_with_one_gap(table):
    gone = np.isnan(table)
    return sum(int((gone.sum(axis=axis) == 1).sum()) for axis in range(table.ndim))


@given(st.integers(0, 2**32), st.sampled_from([(2, 2), (3, 2), (2, 3, 2), (4, 3, 2), (2,)]))
def test_no_line_of_a_table_is_left_with_one_gap(seed, shape):
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    values = rng.poisson(6, 3 * size).astype(float)
    tables = CellLayout(tuple(tuple(range(len(shape) - 1)) for _ in range(3)), (shape,) * 3)
    plain = Suppression(5).perturb(values)
    shown = Suppression(5, complementary=True).perturb(values, None, _context(tables))
    assert np.isnan(shown[np.isnan(plain)]).all()  # what is small stays hidden
    kept = ~np.isnan(shown)
    assert shown[kept].tolist() == values[kept].tolist()
    for table in shown.reshape(3, *shape):
        assert _lines_with_one_gap(table) == 0
    if not np.isnan(plain).any():
        assert kept.all()


def test_totals_give_primary_cells_away_without_and_not_with_complementary_suppression():
    values = np.array([3.0, 20.0, 30.0, 40.0, 50.0, 60.0])  # one small cell in three yes/no pairs
    tables = CellLayout(((0,),), ((3, 2),))
    single = Suppression(5).perturb(values)
    assert int(np.isnan(single).sum()) == 1
    both = Suppression(5, complementary=True).perturb(values, None, _context(tables)).reshape(3, 2)
    assert np.isnan(both[0]).all()  # its partner, since the attacker knows how many people are in the pair
    assert int(np.isnan(both[:, 0]).sum()) == 2  # and another pair, since totals of the secret are known
    assert int(np.isnan(both).sum()) == 4


def test_complementary_suppression_is_published_by_table():
    people = random_people(400, 4, seed=3, levels=3)
    shown = ta.publish(people, ta.Marginals(3), Suppression(16, complementary=True)).values
    for table in shown.reshape(-1, 3, 3, 2):
        assert _lines_with_one_gap(table) == 0
    plain = ta.publish(people, ta.Marginals(3), Suppression(16)).values
    assert np.isnan(plain).sum() < np.isnan(shown).sum() < shown.size


@pytest.mark.parametrize("below", [-1, float("nan"), float("inf"), True, "5"])
def test_bad_limits_are_refused(below):
    with pytest.raises(ta.InvalidInput, match="below must be"):
        Suppression(below)


def test_complementary_is_yes_or_no():
    with pytest.raises(ta.InvalidInput, match="complementary must be"):
        Suppression(5, complementary="no")


def test_a_cell_without_people_covers_nobody():
    """Everybody knows that it is zero, so that the total would give the withheld cell away."""
    where = ["x"] * 2 + ["z"] * 8 + ["x"] * 6 + ["y"] * 6 + ["z"] * 6
    people = ta.Dataset.from_frame(
        {"g": ["a"] * 10 + ["b"] * 18, "h": where, "s": [1, 1, *[0, 1] * 13]}, secret="s"
    )
    release = ta.publish(people, ta.Marginals([2, 3]), Suppression(3, complementary=True))
    table = release.values[-12:].reshape(2, 3, 2)
    assert np.isnan(table[0]).all()  # x is small, y has nobody, z covers x
    assert np.isnan(table[1, [0, 2]]).all()
    assert table[1, 1].tolist() == [3, 3]
    assert not (ta.reconstruct(release, people.public).identified[:2] == "proved").any()


def test_a_cell_that_is_alone_in_a_line_covers_others_last():
    """It equals the total of its line."""
    people = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=bool)
    table = np.array([[np.nan, 20, 30], [5, 0, 0], [9, 9, 9.0]])[None]
    hide_single_gaps(table, people[None])
    assert np.isnan(table[0]).tolist() == [[True, True, False], [False] * 3, [True, True, False]]
    only = np.array([[np.nan, 0.0], [7.0, 8.0]])[None]
    hide_single_gaps(only, np.array([[True, False], [True, True]])[None])
    assert np.isnan(only[0]).tolist() == [[True, False], [True, True]]  # there is no other choice


def test_in_tables_of_public_columns_an_empty_cell_is_a_cell_like_others():
    people = ta.Dataset.from_arrays([[0, 0]] * 2 + [[0, 1]] * 9 + [[1, 1]] * 9 + [[2, 0]] * 9 + [[2, 1]] * 9)
    shown = ta.publish(people, ta.Tables(2), Suppression(3, complementary=True)).values.reshape(3, 2)
    assert np.isnan(shown).tolist() == [[True, True], [True, True], [False, False]]


@pytest.mark.parametrize("scale", ["counts", "fractions"])
def test_covering_works_for_tables_of_everybody_and_of_categories(scale):
    people = ta.Dataset.from_arrays(np.arange(40)[:, None] % 3, np.repeat([0, 1, 2], [1, 9, 30]))
    below = 5 / (40 if scale == "fractions" else 1)
    shown = ta.publish(
        people, ta.Marginals([1, 2], scale=scale), Suppression(below, complementary=True)
    ).values
    assert np.isnan(shown[:3]).sum() == 2


@given(st.integers(0, 2**32), st.booleans())
def test_zeros_that_others_show_contradict_nothing(seed, rounded):
    """Many publishers hide 1 to 4 and show zeros, or list only cells with people."""
    true = np.random.default_rng(seed).poisson(3, (3, 4)).astype(float)
    protect = [ta.Rounding(5), ta.Suppression(10)] if rounded else [ta.Suppression(5)]
    counts = ta.Rounding(5).perturb(true) if rounded else true
    shown = np.where((counts > 0) & (counts < protect[-1].below), np.nan, counts)
    table = ta.CountTable({"a": list("xyz"), "b": list("stuv")}, shown, protect)
    found = ta.rows_from_tables([table])
    assert not found.contradiction
    assert (found.lower <= true.ravel()).all()
    assert (true.ravel() <= found.upper).all()
    if not rounded:
        assert (found.upper[true.ravel() == 0] == 0).all()


def test_other_shown_values_below_the_limit_contradict_it():
    low, high = ta.Suppression(5).before(
        np.array([[3.0, 0.0, 7.0, -4.0]]), np.array([[3.0, 0.0, 7.0, 9.0]]), 1.0
    )
    assert low.tolist() == [[np.inf, 0.0, 7.0, 5.0]]  # shown after rounding, the last may have been 5 to 9
    assert high.tolist() == [[-np.inf, 0.0, 7.0, 9.0]]  # from infinity to minus infinity there is nothing
