"""Worlds in which single people are given away, and the designs of an adversary who knows what we measure."""

from __future__ import annotations

import numpy as np

import tellall as ta
from tests.conftest import random_people
from tests.worlds.world import Kinds, World, chances, people_of

__all__ = ["ADVERSARY", "LEAKS", "areas_of"]

Rng = np.random.Generator


def exact(n: int, columns: int, ways: int, *protections: ta.Protection):
    def make(rng: Rng) -> World:
        people = random_people(n, columns, int(rng.integers(2**31)))
        return World(people, ((ta.Marginals(ways), protections),))

    return make


def alone_in_cells(rng: Rng) -> World:
    codes, secret, _ = people_of(rng, 400, [4, 5, 6, 3], 0.2)
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(5), ()),))


def one_person_apart(rng: Rng) -> World:
    """Two tables of the same columns, one without a single person who has the secret."""
    codes, secret, _ = people_of(rng, 300, [2, 3, 2], 0.3)
    left = np.ones(300, dtype=int)
    left[np.flatnonzero(secret)[0]] = 0
    people = ta.Dataset.from_arrays(codes, secret)
    tables = ta.Marginals(2)
    return World(people, (ta.publish(people, tables), ta.publish(people, tables, where=left)))


def regressions(rng: Rng) -> World:
    people = ta.Dataset.from_arrays(rng.normal(size=(60, 80)), rng.integers(0, 2, 60))
    return World(people, ((ta.Estimator("linear", block=8), ()),))


def categories(rng: Rng) -> World:
    codes, _, _ = people_of(rng, 80, [2] * 9, 0.4)
    return World(ta.Dataset.from_arrays(codes, rng.integers(0, 3, 80)), ((ta.Marginals(3), ()),))


def sums(rng: Rng) -> World:
    codes, _, _ = people_of(rng, 60, [2] * 9, 0.4)
    return World(ta.Dataset.from_arrays(codes, rng.gamma(2, 5, 60).round(2)), ((ta.Sums(3), ()),))


def partitions(rng: Rng, n: int, size: int, tables: int) -> np.ndarray:
    """For each table the area of everybody: areas of this many people, drawn anew."""
    areas = np.arange(n) // size
    return np.stack([rng.permutation(areas) for _ in range(tables)], axis=1)


def small_areas(n: int, size: int, tables: int, *protections: ta.Protection):
    def make(rng: Rng) -> World:
        areas = partitions(rng, n, size, tables)
        secret = (rng.random(n) < 0.3).astype(int)
        table = ta.Marginals(2, [(f"a{index}",) for index in range(tables)])
        return World(ta.Dataset.from_arrays(areas, secret), ((table, protections),))

    return make


LEAKS: Kinds = {
    "exact tables by pairs": exact(60, 14, 3),
    "exact tables by threes": exact(80, 8, 4),
    "tables with noise of 1": exact(60, 14, 3, ta.Gaussian(1.0)),
    "tables rounded to 5": exact(60, 14, 3, ta.Rounding(5)),
    "small counts hidden, rounded to 5": exact(100, 9, 4, ta.Suppression(10), ta.Rounding(5)),
    "people alone in cells": alone_in_cells,
    "one person apart": one_person_apart,
    "ten regressions": regressions,
    "categories by pairs": categories,
    "sums by pairs": sums,
    "six tables of areas of 6": small_areas(240, 6, 6),
}


def areas_of(
    rng: Rng, n: int = 400, size: int = 20, tables: int = 4
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Four bits that predict the secret well and are in no table, areas that are, and the secret."""
    bits = rng.integers(0, 2, (n, 4))
    secret = (rng.random(n) < chances(bits, 0.4, rng, 3.0)).astype(int)
    return np.hstack([bits, partitions(rng, n, size, tables)]), secret, [4 + index for index in range(tables)]


def adversary(protections: tuple[ta.Protection, ...], size: int = 20, tables: int = 4):
    def make(rng: Rng) -> World:
        public, secret, areas = areas_of(rng, size=size, tables=tables)
        table = ta.Marginals(2, [(f"a{index}",) for index in areas])
        return World(ta.Dataset.from_arrays(public, secret), ((table, protections),))

    return make


ADVERSARY: Kinds = {
    "exact": adversary(()),
    "noise of 1": adversary((ta.Gaussian(1.0),)),
    "Laplace noise of scale .7": adversary((ta.Laplace(0.7),)),
    "geometric noise of scale .7": adversary((ta.Geometric(0.7),)),
    "rounded to 3": adversary((ta.Rounding(3),)),
    "rounded to 5": adversary((ta.Rounding(5),)),
}
