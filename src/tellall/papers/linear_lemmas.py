"""linear-reconstruction: identities, tried on every small case, and lemmas about random matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import tellall as ta
from tellall.papers.claims import Array, Joined, NamedCase, PaperPart
from tellall.papers.linear_attacks import Effort, Rng, coins, equations, lp, random_function
from tellall.papers.reader import read_paper

__all__ = [
    "parts",
]

PAPER = read_paper("linear-reconstruction")
_ROUNDOFF = 1e-9
_FLAT = 0.7  # "of the same order": at the largest size at least this share of the smallest size's value


def _all_pairs(table: Array, bits: Array) -> Array:
    """A function of two attributes over all pairs of attributes: d² × n."""
    first, second = (bits.astype(int)[axis] for axis in (np.s_[:, None], np.s_[None, :]))
    return np.asarray(table[2 * first + second].reshape(len(bits) ** 2, bits.shape[1]), dtype=np.float64)


def _identities(rng: Rng) -> Iterator[NamedCase]:
    points = {k: np.array(list(product((0, 1), repeat=k))) for k in (1, 2, 3)}
    off = 0.0
    for k in (1, 2, 3):
        subsets = points[k]
        monomials = (points[k][:, None, :] >= subsets[None]).all(axis=2)
        for table in product((0, 1), repeat=2**k):
            off = max(off, float(np.abs(monomials @ np.array(ta.multilinear(table)) - table).max()))
    yield "represents", {"value": off}
    tried, counted, signed, products = 100, 0.0, 0.0, 0.0
    for _ in range(tried):
        f = np.array(random_function(rng))
        bits = coins(int(rng.integers(3, 6)), int(rng.integers(2, 9)), rng)
        s = rng.integers(0, 2, bits.shape[1])
        by_secret = f.reshape(4, 2)
        f0, f2 = by_secret[:, 0], by_secret[:, 1] - by_secret[:, 0]
        counts = sum(_all_pairs(by_secret[:, bit], bits[:, s == bit]).sum(axis=1) for bit in (0, 1))
        linear = _all_pairs(f0, bits).sum(axis=1) + _all_pairs(f2, bits) @ s
        counted = max(counted, float(np.abs(counts - linear).max()))
        g = 2.0 * by_secret - 1
        g2, g3 = (g[:, 1] - g[:, 0]) / 2, (g[:, 1] + g[:, 0]) / 2
        form = (_all_pairs(g3, bits).sum(axis=1) + _all_pairs(g2, bits) @ (2 * s - 1) + s.size) / 2
        signed = max(signed, float(np.abs(counts - form).max()))
        bits[:, 0], bits[:, -1] = 0, 1  # an attribute that all people share is not published
        rows = (bits[:, None] * bits[None]).reshape(-1, s.size)
        products = max(products, float(np.abs(rows - equations("and", bits, "all").to_dense()).max()))
    yield "linear counts", {"value": counted, "tried": tried}
    yield "signed counts", {"value": signed, "tried": tried}
    yield "row products", {"value": products, "tried": tried}
    yield "differences of values", {"value": max(_differences(k) for k in (1, 2, 3))}
    yield "restrictions", {"value": max(_restrictions(k) for k in (1, 2, 3))}
    ratios = []
    for _ in range(200):
        image = rng.standard_t(2, (int(rng.integers(1, 40)), 5)) @ rng.normal(size=5)
        ratios.append(float(np.abs(image).sum() / (math.sqrt(image.size) * np.linalg.norm(image))))
    yield "below root", {"value": max(ratios), "tried": len(ratios)}


def _full_degree(k: int) -> Iterator[tuple[Array, float]]:
    """Every function on {0, 1}^k with values −1, 0, 1 and full degree, with its top coefficient."""
    signs = np.array([(-1.0) ** (k - sum(point)) for point in product((0, 1), repeat=k)])
    for values in product((-1.0, 0.0, 1.0), repeat=2**k):
        top = float(signs @ values)
        if top:
            yield np.array(values), top


def _differences(k: int) -> float:
    """Prop. 3.6, all at once: the rows are pairs of points, the columns functions."""
    points = list(product((0, 1), repeat=k))
    place = {point: index for index, point in enumerate(points)}
    functions, tops = map(np.array, zip(*_full_degree(k), strict=True))
    off = 0.0
    for here, there in product(points, repeat=2):
        left = math.prod(a - b for a, b in zip(here, there, strict=True))
        total = np.zeros(len(functions))
        for chosen in points:
            mixed = tuple(b if c else a for a, b, c in zip(here, there, chosen, strict=True))
            total += (-1.0) ** sum(chosen) * functions[:, place[mixed]]
        off = max(off, float(np.abs(total / tops - left).max()))
    return off


def _restrictions(k: int) -> float:
    """Prop. B.1: h on {−1, 1}^k, P_I its multilinear extension at zero outside I."""
    points = np.array(list(product((-1.0, 1.0), repeat=k)))
    functions, _ = map(np.array, zip(*_full_degree(k), strict=True))
    subsets = np.array(list(product((0, 1), repeat=k)))
    walsh = np.array([np.prod(np.where(chosen, points, 1.0), axis=1) for chosen in subsets])
    coefficients = functions @ walsh.T / 2**k
    coefficients = coefficients[np.abs(coefficients[:, -1]) > _ROUNDOFF]
    values, off = coefficients @ walsh, 0.0
    for index in range(len(points)):
        total = values[:, index].copy()
        for inside in subsets[:-1]:
            kept = (subsets <= inside).all(axis=1)
            total += (-1.0) ** (k - inside.sum()) * (coefficients[:, kept] @ walsh[kept, index])
        product_of_signs = float(points[index].prod())
        off = max(off, float(np.abs(total / coefficients[:, -1] - product_of_signs).max()))
    return off


def _decoding(rng: Rng) -> Iterator[NamedCase]:
    """Theorem 2.2 with the constants of `ta.bounds.lp`; and how its printed share of errors is read."""
    broken, tried, n, beta, allowed = 0, 4, 10, 0.02, 0.0
    for _ in range(tried):
        operator, secret = equations("xor", coins(14, n, rng)), rng.integers(0, 2, n)
        matrix = operator.to_dense()
        m, sigma = len(matrix), float(np.linalg.svd(matrix, compute_uv=False)[-1])
        alpha = ta.bounds.euclidean_section(operator, starts=1, iterations=5).alpha
        # α is at least the true one, which makes our bound the stricter
        error = rng.uniform(-beta, beta, m)
        some = rng.choice(m, int(0.8 * m * alpha**2 / 4), replace=False)
        error[some] = rng.normal(0, 100, some.size)
        most = ta.bounds.lp(m, n, beta, sigma, alpha=alpha, gamma=some.size / m).hamming
        allowed = max(allowed, most)
        broken += int((lp(matrix, matrix @ secret + error) != secret).sum() > most)
    yield "explicit", {"value": broken, "tried": tried, "n": n, "most": allowed}


def _share_of_errors(rng: Rng) -> Iterator[NamedCase]:
    n = 40
    bits, secret = coins(19, n, rng), rng.integers(0, 2, n)
    rows = equations("xor", bits).to_dense()[: 4 * n]
    target = rows @ secret
    some = rng.choice(len(rows), len(rows) // 10, replace=False)
    target[some] += rng.normal(0, 10 * n, some.size)
    right = float((lp(rows, target) == secret).mean())
    yield "share of errors", {"value": right, "n": n, "mended": right > 0.95}


def _least_l1(matrix: Array, starts: int, rng: Rng) -> float:
    """The least ‖Ax‖₁ over unit x that reweighted least squares finds: an upper bound on the true least."""
    n = matrix.shape[1]
    smallest = math.inf
    for start in range(starts):
        x = np.eye(n)[start] if start % 2 else rng.normal(size=n)
        for _ in range(25):
            weights = 1 / np.maximum(np.abs(matrix @ x), 1e-3)
            x = np.linalg.solve(matrix.T @ (weights[:, None] * matrix) + 1e-9 * np.eye(n), x)
            x /= np.linalg.norm(x)
            smallest = min(smallest, float(np.abs(matrix @ x).sum()))
    return smallest


def _order(values: list[float]) -> dict[str, Any]:
    """The case of a number that must not fall with size."""
    return {
        "values": Joined(values),
        "value": values[-1],
        "bound": max(_FLAT * values[0], 0.01),
        "flat": _FLAT,
    }


def _logarithms(sizes: tuple[int, ...], rng: Rng) -> Iterator[NamedCase]:
    """Theorem 3.4 at the number of people that Definition 8 allows with q = 1."""
    runs, starts, values = 5, 3, []
    for d in sizes:
        n, found = int(d * d / (4 * max(math.log(d), 1.0))), []
        for _ in range(runs):
            one, two = rng.uniform(-1, 1, (2, d, n))
            found.append(_least_l1((one[:, None] * two[None]).reshape(-1, n), starts, rng) / d**2)
        values.append(float(np.median(found)))
    yield "logarithms", {**_order(values), "sizes": Joined(sizes), "runs": runs, "starts": starts}


def _spreads(sizes: tuple[int, ...], rng: Rng) -> Iterator[NamedCase]:
    runs, starts = 5, 3
    words = {"sizes": Joined(sizes), "runs": runs, "starts": starts}
    kinds: dict[str, Any] = {"": None, "and": "and", "xor": "xor", "majority": "majority"}
    for name, function in kinds.items():
        values = []
        for d in sizes:
            n, found = d * d // 8, []
            for _ in range(runs):
                if function is None:
                    one, two = rng.uniform(-1, 1, (2, d, n))
                    matrix = (one[:, None] * two[None]).reshape(-1, n)
                else:
                    matrix = equations(function, coins(d, n, rng), "all").to_dense()
                found.append(_least_l1(matrix, starts, rng) / d**2)
            values.append(float(np.median(found)))
        more = "" if function is None else ", all d² pairs"
        yield (
            "spread of functions" if function else "spread",
            {**_order(values), **words, "name": name, "more": more},
        )


# d ℓ/dθ = x (m(xθ) − y) or −x m(y − xθ): the slope of the gradient in θ, and ℓ_2 = ∂ℓ(·, 1) − ∂ℓ(·, 0)


def _gradients(name: str, theta: Array, x: Array, y: float) -> Array:
    t = theta * x
    if name == "linear":
        return x * (t - y)
    if name == "logistic":
        return np.asarray(x * (1 / (1 + np.exp(-t)) - y))
    return np.asarray(-x * np.tanh(y - t))


def _losses(rng: Rng) -> Iterator[NamedCase]:
    """Definitions 9 and 10, Claims 4 and 5 for the losses of Section 4."""
    known = {"linear": 1.0, "logistic": 0.25, "log-cosh": 1.0}
    theta, x = rng.uniform(-8, 8, (2, 400, 1)), rng.uniform(-1, 1, (1, 50))
    for name, most in known.items():
        slope = 0.0
        for y in (0.0, 1.0):
            apart = _gradients(name, theta[0], x, y) - _gradients(name, theta[1], x, y)
            slope = max(slope, float((np.abs(apart) / np.abs(theta[0] - theta[1])).max()))
        key = "slope of log-cosh" if name == "log-cosh" else "lipschitz"
        yield key, {"value": slope, "bound": most, "name": name, "pairs": theta[0].size * x.size}
    column, pairs = rng.uniform(-1, 1, 60), rng.uniform(-6, 6, (200, 2, 1))
    first, second = (_gradients("logistic", pairs[:, side], column[None], 0.0).sum(axis=1) for side in (0, 1))
    slope = float((np.abs(first - second) / np.abs(pairs[:, 0, 0] - pairs[:, 1, 0])).max())
    yield "slope", {"value": slope / float(column @ column), "pairs": len(pairs)}
    grid = np.linspace(-1, 1, 4001)
    for name in known:
        spread = []
        for one in (0.0, 1.0, 3.0, 10.0, 100.0):
            at = np.full_like(grid, one)
            spread.append(float(np.var(_gradients(name, at, grid, 1.0) - _gradients(name, at, grid, 0.0))))
        key = "variance vanishes" if name == "log-cosh" else "variance"
        yield key, {"value": min(spread), "name": name, "largest": 100.0}
    sizes, draws = (20, 40, 80), 20
    for name in ("logistic", "log-cosh"):
        values = [float(np.mean([_least_weight(name, n, rng) for _ in range(draws)])) for n in sizes]
        yield "weights", {**_order(values), "name": name, "sizes": Joined(sizes), "draws": draws}
    n = 30
    single, secret = rng.uniform(-1, 1, n), rng.integers(0, 2, n).astype(np.float64)
    moved = single.copy()
    moved[0] -= math.copysign(1.0, moved[0])
    here, there = _weights("log-cosh", np.stack([single, moved]), secret)
    shift = float(np.abs(here - there)[1:].max())
    yield "dependent", {"value": shift, "n": n, "mended": shift > 1e-6}


def _least_weight(name: str, n: int, rng: Rng) -> float:
    """σ_min/√d of the matrix of Theorem 4.2 for d = 2n random columns about n people."""
    columns, secret = rng.uniform(-1, 1, (2 * n, n)), rng.integers(0, 2, n).astype(np.float64)
    least = np.linalg.svd(_weights(name, columns, secret), compute_uv=False)[-1]
    return float(least) / math.sqrt(2 * n)


def _weights(name: str, columns: Array, secret: Array) -> Array:
    """B_2 of Theorem 4.2, a row for each column of attributes: ℓ_2 at the coefficient of its fit.

    The fit is where the gradient, which grows with the coefficient, vanishes: found by bisection.
    """
    low, high = np.full((len(columns), 1), -60.0), np.full((len(columns), 1), 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        slopes = [_gradients(name, middle, columns[:, secret == y], y).sum(axis=1) for y in (0.0, 1.0)]
        above = (slopes[0] + slopes[1])[:, None] > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return _gradients(name, low, columns, 1.0) - _gradients(name, low, columns, 0.0)


def _random_matrices(sizes: tuple[int, ...], rng: Rng) -> Iterator[NamedCase]:
    """Lemma D.1: the least of ‖Rx + z‖ over the sphere, for z of several lengths along the ones."""
    for name, length in (("z = 0", 0.0), ("‖z‖ = √d/2", 0.5), ("‖z‖ = √d", 1.0), ("‖z‖ = 10√d", 10.0)):
        values = []
        for n in sizes:
            d = 2 * n
            fixed = np.full(d, length)
            least = min(_on_sphere(rng.uniform(-1, 1, (d, n)), fixed) for _ in range(3))
            values.append(least / math.sqrt(d))
        yield "moved", {**_order(values), "name": name, "sizes": Joined(sizes)}


def _on_sphere(matrix: Array, z: Array) -> float:
    """min ‖Rx + z‖ over ‖x‖ = 1: x = −(RᵀR + μ)⁻¹Rᵀz with μ > −σ_min² such that its norm is one."""
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    target = vectors.T @ (matrix.T @ z)
    if not target.any():
        return math.sqrt(max(0.0, float(values[0])))
    floor = float(values[0])
    low, high = -floor, -floor + 1.0
    while float(np.sum((target / (values + high)) ** 2)) > 1:
        high = -floor + 2 * (high + floor)
    for _ in range(200):
        middle = (low + high) / 2
        longer = float(np.sum((target / (values + middle)) ** 2)) > 1
        low, high = (middle, high) if longer else (low, middle)
    x = -vectors @ (target / (values + high))
    return float(np.linalg.norm(matrix @ (x / np.linalg.norm(x)) + z))


def parts(effort: Effort) -> list[PaperPart]:
    """The parts that try the lemmas; they draw no figures."""
    return [
        *map(PAPER.reported, (_identities, _decoding, _share_of_errors)),
        *(PAPER.reported(run, effort["spread"]) for run in (_spreads, _logarithms)),
        PAPER.reported(_losses),
        PAPER.reported(_random_matrices, effort["moved"]),
    ]
