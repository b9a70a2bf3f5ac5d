"""Solving through the rows gives what solving through the unknowns gives."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tellall.linalg.operators.compose import DistinctRows, Partition, RowFactor, RowScale, RowSelect, Stack
from tellall.linalg.operators.linear_operator import Dense
from tellall.linalg.solvers.least_squares import BoxProblem, LeastSquares, _Factorised, _RowSide


def tables(seed, n=60, count=4, cells=15):
    rng = np.random.default_rng(seed)
    codes = np.stack([cells * table + rng.integers(0, cells, n) for table in range(count)])
    counts = Partition(codes, count * cells)
    twice = RowSelect(counts, np.repeat(np.arange(count * cells), 2))
    return RowScale(twice, np.tile([-1.0, 1.0], count * cells))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.booleans())
def test_the_inverse_is_the_inverse(seed, sparse):
    rng = np.random.default_rng(seed)
    operator = tables(seed, cells=30) if sparse else Dense(rng.normal(size=(9, 60)))
    matrix = operator.to_dense()
    weights, precision = rng.uniform(0, 3, matrix.shape[0]), rng.uniform(0.5, 4, matrix.shape[1])
    rows = DistinctRows.of(operator)
    assert rows.sparse == sparse
    factor = RowFactor(rows, rows.gather(weights), precision)
    inverse = np.linalg.inv(matrix.T @ (matrix * weights[:, None]) + np.diag(precision))
    right = rng.normal(size=60)
    assert np.allclose(factor.solve(right), inverse @ right)
    assert np.allclose(factor.diagonal, np.diag(inverse))
    shares = weights * np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
    assert np.allclose(factor.shares, rows.gather(shares))


def test_yes_and_no_cells_are_one_row():
    operator = tables(0)
    rows = DistinctRows.of(operator)
    assert len(rows) <= operator.shape[0] / 2 + 1
    back = rows.sign[:, None] * rows.matrix.toarray()[rows.index]
    assert np.array_equal(back, operator.to_dense())


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_least_squares_in_a_box_is_the_same_on_either_side(seed):
    rng = np.random.default_rng(seed)
    operator = tables(seed, n=160, cells=12)
    m, n = operator.shape
    truth = (rng.random(n) < 0.3).astype(float)
    target = operator @ truth + rng.normal(0, 1, m)
    problem = BoxProblem(
        operator, rng.uniform(0.1, 2, m), rng.uniform(1, 5, n), np.full(n, 0.3), np.zeros(n), np.ones(n)
    )
    one = LeastSquares(row_side=1).prepare(problem)
    other = LeastSquares(row_side=10**9).prepare(problem)
    assert isinstance(one, _RowSide)
    assert isinstance(other, _Factorised)
    assert np.allclose(one.solve(target).value, other.solve(target).value, atol=1e-6)
    for here, there in zip(one.posterior(target, rng=rng), other.posterior(target, rng=rng), strict=True):
        assert np.allclose(here, there)


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_entries_are_never_fewer_than_those_that_are_not_zero(seed):
    operator = tables(seed, n=20)
    for each in (operator, Stack([operator, Dense(np.ones((2, 20)))]), operator.take(np.arange(5))):
        assert each.entries >= np.count_nonzero(each.to_dense())
    assert operator.entries == np.count_nonzero(operator.to_dense())


def test_few_rows_are_factorised_on_their_side_though_they_are_not_sparse():
    rng = np.random.default_rng(0)
    m, n = 20, 600
    operator = Dense(rng.normal(size=(m, n)))
    target = operator @ (rng.random(n) < 0.4).astype(float)
    problem = BoxProblem(
        operator, rng.uniform(0.1, 2, m), rng.uniform(1, 5, n), np.full(n, 0.4), np.zeros(n), np.ones(n)
    )
    one, other = LeastSquares().prepare(problem), LeastSquares(row_side=10**9).prepare(problem)
    assert isinstance(one, _RowSide)
    assert isinstance(other, _Factorised)
    assert np.allclose(one.solve(target).value, other.solve(target).value, atol=1e-5)
    for here, there in zip(one.posterior(target, rng=rng), other.posterior(target, rng=rng), strict=True):
        assert np.allclose(here, there)


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_cells_of_tables_fall_into_blocks(seed):
    operator = tables(seed, n=200, cells=20)
    rows = DistinctRows.of(operator)
    assert rows.blocks is not None
    assert rows.blocks.start.size == 5  # a block for each of four tables
    some = np.sort(np.random.default_rng(seed).permutation(200)[:150])
    few = np.arange(0, 150, 2)
    for part in (rows, rows.take(some), rows.take(some).take(few)):
        rng = np.random.default_rng(seed)
        weight, scale = rng.uniform(0, 2, len(rows)), rng.uniform(0, 2, part.matrix.shape[1])
        matrix = weight[:, None] * part.matrix.toarray()
        assert np.allclose(part.blocks.outer(weight, scale), np.triu((matrix * scale) @ matrix.T))
        inner = rng.normal(size=(len(rows), len(rows)))
        inner += inner.T
        found = part.blocks.quadratic(weight, np.triu(inner))
        assert np.allclose(found, np.einsum("ip,ij,jp->p", matrix, inner, matrix))


def test_rows_that_share_unknowns_or_differ_within_have_no_blocks():
    rng = np.random.default_rng(0)
    scattered = Dense((rng.random((300, 200)) < 0.03).astype(float))
    assert DistinctRows.of(scattered).blocks is None
    assert DistinctRows.of(RowScale(tables(0, cells=20), np.ones(160))).blocks is not None
    uneven = Dense(tables(0, cells=20).to_dense() * rng.uniform(1, 2, 60))
    assert DistinctRows.of(uneven).blocks is None


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.sampled_from([3, 20]))
def test_rows_too_many_to_be_written_out_are_kept_in_blocks(seed, cells):
    """The same numbers, from pieces of the matrix, where cells are few and where they are many."""
    from unittest.mock import patch

    from tellall.linalg.operators import compose
    from tellall.linalg.operators import row_blocks as blocks

    operator, rng = tables(seed, n=300, count=5, cells=cells), np.random.default_rng(seed)
    usual = DistinctRows.of(operator)
    small = patch.multiple(blocks, _WRITTEN=100, _FEW=64, _CHUNK=64, SHARED=0)
    with patch.object(compose, "MOST_ENTRIES", 0), small:
        kept = [DistinctRows.within_reach(operator)]
        with patch.object(compose, "MOST_PLACES", 10):  # too many for blocks, few enough for pieces
            kept.append(DistinctRows.within_reach(operator))
            with patch.object(compose, "MOST_PRODUCTS", 10):
                assert DistinctRows.within_reach(operator) is None
        assert [type(each.blocks) for each in kept] == [blocks.RowBlocks, blocks.WideRows]
        assert kept[0].blocks.dense == (cells == 3)
        some = np.sort(rng.permutation(300)[:200])
        weights, precision = rng.uniform(0, 2, len(usual)), rng.uniform(0.5, 4, 300)
        for few, each in itertools.product((np.arange(300), some), kept):
            assert each.matrix is None
            assert len(each) == len(usual)
            one = RowFactor(usual.take(few), weights, precision[few])
            other = RowFactor(each.take(few), weights, precision[few])
            right = rng.normal(size=few.size)
            assert np.allclose(one.solve(right), other.solve(right))
            assert np.allclose(one.diagonal, other.diagonal)
            assert np.allclose(one.shares, other.shares)
        inner = rng.normal(size=(len(usual), len(usual)))
        values = [each.blocks.quadratic(weights, inner) for each in kept]
        assert np.allclose(*values)
        dense = DistinctRows.within_reach(Dense(rng.normal(size=(9, 60))))
        assert isinstance(dense.blocks, blocks.WideRows)


@settings(max_examples=6)
@given(st.integers(0, 10**6))
def test_a_box_over_rows_kept_in_blocks_has_the_same_minimiser(seed):
    from unittest.mock import patch

    from tellall.linalg.operators import compose

    rng = np.random.default_rng(seed)
    operator = tables(seed, n=300, count=5, cells=20)
    m, n = operator.shape
    target = operator @ (rng.random(n) < 0.3).astype(float) + rng.normal(0, 1, m)
    problem = BoxProblem(
        operator, rng.uniform(0.1, 2, m), rng.uniform(1, 5, n), np.full(n, 0.3), np.zeros(n), np.ones(n)
    )
    wanted = LeastSquares(row_side=10**9).prepare(problem)
    with patch.object(compose, "MOST_ENTRIES", 0):
        kept = LeastSquares(row_side=1).prepare(problem)
        assert isinstance(kept, _RowSide)
        assert kept.rows.matrix is None
        found = kept.solve(target)
    assert found.status.settled
    assert np.allclose(found.value, wanted.solve(target).value, atol=1e-5)
    for one, other in zip(kept.posterior(target, rng=rng), wanted.posterior(target, rng=rng), strict=True):
        assert np.allclose(one, other)
