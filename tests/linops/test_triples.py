"""Triples against the matrix, across the borders of their blocks."""

from itertools import combinations

import numpy as np
import pytest

from tellall.linops import Moments, triples
from tellall.linops.triples import triples as image
from tellall.linops.triples import triples_transposed as back


@pytest.mark.parametrize("d", [0, 2, 3, 4, 5, 6, 9, 13])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_triples_are_products_of_three_rows(d, n):
    rng = np.random.default_rng(d)
    T, s = rng.normal(size=(d, n)), rng.normal(size=n)
    rows = [T[list(choice)].prod(axis=0) for choice in combinations(range(d), 3)]
    matrix = np.array(rows).reshape(len(rows), n)
    y = rng.normal(size=len(rows))
    assert np.allclose(image(T, s), matrix @ s)
    assert np.allclose(back(T, y), matrix.T @ y)


def test_several_blocks_of_people():
    rng = np.random.default_rng(1)
    T = rng.choice([-1.0, 1.0], (7, 300))
    assert len(triples._people(7, 300)) == 1
    narrow = [slice(0, 128), slice(128, 256), slice(256, 384)]
    s, y = rng.normal(size=300), rng.normal(size=35)
    whole = image(T, s), back(T, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triples, "_people", lambda d, n: narrow)
        assert np.allclose(image(T, s), whole[0])
        assert np.allclose(back(T, y), whole[1])


def test_single_precision_stays_single():
    T = np.ones((5, 6), dtype=np.float32)
    operator = Moments(T, 3)
    assert operator.matvec(np.ones(6, dtype=np.float32)).dtype == np.float32
    assert operator.rmatvec(np.ones(10, dtype=np.float32)).dtype == np.float32
    assert operator.matvec(np.ones(6)).dtype == np.float64
