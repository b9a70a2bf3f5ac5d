"""Counts equal those of a loop over people, whichever kernel counts."""

import sys
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall.people.counting import tally as tally_room
from tellall.people.counting.spark import cover, fold
from tellall.people.counting.tally import (
    KERNELS,
    CellTally,
    _count_ones_by_shifts,
    add_counts,
    choose,
    count_ones,
    pack,
    runs_of,
)


@pytest.fixture(scope="module", params=KERNELS)
def kernel(request):
    if request.param == "numba":
        pytest.importorskip("numba", reason="the fast extra is not installed")
    return request.param


def one_by_one(codes, levels, sets):
    """The cells, person by person."""
    tables = []
    for places in sets:
        table = np.zeros([levels[place] for place in places], dtype=np.int64)
        for person in range(codes.shape[1]):
            table[tuple(codes[place, person] for place in places)] += 1
        tables.append(table.ravel())
    return np.concatenate(tables)


@st.composite
def counting(draw):
    """Coded people and tables of mixed sizes over them, columns in any order."""
    levels = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    n = draw(st.sampled_from([0, 1, 2, 63, 64, 65, 130]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.array([rng.integers(0, level, n) for level in levels], dtype=np.uint8).reshape(len(levels), n)
    one_set = st.permutations(range(len(levels))).flatmap(
        lambda order: st.integers(0, len(order)).map(lambda k: tuple(order[:k]))
    )
    return codes, levels, draw(st.lists(one_set, min_size=1, max_size=6))


@given(counting())
def test_counts_equal_a_loop_over_people(kernel, case):
    codes, levels, sets = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_room, "_BY_CODES", (0.0, 1e12))  # never
        tally = CellTally(levels, sets, kernel=kernel)
    tally.add(codes)
    assert not tally._by_codes
    assert tally.counts().tolist() == one_by_one(codes, levels, sets).tolist()


@given(counting(), st.booleans())
def test_tables_too_large_for_planes_are_counted_all_the_same(case, some):
    codes, levels, sets = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_room, "_BY_SHAPE", 0.0)
        patch.setattr(tally_room, "_BY_CODES", (0.0, 2000.0 if some else 0.0))  # as two AND-counts, as none
        tally = CellTally(levels, sets)
        tally.add(codes)
    assert tally.counts().tolist() == one_by_one(codes, levels, sets).tolist()


@given(counting(), st.integers(1, 64))
def test_it_does_not_matter_in_which_blocks_people_come(case, size):
    codes, levels, sets = case
    whole, parts = CellTally(levels, sets), CellTally(levels, sets)
    whole.add(codes)
    for begin in range(0, codes.shape[1], size):
        parts.add(codes[:, begin : begin + size])
    assert parts.counts().tolist() == whole.counts().tolist()


@given(counting())
def test_every_table_counts_everybody_once(case):
    codes, levels, sets = case
    tally = CellTally(levels, sets)
    tally.add(codes)
    ends = np.cumsum([prod(levels[place] for place in places) for places in sets])
    assert [part.sum() for part in np.split(tally.counts(), ends[:-1])] == [codes.shape[1]] * len(sets)
    assert (tally.counts() >= 0).all()


def test_many_planes_go_through_blocks_of_words(kernel):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (9, 70_001), dtype=np.uint8)
    sets = list(combinations(range(9), 3))
    tally = CellTally([2] * 9, sets, 70_001, kernel)
    assert not tally._by_codes
    tally.add(codes)
    flat = [np.bincount(codes[a] * 4 + codes[b] * 2 + codes[c], minlength=8) for a, b, c in sets]
    assert tally.counts().tolist() == np.concatenate(flat).tolist()


def test_counts_have_room_for_more_people_than_32_bits():
    tally = CellTally([2], [(0,)], 1e9)
    tally.add([np.ones(3, np.uint8)])
    tally._found[1] += 2**40
    tally.add_nameless(2**40)
    assert tally.counts().tolist() == [0, 2**40 + 3]


def test_counts_stay_exact_beyond_what_a_float32_holds(kernel):
    # 2**24 + 64 people with all bits
    words = np.full((2, 2**18 + 1), np.uint64(2**64 - 1))
    counts = np.zeros(1, np.int64)
    add_counts(kernel, words, runs_of(np.array([[0, 1]])), counts)
    assert counts.tolist() == [2**24 + 64]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_runs_list_every_set_once_in_order(chosen):
    sets = np.array(sorted(chosen), dtype=np.int64).reshape(-1, 3)
    runs = runs_of(sets)
    listed = [
        (*head, last)
        for head, start, stop in zip(
            runs.heads.tolist(), runs.starts.tolist(), runs.stops.tolist(), strict=True
        )
        for last in range(start, stop)
    ]
    assert listed == sorted(chosen)
    assert runs.size == len(chosen)


def test_planes_hold_each_person_in_one_bit():
    codes = [np.array([0, 2, 1, 2]), np.array([1, 0, 0, 1])]
    planes = [(0, 1), (0, 2), (1, 1)]
    assert pack(codes, [3, 2], planes).ravel().tolist() == [0b0100, 0b1010, 0b1001]
    assert pack(codes, [3, 2], planes[2:]).ravel().tolist() == [0b1001]


def test_small_work_never_waits_for_numba():
    assert choose(1e3) == "numpy"


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_ones_are_counted_alike_with_and_without_numpys_own(words):
    expected = [word.bit_count() for word in words]
    array = np.array(words, dtype=np.uint64)
    assert count_ones(array).tolist() == _count_ones_by_shifts(array).tolist() == expected


def test_without_numba_or_with_a_broken_one_numpy_counts(monkeypatch):
    monkeypatch.delitem(sys.modules, "tellall.people.counting.compiled", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    assert choose(1e12) == "numpy"


def test_large_work_is_compiled_where_numba_is():
    pytest.importorskip("numba", reason="the fast extra is not installed")
    assert choose(1e12) == "numba"


@given(counting(), st.integers(1, 200))
def test_a_cover_holds_every_set_and_folds_to_its_table(case, most):
    codes, levels, sets = case
    covered = cover(levels, sets, most)
    assert sorted(number for _, inside in covered for number in inside) == list(range(len(sets)))
    truth = np.split(
        one_by_one(codes, levels, sets), np.cumsum([prod(levels[p] for p in s) for s in sets])[:-1]
    )
    for whole, inside in covered:
        shape = [levels[place] for place in whole]
        assert prod(shape) <= max(most, *(prod(levels[p] for p in sets[number]) for number in inside))
        flat = np.zeros(codes.shape[1], dtype=np.int64)
        for place in whole:
            flat = flat * levels[place] + codes[place]
        keys, people = np.unique(flat, return_counts=True)
        for number in inside:
            axes = [whole.index(place) for place in sets[number]]
            assert fold(keys, people, shape, axes).tolist() == truth[number].tolist()
