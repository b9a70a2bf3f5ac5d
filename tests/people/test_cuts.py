"""Cut points are round, near the quantiles, and nobody's value."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.people.cuts import choose_cuts

CENTS = st.lists(st.integers(0, 2 * 10**7).map(lambda cents: cents / 100), min_size=101, max_size=101)
WHOLE = st.lists(st.integers(-(10**6), 10**6).map(float), min_size=25, max_size=120)
COARSE = st.lists(st.integers(0, 400).map(lambda tenths: tenths / 10), min_size=25, max_size=200)
ANY = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=25, max_size=60)


def cuts_of(values, pieces=10):
    return choose_cuts(*np.unique(np.array(values), return_counts=True), pieces)


@given(st.one_of(CENTS, WHOLE, COARSE, ANY), st.integers(2, 12))
def test_no_cut_is_anybodys_value_and_somebody_is_on_both_sides(values, pieces):
    distinct = np.unique(values)
    if distinct.size <= pieces:
        return
    cuts = cuts_of(values, pieces)
    assert not np.isin(cuts, distinct).any()
    assert cuts.size < pieces
    edges = np.searchsorted(distinct, cuts)
    assert (np.diff(np.r_[0, edges, distinct.size]) > 0).all()
    assert ((cuts > distinct[0]) & (cuts < distinct[-1])).all()


@given(WHOLE)
def test_whole_numbers_are_cut_between_two_of_them(values):
    if len(set(values)) > 10:
        cuts = cuts_of(values)
        assert cuts.size
        assert (cuts % 1 == 0.5).all()


def test_incomes_to_the_cent_are_cut_at_round_numbers():
    """With quantiles, nine of nine published cuts were somebody's exact income."""
    income = np.random.default_rng(0).lognormal(10.3, 0.5, 101).round(2)
    people = ta.Dataset.from_frame({"income": income, "ill": np.arange(101) % 2}, secret="ill")
    (column,) = people.public.columns
    assert len(column.cuts) == 9
    assert not set(column.cuts) & set(income.tolist())
    assert all(cut % 500 == 0 for cut in column.cuts)
    sizes = np.bincount(people.public.codes[0])
    assert sizes.min() >= 9
    assert sizes.max() <= 12


def test_a_cut_moves_where_somebody_has_the_round_number():
    values = np.array([10.25, 20.25, 25.0, 40.25, 50.25])
    assert cuts_of(values[[0, 1, 3, 4]], 2).tolist() == [25.0]
    assert cuts_of(values, 2).size == 1
    assert 25.0 not in cuts_of(values, 2)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0.0] * 97 + [5.25, 7.5, 8.25], [5.0]),  # most people share one value
        ([5.25, 7.5, 8.25] + [9.0] * 97, [8.5]),
        ([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)], []),  # no room between doubles
        ([-1e308, 0.0, 1e308], [5e307]),
        ([0.0, 5e-324, 1e-323], []),
    ],
)
def test_edges(values, wanted):
    assert cuts_of(values, 2).tolist() == wanted


def test_a_column_with_no_room_for_a_cut_is_left_out():
    close = 1 + np.arange(30) * np.spacing(1.0)
    people = ta.Dataset.from_frame(
        {"close": close, "x": np.arange(30) % 2, "ill": np.arange(30) % 3 % 2}, "ill"
    )
    assert people.public.names == ("x",)


def test_labels_tell_the_cuts_exactly():
    people = ta.Dataset.from_frame({"x": np.arange(30.0) + 1e7, "ill": np.arange(30) % 2}, "ill", bins=3)
    (column,) = people.public.columns
    assert column.labels[0] == f"≤ {column.cuts[0]:.12g}"
    assert float(column.labels[0][2:]) == column.cuts[0]


def test_a_column_without_room_for_a_cut_is_left_out_alike_in_memory_and_in_a_store(tmp_path):
    close = 1 + np.arange(30) * np.spacing(1.0)
    table = pd.DataFrame({"close": close, "x": np.arange(30) % 2, "ill": np.arange(30) % 3 % 2})
    table.to_parquet(tmp_path / "p.parquet")
    for bins in (None, 3):
        memory = ta.Dataset.from_frame(table, "ill", bins=bins).public
        store = ta.scan(tmp_path / "p.parquet", "ill", bins=bins).public
        assert memory.left_out == store.left_out
        assert [str(one) for one in memory.left_out] == ["close: too close together to be cut"]
        assert memory.columns == store.columns


def test_a_cut_is_made_where_there_is_room():
    close = np.r_[0.0, 1 + np.arange(30) * np.spacing(1.0)]
    assert cuts_of(close).tolist() == [0.5]
