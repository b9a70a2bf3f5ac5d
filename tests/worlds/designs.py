"""Designs of many kinds, in which sure guesses must be right as often as the attack says."""

from __future__ import annotations

import numpy as np

import tellall as ta
from tests.worlds.leaking import adversary, small_areas
from tests.worlds.world import Kinds, World, chances, people_of

__all__ = ["DESIGNS"]

Rng = np.random.Generator


def tables(n: int, levels: tuple[int, ...], ways: int, *protections: ta.Protection, usual: float = 0.35):
    def make(rng: Rng) -> World:
        codes, secret, _ = people_of(rng, n, levels, usual, 1.5)
        return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(ways), protections),))

    return make


def values(n: int, count: int, *protections: ta.Protection):
    def make(rng: Rng) -> World:
        codes, _, _ = people_of(rng, n, [2] * 8, 0.4)
        scores = [np.log(chances(codes, 1 / (2 + value), rng, 1.5)) for value in range(count)]
        secret = (np.stack(scores, axis=1) + rng.gumbel(size=(n, count))).argmax(axis=1)
        return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(3), protections),))

    return make


def subsets(rng: Rng) -> World:
    people = ta.Dataset.from_arrays(np.arange(80)[:, None], rng.integers(0, 2, 80))
    counts = ta.SubsetCounts(rng.integers(0, 2, (160, 80)))
    return World(people, ((counts, (ta.Gaussian(2.0),)),))


def noisy_regressions(rng: Rng) -> World:
    people = ta.Dataset.from_arrays(rng.normal(size=(80, 60)), rng.integers(0, 2, 80))
    return World(people, ((ta.Estimator("linear", block=6), (ta.Gaussian(0.02),)),))


DESIGNS: Kinds = {
    "pairs, exact": tables(100, (2,) * 9, 3),
    "pairs, noise of .5": tables(100, (2,) * 9, 3, ta.Gaussian(0.5)),
    "pairs, noise of 1": tables(100, (2,) * 9, 3, ta.Gaussian(1.0)),
    "pairs, noise of 2": tables(100, (2,) * 9, 3, ta.Gaussian(2.0)),
    "threes, noise of 2": tables(100, (2,) * 9, 4, ta.Gaussian(2.0)),
    "threes, Laplace noise": tables(100, (2,) * 9, 4, ta.Laplace(1.5)),
    "pairs, geometric noise": tables(100, (2,) * 9, 3, ta.Geometric(1.0)),
    "pairs, rounded to 3": tables(100, (2,) * 9, 3, ta.Rounding(3)),
    "pairs, rounded to 5": tables(100, (2,) * 11, 3, ta.Rounding(5)),
    "pairs, under 5 hidden": tables(150, (2,) * 7, 3, ta.Suppression(5)),
    "threes, under 10 hidden, rounded to 5": tables(200, (2,) * 7, 4, ta.Suppression(10), ta.Rounding(5)),
    "pairs of four values, noise of 1": tables(150, (4,) * 5, 3, ta.Gaussian(1.0)),
    "rare secret, noise of 1": tables(200, (2,) * 9, 3, ta.Gaussian(1.0), usual=0.05),
    "three values, exact": values(80, 3),
    "three values, noise of 1": values(80, 3, ta.Gaussian(1.0)),
    "small areas, exact": small_areas(240, 6, 6),
    "small areas, rounded to 3": small_areas(240, 6, 6, ta.Rounding(3)),
    "predicted from outside, noise of 1": adversary((ta.Gaussian(1.0),)),
    "counts of subsets": subsets,
    "regressions with noise": noisy_regressions,
}
