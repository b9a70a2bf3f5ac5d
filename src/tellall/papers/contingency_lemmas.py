"""contingency-tables: the lemmas of Sections 3 and 4 and Appendix C, exactly where that can be done."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy.special import bdtrc

from tellall.papers.claims import Array, Joined, NamedCase, PaperPart
from tellall.papers.contingency_bounds import LOWER_BOUNDS
from tellall.papers.contingency_synthetic import synthetic_data
from tellall.papers.reader import read_paper

__all__ = [
    "parts",
]

PAPER = read_paper("contingency-tables")
Rng = np.random.Generator
_FLAT = 0.7


def parts(quick: bool) -> list[PaperPart]:
    """The parts that try the lemmas; they draw no figures."""
    return [
        PAPER.reported(_random_matrices, quick),
        *map(PAPER.reported, (_tails, _inequalities, *LOWER_BOUNDS, synthetic_data)),
    ]


def _gamma(d: int, n: int, rng: Rng) -> Array:
    """A d × n matrix of 1 and −1 with probability 1/4 each, else 0."""
    return np.asarray(rng.integers(0, 2, (d, n)) - rng.integers(0, 2, (d, n)), dtype=np.float64)


def _product(factors: list[Array]) -> Array:
    rows = factors[0]
    for factor in factors[1:]:
        rows = (rows[:, None] * factor[None]).reshape(-1, factor.shape[1])
    return rows


def _grows(values: list[float]) -> dict[str, Any]:
    return {
        "values": Joined(values),
        "value": values[-1],
        "bound": max(_FLAT * values[0], 0.01),
        "flat": _FLAT,
    }


def _random_matrices(quick: bool, rng: Rng) -> Iterator[NamedCase]:
    runs = 3 if quick else 10
    for order, sizes, part in ((2, (16, 24, 32), 4), (3, (12, 14, 16), 16)):
        values = []
        for d in sizes:
            n = d**order // part
            found = []
            for _ in range(runs):
                rows = _product([_gamma(d, n, rng) for _ in range(order)])
                found.append(math.sqrt(max(0.0, float(np.linalg.eigvalsh(rows.T @ rows)[0]))))
            values.append(float(np.median(found)) / d ** (order / 2))
        words = {"sizes": Joined(sizes), "runs": runs, "order": order, "part": part}
        yield "decoupled", {**_grows(values), **words}
    sizes, values, tried = (8, 12, 16), [], 20
    for d in sizes:
        n, largest = d * d // 2, 0.0
        rows = _product([_gamma(d, n, rng) for _ in range(2)])
        log = math.log(n)
        for some in (
            *(rng.choice(n, int(rng.integers(1, n)), replace=False) for _ in range(tried)),
            np.arange(n),
        ):
            norm = float(np.linalg.norm(rows[:, some], 2))
            largest = max(largest, norm / ((d + math.sqrt(len(some)) * log) * math.sqrt(log)))
        values.append(largest)
    yield "submatrices", {"values": Joined(values), "sizes": Joined(sizes), "tried": tried}
    d, n, tried = 16, 64, 40
    rows, counts, values = _product([_gamma(d, n, rng) for _ in range(2)]), (2, 8, 32, 64), []
    for size in counts:
        sets = [rng.choice(n, size, replace=False) for _ in range(tried)]
        values.append(min(float(np.linalg.svd(rows[:, one], compute_uv=False)[-1]) for one in sets) / d)
    words = {"d": d, "n": n, "tried": tried, "sizes": Joined(counts)}
    yield "sparse", {"values": Joined(values), **words}


def _tails(rng: Rng) -> Iterator[NamedCase]:
    """Lemmas 3.10 and 3.14 and their corollaries, by the probabilities that they bound."""
    sizes = (8, 16, 32, 64, 128, 256, 512)
    for key, share, per_pair in (("many entries", 1 / 64, 1 / 8), ("long columns", 1 / 64, 1.0)):
        small = np.array([_few_pairs(d, share) for d in sizes])  # −ln P
        values = small / (per_pair * np.square(sizes))
        kept = float((small / sizes).min())
        fails = bool(np.all(values[1:] < 0.6 * values[:-1]))
        numbers = {"value": float(values[-1]), "kept": kept, "mended": fails}
        yield key, {"values": Joined(values), "sizes": Joined(sizes), **numbers}
    for blocks, radius, name in ((1, 1 / 64, "one row"), (2, 1 / 256, "a matrix")):
        yield f"small balls {blocks}", {"value": _ball_exponent(radius), "name": name}


def _few_pairs(d: int, share: float) -> float:
    """−ln P(A B ≤ share · d²), A and B the entries of two Γ-random columns that are not zero."""
    from scipy.special import bdtr

    counts = np.arange(d + 1)
    most = np.where(counts > 0, np.floor(share * d * d / np.maximum(counts, 1) + 1e-12), d)
    weights = np.array([math.comb(d, int(k)) / 2**d for k in counts])
    return float(-math.log(weights @ bdtr(np.minimum(most, d), d, 0.5)))


def _ball_exponent(radius: float) -> float:
    """The exponent, for each column, that Chernoff's bound gives for orthogonal U: the best t of two hundred.

    Notes
    -----
    P(Σ (α_j x_j − y_j)² ≤ r n) ≤ (e^(tr) max E exp(−t(αx − y)²))^n, the maximum over 1 ≤ x ≤ 2 and all y.
    """
    x, best = np.linspace(1, 2, 21)[:, None], 0.0
    y = np.linspace(-2.5, 2.5, 1001)[None]
    for t in np.geomspace(0.1, 1000, 200):
        near = (np.exp(-t * (x - y) ** 2) + np.exp(-t * (x + y) ** 2)) / 4 + np.exp(-t * y**2) / 2
        best = max(best, -t * radius - math.log(float(near.max())))
    return best


def _inequalities(rng: Rng) -> Iterator[NamedCase]:
    largest = 0.0
    for n in (2, 3):
        cloud = rng.normal(size=(4000, n))
        cloud /= np.linalg.norm(cloud, axis=1)[:, None]
        for alpha in (0.3, 0.5, 1.0):
            left, count = cloud, 0
            while len(left):
                count += 1
                left = left[np.linalg.norm(left - left[0], axis=1) > alpha]
            largest = max(largest, count / (1 + 2 / alpha) ** n)
    yield "net", {"value": largest}
    signs = np.array(list(product((-1, 0, 0, 1), repeat=8)), dtype=np.int8)
    smallest, tried = math.inf, 5
    for _ in range(tried):
        w = rng.normal(size=(3, 8))
        squares = ((signs @ w.T.astype(np.float32)) ** 2).sum(axis=1)
        excess = np.sort(squares - 2 * float((w**2).sum()))
        beyond = excess > 1e-9
        share = 1 - np.arange(len(excess)) / len(excess)
        norm = float(np.linalg.norm(w, 2)) ** 2
        serves = (math.log(2) - np.log(share[beyond])) * norm / excess[beyond]
        smallest = min(smallest, float(serves.min()) if beyond.any() else math.inf)
    yield "tail of squares", {"value": min(smallest, 9.99), "tried": tried}
    largest, tried = 0.0, 0
    for n in range(2, 8):
        flat = np.array([one for one in product((-1.0, 0.0, 1.0), repeat=n) if any(one)])
        flat /= np.sqrt(np.abs(flat).sum(axis=1))[:, None]
        for k in range(12):
            tried += 1
            matrix = (
                rng.standard_t(1.5, (n, n)) if k % 2 else np.outer(rng.normal(size=n), 2.0 ** -np.arange(n))
            )
            best = float(np.linalg.norm(flat @ matrix.T, axis=1).max())
            largest = max(largest, float(np.linalg.norm(matrix, 2)) / (2 * math.sqrt(math.log(n)) * best))
    yield "flat vectors", {"value": largest, "tried": tried}
    largest, tried = 0.0, 200
    for _ in range(tried):
        points, weights = np.sort(rng.normal(size=7)), rng.dirichlet(np.full(7, 0.6))
        for radius in (0.05, 0.3, 1.0):
            ball = max(weights[(points >= p) & (points <= p + 2 * radius)].sum() for p in points)
            near = np.abs(points[:, None] - points[None]) <= 2 * radius
            largest = max(largest, float(ball**2 / (weights @ near @ weights)))
    yield "concentration", {"value": largest, "tried": tried}
    largest = 0.0
    for p in (0.01, 0.05, 0.1, 0.2, 0.25):
        for d in range(1, 60):
            seen = float(bdtrc(math.ceil(d / 2) - 1, d, p))
            largest = max(largest, seen / (4 * p) ** (d / 2))
    yield "sums of squares", {"value": largest}
