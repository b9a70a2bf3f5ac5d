from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import first_fast

from tellall import InvalidInput, truth_table
from tellall.linalg.operators.linear_operator import Device
from tellall.linalg.operators.moments import Moments, Packed
from tellall.linalg.operators.rowfunction import RowFunction
from tellall.statistics.boolean import is_symmetric, split
from tellall.testing import check_operator

WAYS = {
    "subsets": combinations,
    "ordered": permutations,
    "all": lambda r, k: product(r, repeat=k),
}
seeds = st.integers(0, 10**6)


def bits(d: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (d, n)).astype(float)


def indices(T: np.ndarray, k: int, tuples: str) -> np.ndarray:
    """The index in a table that each entry of the matrix takes, entry by entry."""
    choices = list(WAYS[tuples](range(T.shape[0]), k))
    rows = [[int("".join(str(int(T[j, p])) for j in J), 2) for p in range(T.shape[1])] for J in choices]
    return np.array(rows, dtype=int).reshape(len(choices), T.shape[1])


@pytest.mark.parametrize("k", first_fast([1, 2, 3], 2))
def test_every_boolean_function_of_up_to_four_variables_equals_its_dense_form(k):
    """The secret's factor f2 of every f on k + 1 ≤ 4 variables is some g: {0,1}^k → {−1,0,1}; all of them.

    Of g and −g one is enough: 1 − f has the other's equations with the sign changed.
    """
    T = bits(4, 5, seed=k)
    rng = np.random.default_rng(k)
    x, blocks = rng.normal(size=T.shape[1]), {}
    index = {tuples: indices(T, k, tuples) for tuples in WAYS}
    for number, table in enumerate(product((0, -1, 1), repeat=2**k)):
        if next((value for value in table if value), 1) < 0:
            continue
        for tuples in ("distinct", "all"):
            operator = RowFunction(table, T, tuples)
            A = np.array(table, dtype=float)[index[operator.tuples]]
            y = blocks.setdefault(A.shape[0], rng.normal(size=A.shape[0]))
            assert np.abs(operator.matvec(x) - A @ x).max() < 1e-12
            assert np.abs(operator.rmatvec(y) - A.T @ y).max() < 1e-12
            if k < 3 or number % 10 == 0:
                assert np.abs(operator.gram() - A.T @ A).max() < 1e-10


@given(st.integers(1, 4), st.sampled_from(["distinct", "all"]), st.integers(0, 6), st.integers(0, 6), seeds)
def test_the_laws_hold_for_random_functions_of_up_to_five_variables(k, tuples, d, n, seed):
    rng = np.random.default_rng(seed)
    _, table = split(rng.integers(0, 2, 2 ** (k + 1)))
    if seed % 2:  # a symmetric one
        by_count = rng.integers(-1, 2, k + 1)
        table = np.array([by_count[index.bit_count()] for index in range(2**k)])
    operator = RowFunction(table, bits(d, n, seed), tuples)
    assert np.array_equal(operator.to_dense(), table[indices(operator.bits, k, operator.tuples)])
    check_operator(operator, seed=seed)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_one_product_serves_and_or_xor(name, k):
    T = bits(6, 9, seed=k)
    factor = {"and": T, "or": 1 - T, "xor": 1 - 2 * T}[name]
    operator = RowFunction(split(truth_table(name, k + 1))[1], T)
    assert list(operator.coefficients) == [2**k - 1]
    assert np.array_equal(operator.factor, factor)
    assert np.array_equal(operator.to_dense(), Moments(factor, k).to_dense())
    assert np.array_equal(operator.gram(), Moments(factor, k).gram())


@pytest.mark.parametrize("tuples", ["distinct", "all"])
def test_equal_weights_use_the_closed_form(monkeypatch, tuples):
    operator = RowFunction([0, 1, 1, -1], bits(6, 9, seed=1), tuples)
    dense = operator.to_dense()
    monkeypatch.setattr(RowFunction, "_row_blocks", lambda self: pytest.fail("the matrix was formed"))
    weights = np.full(operator.shape[0], 0.25)
    assert np.allclose(operator.gram(weights), 0.25 * dense.T @ dense)


def test_rows_come_in_the_documented_order():
    T = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    first_not_second = [0, 0, 1, 0]
    ordered = RowFunction(first_not_second, T)
    assert ordered.tuples == "ordered"
    # (0,1) (0,2) (1,0) (1,2) (2,0) (2,1)
    assert ordered.to_dense().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 0]]
    everything = RowFunction(first_not_second, T, "all")
    assert everything.shape == (9, 2)
    assert everything.to_dense()[[0, 4, 8]].tolist() == [[0, 0]] * 3  # an attribute with itself
    assert RowFunction([0, 1, 1, 0], T).shape == (3, 2)


def test_golden_matrices(golden):
    for case in golden["row_function_matrix"]:
        name = {"AND": "and", "XOR": "xor", "MAJ": "majority"}[case["f"]]
        f0, f2 = split(truth_table(name, case["k"] + 1))
        T = np.array(case["U"]).T
        assert [[j - 1 for j in J] for J in case["J_order"]] == [
            list(J) for J in product(range(T.shape[0]), repeat=case["k"])
        ]
        operator = RowFunction(f2, T, "all")
        known = RowFunction(f0, T, "all") @ np.ones(T.shape[1])
        assert operator.to_dense().tolist() == case["Pi_f2"]
        assert known.tolist() == case["b_f"]
        assert (known + operator @ np.array(case["s"])).tolist() == case["Sigma_f"]


def test_single_precision_stays_single_and_counts_exactly():
    T = bits(9, 60, seed=3).astype(np.float32)
    s = np.random.default_rng(0).integers(0, 2, 60).astype(np.float32)
    operator = RowFunction(split(truth_table("majority", 4))[1], T)
    assert operator.matvec(s).dtype == operator.rmatvec(operator.matvec(s)).dtype == np.float32
    assert np.array_equal(operator.matvec(s), operator.to_dense() @ s)


@pytest.mark.parametrize("pack", [np.asarray, Packed.of])
def test_a_function_whose_values_single_precision_rounds_keeps_all_digits(pack):
    operator = RowFunction([0.0, 0.1, 0.1, 0.7], pack(bits(4, 9, seed=5).astype(np.float32)))
    assert np.abs(operator.to_dense() - operator @ np.eye(9)).max() < 1e-15
    check_operator(operator, tolerance=1e-14)


def test_the_matrix_is_never_formed():
    """The matrix would have 8 × 10^8 entries; the products hold less than a tenth of that."""
    import tracemalloc

    T = bits(200, 20_000, seed=0).astype(np.float32)
    operator = RowFunction([0, 0, 1, 0], T)
    x = np.ones(20_000, dtype=np.float32)
    tracemalloc.start()
    operator.rmatvec(operator.matvec(x))
    assert tracemalloc.get_traced_memory()[1] < 4 * operator.shape[0] * operator.shape[1] / 10
    tracemalloc.stop()


def test_symmetry_is_seen():
    assert is_symmetric([0, 1, 1, 0])
    assert RowFunction([0, 1, 1, 0], bits(3, 3, 0)).tuples == "subsets"
    assert RowFunction([0, 1, 0, 0], bits(3, 3, 0)).tuples == "ordered"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RowFunction([1, 0, 1], np.zeros((2, 2))), "table must be 2, 4, 8 or 16 numbers"),
        (lambda: RowFunction(np.zeros(32), np.zeros((2, 2))), "table must be"),
        (lambda: RowFunction([0, np.nan], np.zeros((2, 2))), "table must be finite"),
        (lambda: RowFunction([0, 1], np.zeros(2)), "factor must be two-dimensional"),
        (lambda: RowFunction([0, 1], np.full((2, 2), 2)), "factor must be bits"),
        (lambda: RowFunction([0, 1], np.full((2, 2), np.nan)), "factor must be bits"),
        (lambda: RowFunction([0, 1], np.zeros((2, 2)), "some"), "tuples must be one of"),
        (lambda: RowFunction([0, 1, 0, 0], np.zeros((2, 2)), "subsets"), "'ordered' or 'all'"),
    ],
)
def test_bad_row_functions_are_refused_in_one_sentence(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_packed_bits_obey_the_laws(k: int, d: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = rng.integers(0, 2, (d, n))
    table = rng.integers(0, 2, 2**k)
    for tuples in ("distinct", "ordered", "all"):
        packed, plain = RowFunction(table, Packed.of(T), tuples), RowFunction(table, T, tuples)
        assert packed.shape == plain.shape
        assert packed.coefficients == plain.coefficients
        check_operator(packed, seed=seed, tolerance=1e-4)
        x, y = rng.normal(size=n), rng.normal(size=plain.shape[0])
        np.testing.assert_allclose(packed.matvec(x), plain.matvec(x), atol=1e-9)
        np.testing.assert_allclose(packed.rmatvec(y), plain.rmatvec(y), atol=1e-9)


def test_packed_bits_are_multiplied_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    T = rng.integers(0, 2, (5, 1700))
    packed, plain = (RowFunction([0, 1, 1, 0, 1, 0, 0, 1], factor) for factor in (Packed.of(T), T))
    monkeypatch.setattr(Device, "block", property(lambda self: 16 * 5 * 512))
    assert len(list(packed.factor.blocks(np.dtype(float)))) == 4
    x, y = rng.normal(size=1700), rng.normal(size=plain.shape[0])
    np.testing.assert_allclose(packed.matvec(x), plain.matvec(x), atol=1e-9)
    np.testing.assert_allclose(packed.rmatvec(y), plain.rmatvec(y), atol=1e-9)


def test_packed_signs_are_no_bits() -> None:
    with pytest.raises(InvalidInput, match="factor must be bits"):
        RowFunction([0, 1], Packed.of([[1, -1]]))
