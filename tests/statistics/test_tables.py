from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.operators.walsh import inner_products


@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_every_cell_is_counted(n, ways, levels, seed):
    rng = np.random.default_rng(seed)
    people = ta.Dataset.from_arrays(np.column_stack([rng.integers(0, levels + 1, (n, 4)), np.arange(n) % 2]))
    d, codes = len(people.public.columns), people.public.codes
    if ways > d:
        with pytest.raises(ta.InvalidInput, match="ways must be at most"):
            ta.publish(people, ta.Tables(ways))
        return
    wanted = []
    for places in combinations(range(d), ways):
        for cell in product(*(range(people.public.levels[place]) for place in places)):
            wanted.append(int((codes[list(places)] == np.array(cell)[:, None]).all(axis=0).sum()))
    assert ta.publish(people, ta.Tables(ways)).values.tolist() == wanted
    shares = ta.publish(people, ta.Tables(ways, scale="fractions")).values
    assert np.allclose(shares * n, wanted)


def test_marginals_of_people_without_a_secret_are_tables():
    people = random_people(20, 4, seed=0)
    bare = ta.Dataset(people.public)
    release = ta.publish(bare, ta.Marginals(3, scale="fractions"))
    assert release.statistic == ta.Tables(3, scale="fractions")
    assert np.array_equal(release.values, ta.publish(bare, ta.Tables(3, scale="fractions")).values)
    with pytest.raises(ta.CannotLinearise, match="use reconstruct_rows"):
        ta.reconstruct(release, people.public)


def test_golden_inner_products_of_published_tables(golden):
    for case in golden["marginals_inner_products"]:
        people = ta.Dataset.from_arrays(case["D"])
        release = ta.publish(people, ta.Tables(len(case["J"]), [tuple(j - 1 for j in case["J"])]))
        assert release.values.tolist() == [case["cells"][key] for key in sorted(case["cells"])]
        assert inner_products(release.values)[-1] == case["inner_products"][",".join(map(str, case["J"]))]


def test_a_release_comes_back_as_it_was(tmp_path):
    people = random_people(20, 4, seed=1)
    statistic = ta.Tables(2, [("a0", "a2"), (3, 1)])
    release = ta.publish(people, statistic, ta.Rounding(3))
    again = ta.Release.load(release.save(tmp_path / "release.json"))
    assert again.statistic == statistic
    assert np.array_equal(again.values, release.values)


def test_sensitivity_is_attained_by_replacing_a_person():
    people = random_people(10, 4, seed=2)
    other = people.public.codes.copy()
    other[:, 0] = 1 - other[:, 0]
    change = (
        ta.publish(people, ta.Tables(2)).values
        - ta.publish(ta.Dataset.from_arrays(other.T), ta.Tables(2)).values
    )
    l1, l2 = ta.Tables(2).sensitivity(people.public)
    assert np.abs(change).sum() == l1
    assert np.linalg.norm(change) == pytest.approx(l2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.Tables(0), "ways must be a whole number of 1 or more"),
        (lambda p: ta.Tables(2, [("a0",)]), "sets of 2 columns"),
        (lambda p: ta.Tables(2, scale="rates"), "scale must be"),
        (lambda p: ta.publish(p, ta.Tables(2, [("a0", "a0")])), "sets of different columns"),
        (lambda p: ta.publish(p, ta.Tables(5)), "ways must be at most 4"),
    ],
)
def test_bad_tables_get_one_clear_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says):
        make(random_people(10, 4, seed=3))
