"""linear-reconstruction, Theorem 2.1 and Definition 1: what least squares promises, and what happens."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tellall.algebra.operators.base import Array
from tellall.algebra.operators.dense import Dense
from tellall.algebra.operators.rowfunction import RowFunction
from tellall.papers.linear_people import F2, SHARES, coins, plain_least_squares, wrong_share
from tellall.papers.simulated import attributes_for
from tellall.promise.bounds.decoding import hamming, hamming_from_norm, recovery
from tellall.promise.bounds.geometry import singular_values
from tellall.promise.bounds.prediction import predict
from tellall.report.paper import Statement
from tellall.report.plot import Axis, Figure, Series

__all__ = [
    "bound_figure",
    "bound_statements",
]

_DRAWS = 50  # of the noise, on each table of people


def bound_figure(n: int, runs: int, rng: np.random.Generator) -> tuple[Figure, Statement]:
    """Theorem 2.1 beside what happens, on xor counts; and the bound never broken, sometimes attained."""
    d = attributes_for(4 * n)
    wrong, tight, norm, largest, foreseen = (np.zeros((runs, len(SHARES))) for _ in range(5))
    for run in range(runs):
        operator = RowFunction(F2["xor"], coins(d, n, rng))
        m = operator.shape[0]
        matrix = operator.to_dense()
        sigma = singular_values(operator).least
        inverse = np.linalg.pinv(matrix)
        for place, share in enumerate(SHARES):
            noise = share * math.sqrt(n)
            errors = rng.normal(0, noise, (_DRAWS, m))
            offs = errors @ inverse.T
            secrets = rng.integers(0, 2, (_DRAWS, n))
            wrong[run, place] = ((secrets + offs >= 0.5) != secrets).sum() / _DRAWS
            tight[run, place] = np.mean([hamming_from_norm(float(np.linalg.norm(off)), n=n) for off in offs])
            norm[run, place] = np.mean(
                [hamming_from_norm(float(np.linalg.norm(e)), sigma, n=n) for e in errors]
            )
            largest[run, place] = np.mean([hamming(m, float(np.abs(e).max()), sigma, n=n) for e in errors])
            foreseen[run, place] = n * (1 - predict(operator, noise).accuracy)
    lines = {
        "found": wrong,
        "predicted, Φ(−1/(2 sd))": foreseen,
        "4‖A⁺e‖²": tight,
        "4‖e‖²/σ²": norm,
        "Thm 2.1: 4mβ²/σ²": largest,
    }
    figure = Figure(
        "Theorem 2.1 beside what happens",
        f"xor counts over all pairs of {d} attributes, n = {n}, plain least squares. The bound with the "
        "largest error β is far above what is found: β is several standard deviations, and σ is the "
        "worst direction. The prediction needs no values. Bounds are at most n; 0 is off the chart; "
        f"means of {runs} × {_DRAWS} runs.",
        Axis("standard deviation of the noise", unit="of √n people", log=True),
        Axis("people wrong", log=True, low=0.05, high=float(n)),
        tuple(Series(label, SHARES, grid.mean(axis=0), kind="both") for label, grid in lines.items()),
    )
    gaps = np.abs(wrong.mean(axis=0) - foreseen.mean(axis=0)) / n
    statement = Statement.shown(
        "the wrong share foreseen without values: off by",
        "Thm 2.1",
        float(gaps.max()),
        setting=f"mean Φ(−1/(2 sd_i)) against what is found; xor, n = {n}, {len(SHARES)} noises, "
        f"{runs * _DRAWS} runs each",
    )
    return figure, statement


def bound_statements(instances: int, rng: np.random.Generator) -> Iterator[Statement]:
    """Theorem 2.1 on random and adversarial systems, where its bound is attained, and Definition 1."""
    broken, tried = 0, 0
    while tried < instances:
        n = int(rng.integers(2, 12))
        m = n + int(rng.integers(1, 30))
        matrix: Array = rng.normal(size=(m, n)) if tried % 2 else rng.integers(0, 2, (m, n)).astype(float)
        left, values, _ = np.linalg.svd(matrix, full_matrices=False)
        direction = left[:, -1] if tried % 3 == 0 else left @ rng.normal(size=n)
        e = direction if tried % 3 < 2 else rng.uniform(-1, 1, m)
        e = e / np.abs(e).max() * values[-1] * math.sqrt(n / m) * rng.uniform(0.05, 0.35)
        bound = hamming(m, float(np.abs(e).max()), float(values[-1]))
        secret = rng.integers(0, 2, n)
        if bound < n / 2 and values[-1] > 1e-8:
            tried += 1
            guess = plain_least_squares(Dense(matrix), matrix @ secret + e)
            broken += int((guess != secret).sum() > bound)
    yield Statement.at_most(
        "least squares: the bound",
        "Thm 2.1",
        "at most 4mβ²/σ² bits wrong",
        float(broken),
        0.0,
        setting=f"violations in {tried:,} random and adversarial systems whose bound is below n/2",
    )
    people, times = 40, 5
    matrix = np.kron(np.eye(people), np.ones((times, 1)))
    lost = plain_least_squares(Dense(matrix), np.full(matrix.shape[0], 0.5)).sum()
    bound = hamming(matrix.shape[0], 0.5, math.sqrt(times))
    yield Statement.at_least(
        "… and it is attained",
        "Thm 2.1",
        f"at most {bound:g} wrong",
        float(lost),
        bound,
        setting=f"each of {people} people asked {times} times, every answer off by 1/2",
    )
    yield _definition(rng)


def _definition(rng: np.random.Generator) -> Statement:
    """Definition 1 with αn and as printed."""
    n, alpha, draws = 100, 0.05, 40
    operator = RowFunction(F2["xor"], coins(attributes_for(4 * n), n, rng))
    wrong = [round(n * wrong_share(operator, 0.4 * math.sqrt(n), rng)) for _ in range(draws)]
    literal = recovery(wrong, n, alpha / n)
    found = recovery(wrong, n, alpha)
    right = found.beta < 0.5 < literal.beta
    return Statement(
        "reconstruction, defined",
        "Def. 1, E-LR-9",
        "P(d_H ≤ α) ≥ 1 − β; must read d_H ≤ αn, for d_H ≤ α < 1 is exact recovery",
        f"β = {found.beta:.3f} with αn, {literal.beta:.3f} as printed",
        "corrected" if right else "does not hold",
        f"xor, n = {n}, α = {alpha:g}, noise 0.4·√n, {draws} draws",
        found.beta,
        literal.beta,
    )
