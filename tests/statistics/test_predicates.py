from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.linalg.operators.compose import RowSelect
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.operators.moments import Moments
from tellall.linalg.operators.rowfunction import RowFunction
from tellall.linalg.operators.walsh import inner_products
from tellall.statistics.boolean import is_symmetric, split
from tellall.testing import check_statistic

NAMES = ("and", "or", "xor", "majority")


def count(people: ta.Dataset, table, tuples: str) -> list[float]:
    """Every count, person by person."""
    bits, secret = people.public.codes, people.secret
    k = len(table).bit_length() - 2
    d = len(bits)
    symmetric = all(is_symmetric(part) for part in split(table))
    chosen = {
        "all": product(range(d), repeat=k),
        "distinct": combinations(range(d), k) if symmetric else permutations(range(d), k),
    }[tuples]
    return [
        float(
            sum(
                table[int("".join(str(int(b)) for b in (*bits[list(J), i], secret[i])), 2)]
                for i in range(people.n)
            )
        )
        for J in chosen
    ]


def random_tables(ways: int, number: int, seed: int) -> list[np.ndarray]:
    """Random functions of so many variables that are not degenerate."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    while len(found) < number:
        table = rng.integers(0, 2, 2**ways)
        if not ta.is_degenerate(table):
            found.append(table)
    return found


@given(
    st.integers(2, 5), st.integers(2, 9), st.integers(2, 4), st.sampled_from(["distinct", "all"]),
    st.integers(0, 10**6),
)  # fmt: skip
@settings(max_examples=15)
def test_every_count_is_right_and_every_equation_holds(ways, n, d, tuples, seed):
    rng = np.random.default_rng(seed)
    bits = np.column_stack([rng.integers(0, 2, (n, d)), np.arange(n) % 2])
    people = ta.Dataset.from_arrays(bits, np.arange(n) % 2)
    table = rng.integers(0, 2, 2**ways) if seed % 3 else ta.truth_table(NAMES[seed % 4], ways)
    statistic = ta.Predicates(table, ways, tuples=tuples)
    if tuples == "distinct" and ways - 1 > len(people.public.columns):
        with pytest.raises(ta.InvalidInput, match="ways must be at most"):
            ta.publish(people, statistic)
        return
    assert ta.publish(people, statistic).values.tolist() == count(people, table, tuples)
    check_statistic(statistic, people)
    check_statistic(ta.Predicates(table, ways, tuples=tuples, scale="fractions"), people)


@pytest.mark.parametrize("number", range(16))
def test_all_functions_of_two_variables(number):
    """The ten that are not degenerate give every bit of an exact release; the other six say so."""
    table = [(number >> place) & 1 for place in (3, 2, 1, 0)]
    people = random_people(24, 40, seed=number)
    statistic = ta.Predicates(table)
    attack = ta.reconstruct(ta.publish(people, statistic), people.public)
    assert statistic.degenerate == ta.is_degenerate(table)
    if statistic.degenerate:
        assert "no spectral guarantee" in statistic.describe()
        assert attack.evidence.rank <= 1
    else:
        assert attack.evidence.rank == people.n
        assert np.array_equal(attack.guess, people.secret)


@pytest.mark.parametrize("ways", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_random_functions_that_are_not_degenerate_give_every_bit(ways):
    """50 of three and 50 of four variables, fixed seeds."""
    for number, table in enumerate(random_tables(ways, 50, seed=ways)):
        people = random_people(30, {3: 24, 4: 22}[ways], seed=number)
        attack = ta.reconstruct(ta.publish(people, ta.Predicates(table)), people.public)
        assert attack.evidence.rank == people.n
        assert np.array_equal(attack.guess, people.secret)


@pytest.mark.parametrize("ways", [2, 3, 4, 5])
@pytest.mark.parametrize("name", NAMES)
def test_named_functions_give_every_bit(name, ways):
    people = random_people(30, {2: 60, 3: 24, 4: 22, 5: 22}[ways], seed=ways)
    attack = ta.reconstruct(ta.publish(people, ta.Predicates(name, ways)), people.public)
    assert attack.evidence.rank == people.n
    assert np.array_equal(attack.guess, people.secret)


def test_noisy_xor_counts_are_still_enough():
    people = random_people(300, 60, seed=1)
    release = ta.publish(people, ta.Predicates("xor", 3), ta.Gaussian(3.0), rng=0)
    assert np.mean(ta.reconstruct(release, people.public).guess == people.secret) == 1.0


def test_and_or_xor_are_plain_moments():
    people = random_people(20, 6, seed=2)
    for name in ("and", "or", "xor"):
        release = ta.publish(people, ta.Predicates(name, 3))
        assert isinstance(ta.linearise(release, people.public).operator, Moments)
    release = ta.publish(people, ta.Predicates("majority", 3))
    assert isinstance(ta.linearise(release, people.public).operator, RowFunction)


def test_a_function_without_the_secret_teaches_nothing_and_says_so():
    people = random_people(40, 5, seed=3)
    statistic = ta.Predicates([0, 0, 1, 1])
    attack = ta.reconstruct(ta.publish(people, statistic), people.public)
    assert statistic.degenerate
    assert attack.evidence.rank == 0
    assert (attack.confidence < 0.95).all()


def test_columns_become_indicators():
    people = ta.Dataset.from_frame(
        {"bit": [0, 1, 1, 0], "sex": ["f", "m", "f", "m"], "kids": [0, 1, 2, 2], "s": [0, 1, 1, 1]},
        secret="s",
    )
    statistic = ta.Predicates("and", 2)
    assert ta.publish(people, statistic).values.tolist() == [2, 1, 2, 0, 1, 2]
    assert ta.publish(people, ta.Predicates("and", 3)).values.size == comb(6, 2)
    check_statistic(ta.Predicates("majority", 3), people)


@pytest.mark.parametrize("few", [True, False])
def test_chosen_attribute_sets_by_name_and_by_place(few):
    people = random_people(30, 12 if few else 3, seed=4)
    first_not_second = [0, 0, 0, 0, 0, 1, 0, 0]
    everything = ta.publish(people, ta.Predicates(first_not_second)).values
    d = len(people.public.columns)
    places = list(permutations(range(d), 2))
    wanted = [places.index(J) for J in ((2, 0), (0, 1), (0, 1))]
    by_place = ta.Predicates(first_not_second, attributes=[(2, 0), (0, 1), (0, 1)])
    by_name = ta.Predicates(first_not_second, attributes=[("a2", "a0"), ("a0", "a1"), ("a0", "a1")])
    for statistic in (by_place, by_name):
        release = ta.publish(people, statistic)
        assert np.array_equal(release.values, everything[wanted])
        assert isinstance(ta.linearise(release, people.public).operator, RowSelect | Dense)
        check_statistic(statistic, people)
    single = ta.Predicates("xor", 2, attributes=["a0", np.int64(2)])
    assert np.array_equal(
        ta.publish(people, single).values, ta.publish(people, ta.Predicates("xor", 2)).values[[0, 2]]
    )
    repeated = ta.Predicates("xor", 3, attributes=[(0, 0)], tuples="all")
    assert ta.publish(people, repeated).values.tolist() == [people.secret.sum()]  # x xor x is nothing


@pytest.mark.parametrize(
    "statistic",
    [
        ta.Predicates("majority", 3),
        ta.Predicates([0, 1, 1, 0, 1, 1, 0, 0], tuples="all", scale="fractions"),
        ta.Predicates("xor", 3, attributes=[("a0", "a1"), (2, 0)]),
    ],
    ids=str,
)
def test_a_release_comes_back_as_it_was(statistic, tmp_path):
    people = random_people(25, 4, seed=5)
    release = ta.publish(people, statistic, ta.Rounding(0.04))
    again = ta.Release.load(release.save(tmp_path / "release.json"))
    assert again.statistic == statistic
    one, other = (ta.reconstruct(r, people.public, rng=0) for r in (release, again))
    assert np.array_equal(one.guess, other.guess)


def test_a_risk_can_be_scored():
    people = random_people(80, 16, seed=6)
    attack = ta.reconstruct(ta.publish(people, ta.Predicates("xor", 3)), people.public)
    risk = ta.score(attack, people.secret)
    assert risk.accuracy == 1.0
    assert set(risk.baselines) == {"majority", "public", "own group", "population", "together"}


def test_golden_row_function_matrices(golden):
    for case in golden["row_function_matrix"]:
        name = {"AND": "and", "XOR": "xor", "MAJ": "majority"}[case["f"]]
        people = ta.Dataset.from_arrays(case["U"], case["s"])
        release = ta.publish(people, ta.Predicates(name, case["k"] + 1, tuples="all"))
        evidence = ta.linearise(release, people.public)
        assert release.values.tolist() == case["Sigma_f"]
        assert evidence.operator.to_dense().tolist() == case["Pi_f2"]
        assert (release.values - evidence.target).tolist() == case["b_f"]


def test_golden_attribute_reduction(golden):
    for case in golden["dat_dst_reductions"]:
        rows = np.array(case["Dat_rows"])
        people = ta.Dataset.from_arrays(rows[:, :-1], rows[:, -1])
        for ways, key in ((2, "attribute_k2 (conj j,sensitive)"), (3, "attribute_k3 (conj a,b,sensitive)")):
            assert ta.publish(people, ta.Predicates("and", ways)).values.tolist() == list(case[key].values())


def test_parities_are_the_inner_products_of_the_tables(golden):
    """Counts of xor are (n − (−1)^p i)/2, i the ±1 inner product of all p columns of a table."""
    for case in golden["marginals_inner_products"]:
        if len(case["J"]) < 2:
            continue
        columns = np.array(case["D"])[:, [j - 1 for j in case["J"]]]
        people = ta.Dataset.from_arrays(columns[:, :-1], columns[:, -1])
        ways = columns.shape[1]
        table = ta.publish(people, ta.Marginals(ways)).values
        odd = ta.publish(people, ta.Predicates("xor", ways)).values
        inner = inner_products(table)[-1]
        assert inner == case["inner_products"][",".join(map(str, case["J"]))]
        assert odd.tolist() == [(people.n - (-1) ** ways * inner) / 2]


def test_sensitivity_bounds_what_a_replaced_person_moves():
    people = random_people(12, 5, seed=7)
    statistic = ta.Predicates("xor", 3)
    secret = people.secret.copy()
    secret[0] = 1 - secret[0]
    other = ta.Dataset.from_arrays(people.public.codes.T, secret)
    change = ta.publish(people, statistic).values - ta.publish(other, statistic).values
    l1, l2 = statistic.sensitivity(people.public)
    assert np.abs(change).sum() == l1  # the secret of one person turns every parity
    assert np.linalg.norm(change) == pytest.approx(l2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: ta.Predicates("nand", 2), "function must be one of 'and'"),
        (lambda p: ta.Predicates("and"), "ways must be given with a function's name"),
        (lambda p: ta.Predicates("and", 1), "ways must be a whole number from 2 to 5"),
        (lambda p: ta.Predicates("and", 6), "ways must be a whole number from 2 to 5"),
        (lambda p: ta.Predicates("and", 2.0), "ways must be"),
        (lambda p: ta.Predicates("mux", 2), "ways must be 3 for 'mux'"),
        (lambda p: ta.Predicates([0, 1, 1], 2), "table must be a truth table of 2\\*\\*p bits"),
        (lambda p: ta.Predicates([0, 1, 1, 0], 3), "function must be a truth table of 8 bits"),
        (lambda p: ta.Predicates([0, 1, 2, 0], 2), "table must be a truth table of bits"),
        (lambda p: ta.Predicates(7, 2), "table must be"),
        (lambda p: ta.Predicates([0, 1]), "ways must be a whole number from 2 to 5"),
        (lambda p: ta.Predicates("and", 2, tuples="some"), "tuples must be one of 'distinct', 'all'"),
        (lambda p: ta.Predicates("and", 2, scale="rates"), "scale must be"),
        (lambda p: ta.Predicates("and", 3, attributes=[("a0",)]), "sets of 2 attributes"),
        (lambda p: ta.Predicates("and", 3, attributes=[]), "one set of attributes or more"),
        (lambda p: ta.Predicates("and", 3, attributes="a0"), "a list of sets of attributes"),
        (lambda p: ta.Predicates("and", 3, attributes=[2.5]), "one set of attributes or more"),
        (lambda p: ta.publish(p, ta.Predicates("and", 3, attributes=[(0, 9)])), "indices from 0 to 3; got 9"),
        (lambda p: ta.publish(p, ta.Predicates("and", 3, attributes=[(0, -1)])), "indices from 0 to 3"),
        (lambda p: ta.publish(p, ta.Predicates("and", 3, attributes=[(0, 0)])), "different attributes"),
        (lambda p: ta.publish(p, ta.Predicates("and", 2, attributes=["a33"])), "Did you mean"),
        (
            lambda p: ta.publish(p, ta.Predicates("and", 2, attributes=[(True,)])),
            "'True'",
        ),
        (lambda p: ta.publish(ta.Dataset(p.public), ta.Predicates("and", 2)), "no secret"),
    ],
)
def test_bad_predicates_get_one_clear_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make(random_people(20, 4, seed=8))
    assert "\n" not in str(caught.value)
