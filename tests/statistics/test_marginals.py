from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.people.dataset import Dataset
from tellall.statistics import marginals
from tellall.testing import check_statistic


def tabulate(people: ta.Dataset, ways: int) -> list[float]:
    """Every cell counted one by one."""
    out = []
    codes, secret = people.public.codes, people.secret
    for places in combinations(range(len(codes)), ways - 1):
        for cell in product(*(range(people.public.levels[place]) for place in places)):
            member = np.ones(people.n, dtype=bool)
            for place, value in zip(places, cell, strict=True):
                member &= codes[place] == value
            out += [float((member & (secret == bit)).sum()) for bit in (0, 1)]
    return out


@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_every_cell_is_counted_and_every_equation_holds(n, d, ways, levels, seed):
    rng = np.random.default_rng(seed)
    codes = np.vstack([rng.integers(0, levels + 1, (d, n)), np.arange(n) % 2])
    people = Dataset.from_arrays(codes.T, np.arange(n) % 2)
    if ways > len(people.public.columns) + 1:
        with pytest.raises(ta.InvalidInput, match="ways must be at most"):
            ta.publish(people, ta.Marginals(ways))
        return
    assert ta.publish(people, ta.Marginals(ways)).values.tolist() == tabulate(people, ways)
    check_statistic(ta.Marginals(ways), people)


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["nhanes", "fair", "breast_cancer"])
def test_equations_hold_exactly_on_real_people(name, ways):
    people = ta.datasets.load(name)
    evidence = ta.linearise(ta.publish(people, ta.Marginals(ways)), people.public)
    assert np.array_equal(evidence.operator @ people.secret, evidence.target)


@pytest.mark.parametrize(("ways", "d", "levels"), [(3, 9, 2), (4, 7, 2), (3, 6, 3), (4, 5, 3)])
def test_products_and_counting_give_the_same_operator(monkeypatch, ways, d, levels):
    people = random_people(40, d, seed=ways, levels=levels)
    both = []
    for cheaper in (True, False):
        monkeypatch.setattr(marginals, "_products_are_cheaper", lambda public, sets, choice=cheaper: choice)
        evidence = ta.linearise(ta.publish(people, ta.Marginals(ways)), people.public)
        both.append((evidence.operator.to_dense(), evidence.target, evidence.grouped.gram()))
    for left, right in zip(*both, strict=True):
        assert np.array_equal(left, right)


def test_rows_come_in_the_promised_order():
    people = ta.Dataset.from_frame(
        {"x": ["a", "b", "a", "b"], "y": [1, 2, 3, 1], "s": [0, 1, 1, 1]}, secret="s"
    )
    evidence = ta.linearise(ta.publish(people, ta.Marginals(3)), people.public)
    assert evidence.operator.shape == (2 * 2 * 3, 4)
    # cells (a,1) (a,2) (a,3) (b,1) (b,2) (b,3), each secret = 0 with coefficients −1, then secret = 1
    assert evidence.operator.to_dense()[:6].tolist() == [
        [-1, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, -1, 0],
        [0, 0, 1, 0],
    ]
    assert evidence.target[:6].tolist() == [0, 0, 0, 0, -1, 1]


def test_suppressed_cells_have_no_row(fair):
    release = ta.publish(fair, ta.Marginals(3), ta.Suppression(10))
    evidence = ta.linearise(release, fair.public)
    shown = ~np.isnan(release.values)
    assert 0 < shown.sum() < release.values.size
    assert evidence.operator.shape == (shown.sum(), fair.n)
    assert np.array_equal(evidence.operator @ fair.secret, evidence.target)


def test_fractions_are_counts_over_people(fair):
    counts = ta.publish(fair, ta.Marginals(2))
    fractions = ta.publish(fair, ta.Marginals(2, scale="fractions"), ta.Gaussian(0.0))
    assert np.allclose(fractions.values * fair.n, counts.values)
    evidence = ta.linearise(fractions, fair.public)
    assert np.allclose(evidence.operator @ fair.secret, evidence.target, rtol=1e-9)
    exact = ta.linearise(ta.publish(fair, ta.Marginals(3, scale="fractions")), fair.public)
    assert np.array_equal(exact.operator @ fair.secret, exact.target)
    noisy = ta.publish(fair, ta.Marginals(2, scale="fractions"), ta.Gaussian(0.001), rng=0)
    assert ta.linearise(noisy, fair.public).noise.std == pytest.approx(0.001 * fair.n)


def test_chosen_tables_by_name_and_by_place(fair):
    by_name = ta.publish(fair, ta.Marginals(3, attributes=[("age", "children"), ("educ", "age")]))
    by_place = ta.publish(fair, ta.Marginals(3, attributes=[(1, 3), (5, 1)]))
    assert np.array_equal(by_name.values, by_place.values)
    loose = ta.publish(fair, ta.Marginals(2, attributes=list(np.arange(3))))
    assert np.array_equal(
        loose.values, ta.publish(fair, ta.Marginals(2, attributes=[(0,), (1,), (2,)])).values
    )
    evidence = ta.linearise(by_name, fair.public)
    assert np.array_equal(evidence.operator @ fair.secret, evidence.target)
    assert len(evidence.groups) < len(fair.patterns)  # only three columns tell people apart


def test_one_way_tables_are_the_total(fair):
    assert ta.publish(fair, ta.Marginals(1)).values.tolist() == [6366 - 2053, 2053]


def test_golden_cells(golden):
    for case in golden["marginals_inner_products"]:
        rows = np.array(case["D"])
        places = [j - 1 for j in case["J"]]
        *public, last = places
        others = public or [next(j for j in range(rows.shape[1]) if j not in places)]
        people = ta.Dataset.from_arrays(rows[:, others], rows[:, last])
        ways = len(places)
        values = ta.publish(people, ta.Marginals(ways, attributes=[tuple(range(ways - 1))])).values
        assert values.tolist() == [case["cells"][key] for key in sorted(case["cells"])]


def test_golden_attribute_reduction(golden):
    for case in golden["dat_dst_reductions"]:
        rows = np.array(case["Dat_rows"])
        people = ta.Dataset.from_arrays(rows[:, :-1], rows[:, -1])
        for ways, key in ((2, "attribute_k2 (conj j,sensitive)"), (3, "attribute_k3 (conj a,b,sensitive)")):
            values = ta.publish(people, ta.Marginals(ways)).values.reshape(-1, 2**ways)
            assert values[:, -1].tolist() == list(case[key].values())  # all ones, secret one


def test_sensitivity_is_attained_by_replacing_a_person():
    people = random_people(10, 4, seed=0)
    statistic = ta.Marginals(3)
    l1, l2 = statistic.sensitivity(people.public)
    other = people.public.codes.copy()
    other[:, 0] = 1 - other[:, 0]
    moved = ta.Dataset.from_arrays(other.T, people.secret)
    change = ta.publish(people, statistic).values - ta.publish(moved, statistic).values
    assert np.abs(change).sum() == l1
    assert np.linalg.norm(change) == pytest.approx(l2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.Marginals(0), "ways must be a whole number of 1 or more"),
        (lambda p: ta.Marginals(2.5), "ways must be"),
        (lambda p: ta.Marginals(True), "ways must be"),
        (lambda p: ta.Marginals(2, scale="percent"), "scale must be 'counts' or 'fractions'"),
        (lambda p: ta.Marginals(3, attributes=[("age",)]), "sets of 2 columns"),
        (lambda p: ta.Marginals(3, attributes=[]), "one set of columns or more"),
        (lambda p: ta.Marginals(2, attributes="age"), "a list of sets of columns"),
        (lambda p: ta.Marginals(2, attributes=5), "a list of sets of columns"),
        (lambda p: ta.Marginals(2, attributes=[1.5]), "one set of columns or more"),
        (lambda p: ta.publish(p, ta.Marginals(2), 5), "protect must be"),
        (lambda p: ta.publish(p, ta.Marginals(3, attributes=[("age", "age")])), "sets of different columns"),
        (lambda p: ta.publish(p, ta.Marginals(2, attributes=[("agee",)])), "Did you mean 'age'"),
        (lambda p: ta.publish(p, ta.Marginals(2, attributes=[(8,)])), "from 0 to 7"),
        (lambda p: ta.publish(p, ta.Marginals(10)), "ways must be at most 9"),
        (lambda p: ta.Marginals(2).values(ta.Dataset(p.public)), "no secret"),
        (
            lambda p: ta.publish(ta.Dataset(p.public), ta.Marginals(2, attributes=["age"])),
            "attributes must be left out if there is no secret",
        ),
        (lambda p: ta.publish(p.public, ta.Marginals(2)), "dataset must be a Dataset"),
        (lambda p: ta.publish(p, "tables"), "statistic must be"),
        (lambda p: ta.publish(p, ta.Marginals(2), "noise"), "protect must be"),
        (lambda p: ta.publish(p, ta.Marginals(2), [ta.Gaussian]), "protect must be"),
        (lambda p: ta.Gaussian(-1), "std must be a finite number, zero or more; got -1"),
        (lambda p: ta.Gaussian(float("nan")), "std must be"),
        (lambda p: ta.Gaussian("2"), "std must be"),
        (lambda p: ta.Laplace(-1), "scale must be"),
        (lambda p: ta.Rounding(0), "base must be a finite number above zero"),
        (lambda p: ta.Suppression(-1), "below must be"),
        (lambda p: ta.Suppression("10"), "below must be"),
    ],
)
def test_bad_statistics_and_protections_get_one_clear_sentence(fair, make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make(fair)
    assert "\n" not in str(caught.value)


def test_tables_beyond_reason_are_refused_before_memory_is(monkeypatch, fair):
    release = ta.publish(fair, ta.Marginals(4))
    monkeypatch.setattr("tellall.people.counting.tally.MOST_CELLS", 1000)
    with pytest.raises(ta.InvalidInput, match="manageable size"):
        ta.publish(fair, ta.Marginals(4))
    monkeypatch.setattr(marginals, "MOST_CELLS", 1000)
    with pytest.raises(ta.InvalidInput, match="manageable size"):
        ta.linearise(release, fair)
    monkeypatch.setattr(marginals, "MOST_CELLS", 10**9)
    monkeypatch.setattr(marginals, "_MOST_MEMBERSHIPS", 1000)
    with pytest.raises(ta.InvalidInput, match="tables × people"):
        ta.linearise(release, fair)


@pytest.mark.parametrize("statistic", [ta.Marginals(20), ta.Tables(20)])
def test_more_tables_than_can_be_listed_are_refused_at_once(statistic):
    many = ta.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (5, 60)), np.array([0, 1, 0, 1, 1]))
    with pytest.raises(ta.InvalidInput, match="tables must be of a manageable size"):
        statistic.size(many.public)


def test_one_chosen_table_is_one():
    said = [ta.Marginals(3, sets).describe() for sets in (None, [["a", "b"]], [["a", "b"], ["b", "c"]])]
    assert said == ["every 3-way table", "1 chosen 3-way table", "2 chosen 3-way tables"]
