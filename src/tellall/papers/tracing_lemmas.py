"""robust-tracing: identities in full, inequalities on small cases, and lemmas by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.special import bdtrc

import tellall as ta
from tellall.core.errors import invalid
from tellall.papers.claims import Array, Joined, NamedCase, binomial, case_of, share_of
from tellall.papers.reader import read_paper

__all__ = [
    "DELTA",
    "LEMMAS",
    "Rng",
    "least_share",
    "people_of",
]

DELTA = read_paper("robust-tracing").settings["delta"]
_ENOUGH = 59  # runs without a failure that show a probability below δ with 95 % confidence
Rng = np.random.Generator
Cases = Iterator[NamedCase]


def people_of(p: Array, count: int, rng: Rng) -> Array:
    """People in {−1, +1} whose attribute j has mean p_j."""
    return np.where(rng.random((count, p.size), dtype=np.float32) < (1 + p) / 2, 1, -1).astype(np.int8)


def _widest(d: int, threshold: float) -> float:
    """P(⟨y − z, q⟩ > τ) at p = 0, q = 1, where scores vary most: twice a centred binomial of 2d coins.

    It need not be the largest: at d = 100 a last q_j of 0.5 adds a tenth, as it fills in the steps of 2.
    """
    return float(bdtrc(min(math.floor(threshold / 2 + d + 1e-12), 2 * d), 2 * d, 0.5))


def _thresholds(repeats: int, rng: Rng) -> Cases:
    d = 100
    thresholds, worst = {}, {}
    for rule in ("hoeffding", "paper"):
        people = np.ones((2, d), dtype=np.int8)
        found = ta.trace(np.ones(d), people[:1], people[1:], threshold=rule, delta=DELTA)
        thresholds[rule] = float(np.max(found.threshold))  # what is judged is what tellall uses
        worst[rule] = _widest(d, thresholds[rule])
        yield "worst", {"value": worst[rule], "bound": DELTA, "rule": rule, "d": d}
    level = math.exp(-(thresholds["paper"] ** 2) / (4 * d))
    fine = math.isclose(level, DELTA**2) and worst["paper"] <= worst["hoeffding"] <= DELTA
    words = {"delta": DELTA, "d": d, "least": worst["paper"], "kept": worst["hoeffding"]}
    yield "printed threshold", {"value": level, "bound": DELTA, "mended": fine, **words}


def _law(rows: Array, p: float) -> Array:
    """The probabilities of rows of ±1."""
    return np.asarray(((1 + rows * p) / 2).prod(axis=-1))


def _identities(repeats: int, rng: Rng) -> Cases:
    rows, off, tried = np.array(list(product((-1.0, 1.0), repeat=5))), 0.0, 40
    for _ in range(tried):
        f = rng.normal(size=len(rows))
        points = np.polynomial.chebyshev.chebpts1(8)
        fit = np.polynomial.Polynomial.fit(points, [float(_law(rows, p) @ f) for p in points], 5)
        for p in np.linspace(-0.95, 0.95, 7):
            score = float(_law(rows, p) @ (f * (rows - p).sum(axis=1)))
            off = max(off, abs(score - float(fit.deriv()(p)) * (1 - p * p)))
    yield "derivative", {"value": off, "tried": tried}
    n = 9
    counts = np.arange(n + 1)
    means = 2 * counts / n - 1
    grid, weights = np.polynomial.legendre.leggauss(40)
    laws = np.array([binomial(counts, n, (1 + p) / 2) for p in grid])
    everywhere = np.linspace(-1, 1, 401)
    dense = np.array([binomial(counts, n, (1 + p) / 2) for p in everywhere])
    releases: dict[str, Array] = {
        "exact mean": means,
        "rounded to 1/4": np.round(4 * means) / 4,
        "halved": means / 2,
        "sign where it is large": np.where(np.abs(means) > 0.6, np.sign(means), means),
    }
    rounded = float(np.abs(dense @ releases["rounded to 1/4"] - everywhere).max())
    yield "bias", {"value": rounded, "bound": 0.125, "mended": rounded <= 0.125}
    for name, release in releases.items():
        alpha = float(np.abs(dense @ release - everywhere).max())
        score = (laws * release * (n * (means[None] - grid[:, None]))).sum(axis=1)
        bound = ta.strength(("uniform", -1, 1), alpha)
        value = float(weights @ score) / 2
        yield "correlation", {"value": value, "bound": bound, "name": name, "n": n, "alpha": alpha}
    rows, off = np.array(list(product((-1.0, 1.0), repeat=6))), 0.0
    for _ in range(tried):
        by_sum = rng.normal(size=7)
        f = by_sum[((rows.sum(axis=1) + 6) / 2).astype(int)]
        p = float(rng.uniform(-0.9, 0.9))
        parts = _law(rows, p) @ (f[:, None] * (rows - p))
        off = max(off, float(np.ptp(parts)))
    yield "equal parts", {"value": off, "tried": tried}


def _densities(repeats: int, rng: Rng) -> Cases:
    """Lemma 14 and its corollaries beside `ta.strength`; E-RT-3; Definitions 27 and 30."""
    grid, weights = np.polynomial.legendre.leggauss(200)
    off, tried = 0.0, 0
    densities: tuple[tuple[float, float, Callable[[Array], Array], Callable[[Array], Array]], ...] = (
        (-1.0, 1.0, lambda p: np.full_like(p, 0.5), np.zeros_like),
        (-0.4, 0.9, lambda p: np.full_like(p, 1 / 1.3), np.zeros_like),
        (-1.0, 1.0, lambda p: 0.75 * (1 - p**2), lambda p: -1.5 * p),
        (-1.0, 1.0, lambda p: 1.5 * (1 + p) ** 2 * (1 - p) / 2, lambda p: 0.75 * (1 + p) * (1 - 3 * p)),
    )
    for low, high, density, slope in densities:
        p = (low + high) / 2 + (high - low) / 2 * grid
        w = weights * (high - low) / 2
        for power in (1, 2, 3, 5):
            tried += 1
            left = w @ (power * p ** (power - 1) * (1 - p**2) * density(p))
            right = 1 - w @ (p**2 * density(p)) + 2 * w @ ((p**power - p) * p * density(p))
            right -= w @ ((p**power - p) * (1 - p**2) * slope(p))
            for end, sign in ((high, 1), (low, -1)):
                here = density(np.array([end]))[0]
                right += sign * (end**power - end) * (1 - end**2) * here
            off = max(off, abs(float(left - right)))
    yield "parts", {"value": off, "tried": tried}
    names = ("uniform", "Beta(2, 2)", "Beta(3, 2)")  # the densities on [−1, 1], in their order
    laws = (("uniform", -1, 1), ("beta", 2, 2), ("beta", 3, 2))
    on_all = [one for one in densities if one[:2] == (-1.0, 1.0)]
    for name, law, (*_, density, slope) in zip(names, laws, on_all, strict=True):
        bound = _corollary(-1.0, 1.0, density, slope, 0.1)
        case = {"value": ta.strength(law, 0.1), "alpha": 0.1, "name": name}
        yield "density", {**case, "bound": bound}
        if law[0] == "beta":
            u, v = law[1:]
            spread = 4 * u * v / ((u + v + 1) * (u + v))
            printed = spread - 0.2 * math.sqrt(1 - spread) - 0.2 * (v * abs(u - 1) + u * abs(v - 1)) / (u + v)
            yield "example", {**case, "bound": printed}
    for a, b in ((-0.5, 0.5), (-0.9, 0.8), (0.1, 0.9)):
        case = {
            "value": ta.strength(("uniform", a, b), 0.1),
            "alpha": 0.1,
            "name": f"uniform on [{a:g}, {b:g}]",
        }
        flat = partial(np.full_like, fill_value=1 / (b - a))
        yield "interval density", {**case, "bound": _corollary(a, b, flat, np.zeros_like, 0.1)}
        yield "example", {**case, "bound": 1 - (a * a + a * b + b * b) / 3 - 0.2 / (b - a) - 0.2}
    a, b = 0.9, 1.0
    exact, printed = 1 - (a * a + a * b + b * b) / 3, 2 / 3 - 2 / 3 * (b - a)
    fine = exact < printed and exact >= (b - a) - (b - a) ** 2 / 3 - 1e-12
    grid_of = [(a, b) for b in np.linspace(-1, 1, 81) for a in np.linspace(-1, 1, 81) if a < b]
    sizes = np.array([(1 - (a * a + a * b + b * b) / 3, b - a) for a, b in grid_of])
    share = float((sizes[:, 0] < 2 / 3 - 2 / 3 * sizes[:, 1] - 1e-12).mean())
    fine &= bool(np.all(sizes[:, 0] >= sizes[:, 1] - sizes[:, 1] ** 2 / 3 - 1e-12))
    numbers = {"value": exact, "bound": printed, "share": share, "tried": len(grid_of)}
    yield "last step", {**numbers, "mended": fine and share > 0}
    gamma = ta.robust_strength(0.5)
    low, high = 0.5, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ta.robust_strength(middle) > 1 / 3 else (low, middle)
    yield "loose", {"value": gamma, "eta": low}
    alpha, worst, tried = 0.3, math.inf, 0
    mu = np.linspace(-1, 1, 2001)
    for waves in range(8):
        for phase in np.linspace(0, 2 * math.pi, 9):
            g = np.clip(mu + alpha * np.cos(math.pi * waves * mu / 2 + phase), -1, 1)
            worst, tried = min(worst, float(g[-1] - g[0]) / 2), tried + 1
    steepest = float((1 - alpha) - (-1 + alpha)) / 2  # g(±1) = ±(1 − α): the least that is allowed
    numbers = {"value": min(worst, steepest), "bound": ta.strength(("gaussian", 1.0), alpha)}
    yield "gaussian strength", {**numbers, "tried": tried + 1, "alpha": alpha}


def _corollary(
    a: float, b: float, density: Callable[[Array], Array], slope: Callable[[Array], Array], alpha: float
) -> float:
    """γ by Corollary 16; by Corollary 15 on [−1, 1], where it has no terms at the ends."""
    grid, weights = np.polynomial.legendre.leggauss(20)
    corners = sorted({a, b, *(corner for corner in (0.0, 1 / 3) if a < corner < b)})  # of |p| and |ρ′|
    gamma = 1 - alpha * (float(density(np.array([a, b])).sum()) if (a, b) != (-1.0, 1.0) else 0.0)
    for low, high in pairwise(corners):
        p, w = (low + high) / 2 + (high - low) / 2 * grid, weights * (high - low) / 2
        lost = 2 * np.abs(p) * density(p) + np.abs(slope(p)) * (1 - p**2)
        gamma -= float(w @ (p**2 * density(p) + alpha * lost))
    return gamma


def _small_cases(repeats: int, rng: Rng) -> Cases:
    # the mean of three coins is ±1 or ±1/3: always further off than 0.3
    one_sided = math.exp(-(0.3**2) * 3 / 2)
    fine = one_sided < 1.0 <= 2 * one_sided
    yield "two sides", {"value": 1.0, "bound": one_sided, "doubled": 2 * one_sided, "mended": fine}
    alpha, beta, mean, far = 0.2, 0.1, 0.15, 1.0  # q is within α of the mean but for β
    bias = (1 - beta) * alpha + beta * (far - mean)
    words = {"alpha": alpha, "beta": beta, "p": mean, "near": mean + alpha, "far": far}
    yield "not accurate", {"value": bias, "mended": alpha < bias <= alpha + 2 * beta, **words}
    rows, tried, largest = np.array(list(product((-1.0, 1.0), repeat=3))), 200, 0.0
    for _ in range(tried):
        p = rng.uniform(-0.9, 0.9, 3)
        weight = np.asarray(((1 + rows * p) / 2).prod(axis=1))
        x = (rows - p) / np.sqrt(1 - p**2)
        y = x @ rng.normal(size=3) + rng.exponential() * rng.normal(size=len(rows))  # any function of them
        sum_of_squares = float(((weight @ (x * y[:, None])) ** 2).sum())
        largest = max(largest, sum_of_squares / float(weight @ y**2))
    yield "bessel", {"value": largest, "tried": tried}
    largest = 0.0
    for p in np.linspace(-0.9, 0.9, 7):
        weight = _law(rows, float(p))
        scores = [weight @ ((rows - p) * np.array(q)[:, None]) for q in product((-1.0, 0.0, 1.0), repeat=8)]
        largest = max(largest, float(np.linalg.norm(np.array(scores), axis=1).max()))
    yield "norm of means", {"value": largest, "bound": 1.0, "mended": largest <= 1 + 1e-9}
    yield "norm bound", {"value": largest}
    least, tried = math.inf, 3000
    for _ in range(tried):
        n = int(rng.integers(1, 30))
        many = int(rng.integers(0, n + 1))
        sigma = rng.normal(0.2, 1, n) if rng.random() < 0.5 else np.where(np.arange(n) < many, 1.0, -0.01)
        total, norm = float(sigma.sum()), float(np.linalg.norm(sigma))
        if total <= 0:
            continue
        large = int((sigma > total / (2 * n)).sum())
        least = min(least, large / (total / (2 * norm)) ** 2)
    yield "many large", {"value": least, "tried": tried}
    sigma, total, norm = np.array([-1.0, -1.0]), -2.0, math.sqrt(2)
    large, printed = int((sigma > total / 4).sum()), (total / (2 * norm)) ** 2
    yield "negative sum", {"value": float(large), "bound": printed, "mended": large < printed}
    n = 50
    asked = 64 * (n + math.sqrt(math.log(1 / DELTA)))
    planned = ta.tracing_plan(n, 1 / 3, 0.01, DELTA).pool_attributes or 0.0
    yield "left out", {"value": asked, "n": n, "delta": DELTA, "mended": planned >= asked - 1e-9}


def _simulated(repeats: int, rng: Rng) -> Cases:
    n, gamma = 10, 2 / 3
    d = math.ceil(ta.tracing_plan(n, gamma, 0.0, DELTA).attributes)
    below, sums, runs = [], [], max(_ENOUGH, repeats)
    for _ in range(runs):
        people = people_of(rng.uniform(-1, 1, d), n + 1, rng).astype(np.float32)
        q = people[:n].mean(axis=0)
        total = float((people[:n] @ q).sum() - n * (people[n] @ q))
        below.append(float(total < gamma * d / 2))
        sums.append(total / (gamma * d))
    words = {"n": n, "d": d, "runs": runs}
    fine = _most_share(round(sum(below)), runs) <= DELTA
    case = {**case_of(share_of(below)), "least": min(sums), "mended": fine, "release": "exact means"}
    yield "half", {**case, **words}


def least_share(successes: int, runs: int) -> float:
    """The chance of success that is exceeded with 95 % confidence (Clopper and Pearson).

    Examples
    --------
    >>> round(least_share(60, 60), 4)
    0.9513
    """
    from scipy.special import betaincinv

    return float(betaincinv(successes, runs - successes + 1, 0.05)) if successes else 0.0


def _most_share(successes: int, runs: int) -> float:
    return 1 - least_share(runs - successes, runs)


def _necessity(repeats: int, rng: Rng) -> Cases:
    """The power of the score of Figure 1 at an exact level, where d is a fixed fraction of n²."""
    sizes, part, runs, values = (10, 20, 40), 4, 4 * repeats, []
    for n in sizes:
        d, named = n * n // part, []
        for _ in range(runs):
            people = people_of(rng.uniform(-1, 1, d), 2 * n + 1, rng).astype(np.float32)
            scores = (people[:-1] - people[-1]) @ people[:n].mean(axis=0)
            named.append(float((scores[:n] > np.quantile(scores[n:], 0.95)).mean()))
        values.append(float(np.mean(named)))
    yield "necessity", {"values": Joined(values), "sizes": Joined(sizes), "part": part, "runs": runs}


def _with_pool(repeats: int, rng: Rng) -> Cases:
    n, alpha = 100, 0.5
    gamma = ta.strength(("uniform", -1, 1), alpha)
    people, pool = _drawn(n, 82, 20_000, rng)
    score = (people[:n] - people[n]) * np.clip(people[:n].mean(axis=0) - pool, -2 * alpha, 2 * alpha)
    beta = 2 * math.exp(-(alpha**2) * n / 2)
    bound = gamma - 4 * n * (beta + math.exp(-(alpha**2) * 82 / 2))
    numbers = {"value": float(score.sum(axis=0).mean()), "bound": bound}
    yield "pool mean", {**numbers, "n": n, "pool": 82, "alpha": alpha, "columns": score.shape[1]}
    n, alpha, runs = 64, 0.5, max(_ENOUGH, repeats // 2)
    plan = ta.tracing_plan(n, gamma, alpha, DELTA)
    d = math.ceil(alpha**2 * n**2 * math.log(1 / DELTA) / gamma**2)  # what O(·) holds, times one
    size, eta = math.ceil(plan.pool_people or 0.0), 2 * alpha
    threshold = 4 * alpha * math.sqrt(d * math.log(1 / DELTA))
    sums, norms, traced = [], [], []
    for _ in range(runs):
        people, pool = _drawn(n, size, d, rng)
        truncated = np.clip(people[:n].mean(axis=0) - pool, -eta, eta)
        scores = (people[:n] - people[n]) @ truncated
        sums.append(float(scores.sum() < gamma * d / 2))
        norms.append(float(np.linalg.norm(scores)) / (eta * d))
        traced.append(float((scores > threshold).sum() >= max(1.0, plan.pool_traced or 0.0)))
    words: dict[str, Any] = {"n": n, "d": d, "runs": runs, "pool": size, "alpha": alpha}
    words |= {
        "beta": _far(n, alpha),
        "most": plan.pool_beta,
        "least_d": 64 * (n + math.sqrt(math.log(1 / DELTA))),
    }
    words["times"] = (plan.pool_attributes or 0.0) / d
    if words["beta"] > words["most"]:
        raise invalid("n", "enough people for strong accuracy", n)
    for key, seen, more in (
        ("pool sum", round(sum(sums)), {}),
        ("norm of scores", sum(norm > 2 for norm in norms), {"largest": max(norms)}),
    ):
        yield key, {"value": _most_share(seen, runs), "seen": seen, **words, **more}
    least = least_share(round(sum(traced)), runs)
    yield "traced people", case_of(share_of(traced), **words, bound=plan.pool_traced, least=least)


def _far(n: int, alpha: float) -> float:
    """The largest chance, over p, that the mean of n coins is further than α from p, on a fine grid of p."""
    counts = np.arange(n + 1)
    grid = np.linspace(-1, 1, 2001)
    laws = np.array([binomial(counts, n, (1 + p) / 2) for p in grid])
    return float((laws * (np.abs(2 * counts / n - 1 - grid[:, None]) > alpha - 1e-12)).sum(axis=1).max())


def _drawn(n: int, size: int, d: int, rng: Rng) -> tuple[Array, Array]:
    """n people with one reference person after them, and the mean of a pool."""
    p = rng.uniform(-1, 1, d)
    mean = 2 * rng.binomial(size, (1 + p) / 2) / size - 1
    return people_of(p, n + 1, rng).astype(np.float32), mean.astype(np.float32)


LEMMAS = (_thresholds, _identities, _densities, _small_cases, _simulated, _with_pool, _necessity)
