"""contingency-tables, Section 4 and the appendices: noise, directions and constants, in small cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from tellall.papers.claims import Array, Joined, NamedCase, binomial
from tellall.papers.contingency_mechanisms import inner_products

__all__ = [
    "LOWER_BOUNDS",
    "least_second_moment",
    "vc_dimension",
]

Rng = np.random.Generator


def least_second_moment(epsilon: float) -> float:
    """The least E Z² of noise Z that is ε-alike under a shift by one: 1/(2 sinh²(ε/2)).

    Notes
    -----
    With q = e^(−ε) and S(x) = P(|Z| ≥ x), privacy gives S(x + 1) ≥ q S(x) and S(x) + q S(1 − x) ≥ 2q on
    [0, 1]; E Z² = ∫ 2x S(x) dx is least at S = 2q/(1 + q) on (0, 1), S(x + 1) = q S(x), which is 2q/(1 − q)²:
    the two-sided geometric law.

    Examples
    --------
    >>> round(least_second_moment(1.0), 4)
    1.8413
    """
    return 1 / (2 * math.sinh(epsilon / 2) ** 2)


def _noise(rng: Rng) -> Iterator[NamedCase]:
    from scipy.optimize import linprog

    ratios, epsilons = [], (0.5, 1.0, 2.0, 3.0)
    for epsilon in epsilons:
        for offset in (0.0, 0.25, 0.5):  # laws on the lattice offset + ℤ, the best of each
            reach = math.ceil(40 / epsilon)
            places = np.arange(-reach, reach + 1) + offset
            size = len(places)
            q = math.exp(-epsilon)
            one, other = np.eye(size)[:-1], np.eye(size)[1:]
            rows = np.vstack([q * one - other, q * other - one])
            ones = np.ones((1, size))
            best = linprog(places**2, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=ones, b_eq=[1.0])
            ratios.append(float(np.dot(np.asarray(best.x), places**2)) / least_second_moment(epsilon))
    ends = f"{least_second_moment(0.01) * 1e-4:.4f} at ε = 0.01, {least_second_moment(3.0) * 9:.3f} at ε = 3"
    yield "noise along", {"value": min(ratios), "tried": len(ratios), "ends": ends}
    least, reached, tried = math.inf, 0.0, 200
    for epsilon in (0.01, 0.1, 1.0, 3.0):
        sharp = 1 / (4 * math.sinh(epsilon / 2) ** 2)
        for _ in range(tried // 4):
            weights = rng.dirichlet(np.full(5, 0.7))
            tilt = np.exp(epsilon * rng.uniform(-1, 1, 5))
            other = weights * tilt / float(weights @ tilt)
            if np.abs(np.log(other / weights)).max() > epsilon:
                continue
            points = rng.normal(size=5)
            apart = float((other - weights) @ points)
            variance = float(weights @ points**2 - (weights @ points) ** 2)
            least = min(least, variance / apart**2 / sharp)
        p = 1 / (1 + math.exp(epsilon))
        reached = max(reached, p * (1 - p) / (1 - 2 * p) ** 2 / sharp)
    yield "two laws", {"value": min(least, reached), "reached": reached, "tried": tried}
    epsilon, p = 1.0, -1000.0
    variance = 1 / (4 * math.sinh(epsilon / 2) ** 2)
    far, small = 100 / (4 * math.sinh(5.0) ** 2), variance * epsilon**2
    fine = variance + (p + 1) ** 2 < p**2 and variance + p**2 > p**2 and far < 0.01 < small
    yield "two laws, second moments", {"value": far, "small": small, "epsilon": epsilon, "mended": fine}
    at = [2 * (2 * d / 0.5) ** 2 * d / (d**2 * 4 * least_second_moment(1.0)) for d in (4, 32, 256, 1024)]
    yield "one way", {"value": min(at)}
    at = []
    for tables in (6, 45, 1000, 10_000):
        at.append(tables * 2 * (2 * tables / 0.5) ** 2 / ((tables - 1) ** 2 * least_second_moment(0.5)))
    yield "trace", {"value": min(at)}
    deltas = np.linspace(0, 0.99, 100)
    yield "across", {"value": float(((1 - deltas) / (2 * (1 + math.sqrt(math.e))) / (1 - deltas) ** 2).min())}
    largest = 0.0
    for count in range(1, 7):
        for epsilon, delta in ((0.1, 0.01), (1.0, 1e-4)):
            largest = max(largest, _composed(count, epsilon, delta) / (count * delta))
    yield "composition", {"value": largest}


def _composed(count: int, epsilon: float, delta: float) -> float:
    """δ at kε of k answers, each the bit itself with probability δ, otherwise a randomised response at ε."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    total = 0.0
    for told in range(count + 1):
        for right in range(count - told + 1):
            guessed = count - told
            chance = binomial(told, count, delta) * binomial(right, guessed, truth)
            loss = math.inf if told else (2 * right - guessed) * epsilon
            total += float(chance) * max(0.0, -math.expm1(count * epsilon - loss))
    return total


def _all_rows(d: int, k: int) -> Array:
    """I_k of every row of signs: 2^d × m_k."""
    signs = np.array(list(product((-1.0, 1.0), repeat=d)))
    chosen = np.array(list(combinations(range(d), k)))
    return np.asarray(signs[:, chosen].prod(axis=2))


def _directions(rng: Rng) -> Iterator[NamedCase]:
    off = 0.0
    for d, k in ((6, 2), (6, 3)):
        z = _all_rows(d, k)
        across = np.eye(z.shape[1]) - 1 / z.shape[1]
        moved = inner_products(np.ones((1, d)), k) - z  # a row of ones replaced by each row
        off = max(off, float(np.abs(moved @ across + z @ across).max()))
    yield "directions", {"value": off}
    off, least = 0.0, 1.0
    for d, k in ((6, 2), (7, 3), (8, 4)):
        z = _all_rows(d, k)
        m = z.shape[1]
        length = m - z.sum(axis=1) ** 2 / m
        off = max(off, abs(float(length.mean()) - (m - 1)))
        least = min(least, float((length >= m - 2).mean()))
    shares = []
    for d, k in ((6, 2), (7, 3), (8, 4)):
        z = _all_rows(d, k)
        m = z.shape[1]
        shares.append((float((z.sum(axis=1) ** 2 > m * m / 4).mean()), 4 / m))
    seen, most = max(shares)
    fine = all(share <= bound for share, bound in shares)
    yield "independent lengths", {"value": seen, "bound": most, "mended": fine}
    yield "quadratic", {"value": least, "off": off, "fine": off < 1e-9 and least >= 0.5}
    tried, largest = 50, 0.0
    for _ in range(tried):
        z = rng.choice([-1.0, 1.0], (12, 6)) / math.sqrt(6)
        some = z[: int(rng.integers(1, 12))]
        largest = max(largest, float(np.linalg.norm(some.T @ some, 2) / np.linalg.norm(z.T @ z, 2)))
    yield "psd", {"value": largest, "tried": tried}
    z = _all_rows(4, 2)
    m = z.shape[1]
    units = z / math.sqrt(m)
    mean = np.eye(m) + (math.e - 1) * units.T @ units / len(units)
    norm, closed, printed = float(np.linalg.norm(mean, 2)), 1 + (math.e - 1) / m, math.e / m
    people = 8 * 100 * math.log(100)
    kept = 100 * math.exp(-3 * people / 100 + people * math.log(1 + (math.e - 1) / 100))
    fine = abs(norm - closed) < 1e-9 < abs(norm - printed) and kept < 1 / people
    d, draws = 8, 20
    m = math.comb(d, 2)
    asked = 8 * math.log(m)
    people = math.ceil(m * asked) - 1  # the most people of Case 2
    rows = [rng.choice([-1.0, 1.0], (people, d)) for _ in range(draws)]
    i, j = np.triu_indices(d, 1)
    largest_of = [float(np.linalg.norm(one[:, i] * one[:, j], 2)) ** 2 / m for one in rows]
    words = {"tables": m, "people": people, "draws": draws, "asked": asked, "mean": people / m}
    above = sum(one >= asked for one in largest_of)
    fine &= above > draws / people
    case_2 = {"above": above, "seen": min(largest_of), **words}
    yield "exponential", {"value": norm, "bound": printed, "kept": kept, "mended": fine, **case_2}
    tables, people_counts = (15, 100, 1000, 10_000), (20, 1000, 100_000)
    norms = [_largest_norm(m, n) / max(n / m, math.log(m)) for m in tables for n in people_counts]
    yield "largest", {"value": max(norms), "tables": Joined(tables), "people": Joined(people_counts)}
    yield _chernoff(9)


def _largest_norm(m: int, n: int) -> float:
    """The norm that the matrix Chernoff bound lets ‖V_k‖ exceed with probability 1/n at most (E-CT-6)."""
    steps = np.geomspace(1e-3, 50, 1000)
    return float(((math.log(m * n) + n * np.log1p(np.expm1(steps) / m)) / steps).min())


def _chernoff(n: int) -> NamedCase:
    """The matrix Chernoff bound against the exact law, over how often each product row comes."""
    rows, weights = np.unique(_all_rows(4, 2), axis=0, return_counts=True)
    kinds, m = rows.shape
    counts = np.array(
        [np.bincount(one, minlength=kinds) for one in combinations_with_replacement(range(kinds), n)]
    )
    ways = np.array([math.factorial(n) / math.prod(map(math.factorial, one)) for one in counts.tolist()])
    chance = ways * np.prod((weights / weights.sum()) ** counts, axis=1)
    top = np.linalg.eigvalsh(np.einsum("rk,ki,kj->rij", counts / (n * m), rows, rows))[:, -1]
    steps, ratio, least = np.linspace(0.02, 12, 600), 0.0, 1.0
    for gamma in np.linspace(0.25, 1.0, 31):
        bound = float(m * np.exp(-steps * gamma * n + n * np.log1p(np.expm1(steps) / m)).min())
        seen = float(chance[top >= gamma - 1e-9].sum())
        ratio, least = max(ratio, seen / min(1.0, bound)), min(least, seen)
    return "chernoff", {"value": ratio, "n": n, "count": len(counts), "least": least}


def _rest(rng: Rng) -> Iterator[NamedCase]:
    k, d = 4, 40
    tables = math.comb(d, k)
    upper = math.sqrt(tables * k * math.log(d / k))
    plain, fair = math.sqrt(d**k) / upper, math.sqrt(d**k / math.factorial(k)) / upper
    yield "table", {"value": plain, "bound": fair, "k": k, "d": d}
    # E|S| ≥ n/4 with |S| ≤ n: the least P(|S| > n/8) puts the rest at n/8
    least, first = (1 / 4 - 1 / 8) / (1 - 1 / 8), 8
    share = min((least - 1 / n) / (1 - 1 / n) for n in range(first, 10_000))  # grows with n
    yield "markov", {"value": share, "markov": least, "first": first}
    sizes = [(d, n) for d in (2, 3, 4) for n in (2, 10, 100)]
    apart = max(_size_biased(d, n) for d, n in sizes)
    words = {"d": Joined(sorted({d for d, _ in sizes})), "n": Joined(sorted({n for _, n in sizes}))}
    yield "size-biased", {"value": apart, "mended": 0 < apart < 0.5, **words}
    epsilon, delta, steps = 0.1, 1e-4, 5
    p = 0.0
    for _ in range(steps):  # P(1) grows as fast as (ε, δ) lets it
        p = math.exp(epsilon) * p + delta
    needed, most = p / delta, (math.exp(0.5) - 1) / (math.exp(epsilon) - 1)
    fine = steps < needed <= most + 1e-9
    yield "group", {"value": needed, "bound": float(steps), "delta": delta, "mended": fine}
    off, tried = 0.0, 30
    for _ in range(tried):
        rows = rng.choice([-1.0, 1.0], (4, 6))
        for times in (1, 2, 5):
            larger = inner_products(np.repeat(rows, times, axis=0), 2)
            answer = (larger + 1) / times  # A′ on D, where A adds a noise of ones on R(D)
            error = answer - inner_products(rows, 2)
            off = max(off, abs(float(error @ error) * times**2 - larger.size))
    yield "repeated", {"value": off, "tried": tried}
    two, four, other = vc_dimension(2, 1), vc_dimension(4, 1), vc_dimension(3, 2)
    fine = two > 1 and four > 2 and other <= 2 * math.log2(3)
    yield "dimension", {"value": float(two), "second": float(four), "bound": 1.0, "mended": fine}
    largest, tried = 0.0, 50
    for k in (1, 2, 3):
        walsh = np.array([[1.0]])
        for _ in range(k):
            walsh = np.kron(walsh, np.array([[1.0, 1.0], [1.0, -1.0]]))
        for _ in range(tried):
            half = (
                rng.normal(size=(2**k, 2**k))
                if rng.random() < 0.8
                else np.outer(walsh[-1], rng.normal(size=2**k))
            )
            covariance = half @ half.T
            moved = float(walsh[-1] @ covariance @ walsh[-1])
            largest = max(largest, moved / (2**k * float(np.trace(covariance))))
    yield "transform", {"value": largest, "tried": tried}
    n = next(n for n in range(2, 1000) if math.log(n) ** 3 > 4)
    yield "dropped constant", {"value": n, "mended": math.log(n - 1) ** 3 <= 4}
    n = 100_000
    inside = n**2 * 20 * 3 / 0.5
    fine = inside ** (1 / 3) < n < inside ** (2 / 3)
    yield "distortion", {"value": inside ** (1 / 3), "bound": inside ** (2 / 3), "n": n, "mended": fine}


def _size_biased(d: int, n: int) -> float:
    """How far D~ is from uniform: the number of its rows of ones, 1 + Bin(n − 1, q) or Bin(n, q) above 0."""
    q, counts = 2.0**-d, np.arange(1, n + 1)
    uniform = binomial(counts, n, q)
    return float(np.abs(binomial(counts - 1, n - 1, q) - uniform / uniform.sum()).sum()) / 2


def vc_dimension(d: int, k: int) -> int:
    """The VC dimension of k-way conjunctions of d attributes, by trying every set of points."""
    points = list(product((0, 1), repeat=d))
    predicates = [
        tuple(all(point[j] == bit for j, bit in zip(chosen, bits, strict=True)) for point in points)
        for chosen in combinations(range(d), k)
        for bits in product((0, 1), repeat=k)
    ]
    best = 0
    for size in range(1, len(points) + 1):
        if 2**size > len(predicates):
            break
        for some in combinations(range(len(points)), size):
            if len({tuple(one[i] for i in some) for one in predicates}) == 2**size:
                best = size
                break
    return best


LOWER_BOUNDS = (_noise, _directions, _rest)
