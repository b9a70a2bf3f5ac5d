"""Worlds whose values are exact or bounded: a posterior may be sure of one of several secrets that fit."""

from __future__ import annotations

import itertools

import numpy as np

import tellall as ta
from tests.worlds.leaking import partitions
from tests.worlds.world import World, chances, people_of

__all__ = ["bounded"]

PROTECTIONS: dict[str, tuple[ta.Protection, ...]] = {
    "exact": (),
    "rounded to 3": (ta.Rounding(3),),
    "rounded to 5": (ta.Rounding(5),),
    "under 5 hidden": (ta.Suppression(5),),
    "under 10 hidden, rounded to 5": (ta.Suppression(10), ta.Rounding(5)),
}


def bounded(seed: int) -> World:
    """Tables of pairs, threes, areas or three values, as many as nearly determine the secrets, or fewer."""
    rng = np.random.default_rng([seed, 15])
    names = list(PROTECTIONS)
    protection = PROTECTIONS[names[[0, 0, 1, 2, 3, 4][int(rng.choice(6))]]]
    usual, size = float(rng.choice([0.1, 0.2, 0.35, 0.5])), float(rng.choice([0, 0, 1.5, 3]))
    shape, n = ["pairs", "threes", "areas", "values"][int(rng.choice(4))], int(rng.integers(50, 260))
    if shape == "areas":
        people, count = int(rng.choice([4, 6, 8, 10, 15])), int(rng.integers(3, 10))
        codes = partitions(rng, n // people * people, people, count)
        secret = (rng.random(len(codes)) < usual).astype(int)
        tables = ta.Marginals(2, [(f"a{each}",) for each in range(count)])
        return World(ta.Dataset.from_arrays(codes, secret), ((tables, protection),))
    columns, ways = int(rng.integers(7, 13)), 3 if shape == "threes" else 2
    levels = [int(each) for each in rng.choice([2, 2, 2, 3], columns)]
    codes, secret, _ = people_of(rng, n, levels, usual, size)
    if shape == "values":
        scores = [np.log(chances(codes, 1 / (2 + value), rng, 1.0)) for value in range(3)]
        secret = (np.stack(scores, axis=1) + rng.gumbel(size=(n, 3))).argmax(axis=1)
    sets = list(itertools.combinations(range(columns), ways))
    count = int(rng.integers(max(3, len(sets) // 6), min(len(sets), 60) + 1))
    chosen = np.sort(rng.choice(len(sets), min(count, len(sets)), replace=False))
    named = [tuple(f"a{column}" for column in sets[each]) for each in chosen]
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(ways + 1, named), protection),))
