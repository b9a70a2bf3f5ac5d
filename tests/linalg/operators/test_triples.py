"""Triples against the matrix, across the borders of their blocks, wherever the arrays are."""

from itertools import combinations

import array_api_strict as strict
import numpy as np
import pytest

from tellall.linalg.operators import moments
from tellall.linalg.operators.linear_operator import HOST, Device
from tellall.linalg.operators.moments import Moments, Packed

ELSEWHERE = Device("strict", strict, strict.Device("device1"), home=strict.Device("CPU_DEVICE"))


def products(T):
    rows = [T[list(choice)].prod(axis=0) for choice in combinations(range(len(T)), 3)]
    return np.array(rows).reshape(len(rows), T.shape[1])


@pytest.mark.parametrize("d", [0, 1, 2, 3, 4, 5, 6, 9, 13])
@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("device", [HOST, ELSEWHERE], ids=["here", "elsewhere"])
def test_triples_are_products_of_three_rows(d, n, device):
    rng = np.random.default_rng(d)
    T, s = rng.normal(size=(d, n)), rng.normal(size=n)
    matrix = products(T)
    y = rng.normal(size=len(matrix))
    operator = Moments(device.put(T), 3, device=device)
    assert np.allclose(device.get(operator.matvec(device.put(s))), matrix @ s)
    assert np.allclose(device.get(operator.rmatvec(device.put(y))), matrix.T @ y)


@pytest.mark.parametrize("device", [HOST, ELSEWHERE], ids=["here", "elsewhere"])
@pytest.mark.parametrize("packed", [False, True])
def test_several_blocks_of_people(device, packed, monkeypatch):
    rng = np.random.default_rng(1)
    T = rng.choice([-1.0, 1.0], (7, 300))
    s, y = rng.normal(size=300), rng.normal(size=35)
    factor = Packed.of(T).on(device) if packed else device.put(T)
    operator, matrix = Moments(factor, 3, device=device), products(T)
    assert moments._width(device, 7) >= 300
    for width in (300, 128, 7):
        monkeypatch.setattr(moments, "_width", lambda device, d, width=width: width)
        assert np.allclose(device.get(operator.matvec(device.put(s))), matrix @ s)
        assert np.allclose(device.get(operator.rmatvec(device.put(y))), matrix.T @ y)


def test_every_triple_has_one_place():
    for d in range(12):
        there = moments.spread(d)[moments.gathered(d)]
        assert there.tolist() == list(range(len(list(combinations(range(d), 3)))))


def test_single_precision_stays_single():
    T = np.ones((5, 6), dtype=np.float32)
    operator = Moments(T, 3)
    assert operator.matvec(np.ones(6, dtype=np.float32)).dtype == np.float32
    assert operator.rmatvec(np.ones(10, dtype=np.float32)).dtype == np.float32
    assert operator.matvec(np.ones(6)).dtype == np.float64
