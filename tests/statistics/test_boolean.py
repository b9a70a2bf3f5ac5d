from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.linalg.operators.walsh import moebius
from tellall.statistics.boolean import is_symmetric, split


def points(k: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=k)), dtype=int).reshape(-1, k)


def index(bits: np.ndarray) -> np.ndarray:
    """The place of each point in a table."""
    return bits @ (1 << np.arange(bits.shape[-1] - 1, -1, -1))


def reverse_bits(table: list[int]) -> np.ndarray:
    """A little-endian table read with the first variable most significant."""
    p = len(table).bit_length() - 1
    return np.array(table).reshape((2,) * p).transpose(*range(p - 1, -1, -1)).ravel()


tables = st.integers(1, 5).flatmap(lambda p: st.lists(st.integers(0, 1), min_size=2**p, max_size=2**p))
# a function {0,1}^k → {−1,0,1} of full degree, k, and a seed
full_degree = st.tuples(
    st.integers(1, 4).flatmap(lambda k: st.lists(st.integers(-1, 1), min_size=2**k, max_size=2**k)),
    st.integers(0, 10**6),
).filter(lambda drawn: int(moebius(drawn[0])[-1]) != 0)


@given(tables)
def test_the_polynomial_and_the_split_are_the_function(table):
    p = len(table).bit_length() - 1
    coefficients = ta.multilinear(table)
    f0, f2 = split(table)
    for place, x in enumerate(points(p)):
        inside = [coefficients[j] for j, subset in enumerate(points(p)) if (subset <= x).all()]
        assert sum(inside) == table[place]
        public = int(index(x[:-1]))
        assert f0[public] + f2[public] * x[-1] == table[place]
    assert set(f2.tolist()) <= {-1, 0, 1}
    assert moebius(f2)[-1] == coefficients[-1]  # the secret's factor has the same top coefficient


@given(tables)
def test_degenerate_by_the_coefficient_and_by_definition_11(table):
    p = len(table).bit_length() - 1
    by_definition = sum((-1) ** (f + int(x.sum())) for f, x in zip(table, points(p), strict=True))
    top = int(ta.multilinear(table)[-1])
    assert by_definition == -2 * (-1) ** p * top
    assert ta.is_degenerate(table) == (by_definition == 0)
    assert abs(top) <= 2 ** (p - 1)


@given(tables)
def test_the_plus_minus_one_form_is_the_same_equation(table):
    """g = 2f − 1 over ±1 variables has g2 = f2 and (g3 − g2 + 1)/2 = f0."""
    f0, f2 = split(table)
    g = 2 * np.array(table).reshape(-1, 2) - 1
    g2, g3 = (g[:, 1] - g[:, 0]) / 2, (g[:, 1] + g[:, 0]) / 2
    assert np.array_equal(g2, f2)
    assert np.array_equal((g3 - g2 + 1) / 2, f0)


@given(full_degree)
def test_proposition_3_6(drawn):
    """Π (δ_j − δ'_j) = c_h Σ_I (−1)^|I| h(δ(I)) with δ_j(I) = δ'_j for j in I."""
    h, seed = np.array(drawn[0]), drawn[1]
    k = h.size.bit_length() - 1
    delta, other = np.random.default_rng(seed).integers(0, 2, (2, k))
    total = sum((-1) ** int(chosen.sum()) * h[index(np.where(chosen, other, delta))] for chosen in points(k))
    assert np.prod(delta - other) * moebius(h)[-1] == total


@given(full_degree)
def test_corollary_3_7_with_its_cases_swapped(drawn):
    """Row products of T_j − T'_j are signed sums of row-function matrices, with E-LR-5's T_j(I)."""
    h, seed = np.array(drawn[0]), drawn[1]
    k, d, n = h.size.bit_length() - 1, 2, 3
    T, other = np.random.default_rng(seed).integers(0, 2, (2, k, d, n))

    def row_function(matrices: np.ndarray) -> np.ndarray:
        rows = [[matrices[j, row] for j, row in enumerate(J)] for J in product(range(d), repeat=k)]
        return np.array([h[index(np.stack(row, axis=-1))] for row in rows])

    difference = T - other
    choices = product(range(d), repeat=k)
    left = np.array([np.prod([difference[j, row] for j, row in enumerate(J)], axis=0) for J in choices])
    swapped = sum(
        (-1) ** int(chosen.sum()) * row_function(np.where(chosen[:, None, None], other, T))
        for chosen in points(k)
    )
    printed = sum(
        (-1) ** int(chosen.sum()) * row_function(np.where(chosen[:, None, None], T, other))
        for chosen in points(k)
    )
    top = moebius(h)[-1]
    assert np.array_equal(left * top, swapped)
    assert np.array_equal(left * top, (-1) ** k * printed)


@given(full_degree)
def test_proposition_b_1(drawn):
    """Π φ_j = c_h Σ_I (−1)^(k−|I|) P_I(φ), P_I the polynomial over ±1 with variables outside I zero."""
    h = np.array(drawn[0])  # values at φ = 2x − 1
    k = h.size.bit_length() - 1
    signs = 2 * points(k) - 1
    coefficients = np.array([(h * signs[:, S.astype(bool)].prod(axis=1)).mean() for S in points(k)])
    phi = signs[drawn[1] % 2**k]

    def restricted(chosen: np.ndarray) -> float:
        at = np.where(chosen == 1, phi, 0)
        return sum(c * at[S.astype(bool)].prod() for c, S in zip(coefficients, points(k), strict=True))

    total = sum((-1) ** (k - int(chosen.sum())) * restricted(chosen) for chosen in points(k))
    assert total / coefficients[-1] == pytest.approx(phi.prod())
    assert coefficients[-1] == pytest.approx(moebius(h)[-1] / 2**k)  # full degree in either form


def test_golden_decompositions(golden):
    for case in golden["boolean_decomposition"]:
        table = reverse_bits(case["truth_table"])
        f0, f2 = split(table)
        assert np.array_equal(f0, reverse_bits(case["f0"]))
        assert np.array_equal(f2, reverse_bits(case["f2"]))
        assert ta.multilinear(table)[-1] == case["top_coefficient"]
        assert ta.is_degenerate(table) != case["non_degenerate"]
        name = case["f"].rstrip("0123456789").lower().replace("maj", "majority")
        assert np.array_equal(ta.truth_table(name, case["p"]), table)


def test_golden_counts(golden):
    counts = {case["p"]: int(case["count"]) for case in golden["non_degenerate_count"]}
    for p in (1, 2, 3):
        found = sum(not ta.is_degenerate(table) for table in product((0, 1), repeat=2**p))
        assert found == 2 ** (2**p) - comb(2**p, 2 ** (p - 1)) == counts.get(p, found)
    assert counts[5] == 2**32 - comb(32, 16)


@pytest.mark.parametrize("p", range(1, 7))
def test_named_functions(p):
    for name in ("and", "or", "xor", "majority"):
        table = ta.truth_table(name, p)
        assert not ta.is_degenerate(table)
        assert is_symmetric(table)
    assert abs(ta.multilinear(ta.truth_table("majority", p))[-1]) == comb(p - 1, p // 2)
    if p == 3:
        assert ta.is_degenerate(ta.truth_table("nae", 3))
        assert ta.is_degenerate(ta.truth_table("mux", 3))


def test_the_first_variable_is_most_significant():
    assert ta.truth_table("mux", 3).tolist() == [0, 0, 1, 1, 0, 1, 0, 1]  # first chooses: second, else third
    assert ta.multilinear([0, 0, 1, 0]).tolist() == [0, 0, 1, -1]  # x (1 − s): index 2 is {x}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ta.truth_table("nand", 2), "function must be one of 'and'"),
        (lambda: ta.truth_table(None, 2), "function must be one of"),
        (lambda: ta.truth_table("and", 0), "ways must be a whole number from 1 to 16"),
        (lambda: ta.truth_table("and", 2.0), "ways must be"),
        (lambda: ta.truth_table("and", True), "ways must be"),
        (lambda: ta.truth_table("mux", 4), "ways must be 3 for 'mux'"),
        (lambda: ta.is_degenerate([0, 1, 1]), "table must be a truth table of 2\\*\\*p bits"),
        (lambda: ta.is_degenerate([1]), "table must be"),
        (lambda: ta.is_degenerate([[0, 1], [1, 0]]), "table must be"),
        (lambda: ta.is_degenerate("0110"), "table must be"),
        (lambda: ta.is_degenerate(6), "table must be"),
        (lambda: ta.is_degenerate([[0, 1], [1]]), "table must be"),
        (lambda: ta.multilinear([0, 2]), "table must be a truth table of bits"),
        (lambda: ta.multilinear([0, float("nan")]), "table must be a truth table of bits"),
        (lambda: ta.multilinear(["a", "b"]), "table must be a truth table of bits"),
    ],
)
def test_bad_tables_get_one_clear_sentence(call, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
