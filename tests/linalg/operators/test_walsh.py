from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.linalg.operators.walsh import cells, inner_products, moebius, subset_sums, variables

functions = st.integers(0, 5).flatmap(
    lambda k: st.lists(st.integers(-9, 9), min_size=2**k, max_size=2**k).map(np.array)
)


@given(functions)
def test_the_polynomial_takes_the_values_of_the_function(values):
    k = variables(values.size)
    coefficients = moebius(values)
    for index, point in enumerate(product((0, 1), repeat=k)):
        monomials = [
            np.prod([x for x, used in zip(point, subset, strict=True) if used])
            for subset in product((0, 1), repeat=k)
        ]
        assert coefficients @ np.array(monomials, dtype=int) == values[index]
    assert np.array_equal(subset_sums(coefficients), values)


@given(functions)
def test_inner_products_are_signed_sums_of_cells(counts):
    k = variables(counts.size)
    points = np.array(list(product((0, 1), repeat=k)), dtype=int).reshape(2**k, k)
    for index, subset in enumerate(points.astype(bool)):
        signs = (2 * points[:, subset] - 1).prod(axis=1)
        assert inner_products(counts)[index] == signs @ counts
    assert np.array_equal(cells(inner_products(counts)), counts)


def test_many_tables_at_once_and_unsigned_counts():
    tables = np.arange(12, dtype=np.uint8)[::-1].reshape(3, 4)
    assert np.array_equal(inner_products(tables), [inner_products(table) for table in tables])
    assert inner_products(tables).min() < 0  # the sign bit is not lost


def test_white_noise_in_cells_has_variance_2_to_the_k_in_inner_products():
    transform = inner_products(np.eye(8))
    assert np.array_equal(transform @ transform.T, 8 * np.eye(8))


def test_a_length_that_is_no_power_of_two_is_refused():
    with pytest.raises(InvalidInput, match="a power of two"):
        moebius([1, 2, 3])


def test_golden_inner_products(golden):
    for case in golden["marginals_inner_products"]:
        k = len(case["J"])
        counts = [case["cells"]["".join(map(str, bits))] for bits in product((0, 1), repeat=k)]
        names = [
            ",".join(str(j) for j, used in zip(case["J"], subset, strict=True) if used) or "empty"
            for subset in product((0, 1), repeat=k)
        ]
        products = inner_products(counts)
        assert dict(zip(names, products.tolist(), strict=True)) == case["inner_products"]
        assert cells(products).tolist() == counts
