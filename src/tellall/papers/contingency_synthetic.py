"""contingency-tables, Appendix A: synthetic data drawn with exponential weights, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from tellall.papers.claims import Array, Joined, NamedCase
from tellall.papers.contingency_bounds import vc_dimension

__all__ = [
    "drawn_with",
    "histograms",
    "synthetic_data",
]

Rng = np.random.Generator
_ATTRIBUTES, _EPSILON = 2, 1.0
_SIZES = (8, 16, 32, 48)
_BETA = 0.2


def synthetic_data(rng: Rng) -> Iterator[NamedCase]:
    """Theorem A.2 and Proposition A.3 for tables of two attributes; nothing here is random."""
    constant, loss, per_k = 0.0, 0.0, {}
    rows = 0
    for k in (1, 2):
        dimension, values = vc_dimension(_ATTRIBUTES, k), []
        for n in _SIZES:
            alpha = min(0.5, (dimension * _ATTRIBUTES / (_EPSILON * n)) ** (1 / 3))
            rows = math.ceil(2 / alpha**2)
            chance, off, squares = drawn_with(n, rows, k)
            worst = _kept(chance, off)
            needed = dimension * _ATTRIBUTES * math.log(1 / worst) / (worst**3 * _EPSILON)
            constant = max(constant, n / (needed + math.log(1 / _BETA) / (_EPSILON * worst)))
            error = float(max(np.einsum("do,do->d", chance, one).max() for one in squares)) * n * n
            values.append(error / (n * n * dimension * _ATTRIBUTES / _EPSILON) ** (2 / 3))
            if n == _SIZES[0]:
                loss = max(loss, _loss(chance, n) / _EPSILON)
        per_k[k] = values
    words = {"d": _ATTRIBUTES, "epsilon": _EPSILON, "size": "2/α²", "sizes": Joined(_SIZES), "beta": _BETA}
    yield "synthetic privacy", {"value": loss, "n": _SIZES[0], **words}
    yield "synthetic use", {"value": constant, **words}
    for k, values in per_k.items():
        numbers = {"values": Joined(values), "value": values[-1], "bound": 2 * values[0]}
        yield "synthetic error", {"k": k, **numbers, **words}


def histograms(rows: int) -> Array:
    """Every database of so many rows with two attributes, by how often each of the four rows comes."""
    grid = np.indices((rows + 1,) * 3).reshape(3, -1)
    some = grid[:, grid.sum(axis=0) <= rows]
    return np.vstack([some, rows - some.sum(axis=0)]).T.astype(np.float64)


def drawn_with(n: int, rows: int, k: int) -> tuple[Array, Array, list[Array]]:
    """The chance of every synthetic database (columns) for every database (rows), and how far it is off.

    The second is the largest error of a share, the third the squared errors, one array for each predicate.
    """
    points = list(product((0, 1), repeat=_ATTRIBUTES))
    predicates = np.array(
        [
            [float(all(point[j] == bit for j, bit in zip(some, bits, strict=True))) for point in points]
            for some in combinations(range(_ATTRIBUTES), k)
            for bits in product((0, 1), repeat=k)
        ]
    )
    real, made = (histograms(size) @ predicates.T / size for size in (n, rows))
    apart = [np.abs(real[:, j, None] - made[None, :, j]) for j in range(len(predicates))]
    off = np.max(apart, axis=0)
    ways = np.array([-sum(map(math.lgamma, one + 1)) for one in histograms(rows)])
    logs = ways - _EPSILON * n * off / 2  # a row replaced moves a share by 1/n at most
    chance = np.exp(logs - logs.max(axis=1)[:, None])
    return chance / chance.sum(axis=1)[:, None], off, [one**2 for one in apart]


def _kept(chance: Array, off: Array) -> float:
    """What the largest error stays within with probability 1 − β, on the worst database."""
    order = np.argsort(off, axis=1)
    within = np.cumsum(np.take_along_axis(chance, order, axis=1), axis=1)
    place = np.minimum((within < 1 - _BETA).sum(axis=1), off.shape[1] - 1)
    return float(np.take_along_axis(np.take_along_axis(off, order, axis=1), place[:, None], axis=1).max())


def _loss(chance: Array, n: int) -> float:
    """The largest |log ratio| of the chances of one answer on two databases that differ in a row."""
    real = histograms(n)
    place = {tuple(one): index for index, one in enumerate(real)}
    largest = 0.0
    for index, one in enumerate(real):
        for gone, come in product(range(4), repeat=2):
            if gone != come and one[gone]:
                other = one.copy()
                other[gone] -= 1
                other[come] += 1
                ratio = np.log(chance[index] / chance[place[tuple(other)]])
                largest = max(largest, float(np.abs(ratio).max()))
    return largest
