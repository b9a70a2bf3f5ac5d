from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.linalg.operators.compose import Partition, RowScale, RowSelect, Stack
from tellall.linalg.operators.diagonal import BlockDiagonal
from tellall.linalg.operators.linear_operator import Dense, LinearOperator, written_out
from tellall.linalg.operators.moments import Moments
from tellall.linalg.operators.sparse import Sparse
from tellall.testing import check_operator

sizes = st.integers(0, 7)
seeds = st.integers(0, 10**6)


def factor(kind: str, d: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "real":
        return rng.normal(size=(d, n))
    bits = rng.integers(0, 2, (d, n)).astype(float)
    return bits if kind == "bits" else 2 * bits - 1


@given(st.sampled_from(["real", "bits", "signs"]), sizes, sizes, st.integers(1, 3), seeds)
def test_moments_are_products_of_rows(kind, d, n, order, seed):
    T = factor(kind, d, n, seed)
    operator = Moments(T, order)
    rows = [T[list(choice)].prod(axis=0) for choice in combinations(range(d), order)]
    assert np.allclose(operator.to_dense(), np.array(rows).reshape(operator.shape))
    check_operator(operator, seed=seed)


@given(st.integers(1, 4), sizes, st.integers(1, 6), seeds)
def test_partition_counts_cells(tables, n, cells, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells, (tables, n)) + cells * np.arange(tables)[:, None]
    operator = Partition(codes, tables * cells)
    dense = np.zeros((tables * cells, n))
    for table in range(tables):
        dense[codes[table], np.arange(n)] = 1
    assert np.array_equal(operator.to_dense(), dense)
    check_operator(operator, seed=seed)


@given(sizes, st.integers(1, 5), st.integers(1, 3), seeds)
def test_products_of_indicators_are_written_out_without_zeros(n, columns, order, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (columns, n))
    operator = Moments(np.vstack([codes == value for value in range(4)]).astype(float), order)
    dense = Dense(operator.to_dense())
    assert np.array_equal(operator.to_sparse().toarray(), dense.to_dense())
    assert operator.entries == np.count_nonzero(dense.to_dense())
    check_operator(operator, seed=seed)


@given(sizes, st.integers(1, 5), st.integers(1, 3), seeds)
def test_the_gram_of_every_table_counts_columns_in_common(n, d, k, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, (d, n))
    sets = list(combinations(range(d), min(k, d)))
    codes = np.stack(
        [27 * number + 3 ** np.arange(len(s)) @ columns[list(s)] for number, s in enumerate(sets)]
    )
    plain = Partition(codes, 27 * len(sets))
    operator = Partition(codes, 27 * len(sets), every=(columns, min(k, d)))
    for weights in (None, np.full(operator.shape[0], 0.3), rng.random(operator.shape[0])):
        assert np.allclose(operator.gram(weights), plain.gram(weights))
        some = rng.permutation(n)[: n // 2]
        assert np.allclose(operator.take(some).gram(weights), plain.take(some).gram(weights))
    check_operator(operator, seed=seed)


@given(seeds, st.integers(0, 6), st.integers(0, 6))
def test_sparse_is_its_matrix(seed, m, n):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.3)
    operator = Sparse(matrix)
    assert np.array_equal(operator.to_dense(), matrix)
    assert operator.to_sparse().nnz == np.count_nonzero(matrix)
    check_operator(operator, seed=seed)


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_composed_operators_obey_the_laws(seed, m, n):
    rng = np.random.default_rng(seed)
    dense = Dense(rng.normal(size=(m, n)))
    moments = Moments(rng.normal(size=(3, n)), 2)
    index = rng.integers(0, m, 5)
    stack = Stack([dense, moments, RowSelect(dense, index)])
    scaled = RowScale(stack, rng.normal(size=stack.shape[0]))
    blocks = BlockDiagonal([dense, moments, dense])
    for operator in (
        blocks,
        blocks.take(rng.permutation(3 * n)[: 2 * n]),
        dense,
        stack,
        RowSelect(dense, index),
        scaled,
        scaled.T,
        RowSelect(scaled, [0, 0]),
    ):
        check_operator(operator, seed=seed)
    assert np.allclose(RowSelect(dense, index).to_dense(), dense.matrix[index])


def test_factors_of_single_precision_keep_all_digits_when_written_out():
    """A third has eight digits in single precision, which equations that follow from it would multiply."""
    bits = factor("bits", 4, 9, 1).astype(np.float32)
    scaled = RowScale(Dense(bits), [1 / 3, 0.1, 0.7, 1 / 7])
    for operator in (
        scaled,
        RowScale(Moments(bits, 2), np.full(6, 1 / 3)),
        RowSelect(scaled, [2, 0]),
        Stack([scaled, scaled]),
        BlockDiagonal([scaled, scaled]),
        scaled.T,
    ):
        check_operator(operator, tolerance=1e-14)


def test_the_generic_gram_and_transpose_agree_with_the_closed_forms():
    operator = Moments(np.random.default_rng(0).normal(size=(5, 9)), 3)
    assert np.allclose(LinearOperator.gram(operator), operator.gram())
    weights = np.random.default_rng(1).uniform(size=operator.shape[0])
    assert np.allclose(LinearOperator.gram(operator, weights), operator.gram(weights))
    assert operator.T.T is operator


def test_signs_have_the_textbook_gram():
    T = factor("signs", 6, 8, 3)
    G = T.T @ T
    assert np.array_equal(Moments(T, 2).gram(), (G**2 - 6) / 2)
    assert np.array_equal(Moments(T, 3).gram(), (G**3 - 3 * 6 * G + 2 * G) / 6)


def test_equal_weights_on_the_rows_that_matter_use_the_closed_form():
    indicators = np.array([[1.0, 0, 1, 0], [0, 1.0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    operator = Moments(indicators, 2)  # rows (0, 1) and (2, 3) are zero
    weights = np.array([7.0, 2, 2, 2, 2, 9.0])
    assert operator._common_weight(weights) == 2.0
    dense = operator.to_dense()
    assert np.array_equal(operator.gram(weights), dense.T @ (dense * weights[:, None]))


def test_single_precision_stays_single_and_counts_exactly():
    T = factor("bits", 12, 50, 0).astype(np.float32)
    operator = Moments(T, 2)
    s = np.random.default_rng(1).integers(0, 2, 50).astype(np.float32)
    assert operator.matvec(s).dtype == np.float32
    assert np.array_equal(operator.matvec(s), operator.to_dense() @ s)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Moments(np.zeros(3), 2), "factor"),
        (lambda: Moments(np.zeros((3, 3)), 4), "order must be 1, 2 or 3; got 4"),
        (lambda: Dense(np.zeros(3)), "matrix"),
        (lambda: Sparse(np.zeros(3)), "matrix"),
        (lambda: Partition([[0, 5]], 3), "codes"),
        (lambda: Partition([[0.5]], 3), "codes"),
        (lambda: Stack([]), "operators"),
        (lambda: Stack([Dense(np.zeros((1, 2))), Dense(np.zeros((1, 3)))]), "operators"),
        (lambda: RowSelect(Dense(np.zeros((2, 2))), [2]), "index"),
        (lambda: RowScale(Dense(np.zeros((2, 2))), [1.0]), "scale"),
        (lambda: Dense(np.zeros((2, 2))) @ np.zeros(3), "right-hand side"),
        (lambda: Dense(np.zeros((2, 2))) @ np.array(["a", "b"]), "right-hand side"),
    ],
)
def test_bad_operators_are_refused_in_one_sentence(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


def test_small_operators_are_written_out_and_large_ones_are_not():
    rng = np.random.default_rng(3)
    parts = [Moments(rng.integers(0, 2, (7, 40)).astype(float), order) for order in (1, 2, 3)]
    small = RowScale(Stack(parts), rng.random(63))
    written = written_out(small)
    assert isinstance(written, Dense)
    np.testing.assert_array_equal(written.to_dense(), small.to_dense())
    assert written_out(written) is written
    large = Moments(rng.integers(0, 2, (200, 60)).astype(float), 2)
    assert written_out(large) is large
