"""linear-reconstruction: singular values and l1/l2 ratios of row-function matrices; random plus low rank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tellall.algebra.operators.base import Array, LinearOperator
from tellall.algebra.operators.dense import Dense
from tellall.algebra.operators.rowfunction import RowFunction
from tellall.algebra.solvers.section import section_upper_bound
from tellall.papers.linear_people import F2, coins, random_function
from tellall.promise.bounds.geometry import singular_values
from tellall.release.statistics.boolean import split, truth_table
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Rule, Series

__all__ = [
    "least_values",
    "low_rank",
    "norms",
    "sections",
]

_AND = (0, 0, 0, 1)
_SHARE = 4  # rows a person
_FLAT = 0.8  # how much of its own σ_min a random matrix must keep
_IID = 1 - 1 / math.sqrt(_SHARE)  # what σ_min/√m of independent signs tends to
_CLOSE = 0.9


def least_values(
    sizes: Sequence[int], runs: int, rng: np.random.Generator
) -> tuple[Figure, Iterator[Statement]]:
    """Theorem 3.9: σ_min of row-function matrices is of the order of √(d^k)."""
    ratios: dict[str, list[float]] = {}
    for d in sizes:
        m = math.comb(d, 2)
        n = m // _SHARE
        for name in ("independent signs", "xor", "or", "majority", "random function", "not-all-equal"):
            found = [_least(name, d, n, rng) for _ in range(runs)]
            middle = np.min if name == "random function" else np.median  # functions differ in their parity
            ratios.setdefault(name, []).append(float(middle(found)))
    figure = Figure(
        "Least singular values of row-function matrices",
        f"Pairs of different attributes, {_SHARE} times as many as people; random functions of three "
        "variables over ordered pairs, non-degenerate. Level lines mean that σ is of the order of √m "
        "(Theorem 3.9; the text's ≈ d^k is a misprint, E-LR-10). The parity in f2 sets the level: its "
        "coefficient is 1 for xor, 1/2 for majority, 1/4 for or, 1/4 or more for others. not-all-equal is "
        f"degenerate: rank d + 1 at most. Medians of {runs} runs, of random functions the least.",
        Axis("attributes d", low=0.0),
        Axis("σ_min / √m", low=0.0),
        tuple(Series(name, sizes, values, kind="both") for name, values in ratios.items()),
        tuple(Rule(part * _IID, f"{words}1 − √(n/m)") for part, words in ((1, ""), (0.25, "a quarter of "))),
    )
    return figure, _least_statements(sizes, ratios)


def _least(name: str, d: int, n: int, rng: np.random.Generator) -> float:
    """σ_min/√m of one draw."""
    operator: LinearOperator
    if name == "independent signs":
        operator = Dense(2 * coins(math.comb(d, 2), n, rng) - 1)
    elif name == "random function":
        operator = RowFunction(split(random_function(rng))[1], coins(d, n, rng), "ordered")
    elif name == "not-all-equal":
        operator = RowFunction(split(truth_table("nae", 3))[1], coins(d, n, rng))
    else:
        operator = RowFunction(F2[name], coins(d, n, rng))
    return singular_values(operator, rng=rng).least / math.sqrt(operator.shape[0])


def _least_statements(sizes: Sequence[int], ratios: dict[str, list[float]]) -> Iterator[Statement]:
    for name, part in (("xor", 1.0), ("or", 0.25), ("majority", 0.5), ("random function", 0.25)):
        yield Statement.at_least(
            f"least singular value: {name}",
            "Thm 3.9, E-LR-10",
            "σ_min ≥ C√(d^k), the order of an i.i.d. matrix",
            ratios[name][-1],
            _CLOSE * part * _IID,
            setting=f"σ_min/√m at the largest d, {sizes[-1]}, n = m/{_SHARE}; we ask for "
            f"{_CLOSE:g}·c·(1 − √(n/m)), c = {part:g} the coefficient of the parity in f2",
        )


def norms(sizes: Sequence[int], rng: np.random.Generator) -> tuple[Figure, Iterator[Statement]]:
    """Theorems 3.5 and B.3: the norm over √m + √n, which they bound, at n = d^1.5."""
    ratios: dict[str, list[float]] = {}
    for d in sizes:
        bits = coins(d, int(d**1.5), rng)
        for name, table, tuples in (
            ("and, all pairs", _AND, "all"),
            ("and, different attributes", _AND, "subsets"),
            ("xor, all pairs", F2["xor"], "all"),
            ("xor, different attributes", F2["xor"], "subsets"),
        ):
            ratios.setdefault(name, []).append(_norm(RowFunction(table, bits, tuples)))
    figure = Figure(
        "Norms of row-function matrices",
        "n = d^1.5 people. The theorems say that these lines are level. They are for parities of different "
        "attributes; with repeated attributes d rows of parities are all ones, and products of 0/1 "
        "attributes have a mean (E-LR-1).",
        Axis("attributes d"),
        Axis("‖A‖ / (√m + √n)", low=0.0),
        tuple(Series(name, sizes, values, kind="both") for name, values in ratios.items()),
    )
    return figure, _norm_statements(sizes, ratios)


def _norm(operator: LinearOperator) -> float:
    from scipy.sparse.linalg import eigsh

    m, n = operator.shape
    top = eigsh(np.asarray(operator.gram(), dtype=np.float64), k=1, which="LA", v0=np.ones(n))[0][-1]
    return math.sqrt(float(top)) / (math.sqrt(m) + math.sqrt(n))


def _norm_statements(sizes: Sequence[int], ratios: dict[str, list[float]]) -> Iterator[Statement]:
    setting = f"n = d^1.5, d = {', '.join(map(str, sizes))}"
    level = ratios["xor, different attributes"]
    for what, where, name in (
        ("the norm of row-function matrices", "Thm B.3, E-LR-1", "and, all pairs"),
        ("the norm of row products", "Thm 3.5, E-LR-1", "xor, all pairs"),
    ):
        grows = ratios[name]
        wrong = grows[-1] > 1.5 * grows[0] and max(level) < 1.1
        yield Statement(
            what,
            where,
            "at most c(√(d^k) + √n); true of products of signs over different attributes",
            f"{name}: {_listed(grows)} times √m + √n; parities of different attributes: {_listed(level)}",
            "corrected" if wrong else "does not hold",
            setting,
            grows[-1],
            level[-1],
        )


def sections(
    sizes: Sequence[int], searched: int, rng: np.random.Generator
) -> tuple[Figure, Iterator[Statement]]:
    """Theorem B.4: how evenly A x is spread, at the x that fits the values over attribute 1 best."""
    alphas: dict[str, list[float]] = {}
    halves: dict[str, list[float]] = {}
    for d in sizes:
        bits = coins(d, int(d**1.5), rng)
        conjunctions = RowFunction(_AND, bits, "subsets")
        over = np.zeros((d, d))
        over[0] = over[:, 0] = 1.0
        back = conjunctions.rmatvec(over[np.triu_indices(d, 1)])
        x = np.linalg.lstsq(conjunctions.gram(), back, rcond=None)[0]
        for name, table in (("and, fitted x", _AND), ("xor, same x", F2["xor"])):
            image = np.abs(RowFunction(table, bits, "subsets") @ x)
            alphas.setdefault(name, []).append(_evenness(image))
            halves.setdefault(name, []).append(_half(image))
        for name, table in (("and, searched", _AND), ("xor, searched", F2["xor"])):
            operator = RowFunction(table, bits, "subsets")
            bound = section_upper_bound(operator, rng, starts=1, steps=10) if d <= searched else None
            alphas.setdefault(name, []).append(math.nan if bound is None else bound.alpha)
    figure = Figure(
        "How evenly images are spread: upper bounds on α",
        "n = d^1.5 people, pairs of different attributes. A is an α-Euclidean section if ‖A x‖₁ ≥ α √m ‖A x‖ "
        "for all x; every x bounds α from above. x is the least-squares fit of the values over attribute 1, "
        "or the best of a search. For 0/1 products α falls towards 0 and with it the share of errors that LP "
        "decoding withstands, at most α²/4 by Theorem 2.2.",
        Axis("attributes d"),
        Axis("α at most", low=0.0, high=1.0),
        tuple(Series(name, sizes, values, kind="both") for name, values in alphas.items()),
        (Rule(math.sqrt(2 / math.pi), "normal images, √(2/π)"),),
    )
    return figure, _section_statements(sizes, alphas, halves)


def _evenness(image: Array) -> float:
    return float(image.sum() / (math.sqrt(image.size) * np.linalg.norm(image)))


def _half(image: Array) -> float:
    """The share of rows that hold half of the l1 norm."""
    mass = np.cumsum(np.sort(image)[::-1])
    return float(np.searchsorted(mass, mass[-1] / 2) + 1) / image.size


def _section_statements(
    sizes: Sequence[int], alphas: dict[str, list[float]], halves: dict[str, list[float]]
) -> Iterator[Statement]:
    falling, flat = alphas["and, fitted x"], alphas["xor, same x"]
    yield Statement(
        "row-function matrices are Euclidean sections",
        "Thm B.4, note 10, E-LR-1",
        "α bounded below; true of parities over different attributes",
        f"and: α ≤ {_listed(falling)}; xor at the same x: {_listed(flat)}, by search "
        f"{_listed([value for value in alphas['xor, searched'] if value == value])}",
        "corrected" if falling[-1] < 0.75 * falling[0] and min(flat) > 0.65 else "does not hold",
        f"n = d^1.5, d = {', '.join(map(str, sizes))}",
        falling[-1],
        flat[-1],
    )
    yield Statement(
        "rows that hold half of ‖A x‖₁",
        "E-LR-1",
        "no promise",
        f"and: {_listed(halves['and, fitted x'])}; xor at the same x: {_listed(halves['xor, same x'])}",
        "no promise",
        f"share of the rows, d = {', '.join(map(str, sizes))}",
        halves["and, fitted x"][-1],
    )


def low_rank(n: int, runs: int, rng: np.random.Generator) -> tuple[Figure, Statement]:
    """Lemma D.2: a random matrix keeps its least singular value when a matrix of low rank is added."""
    d = 2 * n
    ranks = [0, 1, 2, *(round(d * share) for share in (0.05, 0.1, 0.2, 0.3))]
    found: dict[str, list[float]] = {}
    for rank in ranks:
        for power in (0.5, 1.0, 2.0):
            values = []
            for _ in range(runs):
                low: Array = np.zeros((d, n))
                if rank:
                    left, right = (np.linalg.qr(rng.normal(size=(side, rank)))[0] for side in (d, n))
                    low = d**power * (left @ right.T)
                matrix = rng.uniform(-1, 1, (d, n)) + low
                values.append(float(np.linalg.svd(matrix, compute_uv=False)[-1]) / math.sqrt(d))
            found.setdefault(f"‖D‖ = d^{power:g}", []).append(float(np.median(values)))
    alone = found["‖D‖ = d^0.5"][0]
    figure = Figure(
        "Random plus low rank",
        f"R is {d} × {n} with entries uniform on [−1, 1], D of the given rank with equal singular values in "
        "random directions. The least singular value of R + D does not fall below that of R, also where ‖D‖ "
        f"is far above ‖R‖. Medians of {runs} runs.",
        Axis("rank of D / d"),
        Axis("σ_min(R + D) / √d", low=0.0),
        tuple(
            Series(name, [rank / d for rank in ranks], values, kind="both") for name, values in found.items()
        ),
        (Rule((1 - math.sqrt(n / d)) / math.sqrt(3), "R alone, limit"),),
    )
    least = min(min(values) for values in found.values())
    statement = Statement.at_least(
        "random plus low rank",
        "Lemma D.2",
        "σ_min(R + D) ≥ c√d for low rank and ‖D‖ ≤ d^a",
        least,
        _FLAT * alone,
        setting=f"{d} × {n}, rank up to {ranks[-1]}, a = 0.5, 1, 2; σ_min/√d of R alone {alone:.3f}, we ask "
        f"for {_FLAT:.0%} of it",
    )
    return figure, statement


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2g}" for value in values)
