from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.release.protections.suppression import Suppression
from tellall.release.statistics.base import CellLayout


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
    shown = Suppression(5, complementary=True).perturb(values, None, SimpleNamespace(tables=tables))
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
    both = (
        Suppression(5, complementary=True).perturb(values, None, SimpleNamespace(tables=tables)).reshape(3, 2)
    )
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
