"""count_cells: what comes out, and what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta


def test_tables_of_a_frame_equal_pandas_crosstabs(nhanes):
    cells = ta.count_cells(nhanes, 3)
    frame = pd.DataFrame(dict(zip(nhanes.public.names, nhanes.public.codes, strict=True)))
    frame["secret"] = nhanes.secret
    names = nhanes.public.names
    assert len(cells) == len(list(combinations(names, 2)))
    for one, other in list(combinations(names, 2))[::7]:
        table = cells.table(one, other, nhanes.secret_name)
        for (a, b, s), count in frame.groupby([one, other, "secret"]).size().items():
            assert table[a, b, s] == count
        assert table.sum() == nhanes.n
    assert cells.counts.dtype == np.int64


@given(st.integers(0, 5), st.integers(0, 2**32))
def test_the_secret_summed_out_leaves_the_public_tables(k, seed):
    people = random_people(40, 5, seed, levels=3)
    with_secret = ta.count_cells(people, k + 1).counts.reshape(-1, 2).sum(axis=1)
    assert with_secret.tolist() == ta.count_cells(people, k, secret=False).counts.tolist()


def test_the_axes_of_a_table_come_as_asked():
    cells = ta.count_cells(random_people(50, 3, 1, levels=3), 2, secret=False)
    assert (cells.table("a0", "a2") == cells.table("a2", "a0").T).all()
    with pytest.raises(ta.InvalidInput, match="table that was counted"):
        cells.table("a0", "nobody")


def test_no_columns_are_one_cell_of_everybody():
    people = random_people(10, 2, 0)
    assert ta.count_cells(people, 0, secret=False).counts.tolist() == [10]
    assert ta.count_cells(people, 1).counts.tolist() == [5, 5]
    assert ta.count_cells(people.public, 0).counts.tolist() == [10]


def test_nobody_is_in_the_cells_of_no_people():
    nobody = random_people(10, 2, 0).take(np.zeros(0, dtype=np.intp))
    assert ta.count_cells(nobody, 2).counts.tolist() == [0] * 8


def test_missing_values_are_a_category_of_their_own():
    people = ta.Dataset.from_frame({"sex": ["f", None, "m", None], "ill": [0, 1, 1, 1]}, secret="ill")
    assert ta.count_cells(people, 2).table("sex", "ill").tolist() == [[1, 0], [0, 1], [0, 2]]


def test_a_secret_of_several_values_is_the_last_axis():
    people = ta.Dataset.from_arrays([[0], [1], [1], [0]], secret=[2, 0, 1, 2], kind="categories")
    assert ta.count_cells(people, 2).table("a0", "secret").tolist() == [[0, 0, 2], [1, 1, 0]]


def test_progress_ends_at_everybody():
    seen = []
    ta.count_cells(random_people(30, 2, 0), 2, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ways": 5}, "from 1 to 4"),
        ({"ways": 0}, "from 1 to 4"),
        ({"ways": True}, "whole number"),
        ({}, "whole number"),
        ({"attributes": [("a0", "a0")]}, "different columns"),
        ({"attributes": [("a0", "b")]}, "column of the table"),
        ({"attributes": "a0"}, "list of sets"),
        ({"ways": 2, "attributes": [("a0", "a1")]}, "sets of 1 public"),
    ],
)
def test_tables_that_cannot_be_are_refused_in_one_line(arguments, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        ta.count_cells(random_people(10, 3, 0), **arguments)
    assert "\n" not in str(caught.value)


def test_a_secret_that_is_not_there_or_real_is_refused():
    with pytest.raises(ta.InvalidInput, match="with a secret"):
        ta.count_cells(random_people(10, 3, 0).public, 2, secret=True)
    real = ta.Dataset.from_arrays([[0], [1], [1]], secret=[0.5, 1.5, 2.5])
    assert ta.count_cells(real, 1).counts.tolist() == [1, 2]
    with pytest.raises(ta.InvalidInput, match="Cut it first"):
        ta.count_cells(real, 2, secret=True)
    with pytest.raises(ta.InvalidInput, match="Parquet"):
        ta.count_cells(5, 2)


def test_too_many_cells_are_refused_before_memory_is():
    with pytest.raises(ta.InvalidInput, match="manageable size"):
        ta.count_cells(random_people(10, 40, 0), 20)
