"""linear-reconstruction: random people, what is published about them, and the two attacks of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.operators.rowfunction import RowFunction
from tellall.algebra.solvers.least_absolute import AbsoluteProblem, LeastAbsolute
from tellall.attack.reconstruct.attack import reconstruct
from tellall.papers.simulated import attributes_for, share_of
from tellall.people.dataset import Dataset
from tellall.release.equations import Evidence
from tellall.release.linearise import linearise
from tellall.release.protections.additive import Gaussian
from tellall.release.protections.law import Noise
from tellall.release.release import Release
from tellall.release.statistics.base import Statistic
from tellall.release.statistics.boolean import is_degenerate
from tellall.release.statistics.error_rates import ErrorRates
from tellall.release.statistics.estimators import Estimator
from tellall.release.statistics.marginals import Marginals
from tellall.release.statistics.predicates import Predicates
from tellall.release.statistics.subset_counts import SubsetCounts
from tellall.report.paper import Statement

__all__ = [
    "COUNTED",
    "F2",
    "FITTED",
    "KINDS",
    "SHARES",
    "Published",
    "bits_of",
    "coins",
    "held",
    "lp",
    "plain_least_squares",
    "published",
    "random_function",
    "wrong_share",
]

COUNTED = ("random subsets", "3-way tables", "xor", "or", "majority", "random function")
FITTED = ("trees' error rates", "linear", "logistic", "log-cosh", "Poisson", "linear, products")
KINDS = (*COUNTED, *FITTED)
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # noise, of √n people
F2 = {"or": (1, 0, 0, 0), "majority": (0, 1, 1, 0), "xor": (1, -1, -1, 1)}  # what the secret adds, k = 2
_EXACT = 10**9  # entries: so many go to HiGHS
_NEAR, _FAR = 50.0, 1e4  # so far beyond the bits is no box
_MANY = 10  # runs from which an interval over runs says something
_DEPTH = 3  # of the trees


@dataclass(frozen=True, eq=False)
class Published:
    """A statistic of random people, computed once, to be released with many draws of noise.

    Attributes
    ----------
    unit
        Noise that is worth √n people in one published value: √n for counts, 1/√n for fractions and for
        coefficients.
    """

    name: str
    people: Dataset
    statistic: Statistic
    values: Array
    unit: float

    def release(self, share: float, rng: np.random.Generator) -> Release:
        """The values with normal noise of `share` times the unit."""
        noise: Noise | None = Gaussian(share * self.unit) if share else None
        values = self.values if noise is None else noise.perturb(self.values, rng)
        return Release.from_values(self.statistic, values, public=self.people, noise=noise)

    def right(self, share: float, rng: np.random.Generator) -> float:
        """The share of bits that tellall's least squares gets right at this noise."""
        found = reconstruct(self.release(share, rng), self.people.public, decoder="least-squares", rng=rng)
        return float((found.guess == self.people.bits).mean())

    def evidence(self) -> Evidence:
        """The equations of the exact release."""
        return linearise(Release.from_values(self.statistic, self.values, public=self.people), self.people)


def published(name: str, n: int, sets: int, rng: np.random.Generator) -> Published:
    """A statistic of n random people over `sets` sets of attributes (subsets of people, columns, trees).

    Notes
    -----
    Attributes are fair coins, columns of regressions uniform on [−1, 1] (τ-random, Definition 7), secrets
    fair coins. Tables and functions of two attributes and the secret are over `sets` pairs of the least
    number of attributes that has so many; "linear, products" regresses on the products of those pairs.
    """
    secret = bits_of(n, rng)
    if name in COUNTED:
        people, statistic = _counted(name, n, sets, secret, rng)
        return Published(name, people, statistic, statistic.values(people), math.sqrt(n))
    people, statistic = _fitted(name, n, sets, secret, rng)
    return Published(name, people, statistic, statistic.values(people), 1 / math.sqrt(n))


def bits_of(n: int, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """Fair coins."""
    return rng.integers(0, 2, n, dtype=np.int8)


def random_function(rng: np.random.Generator, variables: int = 3) -> tuple[int, ...]:
    """The truth table of a function that is uniform among the non-degenerate ones."""
    while True:
        table = rng.integers(0, 2, 2**variables)
        if not is_degenerate(table):
            return tuple(map(int, table))


def coins(d: int, n: int, rng: np.random.Generator) -> Array:
    """d × n fair coins: attributes × people."""
    return rng.integers(0, 2, (d, n)).astype(np.float64)


def wrong_share(operator: RowFunction, noise: float, rng: np.random.Generator) -> float:
    """The share of bits that plain least squares gets wrong."""
    m, n = operator.shape
    secret = rng.integers(0, 2, n)
    gram = operator.gram()
    back = operator.rmatvec(operator @ secret.astype(np.float64) + rng.normal(0, noise, m))
    found = np.linalg.lstsq(gram, back, rcond=None)[0]
    return float(((found >= 0.5) != secret).mean())


def plain_least_squares(operator: LinearOperator, target: Array) -> npt.NDArray[np.bool_]:
    """The bits of Theorem 2.1: the least-squares solution, of least norm where there are many, rounded."""
    solution = np.linalg.lstsq(np.asarray(operator.to_dense()), target, rcond=None)[0]
    return np.asarray(solution >= 0.5)


def lp(
    operator: LinearOperator, target: Array, *, box: bool = False, steps: bool = False
) -> npt.NDArray[np.bool_]:
    """The bits of LP decoding, as in the paper without a box, or within [0, 1] as tellall's own.

    Notes
    -----
    In the box, and without it where `steps`, first-order steps to a certified gap of 1e-4; else HiGHS, to a
    vertex. No box is a wide one that the minimiser does not touch, which by convexity is the same.
    """
    if box:
        return np.asarray(_least_absolute(operator, target, 0.0, LeastAbsolute(exact_limit=0)) >= 0.5)
    if steps:
        found = _least_absolute(operator, target, _NEAR, LeastAbsolute(exact_limit=0))
        if np.abs(found - 0.5).max() < _NEAR:
            return np.asarray(found >= 0.5)
    return np.asarray(_least_absolute(operator, target, _FAR, LeastAbsolute(exact_limit=_EXACT)) >= 0.5)


def held(what: str, where: str, promise: str, rates: Array, bound: float, setting: str) -> Statement:
    """The mean of rates, one per run, is at least the bound; its interval where runs are many."""
    value, interval = share_of(rates)
    return Statement.at_least(
        what,
        where,
        promise,
        value,
        bound,
        setting=f"{setting}, mean of {rates.size} runs; we ask for {bound:.0%}",
        interval=interval if rates.size >= _MANY else None,
    )


def _least_absolute(operator: LinearOperator, target: Array, reach: float, solver: LeastAbsolute) -> Array:
    m, n = operator.shape
    lower, upper = np.full(n, -reach), np.full(n, 1.0 + reach)
    problem = AbsoluteProblem(operator, np.ones(m), lower, upper, np.zeros(m))
    return solver.prepare(problem).solve(target).value


def _counted(
    name: str, n: int, sets: int, secret: npt.NDArray[np.int8], rng: np.random.Generator
) -> tuple[Dataset, Statistic]:
    d = attributes_for(sets)
    people = Dataset.from_arrays(rng.integers(0, 2, (n, d)), secret)
    if name == "random subsets":
        return people, SubsetCounts(rng.integers(0, 2, (sets, n)).astype(bool))
    pairs = _pairs(d, sets, rng)
    if name == "3-way tables":
        return people, Marginals(3, attributes=[[f"a{i}", f"a{j}"] for i, j in pairs])
    if name == "random function":
        return people, Predicates(random_function(rng), attributes=pairs)
    return people, Predicates(name, 3, attributes=pairs)


def _fitted(
    name: str, n: int, sets: int, secret: npt.NDArray[np.int8], rng: np.random.Generator
) -> tuple[Dataset, Statistic]:
    d = attributes_for(sets)
    if name == "trees' error rates":
        people = Dataset.from_arrays(rng.integers(0, 2, (n, d)), secret)
        return people, ErrorRates([_tree(list(rng.permutation(d)), _DEPTH, rng) for _ in range(sets)])
    columns = rng.uniform(-1, 1, (n, d if name == "linear, products" else sets))
    if name == "linear, products":
        first, second = np.array(_pairs(d, sets, rng)).T
        columns = columns[:, first] * columns[:, second]
    loss = name.split(",")[0].lower()
    return Dataset.from_arrays(columns, secret), Estimator(loss, weighting="paper")


def _pairs(d: int, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    every = list(combinations(range(d), 2))
    chosen = np.sort(rng.permutation(len(every))[:count])
    return [every[place] for place in chosen]


def _tree(attributes: list[int], depth: int, rng: np.random.Generator) -> Any:
    """A full tree over different attributes, its two lowest leaves of each branch different."""
    if depth == 1:
        leaf = int(rng.integers(2))
        return {"if": f"a{attributes[0]} == 1", "then": leaf, "else": 1 - leaf}
    half = len(attributes) // 2
    sides = (attributes[1 : half + 1], attributes[half + 1 :])
    then, other = (_tree(side, depth - 1, rng) for side in sides)
    return {"if": f"a{attributes[0]} == 1", "then": then, "else": other}
