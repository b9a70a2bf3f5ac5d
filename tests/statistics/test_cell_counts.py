"""CellCounts: cells under the labels of a table, with its totals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellall as ta
from tellall.testing import check_statistic

CELLS = [(a, b, v) for a, b, v in product((-1, 0, 1), (-1, 0, 1, 2), (0, 1))]


def _people(seed: int = 0, n: int = 40, levels: int = 2) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    frame = {
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(18, 70, n).astype(float),
        "ill": rng.permutation(np.arange(n) % levels),
    }
    return ta.Dataset.from_frame(frame, secret="ill", kind="categories" if levels > 2 else None)


@pytest.mark.parametrize("levels", [2, 3])
def test_the_laws_of_a_statistic(levels):
    cells = [(a, b, v) for a, b, v in product((-1, 0, 1), (-1, 0, 1, 2), range(levels))]
    table = ta.CellCounts(["sex", "age"], [["f", "m"], ["18-29", "30-49", "50+"]], cells, levels)
    check_statistic(table, _people(levels=levels))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.lists(st.sampled_from(CELLS), min_size=1, unique=True))
def test_values_are_counts_of_people(seed, cells):
    people = _people(seed)
    table = ta.CellCounts(["sex", "age"], [["f", "m"], ["< 30", "[30, 50]", "> 50"]], cells)
    sex = np.asarray(people.public.codes[0])
    age = np.digitize(people.public.numbers[1], [30, 50.5])
    inside = [((a < 0) | (sex == a)) & ((b < 0) | (age == b)) & (people.secret == v) for a, b, v in cells]
    assert table.values(people).tolist() == [mask.sum() for mask in inside]


def test_categories_may_overlap():
    people = _people()
    cells = [(a, b, v) for a, b, v in product((-1, 0, 1), (-1, 0, 1), (0, 1))]
    table = ta.CellCounts(["sex", "age"], [["f", "m"], ["18-40", "30+"]], cells)
    sex, age = np.asarray(people.public.codes[0]), people.public.numbers[1]
    held = {-1: age >= 18, 0: (age >= 18) & (age <= 40), 1: age >= 30}
    inside = [((a < 0) | (sex == a)) & held[b] & (people.secret == v) for a, b, v in cells]
    assert table.values(people).tolist() == [mask.sum() for mask in inside]
    assert table.sensitivity(people.public)[0] == 2 * (2 + 1 + 2 + 1)  # twice where ages are told apart
    check_statistic(table, people)


def test_people_under_no_label_are_in_no_total():
    people = _people()
    table = ta.CellCounts(["age"], [["18-29", "50+"]], [(-1, 1)])
    age = people.public.numbers[1]
    assert table.values(people)[0] == people.secret[(age < 30) | (age >= 50)].sum()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["sex"], [["f", "x"]], [(0, 1)]), "'sex'; got 'x'"),
        ((["sex"], [["f", "m"]], [(2, 1)]), "within the labels"),
        ((["sex"], [["f", "m"]], [(0, 1), (0, 1)]), "each cell once"),
        ((["sex"], [["f", "m"]], [(0, 2)]), "within the labels"),
        ((["sex"], [["f", "m"]], []), "from 1 to"),
        ((["sex"], [["f"], ["m"]], [(0, 1)]), "for each column"),
        (("sex", [["f"]], [(0, 1)]), "list of texts"),
        ((["sex"], [["f"]], "01"), "lists of 2 places"),
        ((["sex"], [["f"]], [(0.0, 1)]), "lists of 2 places"),
    ],
)
def test_refused(arguments, words):
    with pytest.raises(ta.InvalidInput, match=words):
        ta.CellCounts(*arguments).values(_people())
