"""Worlds in which nothing about a single person is given away."""

from __future__ import annotations

import numpy as np

import tellall as ta
from tests.worlds.world import Kinds, World, chances, people_of

__all__ = ["ELSEWHERE", "HARMLESS", "POPULATION"]

Rng = np.random.Generator


def one_way(n: int):
    def make(rng: Rng) -> World:
        codes, secret, _ = people_of(rng, n, rng.integers(2, 6, 5), rng.uniform(0.15, 0.5))
        return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(2), ()),))

    return make


def independent(rng: Rng) -> World:
    codes, _, _ = people_of(rng, 600, [2, 2, 2, 3], 0.3)
    secret = (rng.random(600) < rng.uniform(0.2, 0.5)).astype(int)
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(3), ()),))


def private(epsilon: float):
    def make(rng: Rng) -> World:
        codes, secret, _ = people_of(rng, 300, [2] * 6, 0.35)
        people, tables = ta.Dataset.from_arrays(codes, secret), 15
        noise = ta.Laplace(2 * tables / epsilon) if rng.random() < 0.5 else ta.SuLQ(epsilon, 1e-6)
        return World(people, ((ta.Marginals(3), (noise,)),))

    return make


def rare(rng: Rng) -> World:
    codes, secret, _ = people_of(rng, 1000, [2, 3, 2, 3, 2], rng.uniform(0.02, 0.05))
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(2), ()),))


def categories(rng: Rng) -> World:
    codes, _, _ = people_of(rng, 800, [2, 3, 4, 2], 0.3)
    scores = np.stack([np.log(chances(codes, share, rng, 0.6)) for share in (0.4, 0.3, 0.2, 0.1)], axis=1)
    secret = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.Marginals(2), ()),))


def numbers(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and a positive number for everybody that depends on them a little."""
    codes, _, _ = people_of(rng, n, [2, 3, 4, 2], 0.3)
    shift = (codes - codes.mean(axis=0)) @ rng.normal(0, 0.5, codes.shape[1])
    around = rng.normal(0, 2, n) if rng.random() < 0.5 else rng.gamma(2, 1.5, n)
    return codes, np.maximum(0, 20 + shift + around).round(1)


def means(rng: Rng) -> World:
    codes, secret = numbers(rng, 500)
    return World(ta.Dataset.from_arrays(codes, secret), ((ta.CellMeans(2, counts=True), ()),))


def features(rng: Rng, n: int) -> np.ndarray:
    return rng.normal(size=(n, 5)) @ (np.eye(5) + 0.3 * rng.normal(size=(5, 5)))


def regression(rng: Rng) -> World:
    public = features(rng, 400)
    secret = public @ rng.normal(0, 1, 5) + rng.normal(0, 3, 400)
    return World(ta.Dataset.from_arrays(public, secret), ((ta.Estimator("linear", 5, intercept=True), ()),))


def regression_of_bits(loss: str):
    def make(rng: Rng) -> World:
        public = features(rng, 500)
        secret = (rng.random(500) < chances(public, rng.uniform(0.1, 0.5), rng, 1.0)).astype(int)
        return World(ta.Dataset.from_arrays(public, secret), ((ta.Estimator(loss, 5, intercept=True), ()),))

    return make


def accepted(exceptions: float):
    def make(rng: Rng) -> World:
        codes, _, _ = people_of(rng, 800, [2, 2, 2, 2], 0.4)
        codes[:, 0] = rng.random(800) < 0.35
        secret = codes[:, 0] ^ (rng.random(800) < exceptions)
        people = ta.Dataset.from_arrays(codes, secret)
        ways = 2 if exceptions else 3
        return World(people, ((ta.Marginals(ways), ()),), {"accepted_predictors": ("a0",)})

    return make


def others_tables(rng: Rng) -> World:
    codes, secret, chance = people_of(rng, 400, [2, 3, 2, 4, 2], 0.35)
    other = ta.Dataset.from_arrays(codes, (rng.random(400) < chance).astype(int))
    release = ta.publish(other, ta.Marginals(2), rng=int(rng.integers(2**31)))
    return World(ta.Dataset.from_arrays(codes, secret), (release,))


def others_noisy_tables(rng: Rng) -> World:
    codes, secret, chance = people_of(rng, 300, [2, 3, 2, 4, 2], 0.35)
    other = ta.Dataset.from_arrays(codes, (rng.random(300) < chance).astype(int))
    release = ta.publish(other, ta.Marginals(3), ta.Gaussian(2.0), rng=int(rng.integers(2**31)))
    return World(ta.Dataset.from_arrays(codes, secret), (release,))


HARMLESS: Kinds = {
    "one-way tables of 300": one_way(300),
    "one-way tables of 1,000": one_way(1000),
    "independent secrets": independent,
    "privacy at epsilon .5": private(0.5),
    "privacy at epsilon 1": private(1.0),
    "rare secrets": rare,
    "categories": categories,
    "means": means,
    "regressions of numbers": regression,
    "regressions of bits": regression_of_bits("linear"),
    "logistic regressions": regression_of_bits("logistic"),
    "accepted predictors": accepted(0.0),
    "accepted predictors with exceptions": accepted(0.04),
    "other people's tables": others_tables,
    "other people's noisy tables": others_noisy_tables,
}
ELSEWHERE = ("other people's tables", "other people's noisy tables")  # where a tenth may be for review


# What is true of everybody alike, in big groups, and a model of the public columns may miss.


def fact(kind: str):
    def make(rng: Rng) -> World:
        n = 1000
        levels = {"checkerboard": [5, 5], "equal": [4, 4]}.get(kind, [2, 2, 2])
        codes, _, _ = people_of(rng, n, [*levels, *[2] * 5], 0.4)
        a, b, c = codes[:, 0], codes[:, 1], codes[:, 2]
        holds = {
            "two differ": a != b,
            "odd number of three": (a + b + c) % 2 == 1,
            "checkerboard": (a + b) % 2 == 1,
            "equal": a == b,
            "two of three": a + b + c >= 2,
            "rare where two differ": a != b,
        }[kind]
        low, high = (0.03, 0.3) if kind.startswith("rare") else (0.2, 0.75)
        secret = (rng.random(n) < np.where(holds, high, low)).astype(int)
        two = levels != [2, 2, 2] or kind in ("two differ", "rare where two differ")
        table = ta.Marginals(3, [("a0", "a1")]) if two else ta.Marginals(4, [("a0", "a1", "a2")])
        return World(ta.Dataset.from_arrays(codes, secret), ((table, ()),))

    return make


POPULATION: Kinds = {
    kind: fact(kind)
    for kind in (
        "two differ",
        "odd number of three",
        "checkerboard",
        "equal",
        "two of three",
        "rare where two differ",
    )
}
